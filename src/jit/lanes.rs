//! Lanes of a warp in machine registers: which vectors and masks hold which registers of the kernel.
//!
//! A vector has 64 bytes, so that 32 lanes of 16 bits are in one, of 32 bits in two, and of 64 bits in four; what is the same in all lanes is
//! in one vector alone. A predicate is a mask with a bit for each lane. Registers of the kernel stay in machine registers until these are
//! needed for others, or the code ends; then those that have changed are stored.

mod loops;
mod sections;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::prelude::rust_2024::*;

use iced_x86::{Code, Register};

use super::assembler::*;
use super::{Callee, Regular};
use loops::Loop;
use sections::Sections;
pub(crate) use sections::{Branch, LABELS, SectionArguments, Target};

/// Number of vectors, and the one that holds the NaN of single precision in each lane.
const VECTORS: usize = 32;
const NAN: u8 = 31;

/// Comparison of floats in single precision, and its predicate that is true of NaNs.
pub(super) const COMPARE: Code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
pub(super) const UNORDERED: u32 = 3;

/// Masks that are allocated, and with [`ACTIVE`] those before: the first cannot be the mask of an instruction, and the last two are [`SPARE`].
const MASKS: core::ops::Range<u8> = 1..6;

/// The active lanes of each half of the warp, where not all of them are.
const ACTIVE: [u8; 2] = [4, 5];

/// Masks that an operation uses while it runs.
pub(super) const SPARE: [u8; 2] = [6, 7];

/// The most vectors that hold the same in each warp, and are loaded once.
const PINNED: usize = 10;

/// Lanes in vectors, from the first lane on; one vector if all lanes are the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector {
    registers: [u8; 4],
    count: u8,
    pub uniform: bool,
}

impl Vector {
    pub(super) fn new(registers: &[u8], uniform: bool) -> Vector {
        let mut vector = Vector { registers: [0; 4], count: registers.len() as u8, uniform };
        vector.registers[..registers.len()].copy_from_slice(registers);
        vector
    }

    /// The register that holds a part of the lanes.
    pub(super) fn part(&self, part: usize) -> u8 {
        self.registers[if self.uniform { 0 } else { part }]
    }

    fn registers(&self) -> &[u8] {
        &self.registers[..usize::from(self.count)]
    }
}

/// Number of vectors that lanes of a width take.
pub(super) fn parts(bits: u8) -> usize {
    usize::from(bits / 16)
}

/// A value of all lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Vector(Vector),
    Mask(u8),
    Constant(u64),
}

/// A register of the kernel in machine registers.
#[derive(Debug)]
struct Cached {
    value: Value,
    bits: u8,
    /// True if the register file does not have it.
    changed: bool,
    /// When it was used last.
    used: u64,
}

/// Contents of machine registers, and the code that has made them.
pub(super) struct Lanes {
    pub code: Assembler,
    /// Code that runs before the first warp, or before each one if functions are called.
    pub before: Assembler,
    /// True if functions are called.
    pub calls: bool,
    pub literals: Vec<[u8; LINE]>,
    /// Number of holders of each vector and mask.
    vectors: [u32; VECTORS],
    /// True for vectors that the code has used.
    touched: [bool; VECTORS],
    /// True for vectors of floats in single precision in which any NaN may stand for the machine's.
    loose: [bool; VECTORS],
    masks: [u32; 8],
    cached: HashMap<u32, Cached>,
    /// Offsets of registers of the kernel whose lanes in the file are loose.
    spilled: BTreeSet<u32>,
    /// Widths of registers that are read before they are written, and of those that are written.
    pub read_first: BTreeMap<u32, u8>,
    pub written: BTreeMap<u32, u8>,
    looped: Loop,
    /// Present if the code consists of sections.
    sections: Option<Sections>,
    regular: HashMap<u32, (u8, Regular)>,
    pinned: Vec<(Pin, u8)>,
    /// True if some lanes may be inactive.
    pub partial: bool,
    /// True if arguments change from round to round.
    pub varies: bool,
    /// The tables that the offsets in [`HALVES`] are from, and when they were used last.
    tables: [(Option<u32>, u64); HALVES.len()],
    time: u64,
}

