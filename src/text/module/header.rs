//! Header directives of a module: `.version`, `.target`, `.address_size`.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::Directive;
use crate::target::{Target, Version};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};

/// The header directive that may come next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Header {
    Version,
    Target,
    Targets,
    Done,
}

impl<'a> Checker<'_, 'a> {
    #[inline]
    pub(super) fn header_ends(&mut self, span: Range<usize>) {
        if self.header != Header::Done {
            self.header_ends_here(span);
        }
    }

    #[cold]
    fn header_ends_here(&mut self, span: Range<usize>) {
        if self.header == Header::Version && self.options.ptx.is_none() {
            let error = Diagnostic::error(Code::PtxVersion, span.clone(), "missing `.version` before this");
            self.judge.findings.waiting.push(
                error.with_help("a module begins with `.version` and `.target`; bare statements need both given"),
            );
        } else if self.header <= Header::Target && self.options.target.is_none() {
            let error = Diagnostic::error(Code::Target, span, "missing `.target` before this");
            self.judge.findings.waiting.push(
                error.with_help("a module begins with `.version` and `.target`; bare statements need both given"),
            );
        }
        self.header = Header::Done;
    }

    pub(super) fn version_line(&mut self, span: Range<usize>) -> Read<()> {
        if self.header != Header::Version {
            return fail(Code::Syntax, span, "`.version` is the first line of a module, and the only one of its kind");
        }
        self.header = Header::Target;
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
            return Err(Box::new(near.into_iter().fold(error, |error, near| error.with_fix(span.clone(), near))));
        }
        self.judge.level.version = self.options.ptx.or(Some(version));
        self.judge.level.version_at = self.options.ptx.is_none().then_some(span);
        Ok(())
    }

    pub(super) fn target_line(&mut self, span: Range<usize>) -> Read<()> {
        match self.header {
            Header::Target | Header::Targets => self.header = Header::Targets,
            Header::Version => self.header_ends(span.clone()),
            Header::Done => return fail(Code::Syntax, span, "`.target` follows `.version`, before all else"),
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
                Some(option) => self.target_option(option, span.start..self.reader.cursor.at())?,
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

    /// Checks an option that follows a target in `.target`.
    fn target_option(&mut self, option: &'static Directive, span: Range<usize>) -> Read<()> {
        let against = |(other, _): &&(&Directive, Range<usize>)| option.goes_without(other);
        if let Some((other, _)) = self.judge.level.options.iter().find(against) {
            let message = format!("`{}` and `{}` cannot be combined", option.name, other.name);
            return fail(Code::Target, span, message);
        }
        self.judge.level.options.push((option, span.clone()));
        self.judge.level.needs(format_args!("`{}`", option.name), &option.floor, span)
    }

    /// Reports, at the end of the text, an option that requires a `.section` if there is none.
    pub(super) fn missing_sections(&mut self) {
        let options = core::mem::take(&mut self.judge.level.options);
        if let Some((option, span)) = options.into_iter().find(|(option, _)| option.sections && !self.sections) {
            let message = format!("`{}` requires a `.section`, and the module has none", option.name);
            self.judge.findings.error(Code::Target, span, message);
        }
    }

    /// Takes the target of a `.target` directive; the last one takes effect.
    pub(super) fn target(&mut self, name: &'a str, first: bool) -> Read<()> {
        let span = span_of(self.text(), name);
        let targets = self.reader.table.targets;
        let Some(target) = target_of(name) else {
            let message = if first {
                format!("`{name}` is not a target")
            } else {
                format!("`{name}` is neither a target nor an option")
            };
            return fail(Code::Target, span, message);
        };
        let Some(known) = targets.iter().find(|known| known.target == target) else {
            let mut near: Vec<&Target> = targets.iter().map(|known| &known.target).collect();
            near.sort_by_key(|near| near.sm.abs_diff(target.sm));
            let near: Vec<String> = near.into_iter().take(2).map(|near| format!("{near}")).collect();
            let error = Diagnostic::error(Code::Target, span.clone(), format!("there is no target {target}"));
            let error = error.with_help(format!("the nearest are {}", near.join(" and ")));
            return Err(Box::new(near.into_iter().fold(error, |error, near| error.with_fix(span.clone(), near))));
        };
        if self.options.target.is_some() {
            return Ok(());
        }
        self.judge.level.target = Some(target);
        self.judge.level.target_at = Some(span.clone());
        match self.judge.level.version {
            Some(version)
                if version < known.since && self.options.ptx.is_none() && self.judge.level.collector.is_none() =>
            {
                let error = Diagnostic::error(Code::Target, span, format!("PTX {version} does not know {target}"));
                Err(Box::new(error.with_help(format!("it came with PTX {}", known.since))))
            }
            _ => Ok(()),
        }
    }

    /// Reads the operand of `.address_size`, which may occur only once, after `.target`.
    pub(super) fn address_size(&mut self, span: Range<usize>) -> Read<()> {
        self.cursor().skip_blanks();
        let token = self.cursor().token();
        let bits = &self.text()[token.clone()];
        if !bits.bytes().all(|byte| byte.is_ascii_digit()) || bits.is_empty() {
            return fail(Code::Syntax, token, "`.address_size` is followed by a number of bits");
        }
        self.cursor().seek(token.end);
        if core::mem::replace(&mut self.address_sized, true) {
            return fail(Code::Syntax, span, "duplicate `.address_size`");
        }
        if !matches!(bits, "32" | "64") {
            return fail(Code::Syntax, token, "an address has 32 or 64 bits");
        }
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
