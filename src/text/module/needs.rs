//! The minimum PTX version and target of a module and of its functions.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Function, Item, Options, Proceed, Visitor, run};
use crate::diagnostic::Diagnostic;
use crate::table::{Least, Requirement, Table};
use crate::target::{Target, Version};

/// What a function or a whole module asks of the PTX version and the target.
#[derive(Clone, Debug)]
pub struct Needs<'a> {
    table: &'static Table,
    /// The function; `None` for the module.
    pub function: Option<Function<'a>>,
    asked: Vec<(Requirement, Range<usize>)>,
}

/// The minimum version and target that something is accepted with, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// The minimum PTX version, which knows the target.
    pub ptx: Version,
    /// The minimum target. Of several families that are no extensions of each other it is the lowest.
    pub target: Target,
    /// What is refused with the version below: the first part of the text that is.
    pub version_reason: Option<Reason<Version>>,
    /// What is refused on the targets below.
    pub target_reasons: Vec<Reason<Target>>,
}

/// A part of a text that needs a version or a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason<T> {
    /// The version, or the least target, that it needs.
    pub needs: T,
    /// The bytes of the statement, or of the word of a directive.
    pub span: Range<usize>,
}

/// Finds what each function with a body and, in the last place, the whole module asks of the PTX version and the target. A
/// function is its head and its body, without what it calls.
///
/// What [`check`](super::check) would refuse for its version or target is what counts, so that the text may be for any.
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
    run(table, source, &Options::default(), &mut functions, None, Some(&mut collector));
    let mut all = collector.asked;
    all.sort_by_key(|(_, span)| span.start);
    let of = |function, asked: &[(Requirement, Range<usize>)]| {
        let mut needs = Needs { table, function, asked: Vec::new() };
        asked.iter().for_each(|(requirement, span)| needs.add(*requirement, span));
        needs.asked.shrink_to_fit();
        needs
    };
    let own = functions.all.into_iter().map(|(function, whole)| {
        let first = all.partition_point(|(_, span)| span.start < whole.start);
        let end = all.partition_point(|(_, span)| span.start < whole.end);
        of(Some(function), &all[first..end])
    });
    let mut found: Vec<Needs<'a>> = own.collect();
    found.push(of(None, &all));
    found
}

impl Needs<'_> {
    /// Adds what is asked for the first time.
    fn add(&mut self, requirement: Requirement, span: &Range<usize>) {
        if !self.asked.iter().any(|(known, _)| *known == requirement) {
            self.asked.push((requirement, span.clone()));
        }
    }

    /// The requirements, each with the first part of the text that has it.
    pub fn requirements(&self) -> impl Iterator<Item = (Requirement, Range<usize>)> {
        self.asked.iter().cloned()
    }

    /// The minimum version and target; `None` where no version and target are accepted.
    pub fn minimum(&self) -> Option<Minimum> {
        let (table, families) = (self.table, self.table.families());
        let Least { ptx: asked, targets } = table.least(self.asked.iter().map(|(requirement, _)| *requirement))?;
        let since = |target: Target| table.targets.iter().find(|known| known.target == target).map(|known| known.since);
        let refuses = |ptx: Version, target: Target| {
            self.asked.iter().find(|(requirement, _)| !requirement.is_met(ptx, target, families))
        };
        let known = targets.into_iter().filter_map(|target| Some((target, asked.max(since(target)?))));
        let (target, ptx) = known.into_iter().find(|(target, ptx)| refuses(*ptx, *target).is_none())?;

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

/// The functions with a body, each with its extent.
struct Functions<'a> {
    all: Vec<(Function<'a>, Range<usize>)>,
    /// Where a function ends whose end is missing.
    length: usize,
}

impl<'a> Visitor<'a> for Functions<'a> {
    fn item(&mut self, item: Item<'_, 'a>, span: Range<usize>) {
        match item {
            Item::Function(function) => self.all.push((function, span.start..self.length)),
            Item::End => {
                if let Some((_, whole)) = self.all.last_mut() {
                    whole.end = span.end;
                }
            }
            _ => {}
        }
    }

    fn finding(&mut self, _: Diagnostic) -> Proceed {
        Proceed::Count
    }
}

/// Collects what the checker asks of the version and the target.
#[derive(Default)]
pub(super) struct Collector {
    asked: Vec<(Requirement, Range<usize>)>,
    /// How many there were where the head of the last function began, or where its body ended: what is asked for from there on
    /// is collected once.
    before: usize,
}

impl Collector {
    pub(super) fn add(&mut self, requirement: Requirement, span: Range<usize>) {
        if !self.asked[self.before..].iter().any(|(known, _)| *known == requirement) {
            self.asked.push((requirement, span));
        }
    }

    /// A function begins or ends here.
    pub(super) fn function(&mut self) {
        self.before = self.asked.len();
    }
}
