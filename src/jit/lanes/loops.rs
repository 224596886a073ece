//! Loops within machine code: the lanes of a warp go round until each of them has left, or a number of times with other arguments each.
//!
//! Registers that rounds change for those behind them have homes: vectors that hold them whenever a round begins. At its end the lanes that
//! took part are moved there, so that lanes that have left keep what they had.

use std::collections::BTreeSet;
use std::prelude::rust_2024::*;

use iced_x86::Code;

use super::super::assembler::*;
use super::{ACTIVE, Lanes, Value, Vector, count_lanes, parts};

/// Vectors that homes leave to computations, at least.
const LEFT: usize = 12;

/// A register with a home.
struct Home {
    offset: u32,
    bits: u8,
    vector: Vector,
    /// True if any NaN stands for the machine's.
    loose: bool,
}

/// The loop that is being compiled.
#[derive(Default)]
pub(super) struct Loop {
    /// Where its code begins.
    head: u64,
    homes: Vec<Home>,
    /// Offsets of registers with loose homes whose bits somebody needs.
    exact: BTreeSet<u32>,
}

impl Loop {
    /// An instruction needs the bits of a vector, or passes them on.
    pub(super) fn ask(&mut self, vector: u8) {
        let asked = self.homes.iter().filter(|home| home.loose && home.vector.registers().contains(&vector));
        self.exact.extend(asked.map(|home| home.offset));
    }
}

impl Lanes {
    /// A loop begins that changes some registers and reads others, by their offsets and widths. Unless `tables` is zero, it has that many tables
    /// of offsets, which are loaded ahead if there are registers for them. In registers with floats of single precision any NaN stands for the
    /// machine's, but in the `exact` ones. `None` if it cannot be compiled.
    pub(in super::super) fn begin_loop(
        &mut self,
        changed: &[(u32, u8)],
        read: &[(u32, u8)],
        exact: &BTreeSet<u32>,
        tables: usize,
    ) -> Option<()> {
        for (offset, bits) in changed.iter().copied() {
            let value = self.read(offset, bits)?;
            let Value::Vector(vector) = value else { return None };
            let loose = bits == 32 && !exact.contains(&offset);
            if vector.uniform {
                return None;
            }
            if loose {
                self.loosen(value);
            }
            self.looped.homes.push(Home { offset, bits, vector, loose });
        }
        for (offset, bits) in read.iter().copied().filter(|(_, bits)| *bits > 1) {
            // The hold is never released: the register stays there in all rounds.
            if self.free_vectors() >= LEFT + parts(bits) {
                self.read(offset, bits)?;
            }
        }
        if self.free_vectors() < LEFT {
            return None;
        }
        self.tables = Default::default();
        if tables <= self.tables.len() {
            // They stay where they are.
            (0..tables).for_each(|table| _ = self.halves(table as u32));
        }
        self.looped.head = self.code.len();
        Some(())
    }

    /// The lanes go back in which a predicate is true, or its complement if `not`, unless the argument `left` is zero, which falls by one for
    /// each round. `count` is added to the argument `executed` for each of the lanes that go back. Behind the loop the predicate tells which
    /// ones would have gone on. Returns the offsets of registers that are to be exact; `None` if it cannot be compiled.
    pub(in super::super) fn end_loop(
        &mut self,
        predicate: u32,
        not: bool,
        (count, executed, left): (u32, u32, u32),
    ) -> Option<BTreeSet<u32>> {
        let condition = self.read(predicate, 1)?;
        let Value::Mask(mask) = condition else { return None };
        self.move_home()?;
        let low = k(ACTIVE[0]);
        let code = if not { Code::VEX_Kandnd_kr_kr_kr } else { Code::VEX_Kandd_kr_kr_kr };
        self.code.three(code, low, k(mask), low);
        self.halve_active();
        self.release(condition);
        let (head, left) = (self.looped.head, at(ARGUMENTS, i64::from(left) * 8));
        self.code.two(Code::VEX_Kortestd_kr_kr, low, low);
        self.code.unless_zero_here(|code| {
            code.word(Code::Cmp_rm64_imm8, left, 0);
            code.unless_zero_here(|code| {
                code.change(Code::Dec_rm64, left);
                count_lanes(code, ACTIVE[0], count, executed);
                code.jump(Code::Jmp_rel32_64, head);
            });
        });
        let own = self.mask()?;
        self.code.three(Code::VEX_Kord_kr_kr_kr, k(own), low, low);
        if not {
            self.code.two(Code::VEX_Knotd_kr_kr, k(own), k(own));
        }
        self.load_active();
        self.write(predicate, 1, Value::Mask(own))?;
        self.release(Value::Mask(own));
        self.leave_homes()
    }

