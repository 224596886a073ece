//! Directives: which there are, and those that say nothing of statements.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use super::recovery::has_label;
use super::{Checker, Item};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Feature, Space, Table};
use crate::text::alike;
use crate::text::constant;
use crate::text::lexer::Cursor;
use crate::text::reader::{Read, constant_error, fail};

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
    /// Every linkage, with its directive without the dot.
    pub(crate) const NAMED: [(&str, Linkage); 4] = [
        ("visible", Linkage::Visible),
        ("extern", Linkage::Extern),
        ("weak", Linkage::Weak),
        ("common", Linkage::Common),
    ];

    /// The linkage that a directive, given without its dot, says.
    pub(crate) fn named(name: &str) -> Option<Linkage> {
        Linkage::NAMED.iter().find(|(own, _)| *own == name).map(|(_, linkage)| *linkage)
    }
}

/// The space in which a directive, given without its dot, declares variables; a window of a space is for addresses only.
fn declares_in(table: &Table, name: &str) -> Option<&'static Space> {
    table.space(name).filter(|space| space.name == name && !space.opaque)
}

/// Directives that the reader itself knows, without their dots, but for those of [`Linkage`]: those that begin a module, what is
/// declared beside variables, and where it comes from.
pub(crate) const OWN: [&str; 10] =
    ["version", "target", "address_size", "entry", "func", "reg", "alias", "file", "section", "loc"];

/// Returns true if a directive, given without its dot, begins an item of a module rather than a part of a function's
/// head.
pub(super) fn begins_item(table: &Table, name: &str) -> bool {
    OWN.contains(&name) || Linkage::named(name).is_some() || declares_in(table, name).is_some()
}

/// Returns true if a directive, given without its dot, begins an item of a module that is rare in function bodies.
pub(super) fn stands_outside(table: &Table, name: &str) -> bool {
    let inside = matches!(name, "reg" | "loc") || table.space(name).is_some_and(|space| !space.values);
    begins_item(table, name) && !inside
}

/// Reports a directive that is unknown at this place; `names` are the directives that are valid here.
pub(super) fn unknown_directive(
    name: &str,
    span: Range<usize>,
    message: String,
    names: impl Iterator<Item = &'static str>,
) -> Read<()> {
    let error = Diagnostic::error(Code::Syntax, span.clone(), message);
    Err(Box::new(match alike::closest(name, names) {
        Some(near) => error.with_help(format!("did you mean `.{near}`?")).with_fix(span, format!(".{near}")),
        None => error,
    }))
}

/// Returns true if a declaration that could not be parsed has a name after the words that begin with dots.
fn has_name(declaration: &str) -> bool {
    let mut cursor = Cursor::new(declaration);
    while !cursor.at_end() {
        match cursor.peek() {
            b'.' if cursor.at_dot_word() => drop(cursor.dot_word()),
            _ if cursor.at_word() => return true,
            _ => cursor.bump(),
        }
    }
    false
}

