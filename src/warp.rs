//! Decoded programs: instructions over the warps of a block, 32 threads each, registers held as a structure of arrays.
//!
//! A [`Program`] is decoded once: each instruction becomes a function of the machine's best [`Level`] and its data
//! (truth tables, shuffle controls, constants). Running it over [`Warps`] calls these functions one after another;
//! nothing looks at a form any more. Only collective instructions allocate, scratch memory for the values of a warp. One instruction over several warps at once costs a fraction
//! of what it costs for each of them alone.
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
//! // Each of the 128 threads of the block holds its own number.
//! let mut warps = program.warps(4);
//! for warp in 0..4 {
//!     *warps.b32_mut(warp, 0) = core::array::from_fn(|lane| (32 * warp + lane) as u32);
//! }
//! program.run(&mut warps);
//! assert_eq!((warps.pred(0, 0), warps.pred(1, 0)), (0x3ff, 0));
//! assert_eq!(warps.b32(0, 1)[9..12], [0, 7, 7]);
//! # Ok::<(), ptx_isa::warp::DecodeError>(())
//! ```

#[cfg(feature = "run")]
mod memory;
mod operands;

use alloc::vec::Vec;
use core::ops::Range;

use isa_table::program::{Outcomes, Param, Reader, Shape, Value as Coded};

pub use crate::lanes::Level;
use crate::lanes::thread::Thread;
use crate::lanes::{Code, Convert, File, Step, WARP, words};
use crate::table::{self, Evaluator, FormInfo, Kind, TypeId, TypeInfo};
use crate::text::statement::{Register, Second, Statement, Value};

#[cfg(feature = "run")]
pub(crate) use memory::{Item, Moved};
pub use operands::{DecodeError, Operands, Row, Source};
use operands::{Place, held};

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

/// Where the registers of a warp begin, in bytes: masks, predicates, lanes.
#[derive(Clone, Copy, Debug)]
struct Layout {
    registers: Registers,
    b64: usize,
    b32: usize,
    b16: usize,
    end: usize,
}

/// The bytes of a register with lanes of so many bits; 1 for predicates.
const fn size(bits: u32) -> usize {
    match bits {
        1 => 4,
        // Registers of 16 bits hold bytes, too.
        8 => 2 * WARP,
        bits => bits as usize * WARP / 8,
    }
}

/// The offsets of the mask of active threads, with which a warp begins, of a predicate that is true, and of one that
/// nothing reads.
const ACTIVE: usize = 0;
const ALWAYS: usize = 4;
const SINK: usize = 8;

/// Where the states begin, which no operand names, and behind them the predicates.
const STATES: usize = 12;
const PREDICATES: usize = STATES + isa_table::limits::STATES * size(1);

/// The offset of a state.
fn state(operand: &table::Operand) -> Option<usize> {
    operand.state.map(|number| STATES + usize::from(number) * size(1))
}

impl Layout {
    fn new(registers: Registers) -> Layout {
        let Registers { b16, b32, b64, pred } = registers;
        let after = |start: usize, count: u32, bits| (start + count as usize * size(bits)).next_multiple_of(64);
        let b64_at = after(PREDICATES, pred, 1);
        let b32_at = after(b64_at, b64, 64);
        let b16_at = after(b32_at, b32, 32);
        Layout { registers, b64: b64_at, b32: b32_at, b16: b16_at, end: after(b16_at, b16, 16) }
    }

    /// The offset of a register, or how many there are of its width.
    fn offset(&self, bits: u32, register: u32) -> Result<usize, u32> {
        let (start, count) = match bits {
            1 => (PREDICATES, self.registers.pred),
            8 | 16 => (self.b16, self.registers.b16),
            32 => (self.b32, self.registers.b32),
            _ => (self.b64, self.registers.b64),
        };
        if register < count { Ok(start + register as usize * size(bits)) } else { Err(count) }
    }
}