    /// The loop begins again, with arguments that lie `stride` bytes behind the last ones, unless the argument `left` is zero; the arguments
    /// then are those again at which the argument `first` points. Returns the offsets of registers that are to be exact; `None` if it cannot
    /// be compiled.
    pub(in super::super) fn end_rounds(&mut self, stride: u32, left: u32, first: u32) -> Option<BTreeSet<u32>> {
        self.move_home()?;
        let (head, argument) = (self.looped.head, |slot: u32| at(ARGUMENTS, i64::from(slot) * 8));
        self.code.word(Code::Cmp_rm64_imm8, argument(left), 0);
        self.code.unless_zero_here(|code| {
            code.by(Code::Add_rm64_imm32, ARGUMENTS, stride as i32);
            code.jump(Code::Jmp_rel32_64, head);
        });
        self.code.load(Code::Mov_r64_rm64, ARGUMENTS, argument(first));
        self.leave_homes()
    }

    /// Registers with homes are there when the loop has ended. Returns the offsets of those that are to be exact.
    fn leave_homes(&mut self) -> Option<BTreeSet<u32>> {
        for Home { offset, bits, vector, .. } in std::mem::take(&mut self.looped.homes) {
            self.write(offset, bits, Value::Vector(vector))?;
        }
        Some(std::mem::take(&mut self.looped.exact))
    }

    /// Moves the active lanes of registers to their homes.
    fn move_home(&mut self) -> Option<()> {
        let homes = std::mem::take(&mut self.looped.homes);
        let is_home = |number: u8| homes.iter().any(|home| home.vector.registers().contains(&number));
        // Home, source, width and part of each vector; sources are held until all have moved.
        let (mut moves, mut sources, mut copies) = (Vec::new(), Vec::new(), Vec::new());
        for home in &homes {
            let value = self.read(home.offset, home.bits)?;
            let Value::Vector(vector) = value else { return None };
            sources.push(value);
            if vector.registers() == home.vector.registers() {
                // The bits may be those from before the loop.
                self.looped.exact.extend(home.loose.then_some(home.offset));
                continue;
            }
            if !self.is_loose(value) && home.loose {
                self.looped.exact.insert(home.offset);
            }
            if !home.loose {
                self.settle(value);
            }
            for part in 0..parts(home.bits) {
                let from = vector.part(part);
                // The first round may find bits from before the loop in the home of another register.
                let others = homes.iter().filter(|other| other.loose && other.vector.registers().contains(&from));
                self.looped.exact.extend(others.map(|other| other.offset));
                let from = match is_home(from) {
                    true => {
                        let copy = self.vector()?;
                        self.code.two(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, zmm(copy), zmm(from));
                        copies.push(copy);
                        copy
                    }
                    false => from,
                };
                moves.push((home.vector.part(part), from, home.bits, part));
            }
        }
        for (home, from, bits, part) in moves {
            let code = match bits {
                16 => Code::EVEX_Vmovdqu16_zmm_k1z_zmmm512,
                32 => Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512,
                _ => Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512,
            };
            let mask = self.active(bits, part);
            self.code.two_in(code, mask, zmm(home), zmm(from));
        }
        sources.into_iter().for_each(|value| self.release(value));
        self.release_vectors(&copies);
        self.looped.homes = homes;
        Some(())
    }

    /// Number of vectors that nothing is in.
    fn free_vectors(&self) -> usize {
        self.vectors.iter().filter(|holders| **holders == 0).count()
    }
}
