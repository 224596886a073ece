//! Directives: which there are, and those that say nothing of statements.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use isa_table::count::Count;

use super::declarations::Early;
use super::recovery::has_label;
use super::{Linkage, ModuleReader, Output, Part, PragmaPlace};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Feature, Space, Table};
use crate::text::alike;
use crate::text::constant::{self, FUNCTION_NAME, INLINED_AT};
use crate::text::lexer::Cursor;
use crate::text::reader::{Read, constant_error, fail};

/// The space in which a directive, given without its dot, declares variables, possibly in a bank; a window of a space is for addresses
/// only.
fn declares_in(table: &Table, name: &str) -> Option<&'static Space> {
    table.space(name).filter(|space| !space.opaque && (space.name == name || space.bank(name).is_some()))
}

/// Directives that the reader itself knows, without their dots, but for those of [`Linkage`]: those that begin a module, what is
/// declared beside variables, and where it comes from.
pub(crate) const OWN: [&str; 10] =
    ["version", "target", "address_size", "entry", "func", "reg", "alias", "file", "section", "loc"];

/// Returns true for the words that may be before the state space of a variable or the `.reg` of a register, without their dots.
fn precedes_space(name: &str) -> bool {
    matches!(name, "align" | "attribute")
}

/// Message where neither follows a linkage.
pub(super) const AFTER_LINKAGE: &str =
    "a function (`.entry` or `.func`) or a variable is expected here, behind its linkage";

/// Returns true if a directive, given without its dot, begins an item of a module rather than a part of a function's
/// head.
pub(super) fn begins_item(table: &Table, name: &str) -> bool {
    OWN.contains(&name) || precedes_space(name) || Linkage::named(name).is_some() || declares_in(table, name).is_some()
}

/// Returns true if a directive, given without its dot, begins an item of a module that is rare in function bodies.
pub(super) fn stands_outside(table: &Table, name: &str) -> bool {
    let inside =
        matches!(name, "reg" | "loc") || precedes_space(name) || table.space(name).is_some_and(|space| !space.values);
    begins_item(table, name) && !inside
}

/// Reports a directive that is unknown at this place; `names` are the directives that are valid here.
#[cold]
pub(super) fn unknown_directive<T>(
    name: &str,
    span: Range<usize>,
    message: String,
    names: impl Iterator<Item = &'static str>,
) -> Read<T> {
    Err(Box::new(alike::suggest(Diagnostic::error(Code::Syntax, span, message), name, ".", names)))
}

