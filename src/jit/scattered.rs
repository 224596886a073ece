//! Loads and stores of elements by addresses that lanes compute.
//!
//! Addresses are compared with a window of memory. Where those of all active lanes are within, elements are gathered or scattered; else a
//! function accesses them lane by lane, as it does where some address cannot be accessed at all, which ends the code. Two patterns are detected
//! when the code runs: loads from one aligned piece of 128 bytes, and stores of adjacent elements. They access whole vectors.

use std::prelude::rust_2024::*;

use iced_x86::{Code, MemoryOperand, Register};

use super::assembler::*;
use super::fallback::{Function, call};
use super::lanes::{Lanes, SPARE, Vector, parts};

/// Number of lanes, and of arguments that are a window.
const LANES: usize = 32;
pub(crate) const WINDOW: usize = 3;

/// A load or store of one element a lane, or of several behind each other.
#[derive(Clone, Debug)]
pub(crate) struct Scattered {
    pub write: bool,
    /// The registers, by their offsets among those of the warp; or constants that are stored.
    pub elements: Vec<Result<u32, u64>>,
    /// Bits of an element, and of a lane of its register: 32 or 64.
    pub bits: u8,
    /// The register with addresses, and its width: 32 or 64. Without one, all are zero.
    pub base: Option<u32>,
    pub base_bits: u8,
    /// True if the elements of the lanes of each half follow each other.
    pub adjacent: bool,
    /// True if each element is moved by itself, whatever the addresses are.
    pub single: bool,
    /// True if a fence follows the stores, so that they are visible before later accesses.
    pub fenced: bool,
    /// Index of the first of the arguments that are the window: what is taken from an address for its offset, the number of offsets that are
    /// multiples of what a lane accesses, and the host address of the first.
    pub window: u32,
    /// Index of the argument that points to two offsets of memory for each warp.
    pub table: Option<u32>,
    /// Index of the argument that points to an [`Exchange`].
    pub exchange: u32,
    /// Accesses memory: it is called with the address of the exchange, and a number.
    pub function: Function,
    pub number: u32,
}

impl Scattered {
    /// Returns true if it can be compiled.
    pub(crate) fn is_compiled(&self) -> bool {
        matches!(self.bits, 32 | 64) && matches!(self.base_bits, 32 | 64) && matches!(self.elements.len(), 1 | 2 | 4)
    }

    /// Bytes that a lane accesses.
    fn whole(&self) -> usize {
        usize::from(self.bits / 8) * self.elements.len()
    }
}

/// Words that the code exchanges with the function of an access.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Exchange {
    /// An address of 32 or 64 bits for each lane.
    pub addresses: [u64; LANES],
    /// Each element of each lane, of 32 or 64 bits.
    pub elements: [[u64; LANES]; 4],
    /// The active lanes.
    pub mask: u32,
    /// Not zero if the code is to end.
    pub failed: u32,
    /// An address that the function has for itself.
    pub context: u64,
}

impl Exchange {
    pub(crate) const EMPTY: Exchange =
        Exchange { addresses: [0; LANES], elements: [[0; LANES]; 4], mask: 0, failed: 0, context: 0 };
}

/// Instructions on addresses of a width: subtraction, rotation to the right, maximum, comparison.
fn on_addresses(bits: u8) -> (Code, Code, Code, Code) {
    match bits {
        32 => (
            Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vprord_zmm_k1z_zmmm512b32_imm8,
            Code::EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8,
        ),
        _ => (
            Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
            Code::EVEX_Vprorq_zmm_k1z_zmmm512b64_imm8,
            Code::EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64,
            Code::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8,
        ),
    }
}

/// The predicates of comparisons of integers that are true if the first is at least the second, and if they differ.
const AT_LEAST: u32 = 5;
const DIFFERENT: u32 = 4;

const COPY: Code = Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512;
const STORE: Code = Code::EVEX_Vmovdqa64_zmmm512_k1z_zmm;
const UPPER: Code = Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;

/// The same word of memory for each lane.
fn repeated(mut memory: MemoryOperand) -> MemoryOperand {
    memory.is_broadcast = true;
    memory
}

