//! `.section`: data for debuggers.

use alloc::format;
use core::ops::Range;

use super::directives::begins_item;
use super::{ModuleReader, Output, Part};
use crate::diagnostic::Code;
use crate::table::{Feature, Kind, TypeInfo};
use crate::text::constant::{self, is_reserved};
use crate::text::reader::{Read, constant_error, fail};

/// Permitted widths of a datum in bits, and the minimum width of an address.
const BITS: core::ops::RangeInclusive<u16> = 8..=64;
const ADDRESS_BITS: u16 = 32;

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    /// `.section .debug_info { label: .b8 1, 2 .b32 label+4 }`
    ///
    /// The first error is reported, and the rest of the section is skipped.
    pub(super) fn section(&mut self, span: Range<usize>) -> Read<()> {
        self.out.part(Part::Section);
        let mut read = self.section_name();
        if read.is_err() && self.cursor().at_word() {
            self.cursor().word();
        }
        self.cursor().skip_blanks();
        if !self.cursor().eat(b'{') {
            return read.and_then(|()| fail(Code::Syntax, self.reader.cursor.token(), "`{` is expected here"));
        }
        let open = self.reader.cursor;
        if read.is_ok() {
            read = self.section_contents();
        }
        let Err(error) = read else { return Ok(()) };
        self.out.part(Part::Finding(error));
        self.reader.cursor = open;
        self.skip_braces(span)
    }

    /// Reads labels and data up to the closing brace, and the brace.
    fn section_contents(&mut self) -> Read<()> {
        loop {
            self.cursor().skip_blanks();
            if self.cursor().eat(b'}') {
                return Ok(());
            }
            if self.cursor().at_dot_word() {
                self.section_data()?;
            } else if self.cursor().at_word() {
                let start = self.cursor().at();
                let name = self.cursor().word();
                let span = start..self.cursor().at();
                if is_reserved(name) {
                    return fail(Code::Syntax, span, format!("`{name}` is not a name"));
                }
                self.cursor().skip_blanks();
                if !self.cursor().eat(b':') {
                    return fail(Code::Syntax, self.reader.cursor.token(), "`:` is expected behind a label");
                }
                self.uses(Feature::SectionLabels, "a label in a section", span);
                self.out.part(Part::SectionLabel(name));
            } else {
                return fail(Code::Syntax, self.reader.cursor.token(), "a label, data or `}` is expected here");
            }
        }
    }

    /// The name of a section: a word with a dot that means nothing else.
    fn section_name(&mut self) -> Read<()> {
        self.cursor().skip_blanks();
        let token = self.cursor().token();
        let named = self.cursor().at_dot_word() && {
            let name = self.cursor().dot_word();
            self.register_type(name).is_none() && !begins_item(self.reader.table, name)
        };
        if named { Ok(()) } else { fail(Code::Syntax, token, "the name of a section is expected here: `.debug_info`") }
    }

    /// `.b8 1, 2` or `.b32 label+4`
    fn section_data(&mut self) -> Read<()> {
        let token = self.cursor().token();
        let name = self.cursor().dot_word();
        let ty = self.register_type(name).map(|ty| self.reader.table.ty(ty));
        let Some(ty) = ty.filter(|ty| ty.kind == Kind::Bits && BITS.contains(&ty.bits)) else {
            return fail(Code::Syntax, token, format!("`.{name}` is not a type of a section's data"));
        };
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        if self.cursor().at_word() || self.cursor().at_dot_word() {
            self.section_address()?;
            if ty.bits < ADDRESS_BITS {
                let message = format!("an address does not fit `.{name}`");
                return fail(Code::Constant, start..self.reader.cursor.at(), message);
            }
            return Ok(());
        }
        loop {
            self.section_value(ty)?;
            self.cursor().skip_blanks();
            if !self.cursor().eat(b',') {
                return Ok(());
            }
            self.cursor().skip_blanks();
        }
    }

    /// `-1`, `0xff`
    fn section_value(&mut self, ty: &TypeInfo) -> Read<()> {
        let start = self.cursor().at();
        let negative = self.cursor().eat(b'-');
        if negative {
            self.uses(Feature::NegativeSectionValues, "a negative number in a section", start..start + 1);
        }
        self.cursor().skip_blanks();
        if !self.cursor().at_digit() {
            return fail(Code::Syntax, self.reader.cursor.token(), "a number is expected here");
        }
        let bits = constant::literal(self.cursor()).map_err(constant_error)?;
        let span = start..self.cursor().at();
        let most = if negative { 1_u64 << (ty.bits - 1) } else { u64::MAX >> (64 - ty.bits) };
        if ty.bits < ADDRESS_BITS && bits > most {
            return fail(Code::Constant, span, format!("this does not fit `.{}`", ty.name));
        }
        Ok(())
    }

    /// `label`, `label+4`, `label-label`, `.debug_abbrev+4`
    fn section_address(&mut self) -> Read<()> {
        let label = self.cursor().at_word();
        let token = self.cursor().token();
        if matches!(&self.text()[token.clone()], "_" | constant::WARP_NAME) {
            return fail(Code::Syntax, token, "a number or a label is expected here");
        }
        if label {
            self.cursor().word();
        } else {
            self.section_name()?;
        }
        let behind = self.reader.cursor;
        self.cursor().skip_blanks();
        if self.cursor().eat(b'+') {
            self.cursor().skip_blanks();
            if !self.cursor().at_digit() {
                return fail(Code::Syntax, self.reader.cursor.token(), "a number is expected here");
            }
            return constant::literal(self.cursor()).map(|_| ()).map_err(constant_error);
        }
        if label && self.cursor().eat(b'-') {
            self.cursor().skip_blanks();
            if !self.cursor().at_word() {
                return fail(Code::Syntax, self.reader.cursor.token(), "a label is expected here");
            }
            self.cursor().word();
            return Ok(());
        }
        self.reader.cursor = behind;
        Ok(())
    }
}
