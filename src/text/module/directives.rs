//! Directives: which there are, and those that say nothing of statements.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use super::{Checker, Item};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Feature, Table};
use crate::text::mnemonic;
use crate::text::reader::{Read, fail};

/// Who else sees what is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Linkage {
    /// Other modules see it.
    Visible,
    /// Another module defines it.
    Extern,
    /// Other modules see it, and may replace it.
    Weak,
    /// Other modules see it, and those that declare it as well share it.
    Common,
}

impl Linkage {
    /// The linkage that a directive, given without its dot, says.
    pub(crate) fn named(name: &str) -> Option<Linkage> {
        Some(match name {
            "visible" => Linkage::Visible,
            "extern" => Linkage::Extern,
            "weak" => Linkage::Weak,
            "common" => Linkage::Common,
            _ => return None,
        })
    }
}

/// Whether a directive, given without its dot, begins something of a module rather than a part of a function's head.
pub(super) fn begins_item(table: &Table, name: &str) -> bool {
    let header = matches!(name, "version" | "target" | "address_size");
    let linkage = Linkage::named(name).is_some();
    let declaration = name == "reg" || table.space(name).is_some_and(|space| !space.opaque);
    header || linkage || declaration || matches!(name, "entry" | "func" | "alias" | "file" | "section" | "loc")
}

/// Whether a directive, given without its dot, stands outside of functions only.
pub(super) fn stands_outside(name: &str) -> bool {
    Linkage::named(name).is_some() || matches!(name, "entry" | "func" | "alias" | "file" | "section")
}

/// A name that no directive has at this place, where those with these names may stand.
pub(super) fn unknown_directive(
    name: &str,
    span: Range<usize>,
    message: String,
    names: impl Iterator<Item = &'static str>,
) -> Read<()> {
    let error = Diagnostic::error(Code::Syntax, span.clone(), message);
    Err(Box::new(match mnemonic::closest(name, names) {
        Some(near) => error.with_help(format!("did you mean `.{near}`?")).with_fix(span, format!(".{near}")),
        None => error,
    }))
}

impl<'a> Checker<'_, '_, 'a> {
    pub(super) fn directive(&mut self) {
        let start = self.cursor().at();
        let before = self.reader.notes.len();
        if let Err(error) = self.one_directive() {
            self.reader.notes.truncate(before);
            self.reader.notes.push(*error);
            // The rest of the line may be anything; what follows is likely to be whole.
            if self.cursor().at() == start {
                self.cursor().bump();
            }
            let head = [".entry", ".func"].iter().any(|word| self.text()[start..].starts_with(word));
            if head {
                // A list of parameters spans lines.
                self.cursor().find(|byte| matches!(byte, b';' | b'{' | b'}'));
            }
            while !self.cursor().at_end() && !matches!(self.cursor().peek(), b';' | b'{' | b'}' | b'\n') {
                self.cursor().bump();
            }
            self.cursor().eat(b';');
            self.unread.push(start..self.reader.cursor.at());
            self.cut_off = self.cursor().at_end();
        }
    }

    fn one_directive(&mut self) -> Read<()> {
        let start = self.cursor().at();
        let name = self.cursor().dot_word();
        let span = start..self.cursor().at();
        if !matches!(name, "version" | "target") {
            self.header_ends(span.clone());
        }
        if let Some(directive) = self.reader.table.directive(name).filter(|directive| directive.module) {
            // Behind a linkage a declaration follows, which is read all the same.
            match Linkage::named(name) {
                Some(_) => self.asks(format_args!("`.{name}`"), &directive.floor, span.clone()),
                None => self.needs(format_args!("`.{name}`"), &directive.floor, span.clone())?,
            }
        }
        let (begun, linkage) = self.begun.take().map_or((start, None), |(begun, linkage)| (begun, Some(linkage)));
        if let Some(own) = Linkage::named(name) {
            if linkage.is_some() {
                return fail(Code::Syntax, span, "a declaration has one linkage");
            }
            self.begun = Some((start, own));
            return Ok(());
        }
        match name {
            "entry" | "func" => return self.function(begun, linkage, span, name == "entry"),
            "reg" => return self.declaration(begun, linkage, span, None),
            _ => {}
        }
        if let Some(space) = self.reader.table.space(name).filter(|space| !space.opaque) {
            return self.declaration(begun, linkage, span, Some(space));
        }
        match name {
            "version" => self.version_line(span),
            "target" => self.target_line(span),
            "address_size" => self.address_size(span),
            "loc" if self.scopes.depth() == 0 && !self.bare => {
                fail(Code::Syntax, span, "`.loc` stands within a function")
            }
            "loc" => self.loc(span),
            "file" if self.scopes.depth() == 0 => self.file(span),
            "file" => fail(Code::Syntax, span, "`.file` stands outside of functions"),
            "section" if self.scopes.depth() == 0 => self.section(span),
            "alias" => self.alias(),
            "pragma" => self.pragma(span),
            _ => self.other_directive(name, span),
        }?;
        (self.visit)(Item::Directive(name), start..self.reader.cursor.at());
        Ok(())
    }