/// A decoded program.
#[derive(Clone, Debug)]
pub struct Program {
    layout: Layout,
    sm: u16,
    level: Level,
    code: Code,
    /// Constants behind the registers: the offset, the width of a lane and its bits.
    constants: Vec<(usize, u32, u64)>,
    /// The first step of each instruction: conversions of its operands are steps of their own.
    starts: Vec<u32>,
    /// Room for converted operands, and the width of each.
    converted: Vec<(u8, usize)>,
    /// Room for lanes that nothing reads, once it is needed.
    lane_sink: Option<usize>,
    /// The bytes of a warp's registers.
    bytes: usize,
}

impl Program {
    /// An empty program with these registers on targets with this SM number, at the machine's best level.
    pub fn new(registers: Registers, sm: u16) -> Program {
        Program::at_level(registers, sm, Level::best())
    }

    /// The same at another level.
    pub fn at_level(registers: Registers, sm: u16, level: Level) -> Program {
        let layout = Layout::new(registers);
        let (code, constants) = (Code::default(), Vec::new());
        let (starts, converted) = (Vec::new(), Vec::new());
        Program { layout, sm, level, code, constants, starts, converted, lane_sink: None, bytes: layout.end }
    }

    /// The level its instructions are decoded for.
    pub fn level(&self) -> Level {
        self.level
    }

