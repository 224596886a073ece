//! Evaluation of a statement, given the values of the registers that it reads.
//!
//! ```
//! use ptx_isa::text::Statement;
//! use ptx_isa::text::evaluate::evaluate;
//!
//! let statement = Statement::parse(&ptx_isa::TABLE, "@!p add.s32 d, a, 2;").unwrap();
//! let outputs = evaluate(&statement, None, 1, |name, _| match &*name {
//!     "a" => Ok(40),
//!     "p" => Ok(0_u128),
//!     _ => Err(format!("`{name}` is not known")),
//! });
//! let outputs = outputs.unwrap();
//! assert_eq!((outputs.list[0].name.as_str(), outputs.list[0].bits), ("d", 42));
//! ```

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::spelling;
use super::statement::{Need, Register, Second, Statement, Value};
pub use crate::table::program::WARP;
use crate::table::{FormInfo, Kind, Table, TypeInfo};
use crate::target::{Floor, Target};

/// The words of some threads.
pub trait Lanes: Sized {
    /// Returns the same word for every thread.
    fn same(word: u128) -> Self;

    /// Applies a function to each word.
    fn map(self, change: impl Fn(u128) -> u128) -> Self;
}

/// A word of one thread, or one of each thread of a warp.
pub trait Words: Lanes + Copy {
    /// Returns the lowest bit of each thread's word as a mask.
    fn mask(self) -> u32;

    /// Evaluates a form for the threads in `active`. Returns each result with the mask of the threads whose result is
    /// unspecified.
    fn compute(form: FormInfo, sm: u16, active: u32, inputs: &[Self]) -> Vec<(Self, u32)>;
}

impl Lanes for u128 {
    fn same(word: u128) -> u128 {
        word
    }

    fn map(self, change: impl Fn(u128) -> u128) -> u128 {
        change(self)
    }
}

impl Words for u128 {
    fn mask(self) -> u32 {
        self as u32 & 1
    }

    fn compute(form: FormInfo, sm: u16, _: u32, inputs: &[u128]) -> Vec<(u128, u32)> {
        let (results, open) = (form.evaluate(sm, inputs), form.unspecified(sm, inputs));
        results.iter().zip(&*open).map(|(result, open)| (*result, open.mask())).collect()
    }
}

impl Lanes for [u128; WARP] {
    fn same(word: u128) -> Self {
        [word; WARP]
    }

    fn map(self, change: impl Fn(u128) -> u128) -> Self {
        self.map(change)
    }
}

impl Words for [u128; WARP] {
    fn mask(self) -> u32 {
        self.iter().rev().fold(0, |mask, word| mask << 1 | *word as u32 & 1)
    }

    fn compute(form: FormInfo, sm: u16, active: u32, inputs: &[Self]) -> Vec<(Self, u32)> {
        form.evaluate_warp(sm, active, inputs).into_iter().zip(form.unspecified_warp(sm, active, inputs)).collect()
    }
}

/// Converts words to those of the threads of a warp, if there is one for each.
///
/// # Errors
///
/// If there are more or fewer words; the message gives their number.
pub fn one_each(words: Vec<u128>) -> Result<[u128; WARP], String> {
    let count = words.len();
    words.try_into().map_err(|_| format!("a warp has {WARP} threads, and here are {count} values"))
}

/// Describes the values of a type, for a message.
pub fn described(ty: &TypeInfo) -> String {
    match ty.kind {
        Kind::Predicate => "0 or 1".to_owned(),
        _ => format!("{} bits of type `.{}`", ty.bits, ty.name),
    }
}

/// A destination with its result.
#[derive(Clone, Debug)]
pub struct Output<W> {
    /// The register, or the state of a thread.
    pub name: String,
    /// The result.
    pub bits: W,
    /// The type that the form gives it.
    pub ty: &'static TypeInfo,
    /// The threads in which any other value is as good, as the manual leaves it open.
    pub unspecified: u32,
}

/// Results of a statement; sinks are left out.
#[derive(Clone, Debug)]
pub struct Outputs<W> {
    /// Each destination, in the order of the form's results.
    pub list: Vec<Output<W>>,
    /// Inputs of the form: a word for each source and each selector.
    pub words: Vec<W>,
    /// Threads that wrote: those that are active and enabled by the guard.
    pub written: u32,
}

/// Why a statement cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The table does not say what the form computes from registers alone.
    NoSemantics(FormInfo),
    /// The target does not have a part of the statement.
    Target {
        /// The part, as messages quote it.
        what: String,
        /// The targets that have it.
        needs: &'static Floor,
        /// The target.
        target: Target,
    },
    /// Error in a word that the statement reads.
    Input(String),
    /// Both destinations are the register of this name.
    Destinations(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoSemantics(form) => {
                let why = match form.effects().effects {
                    [] => "has no semantics in the table",
                    _ => "is not computed from registers of one warp alone: launch a kernel that executes it",
                };
                write!(f, "`{}` {why}", spelling::mnemonic(*form))
            }
            Problem::Target { what, needs, target } => match &needs.removed {
                Some(removed) if needs.targets.iter().any(|least| least.sm <= target.sm) => {
                    write!(f, "{what} is {removed}; the target is `{target}`")
                }
                _ => write!(f, "{what} needs `{}`; the target is `{target}`", needs.targets_in_words()),
            },
            Problem::Input(problem) => f.write_str(problem),
            Problem::Destinations(name) => {
                write!(f, "both destinations are `{name}`: which of the two results is left is not defined")
            }
        }
    }
}

impl core::error::Error for Problem {}