/// Contents of a pinned vector.
#[derive(Clone, Copy, PartialEq)]
enum Pin {
    /// Those of the literal at an offset.
    Literal(i64),
    Argument(u8, u32),
}

/// Adds `times` the number of lanes in a mask to an argument.
pub(super) fn count_lanes(code: &mut Assembler, mask: u8, times: u32, argument: u32) {
    code.two(Code::VEX_Kmovd_r32_kr, SCRATCH32, k(mask));
    code.two(Code::Popcnt_r32_rm32, SCRATCH32, SCRATCH32);
    code.two_by(Code::Imul_r32_rm32_imm32, SCRATCH32, SCRATCH32, times);
    code.store(Code::Add_rm64_r64, at(ARGUMENTS, i64::from(argument) * 8), SCRATCH);
}

impl Lanes {
    pub(super) fn new(partial: bool) -> Lanes {
        let mut lanes = Lanes {
            code: Assembler::new(),
            before: Assembler::new(),
            calls: false,
            literals: Vec::new(),
            vectors: [0; VECTORS],
            touched: [false; VECTORS],
            loose: [false; VECTORS],
            masks: [0; 8],
            cached: HashMap::new(),
            spilled: BTreeSet::new(),
            read_first: BTreeMap::new(),
            written: BTreeMap::new(),
            looped: Loop::default(),
            sections: None,
            regular: HashMap::new(),
            pinned: Vec::new(),
            partial,
            varies: false,
            tables: Default::default(),
            time: 0,
        };
        lanes.start();
        lanes
    }

    /// Holds what is needed all the time in registers of the machine, and nothing else.
    fn start(&mut self) {
        (self.vectors, self.touched, self.loose) = ([0; VECTORS], [false; VECTORS], [false; VECTORS]);
        self.masks = [0; 8];
        self.pinned.clear();
        self.tables = Default::default();
        if self.partial {
            self.load_active();
            ACTIVE.into_iter().for_each(|number| self.masks[usize::from(number)] = 1);
        }
        self.vectors[usize::from(NAN)] = 1;
        self.touched[usize::from(NAN)] = true;
        let nan = self.repeated(32, 0x7fff_ffff);
        self.ahead().load(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, zmm(NAN), at(LITERALS, nan));
    }

    /// Loads the masks of active lanes: a warp begins with them.
    fn load_active(&mut self) {
        self.code.load(Code::VEX_Kmovd_kr_km32, k(ACTIVE[0]), at(FILE, 0));
        self.halve_active();
    }

    /// Derives the active lanes of the upper half of the warp from the mask of all active lanes.
    fn halve_active(&mut self) {
        let [low, high] = ACTIVE.map(k);
        self.code.two_by(Code::VEX_Kshiftrd_kr_kr_imm8, high, low, 16);
    }

    /// The code that loads values which are the same for all warps: ahead of the other code, or behind the last call.
    fn ahead(&mut self) -> &mut Assembler {
        if self.calls { &mut self.code } else { &mut self.before }
    }

    /// Calls a function on the registers of the warp, all of which are in the file but for some that nobody reads; `None` if too many of the
    /// machine's registers are in use.
    pub(super) fn call(&mut self, callee: Callee, sinks: &[u32]) -> Option<()> {
        self.end(sinks)?;
        self.cached.clear();
        self.spilled.clear();
        let saved = [ARGUMENTS, FILE, STRIDE, WARPS, LITERALS, ROW];
        // Once more, as the stack is aligned to 16 bytes where functions are called.
        let pushed = saved.iter().chain(&[ROW]);
        pushed.clone().for_each(|register| self.code.one(Code::Push_r64, *register));
        let [first, second] = [ARGUMENTS, FILE];
        self.code.two(Code::Mov_r64_rm64, first, FILE);
        self.code.address(second, callee.step.expose_provenance());
        self.code.address(SCRATCH, callee.function as usize);
        self.code.alone(Code::VEX_Vzeroupper);
        self.code.one(Code::Call_rm64, SCRATCH);
        pushed.rev().for_each(|register| self.code.one(Code::Pop_r64, *register));
        self.calls = true;
        self.start();
        Some(())
    }