    /// How many instructions it has.
    pub fn len(&self) -> usize {
        self.starts.len()
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
    pub fn push(&mut self, form: FormInfo, operands: &Operands<'_>) -> Result<(), DecodeError> {
        self.add(form, operands)
    }

    /// The same with registers of any width. One that is wider or narrower than its operand is converted: a source is truncated
    /// to the operand's bits, or extended to them as its type says; a destination takes the operand's bits, extended likewise.
    ///
    /// # Errors
    ///
    /// As [`Program::push`], and [`DecodeError::Width`].
    pub fn push_rows(&mut self, form: FormInfo, operands: &Operands<'_, Row>) -> Result<(), DecodeError> {
        self.add(form, operands)
    }

    fn add<R: Place>(&mut self, form: FormInfo, operands: &Operands<'_, R>) -> Result<(), DecodeError> {
        let name = form.mnemonic();
        let (read, written) = form.states().iter().partition::<Vec<_>, _>(|operand| !operand.destination);
        let sources = operands.sources.len();
        let decoded = Decoded::new(form, self.sm, sources + read.len(), operands.selectors)?;
        if operands.destinations.len() + written.len() != form.results().count() {
            return Err(DecodeError::Count(name));
        }
        let Decoded { evaluator, mut data, loops } = decoded;
        let shape = evaluator.shape();
        let guard = match operands.guard {
            Some((register, not)) => Ok((self.register(name, Row { bits: 1, number: register })? as u32, not)),
            None => Err(ALWAYS as u32),
        };
        let signed = |ty: TypeId| form.table().ty(ty).kind == Kind::Signed;
        let (mut at, mut before, mut after) = (Vec::with_capacity(shape.places.len()), Vec::new(), Vec::new());
        let mut scratch = Vec::new();
        for ((register, bits), (_, ty)) in operands.destinations.iter().zip(shape.places).zip(form.results()) {
            at.push(match (*register, *bits) {
                (Some(register), bits) => {
                    let row = register.row(bits);
                    let own = self.register(name, row)?;
                    match self.conversion(name, row, bits, signed(ty), &mut scratch)? {
                        Some((offset, convert)) => {
                            after.push((
                                own as u32,
                                offset as u32,
                                Convert { from: convert.to, to: row.bits, ..convert },
                            ));
                            offset
                        }
                        None => own,
                    }
                }
                (None, 1) => SINK,
                (None, _) => self.lane_sink(),
            } as u32);
        }
        if let (Ok((guard, _)), Some((.., convert))) = (guard, after.first())
            && at.contains(&guard)
        {
            return Err(DecodeError::Width { form: name, register: convert.to, operand: convert.bits });
        }
        at.extend(written.into_iter().filter_map(state).map(|offset| offset as u32));
        for (index, operand) in evaluator.sources().iter().enumerate() {
            let bits = shape.places[shape.outputs.len() + index];
            let operand = usize::from(*operand);
            if let Some(offset) = operand.checked_sub(sources).and_then(|number| state(read[number])) {
                at.push(offset as u32);
                continue;
            }
            at.push(match operands.sources[operand] {
                Source::Register(register) => {
                    let row = register.row(bits);
                    let own = self.register(name, row)?;
                    let signed = form.sources().nth(operand).is_some_and(|operand| signed(operand.ty));
                    match self.conversion(name, row, bits, signed, &mut scratch)? {
                        Some((offset, convert)) => {
                            before.push((offset as u32, own as u32, convert));
                            offset
                        }
                        None => own,
                    }
                }
                Source::Not(register) if bits == 1 && register.row(1).bits == 1 => {
                    complement(shape, &mut data, index);
                    self.register(name, register.row(1))?
                }
                Source::Not(_) => return Err(DecodeError::Not(name)),
                Source::Constant(value) => self.constant(bits.into(), value),
            } as u32);
        }
        let mut params = Vec::new();
        shape.params.iter().zip(&data).for_each(|(param, datum)| words(*param, *datum, &mut params));
        let thread = Thread::new(shape, form.table().operation, data);
        self.starts.push(self.code.len() as u32);
        before.into_iter().for_each(|(to, from, convert)| self.code.convert(to, from, convert, Err(ALWAYS as u32)));
        self.code.push(Step { at, guard, params }, loops, self.level, shape.places, thread);
        after.into_iter().for_each(|(to, from, convert)| self.code.convert(to, from, convert, guard));
        Ok(())
    }

    /// Where an operand of so many bits is that a register of another width stands for, and its conversion to there; none if
    /// the register has the operand's width.
    fn conversion(
        &mut self,
        form: &'static str,
        row: Row,
        bits: u8,
        signed: bool,
        used: &mut Vec<usize>,
    ) -> Result<Option<(usize, Convert)>, DecodeError> {
        let to = held(bits);
        if row.bits == to {
            return Ok(None);
        }
        if row.bits == 1 || bits == 1 {
            return Err(DecodeError::Width { form, register: row.bits, operand: bits });
        }
        let free = self.converted.iter().find(|(width, at)| *width == to && !used.contains(at));
        let at = match free {
            Some((_, at)) => *at,
            None => {
                let at = self.room(size(to.into()));
                self.converted.push((to, at));
                at
            }
        };
        used.push(at);
        Ok(Some((at, Convert { from: row.bits, to, bits: bits.min(row.bits), signed })))
    }

    /// Decodes a statement and adds it. `row` tells which register a name stands for; it is given the name and the type of
    /// the operand. A register of another width is [converted](Program::push_rows).
    ///
    /// ```
    /// use ptx_isa::text::Statement;
    /// use ptx_isa::warp::{Program, Registers, Row};
    ///
    /// let mut program = Program::new(Registers { b32: 2, pred: 1, ..Registers::default() }, 90);
    /// let statement = Statement::parse(&ptx_isa::TABLE, "setp.lt.s32 %p0, %r1, 10;")?;
    /// // The number at the end of a name is the register's.
    /// program.push_statement(&statement, |register, ty| Some(Row::of(ty, register.name[2..].parse().ok()?)))?;
    ///
    /// let mut warps = program.warps(1);
    /// warps.b32_mut(0, 1)[0] = 10;
    /// program.run(&mut warps);
    /// assert_eq!(warps.pred(0, 0), !1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DecodeError::NoEvaluator`] for what is left to an emulator: loads, stores, branches. Else as [`Program::push_rows`], and
    /// if `row` knows no register for an operand, or the operand is a sum.
    pub fn push_statement(
        &mut self,
        statement: &Statement<'_>,
        row: impl Fn(Register<'_>, &'static TypeInfo) -> Option<Row>,
    ) -> Result<(), DecodeError> {
        let form = statement.form();
        if form.evaluations().is_empty() {
            return Err(DecodeError::NoEvaluator(form.mnemonic()));
        }
        let table = form.table();
        let find = |operand: &'static str, ty: &'static TypeInfo, register: Register<'_>| {
            row(register, ty).ok_or(DecodeError::NoRegister { form: form.mnemonic(), operand })
        };
        let named = |operand: &'static str, ty, name| find(operand, ty, Register { name, element: None });
        let (mut destinations, mut sources, mut selectors) = (Vec::new(), Vec::new(), Vec::new());
        for (info, operand) in statement.operands_with_info() {
            let ty = table.ty(info.ty);
            selectors.extend(info.selector.map(|selector| operand.selector.unwrap_or(selector.default)));
            if info.destination {
                destinations.push(match operand.value {
                    Value::Register(register) => Some(find(info.name, ty, register)?),
                    _ => None,
                });
                // A sink behind a destination without a second one says nothing.
                if let Some(second) = &info.second {
                    destinations.push(match operand.second {
                        Some(Second::Register(name)) => Some(named(second.name, table.ty(second.ty), name)?),
                        _ => None,
                    });
                }
                continue;
            }
            sources.push(match operand.value {
                Value::Register(register) => Source::Register(find(info.name, ty, register)?),
                Value::Negated(register) => Source::Not(find(info.name, ty, register)?),
                Value::Constant(bits) => Source::Constant(bits),
                Value::Sum { .. }
                | Value::Element { .. }
                | Value::Sink
                | Value::Vector(_)
                | Value::Name(_)
                | Value::Arguments(_) => {
                    return Err(DecodeError::NoRegister { form: form.mnemonic(), operand: info.name });
                }
                Value::Absent => continue,
            });
        }
        let guard = match statement.guard() {
            Some(guard) => {
                let predicate = table.types.iter().find(|ty| ty.kind == Kind::Predicate);
                let row = match predicate {
                    Some(ty) => named("guard", ty, guard.register)?,
                    None => return Err(DecodeError::NoRegister { form: form.mnemonic(), operand: "guard" }),
                };
                if row.bits != 1 {
                    return Err(DecodeError::Width { form: form.mnemonic(), register: row.bits, operand: 1 });
                }
                Some((row.number, guard.negated))
            }
            None => None,
        };
        let operands = Operands { guard, destinations: &destinations, sources: &sources, selectors: &selectors };
        self.push_rows(form, &operands)
    }