/// Computes a statement in active threads; `input` gives the bits of a register by name, or says what is wrong with them.
/// Without a target it computes as the newest does.
///
/// # Errors
///
/// All that keeps it from being computed.
pub fn evaluate<'a, W: Words>(
    statement: &Statement<'a>,
    target: Option<Target>,
    active: u32,
    input: impl FnMut(Cow<'a, str>, &'static TypeInfo) -> Result<W, String>,
) -> Result<Outputs<W>, Vec<Problem>> {
    let Operands { words, guard, destinations } = operands(statement, target, input)?;
    let executing = guard.map_or(active, |(word, negated)| active & if negated { !word.mask() } else { word.mask() });
    if executing == 0 {
        return Ok(Outputs { list: Vec::new(), words, written: 0 });
    }
    let results = W::compute(statement.form(), sm(target), executing, &words);
    let outputs = destinations.into_iter().zip(results).filter_map(|(destination, (bits, unspecified))| {
        let (name, ty) = destination?;
        Some(Output { name: name.into_owned(), bits, ty, unspecified })
    });
    Ok(Outputs { list: outputs.collect(), words, written: executing })
}

/// The number of a target, or of the newest.
pub(super) fn sm(target: Option<Target>) -> u16 {
    target.map_or(u16::MAX, |target| target.sm)
}

/// Inputs of a statement, and the places of its results.
pub(super) struct Operands<'a, W> {
    /// A word for each source that is written, and for each selector.
    pub(super) words: Vec<W>,
    /// The guard, and whether it is negated.
    pub(super) guard: Option<(W, bool)>,
    /// In the order of the form's results: nothing for a sink.
    pub(super) destinations: Vec<Option<(Cow<'a, str>, &'static TypeInfo)>>,
}

/// Reads what a statement computes from.
pub(super) fn operands<'a, W: Lanes>(
    statement: &Statement<'a>,
    target: Option<Target>,
    mut input: impl FnMut(Cow<'a, str>, &'static TypeInfo) -> Result<W, String>,
) -> Result<Operands<'a, W>, Vec<Problem>> {
    let (table, form) = (statement.table(), statement.form());
    let mut problems = Vec::new();
    if form.evaluations().is_empty() {
        return Err(vec![Problem::NoSemantics(form)]);
    }
    if let Some(target) = target {
        let since = table.target_info(target).map(|known| known.since);
        // Mostly the newest version has it.
        let versions =
            || table.versions.iter().rev().take_while(|version| since.is_none_or(|since| **version >= since));
        let lacks = |need: &Need<'_>| !versions().any(|ptx| table.has(need.listed(), Some(*ptx), Some(target)));
        let problem = |need: Need<'_>| Problem::Target { what: format!("{need}"), needs: need.listed(), target };
        problems.extend(statement.needs().find(lacks).map(problem));
    }
    let mut words = Vec::with_capacity(form.operands().len());
    let mut read = |name, ty| {
        input(name, ty).unwrap_or_else(|problem| {
            problems.push(Problem::Input(problem));
            W::same(0)
        })
    };
    for (info, operand) in statement.operands_with_info().filter(|(info, _)| !info.destination) {
        let ty = table.ty(info.ty);
        words.push(match operand.value {
            Value::Register(register) => read(name_of(register), ty),
            Value::Negated(register) => read(name_of(register), ty).map(|word| word ^ 1),
            Value::Sum { name, addend } => read(Cow::Borrowed(name), ty).map(|word| word.wrapping_add(addend.into())),
            Value::Element { name, index } => read(Cow::Owned(format!("{name}[{index}]")), ty),
            Value::Constant(bits) => W::same(bits.into()),
            // No form with an evaluator has the others.
            Value::Sink | Value::Vector(_) | Value::Name(_) | Value::Arguments(_) => W::same(0),
            Value::Absent => continue,
        });
    }
    for state in form.states().iter().filter(|state| !state.destination) {
        words.push(read(Cow::Borrowed(state.name), table.ty(state.ty)));
    }
    let selectors = statement.operands().iter().filter_map(|operand| operand.selector);
    words.extend(selectors.map(|selector| W::same(selector.into())));
    let guard = statement.guard();
    let guard = guard.map(|guard| (read(Cow::Borrowed(guard.register), predicate(table)), guard.negated));
    let mut destinations = Vec::new();
    for (info, operand) in statement.operands_with_info().filter(|(info, _)| info.destination) {
        let ty = table.ty(info.ty);
        destinations.push(match operand.value {
            Value::Register(register) => Some((name_of(register), ty)),
            _ => None,
        });
        if let Some(second) = &info.second {
            let ty = table.ty(second.ty);
            destinations.push(match operand.second {
                Some(Second::Register(name)) => Some((Cow::Borrowed(name), ty)),
                Some(Second::Sink) | None => None,
            });
        }
    }
    let states = form.states().iter().filter(|state| state.destination);
    destinations.extend(states.map(|state| Some((Cow::Borrowed(state.name), table.ty(state.ty)))));
    for (index, (name, _)) in destinations.iter().flatten().enumerate() {
        if destinations.iter().flatten().take(index).any(|(other, _)| other == name) {
            problems.push(Problem::Destinations(name.clone().into_owned()));
        }
    }
    if problems.is_empty() { Ok(Operands { words, guard, destinations }) } else { Err(problems) }
}

/// A register's name as the statement writes it: `r` or `v.x`.
fn name_of(register: Register<'_>) -> Cow<'_, str> {
    match register.element {
        None => Cow::Borrowed(register.name),
        Some(_) => Cow::Owned(register.to_string()),
    }
}

/// The type of a guard.
fn predicate(table: &Table) -> &'static TypeInfo {
    let found = table.types.iter().find(|ty| ty.kind == Kind::Predicate);
    found.expect("a table with guards has predicates")
}