    /// Drops all registers of the kernel from registers of the machine, once those that have changed were stored.
    fn forget(&mut self) {
        std::mem::take(&mut self.cached).into_values().for_each(|cached| self.release(cached.value));
        self.spilled.clear();
        self.tables = Default::default();
    }

    /// Adds a literal of up to a line, and returns its offset.
    pub(super) fn literal(&mut self, bytes: &[u8]) -> i64 {
        let mut line = [0; LINE];
        line[..bytes.len()].copy_from_slice(bytes);
        let found = self.literals.iter().position(|other| *other == line);
        let place = found.unwrap_or_else(|| {
            self.literals.push(line);
            self.literals.len() - 1
        });
        (LINE * place) as i64
    }

    /// Adds a literal with a word in each lane, and returns its offset.
    pub(super) fn repeated(&mut self, bits: u8, word: u64) -> i64 {
        let (bytes, size) = (word.to_le_bytes(), usize::from(bits / 8));
        self.literal(&std::array::from_fn::<u8, LINE, _>(|index| bytes[index % size]))
    }

    /// A free vector, whose only holder is the caller; `None` if all are in use.
    pub(super) fn vector(&mut self) -> Option<u8> {
        let free = |vectors: &[u32; VECTORS]| vectors.iter().position(|holders| *holders == 0);
        if free(&self.vectors).is_none() {
            self.evict_oldest(|lanes, value| match value {
                Value::Vector(vector) => {
                    vector.registers().iter().all(|number| lanes.vectors[usize::from(*number)] == 1)
                }
                _ => false,
            })?;
        }
        let number = free(&self.vectors)?;
        self.vectors[number] = 1;
        (self.touched[number], self.loose[number]) = (true, false);
        Some(number as u8)
    }

    /// From now on any NaN in a value, of floats in single precision, stands for the machine's: most operations do not ask which one it is.
    pub(super) fn loosen(&mut self, value: Value) {
        if let Value::Vector(vector) = value {
            vector.registers().iter().for_each(|number| self.loose[usize::from(*number)] = true);
        }
    }

    pub(super) fn is_loose(&mut self, value: Value) -> bool {
        let Value::Vector(vector) = value else { return false };
        let mut found = false;
        for number in vector.registers() {
            if self.loose[usize::from(*number)] {
                self.looped.ask(*number);
                found = true;
            }
        }
        found
    }

    /// Returns true if one of some values is loose; the loop hears of each of them.
    pub(super) fn is_any_loose(&mut self, values: &[Value]) -> bool {
        let mut found = false;
        for value in values {
            found |= self.is_loose(*value);
        }
        found
    }

    /// Returns true if one of these values is loose, and in all of them any NaN stands for the machine's.
    pub(super) fn are_loose(&mut self, values: &[Value]) -> bool {
        let no_other_nan = |word: u32| word & 0x7fff_ffff <= 0x7f80_0000 || word == 0x7fff_ffff;
        self.is_any_loose(values)
            && values.iter().all(|value| match value {
                Value::Constant(word) => no_other_nan(*word as u32),
                value => self.is_loose(*value),
            })
    }

    /// Lets NaNs in a value be the machine's, for whoever needs its bits.
    pub(super) fn settle(&mut self, value: Value) {
        let Value::Vector(vector) = value else { return };
        for number in vector.registers() {
            if std::mem::take(&mut self.loose[usize::from(*number)]) {
                self.looped.ask(*number);
                let (vector, mask) = (zmm(*number), SPARE[0]);
                self.code.three_by(COMPARE, k(mask), vector, vector, UNORDERED);
                self.code.two_in(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, mask, vector, zmm(NAN));
            }
        }
    }

