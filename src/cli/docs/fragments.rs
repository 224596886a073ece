//! Fragments of an opcode, each distribution drawn once: a distribution that is a corner of a larger one is drawn with it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ptx_isa::reference::page::{Fragment, Page};
use ptx_isa::text::spelling;

use crate::cli::names::forms_of;

/// A drawing, and the fragments that it shows.
pub(super) struct Drawn {
    /// The largest.
    pub(super) fragment: &'static Fragment,
    /// All of them, in the order of the page.
    pub(super) members: Vec<&'static Fragment>,
}

/// The drawings of a page, in the order of the first fragment of each.
pub(super) fn drawn(page: &'static Page) -> Vec<Drawn> {
    let mut drawings: Vec<Drawn> = Vec::new();
    for fragment in page.fragments {
        let place = drawings
            .iter_mut()
            .find(|drawn| is_corner(fragment, drawn.fragment) || is_corner(drawn.fragment, fragment));
        match place {
            Some(drawn) => {
                drawn.members.push(fragment);
                if is_corner(drawn.fragment, fragment) {
                    drawn.fragment = fragment;
                }
            }
            None => drawings.push(Drawn { fragment, members: vec![fragment] }),
        }
    }
    drawings
}

/// Returns true if the rows and columns of a fragment are the first ones of another, each element held by the same lane in the
/// same place.
fn is_corner(small: &Fragment, large: &Fragment) -> bool {
    let same =
        (small.name, small.matrices, small.high, small.wide) == (large.name, large.matrices, large.high, large.wide);
    let grid =
        |fragment: &Fragment| ((fragment.rows / fragment.high) as usize, (fragment.columns / fragment.wide) as usize);
    let ((rows, columns), (all_rows, all_columns)) = (grid(small), grid(large));
    let row = |fragment: &'static [u8], columns: usize, number: usize| &fragment[number * columns..][..columns];
    let equal = |own: &'static [u8], other: &'static [u8]| {
        (0..small.matrices as usize).all(|matrix| {
            (0..rows).all(|at| {
                let other = row(other, all_columns, matrix * all_rows + at);
                row(own, columns, matrix * rows + at) == &other[..columns]
            })
        })
    };
    same && rows <= all_rows
        && columns <= all_columns
        && equal(small.lanes, large.lanes)
        && equal(small.elements, large.elements)
}

/// Some of the forms that have a fragment, as they are spelt, and how many more there are.
pub(super) fn holders(page: &Page, fragment: &Fragment) -> (Vec<Cow<'static, str>>, usize) {
    const SOME: usize = 4;
    let forms: Vec<_> = forms_of(page.opcode).collect();
    let places = fragment.held.iter().flat_map(|held| held.forms).filter_map(|place| forms.get(*place as usize));
    let names: BTreeSet<Cow<'_, str>> = places.map(|form| spelling::mnemonic(*form)).collect();
    let more = names.len().saturating_sub(SOME);
    (names.into_iter().take(SOME).collect(), more)
}
