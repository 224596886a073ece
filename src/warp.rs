//! Decoded programs: instructions over warps of 32 lanes, registers held as a structure of arrays.
//!
//! A [`Program`] is decoded once: each instruction becomes a function of the machine's best [`Level`] and its data
//! (truth tables, shuffle controls, constants). Running it over a [`Warp`] calls these functions one after another;
//! nothing looks at a form any more, and nothing is allocated.
//!
//! ```
//! use ptx_isa::warp::{Operands, Program, Registers, Source};
//!
//! let table = &ptx_isa::TABLE;
//! let mut program = Program::new(Registers { b32: 2, pred: 2, ..Registers::default() }, 90);
//! // setp.lt.s32 p0, r0, 10;
//! let less = table.form("setp.lt.s32").unwrap();
//! program.push(less, &Operands {
//!     destinations: &[Some(0), None],
//!     sources: &[Source::Register(0), Source::Constant(10)],
//!     ..Operands::default()
//! })?;
//! // @!p0 selp.b32 r1, r0, 7, p0;
//! let select = table.form("selp.b32").unwrap();
//! program.push(select, &Operands {
//!     guard: Some((0, true)),
//!     destinations: &[Some(1)],
//!     sources: &[Source::Register(0), Source::Constant(7), Source::Register(0)],
//!     ..Operands::default()
//! })?;
//!
//! let mut warp = program.warp();
//! for (lane, value) in warp.b32_mut(0).iter_mut().enumerate() { *value = lane as u32; }
//! program.run(&mut warp);
//! assert_eq!(warp.pred(0), 0x3ff);
//! assert_eq!(warp.b32(1)[9..12], [0, 7, 7]);
//! # Ok::<(), ptx_isa::warp::DecodeError>(())
//! ```

use alloc::vec::Vec;
use core::ops::Range;

pub use crate::simd::Level;
use crate::simd::{Code, File, Kernel, Pick, Prepared, Rare, SOURCES, Selectors, Truth, WARP};
use crate::table::{FormInfo, LaneEvaluator, SelectorKind};
use crate::text::statement::{Register, Second, Statement, Value};

/// How many registers a warp has, by width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Registers of 16 bits.
    pub b16: u32,
    /// Registers of 32 bits, packed ones included.
    pub b32: u32,
    /// Registers of 64 bits.
    pub b64: u32,
    /// Predicates.
    pub pred: u32,
}

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The register of the operand's width with this number.
    Register(u32),
    /// A predicate with `!` before it.
    Not(u32),
    /// The same bits in every lane; of a predicate, the lowest bit.
    Constant(u64),
}

/// Where an instruction's operands are. The default has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Operands<'a> {
    /// The predicate that guards the instruction, and whether `!` stands before it.
    pub guard: Option<(u32, bool)>,
    /// The destinations, second ones behind their first; `None` for the sink or a second one that is left out.
    pub destinations: &'a [Option<u32>],
    /// The sources in order of writing.
    pub sources: &'a [Source],
    /// The selectors in order of writing, packed as [`SelectorKind`] says; none for the defaults.
    pub selectors: &'a [u32],
}

