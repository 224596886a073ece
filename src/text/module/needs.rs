//! What a module asks for, and which statement does.

use core::ops::Range;

use crate::target::{Floor, Target, Version};
use crate::text::statement::Statement;

/// The version and the target that some statements need, each with the bytes of the first statement that needs it.
///
/// ```
/// use ptx_isa::target::{Target, Version};
/// use ptx_isa::text::module::{Item, Needs, Options, read};
///
/// let module = b".version 8.0 .target sm_90 .entry k() { griddepcontrol.wait; ret; }";
/// let mut needs = Needs::default();
/// read(&ptx_isa::TABLE, module, &Options::default(), |item, span| {
///     if let Item::Statement(statement) = item {
///         needs.add(statement, span);
///     }
/// });
/// assert_eq!(needs.version().map(|(version, _)| version), Some(Version::new(7, 8)));
/// assert_eq!(needs.target().map(|(target, _)| target), Some(Target::sm(90)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Needs {
    version: Option<(Version, Range<usize>)>,
    target: Option<(Target, Range<usize>)>,
}

impl Needs {
    /// Adds a statement, which takes these bytes.
    pub fn add(&mut self, statement: &Statement<'_>, span: Range<usize>) {
        self.raise(statement.form().floor(), &span);
        statement.floors().for_each(|floor| self.raise(floor, &span));
    }

    fn raise(&mut self, floor: &Floor, span: &Range<usize>) {
        if self.version.as_ref().is_none_or(|(version, _)| *version < floor.ptx) {
            self.version = Some((floor.ptx, span.clone()));
        }
        if self.target.as_ref().is_none_or(|(target, _)| *target < floor.target()) {
            self.target = Some((floor.target(), span.clone()));
        }
    }

    /// The first version of PTX that has all of them.
    pub fn version(&self) -> Option<(Version, Range<usize>)> {
        self.version.clone()
    }

    /// The lowest target that has what the most demanding of them asks for.
    pub fn target(&self) -> Option<(Target, Range<usize>)> {
        self.target.clone()
    }
}
