//! Decoded programs: instructions over the warps of a block (32 threads each), whose registers are stored as a
//! structure of arrays.
//!
//! A [`Program`] is decoded once: each instruction becomes a function for the machine's best [`Level`] and its data
//! (truth tables, shuffle controls, constants). Running it over [`Warps`] calls these functions one after another,
//! without any further lookup of forms. Only collective instructions allocate memory, for the values of a warp. Running
//! an instruction over several warps at once costs a fraction of running it over each of them separately.
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

mod accesses;
#[cfg(feature = "jit")]
mod compiled;
mod decoded;
#[cfg(feature = "run")]
mod memory;
mod operands;
mod push;
mod registers;

use alloc::vec::Vec;
use core::ops::Range;

pub use crate::lanes::Level;
use crate::lanes::thread::Thread;
use crate::lanes::{Code, Convert, File, Step, WARP, words};
use crate::table::{self, FormInfo, Kind, TypeId, TypeInfo};

pub use accesses::Accesses;
use accesses::Rows;
pub(crate) use decoded::{Decoded, complement};
#[cfg(feature = "run")]
pub(crate) use memory::{Item, Moved};
pub use operands::{DecodeError, Operands, Row, Source};
use operands::{Place, held};
#[cfg(feature = "run")]
pub(crate) use push::Gathered;
pub use registers::{Contents, Handle, Warps};

/// Number of registers of a warp, by width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// 16-bit registers.
    pub b16: u32,
    /// 32-bit registers, including packed ones.
    pub b32: u32,
    /// 64-bit registers.
    pub b64: u32,
    /// Predicates.
    pub pred: u32,
}

impl Registers {
    /// Adds a register whose lanes have room for `bits` bits, and returns it: 1 is a predicate. One of more than 64 bits is two of 64, the
    /// lower half first.
    pub fn add(&mut self, bits: u8) -> Row {
        let bits = held(bits);
        let (count, rows) = match bits {
            1 => (&mut self.pred, 1),
            16 => (&mut self.b16, 1),
            32 => (&mut self.b32, 1),
            64 => (&mut self.b64, 1),
            _ => (&mut self.b64, 2),
        };
        *count += rows;
        Row { bits, number: *count - rows }
    }

    /// Adds a register for values of a type, and returns it.
    pub fn add_for(&mut self, ty: &TypeInfo) -> Row {
        self.add(Row::of(ty, 0).bits)
    }
}

/// Byte offsets of the registers of a warp, which consist of masks, predicates and lanes.
#[derive(Clone, Copy, Debug, Default)]
struct Layout {
    registers: Registers,
    b64: usize,
    b32: usize,
    b16: usize,
    end: usize,
}

/// Returns the size in bytes of a register with lanes of `bits` bits; 1 is a predicate.
const fn size(bits: u32) -> usize {
    match bits {
        1 => 4,
        // 8-bit values are held in 16-bit registers.
        8 => 2 * WARP,
        bits => bits as usize * WARP / 8,
    }
}

/// Byte offsets of the mask of active threads, of a predicate that is always true, and of a predicate that is never
/// read.
const ACTIVE: usize = 0;
const ALWAYS: usize = 4;
const SINK: usize = 8;

/// Byte offsets of the implicit state operands, and of the predicates after them.
const STATES: usize = 12;
const PREDICATES: usize = STATES + isa_table::limits::STATES * size(1);

/// Returns the byte offset of an implicit state operand.
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

    /// Returns the byte offset of a register. The error is the number of registers of that width.
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
    /// Constants, which are stored after the registers: byte offset, bits per lane, and value.
    constants: Vec<(usize, u32, u64)>,
    /// Index of the first step of each instruction. Conversions of its operands are separate steps.
    starts: Vec<u32>,
    /// The registers that each instruction reads and writes.
    rows: Rows,
    /// Scratch registers for converted operands: width in bits and byte offset.
    converted: Vec<(u8, usize)>,
    /// Byte offset of lanes that are never read, once allocated.
    lane_sink: Option<usize>,
    /// Size of a warp's registers in bytes.
    bytes: usize,
    /// Sources of machine code, for each instruction that has neither a guard nor conversions; none where the machine runs none.
    #[cfg(feature = "jit")]
    computations: Vec<Option<compiled::Kept>>,
}

impl Program {
    /// Creates an empty program with these registers for targets with this SM number, at the machine's best level.
    pub fn new(registers: Registers, sm: u16) -> Program {
        Program::at_level(registers, sm, Level::best())
    }

    /// Like [`Program::new`], at the given level.
    pub fn at_level(registers: Registers, sm: u16, level: Level) -> Program {
        let layout = Layout::new(registers);
        let (code, constants) = (Code::default(), Vec::new());
        let (starts, rows, converted) = (Vec::new(), Rows::default(), Vec::new());
        Program {
            layout,
            sm,
            level,
            code,
            constants,
            starts,
            rows,
            converted,
            lane_sink: None,
            bytes: layout.end,
            #[cfg(feature = "jit")]
            computations: Vec::new(),
        }
    }

    /// Returns the level that the instructions are decoded for.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Returns the number of instructions.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns true if the program is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Decodes an instruction and appends it.
    ///
    /// # Errors
    ///
    /// If the form has no evaluator for lanes, or the operands do not match the form.
    pub fn push(&mut self, form: FormInfo, operands: &Operands<'_>) -> Result<(), DecodeError> {
        self.add(form, operands)
    }

