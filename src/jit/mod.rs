//! Machine code for stretches of a kernel: what all lanes of some warps do, one warp behind the other, with their registers in those of the
//! machine.
//!
//! A [`Builder`] takes instructions, as programs over bits, and loads and stores, and may make a loop of them, or sections between which
//! lanes diverge; a [`Trace`] is the code for them. It knows no instruction of the table either: it compiles the programs that the spec gives
//! to them, and their operations, by name. Only x86-64 with AVX-512 is compiled for; whatever is not compiled runs as without this module.
//!
//! | module | holds |
//! |---|---|
//! | `assembler` | instructions of the machine, one behind the other |
//! | `lanes` | which registers of the machine hold which registers of the kernel, in loops and divergent code, too |
//! | `operations` | operations of programs |
//! | `approximations` | functions that are nearly right without the evaluator |
//! | `fallback` | what is left to a function |
//! | `moves` | loads and stores by regular addresses |
//! | `scattered` | loads and stores by addresses that lanes compute |
//! | `page` | memory that holds code |

mod approximations;
mod assembler;
mod fallback;
mod lanes;
mod moves;
mod operations;
mod page;
mod scattered;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::prelude::rust_2024::*;
use std::vec;

use iced_x86::Code;
use isa_table::limits::VALUES;
use isa_table::program::{self, ALL_THREADS, Operation, Outcomes, Own, Reader, Shape, Value as Coded, WARP};

use assembler::*;
use fallback::OperationRef;
pub(crate) use lanes::{Branch, LABELS, SectionArguments, Target};
use lanes::{Lanes, Value, count_lanes};
pub(crate) use moves::Move;
use operations::{OfNans, of_nans};
use page::Page;
pub(crate) use scattered::{Exchange, Scattered, WINDOW};

/// Lanes that are a base plus an offset for each half of a warp, and grow by a step within a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Regular {
    /// Index of the argument that is the base.
    pub slot: u32,
    /// Index of the argument that points to two offsets for each warp; without one, all lanes are the same.
    pub table: Option<u32>,
    pub step: u64,
}

/// An instruction on the registers of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computation<'a> {
    pub shape: &'static Shape,
    /// The value of each parameter.
    pub data: &'a [u64],
    /// Offsets of destinations, then sources, in the registers of a warp.
    pub at: &'a [u32],
    /// Names of the operations, and what computes them.
    pub names: &'static [&'static str],
    pub operation: Operation,
}

/// A function over the registers of one warp, and what else it is called with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee {
    pub function: unsafe extern "C" fn(*mut u8, *const u8),
    pub step: *const u8,
}

/// Returns true if this machine runs what is compiled here.
pub(crate) fn is_supported() -> bool {
    #[cfg(all(target_arch = "x86_64", unix, not(miri)))]
    {
        use std::arch::is_x86_feature_detected as detected;
        let extensions = [detected!("avx512f"), detected!("avx512vl"), detected!("avx512bw"), detected!("avx512dq")];
        extensions.into_iter().all(|extension| extension)
    }
    #[cfg(not(all(target_arch = "x86_64", unix, not(miri))))]
    false
}

/// The need for a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Nothing,
    /// Its bits, but any NaN for another.
    AnyNan,
    Bits,
}

/// A value of a program, and its uses.
struct Use {
    /// The name of its operation, if it has one.
    name: &'static str,
    /// The values that it is computed from.
    args: Vec<u8>,
    of_nans: OfNans,
    need: Need,
    /// The last value that is computed from it; none is behind a result.
    last: usize,
}

/// The value that a selection has where its source is a number, if that is the source with another sign and nothing else needs it; where the
/// source is NaN, the selection is the machine's.
fn folded_sign(uses: &[Use], outputs: &[u8], number: usize) -> Option<u8> {
    let Use { of_nans: OfNans::Kept, args, .. } = &uses[number] else { return None };
    let [condition, nan, changed] = args[..] else { return None };
    let [of_condition, of_nan, of_changed] = [condition, nan, changed].map(|arg| &uses[usize::from(arg)]);
    let [source] = of_changed.args[..] else { return None };
    let of_source = of_condition.name == "unordered_f32" && of_condition.args.iter().all(|arg| *arg == source);
    let alone = uses.iter().flat_map(|one| &one.args).chain(outputs).filter(|arg| **arg == changed).count() == 1;
    let is_signed = of_source && of_nan.name == "canonical_nan_f32" && of_changed.of_nans == OfNans::Sign && alone;
    is_signed.then_some(changed)
}

