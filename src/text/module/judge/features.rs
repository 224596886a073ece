//! Minimum versions and targets of features of declarations.

use alloc::format;
use core::fmt::Display;
use core::ops::Range;

use super::super::read::PragmaPlace;
use super::Judge;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Declared, Feature};
use crate::target::Floor;
use crate::text::alike;

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

    /// Checks the requirements of a field of an initializer.
    pub(super) fn field(&mut self, name: &str, span: Range<usize>) {
        if let Some(declared) = self.table.declared(name).next() {
            self.asks(format_args!("the field `{name}`"), &declared.floor, span);
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

    /// A string of `.pragma`: its first word is its name.
    pub(super) fn pragma(&mut self, span: Range<usize>, place: PragmaPlace) {
        let string = self.text[span.clone()].trim_matches('"');
        let (word, argument) = string.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((string, ""));
        let table = self.table;
        let unquoted = |name: &'static str| name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        let pragmas = || table.declarations.iter().filter_map(|one| Some((unquoted(one.name)?, one)));
        let known = |(name, one): &(&str, &Declared)| match place == PragmaPlace::Module && !one.number {
            true => *name == string,
            false => *name == word,
        };
        let Some((_, declared)) = pragmas().find(known) else {
            // Elsewhere the assembler ignores what it does not know.
            if place == PragmaPlace::Module && pragmas().next().is_some() {
                let error =
                    Diagnostic::error(Code::Syntax, span, format!("there is no pragma \"{string}\" for modules"));
                let names = pragmas().filter(|(_, one)| !one.inside).map(|(name, _)| name);
                self.findings.waiting.push(alike::suggest(error, word, "", names));
            }
            return;
        };
        if declared.inside && place != PragmaPlace::Body {
            let message = format!("the pragma `{word}` is for bodies of functions");
            self.findings.error(Code::Syntax, span.clone(), message);
        } else if declared.number && !is_integer(argument.trim_start()) {
            let message = format!("the pragma `{word}` is followed by an integer");
            self.findings.error(Code::Syntax, span.clone(), message);
        }
        self.asks(format_args!("the pragma `{word}`"), &declared.floor, span);
    }
}

/// Returns true if this is a decimal, octal or hexadecimal integer, as C reads it.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, radix) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (digits, if digits.starts_with('0') { 8 } else { 10 }),
    };
    !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))
}
