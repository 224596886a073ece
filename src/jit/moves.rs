//! Loads and stores of elements whose addresses are regular.

use std::prelude::rust_2024::*;
use std::vec;

use iced_x86::{Code, MemoryOperand, Register};

use super::Regular;
use super::assembler::*;
use super::lanes::{Lanes, Value, Vector, parts};

/// A load or store of one element a lane, or of several behind each other.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub write: bool,
    /// The registers, by their offsets among those of the warp; or constants that are stored.
    pub elements: Vec<Result<u32, u64>>,
    /// Bits of a lane of the register.
    pub bits: u8,
    /// Bytes of an element, which is sign-extended to a wider register if `signed`.
    pub bytes: u8,
    pub signed: bool,
    /// The addresses, without a constant that is added to them.
    pub at: Regular,
    pub offset: i32,
}

impl Move {
    /// Returns true if it can be compiled; `uniform` says that all lanes have one address, and `partial` that some may be inactive.
    pub(crate) fn is_compiled(&self, uniform: bool, partial: bool) -> bool {
        let Move { write, bits, bytes, at: Regular { step, .. }, .. } = *self;
        let count = self.elements.len();
        let whole = u32::from(bits) == 8 * u32::from(bytes);
        let adjacent = !uniform && step == u64::from(bytes) * count as u64;
        let same = !write && step == 0;
        let strided = matches!(bits, 32 | 64) && !partial && self.stride().is_some();
        match (count, bits) {
            (1, 16 | 64) => whole && (adjacent || same || strided),
            (1, 32) => whole && (adjacent || same || strided) || !write && adjacent && bytes <= 2,
            (2 | 4, 32) if adjacent => whole && !partial,
            (2 | 4, 16 | 32 | 64) => whole && same,
            _ => false,
        }
    }

    /// The distance in bytes of the elements of lanes, if they neither follow each other nor are the same.
    fn stride(&self) -> Option<i32> {
        let step = i32::try_from(self.at.step as i64).ok().filter(|step| step.unsigned_abs() < 1 << 24)?;
        (step != 0 && step != i32::from(self.bytes)).then_some(step)
    }
}

/// Instructions that widen elements of memory to 32 bits, 16 at once.
fn widening(bytes: u8, signed: bool) -> Code {
    match (bytes, signed) {
        (1, false) => Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
        (1, true) => Code::EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
        (_, false) => Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
        (_, true) => Code::EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
    }
}

/// Loads the lanes of 32 or 64 bits of a vector one by one.
fn load_lanes(code: &mut Assembler, bits: u8, to: u8, spare: u8, memory: impl Fn(usize) -> MemoryOperand) {
    let (first, further, of_quarter) = match bits {
        32 => (Code::EVEX_Vmovd_xmm_rm32, Code::EVEX_Vpinsrd_xmm_xmm_rm32_imm8, 4),
        _ => (Code::EVEX_Vmovq_xmm_rm64, Code::EVEX_Vpinsrq_xmm_xmm_rm64_imm8, 2),
    };
    for quarter in 0..4 {
        let part = xmm(if quarter == 0 { to } else { spare });
        for lane in 0..of_quarter {
            let from = memory(of_quarter * quarter + lane);
            match lane {
                0 => code.load(first, part, from),
                _ => code.with_memory_by(further, part, part, from, lane as u32),
            }
        }
        if quarter > 0 {
            let join = Code::EVEX_Vinserti32x4_zmm_k1z_zmm_xmmm128_imm8;
            code.three_by(join, zmm(to), zmm(to), part, quarter as u32);
        }
    }
}

/// Stores the lanes of 32 or 64 bits of a vector one by one.
fn store_lanes(code: &mut Assembler, bits: u8, from: u8, spare: u8, memory: impl Fn(usize) -> MemoryOperand) {
    let (first, further, of_quarter) = match bits {
        32 => (Code::EVEX_Vmovd_rm32_xmm, Code::EVEX_Vpextrd_rm32_xmm_imm8, 4),
        _ => (Code::EVEX_Vmovq_rm64_xmm, Code::EVEX_Vpextrq_rm64_xmm_imm8, 2),
    };
    for quarter in 0..4 {
        let part = Code::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8;
        code.two_by(part, xmm(spare), zmm(from), quarter as u32);
        for lane in 0..of_quarter {
            let to = memory(of_quarter * quarter + lane);
            match lane {
                0 => code.store(first, to, xmm(spare)),
                _ => code.store_by(further, to, xmm(spare), lane as u32),
            }
        }
    }
}