    /// The mask of active lanes in a part of a vector of lanes, for which a spare one may be used; 0 if all are.
    pub(super) fn active(&mut self, bits: u8, part: usize) -> u8 {
        self.part_of(self.active_lanes(), bits, part)
    }

    /// The mask of active lanes; none if all are.
    pub(super) fn active_lanes(&self) -> Option<u8> {
        self.partial.then_some(ACTIVE[0])
    }

    /// The lanes of a mask in a part of a vector of lanes, for which a spare one may be used; 0 without a mask.
    pub(super) fn part_of(&mut self, mask: Option<u8>, bits: u8, part: usize) -> u8 {
        let first = part * 8 * LINE / usize::from(bits);
        match (mask, first) {
            (None, _) => 0,
            (Some(mask), 0) => mask,
            (Some(mask), 16) if mask == ACTIVE[0] => ACTIVE[1],
            (Some(mask), first) => {
                self.code.two_by(Code::VEX_Kshiftrd_kr_kr_imm8, k(SPARE[0]), k(mask), first as u32);
                SPARE[0]
            }
        }
    }

    /// Leaves the active lanes in a mask.
    pub(super) fn retain_active(&mut self, mask: Value) {
        if let (Value::Mask(number), true) = (mask, self.partial) {
            self.code.three(Code::VEX_Kandd_kr_kr_kr, k(number), k(number), k(ACTIVE[0]));
        }
    }

    /// A free mask, whose only holder is the caller; `None` if all are in use.
    pub(super) fn mask(&mut self) -> Option<u8> {
        let free = |masks: &[u32; 8]| MASKS.into_iter().find(|number| masks[usize::from(*number)] == 0);
        if free(&self.masks).is_none() {
            self.evict_oldest(
                |lanes, value| matches!(value, Value::Mask(number) if lanes.masks[usize::from(number)] == 1),
            )?;
        }
        let number = free(&self.masks)?;
        self.masks[usize::from(number)] = 1;
        Some(number)
    }

    /// Frees the machine registers of the register that was used the longest time ago, of those whose values nothing else holds.
    fn evict_oldest(&mut self, frees: impl Fn(&Lanes, Value) -> bool) -> Option<()> {
        let candidates = self.cached.iter().filter(|(_, cached)| frees(self, cached.value));
        let offset = *candidates.min_by_key(|(_, cached)| cached.used)?.0;
        self.evict(offset);
        Some(())
    }

    fn evict(&mut self, offset: u32) {
        if let Some(cached) = self.cached.remove(&offset) {
            self.keep(offset, &cached);
            self.release(cached.value);
        }
    }

    /// Stores a register that has changed, loose as it may be.
    fn keep(&mut self, offset: u32, cached: &Cached) {
        if !cached.changed {
            return;
        }
        match self.is_loose(cached.value) {
            true => self.spilled.insert(offset),
            false => self.spilled.remove(&offset),
        };
        let offset = i64::from(offset);
        match cached.value {
            Value::Vector(vector) => {
                let (load, store) = match cached.bits {
                    16 => (Code::EVEX_Vmovdqu16_zmm_k1z_zmmm512, Code::EVEX_Vmovdqu16_zmmm512_k1z_zmm),
                    32 => (Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, Code::EVEX_Vmovdqa32_zmmm512_k1z_zmm),
                    _ => (Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, Code::EVEX_Vmovdqa64_zmmm512_k1z_zmm),
                };
                // A masked store does not forward to the loads of the next section: store whole vectors instead.
                let again = self.is_divergent() && self.vectors[usize::from(vector.part(0))] == 1 && !vector.uniform;
                for part in 0..parts(cached.bits) {
                    let mask = self.active(cached.bits, part);
                    let (to, own) = (at(FILE, offset + (LINE * part) as i64), zmm(vector.part(part)));
                    match again {
                        true => {
                            let inactive = SPARE[0];
                            self.code.two(Code::VEX_Knotd_kr_kr, k(inactive), k(mask));
                            self.code.load_over(load, inactive, own, to);
                            self.code.store(store, to, own);
                        }
                        false => self.code.store_in(store, mask, to, own),
                    }
                }
            }
            Value::Mask(number) if self.partial => {
                // Inactive lanes keep what they have.
                let [old, new] = SPARE;
                self.code.load(Code::VEX_Kmovd_kr_km32, k(old), at(FILE, offset));
                self.code.three(Code::VEX_Kandnd_kr_kr_kr, k(old), k(ACTIVE[0]), k(old));
                self.code.three(Code::VEX_Kandd_kr_kr_kr, k(new), k(ACTIVE[0]), k(number));
                self.code.three(Code::VEX_Kord_kr_kr_kr, k(new), k(old), k(new));
                self.code.store(Code::VEX_Kmovd_m32_kr, at(FILE, offset), k(new));
            }
            Value::Mask(number) => self.code.store(Code::VEX_Kmovd_m32_kr, at(FILE, offset), k(number)),
            Value::Constant(_) => unreachable!("constants are not cached"),
        }
    }

