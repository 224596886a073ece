//! Uses of `isa-spec` by another project: a table that extends ours, a standalone one, and one inline.

/// An instruction more, on our table.
pub mod bits {
    include!(concat!(env!("OUT_DIR"), "/bits.rs"));

    /// The reference of both.
    pub mod reference {
        include!(concat!(env!("OUT_DIR"), "/bits_reference.rs"));
    }
}

/// Instructions of both tables, named by one macro.
pub mod named {
    use ptx_isa::construct::Reg;
    use ptx_isa::text::Statement;
    use ptx_isa::types::{B32, Pred, U32};

    use crate::bits::ptx;

    /// A form of the table of `ptx-isa`, which this crate's table extends.
    pub const SELECTED: u32 = (ptx!(selp.u32).eval)(1, 2, false);

    /// The crate's.
    pub const COUNTED: u32 = (ptx!(tally.b64).eval)(u64::MAX);

    /// Both with operands.
    pub fn built<'a>() -> [Statement<'a>; 2] {
        let (d, a, p) = (Reg::<U32>::new("%r1"), Reg::<B32>::new("%r2"), Reg::<Pred>::new("%p1"));
        [ptx!(tally.b32 d, a), ptx!(@!p setp.lt.u32 p, d, 7)]
    }
}

/// Another machine.
pub mod toy {
    include!(concat!(env!("OUT_DIR"), "/toy.rs"));
}

/// A machine that runs kernels.
pub mod kernels {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// The same as `bits`, written where it is used.
pub mod inline {
    ptx_isa_macros::isa! {
        use ptx;
        bodies crate::bodies;

        /// Number of bits that are one.
        builtin pops<T: .b32, .b64>(x: T) -> .u32;

        /// Counts the ones of a word.
        instruction tally {
            section 9.7.1.15;
            syntax    { tally.type d, a; .type = { .b32, .b64 }; }
            operands  { d: .u32; a: .type; }
            requires  { ptx 2.0, sm_20; }
            semantics { d = pops(a); }
            examples  { tally.b32 d, a; tally.b64 cnt, X; }
        }
    }
}

/// Bodies of the builtins: ours where the prelude declares them, and those of this crate.
pub mod bodies {
    pub use ptx_isa::eval::*;

    /// Number of bits that are one.
    pub const fn pops_b32(x: u32) -> u32 {
        x.count_ones()
    }

    /// Number of bits that are one.
    pub const fn pops_b64(x: u64) -> u32 {
        x.count_ones()
    }

    /// Half of a word.
    pub const fn half_b32(x: u32) -> u32 {
        x >> 1
    }

    /// Half of a number, rounded down.
    pub const fn half_s32(x: i32) -> i32 {
        x >> 1
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