    fn register(&self, form: &'static str, row: Row) -> Result<usize, DecodeError> {
        let (bits, register) = (u32::from(row.bits), row.number);
        match bits {
            1 | 16 | 32 | 64 => self.layout.offset(bits, register).map_err(|count| DecodeError::Register {
                form,
                register,
                count,
                bits,
            }),
            _ => Err(DecodeError::NoLanes { form, why: "a warp has no registers of this width" }),
        }
    }

    /// So many bytes behind what there is.
    fn room(&mut self, bytes: usize) -> usize {
        let offset = self.bytes;
        self.bytes += bytes.next_multiple_of(64);
        offset
    }

    /// The offset of a constant, made if it is new.
    fn constant(&mut self, bits: u32, value: u64) -> usize {
        let value = value & (u64::MAX >> (64 - bits));
        let found = self.constants.iter().find(|(_, other, old)| (*other, *old) == (bits, value));
        if let Some((offset, ..)) = found {
            return *offset;
        }
        let offset = self.room(size(bits));
        self.constants.push((offset, bits, value));
        offset
    }

    /// The offset of lanes that nothing reads.
    fn lane_sink(&mut self) -> usize {
        let offset = self.lane_sink.unwrap_or_else(|| self.room(size(64)));
        *self.lane_sink.insert(offset)
    }