impl<'a> Checker<'_, 'a> {
    pub(super) fn directive(&mut self) {
        let start = self.cursor().at();
        let before = self.judge.findings.waiting.len();
        if let Err(error) = self.one_directive() {
            self.judge.findings.waiting.truncate(before);
            self.judge.findings.waiting.push(*error);
            // The rest of the line may be anything; what follows is likely to be whole.
            if self.cursor().at() == start {
                self.cursor().bump();
            }
            let head = [".entry", ".func"].iter().any(|word| self.text()[start..].starts_with(word));
            if head {
                // A list of parameters spans lines.
                self.cursor().find(|byte| matches!(byte, b';' | b'{' | b'}'));
            }
            let registers = self.text()[start..].starts_with(".reg");
            // If the next line begins an item of its own, parsing resumes there.
            let ended = self.line_begins_item(start);
            while !ended && !self.cursor().at_end() && !matches!(self.cursor().peek(), b';' | b'\n') {
                if matches!(self.cursor().peek(), b'{' | b'}') && !registers {
                    break;
                }
                self.cursor().bump();
            }
            self.cursor().eat(b';');
            let passed = &self.text()[start..self.reader.cursor.at()];
            self.lost_label |= has_label(passed);
            if registers && self.judge.names.scopes.depth() > 0 && !has_name(passed) {
                self.judge.findings.without_names(start);
            }
            self.headless = head && self.cursor().peek() == b'{';
            if self.judge.names.scopes.depth() == 0 && !self.judge.bare && !self.headless {
                self.skip_to_item();
            }
            self.judge.findings.unread(start..self.reader.cursor.at());
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
                Some(_) => self.judge.asks(format_args!("`.{name}`"), &directive.floor, span.clone()),
                None => self.judge.level.needs(format_args!("`.{name}`"), &directive.floor, span.clone())?,
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
        if let Some(space) = declares_in(self.reader.table, name) {
            return self.declaration(begun, linkage, span, Some(space));
        }
        if linkage.is_some() {
            return fail(Code::Syntax, span, "a function or a variable is expected here, behind its linkage");
        }
        match name {
            "version" => self.version_line(span),
            "target" => self.target_line(span),
            "address_size" => self.address_size(span),
            "loc" if self.judge.names.scopes.depth() == 0 && !self.judge.bare => {
                fail(Code::Syntax, span, "`.loc` must be in a function")
            }
            "loc" => self.loc(span),
            "file" if self.judge.names.scopes.depth() == 0 => self.file(span),
            "file" => fail(Code::Syntax, span, "`.file` must be outside of functions"),
            "section" if self.judge.names.scopes.depth() == 0 => self.section(span),
            "alias" => self.alias(),
            "pragma" => self.pragma(span),
            _ => self.other_directive(name, span),
        }?;
        self.judge.findings.item(Item::Directive(name), start..self.reader.cursor.at());
        Ok(())
    }

    /// Checks the position and the minimum version of a directive without a parser of its own, and skips its arguments.
    fn other_directive(&mut self, name: &str, span: Range<usize>) -> Read<()> {
        let table = self.reader.table;
        let outside = self.judge.names.scopes.depth() == 0;
        // A table that knows no directives has no say.
        if !table.directives.is_empty() {
            match table.directive(name) {
                Some(directive) if outside && directive.module || self.judge.bare => {}
                Some(directive) if directive.is_labeled() && !outside => {
                    let message = format!("`.{name}` must follow the label that names it: `list: .{name} …`");
                    return fail(Code::Syntax, span, message);
                }
                Some(_) => {
                    let place = if outside { "outside of functions" } else { "in a function's body" };
                    return fail(Code::Syntax, span, format!("`.{name}` is not allowed {place}"));
                }
                None => {
                    let names = table.directives.iter().map(|directive| directive.name);
                    return unknown_directive(name, span, format!("there is no directive `.{name}`"), names);
                }
            }
        }
        self.skip_directive(span)
    }

    /// Reads `COUNT` integers.
    pub(super) fn numbers<const COUNT: usize>(&mut self, span: &Range<usize>) -> Read<[u32; COUNT]> {
        let mut numbers = [0; COUNT];
        for number in &mut numbers {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            if !self.cursor().at_digit() {
                let plural = if COUNT == 1 { "" } else { "s" };
                return fail(Code::Syntax, span.clone(), format!("this is followed by {COUNT} number{plural}"));
            }
            let value = constant::literal(self.cursor()).map_err(constant_error)?;
            let Ok(value) = u32::try_from(value) else {
                return fail(Code::Constant, start..self.reader.cursor.at(), "this number has more than 32 bits");
            };
            *number = value;
        }
        Ok(numbers)
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

    /// `.loc 1 2 3`, and of code that is inlined `, function_name NAME, inlined_at 1 2 3`.
    fn loc(&mut self, span: Range<usize>) -> Read<()> {
        let location = self.numbers(&span)?;
        if self.comma() {
            self.location_word("function_name")?;
            self.cursor().skip_blanks();
            let token = self.cursor().token();
            // The name of a section, or a label in one.
            if self.cursor().at_dot_word() {
                self.cursor().dot_word();
            } else if self.cursor().at_word() {
                self.cursor().word();
            } else {
                return fail(Code::Syntax, token, "the label of a function's name is expected here");
            }
            self.cursor().skip_blanks();
            if self.cursor().eat(b'+') {
                self.numbers::<1>(&span)?;
            }
            if !self.comma() {
                return fail(Code::Syntax, self.reader.cursor.token(), "`,` and `inlined_at` are expected before this");
            }
            let place = self.location_word("inlined_at")?;
            let call = self.numbers(&span)?;
            if !self.locations.contains(&call) {
                self.judge.findings.error(
                    Code::Syntax,
                    place,
                    "no `.loc` before this one names the location of the call",
                );
            }
        }
        self.locations.insert(location);
        Ok(())
    }

    /// Reads one of the words of `.loc`.
    fn location_word(&mut self, word: &str) -> Read<Range<usize>> {
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        let found = if self.cursor().at_word() { self.cursor().word() } else { "" };
        if found != word {
            let mut cursor = self.reader.cursor;
            cursor.seek(start);
            return fail(Code::Syntax, cursor.token(), format!("`{word}` is expected here"));
        }
        let place = start..self.cursor().at();
        self.judge.feature(Feature::InlinedLocations, format_args!("`{word}`"), place.clone());
        Ok(place)
    }

    /// `.file 1 "name"` and, behind commas, a time and a size.
    fn file(&mut self, span: Range<usize>) -> Read<()> {
        let [number] = self.numbers(&span)?;
        self.cursor().skip_blanks();
        if self.cursor().peek() != b'"' || !self.cursor().skip_string() {
            return fail(Code::Syntax, span, "`.file` is followed by a number and a string");
        }
        if !self.files.insert(number) {
            self.judge.findings.error(
                Code::DuplicateName,
                span.clone(),
                format!("the number {number} is another file's"),
            );
        }
        while self.comma() {
            self.judge.feature(Feature::FileTimes, "a time or size behind `.file`", span.clone());
            self.cursor().skip_blanks();
            if !self.cursor().at_digit() {
                return fail(Code::Syntax, span, "this is followed by a number");
            }
            self.cursor().word_part();
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
            self.judge.pragma_word(start..self.reader.cursor.at());
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
