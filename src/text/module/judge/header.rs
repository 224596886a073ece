//! Judges the header of a module, and its debug information.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use core::ops::Range;

use super::Judge;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Directive, Feature};
use crate::target::{Target, Version};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};

/// What a module has said of its sources.
#[derive(Default)]
pub(super) struct Debug<'a> {
    /// True once a line of debug information has been read.
    lines: bool,
    /// True once a `.section` has been read.
    pub(super) sections: bool,
    /// The labels of the sections read so far.
    labels: BTreeSet<&'a str>,
    /// File numbers and source locations read so far.
    files: BTreeSet<u32>,
    locations: BTreeSet<[u32; 3]>,
}

impl<'a> Judge<'_, 'a> {
    pub(super) fn version(&mut self, version: Version, span: Range<usize>) {
        let given = self.level.given.ptx;
        self.level.version = given.or(Some(version));
        self.level.version_at = given.is_none().then_some(span);
    }

    /// Judges a target that came with PTX `since`; the last one takes effect.
    pub(super) fn target(&mut self, target: Target, since: Version, span: Range<usize>) -> Read<()> {
        let level = &mut self.level;
        if level.given.target.is_some() {
            return Ok(());
        }
        level.aim(target);
        level.target_at = Some(span.clone());
        match level.version {
            Some(version) if version < since && level.given.ptx.is_none() && level.collector.is_none() => {
                let error = Diagnostic::error(Code::Target, span, format!("PTX {version} does not know {target}"));
                Err(Box::new(error.with_help(format!("it came with PTX {since}"))))
            }
            _ => Ok(()),
        }
    }

    /// Judges an option that follows a target.
    pub(super) fn target_option(&mut self, option: &'static Directive, span: Range<usize>) -> Read<()> {
        if let Some((other, _)) = self.level.options.iter().find(|(other, _)| option.goes_without(other)) {
            let message = format!("`{}` and `{}` cannot be combined", option.name, other.name);
            return fail(Code::Target, span, message);
        }
        self.level.options.push((option, span.clone()));
        self.level.needs(format_args!("`{}`", option.name), &option.floor, span)
    }

    /// Reports, at the end of the text, an option that requires a `.section` if there is none.
    pub(super) fn missing_sections(&mut self) {
        let lacking = |(option, _): &&(&Directive, Range<usize>)| option.sections && !self.debug.sections;
        if let Some((option, span)) = self.level.options.iter().find(lacking) {
            let message = format!("`{}` requires a `.section`, and the module has none", option.name);
            self.findings.error(Code::Target, span.clone(), message);
        }
    }

    /// Judges a line of debug information; only the first one is reported.
    pub(super) fn debug_line(&mut self, at: usize) {
        if !core::mem::replace(&mut self.debug.lines, true) {
            self.feature(Feature::DwarfLines, "a line of debug information", at..at + 2);
        }
    }

    pub(super) fn section_label(&mut self, name: &'a str) {
        if !self.debug.labels.insert(name) {
            let message = format!("duplicate label `{name}` in the sections of this module");
            self.findings.error(Code::DuplicateName, span_of(self.text, name), message);
        }
    }

    pub(super) fn file(&mut self, number: u32, span: Range<usize>) {
        if !self.debug.files.insert(number) {
            self.findings.error(Code::DuplicateName, span, format!("the number {number} is another file's"));
        }
    }

    pub(super) fn location(&mut self, location: [u32; 3]) {
        self.debug.locations.insert(location);
    }

    pub(super) fn inlined_at(&mut self, call: [u32; 3], span: Range<usize>) {
        if !self.debug.locations.contains(&call) {
            self.findings.error(Code::Syntax, span, "no `.loc` before this one names the location of the call");
        }
    }
}