impl Lanes {
    /// Loads the elements of the lanes of a mask, or of all, or stores them; the vectors that are loaded are held for the caller.
    pub(super) fn scatter(
        &mut self,
        scattered: &Scattered,
        mask: Option<u8>,
        base: Vector,
        stored: &[Vector],
    ) -> Option<Vec<Vector>> {
        let Scattered { bits, base_bits, write, .. } = *scattered;
        let argument = |index: usize| at(ARGUMENTS, 8 * (scattered.window as usize + index) as i64);
        // All vectors come first: what is stored to get one does not depend on lanes.
        let offsets = self.vectors(parts(base_bits).max(parts(bits) * usize::from(base_bits == 32 && bits == 64)))?;
        let [most, spare] = self.vectors(2)?[..] else { return None };
        let mut loaded = Vec::new();
        for _ in scattered.elements.iter().filter(|_| !write) {
            loaded.push(Vector::new(&self.vectors(parts(bits))?, false));
        }
        let of_block = scattered.table.map(|table| self.halves(table)[0]);
        let pattern = self.pattern(scattered);
        // In divergent code few lanes may be active.
        let few = self.is_divergent();
        let before = self.code.begin_inner();
        let (subtract, rotate, most_of, compare) = on_addresses(base_bits);
        for (part, offset) in offsets.iter().enumerate().take(parts(base_bits)) {
            self.code.with_memory(subtract, zmm(*offset), zmm(base.part(part)), repeated(argument(0)));
            // Offsets that are no multiples of what is accessed become great ones; lanes that are not active count as zero.
            let lanes = self.part_of(mask, base_bits, part);
            let rotated = if part == 0 { most } else { spare };
            self.code.two_by_in(rotate, lanes, zmm(rotated), zmm(*offset), scattered.whole().trailing_zeros());
            if part > 0 {
                self.code.three(most_of, zmm(most), zmm(most), zmm(spare));
            }
        }
        let [outside, _] = SPARE;
        self.code.with_memory_by(compare, k(outside), zmm(most), repeated(argument(1)), AT_LEAST);
        if let ([low, second, third, fourth], 32) = (&offsets[..], base_bits) {
            // Offsets of 32 bits in lanes of 64 bits.
            for (half, [to, upper]) in [(*second, [third, fourth]), (*low, [low, second])] {
                self.code.two_by(UPPER, ymm(spare), zmm(half), 1);
                self.code.two(Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256, zmm(*to), ymm(half));
                self.code.two(Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256, zmm(*upper), ymm(spare));
            }
        }
        let elements = if write { stored } else { &loaded };
        self.code.two(Code::VEX_Kortestw_kr_kr, k(outside), k(outside));
        self.code.either(
            |code| leave_to_function(code, scattered, mask, base, elements),
            |code| {
                if scattered.adjacent {
                    return move_halves(code, scattered, of_block, mask, elements[0], &offsets);
                }
                let move_all = |code: &mut Assembler| {
                    code.load(Code::Mov_r64_rm64, SCRATCH, argument(2));
                    of_block.into_iter().for_each(|offset| code.two(Code::Add_r64_rm64, SCRATCH, offset));
                    for (index, vector) in elements.iter().enumerate() {
                        move_parts(code, scattered, (mask, few), (*vector, index), &offsets, spare);
                    }
                };
                let others = [most, spare];
                match &pattern {
                    Pattern::Near { reach, last } => {
                        are_near(code, scattered, mask, &offsets, others, (*reach, *last));
                        code.either(move_all, |code| {
                            load_near(code, scattered, of_block, elements[0], &offsets, others);
                        });
                    }
                    Pattern::Adjacent(steps) => {
                        are_adjacent(code, scattered, mask, &offsets, others, steps);
                        code.either(move_all, |code| {
                            move_halves(code, scattered, of_block, mask, elements[0], &offsets);
                        });
                    }
                    Pattern::Any => move_all(code),
                }
            },
        );
        if scattered.fenced {
            self.code.alone(Code::Mfence);
        }
        let inner = self.code.end_inner(before);
        match mask {
            // No lane is active where all of them branched.
            Some(mask) if Some(mask) != self.active_lanes() => {
                self.code.two(Code::VEX_Kortestd_kr_kr, k(mask), k(mask));
                self.code.unless_zero(inner);
            }
            _ => self.code.append(inner),
        }
        self.release_vectors(&offsets);
        self.release_vectors(&[most, spare]);
        Some(loaded)
    }