    /// A block of so many warps for this program as it is now: every register zero, every thread active.
    pub fn warps(&self, count: usize) -> Warps {
        let stride = Code::stride(self.bytes);
        let mut file = File::new(count * stride);
        for warp in (0..count).map(|warp| warp * stride) {
            file.words_mut::<u32>(warp + ACTIVE, 1).fill(u32::MAX);
            file.words_mut::<u32>(warp + ALWAYS, 1).fill(u32::MAX);
            for (offset, bits, value) in &self.constants {
                match bits {
                    1 => file.words_mut::<u32>(warp + offset, 1).fill(if *value != 0 { u32::MAX } else { 0 }),
                    8 | 16 => file.words_mut::<u16>(warp + offset, WARP).fill(*value as u16),
                    32 => file.words_mut::<u32>(warp + offset, WARP).fill(*value as u32),
                    _ => file.words_mut::<u64>(warp + offset, WARP).fill(*value),
                }
            }
        }
        Warps { layout: self.layout, count, stride, file }
    }

    /// Runs the instructions over all warps of a block that this program made, after its last instruction was added.
    ///
    /// # Panics
    ///
    /// If the block is another program's.
    #[inline]
    pub fn run(&self, block: &mut Warps) {
        self.run_range(0..self.len(), 0..block.len(), block);
    }

    /// Runs some of the instructions, counted in the order they were added, over some of the warps: an emulator does what
    /// is not in the table between two such calls.
    ///
    /// # Panics
    ///
    /// If there are not as many of either, or the block is another program's.
    #[inline]
    pub fn run_range(&self, instructions: Range<usize>, warps: Range<usize>, block: &mut Warps) {
        self.run_steps(instructions, warps, false, block);
    }

    #[inline]
    fn run_steps(&self, instructions: Range<usize>, warps: Range<usize>, whole: bool, block: &mut Warps) {
        assert!(instructions.end <= self.len(), "there are fewer instructions");
        let step = |number: usize| self.starts.get(number).map_or(self.code.len(), |start| *start as usize);
        let steps = step(instructions.start)..step(instructions.end);
        self.code.run(steps, warps, whole, &mut block.file, block.stride);
    }
}

/// A form's evaluator with all data of one instruction but its places.
pub(crate) struct Decoded {
    pub evaluator: Evaluator,
    /// For each parameter its constant, its outcomes, or its packed selector.
    pub data: Vec<u64>,
    /// The code of its loop.
    pub loops: &'static [crate::lanes::Run],
}

impl Decoded {
    /// The evaluator on targets with this SM number for so many sources. `selectors` are packed, in order of writing; none
    /// for the defaults.
    pub(crate) fn new(form: FormInfo, sm: u16, sources: usize, selectors: &[u32]) -> Result<Decoded, DecodeError> {
        let name = form.mnemonic();
        if form.evaluations().is_empty() {
            return Err(DecodeError::NoEvaluator(name));
        }
        let evaluator = form.evaluator(sm, sources).ok_or(DecodeError::Count(name))?;
        if !selectors.is_empty() && selectors.len() != form.selectors().count() {
            return Err(DecodeError::Count(name));
        }
        let loops = evaluator.code();
        let shape = evaluator.shape();
        // Without a loop it still runs thread by thread, if registers hold its operands.
        let held = shape.places.iter().all(|bits| matches!(bits, 1 | 8 | 16 | 32 | 64));
        let loops = match loops {
            Ok(loops) => loops,
            Err(_) if held && shape.places.len() <= isa_table::limits::PLACES => &[],
            Err(why) => return Err(DecodeError::NoLanes { form: name, why }),
        };
        let mut data = evaluator.data().to_vec();
        for (param, datum) in shape.params.iter().zip(&mut data) {
            if let Param::Pick(..) | Param::Subset(_) = param {
                let number = *datum as usize;
                let default = form.selectors().nth(number).map_or(0, |selector| selector.default);
                *datum = selectors.get(number).copied().unwrap_or(default).into();
            }
        }
        Ok(Decoded { evaluator, data, loops })
    }
}

