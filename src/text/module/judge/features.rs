//! Minimum versions and targets of features of declarations.

use alloc::format;
use core::fmt::Display;
use core::ops::Range;

use super::Judge;
use crate::diagnostic::Code;
use crate::table::Feature;
use crate::target::Floor;

impl Judge<'_, '_> {
    /// Reports a floor that is not met; what asks for it is read on.
    pub(super) fn asks(&mut self, what: impl Display, floor: &'static Floor, span: Range<usize>) {
        let met = self.level.needs(what, floor, span);
        self.findings.note(met);
    }

    /// Checks the requirements of a feature that has no keyword of its own.
    pub(super) fn feature(&mut self, feature: Feature, what: impl Display, span: Range<usize>) {
        if let Some(declared) = self.table.declared(feature.name()).next() {
            self.asks(what, &declared.floor, span);
        }
    }

    /// Checks an amount of something for which the table has limits.
    pub(super) fn amount(&mut self, feature: Feature, amount: u64, what: &str, span: Range<usize>) {
        let table = self.table;
        match table.declared(feature.name()).find(|declared| amount <= declared.most) {
            Some(declared) => self.asks(format_args!("{what} of {amount} bytes"), &declared.floor, span),
            None => {
                if let Some(last) = table.declared(feature.name()).last() {
                    let message = format!("{what} of {amount} bytes exceeds the maximum of {}", last.most);
                    self.findings.error(Code::Syntax, span, message);
                }
            }
        }
    }

    /// The first word of a pragma's string, at this place.
    pub(super) fn pragma_word(&mut self, span: Range<usize>) {
        let string = &self.text[span.clone()];
        let word = string.trim_matches('"').split_ascii_whitespace().next().unwrap_or_default();
        let table = self.table;
        let own = |name: &str| name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) == Some(word);
        if let Some(declared) = table.declarations.iter().find(|declared| own(declared.name)) {
            self.asks(format_args!("the pragma `{word}`"), &declared.floor, span);
        }
    }
}