/// Values of a program that are known in each lane before the code runs.
type Known = HashMap<usize, [u64; WARP]>;

/// The uses of each value of a program, but for those of known ones; results are `needed`, or nobody reads them.
fn uses(computation: &Computation<'_>, needed: &[bool], known: &Known) -> Vec<Use> {
    let Computation { shape, names, .. } = *computation;
    let mut uses: Vec<Use> = Vec::new();
    let mut reader = Reader::new(shape.code);
    while let Some(coded) = reader.next() {
        let mut name = "";
        let (args, of_nans) = match coded {
            _ if known.contains_key(&uses.len()) => (Vec::new(), OfNans::Bits),
            Coded::Call { operation, args, .. } => {
                name = names.get(usize::from(operation)).copied().unwrap_or_default();
                (args.iter().map(|(arg, _)| *arg).collect(), of_nans(name))
            }
            Coded::Select { args, .. } => (args.to_vec(), OfNans::Kept),
            Coded::Lane { of, .. } | Coded::Spread { of, .. } => (vec![of], OfNans::Kept),
            Coded::Truth { leaves, .. } => (leaves.iter().map(|(leaf, _)| *leaf).collect(), OfNans::Bits),
            _ => (Vec::new(), OfNans::Bits),
        };
        uses.push(Use { name, args, of_nans, need: Need::Nothing, last: 0 });
    }
    for number in 0..uses.len() {
        if let Some(changed) = folded_sign(&uses, shape.outputs, number) {
            (uses[number].args, uses[number].of_nans) = (vec![changed], OfNans::Ignored);
        }
    }
    for (output, _) in shape.outputs.iter().zip(needed).filter(|(_, needed)| **needed) {
        let of_output = &mut uses[usize::from(*output)];
        (of_output.need, of_output.last) = (Need::Bits, usize::MAX);
    }
    for number in (0..uses.len()).rev() {
        let need = match (uses[number].need, uses[number].of_nans) {
            (Need::Nothing, _) => continue,
            (_, OfNans::Bits) => Need::Bits,
            (_, OfNans::Ignored) => Need::AnyNan,
            (need, OfNans::Kept | OfNans::Sign) => need,
        };
        for place in 0..uses[number].args.len() {
            let arg = usize::from(uses[number].args[place]);
            (uses[arg].need, uses[arg].last) = (uses[arg].need.max(need), uses[arg].last.max(number));
        }
    }
    uses
}

/// Machine code in the making.
pub(crate) struct Builder {
    lanes: Lanes,
    /// Offsets of registers that nobody reads.
    sinks: Vec<u32>,
    /// Offsets, widths and values of constants, which lie among the registers.
    constants: Vec<(u32, u8, u64)>,
    /// Registers with a constant value until they are written, by their offsets.
    fixed: HashMap<u32, u64>,
    /// The mask of the lanes that instructions are for, where some lanes branch over them.
    skip_mask: Option<Value>,
}

impl Builder {
    /// `sinks` are the offsets of registers that nobody reads; `constants` are those that never change, with their widths and values.
    /// `partial` says that some lanes may be inactive: the registers of a warp begin with the mask of the others, for which alone memory is
    /// accessed and registers are written.
    pub(crate) fn new(sinks: &[u32], constants: &[(u32, u8, u64)], partial: bool) -> Builder {
        let (sinks, constants) = (sinks.to_vec(), constants.to_vec());
        Builder { lanes: Lanes::new(partial), sinks, constants, fixed: HashMap::new(), skip_mask: None }
    }

    /// From now on the lanes of a register are regular, until an instruction writes it; they are not among the registers of the warp.
    pub(crate) fn define(&mut self, offset: u32, bits: u8, regular: Regular) {
        self.lanes.define(offset, bits, regular);
    }

    /// Declares that a register whose lanes are regular has a constant value in all of them.
    pub(crate) fn fix(&mut self, offset: u32, value: u64) {
        self.fixed.insert(offset, value);
    }

