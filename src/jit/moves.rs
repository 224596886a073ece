//! Loads and stores of elements whose addresses are regular.

use std::prelude::rust_2024::*;

use iced_x86::{Code, MemoryOperand};

use super::Regular;
use super::assembler::*;
use super::lanes::{Lanes, Value, Vector, parts};

/// A load or store of one element a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub write: bool,
    /// The register, by its offset among those of the warp; or a constant that is stored.
    pub element: Result<u32, u64>,
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
    /// Returns true if it can be compiled; `uniform` says that all lanes have one address.
    pub(crate) fn is_compiled(&self, uniform: bool) -> bool {
        let Move { write, bits, bytes, at: Regular { step, .. }, .. } = *self;
        let whole = u32::from(bits) == 8 * u32::from(bytes);
        let adjacent = !uniform && step == u64::from(bytes);
        match (write, bits) {
            (true, 16 | 32 | 64) => adjacent && whole,
            (false, 16 | 64) => whole && (adjacent || step == 0),
            (false, 32) => whole && (adjacent || step == 0) || adjacent && bytes <= 2,
            _ => false,
        }
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

impl Lanes {
    pub(super) fn move_elements(&mut self, moved: &Move) -> Option<()> {
        match moved.write {
            true => self.store(moved),
            false => self.load(moved),
        }
    }

    /// The memory of half a warp, from a number of bytes on. The base is in [`SCRATCH`].
    fn half(moved: &Move, half: usize, byte: usize) -> MemoryOperand {
        let displacement = i64::from(moved.offset) + byte as i64;
        match moved.at.table {
            Some(_) => at_sum(SCRATCH, HALVES[half], displacement),
            None => at(SCRATCH, displacement),
        }
    }

    /// Brings the lines closer that the next group of warps will access where this one accesses adjacent elements.
    fn prefetch(&mut self, moved: &Move) {
        let bytes = usize::from(moved.bytes);
        let ahead = self.warps * 32 * bytes;
        let lines = 16 * bytes;
        for half in 0..2 {
            for line in (0..lines).step_by(LINE) {
                self.code.prefetch(Lanes::half(moved, half, ahead + line));
            }
        }
    }

    fn address(&mut self, moved: &Move) {
        if let Some(table) = moved.at.table {
            self.halves(table);
        }
        self.code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, i64::from(moved.at.slot) * 8));
    }

    fn load(&mut self, moved: &Move) -> Option<()> {
        let Move { bits, bytes, signed, at: Regular { table, step, .. }, .. } = *moved;
        let to = moved.element.ok()?;
        let whole = u32::from(bits) == 8 * u32::from(bytes);
        let mut registers = Vec::with_capacity(4);
        self.address(moved);
        match (step, bits) {
            _ if !moved.is_compiled(table.is_none()) => return None,
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
                    self.code.load(code, zmm(number), Lanes::half(moved, 0, 0));
                    registers.push(number);
                } else {
                    for part in 0..vectors {
                        let number = self.vector()?;
                        let mask = self.active(if bits == 16 { 32 } else { bits }, part);
                        let to = if bits == 16 { ymm(number) } else { zmm(number) };
                        self.code.load_in(code, mask, to, Lanes::half(moved, 2 * part / vectors, 0));
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
                    self.code.load_in(code, mask, ymm(number), Lanes::half(moved, half, 0));
                    registers.push(number);
                }
                self.join(&mut registers);
            }
            _ => {
                self.prefetch(moved);
                let code = match bits {
                    _ if !whole => widening(bytes, signed),
                    32 => Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
                    _ => Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
                };
                for part in 0..parts(bits) {
                    let of_half = parts(bits) / 2;
                    let number = self.vector()?;
                    let mask = self.active(bits, part);
                    let from = Lanes::half(moved, part / of_half, part % of_half * LINE);
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

    /// Joins the lanes of 16 bits of both halves in the first vector.
    fn join(&mut self, registers: &mut Vec<u8>) {
        if let [first, second] = registers[..] {
            let code = Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
            self.code.three_by(code, zmm(first), zmm(first), ymm(second), 1);
            self.release(Value::Vector(Vector::new(&[second], true)));
            registers.pop();
        }
    }

    fn store(&mut self, moved: &Move) -> Option<()> {
        let Move { bits, at: Regular { table, .. }, .. } = *moved;
        if !moved.is_compiled(table.is_none()) {
            return None;
        }
        let value = match moved.element {
            Ok(offset) => self.read(offset, bits)?,
            Err(word) => Value::Constant(word),
        };
        self.settle(value);
        let vector = self.in_vectors(value, bits)?;
        self.address(moved);
        self.prefetch(moved);
        match bits {
            16 => {
                let (number, upper) = (vector.part(0), self.vector()?);
                self.code.two_by(Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, ymm(upper), zmm(number), 1);
                for (half, number) in [number, upper].into_iter().enumerate() {
                    let mask = self.active(32, half);
                    let code = Code::EVEX_Vmovdqu16_ymmm256_k1z_ymm;
                    self.code.store_in(code, mask, Lanes::half(moved, half, 0), ymm(number));
                }
                self.release(Value::Vector(Vector::new(&[upper], true)));
            }
            _ => {
                let of_half = parts(bits) / 2;
                let code = match bits {
                    32 => Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
                    _ => Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
                };
                for part in 0..parts(bits) {
                    let to = Lanes::half(moved, part / of_half, part % of_half * LINE);
                    let mask = self.active(bits, part);
                    self.code.store_in(code, mask, to, zmm(vector.part(part)));
                }
            }
        }
        self.release(Value::Vector(vector));
        Some(())
    }
}
