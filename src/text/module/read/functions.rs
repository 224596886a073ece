//! Functions: their heads, parameters and blocks.

use core::ops::Range;

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use super::directives::{begins_item, unknown_directive};
use super::{Head, Linkage, ModuleReader, Output, Parameter, Part, PragmaPlace};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Directive, Feature, Kind, Space};
use crate::text::constant::{self, WARP, WARP_NAME, is_reserved};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};

/// How deep blocks nest, a function's body included, before the assembler gives up.
const MOST_BLOCKS: usize = 1664;

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    pub(super) fn open_brace(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        if self.is_outside() && !core::mem::take(&mut self.blocks.headless) {
            self.error(Code::Syntax, at..at + 1, "a block is within a function");
        }
        if self.blocks.open == MOST_BLOCKS {
            if self.blocks.too_deep == 0 {
                let message = format!("blocks nest at most {MOST_BLOCKS} deep: the assembler has no memory for more");
                self.error(Code::Syntax, at..at + 1, message);
            }
            self.blocks.too_deep += 1;
            return;
        }
        self.blocks.open += 1;
        self.out.part(Part::Block(at + 1));
    }

    pub(super) fn close_brace(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        if self.blocks.too_deep > 0 {
            self.blocks.too_deep -= 1;
            return;
        }
        self.blocks.open = match self.blocks.open.checked_sub(1) {
            Some(open) => open,
            None => return self.error(Code::Syntax, at..at + 1, "there is no `{` for this `}`"),
        };
        self.out.part(Part::BlockEnds(at + 1));
        if self.blocks.open > 0 {
            return;
        }
        self.out.part(Part::FunctionEnds { at, lost_label: self.recovery.lost_label });
        (self.recovery.lost_label, self.recovery.lost_brace) = (false, false);
        if let Some(name) = self.blocks.function.take() {
            self.out.part(Part::BodyEnds(name, at..at + 1));
        }
    }

    /// The head of a function: `(.reg .u32 r) name (.param .u64 p, …) .maxntid 128`, and a body or a semicolon.
    pub(super) fn function(
        &mut self,
        begun: usize,
        linkage: Option<Linkage>,
        span: Range<usize>,
        kernel: bool,
    ) -> Read<()> {
        if linkage == Some(Linkage::Common) {
            return fail(Code::Syntax, span, "a function is not `.common`");
        }
        if self.is_outside() {
            (self.recovery.lost_brace, self.recovery.broken) = (false, false);
        }
        self.not_within_another(&span, kernel);
        let at = self.cursor().at();
        self.out.part(Part::Head { at, kernel, linkage });
        let read = self.head(begun, span, kernel, linkage);
        if read.is_err() {
            let at = self.cursor().at();
            self.out.part(Part::HeadBroken(at));
        }
        read
    }

    fn head(&mut self, begun: usize, keyword: Range<usize>, kernel: bool, linkage: Option<Linkage>) -> Read<()> {
        let mut name = None;
        // True once the parameters, or the directives behind them, begin; once the results have ended; and once there are directives.
        let (mut listed, mut results, mut directives) = (false, false, false);
        loop {
            let end = self.cursor().at();
            self.cursor().skip_blanks();
            let what = if kernel { "kernel" } else { "function" };
            match self.cursor().peek() {
                b'(' if kernel && name.is_none() => {
                    let message = "the name of a kernel is expected here: a kernel has no results";
                    return fail(Code::Syntax, self.reader.cursor.token(), message);
                }
                b'(' if !listed && (name.is_some() || !results) => {
                    self.cursor().bump();
                    let head = if kernel { Head::Kernel } else { Head::Function };
                    self.parameters(head, name.is_some())?;
                    self.cursor().bump();
                    (listed, results) = (name.is_some(), true);
                }
                b'(' if listed => {
                    let message = format!("the parameters of a {what} are in one list, right behind its name");
                    return fail(Code::Syntax, self.reader.cursor.token(), message);
                }
                b'(' | b'{' | b';' if name.is_none() => {
                    let message = format!("the name of the {what} is expected here");
                    return fail(Code::Syntax, self.reader.cursor.token(), message);
                }
                b'{' => {
                    self.cursor().bump();
                    self.body_begins(name, keyword, begun..self.reader.cursor.at());
                    return Ok(());
                }
                b';' if kernel && directives => {
                    let message = "missing body: a kernel with directives cannot be only declared";
                    return fail(Code::Syntax, self.reader.cursor.token(), message);
                }
                b';' => {
                    self.out.part(Part::Prototype(begun..self.reader.cursor.at()));
                    self.cursor().bump();
                    return Ok(());
                }
                _ if linkage != Some(Linkage::Extern) && name.is_some() && self.body_follows(kernel) => {
                    let own = name.unwrap_or_default();
                    let message = format!("missing `{{` before this, where the body of `{own}` begins");
                    let error = Diagnostic::error(Code::Syntax, self.reader.cursor.token(), message);
                    self.note(Err(Box::new(error.with_fix(end..end, " {"))));
                    self.body_begins(name, keyword, begun..end);
                    return Ok(());
                }
                _ if !kernel && name.is_some() && self.item_follows() => {
                    self.out.part(Part::Prototype(begun..self.reader.cursor.at()));
                    return Ok(());
                }
                b'.' if self.cursor().at_dot_word() && name.is_none() => {
                    let message = format!("the name of the {what} is expected here");
                    return fail(Code::Syntax, self.reader.cursor.token(), message);
                }
                b'.' if self.cursor().at_dot_word() && !self.item_follows() => {
                    listed = name.is_some();
                    directives = true;
                    let read = self.head_directive(kernel);
                    self.note(read);
                }
                _ if self.cursor().at_word() => {
                    let word = self.cursor().word();
                    if let Some(name) = name {
                        let message = format!("`{word}` is not expected here: the {what} has the name `{name}`");
                        return fail(Code::Syntax, span_of(self.text(), word), message);
                    }
                    if is_reserved(word) {
                        let message = format!("a name is expected here, and `{word}` is a reserved word");
                        return fail(Code::Syntax, span_of(self.text(), word), message);
                    }
                    name = Some(word);
                    self.out.part(Part::HeadName(word));
                }
                _ => {
                    let message = match kernel {
                        true => "a kernel has a name, parameters, and a body",
                        false => "a function has a name, parameters, and a body or `;`",
                    };
                    let end = self.reader.cursor.at_end();
                    return fail(Code::Syntax, if end { keyword } else { self.reader.cursor.token() }, message);
                }
            }
        }
    }

    fn body_begins(&mut self, name: Option<&'a str>, keyword: Range<usize>, head: Range<usize>) {
        self.blocks.open += 1;
        self.blocks.function = name;
        self.out.part(Part::Body { keyword, span: head });
    }

    /// A directive of a function's head: `.maxntid 32, 2`.
    fn head_directive(&mut self, kernel: bool) -> Read<()> {
        let start = self.cursor().at();
        let name = self.cursor().dot_word();
        let span = start..self.cursor().at();
        if name == "pragma" && kernel {
            return self.pragma(span, PragmaPlace::Head);
        }
        let table = self.reader.table;
        let numbers = self.head_numbers(table.directive(name))?;
        let what = if kernel { "kernel" } else { "function" };
        let Some(directive) = table.directive(name) else {
            let stands = |directive: &&Directive| if kernel { directive.entry } else { directive.function };
            let names = table.directives.iter().filter(stands).map(|directive| directive.name);
            let message = format!("`.{name}` is not a directive of a {what}'s head");
            return unknown_directive(name, span, message, names);
        };
        if !(if kernel { directive.entry } else { directive.function }) {
            return fail(Code::Syntax, span, format!("`.{name}` is not allowed in the head of a {what}"));
        }
        has_numbers(directive, numbers.len(), &span)?;
        if numbers.iter().any(|number| *number > u32::MAX.into()) {
            return fail(Code::Syntax, span, format!("a number of `.{name}` has more than 32 bits"));
        }
        self.out.part(Part::HeadDirective(directive, &numbers, span));
        Ok(())
    }

    /// Reads numbers parted by commas, which must be in the range that the directive has. All are read before an error is returned.
    pub(super) fn head_numbers(&mut self, directive: Option<&Directive>) -> Read<Vec<u64>> {
        let (least, most) = directive.map_or((1, u32::MAX), |directive| (directive.from, directive.up_to));
        let mut read = Ok(());
        let mut numbers = Vec::new();
        loop {
            let end = self.reader.cursor;
            self.cursor().skip_blanks();
            if !numbers.is_empty() && !self.cursor().eat(b',') {
                self.reader.cursor = end;
                return read.map(|()| numbers);
            }
            self.cursor().skip_blanks();
            let token = self.cursor().token();
            let warp = self.text()[token.clone()] == *WARP_NAME;
            if !warp && !self.cursor().at_digit() && numbers.is_empty() {
                self.reader.cursor = end;
                return Ok(numbers);
            }
            let number = if warp { Ok(WARP) } else { constant::literal(&mut self.cursor().clone()) };
            self.cursor().word_part();
            match number {
                // The table counts them in a byte.
                Ok(_) if numbers.len() > usize::from(u8::MAX) => {
                    return fail(Code::Syntax, token, "these are more numbers than any directive has");
                }
                Ok(number) => {
                    numbers.push(number);
                    let bounded = most < u32::MAX;
                    if read.is_ok() && (number < least.into() || bounded && number > most.into()) {
                        let message = match bounded {
                            true => format!("a number from {least} to {most} is expected here"),
                            false => format!("a number above {} is expected here", least.saturating_sub(1)),
                        };
                        read = fail(Code::Syntax, token, message);
                    }
                }
                Err(_) => return fail(Code::Syntax, token, "a number is expected here"),
            }
        }
    }

    /// Returns true if another item of the module or its end follows: the prototype then needs no semicolon.
    fn item_follows(&mut self) -> bool {
        let mut cursor = self.reader.cursor;
        cursor.at_end() || cursor.at_dot_word() && begins_item(self.reader.table, cursor.dot_word())
    }

    /// Reads a list of parameters up to its closing parenthesis, where the cursor stays. Returns their number.
    pub(super) fn parameters(&mut self, head: Head, behind_name: bool) -> Read<usize> {
        self.out.part(Part::Parameters(head));
        let (mut count, mut read) = (0, Ok(true));
        while let Ok(true) = read {
            read = self.parameter(head);
            count += usize::from(matches!(read, Ok(true)));
        }
        let token = self.reader.cursor.token();
        self.out.part(Part::ParametersEnd { behind_name, token });
        read.map(|_| count)
    }

    /// Reads the next parameter and what follows it. Returns false at the closing parenthesis.
    fn parameter(&mut self, head: Head) -> Read<bool> {
        self.cursor().skip_blanks();
        if self.cursor().peek() == b')' {
            return Ok(false);
        }
        if !self.cursor().at_dot_word() {
            return fail(Code::Syntax, self.reader.cursor.token(), "a parameter is expected here");
        }
        let start = self.cursor().at();
        let (mut early, word, _) = self.attributes_first()?;
        let registers = word == "reg";
        if registers && head == Head::Kernel {
            let message = "a kernel's parameters are in memory: `.param`";
            return fail(Code::Syntax, start..self.reader.cursor.at(), message);
        }
        let space = self.reader.table.space(word).filter(|_| word == "param");
        if space.is_none() && !registers {
            let message = "a parameter begins with `.param` or `.reg`";
            return fail(Code::Syntax, start..self.reader.cursor.at(), message);
        }
        let mut attributes =
            if registers { self.register_attributes(&mut early)? } else { self.variable_attributes(&mut early)? };
        early.of_parameter()?;
        if !registers && let Some(align) = self.pointer(head)? {
            attributes.align = align;
        }
        self.cursor().skip_blanks();
        let mut name = "";
        if self.cursor().at_word() {
            name = self.cursor().word();
            self.cursor().skip_blanks();
            if registers && self.cursor().peek() == b'<' {
                return fail(Code::Syntax, self.reader.cursor.token(), "a parameter is one register");
            }
        }
        if name.is_empty() || is_reserved(name) && (name != "_" || head == Head::Function) {
            let message = "the name of a parameter is expected before this";
            return fail(Code::Syntax, self.reader.cursor.token(), message);
        }
        let dimensions = if registers { Vec::new() } else { self.dimensions()? };
        if !dimensions.is_empty() {
            let predicate = attributes.ty.is_some_and(|ty| self.reader.table.ty(ty).kind == Kind::Predicate);
            if predicate {
                return fail(Code::Syntax, span_of(self.text(), name), "there are no arrays of predicates");
            }
            if dimensions.contains(&0) && head == Head::Kernel {
                return fail(Code::Syntax, span_of(self.text(), name), "a kernel's parameter has a length");
            }
        }
        let span = start..self.cursor().at();
        self.cursor().skip_blanks();
        let end = start + self.text()[start..self.reader.cursor.at()].trim_end().len();
        self.out.part(Part::Parameter(&Parameter { name, space, attributes, dimensions, span, end }));
        let more = self.cursor().eat(b',');
        self.cursor().skip_blanks();
        if more == (self.cursor().peek() == b')') {
            let message =
                if more { "a parameter is expected behind `,`" } else { "`,` or `)` is expected behind a parameter" };
            return fail(Code::Syntax, self.reader.cursor.token(), message);
        }
        Ok(true)
    }

    /// `.ptr .global .align 8` behind the type of a kernel's parameter: what it points to. Its own alignment may be there
    /// instead, which is returned.
    fn pointer(&mut self, head: Head) -> Read<Option<u64>> {
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        if !self.cursor().at_dot_word() {
            return Ok(None);
        }
        let word = self.cursor().dot_word();
        let span = start..self.cursor().at();
        if word == "align" && head == Head::Kernel {
            return self.alignment(span).map(Some);
        }
        if word != "ptr" {
            return fail(Code::Syntax, span, "a name is expected here");
        }
        if head == Head::Function {
            return fail(Code::Syntax, span, "only a kernel's parameters say what they point to");
        }
        self.uses(Feature::Pointers, "`.ptr`", span);
        self.cursor().skip_blanks();
        let mut start = self.cursor().at();
        if !self.cursor().at_dot_word() {
            return Ok(None);
        }
        let mut word = self.cursor().dot_word();
        let pointed = |space: &&Space| space.name == word && (space.opaque || space.generic || space.values);
        if let Some(space) = self.reader.table.space(word).filter(pointed) {
            if space.opaque {
                self.uses(
                    Feature::OpaquePointers,
                    "a pointer to a texture, sampler or surface",
                    start..self.reader.cursor.at(),
                );
            }
            self.cursor().skip_blanks();
            start = self.cursor().at();
            if !self.cursor().at_dot_word() {
                return Ok(None);
            }
            word = self.cursor().dot_word();
        }
        let span = start..self.cursor().at();
        if word != "align" {
            return fail(Code::Syntax, span, format!("`.{word}` is neither a state space nor `.align`"));
        }
        self.alignment(span).map(|_| None)
    }
}

/// Checks the number of arguments of a directive.
pub(super) fn has_numbers(directive: &Directive, numbers: usize, span: &Range<usize>) -> Read<()> {
    let (name, least, most) = (directive.name, usize::from(directive.least), usize::from(directive.most));
    if (least..=most).contains(&numbers) {
        return Ok(());
    }
    let takes = if least == most { format!("{least}") } else { format!("{least} to {most}") };
    fail(Code::Syntax, span.clone(), format!("`.{name}` is followed by {takes} numbers, not {numbers}"))
}