    /// Evaluates the values of an instruction that are known in each lane. As that takes time, it is done only for instructions that exchange
    /// values between lanes, which mostly have constant source lanes and member masks.
    fn known(&self, computation: &Computation<'_>) -> Known {
        let Computation { shape, data, at, operation, .. } = *computation;
        let sources = &at[shape.outputs.len()..];
        let constant = |offset: &u32| self.constants.iter().find(|(at, ..)| at == offset).map(|(.., value)| *value);
        let fixed = |offset: &u32| constant(offset).or_else(|| self.fixed.get(offset).copied());
        let fixed: Vec<Option<u64>> = sources.iter().map(fixed).collect();
        if !shape.is_collective() || self.lanes.partial || fixed.iter().all(Option::is_none) {
            return Known::new();
        }
        let (mut known, mut number) = (Known::new(), 0);
        let mut reader = Reader::new(shape.code);
        let mut values = [[0; WARP]; VALUES];
        let source = |source: usize, _| fixed[source].unwrap_or_default().into();
        program::run_warp(shape.code, data, u32::MAX, source, |_| 0, operation, &mut values);
        while let Some(coded) = reader.next() {
            let of = |number: u8| known.contains_key(&usize::from(number));
            let is_known = match coded {
                Coded::Source { source, .. } => fixed[usize::from(source)].is_some(),
                Coded::Selector { .. } => false,
                Coded::Constant(_) | Coded::Splat { .. } | Coded::Own(_) => true,
                Coded::Call { args, .. } => args.iter().all(|(arg, _)| of(*arg)),
                Coded::Select { args, .. } => args.into_iter().all(of),
                Coded::Lane { of: number, .. } | Coded::Spread { of: number, .. } => of(number),
                Coded::Truth { leaves, .. } => leaves.iter().all(|(leaf, _)| of(*leaf)),
            };
            let lanes = &values[number];
            let fits = lanes.iter().all(|lane| u64::try_from(*lane).is_ok());
            if is_known && fits {
                known.insert(number, lanes.map(|lane| lane as u64));
            }
            number += 1;
        }
        known
    }

    /// The value of a register, held for the caller.
    fn read(&mut self, offset: u32, bits: u8) -> Option<Value> {
        match self.constants.iter().find(|(at, ..)| *at == offset) {
            Some((_, _, value)) if bits != 1 => Some(Value::Constant(*value)),
            _ => self.lanes.read(offset, bits),
        }
    }

