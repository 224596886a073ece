//! The minimum PTX version and target of a module and of its functions.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Beside, Function, Item, Options, Proceed, Visitor, run};
use crate::diagnostic::Diagnostic;
use crate::table::{Least, OperandKind, Requirement, Table};
use crate::target::{Target, Version};
use crate::text::statement::{Register, Value};

/// The requirements of a function or a whole module on the PTX version and the target.
#[derive(Clone, Debug)]
pub struct Needs<'a> {
    table: &'static Table,
    /// The function; `None` for the whole module.
    pub function: Option<Function<'a>>,
    asked: Vec<(Requirement, Range<usize>)>,
}

/// The minimum PTX version and target, and the reasons for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// The minimum PTX version, which supports `target`.
    pub ptx: Version,
    /// The minimum target; if several unrelated families would do, the lowest of their minimum targets.
    pub target: Target,
    /// The first part of the text that the preceding PTX version rejects.
    pub version_reason: Option<Reason<Version>>,
    /// The parts of the text that lower targets reject.
    pub target_reasons: Vec<Reason<Target>>,
}

/// A part of a text that requires a version or a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason<T> {
    /// The version, or the minimum target, that it requires.
    pub needs: T,
    /// Byte range of the statement, or of the directive's name.
    pub span: Range<usize>,
}

/// Returns the PTX version and target requirements of each function with a body and, last, of the whole module. A
/// function's requirements cover its head, its body, and the functions of the module that it calls or whose address it takes, and so
/// on.
///
/// The requirements are what [`check`](super::check) would verify; the version and target that the text declares do not
/// matter.
///
/// ```
/// use ptx_isa::target::{Target, Version};
/// use ptx_isa::text::module::needs;
///
/// let module = b".version 6.0 .target sm_50
///     .entry old() { ret; }
///     .entry new() .reqnctapercluster 2 { griddepcontrol.wait; ret; }";
/// let needs = needs(&ptx_isa::TABLE, module);
/// let names: Vec<_> = needs.iter().map(|needs| needs.function.map(|function| function.name)).collect();
/// assert_eq!(names, [Some("old"), Some("new"), None]);
///
/// let minimum = needs[1].minimum().unwrap();
/// assert_eq!((minimum.ptx, minimum.target), (Version::new(7, 8), Target::sm(90)));
/// assert_eq!(&module[minimum.target_reasons[0].span.clone()], b".reqnctapercluster");
/// ```
pub fn needs<'a>(table: &'static Table, source: &'a [u8]) -> Vec<Needs<'a>> {
    let mut functions = Functions { all: Vec::new(), length: source.len() };
    let mut collector = Collector::default();
    run(table, source, &Options::default(), &mut functions, Beside::Collector(&mut collector));
    let mut all = collector.asked;
    all.sort_by_key(|(_, span)| span.start);
    let of = |function, asked: &[(Requirement, Range<usize>)]| {
        let mut needs = Needs { table, function, asked: Vec::new() };
        asked.iter().for_each(|(requirement, span)| needs.add(*requirement, span));
        needs.asked.shrink_to_fit();
        needs
    };
    let named = functions.named();
    let own = functions.all.iter().enumerate().map(|(index, body)| {
        let mut asked = Vec::new();
        for body in functions.reached(index, &named) {
            let first = all.partition_point(|(_, span)| span.start < body.whole.start);
            let end = all.partition_point(|(_, span)| span.start < body.whole.end);
            asked.extend_from_slice(&all[first..end]);
        }
        of(Some(body.function), &asked)
    });
    let mut found: Vec<Needs<'a>> = own.collect();
    found.push(of(None, &all));
    found
}

