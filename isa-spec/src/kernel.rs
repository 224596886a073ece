//! From programs to kernels: what many forms compute alike is code, what tells them apart is data.
//!
//! A [`Program`] is taken apart into a [`Kernel`] and the [`Evaluator`]'s data. Types are first reduced to what bits
//! tell. Then two shapes are looked for, neither of which knows an instruction:
//!
//! - *Truth*: every output is a predicate, a function of one test of the sources' lanes and of at most one predicate
//!   source. The test is the kernel; the function is a truth table, kept as data. A second output is the same function
//!   of the complemented test, or of the test's second lane.
//! - *Choose*: the one output is one of two constants, chosen by such a predicate. The constants are data too.
//!
//! Any other program is a kernel of its own (*general*): a loop over lanes for each of its stages. Forms whose kernels
//! are equal share one. This module knows no Rust.

use std::collections::BTreeSet;

use crate::ir::{Op, Program, Ty, Value, ValueId};
use crate::model::{BuiltinId, Kind, Model, Param, Pattern, Selector, SelectorShape, TypeId};

/// What is compiled once for all forms that share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    /// The test, and how many outputs ask it. If it has two lanes, the first output asks the lower one, the second
    /// the upper one.
    Truth { test: Test, outputs: usize },
    /// The test, and the width of one of its lanes in the output, in bits.
    Choose { test: Test, bits: u32 },
    /// The program; its sources are numbered in order of first use.
    General(Program),
}

/// A program with one predicate as output, computed lane by lane from one source or two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Test {
    pub program: Program,
    /// Lanes of the packed values it is asked for; 1 where they are not packed.
    pub lanes: u32,
}

/// How a form is evaluated over lanes: its kernel and what the kernel is given as data.
#[derive(Clone, Debug)]
pub(crate) struct Evaluator {
    pub kernel: Kernel,
    /// The operands that the kernel's sources are, by place among the operands of the form.
    pub sources: Vec<usize>,
    /// The operand that the truth table asks beside the test.
    pub predicate: Option<usize>,
    /// Where a test is asked: the outcome for it and a predicate, `[test][predicate]`.
    pub truth: Option<[[bool; 2]; 2]>,
    /// Where constants are chosen: the one for true, the one for false.
    pub constants: Option<[u64; 2]>,
}

/// The most value sources that a test has.
const TEST_SOURCES: usize = 2;

/// The most lanes that a packed test has; a mask of more would not fit a word.
const TEST_LANES: u32 = 2;

/// Takes the program of a form with these operands apart.
pub(crate) fn evaluator(model: &Model, patterns: &[Pattern], program: &Program) -> Evaluator {
    let program = erase(model, program);
    truth(model, &program).or_else(|| choose(model, &program)).unwrap_or_else(|| general(patterns, program))
}

/// The program with types reduced to what bits can tell.
///
/// A builtin that is declared for uninterpreted bits computes the same for the integers of that width: the prelude's
/// law of such builtins.
fn erase(model: &Model, program: &Program) -> Program {
    let mut erased = Program { values: Vec::new(), outputs: Vec::new(), steps: Vec::new() };
    let mut places = Vec::new();
    for value in &program.values {
        let ty = erase_ty(model, value.ty);
        let mut op = value.op.clone();
        op.map_args(|arg| places[arg.0]);
        let place = match op {
            Op::Reinterpret(inner) if erased.value(inner).ty == ty => inner,
            Op::Call { builtin, ty: Some(param), args } => {
                let param = uninterpreted(model, builtin, param).unwrap_or(param);
                erased.push(Op::Call { builtin, ty: Some(param), args }, ty)
            }
            op => erased.push(op, ty),
        };
        places.push(place);
    }
    erased.outputs = program.outputs.iter().map(|output| places[output.0]).collect();
    erased.prune();
    erased
}

fn erase_ty(model: &Model, ty: Ty) -> Ty {
    let Ty::Lanes { lane, lanes } = ty else { return ty };
    let found = model.ty(lane);
    if found.kind == Kind::Predicate {
        return ty;
    }
    let same =
        |other: &crate::model::Type| other.lanes == 1 && other.bits == found.bits && other.kind != Kind::Predicate;
    Ty::Lanes { lane: TypeId(model.types.iter().position(same).expect("the type itself is such a one")), lanes }
}