    /// Compiles an instruction; `None` if it cannot, after which the builder is of no use. Nobody needs what it leaves in the registers at the
    /// offsets `unneeded`.
    pub(crate) fn compute(&mut self, computation: &Computation<'_>, unneeded: &[u32]) -> Option<()> {
        let Computation { shape, data, at, names, operation: evaluator } = *computation;
        let is_needed = |offset: &u32| !self.sinks.contains(offset) && !unneeded.contains(offset);
        let needed = Vec::from_iter(at.iter().take(shape.outputs.len()).map(is_needed));
        let known = self.known(computation);
        let uses = uses(computation, &needed, &known);
        let outputs = shape.outputs.len();
        let mut values: Vec<Option<(Value, u8)>> = Vec::new();
        let mut reader = Reader::new(shape.code);
        while let Some(coded) = reader.next() {
            let number = values.len();
            let Use { need, ref args, .. } = uses[number];
            if need == Need::Nothing {
                values.push(None);
                continue;
            }
            let of = |number: u8| values[usize::from(number)];
            let value = match coded {
                Coded::Source { bits, .. }
                | Coded::Splat { bits, lanes: 1, .. }
                | Coded::Call { bits, lanes: 1, .. }
                | Coded::Select { bits, lanes: 1, .. }
                | Coded::Lane { bits, .. }
                    if known.contains_key(&number) =>
                {
                    (self.lanes.known(bits, known.get(&number)?)?, bits)
                }
                Coded::Truth { lanes: 1, .. } | Coded::Spread { lanes: 1, .. } if known.contains_key(&number) => {
                    (self.lanes.known(1, known.get(&number)?)?, 1)
                }
                Coded::Source { source, bits } => {
                    let place = outputs + usize::from(source);
                    if shape.places[place] != bits || !matches!(bits, 1 | 16 | 32 | 64) {
                        return None;
                    }
                    (self.read(at[place], bits)?, bits)
                }
                Coded::Constant(word) => (Value::Constant(u64::try_from(word).ok()?), 64),
                Coded::Splat { param, bits, lanes: 1 } => (Value::Constant(data[usize::from(param)]), bits),
                Coded::Call { operation, lanes: 1, bits, args } => {
                    let mut words = Vec::with_capacity(args.len());
                    for (arg, part) in args {
                        let (value, bits) = of(*arg)?;
                        if !matches!(*part, 0 | ALL_THREADS) && *part != bits && !matches!(value, Value::Constant(_)) {
                            return None;
                        }
                        words.push(value);
                    }
                    let name = *names.get(usize::from(operation))?;
                    let of_nans = of_nans(name);
                    if of_nans == OfNans::Bits || of_nans == OfNans::Sign && need == Need::Bits {
                        words.iter().for_each(|word| self.lanes.settle(*word));
                    }
                    let evaluator = OperationRef { operation: evaluator, number: operation };
                    let result = operations::operation(&mut self.lanes, name, evaluator, &words)?;
                    if matches!(of_nans, OfNans::Kept | OfNans::Sign) && self.lanes.is_any_loose(&words) {
                        self.lanes.loosen(result);
                    }
                    (result, bits)
                }
                // Its NaNs are the machine's: any of them stands for it.
                Coded::Select { lanes: 1, bits, .. } if args.len() == 1 => {
                    let value = of(args[0])?.0;
                    self.lanes.hold(value);
                    self.lanes.loosen(value);
                    (value, bits)
                }
                Coded::Select { args: [condition, yes, no], lanes: 1, bits } => {
                    let [condition, yes, no] = [of(condition)?.0, of(yes)?.0, of(no)?.0];
                    // NaNs of one source may be any while those of the other are known by their bits.
                    let loose = self.lanes.are_loose(&[yes, no]);
                    if !loose && need == Need::Bits {
                        [yes, no].into_iter().for_each(|value| self.lanes.settle(value));
                    }
                    let result = self.lanes.select(bits, condition, yes, no)?;
                    if loose {
                        self.lanes.loosen(result);
                    }
                    (result, bits)
                }
                Coded::Own(Own::Lane) => (Value::Vector(self.lanes.numbers()?), 32),
                Coded::Own(Own::Active) if !self.lanes.partial => (Value::Constant(u32::MAX.into()), 32),
                Coded::Lane { of: number, lane: 0, bits } if of(number)?.1 == bits => {
                    let value = of(number)?.0;
                    self.lanes.hold(value);
                    (value, bits)
                }
                Coded::Spread { of: number, lanes: 1 } => {
                    let value = of(number)?.0;
                    self.lanes.hold(value);
                    (value, 1)
                }
                Coded::Truth { table, lanes: 1, leaves } => {
                    let outcomes = match table {
                        Outcomes::Param(param) => data[usize::from(param)],
                        Outcomes::Fixed(outcomes) => outcomes.into(),
                    };
                    let mut masks = Vec::with_capacity(leaves.len());
                    for (leaf, complement) in leaves {
                        masks.push((of(*leaf)?.0, *complement != 0));
                    }
                    (self.lanes.truth(outcomes, &masks)?, 1)
                }
                _ => return None,
            };
            values.push(Some(value));
            for arg in args.iter().filter(|arg| uses[usize::from(**arg)].last == number) {
                if let Some((value, _)) = values[usize::from(*arg)].take() {
                    self.lanes.release(value);
                }
            }
        }
        for (index, output) in shape.outputs.iter().enumerate() {
            if needed[index] {
                let (value, bits) = values[usize::from(*output)]?;
                let place = shape.places[index];
                if bits != place && !matches!(value, Value::Constant(_)) || !matches!(place, 1 | 16 | 32 | 64) {
                    return None;
                }
                self.write(at[index], place, value)?;
            }
        }
        values.into_iter().flatten().for_each(|(value, _)| self.lanes.release(value));
        Some(())
    }

    /// Calls a function for an instruction that is not compiled: it reads and writes the registers of a warp. None of its operands has
    /// regular lanes. Nobody needs the registers at the offsets `unneeded` any more. `None` if it cannot be compiled, after which the builder
    /// is of no use.
    pub(crate) fn call(&mut self, callee: Callee, unneeded: &[u32]) -> Option<()> {
        self.lanes.call(callee, &[&self.sinks, unneeded].concat())
    }

    /// Writes the lanes of a register, those alone that instructions are for; the caller keeps its hold.
    fn write(&mut self, offset: u32, bits: u8, value: Value) -> Option<()> {
        self.fixed.remove(&offset);
        let Some(condition) = self.skip_mask else { return self.lanes.write(offset, bits, value) };
        let old = self.read(offset, bits)?;
        [value, old].into_iter().for_each(|value| self.lanes.settle(value));
        let joined = self.lanes.select(bits, condition, value, old)?;
        self.lanes.write(offset, bits, joined)?;
        [joined, old].into_iter().for_each(|value| self.lanes.release(value));
        Some(())
    }