    /// Returns the pattern to detect.
    fn pattern(&mut self, scattered: &Scattered) -> Pattern {
        let Scattered { bits, base_bits, write, .. } = *scattered;
        match (scattered.elements.len(), write, bits) {
            _ if scattered.adjacent || scattered.single => Pattern::Any,
            (1, false, 32) => {
                let last = scattered.table.is_none().then(|| self.repeated(base_bits, LANES as u64 - 1));
                Pattern::Near { reach: self.repeated(base_bits, PIECE as u64), last }
            }
            (1, true, _) => {
                // Offsets are as wide as elements.
                let own = base_bits.max(bits);
                let of_vector = (LANES / parts(own)) as u64;
                let parts = (0..parts(own) as u64 / 2).map(|part| {
                    let lanes = part * of_vector..(part + 1) * of_vector;
                    self.words(own, lanes.map(|lane| lane * u64::from(bits / 8)))
                });
                Pattern::Adjacent(parts.collect())
            }
            _ => Pattern::Any,
        }
    }

    /// Free vectors, whose only holder is the caller.
    fn vectors(&mut self, count: usize) -> Option<Vec<u8>> {
        (0..count).map(|_| self.vector()).collect()
    }
}

/// Bytes of a piece of memory that two vectors hold.
const PIECE: usize = 2 * LINE;

/// Pattern of addresses that is detected when the code runs: then no element is accessed by itself.
enum Pattern {
    /// Loads of words from one aligned piece of memory. Offsets of two literals: the length of a piece, and the index of its last word, if
    /// the piece may extend beyond the window.
    Near {
        reach: i64,
        last: Option<i64>,
    },
    /// Stores of adjacent elements in each half. Offsets of literals: the distance from the first element, for each vector of addresses.
    Adjacent(Vec<i64>),
    Any,
}

/// Shifts the lanes of a mask from the first one on to the bottom of a spare one; returns 0 without a mask.
fn lane_mask(code: &mut Assembler, mask: Option<u8>, first: usize) -> u8 {
    let Some(mask) = mask else { return 0 };
    let own = SPARE[1];
    code.two_by(Code::VEX_Kshiftrd_kr_kr_imm8, k(own), k(mask), first as u32);
    own
}

/// Sets the zero flag if the addresses of all lanes are in the piece of the first one.
fn are_near(
    code: &mut Assembler,
    scattered: &Scattered,
    mask: Option<u8>,
    offsets: &[u8],
    [first, spare]: [u8; 2],
    (reach, last): (i64, Option<i64>),
) {
    let (broadcast, differ, or) = match scattered.base_bits {
        32 => (
            Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
            Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
            Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32,
        ),
        _ => (
            Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
            Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64,
            Code::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64,
        ),
    };
    let (_, rotate, _, compare) = on_addresses(scattered.base_bits);
    let [far, other] = SPARE;
    code.two(broadcast, zmm(first), xmm(offsets[0]));
    for (part, offset) in offsets.iter().enumerate() {
        let own = lane_mask(code, mask, LANES / offsets.len() * part);
        let to = if part == 0 { far } else { other };
        code.three(differ, zmm(spare), zmm(*offset), zmm(first));
        code.with_memory_by_in(compare, own, k(to), zmm(spare), at(LITERALS, reach), AT_LEAST);
        if part > 0 {
            code.three(Code::VEX_Korw_kr_kr_kr, k(far), k(far), k(to));
        }
    }
    if let Some(last) = last {
        code.two_by(rotate, zmm(first), zmm(first), 2);
        code.with_memory(or, zmm(first), zmm(first), at(LITERALS, last));
        let count = at(ARGUMENTS, 8 * (i64::from(scattered.window) + 1));
        code.with_memory_by(compare, k(other), zmm(first), repeated(count), AT_LEAST);
        code.three(Code::VEX_Korw_kr_kr_kr, k(far), k(far), k(other));
    }
    code.two(Code::VEX_Kortestw_kr_kr, k(far), k(far));
}