impl Lanes {
    pub(super) fn move_elements(&mut self, moved: &Move) -> Option<()> {
        if !moved.is_compiled(moved.at.table.is_none(), self.partial) {
            return None;
        }
        match (moved.write, &moved.elements[..]) {
            (true, [element]) if moved.stride().is_some() => self.store_strided(moved, *element),
            (false, [element]) if moved.stride().is_some() => self.load_strided(moved, *element),
            (true, [element]) => self.store(moved, *element),
            (false, [element]) => self.load(moved, *element),
            (true, elements) => self.store_vectors(moved, elements),
            (false, elements) if moved.at.step == 0 => {
                for (index, element) in elements.iter().enumerate() {
                    let offset = moved.offset + i32::from(moved.bytes) * index as i32;
                    self.load(&Move { elements: vec![*element], offset, ..*moved }, *element)?;
                }
                Some(())
            }
            (false, elements) => self.load_vectors(moved, elements),
        }
    }

    /// The memory of half a warp, from a number of bytes on, for an access whose address was loaded.
    fn half(moved: &Move, halves: Option<[Register; 2]>, half: usize, byte: usize) -> MemoryOperand {
        let displacement = i64::from(moved.offset) + byte as i64;
        halves.map_or(at(SCRATCH, displacement), |halves| at_sum(SCRATCH, halves[half], displacement))
    }