/// The uninterpreted bits that a builtin takes in place of an integer type.
fn uninterpreted(model: &Model, builtin: BuiltinId, param: TypeId) -> Option<TypeId> {
    let ty = model.ty(param);
    if !matches!(ty.kind, Kind::Unsigned | Kind::Signed) {
        return None;
    }
    let is_bits = |other: &&TypeId| model.ty(**other).kind == Kind::Bits && model.ty(**other).bits == ty.bits;
    model.builtins[builtin.0].generic.as_ref()?.iter().find(is_bits).copied()
}

/// What a builtin of predicates makes of truth values, where it is one of the algebra's.
pub(crate) fn algebra(model: &Model, builtin: BuiltinId, ty: Option<TypeId>) -> Option<fn(&[bool]) -> bool> {
    let builtin = &model.builtins[builtin.0];
    let predicates = model.ty(ty?).kind == Kind::Predicate;
    let lane_by_lane = builtin.result == Param::Generic && builtin.params.iter().all(|param| *param == Param::Generic);
    if !predicates || !lane_by_lane {
        return None;
    }
    // The builtins that the operators `!`, `&`, `|` and `^` stand for.
    match (builtin.name.as_str(), builtin.params.len()) {
        ("not", 1) => Some(|x| !x[0]),
        ("and", 2) => Some(|x| x[0] & x[1]),
        ("or", 2) => Some(|x| x[0] | x[1]),
        ("xor", 2) => Some(|x| x[0] ^ x[1]),
        _ => None,
    }
}

/// Whether a builtin works on its arguments lane by lane: it takes no lanes together and makes no packed value.
pub(crate) fn each_lane(model: &Model, builtin: BuiltinId) -> bool {
    let builtin = &model.builtins[builtin.0];
    builtin.params.iter().chain([&builtin.result]).all(|param| match param {
        Param::Type(ty) => model.ty(*ty).lanes == 1,
        Param::Generic | Param::Pick { .. } => true,
        Param::GenericLanes => false,
    })
}

/// What a predicate depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaf {
    /// A lane of a test.
    Test { test: ValueId, lane: u32 },
    /// A predicate source, by its operand.
    Source(usize),
}

/// A function of leaves.
struct Predicate<'a> {
    model: &'a Model,
    program: &'a Program,
    leaves: Vec<Leaf>,
}

impl Predicate<'_> {
    /// Finds the leaves of a predicate; `None` where it is no function of leaves.
    fn collect(&mut self, id: ValueId) -> Option<()> {
        if let Some((leaf, _)) = self.leaf(id) {
            if !self.leaves.contains(&leaf) {
                self.leaves.push(leaf);
            }
            return Some(());
        }
        match &self.program.value(id).op {
            Op::Call { builtin, ty, args } if algebra(self.model, *builtin, *ty).is_some() => {
                args.iter().try_for_each(|arg| self.collect(*arg))
            }
            _ => None,
        }
    }

    /// The leaf a value is, and whether it is that leaf's complement.
    fn leaf(&self, id: ValueId) -> Option<(Leaf, bool)> {
        let value = self.program.value(id);
        if let Op::Source(place) = value.op {
            return Some((Leaf::Source(place), false));
        }
        // One predicate for each lane of a packed value.
        if let Op::Select(one, yes, no) = value.op
            && self.program.value(yes).op == Op::Constant(1)
            && self.program.value(no).op == Op::Constant(0)
            && let Op::Source(place) = self.program.value(one).op
        {
            return Some((Leaf::Source(place), false));
        }
        if let Op::Lane(inner, lane) = value.op
            && pure(self.model, self.program, inner)
        {
            let (test, complement) = self.strip(inner);
            return Some((Leaf::Test { test, lane }, complement));
        }
        if pure(self.model, self.program, id) {
            let (test, complement) = self.strip(id);
            return Some((Leaf::Test { test, lane: 0 }, complement));
        }
        None
    }

    /// A predicate without the complements around it, and whether their number is odd.
    fn strip(&self, mut id: ValueId) -> (ValueId, bool) {
        let mut complement = false;
        while let Op::Call { builtin, ty, args } = &self.program.value(id).op
            && let Some(function) = algebra(self.model, *builtin, *ty)
            && let [only] = args.as_slice()
            && function(&[false])
        {
            id = *only;
            complement = !complement;
        }
        (id, complement)
    }

    fn evaluate(&self, id: ValueId, assigned: &dyn Fn(Leaf) -> bool) -> bool {
        if let Some((leaf, complement)) = self.leaf(id) {
            return assigned(leaf) ^ complement;
        }
        let Op::Call { builtin, ty, args } = &self.program.value(id).op else { unreachable!("collected before") };
        let function = algebra(self.model, *builtin, *ty).expect("collected before");
        let args: Vec<bool> = args.iter().map(|arg| self.evaluate(*arg, assigned)).collect();
        function(&args)
    }
}

