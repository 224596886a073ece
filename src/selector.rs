//! Selectors and masks of the video instructions: `.b7654`, `.h32`, `.b310`.
//!
//! They are operand data, not part of a form: one function serves all of them.
//!
//! ```
//! use ptx_isa::selector::{Lanes, Subset};
//!
//! let swapped = Lanes::<4, 8>::new([3, 2, 1, 0]).unwrap();
//! assert_eq!(swapped.lane(0), 3);
//! let upper = Subset::<4>::new([false, false, true, true]).unwrap();
//! assert_eq!(upper.to_bits(), 0b1100);
//! ```

/// For each of `LANES` lanes of a result, which of `OF` lanes it is picked from.
///
/// Packed four bits a lane, lane 0 lowest. Written from the highest lane down: `.b3210` picks lane 0 for lane 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lanes<const LANES: usize, const OF: usize>(u32);

impl<const LANES: usize, const OF: usize> Lanes<LANES, OF> {
    /// The selector that picks these lanes, lane 0 first; `None` if one is not below `OF`.
    pub const fn new(lanes: [usize; LANES]) -> Option<Lanes<LANES, OF>> {
        let mut bits = 0;
        let mut lane = 0;
        while lane < LANES {
            if lanes[lane] >= OF {
                return None;
            }
            bits |= (lanes[lane] as u32) << (4 * lane);
            lane += 1;
        }
        Some(Lanes(bits))
    }

    /// The selector with these packed bits; a lane that is not below `OF` is taken modulo `OF`.
    pub const fn from_bits(bits: u32) -> Lanes<LANES, OF> {
        let mut reduced = 0;
        let mut lane = 0;
        while lane < LANES {
            reduced |= ((bits >> (4 * lane) & 15) % (OF as u32)) << (4 * lane);
            lane += 1;
        }
        Lanes(reduced)
    }

    /// The packed bits.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// The lane that is picked for a lane of the result.
    pub const fn lane(self, lane: usize) -> usize {
        (self.0 >> (4 * lane) & 15) as usize
    }
}

/// Some of `OF` lanes, packed one bit a lane. Written from the highest lane down: `.b310`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subset<const OF: usize>(u32);

impl<const OF: usize> Subset<OF> {
    /// The mask of these lanes, lane 0 first; `None` if it is empty, which no mask in PTX is.
    pub const fn new(lanes: [bool; OF]) -> Option<Subset<OF>> {
        let mut bits = 0;
        let mut lane = 0;
        while lane < OF {
            bits |= (lanes[lane] as u32) << lane;
            lane += 1;
        }
        if bits == 0 { None } else { Some(Subset(bits)) }
    }

    /// The mask with these packed bits; bits from `OF` on are ignored.
    pub const fn from_bits(bits: u32) -> Subset<OF> {
        Subset(bits & ((1 << OF) - 1))
    }

    /// The packed bits.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Whether each lane is in the mask, lane 0 first.
    pub const fn lanes(self) -> [bool; OF] {
        let mut lanes = [false; OF];
        let mut lane = 0;
        while lane < OF {
            lanes[lane] = self.0 >> lane & 1 != 0;
            lane += 1;
        }
        lanes
    }
}