    /// A directive of which no more is known than where it stands and since when it exists.
    fn other_directive(&mut self, name: &str, span: Range<usize>) -> Read<()> {
        let table = self.reader.table;
        let outside = self.scopes.depth() == 0;
        // A table that knows no directives has no say.
        if !table.directives.is_empty() {
            match table.directive(name) {
                Some(directive) if outside && directive.module || self.bare => {}
                Some(directive) if directive.is_labeled() && !outside => {
                    let message = format!("`.{name}` stands behind the label that names it: `list: .{name} …`");
                    return fail(Code::Syntax, span, message);
                }
                Some(_) => {
                    let place = if outside { "outside of functions" } else { "in a function's body" };
                    return fail(Code::Syntax, span, format!("`.{name}` does not stand {place}"));
                }
                None => {
                    let names = table.directives.iter().map(|directive| directive.name);
                    return unknown_directive(name, span, format!("there is no directive `.{name}`"), names);
                }
            }
        }
        self.skip_directive(span)
    }

    /// Passes so many integers.
    pub(super) fn numbers(&mut self, span: Range<usize>, count: usize) -> Read<()> {
        for _ in 0..count {
            self.cursor().skip_blanks();
            if !self.cursor().at_digit() {
                return fail(Code::Syntax, span, format!("this is followed by {count} numbers"));
            }
            self.cursor().word_part();
        }
        Ok(())
    }

    /// Passes a comma, if there is one.
    fn comma(&mut self) -> bool {
        let end = self.reader.cursor;
        self.cursor().skip_blanks();
        let found = self.cursor().eat(b',');
        if !found {
            self.reader.cursor = end;
        }
        found
    }

    /// `.loc 1 2 3` and, behind commas, `function_name NAME` and `inlined_at 1 2 3`.
    fn loc(&mut self, span: Range<usize>) -> Read<()> {
        self.numbers(span.clone(), 3)?;
        while self.comma() {
            self.cursor().skip_blanks();
            if !self.cursor().at_word() {
                return fail(Code::Syntax, self.reader.cursor.token(), "a name is expected here");
            }
            let start = self.cursor().at();
            let word = self.cursor().word();
            let place = start..self.cursor().at();
            self.feature(Feature::InlinedLocations, format_args!("`{word}`"), place.clone());
            match word {
                "inlined_at" => {
                    self.numbers(span.clone(), 3)?;
                    continue;
                }
                "function_name" => {}
                _ => return fail(Code::Syntax, place, "`function_name` or `inlined_at` is expected here"),
            }
            self.cursor().skip_blanks();
            if self.cursor().at_word() {
                self.cursor().word();
            }
            self.cursor().skip_blanks();
            if self.cursor().eat(b'+') {
                self.numbers(span.clone(), 1)?;
            }
        }
        Ok(())
    }

    /// `.file 1 "name"` and, behind commas, a time and a size.
    fn file(&mut self, span: Range<usize>) -> Read<()> {
        self.numbers(span.clone(), 1)?;
        self.cursor().skip_blanks();
        if self.cursor().peek() != b'"' || !self.cursor().skip_string() {
            return fail(Code::Syntax, span, "`.file` is followed by a number and a string");
        }
        while self.comma() {
            self.feature(Feature::FileTimes, "a time or size behind `.file`", span.clone());
            self.numbers(span.clone(), 1)?;
        }
        Ok(())
    }

    /// `.pragma "one", "two";`
    pub(super) fn pragma(&mut self, span: Range<usize>) -> Read<()> {
        loop {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            if self.cursor().peek() != b'"' || !self.cursor().skip_string() {
                return fail(Code::Syntax, span, "`.pragma` is followed by a string");
            }
            self.pragma_word(start..self.reader.cursor.at());
            if !self.comma() {
                break;
            }
        }
        self.cursor().skip_blanks();
        if self.cursor().eat(b';') {
            return Ok(());
        }
        fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this")
    }
}