/// Whether a predicate is computed lane by lane from values alone: from no predicate source and no selector.
pub(crate) fn pure(model: &Model, program: &Program, id: ValueId) -> bool {
    is_predicate(model, program.value(id).ty)
        && sources_of(model, program, id).is_some_and(|sources| !sources.is_empty())
}

/// The value sources that a value is computed from lane by lane; `None` if it is computed otherwise.
fn sources_of(model: &Model, program: &Program, id: ValueId) -> Option<BTreeSet<usize>> {
    let Ty::Lanes { lanes, .. } = program.value(id).ty else { return None };
    let same_lanes = |ty: Ty| matches!(ty, Ty::Lanes { lanes: found, .. } if found == lanes);
    let mut open = vec![id];
    let mut sources = BTreeSet::new();
    while let Some(id) = open.pop() {
        let value = program.value(id);
        let fits = same_lanes(value.ty)
            && match &value.op {
                Op::Source(place) => {
                    sources.insert(*place);
                    !is_predicate(model, value.ty)
                }
                Op::Constant(_) | Op::Select(..) => true,
                Op::Call { builtin, .. } => each_lane(model, *builtin),
                Op::Reinterpret(inner) => same_lanes(program.value(*inner).ty),
                Op::Selector(_) | Op::Lane(..) => false,
            };
        if !fits {
            return None;
        }
        open.extend(value.op.args());
    }
    Some(sources)
}

/// Whether values of a type are predicates.
pub(crate) fn is_predicate(model: &Model, ty: Ty) -> bool {
    matches!(ty, Ty::Lanes { lane, .. } if model.ty(lane).kind == Kind::Predicate)
}

/// The one test and the one predicate source that predicates depend on, and their truth tables.
struct Tables {
    test: ValueId,
    lanes: Vec<u32>,
    predicate: Option<usize>,
    truth: Vec<[[bool; 2]; 2]>,
}

fn tables(model: &Model, program: &Program, predicates: &[ValueId]) -> Option<Tables> {
    let mut found = Tables { test: ValueId(0), lanes: Vec::new(), predicate: None, truth: Vec::new() };
    for (index, id) in predicates.iter().enumerate() {
        let mut predicate = Predicate { model, program, leaves: Vec::new() };
        predicate.collect(*id)?;
        let mut test = None;
        for leaf in &predicate.leaves {
            match *leaf {
                Leaf::Test { test: value, lane } if test.is_none() => {
                    test = Some(*leaf);
                    if index > 0 && value != found.test {
                        return None;
                    }
                    found.test = value;
                    found.lanes.push(lane);
                }
                Leaf::Source(place) if found.predicate.is_none_or(|other| other == place) => {
                    found.predicate = Some(place);
                }
                Leaf::Test { .. } | Leaf::Source(_) => return None,
            }
        }
        let test = test?;
        found.truth.push([false, true].map(|outcome| {
            [false, true].map(|source| predicate.evaluate(*id, &|leaf| if leaf == test { outcome } else { source }))
        }));
    }
    Some(found)
}