    pub(super) fn hold(&mut self, value: Value) {
        match value {
            Value::Vector(vector) => {
                vector.registers().iter().for_each(|number| self.vectors[usize::from(*number)] += 1);
            }
            Value::Mask(number) => self.masks[usize::from(number)] += 1,
            Value::Constant(_) => {}
        }
    }

    pub(super) fn release(&mut self, value: Value) {
        match value {
            Value::Vector(vector) => self.release_vectors(vector.registers()),
            Value::Mask(number) => self.masks[usize::from(number)] -= 1,
            Value::Constant(_) => {}
        }
    }

    pub(super) fn release_vectors(&mut self, numbers: &[u8]) {
        numbers.iter().for_each(|number| self.vectors[usize::from(*number)] -= 1);
    }

    /// From now on the lanes of a register are not in the file, but regular.
    pub(super) fn define(&mut self, offset: u32, bits: u8, regular: Regular) {
        if let Some(cached) = self.cached.remove(&offset) {
            self.release(cached.value);
        }
        self.regular.insert(offset, (bits, regular));
    }

    /// The lanes of a register, held for the caller.
    pub(super) fn read(&mut self, offset: u32, bits: u8) -> Option<Value> {
        self.time += 1;
        if let Some(cached) = self.cached.get_mut(&offset) {
            cached.used = self.time;
            let value = cached.value;
            self.hold(value);
            return Some(value);
        }
        if !self.written.contains_key(&offset) {
            self.read_first.insert(offset, bits);
        }
        let value = match self.regular.get(&offset) {
            Some((own, _)) if *own != bits => return None,
            Some((_, regular)) => self.regular(bits, *regular)?,
            None if bits == 1 => {
                let number = self.mask()?;
                self.code.load(Code::VEX_Kmovd_kr_km32, k(number), at(FILE, offset.into()));
                Value::Mask(number)
            }
            None => {
                let mut registers = Vec::new();
                for part in 0..parts(bits) {
                    registers.push(self.vector()?);
                    let from = at(FILE, i64::from(offset) + (LINE * part) as i64);
                    self.code.load(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, zmm(registers[part]), from);
                }
                let value = Value::Vector(Vector::new(&registers, false));
                if self.spilled.contains(&offset) {
                    self.loosen(value);
                }
                value
            }
        };
        self.hold(value);
        self.cached.insert(offset, Cached { value, bits, changed: false, used: self.time });
        Some(value)
    }

