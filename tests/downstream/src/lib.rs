//! What a project of its own makes of `isa-spec`: a table that extends ours, one that stands alone, and one inline.

/// An instruction more, on our prelude.
pub mod bits {
    include!(concat!(env!("OUT_DIR"), "/bits.rs"));
}

/// Another machine.
pub mod toy {
    include!(concat!(env!("OUT_DIR"), "/toy.rs"));
}

/// The same as `bits`, written where it is used.
pub mod inline {
    ptx_isa_macros::isa! {
        use prelude;
        bodies crate::bodies;

        /// How many bits are ones.
        builtin ones<T: .b32, .b64>(x: T) -> .u32;

        /// Counts the ones of a word.
        instruction popc {
            section 9.7.1.15;
            syntax    { popc.type d, a; .type = { .b32, .b64 }; }
            operands  { d: .u32; a: .type; }
            requires  { ptx 2.0, sm_20; }
            semantics { d = ones(a); }
            examples  { popc.b32 d, a; popc.b64 cnt, X; }
        }
    }
}

/// Bodies of the builtins: ours where the prelude declares them, and those of this crate.
pub mod bodies {
    pub use ptx_isa::eval::*;

    /// How many bits are ones.
    pub const fn ones_b32(x: u32) -> u32 {
        x.count_ones()
    }

    /// How many bits are ones.
    pub const fn ones_b64(x: u64) -> u32 {
        x.count_ones()
    }

    /// The bits of both.
    pub const fn mix(a: u8, b: u8) -> u8 {
        a.rotate_left(1) ^ b
    }
}

/// Instructions of every shape the language has.
pub mod shapes {
    include!(concat!(env!("OUT_DIR"), "/shapes.rs"));
}
