mod table {
    ptx_isa_macros::isa! {
        use prelude;

        /// Fetches.
        instruction fetch {
            section 1.1;
            syntax {
                fetch{.ss}{.level}  [a];
                .ss = { .global, .shared::cta };
                .level = { .L2::64B };
                free { .ss, .levl };
            }
            operands  { a: address in { .shared::cta }; }
            requires  { ptx 1.0, sm_10; }
            semantics none;
            examples  { fetch.global [p]; }
        }
    }
}

fn main() {}