impl Needs<'_> {
    /// Adds a requirement unless it is already present.
    fn add(&mut self, requirement: Requirement, span: &Range<usize>) {
        if !self.asked.iter().any(|(known, _)| *known == requirement) {
            self.asked.push((requirement, span.clone()));
        }
    }

    /// Returns the requirements, each with the first part of the text that has it.
    pub fn requirements(&self) -> impl Iterator<Item = (Requirement, Range<usize>)> {
        self.asked.iter().cloned()
    }

    /// Returns requirements of which each excludes the others together: no version and target meet them all, but one does
    /// without any of them. There is none if a version and a target meet all requirements.
    ///
    /// ```
    /// use ptx_isa::text::module::needs;
    ///
    /// let module = b".entry k() { griddepcontrol.wait; wgmma.fence.sync.aligned; tcgen05.fence::before_thread_sync; ret; }";
    /// let needs = needs(&ptx_isa::TABLE, module);
    /// let conflict: Vec<_> = needs[0].conflict().map(|(_, span)| &module[span]).collect();
    /// assert_eq!(conflict, [&b"wgmma.fence.sync.aligned;"[..], b"tcgen05.fence::before_thread_sync;"]);
    /// ```
    pub fn conflict(&self) -> impl Iterator<Item = (Requirement, Range<usize>)> {
        let mut left: Vec<usize> = (0..self.asked.len()).collect();
        let is_met = |left: &[usize]| self.lowest(left.iter().map(|index| self.asked[*index].0)).is_some();
        if is_met(&left) {
            left.clear();
        }
        let mut at = 0;
        while at < left.len() {
            let one = left.remove(at);
            if is_met(&left) {
                left.insert(at, one);
                at += 1;
            }
        }
        left.into_iter().map(|index| self.asked[index].clone())
    }

    /// Returns the minimum version that requirements ask for, the minimum target, and the minimum version that supports it as
    /// well.
    fn lowest(&self, asked: impl Iterator<Item = Requirement> + Clone) -> Option<(Version, Target, Version)> {
        let (table, families) = (self.table, self.table.families());
        let Least { ptx: version, targets } = table.least(asked.clone())?;
        let since = |target| table.target_info(target).map(|known| known.since);
        let mut known = targets.into_iter().filter_map(|target| Some((version, target, version.max(since(target)?))));
        known.find(|(_, target, ptx)| asked.clone().all(|requirement| requirement.is_met(*ptx, *target, families)))
    }

    /// Returns the minimum version and target; `None` if no version and target meet all requirements.
    pub fn minimum(&self) -> Option<Minimum> {
        let (table, families) = (self.table, self.table.families());
        let (asked, target, ptx) = self.lowest(self.asked.iter().map(|(requirement, _)| *requirement))?;
        let refuses = |ptx: Version, target: Target| {
            self.asked.iter().find(|(requirement, _)| !requirement.is_met(ptx, target, families))
        };

        let below = table.versions.iter().rev().find(|version| **version < asked);
        let version_reason = below.and_then(|below| refuses(*below, target));
        let version_reason = version_reason.map(|(_, span)| Reason { needs: asked, span: span.clone() });
        let (mut target_reasons, mut told): (Vec<Reason<Target>>, Vec<Requirement>) = (Vec::new(), Vec::new());
        let lower = table.targets.iter().rev().map(|known| known.target);
        for lower in lower.filter(|lower| *lower != target && families.has(target, *lower)) {
            if told.iter().any(|told| !told.is_met(ptx, lower, families)) {
                continue;
            }
            if let Some((requirement @ Requirement::From(floor), span)) = refuses(ptx, lower) {
                told.push(*requirement);
                let own = floor.targets.iter().find(|wanted| families.has(target, **wanted));
                let needs = own.copied().unwrap_or(target);
                target_reasons.push(Reason { needs, span: span.clone() });
            }
        }
        Some(Minimum { ptx, target, version_reason, target_reasons })
    }
}

/// A function with a body.
struct Body<'a> {
    function: Function<'a>,
    /// Byte range of its head and its body.
    whole: Range<usize>,
    /// Names in operands that may be functions.
    names: Vec<&'a str>,
}

/// Collects the functions with a body.
struct Functions<'a> {
    all: Vec<Body<'a>>,
    /// Length of the text, which is the end of a function without a closing brace.
    length: usize,
}

impl<'a> Functions<'a> {
    /// Returns the index of each function by its name.
    fn named(&self) -> BTreeMap<&'a str, usize> {
        self.all.iter().enumerate().map(|(index, body)| (body.function.name, index)).collect()
    }

    /// Returns a function, and those that it reaches by calls and addresses, in text order.
    fn reached(&self, from: usize, named: &BTreeMap<&str, usize>) -> impl Iterator<Item = &Body<'a>> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(index) = open.pop() {
            if reached.insert(index) {
                open.extend(self.all[index].names.iter().filter_map(|name| named.get(name)));
            }
        }
        reached.into_iter().map(|index| &self.all[index])
    }
}

impl<'a> Visitor<'a> for Functions<'a> {
    fn item(&mut self, item: Item<'_, 'a>, span: Range<usize>) {
        match (item, self.all.last_mut()) {
            (Item::Function(function), _) => {
                self.all.push(Body { function, whole: span.start..self.length, names: Vec::new() });
            }
            (Item::End, Some(body)) => body.whole.end = span.end,
            (Item::Statement(statement), Some(body)) => {
                for (info, operand) in statement.operands_with_info() {
                    let may_be = info.functions || info.addresses || info.kind == OperandKind::Function;
                    if let (true, Value::Name(name) | Value::Register(Register { name, element: None })) =
                        (may_be, operand.value)
                        && !body.names.contains(&name)
                    {
                        body.names.push(name);
                    }
                }
            }
            _ => {}
        }
    }

    fn finding(&mut self, _: Diagnostic) -> Proceed {
        Proceed::Count
    }
}

/// Collects the checker's requirements on the version and the target.
#[derive(Default)]
pub(super) struct Collector {
    asked: Vec<(Requirement, Range<usize>)>,
    /// Length of `asked` at the last start or end of a function: from there on, each requirement is collected once.
    before: usize,
}

impl Collector {
    pub(super) fn add(&mut self, requirement: Requirement, span: Range<usize>) {
        if !self.asked[self.before..].iter().any(|(known, _)| *known == requirement) {
            self.asked.push((requirement, span));
        }
    }

    /// Marks the start or the end of a function.
    pub(super) fn function(&mut self) {
        self.before = self.asked.len();
    }
}
