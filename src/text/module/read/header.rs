//! Header directives of a module: `.version`, `.target`, `.address_size`.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::super::Options;
use super::directives::{begins_item, no_directive};
use super::{ModuleReader, Output, Part};
use crate::diagnostic::{Code, Diagnostic};
use crate::target::{Target, Version};
use crate::text::alike;
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};

/// The header directive that may come next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Version,
    Target,
    Targets,
    Done,
}

/// How far the header has been read.
pub(super) struct Header {
    next: Next,
    /// The version that is read by: the one that is given, or that of the text.
    version: Option<Version>,
    /// Which of the two are given, so that the text may leave them out.
    ptx: bool,
    target: bool,
    /// True once `.address_size` has been read.
    address_sized: bool,
}

impl Header {
    pub(super) fn new(options: &Options) -> Header {
        let (ptx, target) = (options.ptx.is_some(), options.target.is_some());
        Header { next: Next::Version, version: options.ptx, ptx, target, address_sized: false }
    }
}

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    #[inline]
    pub(super) fn header_ends(&mut self, span: Range<usize>) {
        if self.header.next != Next::Done {
            self.header_ends_here(span);
        }
    }

    #[cold]
    fn header_ends_here(&mut self, span: Range<usize>) {
        let missing = match self.header.next {
            Next::Version if !self.header.ptx => Some((Code::PtxVersion, "missing `.version` before this")),
            Next::Version | Next::Target if !self.header.target => {
                Some((Code::Target, "missing `.target` before this"))
            }
            _ => None,
        };
        if let Some((code, message)) = missing {
            let help = "a module begins with `.version` and `.target`; bare statements need both given";
            self.out.part(Part::Finding(Box::new(Diagnostic::error(code, span, message).with_help(help))));
        }
        self.header.next = Next::Done;
    }

    /// Returns the directive that a word means: the header directive that comes next if the word is a misspelling of it, which is
    /// reported, else the word itself.
    pub(super) fn header_word(&mut self, word: &'a str, span: &Range<usize>) -> &'a str {
        let next = match self.header.next {
            Next::Version => "version",
            Next::Target => "target",
            Next::Targets | Next::Done => return word,
        };
        let table = self.reader.table;
        let known = table.directive(word).is_some() || begins_item(table, word);
        if known || alike::closest(word, table.directives.iter().map(|directive| directive.name)) != Some(next) {
            return word;
        }
        self.note(no_directive(table, word, span.clone()));
        next
    }

    /// Returns true if the version is `since` or later.
    pub(super) fn is_from(&self, since: Version) -> bool {
        self.header.version.is_some_and(|version| version >= since)
    }

    pub(super) fn version_line(&mut self, span: Range<usize>) -> Read<()> {
        if self.header.next != Next::Version {
            return fail(Code::Syntax, span, "`.version` is the first line of a module, and the only one of its kind");
        }
        self.header.next = Next::Target;
        let end = self.cursor().at();
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        if self.text()[end..start].contains('\n') {
            return fail(Code::PtxVersion, span, "`.version` is followed by two numbers on the same line");
        }
        while self.cursor().at_digit() || self.cursor().peek() == b'.' && self.cursor().peek_at(1).is_ascii_digit() {
            self.cursor().bump();
        }
        let span = start..self.cursor().at();
        let text = &self.text()[span.clone()];
        let Ok(version) = text.parse::<Version>() else {
            let span = if span.is_empty() { self.reader.cursor.token() } else { span };
            return fail(Code::PtxVersion, span, "`.version` is followed by two numbers parted by a dot");
        };
        let known = self.reader.table.versions;
        if !known.contains(&version) {
            let below = known.iter().rev().find(|known| **known < version);
            let above = known.iter().find(|known| **known > version);
            let near: Vec<String> = below.into_iter().chain(above).map(|near| format!("{near}")).collect();
            let error = Diagnostic::error(Code::PtxVersion, span.clone(), format!("there is no PTX {version}"));
            let error = error.with_help(format!("the nearest is {}", near.join(" or ")));
            let error = near.into_iter().fold(error, |error, near| error.with_fix(span.clone(), near));
            return Err(Box::new(error.tied()));
        }
        self.header.version.get_or_insert(version);
        self.out.part(Part::Version(version, span));
        Ok(())
    }

    pub(super) fn target_line(&mut self, span: Range<usize>) -> Read<()> {
        match self.header.next {
            Next::Target | Next::Targets => self.header.next = Next::Targets,
            Next::Version => self.header_ends(span.clone()),
            // Among statements, it is the target of those behind it.
            Next::Done if self.blocks.open > 0 => {}
            Next::Done => {
                return fail(Code::Syntax, span, "`.target` follows `.version`, or stands among statements");
            }
        }
        let mut first = true;
        loop {
            self.cursor().skip_blanks();
            if !self.cursor().at_word() {
                return fail(Code::Target, self.reader.cursor.token(), "`.target` is followed by a target");
            }
            let name = self.cursor().word();
            match self.reader.table.directive(name).filter(|directive| directive.option && !first) {
                // The span begins at `.target`, as the whole directive is wrong.
                Some(option) => self.out.part(Part::TargetOption(option, span.start..self.reader.cursor.at())),
                // Without any directives in the table, options cannot be checked.
                None if !first && self.reader.table.directives.is_empty() => {}
                None => self.target(name, first)?,
            }
            first = false;
            let end = self.reader.cursor;
            self.cursor().skip_blanks();
            if !self.cursor().eat(b',') {
                self.reader.cursor = end;
                return Ok(());
            }
        }
    }

    /// Reads a target of `.target`.
    fn target(&mut self, name: &'a str, first: bool) -> Read<()> {
        let span = span_of(self.text(), name);
        let targets = self.reader.table.targets;
        let Some(target) = target_of(name) else {
            let message = if first {
                format!("`{name}` is not a target")
            } else {
                format!("`{name}` is neither a target nor an option")
            };
            return Err(Box::new(self.misspelt_target(Diagnostic::error(Code::Target, span, message), name)));
        };
        let Some(known) = self.reader.table.target_info(target) else {
            let error = Diagnostic::error(Code::Target, span.clone(), format!("there is no target {target}"));
            if target.suffix.is_some_and(|suffix| targets.iter().all(|known| known.target.suffix != Some(suffix))) {
                return Err(Box::new(self.misspelt_target(error, name)));
            }
            let mut near: Vec<&Target> = targets.iter().map(|known| &known.target).collect();
            let apart = |near: &&Target| near.sm.abs_diff(target.sm);
            near.sort_by_key(apart);
            near.truncate(2);
            let tied = near.iter().filter(|other| apart(other) == apart(&near[0])).count();
            let near: Vec<String> = near.into_iter().map(|near| format!("{near}")).collect();
            let error = error.with_help(format!("the nearest are {}", near.join(" and ")));
            let error = near.into_iter().fold(error, |error, near| error.with_fix(span.clone(), near));
            return Err(Box::new(Diagnostic { tied, ..error }));
        };
        self.out.part(Part::Target(target, known.since, span));
        Ok(())
    }

    /// Adds the target that is spelt most like `name`.
    fn misspelt_target(&self, error: Diagnostic, name: &str) -> Diagnostic {
        let known: Vec<String> = self.reader.table.targets.iter().map(|known| format!("{}", known.target)).collect();
        alike::suggest(error, name, "", known.iter().map(|known| &**known))
    }

    /// Reads the operand of `.address_size`, which may occur only once, directly after `.target`.
    pub(super) fn address_size(&mut self, span: Range<usize>) -> Read<()> {
        let late = self.header.next == Next::Done && !self.bare;
        self.header_ends(span.clone());
        self.cursor().skip_blanks();
        let token = self.cursor().token();
        let bits = &self.text()[token.clone()];
        if !bits.bytes().all(|byte| byte.is_ascii_digit()) || bits.is_empty() {
            return fail(Code::Syntax, token, "`.address_size` is followed by a number of bits");
        }
        self.cursor().seek(token.end);
        if core::mem::replace(&mut self.header.address_sized, true) {
            return fail(Code::Syntax, span, "duplicate `.address_size`");
        }
        if late {
            return fail(Code::Syntax, span, "`.address_size` directly follows `.target`");
        }
        let size = match bits {
            "32" => 32,
            "64" => 64,
            _ => return fail(Code::Syntax, token, "an address has 32 or 64 bits"),
        };
        self.out.part(Part::AddressSize(size));
        Ok(())
    }
}

/// Returns the target that a name in `.target` denotes: `sm_90a`, or a spelling that only the assembler accepts, such
/// as `compute_90A`.
fn target_of(name: &str) -> Option<Target> {
    let rest = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
    let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let mut letters = rest[digits.len()..].chars();
    let (suffix, more) = (letters.next(), letters.next());
    let digits = digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)?;
    let sm = digits.parse().ok().filter(|_| more.is_none())?;
    Some(Target { sm, suffix: suffix.map(|letter| letter.to_ascii_lowercase()) })
}