fn truth(model: &Model, program: &Program) -> Option<Evaluator> {
    if !program.outputs.iter().all(|output| is_predicate(model, program.value(*output).ty)) {
        return None;
    }
    let Tables { test, lanes: outputs, predicate, truth } = tables(model, program, &program.outputs)?;
    let (test, sources) = extract(program, test)?;
    // A test of pairs answers for both lanes.
    if outputs != [0] && outputs != [0, test.lanes - 1] || outputs.len() < test.lanes as usize {
        return None;
    }
    let second = if test.lanes == 1 { [truth[0][1], truth[0][0]] } else { truth[0] };
    if truth.get(1).is_some_and(|found| *found != second) {
        return None;
    }
    let kernel = Kernel::Truth { test, outputs: outputs.len() };
    Some(Evaluator { kernel, sources, predicate, truth: Some(truth[0]), constants: None })
}

fn choose(model: &Model, program: &Program) -> Option<Evaluator> {
    let [output] = program.outputs.as_slice() else { return None };
    let mut output = program.value(*output);
    while let Op::Reinterpret(inner) = output.op {
        output = program.value(inner);
    }
    let Value { op: Op::Select(condition, yes, no), ty: Ty::Lanes { lane, lanes } } = *output else { return None };
    let bits = model.ty(lane).bits;
    let (Op::Constant(yes), Op::Constant(no)) = (&program.value(yes).op, &program.value(no).op) else { return None };
    let tables = tables(model, program, &[condition])?;
    let Tables { test, lanes: asked, predicate, truth } = tables;
    let (test, sources) = extract(program, test)?;
    // Lanes of a pair are as wide as those of the test.
    let fits = if lanes == 1 { bits >= 16 } else { bits == 16 };
    if asked != [0] || test.lanes != lanes || !fits || is_predicate(model, Ty::Lanes { lane, lanes }) {
        return None;
    }
    let (mut constants, mut truth) = ([*yes, *no], truth[0]);
    // Without a predicate the test alone chooses: its complement swaps the constants.
    if predicate.is_none() && truth[0][0] {
        constants.reverse();
        truth = [[false; 2], [true; 2]];
    }
    let kernel = Kernel::Choose { test, bits };
    Some(Evaluator { kernel, sources, predicate, truth: Some(truth), constants: Some(constants) })
}

/// A test as a program of its own.
fn extract(program: &Program, test: ValueId) -> Option<(Test, Vec<usize>)> {
    let Ty::Lanes { lanes, .. } = program.value(test).ty else { return None };
    if lanes > TEST_LANES {
        return None;
    }
    let mut program = Program { values: program.values.clone(), outputs: vec![test], steps: Vec::new() };
    program.prune();
    let sources = number_sources(&mut program);
    (sources.len() <= TEST_SOURCES).then_some((Test { program, lanes }, sources))
}

fn general(patterns: &[Pattern], mut program: Program) -> Evaluator {
    let sources = number_sources(&mut program);
    number_selectors(patterns, &mut program);
    Evaluator { kernel: Kernel::General(program), sources, predicate: None, truth: None, constants: None }
}

/// Numbers the sources in order of first use; the operands they were.
fn number_sources(program: &mut Program) -> Vec<usize> {
    let mut places = Vec::new();
    for value in &mut program.values {
        if let Op::Source(place) = &mut value.op {
            let index = places.iter().position(|other| other == place).unwrap_or_else(|| {
                places.push(*place);
                places.len() - 1
            });
            *place = index;
        }
    }
    places
}

/// Numbers the selectors in the order of their operands: subsets apart from the others.
fn number_selectors(patterns: &[Pattern], program: &mut Program) {
    let is_subset = |selector: &Selector| matches!(selector.shape, SelectorShape::Subset { .. });
    for value in &mut program.values {
        if let Op::Selector(place) = &mut value.op {
            let selectors = patterns[..*place].iter().filter_map(|pattern| pattern.selector.as_ref());
            let wanted = matches!(value.ty, Ty::Lanes { .. });
            *place = selectors.filter(|selector| is_subset(selector) == wanted).count();
        }
    }
}
