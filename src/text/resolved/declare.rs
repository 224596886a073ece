//! Parts of declarations that the module reader does not pass on: alignment, initial values, operands of directives.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::Relocation;
use crate::table::{Table, TypeInfo};
use crate::text::constant::{self, Constant};
use crate::text::lexer::Cursor;
use crate::text::module::Linkage;

/// Returns the operand of `.align` in the text of a declaration, if any.
pub(super) fn alignment(text: &str) -> Option<u64> {
    let mut cursor = Cursor::new(text);
    while !cursor.at_end() && cursor.peek() != b'=' {
        if cursor.at_dot_word() {
            let align = cursor.dot_word() == "align";
            cursor.skip_blanks();
            // In `.ptr .global .align 4`, the alignment is that of the pointed-to memory.
            if align {
                return constant::literal(&mut cursor).ok();
            }
        } else {
            cursor.bump();
        }
        cursor.skip_blanks();
    }
    None
}

/// The linkage that a declaration begins with.
pub(super) fn linkage(text: &str) -> Option<Linkage> {
    let mut cursor = Cursor::new(text);
    cursor.skip_blanks();
    if !cursor.at_end() && cursor.at_dot_word() { Linkage::named(cursor.dot_word()) } else { None }
}

/// The text of a declaration up to what is said of the memory that a pointer points to.
pub(super) fn before_pointer(text: &str) -> &str {
    text.find(".ptr").map_or(text, |at| &text[..at])
}

/// The directives behind the closing parenthesis of a function's head, with their numbers.
pub(super) fn directives(table: &Table, text: &str) -> Vec<(String, Vec<u64>)> {
    let mut found = Vec::new();
    let mut cursor = Cursor::new(text);
    let mut depth = 0_u32;
    while !cursor.at_end() {
        match cursor.peek() {
            b'(' => {
                depth += 1;
                cursor.bump();
            }
            b')' => {
                depth = depth.saturating_sub(1);
                cursor.bump();
            }
            _ if depth == 0 && cursor.at_dot_word() => {
                let name = cursor.dot_word();
                let mut numbers = Vec::new();
                cursor.skip_blanks();
                while table.directive(name).is_some() && cursor.at_digit() {
                    numbers.extend(constant::literal(&mut cursor).ok());
                    cursor.skip_blanks();
                    if !cursor.eat(b',') {
                        break;
                    }
                    cursor.skip_blanks();
                }
                found.push((name.to_owned(), numbers));
            }
            _ => cursor.bump(),
        }
        cursor.skip_blanks();
    }
    found
}

/// Initial contents: bytes, and addresses among them.
pub(super) fn initial(text: &str, ty: Option<&TypeInfo>) -> (Vec<u8>, Vec<Relocation>) {
    let (mut bytes, mut relocations) = (Vec::new(), Vec::new());
    let mut cursor = Cursor::new(text);
    while !cursor.at_end() && cursor.peek() != b'=' {
        cursor.bump();
        cursor.skip_blanks();
    }
    let Some(ty) = ty.filter(|_| cursor.eat(b'=')) else { return (bytes, relocations) };
    let width = usize::from(ty.bits.div_ceil(8));
    let mut last = usize::MAX;
    loop {
        cursor.skip_blanks();
        if cursor.at_end() || cursor.at() == last {
            return (bytes, relocations);
        }
        last = cursor.at();
        if matches!(cursor.peek(), b'{' | b'}' | b',') {
            cursor.bump();
            continue;
        }
        let mut mask = u64::MAX;
        let mut value = 0;
        if !constant::at_name(&cursor) {
            match constant::expression(&mut cursor) {
                Ok(constant) => {
                    cursor.skip_blanks();
                    match (cursor.peek(), constant) {
                        (b'(', Constant::Integer { bits, .. }) if !cursor.at_end() => {
                            cursor.bump();
                            mask = bits;
                        }
                        _ => {
                            value = constant.bits(ty).unwrap_or_default();
                            bytes.extend((0..width).map(|byte| value.checked_shr(8 * byte as u32).unwrap_or(0) as u8));
                            continue;
                        }
                    }
                }
                Err(_) => return (bytes, relocations),
            }
        }
        cursor.skip_blanks();
        let mut name = cursor.word();
        let mut generic = false;
        cursor.skip_blanks();
        if cursor.eat(b'(') {
            generic = true;
            cursor.skip_blanks();
            name = cursor.word();
            cursor.skip_blanks();
        }
        if cursor.eat(b')') {
            cursor.skip_blanks();
        }
        if matches!(cursor.peek(), b'+' | b'-') && !cursor.at_end() {
            value = constant::integer(&mut cursor).unwrap_or_default();
            cursor.skip_blanks();
        }
        cursor.eat(b')');
        let (offset, size) = (bytes.len() as u64, width as u32);
        let name = name.to_owned();
        relocations.push(Relocation { offset, bytes: size, mask, generic, name, symbol: None, addend: value });
        bytes.resize(bytes.len() + width, 0);
    }
}

/// The words of a list: `L1, L2`.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut cursor = Cursor::new(text);
    let mut found = Vec::new();
    loop {
        cursor.skip_blanks();
        if cursor.at_end() {
            return found;
        }
        if cursor.at_word() {
            found.push(cursor.word());
        } else if cursor.at_dot_word() {
            cursor.dot_word();
        } else {
            cursor.bump();
        }
    }
}

/// The numbers and the string of a line: `.file 1 "a.cu"`, `.loc 1 2 3`.
pub(super) fn numbers(text: &str) -> (Vec<u64>, Option<&str>) {
    let mut cursor = Cursor::new(text);
    cursor.dot_word();
    let mut found = Vec::new();
    loop {
        cursor.skip_blanks();
        if cursor.at_end() || !cursor.at_digit() {
            break;
        }
        match constant::literal(&mut cursor) {
            Ok(number) => found.push(number),
            Err(_) => break,
        }
    }
    let start = cursor.at();
    let string = (!cursor.at_end() && cursor.peek() == b'"' && cursor.skip_string())
        .then(|| text[start..cursor.at()].trim_matches('"'));
    (found, string)
}