    /// From here on instructions are for those lanes alone in which a predicate is false, or its complement if `not`: the others branch over
    /// them. They write no predicates. `None` if it cannot be compiled, after which the builder is of no use.
    pub(crate) fn begin_skip(&mut self, predicate: u32, not: bool) -> Option<()> {
        let leaf = self.read(predicate, 1)?;
        let mask = self.lanes.truth(if not { 0b10 } else { 0b01 }, &[(leaf, false)])?;
        self.lanes.retain_active(mask);
        self.skip_mask = Some(mask);
        self.lanes.release(leaf);
        Some(())
    }

    /// All lanes go on. The lanes that had not branched have executed `count` instructions each: their number is added to an argument.
    pub(crate) fn end_skip(&mut self, count: u32, argument: u32) {
        if let Some(mask @ Value::Mask(number)) = self.skip_mask.take() {
            count_lanes(&mut self.lanes.code, number, count, argument);
            self.lanes.release(mask);
        }
    }

    /// Offsets and widths of the registers that are read before they are written, and of those that are written.
    pub(crate) fn registers(&self) -> (&BTreeMap<u32, u8>, &BTreeMap<u32, u8>) {
        (&self.lanes.read_first, &self.lanes.written)
    }

    /// The code becomes a loop: its rounds change some registers, and read others that they do not change, by their offsets and widths. Unless
    /// `tables` is zero, the loop has that many tables of offsets, which then may be loaded once. In changed registers with floats of single
    /// precision any NaN stands for the machine's, but in the `exact` ones. `None` if it cannot be compiled, after which the builder is of no
    /// use.
    pub(crate) fn begin_loop(
        &mut self,
        changed: &[(u32, u8)],
        read: &[(u32, u8)],
        exact: &BTreeSet<u32>,
        tables: usize,
    ) -> Option<()> {
        self.lanes.begin_loop(changed, read, exact, tables)
    }

    /// Each round of the loop that begins next has arguments of its own, and no lanes leave before the others: [`Builder::end_rounds`] ends it.
    pub(crate) fn vary_arguments(&mut self) {
        self.lanes.varies = true;
    }

    /// The loop begins again, with arguments that lie `stride` bytes behind the last ones, unless the argument `left` is zero; the arguments
    /// then are those again at which the argument `first` points. Returns the offsets of registers that are to be exact, as
    /// [`Builder::end_loop`] does.
    pub(crate) fn end_rounds(&mut self, stride: u32, left: u32, first: u32) -> Option<BTreeSet<u32>> {
        self.lanes.end_rounds(stride, left, first)
    }

    /// The loop ends: lanes go back in which a predicate is true, or its complement if `not`, unless the argument `left` is zero, which falls
    /// by one for each round. `count` is added to the argument `executed` for each of the lanes that go back. Behind the loop the predicate
    /// is that of the last round of each lane. Returns the offsets of registers that are to be exact; `None` if it cannot be compiled. The
    /// builder is of no use then, nor if some of the registers were not begun as exact ones.
    pub(crate) fn end_loop(
        &mut self,
        predicate: u32,
        not: bool,
        (count, executed, left): (u32, u32, u32),
    ) -> Option<BTreeSet<u32>> {
        self.lanes.end_loop(predicate, not, (count, executed, left))
    }

    /// Begins code that consists of sections, between which lanes diverge. The builder must be one for lanes that may be inactive.
    pub(crate) fn begin_sections(&mut self, arguments: SectionArguments) {
        self.lanes.begin_sections(arguments);
    }

    /// Begins a section: at a label, where waiting lanes become active, or directly behind a branch.
    pub(crate) fn begin_section(&mut self, label: Option<u32>) {
        self.lanes.begin_section(label);
    }

    /// Ends a section of `count` instructions, with a branch or without one. Nobody needs what it leaves in the registers at the offsets
    /// `unneeded`. `None` if it cannot be compiled, after which the builder is of no use.
    pub(crate) fn end_section(&mut self, branch: Option<Branch>, count: u32, unneeded: &[u32]) -> Option<()> {
        self.lanes.end_section(branch, count, &[&self.sinks, unneeded].concat())
    }

    /// Compiles a load or a store; `None` if it cannot, after which the builder is of no use.
    pub(crate) fn move_elements(&mut self, moved: &Move) -> Option<()> {
        self.lanes.move_elements(moved)
    }

