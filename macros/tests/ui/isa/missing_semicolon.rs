mod table {
    ptx_isa_macros::isa! {
        use prelude

        /// Selects one of two words by a predicate.
        instruction pick {
            section 1.1;
            syntax {
                pick.type  d, a, b, c;
                .type = { .u16, .u32 };
            }
            operands  { d, a, b: .type; c: .pred; }
            requires  { ptx 1.0, sm_10; }
            semantics { d = c ? a : b; }
            examples  { pick.u32 r0, r1, r2, p; }
        }
    }
}

fn main() {}
