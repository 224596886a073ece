//! Reports a wrong number of operands, and a comma or a semicolon that is missing behind one.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::{Range, RangeInclusive};

use isa_table::count::Count;

use super::shape::places;
use super::{Read, Reader, fail, missing_semicolon};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{FormInfo, Free};
use crate::text::{mnemonic, spelling};

/// Returns the numbers of operands that a form takes. The elements of a vector are one operand.
pub(super) fn counts(form: FormInfo) -> RangeInclusive<usize> {
    let (mut least, mut most) = (0, 0);
    for (_, place) in places(form) {
        least += usize::from(!form.operands()[place.end - 1].optional);
        most += 1;
    }
    least..=most
}

/// Returns the forms with the mnemonic of a form that take these free modifiers. They differ in their operands.
pub(super) fn shapes(form: FormInfo, free: &Free) -> impl Iterator<Item = FormInfo> {
    form.all_shapes().filter(move |shape| *shape == form || shape.takes(free))
}

impl Reader<'_> {
    /// Reports an operand that is not followed by a comma, the first `read` of the form's operands having been read.
    #[cold]
    pub(super) fn no_comma<T>(&self, form: FormInfo, free: &Free, read: usize) -> Read<T> {
        if self.cursor.peek() == b';' || self.cursor.at_end() {
            let count = places(form).filter(|(_, place)| place.start < read).count();
            return self.wrong_count(form, free, count, self.cursor.token());
        }
        let end = self.before_blanks();
        if form.operands()[read].optional && self.text_between(end).contains('\n') {
            return missing_semicolon(self.cursor.text(), end, self.cursor.token());
        }
        fail(Code::Syntax, self.cursor.token(), "`,` is expected here")
    }

    /// Reports a last operand that is not followed by a semicolon.
    #[cold]
    pub(super) fn no_semicolon<T>(&self, form: FormInfo, free: &Free, end: usize) -> Read<T> {
        let end = if form.operands().is_empty() { self.before_blanks() } else { end };
        let surplus = form.operands().is_empty() && !self.text_between(end).contains('\n');
        if surplus && !matches!(self.cursor.peek(), b',' | b'}') {
            return self.wrong_count(form, free, 1, self.cursor.token());
        }
        if self.cursor.peek() != b',' {
            return missing_semicolon(self.cursor.text(), end, self.cursor.token());
        }
        let mut cursor = self.cursor;
        let mut count = places(form).count();
        let mut surplus = None;
        while cursor.eat(b',') {
            cursor.skip_blanks();
            if matches!(cursor.peek(), b';' | b',') || cursor.at_end() {
                return fail(Code::Syntax, cursor.token(), "an operand is expected here");
            }
            let start = cursor.at();
            while !cursor.at_end() && !matches!(cursor.peek(), b',' | b';' | b'}' | b'\n') {
                cursor.bump();
            }
            surplus.get_or_insert(start..cursor.at());
            count += 1;
            cursor.skip_blanks();
        }
        self.wrong_count(form, free, count, surplus.unwrap_or(self.cursor.token()))
    }

    /// Reports the number of operands, which no form with this mnemonic and these free modifiers takes.
    pub(super) fn wrong_count<T>(&self, form: FormInfo, free: &Free, count: usize, span: Range<usize>) -> Read<T> {
        let mut all: Vec<usize> = shapes(form, free).flat_map(counts).collect();
        all.sort_unstable();
        all.dedup();
        let takes = match *all {
            [one] => format!("{one}"),
            [first, .., last] if last - first + 1 == all.len() => format!("{first} to {last}"),
            _ => all.iter().map(ToString::to_string).collect::<Vec<String>>().join(" or "),
        };
        let plural = if takes == "1" { "" } else { "s" };
        let message = format!("`{}` takes {takes} operand{plural}, not {count}", form.mnemonic_with(free));
        let mut diagnostic = Diagnostic::error(Code::OperandCount, span, message);
        diagnostic.note = Some(spelt(form, free));
        if !self.brief
            && let Some(near) = mnemonic::nearest_that(form, |near| *counts(near).end() == count)
        {
            let written = format!("{} {}", spelling::mnemonic(near), near.signature());
            diagnostic.help = Some(format!("with {} it is `{written}`", Count(count, "operand")));
        }
        Err(Box::new(diagnostic))
    }
}

/// How a form is written with these free modifiers, in a sentence.
fn spelt(form: FormInfo, free: &Free) -> String {
    let mnemonic = form.mnemonic_with(free);
    let written =
        shapes(form, free).map(|shape| format!("`{}`", format!("{mnemonic} {}", shape.signature()).trim_end()));
    format!("it is written {}", written.collect::<Vec<_>>().join(" or "))
}

/// A finding about the operands of a form, which shows how the form is written.
#[cold]
pub(super) fn written_as(form: FormInfo, free: &Free, mut error: Box<Diagnostic>) -> Box<Diagnostic> {
    error.note = Some(spelt(form, free));
    error
}