    /// Writes the lanes of a register; the caller keeps its hold.
    pub(super) fn write(&mut self, offset: u32, bits: u8, value: Value) -> Option<()> {
        let value = match (value, bits) {
            (Value::Constant(_), 1) => return None,
            (Value::Constant(word), bits) => Value::Vector(self.constant(bits, word)?),
            (value, _) => {
                self.hold(value);
                value
            }
        };
        self.time += 1;
        self.regular.remove(&offset);
        self.written.insert(offset, bits);
        let cached = Cached { value, bits, changed: true, used: self.time };
        if let Some(old) = self.cached.insert(offset, cached) {
            self.release(old.value);
        }
        Some(())
    }

    /// A vector with a constant in each lane, held for the caller.
    pub(super) fn constant(&mut self, bits: u8, word: u64) -> Option<Vector> {
        let literal = self.repeated(bits, word);
        Some(Vector::new(&[self.pinned_literal(literal)?], true))
    }

    /// Adds a literal with words of a width, and returns its offset.
    pub(super) fn words(&mut self, bits: u8, words: impl IntoIterator<Item = u64>) -> i64 {
        let size = usize::from(bits / 8);
        let bytes = words.into_iter().flat_map(|word| word.to_le_bytes().into_iter().take(size));
        self.literal(&bytes.collect::<Vec<u8>>())
    }

    /// The number of each lane, held for the caller.
    pub(super) fn numbers(&mut self) -> Option<Vector> {
        let mut half = |first: u64| {
            let literal = self.words(32, first..first + 16);
            self.pinned_literal(literal)
        };
        Some(Vector::new(&[half(0)?, half(16)?], false))
    }

    /// Lanes of a width that are known at compile time, held for the caller.
    pub(super) fn known(&mut self, bits: u8, lanes: &[u64; 32]) -> Option<Value> {
        if bits == 1 {
            let mask = lanes.iter().rev().fold(0, |mask, lane| mask << 1 | *lane as u32 & 1);
            let number = self.mask()?;
            self.code.by(Code::Mov_r32_imm32, SCRATCH32, mask as i32);
            self.code.two(Code::VEX_Kmovd_kr_r32, k(number), SCRATCH32);
            return Some(Value::Mask(number));
        }
        if lanes.iter().all(|lane| *lane == lanes[0]) {
            return Some(Value::Constant(lanes[0]));
        }
        if !matches!(bits, 16 | 32 | 64) {
            return None;
        }
        let mut registers = Vec::new();
        for part in lanes.chunks(32 / parts(bits)) {
            let literal = self.words(bits, part.iter().copied());
            registers.push(self.pinned_literal(literal)?);
        }
        Some(Value::Vector(Vector::new(&registers, false)))
    }

    /// A vector with the literal at an offset, held for the caller.
    fn pinned_literal(&mut self, from: i64) -> Option<u8> {
        self.pinned(Pin::Literal(from), |code, to| {
            code.load(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, zmm(to), at(LITERALS, from));
        })
    }

    /// A vector that is the same for all warps: loaded ahead if there are not too many.
    fn pinned(&mut self, pin: Pin, load: impl Fn(&mut Assembler, u8)) -> Option<u8> {
        if let Some((_, number)) = self.pinned.iter().find(|(other, _)| *other == pin) {
            self.vectors[usize::from(*number)] += 1;
            return Some(*number);
        }
        // From the end, as others are taken from the start.
        let stays = self.pinned.len() < PINNED && !(self.varies && matches!(pin, Pin::Argument(..)));
        let untouched = self.touched.iter().rposition(|touched| !touched).filter(|_| stays);
        Some(match untouched {
            Some(number) => {
                // It is held for good, and by the caller.
                (self.vectors[number], self.touched[number]) = (2, true);
                load(self.ahead(), number as u8);
                self.pinned.push((pin, number as u8));
                number as u8
            }
            None => {
                let number = self.vector()?;
                load(&mut self.code, number);
                number
            }
        })
    }