    /// Like [`Program::push`], with registers of any width. A register whose width differs from that of its operand is
    /// converted: a source is truncated, or sign- or zero-extended according to the operand's type; a destination
    /// receives the operand's bits, extended in the same way, as is a byte in a register of 16 bits.
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
        self.rows.begin();
        for ((register, bits), (_, ty)) in operands.destinations.iter().zip(shape.places).zip(form.results()) {
            at.push(match (*register, *bits) {
                (Some(register), bits) => {
                    let row = register.row(bits);
                    let own = self.register(name, row)?;
                    self.rows.add(row);
                    match self.conversion(name, row, bits, signed(ty), &mut scratch)? {
                        Some((offset, convert)) => {
                            after.push((
                                own as u32,
                                offset as u32,
                                Convert { from: convert.to, to: row.bits, ..convert },
                            ));
                            offset
                        }
                        None => {
                            // The register is wider than a byte, which is sign-extended to it as to any other.
                            if bits == 8 && signed(ty) {
                                let convert = Convert { from: row.bits, to: row.bits, bits, signed: true };
                                after.push((own as u32, own as u32, convert));
                            }
                            own
                        }
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
        let writes = self.rows.len();
        operands.guard.into_iter().for_each(|(number, _)| self.rows.add(Row { bits: 1, number }));
        for (index, operand) in evaluator.sources().iter().enumerate() {
            let bits = shape.places[shape.outputs.len() + index];
            let operand = usize::from(*operand);
            if let Some(offset) = operand.checked_sub(sources).and_then(|number| state(read[number])) {
                at.push(offset as u32);
                continue;
            }
            let source = operands.sources[operand];
            if let Source::Register(register) | Source::Not(register) = source {
                self.rows.add(register.row(bits));
            }
            at.push(match source {
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
        #[cfg(feature = "jit")]
        if crate::jit::is_supported() {
            self.computations.push((guard.is_err() && before.is_empty() && after.is_empty()).then(|| compiled::Kept {
                shape,
                data: data.clone().into(),
                at: at.clone().into(),
                names: form.table().operations,
                operation: form.table().operation,
            }));
        }
        let thread = Thread::new(shape, form.table().operation, data);
        self.starts.push(self.code.len() as u32);
        self.rows.end(writes);
        before.into_iter().for_each(|(to, from, convert)| self.code.convert(to, from, convert, Err(ALWAYS as u32)));
        self.code.push(Step { at, guard, params }, loops, self.level, shape.places, thread);
        after.into_iter().for_each(|(to, from, convert)| self.code.convert(to, from, convert, guard));
        Ok(())
    }

    /// Returns the byte offset of a scratch register of the operand's width `bits` that holds the converted register
    /// `row`, and the conversion; `None` if the register already has the operand's width.
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

    /// Reserves `bytes` bytes after the registers, and returns their offset.
    fn room(&mut self, bytes: usize) -> usize {
        let offset = self.bytes;
        self.bytes += bytes.next_multiple_of(64);
        offset
    }

    /// Returns the byte offset of a constant, which is added if it is new.
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

    /// Returns the byte offset of lanes that are never read.
    fn lane_sink(&mut self) -> usize {
        let offset = self.lane_sink.unwrap_or_else(|| self.room(size(64)));
        *self.lane_sink.insert(offset)
    }

    /// Creates a block of `count` warps for the program in its current state: all registers are zero, and all threads
    /// are active.
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

    /// Runs the program over all warps of a block. The block must have been created by this program after its last
    /// instruction was added.
    ///
    /// # Panics
    ///
    /// If the block was created by another program.
    #[inline]
    pub fn run(&self, block: &mut Warps) {
        self.run_range(0..self.len(), 0..block.len(), block);
    }

    /// Runs a range of the instructions, in the order they were added, over a range of the warps. Between two such
    /// calls, an emulator can execute instructions that are not in the table.
    ///
    /// # Panics
    ///
    /// If either range is out of bounds, or the block was created by another program.
    #[inline]
    pub fn run_range(&self, instructions: Range<usize>, warps: Range<usize>, block: &mut Warps) {
        self.run_steps(instructions, warps, false, block);
    }

    /// Like [`Program::run_range`], for warps whose threads are all active, or whose inactive threads need no values any more: their
    /// lanes may be written, which saves looking at masks. Guards hold as always, and collectives combine what active threads have.
    ///
    /// ```
    /// use ptx_isa::text::Statement;
    /// use ptx_isa::warp::{Program, Registers, Row};
    ///
    /// let mut program = Program::new(Registers { b32: 2, ..Registers::default() }, 90);
    /// let statement = Statement::parse(&ptx_isa::TABLE, "add.u32 %r1, %r0, 5;")?;
    /// program.push_statement(&statement, |register, ty| Some(Row::of(ty, register.name[2..].parse().ok()?)))?;
    /// let mut warps = program.warps(4);
    /// program.run_full(0..1, 0..4, &mut warps);
    /// assert_eq!(warps.b32(3, 1), &[5; 32]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Program::run_range`].
    #[inline]
    pub fn run_full(&self, instructions: Range<usize>, warps: Range<usize>, block: &mut Warps) {
        self.run_steps(instructions, warps, true, block);
    }

    #[inline]
    fn run_steps(&self, instructions: Range<usize>, warps: Range<usize>, whole: bool, block: &mut Warps) {
        assert!(instructions.end <= self.len(), "there are fewer instructions");
        let step = |number: usize| self.starts.get(number).map_or(self.code.len(), |start| *start as usize);
        let steps = step(instructions.start)..step(instructions.end);
        self.code.run(steps, warps, whole, &mut block.file, block.stride);
    }
}