/// Loads the words of all lanes from the piece of the first one.
fn load_near(
    code: &mut Assembler,
    scattered: &Scattered,
    of_block: Option<Register>,
    vector: Vector,
    offsets: &[u8],
    [low, high]: [u8; 2],
) {
    match scattered.base_bits {
        32 => code.two(Code::EVEX_Vmovd_rm32_xmm, SCRATCH32, xmm(offsets[0])),
        _ => code.two(Code::EVEX_Vmovq_rm64_xmm, SCRATCH, xmm(offsets[0])),
    }
    code.by(Code::And_rm64_imm8, SCRATCH, -(PIECE as i32));
    code.load(Code::Add_r64_rm64, SCRATCH, at(ARGUMENTS, 8 * (i64::from(scattered.window) + 2)));
    of_block.into_iter().for_each(|offset| code.two(Code::Add_r64_rm64, SCRATCH, offset));
    code.load(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, zmm(low), at(SCRATCH, 0));
    code.load(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, zmm(high), at(SCRATCH, LINE as i64));
    for (half, own) in offsets.chunks(offsets.len() / 2).enumerate() {
        let to = vector.part(half);
        let from = match *own {
            [lower, upper] => {
                code.two(Code::EVEX_Vpmovqd_ymmm256_k1z_zmm, ymm(to), zmm(lower));
                code.two(Code::EVEX_Vpmovqd_ymmm256_k1z_zmm, ymm(lower), zmm(upper));
                code.three_by(Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8, zmm(to), zmm(to), ymm(lower), 1);
                to
            }
            _ => own[0],
        };
        // Permute by the index of each word.
        code.two_by(Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, zmm(to), zmm(from), 2);
        code.three(Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, zmm(to), zmm(low), zmm(high));
    }
}

/// Sets the zero flag if the elements of the lanes of each half are adjacent.
fn are_adjacent(
    code: &mut Assembler,
    scattered: &Scattered,
    mask: Option<u8>,
    offsets: &[u8],
    [first, spare]: [u8; 2],
    steps: &[i64],
) {
    let own = scattered.base_bits.max(scattered.bits);
    let (broadcast, add) = match own {
        32 => (Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32),
        _ => (Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64),
    };
    let (_, _, _, compare) = on_addresses(own);
    let [apart, other] = SPARE;
    for (part, offset) in offsets.iter().enumerate() {
        if part % steps.len() == 0 {
            code.two(broadcast, zmm(first), xmm(*offset));
        }
        code.with_memory(add, zmm(spare), zmm(first), at(LITERALS, steps[part % steps.len()]));
        let own = lane_mask(code, mask, LANES / offsets.len() * part);
        let to = if part == 0 { apart } else { other };
        code.three_by_in(compare, own, k(to), zmm(*offset), zmm(spare), DIFFERENT);
        if part > 0 {
            code.three(Code::VEX_Korw_kr_kr_kr, k(apart), k(apart), k(to));
        }
    }
    code.two(Code::VEX_Kortestw_kr_kr, k(apart), k(apart));
}

/// Moves the elements of the lanes of each half, which follow each other, between memory and a vector.
fn move_halves(
    code: &mut Assembler,
    scattered: &Scattered,
    of_block: Option<Register>,
    mask: Option<u8>,
    vector: Vector,
    offsets: &[u8],
) {
    let Scattered { bits, base_bits, write, window, .. } = *scattered;
    let of_half = parts(bits) / 2;
    for half in 0..2 {
        // The first lane may be outside if it is not active.
        let first = xmm(offsets[half * offsets.len() / 2]);
        match base_bits {
            32 => {
                code.two(Code::EVEX_Vmovd_rm32_xmm, SCRATCH32, first);
                code.two(Code::Movsxd_r64_rm32, SCRATCH, SCRATCH32);
            }
            _ => code.two(Code::EVEX_Vmovq_rm64_xmm, SCRATCH, first),
        }
        code.load(Code::Add_r64_rm64, SCRATCH, at(ARGUMENTS, 8 * (i64::from(window) + 2)));
        of_block.into_iter().for_each(|offset| code.two(Code::Add_r64_rm64, SCRATCH, offset));
        for part in 0..of_half {
            let place = at(SCRATCH, (LINE * part) as i64);
            let (vector, first) = (zmm(vector.part(half * of_half + part)), 16 * half + 8 * part);
            let own = lane_mask(code, mask, first);
            let (load, store) = match bits {
                32 => (Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm),
                _ => (Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512, Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm),
            };
            match write {
                true => code.store_in(store, own, place, vector),
                false => code.load_in(load, own, vector, place),
            }
        }
    }
}