/// Why an instruction cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The entry describes no semantics, or an operand fits no register.
    #[error("`{0}` has no evaluator for lanes")]
    NoEvaluator(&'static str),
    /// Too few or too many destinations, sources or selectors.
    #[error("`{0}` has another number of operands")]
    Count(&'static str),
    /// A register that the program has not declared.
    #[error("`{form}` names register {register} of {count} with {bits} bits")]
    Register {
        /// The instruction.
        form: &'static str,
        /// The register.
        register: u32,
        /// How many there are.
        count: u32,
        /// Their width; 1 for predicates.
        bits: u32,
    },
    /// A statement's operand that is no constant and no register of the program.
    #[error("`{operand}` of `{form}` is no constant and no register that is known")]
    NoRegister {
        /// The instruction.
        form: &'static str,
        /// The operand's name in the manual, or `guard`.
        operand: &'static str,
    },
    /// `!` before an operand that is no predicate.
    #[error("`{0}` has `!` before an operand that is no predicate")]
    Not(&'static str),
}

/// Where the parts of a register file begin, in bytes.
#[derive(Clone, Copy, Debug)]
struct Layout {
    registers: Registers,
    b32: usize,
    b16: usize,
    pred: usize,
    end: usize,
}

impl Layout {
    fn new(registers: Registers) -> Layout {
        let Registers { b16, b32, b64, pred } = registers;
        let after = |start: usize, count: u32, size: usize| (start + count as usize * size).next_multiple_of(64);
        let b32_at = after(0, b64, 8 * WARP);
        let b16_at = after(b32_at, b32, 4 * WARP);
        let pred_at = after(b16_at, b16, 2 * WARP);
        Layout { registers, b32: b32_at, b16: b16_at, pred: pred_at, end: after(pred_at, pred, 4) }
    }

    /// The offset of a register, or how many there are of its width.
    fn offset(&self, bits: u32, register: u32) -> Result<usize, u32> {
        let (start, size, count) = match bits {
            1 => (self.pred, 4, self.registers.pred),
            16 => (self.b16, 2 * WARP, self.registers.b16),
            32 => (self.b32, 4 * WARP, self.registers.b32),
            _ => (0, 8 * WARP, self.registers.b64),
        };
        if register < count { Ok(start + register as usize * size) } else { Err(count) }
    }
}

/// A decoded program.
#[derive(Clone, Debug)]
pub struct Program {
    layout: Layout,
    sm: u16,
    code: Code,
    /// Constants behind the registers: the offset, the width of a lane and its bits.
    constants: Vec<(usize, u32, u64)>,
    /// The bytes of a warp's file.
    bytes: usize,
    /// A predicate that is true, one that nothing reads, and one for lanes that nothing reads.
    always: usize,
    sink: usize,
    lane_sink: usize,
}

impl Program {
    /// An empty program for warps with these registers on targets with this SM number, at the machine's best level.
    pub fn new(registers: Registers, sm: u16) -> Program {
        Program::with_level(registers, sm, Level::best())
    }

    /// An empty program at a level.
    pub fn with_level(registers: Registers, sm: u16, level: Level) -> Program {
        let layout = Layout::new(registers);
        let mut program = Program {
            layout,
            sm,
            code: Code::new(level),
            constants: Vec::new(),
            bytes: layout.end,
            always: 0,
            sink: 0,
            lane_sink: 0,
        };
        program.always = program.constant(1, 1);
        program.sink = program.bytes;
        program.lane_sink = program.bytes + 64;
        program.bytes += 64 + 8 * WARP;
        program
    }

    /// The level its instructions are decoded for.
    pub fn level(&self) -> Level {
        self.code.level()
    }

    /// How many instructions it has.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Whether it has no instruction.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Decodes an instruction and adds it.
    ///
    /// # Errors
    ///
    /// If the form has no evaluator for lanes, or the operands are not those of the form.
    pub fn push(&mut self, form: &'static FormInfo, operands: &Operands<'_>) -> Result<(), DecodeError> {
        let name = form.mnemonic;
        let lanes = form.lane_evaluator(self.sm).ok_or(DecodeError::NoEvaluator(name))?;
        let kernel = lanes.kernel;
        let layout = kernel.layout();
        let destinations: usize =
            form.operands.iter().filter(|o| o.destination).map(|o| 1 + usize::from(o.second.is_some())).sum();
        if operands.destinations.len() != destinations || !form.takes_sources(operands.sources.len()) {
            return Err(DecodeError::Count(name));
        }
        let mut op = prepare(form, lanes, self.level(), operands.selectors).ok_or(DecodeError::Count(name))?;
        for (place, register) in operands.destinations.iter().enumerate() {
            op.at[place] = match (*register, layout[place]) {
                (Some(register), bits) => self.register(name, bits, register)?,
                (None, 1) => self.sink,
                (None, _) => self.lane_sink,
            } as u32;
        }
        for (index, operand) in lanes.sources.iter().enumerate() {
            let bits = layout[SOURCES + index];
            let at = match form.operands.get(*operand as usize) {
                None => self.always,
                Some(_) => {
                    let source = form.operands[..*operand as usize].iter().filter(|o| !o.destination).count();
                    // What is left out counts as zero.
                    match operands.sources.get(source).copied().unwrap_or(Source::Constant(0)) {
                        Source::Register(register) => self.register(name, bits, register)?,
                        Source::Not(register) if bits == 1 => {
                            complement(&mut op, kernel, source, index);
                            self.register(name, bits, register)?
                        }
                        Source::Not(_) => return Err(DecodeError::Not(name)),
                        Source::Constant(value) => self.constant(bits, value),
                    }
                }
            };
            op.at[SOURCES + index] = at as u32;
        }
        let (guard, flip) = match operands.guard {
            Some((register, not)) => (self.register(name, 1, register)?, not),
            None => (self.always, false),
        };
        op.guard = guard as u32;
        op.guard_xor = if flip { u32::MAX } else { 0 };
        self.code.push(kernel, op);
        Ok(())
    }

    /// Decodes a statement and adds it. `number` tells which of the registers of its width a register is.
    ///
    /// ```
    /// use ptx_isa::text::Statement;
    /// use ptx_isa::warp::{Program, Registers};
    ///
    /// let mut program = Program::new(Registers { b32: 2, pred: 1, ..Registers::default() }, 90);
    /// let statement = Statement::parse(&ptx_isa::TABLE, "setp.lt.s32 %p0, %r1, 10;")?;
    /// // The number at the end of a name is the register's.
    /// program.push_statement(&statement, |register| register.name[2..].parse().ok())?;
    ///
    /// let mut warp = program.warp();
    /// warp.b32_mut(1)[0] = 10;
    /// program.run(&mut warp);
    /// assert_eq!(warp.pred(0), !1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Program::push`], and if `number` knows no register for an operand, or the operand is a sum.
    pub fn push_statement(
        &mut self,
        statement: &Statement<'_>,
        number: impl Fn(Register<'_>) -> Option<u32>,
    ) -> Result<(), DecodeError> {
        let form = statement.form();
        let find = |operand: &'static str, register: Register<'_>| {
            number(register).ok_or(DecodeError::NoRegister { form: form.mnemonic, operand })
        };
        let named = |operand: &'static str, name| find(operand, Register { name, element: None });
        let (mut destinations, mut sources, mut selectors) = (Vec::new(), Vec::new(), Vec::new());
        for (info, operand) in statement.operands_with_info() {
            selectors.extend(info.selector.map(|selector| operand.selector.unwrap_or(selector.default)));
            if info.destination {
                destinations.push(match operand.value {
                    Value::Register(register) => Some(find(info.name, register)?),
                    _ => None,
                });
                // A sink behind a destination without a second one says nothing.
                if let Some(second) = &info.second {
                    destinations.push(match operand.second {
                        Some(Second::Register(name)) => Some(named(second.name, name)?),
                        _ => None,
                    });
                }
                continue;
            }
            sources.push(match operand.value {
                Value::Register(register) => Source::Register(find(info.name, register)?),
                Value::Negated(register) => Source::Not(find(info.name, register)?),
                Value::Constant(bits) => Source::Constant(bits),
                Value::Sum { .. } | Value::Sink => {
                    return Err(DecodeError::NoRegister { form: form.mnemonic, operand: info.name });
                }
                Value::Absent => continue,
            });
        }
        let guard = match statement.guard() {
            Some(guard) => Some((named("guard", guard.register)?, guard.negated)),
            None => None,
        };
        let operands = Operands { guard, destinations: &destinations, sources: &sources, selectors: &selectors };
        self.push(form, &operands)
    }

    fn register(&self, form: &'static str, bits: u32, register: u32) -> Result<usize, DecodeError> {
        self.layout.offset(bits, register).map_err(|count| DecodeError::Register { form, register, count, bits })
    }

    /// The offset of a constant, made if it is new.
    fn constant(&mut self, bits: u32, value: u64) -> usize {
        let value = if bits == 1 { value & 1 } else { value & (u64::MAX >> (64 - bits)) };
        let found = self.constants.iter().find(|(_, other, old)| (*other, *old) == (bits, value));
        if let Some((offset, ..)) = found {
            return *offset;
        }
        let offset = self.bytes;
        self.constants.push((offset, bits, value));
        self.bytes += if bits == 1 { 64 } else { (bits as usize * WARP / 8).next_multiple_of(64) };
        offset
    }

    /// A warp for this program as it is now: every register zero, every lane active.
    pub fn warp(&self) -> Warp {
        let mut file = File::new(self.bytes);
        for (offset, bits, value) in &self.constants {
            match bits {
                1 => *file.words_mut::<u32, 1>(*offset) = [if *value != 0 { u32::MAX } else { 0 }],
                16 => *file.words_mut::<u16, WARP>(*offset) = [*value as u16; WARP],
                32 => *file.words_mut::<u32, WARP>(*offset) = [*value as u32; WARP],
                _ => *file.words_mut::<u64, WARP>(*offset) = [*value; WARP],
            }
        }
        Warp { active: u32::MAX, layout: self.layout, file }
    }

    /// Runs the instructions over a warp that this program made, after its last instruction was added.
    ///
    /// # Panics
    ///
    /// If the warp is smaller than the program's.
    #[inline]
    pub fn run(&self, warp: &mut Warp) {
        self.run_range(0..self.len(), warp);
    }

    /// Runs some of the instructions, counted in the order they were added: an emulator does those that are not in the
    /// table between two such calls.
    ///
    /// # Panics
    ///
    /// If there are not as many, or the warp is smaller than the program's.
    #[inline]
    pub fn run_range(&self, instructions: Range<usize>, warp: &mut Warp) {
        self.code.run(instructions, &mut warp.file, warp.active);
    }
}

impl FormInfo {
    /// Whether so many sources are all, or all but optional ones.
    fn takes_sources(&self, count: usize) -> bool {
        let required = self.sources().take_while(|source| !source.optional).count();
        (required..=self.sources().count()).contains(&count)
    }

    /// How the form is evaluated over lanes on a target, if it is.
    pub fn lane_evaluator(&self, sm: u16) -> Option<&'static LaneEvaluator> {
        let evaluators = self.evaluators;
        evaluators.iter().find(|evaluator| sm < evaluator.below).or(evaluators.last())?.lanes.as_ref()
    }
}

/// The data of an instruction, without places; `None` if the selectors are not those of the form.
pub(crate) fn prepare(form: &'static FormInfo, lanes: &LaneEvaluator, level: Level, given: &[u32]) -> Option<Prepared> {
    let count = form.selectors().count();
    if !given.is_empty() && given.len() != count || count > 3 {
        return None;
    }
    let mut selectors = Selectors { picks: [Pick::NONE; 3], subset: 0 };
    let mut picks = selectors.picks.iter_mut();
    let mut packed = [0; 3];
    for (index, selector) in form.selectors().enumerate() {
        let bits = given.get(index).copied().unwrap_or(selector.default);
        packed[index] = bits;
        match selector.kind {
            SelectorKind::Lanes { lanes, of } => *picks.next()? = Pick::new(bits, lanes.into(), of.into()),
            SelectorKind::Listed { .. } => *picks.next()? = Pick::word(bits),
            SelectorKind::Subset { of } => {
                let each = u128::from(bits) & ((1 << of) - 1);
                selectors.subset = (0..WARP).fold(0, |all, lane| all | each << (lane * usize::from(of)));
            }
        }
    }
    #[cfg(any(target_arch = "x86_64", not(feature = "simd")))]
    let evaluator = form.evaluators.iter().find(|e| e.lanes.as_ref().is_some_and(|l| core::ptr::eq(l, lanes)))?;
    let mut places = [u8::MAX; 6];
    for (index, operand) in lanes.sources.iter().enumerate().rev() {
        if form.operands.get(*operand as usize).is_some() {
            let source = form.operands[..*operand as usize].iter().filter(|o| !o.destination).count();
            *places.get_mut(source)? = (SOURCES + index) as u8;
        }
    }
    #[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
    let _ = (places, packed);
    let rare = Rare {
        selectors,
        slice: lanes.kernel.slice(level),
        #[cfg(any(target_arch = "x86_64", not(feature = "simd")))]
        by_lane: crate::simd::by_lane::ByLane {
            form,
            evaluator,
            layout: lanes.kernel.layout(),
            sources: places,
            source_count: form.sources().count() as u8,
            complemented: 0,
            selectors: packed,
        },
    };
    Some(Prepared::new(level, lanes.kernel, Truth::new(lanes.truth), lanes.constants, rare))
}

/// Complements a predicate source: the source of this number in order of writing, the kernel's one of this index.
pub(crate) fn complement(op: &mut Prepared, kernel: &Kernel, source: usize, index: usize) -> bool {
    #[cfg(any(target_arch = "x86_64", not(feature = "simd")))]
    {
        op.rare_mut().by_lane.complemented |= 1 << source;
    }
    #[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
    let _ = source;
    if kernel.has_tables() {
        op.truth = op.truth.complement_predicate();
        return index == 2;
    }
    op.complement |= 1 << index;
    true
}

/// The registers of 32 lanes, as a structure of arrays.
#[derive(Clone, Debug)]
pub struct Warp {
    /// The lanes that run. The others keep what their registers hold.
    pub active: u32,
    layout: Layout,
    file: File,
}

macro_rules! registers {
    ($($read:ident $write:ident $ty:ty, $bits:literal;)*) => {$(
        #[doc = concat!("A register of ", $bits, " bits.\n\n# Panics\n\nIf there are not as many.")]
        pub fn $read(&self, register: u32) -> &[$ty; WARP] {
            self.file.words(self.layout.offset($bits, register).expect("a register of the program"))
        }

        #[doc = concat!("A register of ", $bits, " bits, to write.\n\n# Panics\n\nIf there are not as many.")]
        pub fn $write(&mut self, register: u32) -> &mut [$ty; WARP] {
            self.file.words_mut(self.layout.offset($bits, register).expect("a register of the program"))
        }
    )*};
}

impl Warp {
    registers! {
        b16 b16_mut u16, 16;
        b32 b32_mut u32, 32;
        b64 b64_mut u64, 64;
    }

    /// A predicate, one bit a lane.
    ///
    /// # Panics
    ///
    /// If there are not as many.
    pub fn pred(&self, register: u32) -> u32 {
        self.file.words::<u32, 1>(self.layout.offset(1, register).expect("a predicate of the program"))[0]
    }

    /// A predicate, to write.
    ///
    /// # Panics
    ///
    /// If there are not as many.
    pub fn pred_mut(&mut self, register: u32) -> &mut u32 {
        &mut self.file.words_mut::<u32, 1>(self.layout.offset(1, register).expect("a predicate of the program"))[0]
    }
}
