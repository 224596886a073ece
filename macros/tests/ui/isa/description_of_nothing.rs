mod table {
    ptx_isa_macros::isa! {
        use prelude;

        /// A description of nothing.
    }
}

fn main() {}