    /// Compiles a load or a store by addresses that lanes compute; `None` if it cannot, after which the builder is of no use.
    pub(crate) fn scatter(&mut self, scattered: &Scattered) -> Option<()> {
        let base = match scattered.base {
            Some(base) => self.read(base, scattered.base_bits)?,
            None => Value::Constant(0),
        };
        self.lanes.settle(base);
        let bits = scattered.bits;
        let mut stored = Vec::new();
        for element in scattered.elements.iter().filter(|_| scattered.write) {
            stored.push(match element {
                Ok(offset) => self.read(*offset, bits)?,
                Err(word) => Value::Constant(*word),
            });
        }
        let mask = match self.skip_mask {
            Some(Value::Mask(number)) => Some(number),
            _ => self.lanes.active_lanes(),
        };
        let addresses = self.lanes.in_vectors(base, scattered.base_bits)?;
        let mut vectors = Vec::with_capacity(stored.len());
        for value in stored {
            self.lanes.settle(value);
            vectors.push(self.lanes.in_vectors(value, bits)?);
        }
        let loaded = self.lanes.scatter(scattered, mask, addresses, &vectors)?;
        for (element, vector) in scattered.elements.iter().zip(loaded) {
            let value = Value::Vector(vector);
            self.write((*element).ok()?, bits, value)?;
            self.lanes.release(value);
        }
        vectors.into_iter().chain([addresses]).for_each(|vector| self.lanes.release(Value::Vector(vector)));
        Some(())
    }

    /// The code; `None` if it could not be encoded, or the system gives no memory for it. Nobody needs what it leaves in the registers at
    /// the offsets `unneeded`.
    pub(crate) fn finish(mut self, unneeded: &[u32]) -> Option<Trace> {
        self.lanes.end(&[&self.sinks, unneeded].concat())?;
        let Lanes { code, before, literals, partial, calls, .. } = self.lanes;
        let body = code.finish()?;
        let mut start = Assembler::new();
        start.enter();
        start.two(Code::Xor_r32_rm32, iced_x86::Register::R9D, iced_x86::Register::R9D);
        // Functions change all vectors: those ahead are loaded again for each warp.
        let (before, body) = match calls {
            true => (Vec::new(), [before.finish()?, body].concat()),
            false => (before.finish()?, body),
        };
        let start = [start.finish()?, before].concat();
        // Of one warp: nothing if it has no active lanes.
        let mut warp = Assembler::new();
        let warp = match partial {
            true => {
                warp.load(Code::Mov_r32_rm32, SCRATCH32, at(FILE, 0));
                warp.two(Code::Test_rm32_r32, SCRATCH32, SCRATCH32);
                warp.unless_zero(Some(body));
                warp.finish()?
            }
            false => body,
        };
        let mut last = Assembler::behind(warp.len() as u64);
        last.two(Code::Add_r64_rm64, FILE, STRIDE);
        last.by(Code::Add_rm64_imm8, ROW, 16);
        last.one(Code::Dec_rm64, WARPS);
        last.jump(Code::Jne_rel32_64, 0);
        last.leave();
        let bytes = [start, warp, last.finish()?].concat();
        Some(Trace { page: Page::new(&literals.concat(), &bytes)? })
    }
}

/// Machine code for all lanes of some warps.
#[derive(Debug)]
pub(crate) struct Trace {
    page: Page,
}

impl Trace {
    /// Runs it over `warps` warps, at least one, whose registers are `stride` bytes apart.
    ///
    /// # Safety
    ///
    /// `registers` points to the registers of the warps, with all offsets that the builder was given, aligned to 64 bytes but for
    /// predicates. The arguments are those that the builder refers to: tables have two offsets for each warp, and what is at the addresses
    /// of loads and stores, or in the windows of scattered ones, is readable and writable, aligned, and accessed by others only atomically;
    /// behind a window with a table the memory extends to a multiple of 128 bytes. If there are sections, each warp has a row of zeros.
    /// Functions that the builder was given may be called with these registers, or with the address of an [`Exchange`].
    #[allow(unsafe_code, reason = "machine code is called")]
    pub(crate) unsafe fn run(&self, arguments: &mut [u64], registers: *mut u8, stride: usize, warps: usize) {
        // SAFETY: the code was made for this convention; the rest is the caller's promise.
        unsafe { self.page.call(arguments, registers, stride, warps) }
    }
}