    /// Loads the base of addresses to [`SCRATCH`]; gives the offsets of both halves of the warp, if they have some.
    fn address(&mut self, moved: &Move) -> Option<[Register; 2]> {
        let halves = moved.at.table.map(|table| self.halves(table));
        self.code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, i64::from(moved.at.slot) * 8));
        halves
    }

    fn load(&mut self, moved: &Move, element: Result<u32, u64>) -> Option<()> {
        let Move { bits, bytes, signed, at: Regular { table, step, .. }, .. } = *moved;
        let to = element.ok()?;
        let whole = u32::from(bits) == 8 * u32::from(bytes);
        let mut registers = Vec::with_capacity(4);
        let halves = self.address(moved);
        match (step, bits) {
            (0, _) => {
                let (code, vectors) = match bits {
                    16 => (Code::EVEX_Vpbroadcastw_ymm_k1z_xmmm16, 2),
                    32 => (Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, 2),
                    _ => (Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, 4),
                };
                if table.is_none() {
                    // One of the lanes is active.
                    let number = self.vector()?;
                    let code = if bits == 16 { Code::EVEX_Vpbroadcastw_zmm_k1z_xmmm16 } else { code };
                    self.code.load(code, zmm(number), Lanes::half(moved, halves, 0, 0));
                    registers.push(number);
                } else {
                    for part in 0..vectors {
                        let number = self.vector()?;
                        let mask = self.active(if bits == 16 { 32 } else { bits }, part);
                        let to = if bits == 16 { ymm(number) } else { zmm(number) };
                        self.code.load_in(code, mask, to, Lanes::half(moved, halves, 2 * part / vectors, 0));
                        registers.push(number);
                    }
                    if bits == 16 {
                        self.join(&mut registers);
                    }
                }
            }
            (_, 16) => {
                for half in 0..2 {
                    let number = self.vector()?;
                    let mask = self.active(32, half);
                    let code = Code::EVEX_Vmovdqu16_ymm_k1z_ymmm256;
                    self.code.load_in(code, mask, ymm(number), Lanes::half(moved, halves, half, 0));
                    registers.push(number);
                }
                self.join(&mut registers);
            }
            _ => {
                let code = match bits {
                    _ if !whole => widening(bytes, signed),
                    32 => Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
                    _ => Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
                };
                for part in 0..parts(bits) {
                    let of_half = parts(bits) / 2;
                    let number = self.vector()?;
                    let mask = self.active(bits, part);
                    let from = Lanes::half(moved, halves, part / of_half, part % of_half * LINE);
                    self.code.load_in(code, mask, zmm(number), from);
                    registers.push(number);
                }
            }
        }
        let value = Value::Vector(Vector::new(&registers, table.is_none()));
        self.write(to, bits, value)?;
        self.release(value);
        Some(())
    }

    /// The memory of each lane in a part of a vector, at a stride.
    fn lanes_of(moved: &Move, halves: Option<[Register; 2]>, part: usize) -> impl Fn(usize) -> MemoryOperand {
        let (of_half, step) = (parts(moved.bits) / 2, moved.stride().unwrap_or_default());
        let first = part % of_half * 8 * LINE / usize::from(moved.bits);
        let (half, offset) = (halves.map(|halves| halves[part / of_half]), moved.offset);
        move |lane| {
            let displacement = i64::from(offset) + i64::from(step) * (first + lane) as i64;
            half.map_or(at(SCRATCH, displacement), |half| at_sum(SCRATCH, half, displacement))
        }
    }

    /// Loads elements at a stride.
    fn load_strided(&mut self, moved: &Move, element: Result<u32, u64>) -> Option<()> {
        let halves = self.address(moved);
        let mut registers = Vec::with_capacity(4);
        for part in 0..parts(moved.bits) {
            let (to, spare, memory) = (self.vector()?, self.vector()?, Lanes::lanes_of(moved, halves, part));
            load_lanes(&mut self.code, moved.bits, to, spare, memory);
            self.release_vectors(&[spare]);
            registers.push(to);
        }
        let value = Value::Vector(Vector::new(&registers, false));
        self.write(element.ok()?, moved.bits, value)?;
        self.release(value);
        Some(())
    }

    /// Stores elements at a stride.
    fn store_strided(&mut self, moved: &Move, element: Result<u32, u64>) -> Option<()> {
        let vector = self.stored(element, moved.bits)?;
        let spare = self.vector()?;
        let halves = self.address(moved);
        for part in 0..parts(moved.bits) {
            let memory = Lanes::lanes_of(moved, halves, part);
            store_lanes(&mut self.code, moved.bits, vector.part(part), spare, memory);
        }
        self.release_vectors(&[spare]);
        self.release(Value::Vector(vector));
        Some(())
    }

    /// Joins the lanes of 16 bits of both halves in the first vector.
    fn join(&mut self, registers: &mut Vec<u8>) {
        if let [first, second] = registers[..] {
            let code = Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
            self.code.three_by(code, zmm(first), zmm(first), ymm(second), 1);
            self.release_vectors(&[second]);
            registers.pop();
        }
    }

    /// The lanes of an element that is stored, held for the caller.
    fn stored(&mut self, element: Result<u32, u64>, bits: u8) -> Option<Vector> {
        let value = match element {
            Ok(offset) => self.read(offset, bits)?,
            Err(word) => Value::Constant(word),
        };
        self.settle(value);
        self.in_vectors(value, bits)
    }

    /// A vector of lanes of two others, which `from` selects: those of the first one come before those of the second one.
    pub(super) fn permuted(&mut self, bits: u8, tables: [u8; 2], from: impl Fn(usize) -> usize) -> Option<u8> {
        let lanes = self.words(bits, (0..8 * LINE / usize::from(bits)).map(|lane| from(lane) as u64));
        let to = self.vector()?;
        let code = match bits {
            16 => Code::EVEX_Vpermi2w_zmm_k1z_zmm_zmmm512,
            32 => Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32,
            _ => Code::EVEX_Vpermi2q_zmm_k1z_zmm_zmmm512b64,
        };
        self.code.load(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, zmm(to), at(LITERALS, lanes));
        self.code.three(code, zmm(to), zmm(tables[0]), zmm(tables[1]));
        Some(to)
    }

    /// Lets lanes of two vectors alternate: those of the lower halves, then those of the upper ones.
    fn interleaved(&mut self, bits: u8, tables: [u8; 2]) -> Option<[u8; 2]> {
        let count = LINE / usize::from(bits / 8);
        let mut half = |first: usize| self.permuted(bits, tables, |lane| lane % 2 * count + first + lane / 2);
        Some([half(0)?, half(count / 2)?])
    }

    /// The even lanes of two vectors, and the odd ones.
    fn separated(&mut self, bits: u8, tables: [u8; 2]) -> Option<[u8; 2]> {
        let mut part = |odd: usize| self.permuted(bits, tables, |lane| 2 * lane + odd);
        Some([part(0)?, part(1)?])
    }

    /// Stores two or four elements of 32 bits of each lane, behind those of the lane before.
    fn store_vectors(&mut self, moved: &Move, elements: &[Result<u32, u64>]) -> Option<()> {
        let mut vectors = Vec::with_capacity(elements.len());
        for element in elements {
            vectors.push(self.stored(*element, 32)?);
        }
        let halves = self.address(moved);
        for half in 0..2 {
            let part = |index: usize| vectors[index].part(half);
            let mut lines = self.interleaved(32, [part(0), part(1)])?.to_vec();
            if elements.len() == 4 {
                let pairs = [lines[0], lines[1]];
                let others = self.interleaved(32, [part(2), part(3)])?;
                lines.clear();
                for (pair, other) in pairs.into_iter().zip(others) {
                    lines.extend(self.interleaved(64, [pair, other])?);
                }
                self.release_vectors(&[pairs, others].concat());
            }
            for (index, line) in lines.iter().enumerate() {
                let to = Lanes::half(moved, halves, half, index * LINE);
                self.code.store_in(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, 0, to, zmm(*line));
            }
            self.release_vectors(&lines);
        }
        vectors.into_iter().for_each(|vector| self.release(Value::Vector(vector)));
        Some(())
    }

    /// Loads two or four elements of 32 bits of each lane, behind those of the lane before.
    fn load_vectors(&mut self, moved: &Move, elements: &[Result<u32, u64>]) -> Option<()> {
        let halves = self.address(moved);
        let mut registers = vec![Vec::new(); elements.len()];
        for half in 0..2 {
            let mut lines = Vec::with_capacity(4);
            for index in 0..elements.len() {
                let number = self.vector()?;
                let from = Lanes::half(moved, halves, half, index * LINE);
                self.code.load(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, zmm(number), from);
                lines.push(number);
            }
            if let [first, second, third, fourth] = lines[..] {
                let [low, high] = [self.separated(64, [first, second])?, self.separated(64, [third, fourth])?];
                self.release_vectors(&lines);
                lines = vec![low[0], high[0], low[1], high[1]];
            }
            for (pair, of_elements) in lines.chunks(2).zip(registers.chunks_mut(2)) {
                let parts = self.separated(32, [pair[0], pair[1]])?;
                of_elements.iter_mut().zip(parts).for_each(|(registers, part)| registers.push(part));
            }
            self.release_vectors(&lines);
        }
        for (element, registers) in elements.iter().zip(registers) {
            let value = Value::Vector(Vector::new(&registers, false));
            self.write((*element).ok()?, 32, value)?;
            self.release(value);
        }
        Some(())
    }

    fn store(&mut self, moved: &Move, element: Result<u32, u64>) -> Option<()> {
        let bits = moved.bits;
        let vector = self.stored(element, bits)?;
        let halves = self.address(moved);
        match bits {
            16 => {
                let (number, upper) = (vector.part(0), self.vector()?);
                self.code.two_by(Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, ymm(upper), zmm(number), 1);
                for (half, number) in [number, upper].into_iter().enumerate() {
                    let mask = self.active(32, half);
                    let code = Code::EVEX_Vmovdqu16_ymmm256_k1z_ymm;
                    self.code.store_in(code, mask, Lanes::half(moved, halves, half, 0), ymm(number));
                }
                self.release_vectors(&[upper]);
            }
            _ => {
                let of_half = parts(bits) / 2;
                let code = match bits {
                    32 => Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
                    _ => Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
                };
                for part in 0..parts(bits) {
                    let to = Lanes::half(moved, halves, part / of_half, part % of_half * LINE);
                    let mask = self.active(bits, part);
                    self.code.store_in(code, mask, to, zmm(vector.part(part)));
                }
            }
        }
        self.release(Value::Vector(vector));
        Some(())
    }
}