/// Moves an element of each lane, whose base is in [`SCRATCH`], between memory and a vector; there may be `few` lanes.
fn move_parts(
    code: &mut Assembler,
    scattered: &Scattered,
    (mask, few): (Option<u8>, bool),
    (vector, index): (Vector, usize),
    offsets: &[u8],
    spare: u8,
) {
    let Scattered { bits, write, .. } = *scattered;
    let lanes = LANES / offsets.len();
    let displacement = (usize::from(bits / 8) * index) as i64;
    for (part, offset) in offsets.iter().enumerate() {
        let memory = at_sum(SCRATCH, zmm(*offset), displacement);
        // The instructions clear their mask.
        let own = SPARE[1];
        if lane_mask(code, mask, lanes * part) == 0 {
            code.three(Code::VEX_Kxnord_kr_kr_kr, k(own), k(own), k(own));
        }
        let mut inner = Assembler::new();
        match (lanes, bits, write) {
            // Half a vector.
            (8, 32, true) => {
                let whole = vector.part(part / 2);
                let half = if part % 2 == 1 { spare } else { whole };
                if half != whole {
                    inner.two_by(UPPER, ymm(half), zmm(whole), 1);
                }
                inner.store_in(Code::EVEX_Vpscatterqd_vm64z_k1_ymm, own, memory, ymm(half));
            }
            (8, 32, false) => {
                let whole = vector.part(part / 2);
                let half = if part % 2 == 1 { spare } else { whole };
                clear(&mut inner, zmm(half));
                inner.load_over(Code::EVEX_Vpgatherqd_ymm_k1_vm64z, own, ymm(half), memory);
                if half != whole {
                    let join = Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
                    inner.three_by(join, zmm(whole), zmm(whole), ymm(half), 1);
                }
            }
            (.., true) => {
                let store =
                    if bits == 32 { Code::EVEX_Vpscatterdd_vm32z_k1_zmm } else { Code::EVEX_Vpscatterqq_vm64z_k1_zmm };
                inner.store_in(store, own, memory, zmm(vector.part(part)));
            }
            (.., false) => {
                let load =
                    if bits == 32 { Code::EVEX_Vpgatherdd_zmm_k1_vm32z } else { Code::EVEX_Vpgatherqq_zmm_k1_vm64z };
                clear(&mut inner, zmm(vector.part(part)));
                inner.load_over(load, own, zmm(vector.part(part)), memory);
            }
        }
        match few {
            true => {
                code.two(Code::VEX_Kortestw_kr_kr, k(own), k(own));
                code.unless_zero(inner.finish());
            }
            false => code.append(inner.finish()),
        }
    }
}

/// Lets a vector not depend on what it was.
fn clear(code: &mut Assembler, vector: Register) {
    code.three(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, vector, vector, vector);
}

/// Lets the function access memory.
fn leave_to_function(code: &mut Assembler, scattered: &Scattered, mask: Option<u8>, base: Vector, elements: &[Vector]) {
    let Scattered { bits, base_bits, write, exchange, function, number, .. } = *scattered;
    let field = |offset: usize| at(SCRATCH, offset as i64);
    let places = elements.iter().enumerate().flat_map(|(index, vector)| {
        let place = std::mem::offset_of!(Exchange, elements) + size_of::<[u64; LANES]>() * index;
        (0..parts(bits)).map(move |part| (zmm(vector.part(part)), place + LINE * part))
    });
    let places: Vec<(Register, usize)> = places.collect();
    code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, 8 * i64::from(exchange)));
    for part in 0..parts(base_bits) {
        code.store(STORE, field(LINE * part), zmm(base.part(part)));
    }
    if write {
        places.iter().for_each(|(vector, place)| code.store(STORE, field(*place), *vector));
    }
    let active = field(std::mem::offset_of!(Exchange, mask));
    match mask {
        Some(mask) => code.store(Code::VEX_Kmovd_m32_kr, active, k(mask)),
        None => code.word(Code::Mov_rm32_imm32, active, -1),
    }
    code.value(Code::Pushq_imm32, number);
    code.one(Code::Push_r64, SCRATCH);
    call(code, function);
    code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, 8 * i64::from(exchange)));
    code.word(Code::Cmp_rm32_imm8, field(std::mem::offset_of!(Exchange, failed)), 0);
    code.unless_zero_here(Assembler::leave);
    if !write {
        places.iter().for_each(|(vector, place)| code.load(COPY, *vector, field(*place)));
    }
}
