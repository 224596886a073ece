mod table {
    ptx_isa_macros::isa! {
        ptx 1.0;
        targets { ptx 1.0: sm_10; }
        types { .b16: bits 16 registers { .b16 } constants { integer }; }

        /// Flushes.
        instruction soft {
            section 1.1;
            syntax {
                soft.rnd.type  d, a;
                .rnd = Rounding { .rn };
                .type = { .b16, .u32 };
            }
            operands  { d, a: .type; }
            requires  { ptx 1.0, sm_10; }
            semantics { d = flush(a); }
            examples  { soft.rn.b16 r0, r1; }
        }
    }
}

fn main() {}