/// Reports a directive that the table does not have.
#[cold]
pub(super) fn no_directive<T>(table: &Table, name: &str, span: Range<usize>) -> Read<T> {
    let names = table.directives.iter().map(|directive| directive.name);
    unknown_directive(name, span, format!("there is no directive `.{name}`"), names)
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

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    pub(super) fn directive(&mut self) {
        let start = self.cursor().at();
        self.out.begins();
        if let Err(error) = self.one_directive() {
            self.out.part(Part::Unreadable(Some(error)));
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
            self.recovery.lost_label |= has_label(passed);
            if registers && self.blocks.open > 0 && !has_name(passed) {
                self.out.part(Part::Nameless(start));
            }
            self.blocks.headless = head && self.cursor().peek() == b'{';
            if self.is_outside() && !self.blocks.headless {
                self.skip_to_item();
            }
            self.out.part(Part::Skipped(start..self.reader.cursor.at()));
            self.recovery.cut_off = self.cursor().at_end();
        }
    }

    fn one_directive(&mut self) -> Read<()> {
        let start = self.cursor().at();
        let word = self.cursor().dot_word();
        let span = start..self.cursor().at();
        let name = self.header_word(word, &span);
        if !matches!(name, "version" | "target" | "address_size") {
            self.header_ends(span.clone());
        }
        if let Some(directive) = self.reader.table.directive(name).filter(|directive| directive.module) {
            self.out.part(Part::Keyword(directive, span.clone()));
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
            "reg" => return self.declaration(begun, linkage, span, None, Early::default()),
            _ => {}
        }
        if let Some(space) = declares_in(self.reader.table, name) {
            return self.declaration(begun, linkage, span, Some(space), Early::default());
        }
        if precedes_space(name) {
            self.cursor().seek(start);
            let (early, name, span) = self.attributes_first()?;
            let space = declares_in(self.reader.table, name);
            if space.is_some() || name == "reg" {
                return self.declaration(begun, linkage, span, space, early);
            }
            let spaces = self.reader.table.spaces.iter().filter(|space| !space.opaque).map(|space| space.name);
            let message = "a state space or `.reg` is expected here".into();
            return unknown_directive(name, span, message, spaces.chain(["reg"]));
        }
        if linkage.is_some() {
            let spaces = self.reader.table.spaces.iter().map(|space| space.name);
            return unknown_directive(name, span, AFTER_LINKAGE.into(), ["entry", "func"].into_iter().chain(spaces));
        }
        match name {
            "version" => self.version_line(span),
            "target" => self.target_line(span),
            "address_size" => self.address_size(span),
            "loc" if self.is_outside() => fail(Code::Syntax, span, "`.loc` must be in a function"),
            "loc" => self.loc(span),
            "file" if self.blocks.open == 0 => self.file(span),
            "file" => fail(Code::Syntax, span, "`.file` must be outside of functions"),
            "section" if self.blocks.open == 0 => self.section(span),
            "alias" => self.alias(),
            "pragma" if self.is_outside() => self.pragma(span, PragmaPlace::Module),
            "pragma" => self.pragma(span, PragmaPlace::Body),
            _ => self.other_directive(name, span),
        }?;
        self.out.part(Part::Directive(name, start..self.reader.cursor.at()));
        Ok(())
    }

    /// Checks the position and the minimum version of a directive without a parser of its own, and skips its arguments.
    fn other_directive(&mut self, name: &str, span: Range<usize>) -> Read<()> {
        let table = self.reader.table;
        let outside = self.blocks.open == 0;
        // A table that knows no directives has no say.
        if !table.directives.is_empty() {
            match table.directive(name) {
                Some(directive) if outside && directive.module || self.bare => {}
                Some(directive) if directive.is_labeled() && !outside => {
                    let message = format!("`.{name}` must follow the label that names it: `list: .{name} …`");
                    return fail(Code::Syntax, span, message);
                }
                Some(_) => {
                    let place = if outside { "outside of functions" } else { "in a function's body" };
                    return fail(Code::Syntax, span, format!("`.{name}` is not allowed {place}"));
                }
                None => return no_directive(table, name, span),
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
                let message = format!("this is followed by {}", Count(COUNT, "number"));
                return fail(Code::Syntax, span.clone(), message);
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
            self.location_word(FUNCTION_NAME)?;
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
                return fail(
                    Code::Syntax,
                    self.reader.cursor.token(),
                    format!("`,` and `{INLINED_AT}` are expected before this"),
                );
            }
            let place = self.location_word(INLINED_AT)?;
            let call = self.numbers(&span)?;
            self.out.part(Part::InlinedAt(call, place));
        }
        self.out.part(Part::Location(location));
        Ok(())
    }

    /// Reads one of the words of `.loc`.
    fn location_word(&mut self, word: &'static str) -> Read<Range<usize>> {
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        let found = if self.cursor().at_word() { self.cursor().word() } else { "" };
        if found != word {
            let mut cursor = self.reader.cursor;
            cursor.seek(start);
            return fail(Code::Syntax, cursor.token(), format!("`{word}` is expected here"));
        }
        let place = start..self.cursor().at();
        self.uses(Feature::InlinedLocations, word, place.clone());
        Ok(place)
    }

    /// `.file 1 "name"` and, behind commas, a time and a size.
    fn file(&mut self, span: Range<usize>) -> Read<()> {
        let [number] = self.numbers(&span)?;
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        if self.cursor().peek() != b'"' || !self.cursor().skip_string() {
            return fail(Code::Syntax, span, "`.file` is followed by a number and a string");
        }
        let name = &self.text()[start + 1..self.reader.cursor.at() - 1];
        self.out.part(Part::File(number, name, span.clone()));
        // A time and a size.
        for _ in 0..2 {
            if !self.comma() {
                break;
            }
            self.uses(Feature::FileTimes, "a time or size behind `.file`", span.clone());
            self.cursor().skip_blanks();
            if !self.cursor().at_digit() {
                return fail(Code::Syntax, span, "this is followed by a number");
            }
            self.cursor().word_part();
        }
        Ok(())
    }

    /// `.pragma "one", "two";`
    pub(super) fn pragma(&mut self, span: Range<usize>, place: PragmaPlace) -> Read<()> {
        loop {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            if self.cursor().peek() != b'"' || !self.cursor().skip_string() {
                return fail(Code::Syntax, span, "`.pragma` is followed by a string");
            }
            self.out.part(Part::Pragma(start..self.reader.cursor.at(), place));
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

    /// `.alias g, f;`: another name of a function, which has no body of its own.
    fn alias(&mut self) -> Read<()> {
        let alias = self.alias_name()?;
        if !self.cursor().eat(b',') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`,` is expected here");
        }
        let function = self.alias_name()?;
        if !self.cursor().eat(b';') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this");
        }
        self.out.part(Part::Alias(alias, function));
        Ok(())
    }

    /// Reads a name of `.alias`.
    fn alias_name(&mut self) -> Read<&'a str> {
        self.cursor().skip_blanks();
        if !self.cursor().at_word() {
            return fail(Code::Syntax, self.reader.cursor.token(), "the name of a function is expected here");
        }
        let name = self.cursor().word();
        self.cursor().skip_blanks();
        Ok(name)
    }
}