/// Complements a predicate source of a shape: in the truth tables that ask it.
pub(crate) fn complement(shape: &Shape, data: &mut [u64], source: usize) {
    let mut reader = Reader::new(shape.code);
    // Which values are this source: itself, and one for each lane.
    let mut asked = Vec::new();
    // For each table the leaves that are. Predicates that share a table ask the same sources.
    let mut flips = alloc::vec![0_usize; data.len()];
    let mut number = 0_u8;
    while let Some(value) = reader.next() {
        match value {
            Coded::Source { source: own, .. } if usize::from(own) == source => asked.push(number),
            Coded::Spread { of, .. } if asked.contains(&of) => asked.push(number),
            Coded::Truth { table: Outcomes::Param(param), leaves, .. } => {
                for (index, (leaf, _)) in leaves.iter().enumerate() {
                    if asked.contains(leaf) {
                        flips[usize::from(param)] |= 1 << index;
                    }
                }
            }
            _ => {}
        }
        number += 1;
    }
    for ((datum, flip), param) in data.iter_mut().zip(flips).zip(shape.params) {
        if let (Param::Truth(leaves), 1..) = (param, flip) {
            let outcomes = *datum;
            *datum = (0..1 << leaves).fold(0, |table, spelt| table | (outcomes >> (spelt ^ flip) & 1) << spelt);
        }
    }
}

/// The registers of the warps of a block, and which of their threads are active.
#[derive(Clone, Debug)]
pub struct Warps {
    layout: Layout,
    count: usize,
    /// The bytes from one warp's registers to the next one's.
    stride: usize,
    file: File,
}

macro_rules! registers {
    ($($read:ident $write:ident $ty:ty, $bits:literal;)*) => {$(
        #[doc = concat!(
            "A register of ", $bits, " bits of a warp: the lanes of its threads.\n\n# Panics\n\n",
            "If there are not as many of either."
        )]
        #[inline]
        pub fn $read(&self, warp: usize, register: u32) -> &[$ty; WARP] {
            let lanes = self.file.words(self.at(warp, $bits, register), WARP);
            lanes.as_array().expect("lanes of a warp")
        }

        #[doc = concat!(
            "A register of ", $bits, " bits of a warp, to write.\n\n# Panics\n\nIf there are not as many of either."
        )]
        #[inline]
        pub fn $write(&mut self, warp: usize, register: u32) -> &mut [$ty; WARP] {
            let at = self.at(warp, $bits, register);
            self.file.words_mut(at, WARP).as_mut_array().expect("lanes of a warp")
        }
    )*};
}

impl Warps {
    /// How many warps there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the registers of a warp are.
    #[inline]
    fn warp(&self, warp: usize) -> usize {
        assert!(warp < self.count, "warp {warp} of {}", self.count);
        warp * self.stride
    }

    /// Where a register of a warp is.
    #[inline]
    fn at(&self, warp: usize, bits: u32, register: u32) -> usize {
        let offset = self.layout.offset(bits, register);
        self.warp(warp) + offset.unwrap_or_else(|count| panic!("register {register} of {count} with {bits} bits"))
    }

    registers! {
        b16 b16_mut u16, 16;
        b32 b32_mut u32, 32;
        b64 b64_mut u64, 64;
    }

    /// A predicate of a warp, a bit a thread.
    ///
    /// # Panics
    ///
    /// If there are not as many of either.
    #[inline]
    pub fn pred(&self, warp: usize, register: u32) -> u32 {
        self.file.words(self.at(warp, 1, register), 1)[0]
    }

    /// A predicate of a warp, to write.
    ///
    /// # Panics
    ///
    /// If there are not as many of either.
    #[inline]
    pub fn pred_mut(&mut self, warp: usize, register: u32) -> &mut u32 {
        let at = self.at(warp, 1, register);
        &mut self.file.words_mut(at, 1)[0]
    }

    /// The threads of a warp that run, a bit each. The others keep what their registers hold.
    ///
    /// # Panics
    ///
    /// If there are not as many warps.
    #[inline]
    pub fn active(&self, warp: usize) -> u32 {
        self.file.words(self.warp(warp) + ACTIVE, 1)[0]
    }

    /// The threads of a warp that run, to change.
    ///
    /// # Panics
    ///
    /// If there are not as many warps.
    #[inline]
    pub fn active_mut(&mut self, warp: usize) -> &mut u32 {
        let at = self.warp(warp) + ACTIVE;
        &mut self.file.words_mut(at, 1)[0]
    }
}
