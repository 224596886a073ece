//! Forms that have a fragment.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ptx_isa::reference::page::{Fragment, Page};
use ptx_isa::text::spelling;

use crate::cli::names::forms_of;

/// Some of the forms that have a fragment, as they are spelt, and how many more there are.
pub(super) fn holders(page: &Page, fragment: &Fragment) -> (Vec<Cow<'static, str>>, usize) {
    const SOME: usize = 4;
    let forms: Vec<_> = forms_of(page.opcode).collect();
    let places = fragment.held.iter().flat_map(|held| held.forms).filter_map(|place| forms.get(*place as usize));
    let names: BTreeSet<Cow<'_, str>> = places.map(|form| spelling::mnemonic(*form)).collect();
    let more = names.len().saturating_sub(SOME);
    (names.into_iter().take(SOME).collect(), more)
}
