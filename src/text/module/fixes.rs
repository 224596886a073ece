//! Makes the edits that findings come with.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Options, Report, check};
use crate::diagnostic::{Diagnostic, Fix};
use crate::table::Table;

/// How often a text is read again: an edit may bring forth another finding.
const MOST_PASSES: usize = 10;

/// A text with edits made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fixed {
    /// The text as it is now.
    pub text: String,
    /// Number of edits that were applied.
    pub edits: usize,
    /// Findings that remain.
    pub report: Report,
}

/// Makes of each finding the first edit that is wanted, until there is none or it adds errors.
///
/// ```
/// use ptx_isa::text::Options;
/// use ptx_isa::text::module::fix;
///
/// let module = ".version 8.0 .target sm_80 .entry k() { .reg .pred p; .reg .s32 r<2>; .reg .f32 f<2>;
///     setp.s32.lt p, r0, r1
///     setp.lo.f32 p, f0, f1; ret; }";
/// let safe = fix(&ptx_isa::TABLE, module, &Options::default(), |_, fix| fix.safe);
/// assert_eq!(safe.text, module.replace("setp.s32.lt p, r0, r1", "setp.lt.s32 p, r0, r1;"));
/// assert_eq!((safe.edits, safe.report.errors()), (2, 1));
///
/// // Another comparison may be meant.
/// let all = fix(&ptx_isa::TABLE, module, &Options::default(), |_, _| true);
/// assert_eq!(all.text, safe.text.replace("setp.lo", "setp.lt"));
/// assert_eq!(all.report.diagnostics, []);
/// ```
pub fn fix(table: &'static Table, text: &str, options: &Options, wanted: impl Fn(&Diagnostic, &Fix) -> bool) -> Fixed {
    let read = |text: &str| check(table, text.as_bytes(), options);
    let mut fixed = Fixed { text: text.into(), edits: 0, report: read(text) };
    for _ in 0..MOST_PASSES {
        let edits = edits(&fixed.report.diagnostics, &wanted);
        if edits.is_empty() {
            break;
        }
        let mut text = fixed.text.clone();
        edits.iter().rev().for_each(|fix| text.replace_range(fix.span.clone(), &fix.text));
        let report = read(&text);
        if report.errors() > fixed.report.errors() {
            break;
        }
        fixed = Fixed { text, edits: fixed.edits + edits.len(), report };
    }
    fixed
}

/// Of each finding the first edit that is wanted, as far as they go together: of several in one place the first. They are in the
/// order of the text. A finding of whose equally likely edits several are wanted has none.
///
/// ```
/// use ptx_isa::TABLE;
/// use ptx_isa::text::module::{check, edits};
/// use ptx_isa::text::Options;
///
/// let module = b".version 8.0 .target sm_80 .entry k() { membar.gpu; ret; }";
/// let report = check(&TABLE, module, &Options::default());
/// assert_eq!(report.diagnostics[0].tied, 3);
/// assert!(edits(&report.diagnostics, |_, _| true).is_empty());
/// assert_eq!(edits(&report.diagnostics, |_, fix| fix.text == "membar.gl").len(), 1);
/// ```
pub fn edits(findings: &[Diagnostic], wanted: impl Fn(&Diagnostic, &Fix) -> bool) -> Vec<&Fix> {
    let one = |finding: &Diagnostic| {
        let mut all = (0..finding.fixes.len()).filter(|index| wanted(finding, &finding.fixes[*index]));
        let first = all.next()?;
        all.next().is_none_or(|second| second >= finding.tied).then_some(first)
    };
    let mut edits: Vec<&Fix> =
        findings.iter().filter_map(|finding| one(finding).map(|index| &finding.fixes[index])).collect();
    edits.sort_by_key(|fix| (fix.span.start, fix.span.end));
    let mut end = None;
    edits.retain(|fix| {
        let apart = end.is_none_or(|end| fix.span.start > end);
        if apart {
            end = Some(fix.span.end);
        }
        apart
    });
    edits
}