    /// The lanes of regular values, held for the caller.
    fn regular(&mut self, bits: u8, regular: Regular) -> Option<Value> {
        let slot = i64::from(regular.slot) * 8;
        let Some(table) = regular.table else {
            return match bits {
                1 => {
                    let number = self.mask()?;
                    self.code.load(Code::Mov_r32_rm32, SCRATCH32, at(ARGUMENTS, slot));
                    self.code.one(Code::Neg_rm32, SCRATCH32);
                    self.code.two(Code::VEX_Kmovd_kr_r32, k(number), SCRATCH32);
                    Some(Value::Mask(number))
                }
                16 | 32 | 64 => {
                    let code = match bits {
                        16 => Code::EVEX_Vpbroadcastw_zmm_k1z_xmmm16,
                        32 => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
                        _ => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
                    };
                    let load = |to: &mut Assembler, number| to.load(code, zmm(number), at(ARGUMENTS, slot));
                    let number = self.pinned(Pin::Argument(bits, regular.slot), load)?;
                    Some(Value::Vector(Vector::new(&[number], true)))
                }
                _ => None,
            };
        };
        if !matches!(bits, 32 | 64) {
            return None;
        }
        let halves = self.halves(table);
        let step = |lane: u64| regular.step.wrapping_mul(lane);
        let mut registers = Vec::new();
        for half in halves {
            self.code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, slot));
            self.code.two(Code::Add_r64_rm64, SCRATCH, half);
            let base = self.vector()?;
            let first = registers.len();
            registers.push(base);
            match bits {
                32 => {
                    let steps = self.words(bits, (0..16).map(step));
                    self.code.two(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, zmm(base), SCRATCH32);
                    self.code.with_memory(
                        Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
                        zmm(base),
                        zmm(base),
                        at(LITERALS, steps),
                    );
                }
                _ => {
                    registers.push(self.vector()?);
                    self.code.two(Code::EVEX_Vpbroadcastq_zmm_k1z_r64, zmm(base), SCRATCH);
                    for part in [1, 0] {
                        let lanes = 8 * part..8 * part + 8;
                        let steps = self.words(bits, lanes.map(step));
                        let to = zmm(registers[first + part as usize]);
                        self.code.with_memory(
                            Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
                            to,
                            zmm(base),
                            at(LITERALS, steps),
                        );
                    }
                }
            }
        }
        Some(Value::Vector(Vector::new(&registers, false)))
    }

    /// The registers with the offsets of both halves of the warp from a table.
    pub(super) fn halves(&mut self, table: u32) -> [Register; 2] {
        self.time += 1;
        let found = self.tables.iter().position(|(own, _)| *own == Some(table));
        let place = found.unwrap_or_else(|| {
            let oldest = (0..HALVES.len()).min_by_key(|place| self.tables[*place].1).unwrap_or_default();
            self.code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, i64::from(table) * 8));
            for (index, half) in HALVES[oldest].into_iter().enumerate() {
                self.code.load(Code::Mov_r64_rm64, half, at_sum(SCRATCH, ROW, 8 * index as i64));
            }
            oldest
        });
        self.tables[place] = (Some(table), self.time);
        HALVES[place]
    }

    /// The lanes of a value of a width in vectors, held for the caller as the value is.
    pub(super) fn in_vectors(&mut self, value: Value, bits: u8) -> Option<Vector> {
        match value {
            Value::Vector(vector) => Some(vector),
            Value::Constant(word) => self.constant(bits, word),
            Value::Mask(_) => None,
        }
    }

    /// Stores all registers that have changed, with their bits, but for some that nobody reads; `None` if too many of the machine's registers
    /// are in use.
    pub(super) fn end(&mut self, sinks: &[u32]) -> Option<()> {
        let offsets: BTreeSet<u32> = self.cached.keys().chain(&self.spilled).copied().collect();
        for offset in offsets.into_iter().filter(|offset| !sinks.contains(offset)) {
            let loose = self.spilled.contains(&offset);
            if loose {
                let value = self.read(offset, 32)?;
                self.release(value);
            }
            if let Some(cached) = self.cached.get_mut(&offset) {
                cached.changed |= loose;
                let value = cached.value;
                self.settle(value);
            }
            self.evict(offset);
        }
        Some(())
    }
}
