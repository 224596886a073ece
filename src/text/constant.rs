//! Constants and constant expressions, as the assembler reads them (the manual's section 4.5), and the bits that they
//! give an operand.
//!
//! ```
//! use ptx_isa::text::constant::{self, Constant};
//!
//! assert_eq!(constant::parse("(1 << 4) | 0x3U"), Ok(Constant::Integer { bits: 19, unsigned: true }));
//! assert_eq!(constant::parse("1.0 / 4.0"), Ok(Constant::Double(0.25)));
//! assert_eq!(constant::parse("0f3f800000"), Ok(Constant::Single(0x3f80_0000)));
//!
//! let table = &ptx_isa::TABLE;
//! let half_word = table.types.iter().find(|ty| ty.name == "s16").expect("the prelude has it");
//! assert_eq!(constant::parse("-1")?.bits(half_word)?, 0xffff);
//! assert_eq!(constant::parse("1.0")?.bits(half_word).unwrap_err().to_string(), "`.s16` takes no float constant");
//! # Ok::<(), constant::ConstantError>(())
//! ```
//!
//! Integers have 64 bits and are signed, unless they end in `U` or need the sign bit. An operation is unsigned if
//! either operand is; `%` and `~` always are. Floats are doubles. `0f…` gives the bits of a single-precision float; it
//! is an operand of an expression only in parentheses. The operators follow the observed behavior of the assembler.

use core::cmp::Ordering;
use core::fmt;
use core::ops::Range;

use super::lexer::Cursor;
use crate::table::{Kind, TypeInfo};

/// Maximum nesting depth of parentheses, signs, casts and `?:`.
const DEPTH: u32 = 64;

/// Threads in a warp: the value of `WARP_SZ`.
pub const WARP: u64 = isa_table::program::WARP as u64;

/// The name of the one named constant.
pub const WARP_NAME: &str = "WARP_SZ";

/// Words of `.loc` before the label of a function's name, and before the place of the call.
pub(crate) const FUNCTION_NAME: &str = "function_name";
pub(crate) const INLINED_AT: &str = "inlined_at";

/// Returns true if nothing can be declared with this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    matches!(name, "_" | WARP_NAME | FUNCTION_NAME | INLINED_AT)
}

/// Returns true if the cursor is at a name that is not a named constant.
pub(crate) fn at_name(cursor: &Cursor<'_>) -> bool {
    cursor.at_word() && !(cursor.peek() == WARP_NAME.as_bytes()[0] && cursor.text()[cursor.token()] == *WARP_NAME)
}

/// The two types of integer constants, as casts name them.
const UNSIGNED: &str = "u64";
const SIGNED: &str = "s64";

/// The value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// An integer.
    Integer {
        /// Its 64 bits.
        bits: u64,
        /// True if the value is unsigned.
        unsigned: bool,
    },
    /// A float.
    Double(f64),
    /// The bits of a single-precision float, spelt `0f` and eight hex digits.
    Single(u32),
}

/// Error in a constant: the text is not a constant, or the type does not accept it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantError {
    /// Kind of the error.
    pub kind: ConstantErrorKind,
    /// Span of the error in the text; the whole text if the type does not accept the value.
    pub span: Range<usize>,
}

impl fmt::Display for ConstantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl core::error::Error for ConstantError {}

/// Kind of an error in a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConstantErrorKind {
    /// A constant was expected.
    Expected,
    /// A name in an expression.
    Name,
    /// Too few digits after a prefix.
    Digits(&'static str),
    /// Letters or digits right behind a number.
    Suffix,
    /// The number does not fit 64 bits, or is not a normal double.
    Overflow,
    /// The divisor is zero.
    DivisionByZero,
    /// An integer and a float in one operation.
    Mixed,
    /// A float in a place that requires an integer.
    IntegerExpected,
    /// `0f…` in an operation.
    SingleInExpression,
    /// A cast to another type than the two of integer constants.
    Cast,
    /// A `)` or `:` is missing.
    Missing(char),
    /// The expression is nested too deeply for this reader.
    Depth,
    /// The type takes no constant of this kind.
    Refused {
        /// The type, without its dot.
        ty: &'static str,
        /// `integer`, `float` or `0f…`.
        given: &'static str,
    },
}

impl fmt::Display for ConstantErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConstantErrorKind::Expected => f.write_str("a constant is expected here"),
            ConstantErrorKind::Name => f.write_str("a constant expression has no names but `WARP_SZ`"),
            ConstantErrorKind::Digits(text) => f.write_str(text),
            ConstantErrorKind::Suffix => {
                f.write_str("this cannot follow a number; the one suffix is `U`, for integers")
            }
            ConstantErrorKind::Overflow => f.write_str("the constant is out of range"),
            ConstantErrorKind::DivisionByZero => f.write_str("the constant expression divides by zero"),
            ConstantErrorKind::Mixed => f.write_str("integers and floats do not mix in a constant expression"),
            ConstantErrorKind::IntegerExpected => f.write_str("an integer is expected here, not a float"),
            ConstantErrorKind::SingleInExpression => f.write_str("`0f…` takes no part in an expression"),
            ConstantErrorKind::Cast => f.write_str("a constant is cast to `.s64` or `.u64` only"),
            ConstantErrorKind::Missing(name) => write!(f, "`{name}` is expected here"),
            ConstantErrorKind::Depth => f.write_str("the constant expression is nested too deeply"),
            ConstantErrorKind::Refused { ty, given } => write!(f, "`.{ty}` takes no {given} constant"),
        }
    }
}

impl core::error::Error for ConstantErrorKind {}

use ConstantErrorKind as Error;

type Result<T> = core::result::Result<T, ConstantError>;

/// Reads a text that is one constant expression.
///
/// # Errors
///
/// The first place where the assembler would stop, and why.
pub fn parse(text: &str) -> Result<Constant> {
    let mut cursor = Cursor::new(text);
    let value = expression(&mut cursor)?;
    cursor.skip_blanks();
    if cursor.at_end() { Ok(value) } else { Err(ConstantError { kind: Error::Expected, span: cursor.token() }) }
}

impl Constant {
    /// The bits that the constant gives an operand of a type.
    ///
    /// Integers are cut to the type's width; a predicate is set by any but 0. Floats are rounded to it.
    ///
    /// # Errors
    ///
    /// The type does not accept this kind of constant. The span is empty, because the position of the constant is known
    /// only to the caller.
    pub fn bits(self, ty: &TypeInfo) -> Result<u64> {
        let takes = ty.constants;
        let refused = |given| Err(ConstantError { kind: Error::Refused { ty: ty.name, given }, span: 0..0 });
        match self {
            Constant::Integer { .. } if !takes.integer => refused("integer"),
            Constant::Integer { bits, .. } if ty.kind == Kind::Predicate => Ok(u64::from(bits != 0)),
            Constant::Integer { bits, .. } => Ok(cut(bits, ty.bits)),
            Constant::Double(_) if !takes.float => refused("float"),
            Constant::Double(value) => Ok(float_bits(value, ty.bits)),
            Constant::Single(_) if !takes.single => refused("`0f…`"),
            Constant::Single(bits) if ty.bits == 32 => Ok(bits.into()),
            Constant::Single(bits) => Ok(float_bits(f32::from_bits(bits).into(), ty.bits)),
        }
    }
}

fn cut(bits: u64, width: u16) -> u64 {
    if width < 64 { bits & ((1 << width) - 1) } else { bits }
}

fn float_bits(value: f64, width: u16) -> u64 {
    if width == 32 { (value as f32).to_bits().into() } else { value.to_bits() }
}

/// Reads an expression and leaves the cursor right behind it.
pub(crate) fn expression(cursor: &mut Cursor<'_>) -> Result<Constant> {
    if let Some(bits) = cursor.decimal_alone() {
        return Ok(Constant::Integer { bits, unsigned: false });
    }
    Reader { cursor, depth: 0 }.ternary()
}

/// Reads an integer literal; expressions are not accepted.
pub(crate) fn literal(cursor: &mut Cursor<'_>) -> Result<u64> {
    cursor.skip_blanks();
    let start = cursor.at();
    let value = Reader { cursor, depth: 0 }.number()?;
    integer_of(value, start..cursor.at()).map(|(bits, _)| bits)
}

/// Reads an expression whose value is an integer.
pub(crate) fn integer(cursor: &mut Cursor<'_>) -> Result<u64> {
    cursor.skip_blanks();
    let start = cursor.at();
    let value = expression(cursor)?;
    integer_of(value, start..cursor.at()).map(|(bits, _)| bits)
}

fn integer_of(value: Constant, span: Range<usize>) -> Result<(u64, bool)> {
    match value {
        Constant::Integer { bits, unsigned } => Ok((bits, unsigned)),
        Constant::Double(_) => Err(ConstantError { kind: Error::IntegerExpected, span }),
        Constant::Single(_) => Err(ConstantError { kind: Error::SingleInExpression, span }),
    }
}

const fn signed(value: bool) -> Constant {
    Constant::Integer { bits: value as u64, unsigned: false }
}

/// The binary operators with how tightly they bind; those of two characters first.
const BINARY: &[(&str, u8)] = &[
    ("||", 1),
    ("&&", 2),
    ("==", 6),
    ("!=", 6),
    ("<<", 8),
    (">>", 8),
    ("<=", 7),
    (">=", 7),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

struct Reader<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    depth: u32,
}

impl Reader<'_, '_> {
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH {
            return self.error_here(Error::Depth);
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn error_here<T>(&self, kind: Error) -> Result<T> {
        Err(ConstantError { kind, span: self.cursor.token() })
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        self.cursor.skip_blanks();
        if self.cursor.eat(byte) { Ok(()) } else { self.error_here(Error::Missing(byte.into())) }
    }

    fn ternary(&mut self) -> Result<Constant> {
        self.cursor.skip_blanks();
        let start = self.cursor.at();
        let condition = self.binary(0)?;
        let end = self.cursor.at();
        self.cursor.skip_blanks();
        if !self.cursor.eat(b'?') {
            self.cursor.seek(end);
            return Ok(condition);
        }
        let (condition, _) = integer_of(condition, start..end)?;
        let chosen = self.deeper(Self::integer_branch)?;
        self.expect(b':')?;
        let other = self.deeper(Self::integer_branch)?;
        Ok(if condition != 0 { chosen } else { other })
    }

    fn integer_branch(&mut self) -> Result<Constant> {
        self.cursor.skip_blanks();
        let start = self.cursor.at();
        let value = self.ternary()?;
        integer_of(value, start..self.cursor.at()).map(|_| value)
    }

    /// Reads operands joined by operators that bind tighter than `least`. It calls itself once for each rank of operators.
    fn binary(&mut self, least: u8) -> Result<Constant> {
        self.cursor.skip_blanks();
        let start = self.cursor.at();
        let mut left = self.unary()?;
        loop {
            let end = self.cursor.at();
            self.cursor.skip_blanks();
            let Some((operator, rank)) = self.operator().filter(|&(_, rank)| rank > least) else {
                self.cursor.seek(end);
                return Ok(left);
            };
            self.cursor.seek(self.cursor.at() + operator.len());
            left = self.in_operation(left, start);
            self.cursor.skip_blanks();
            let right_start = self.cursor.at();
            let right = self.binary(rank)?;
            let right = self.in_operation(right, right_start);
            left =
                apply(operator, left, right).map_err(|kind| ConstantError { kind, span: start..self.cursor.at() })?;
        }
    }

    /// `0f…` in parentheses takes part in operations, as a double.
    fn in_operation(&self, value: Constant, start: usize) -> Constant {
        match value {
            Constant::Single(bits) if self.cursor.text().as_bytes()[start] == b'(' => {
                Constant::Double(f32::from_bits(bits).into())
            }
            other => other,
        }
    }

    fn operator(&self) -> Option<(&'static str, u8)> {
        // Most constants end their operand.
        if matches!(self.cursor.peek(), b',' | b';' | b']' | b'}') {
            return None;
        }
        // `%` before a letter or digit begins a register name. `/` cannot begin a comment here: comments have been
        // skipped.
        let rest = &self.cursor.text().as_bytes()[self.cursor.at()..];
        let operator = BINARY.iter().find(|(operator, _)| rest.starts_with(operator.as_bytes()));
        operator.copied().filter(|_| !self.cursor.at_word())
    }

    fn unary(&mut self) -> Result<Constant> {
        self.cursor.skip_blanks();
        let start = self.cursor.at();
        let sign = self.cursor.peek();
        if !matches!(sign, b'+' | b'-' | b'!' | b'~') {
            return self.primary();
        }
        self.cursor.seek(start + 1);
        self.cursor.skip_blanks();
        let operand = self.cursor.at();
        let value = self.deeper(Self::unary)?;
        let value = self.in_operation(value, operand);
        let span = start..self.cursor.at();
        match (sign, value) {
            (_, Constant::Single(_)) => Err(ConstantError { kind: Error::SingleInExpression, span }),
            (b'+', value) => Ok(value),
            (b'-', Constant::Double(value)) => Ok(Constant::Double(-value)),
            (b'-', Constant::Integer { bits, unsigned }) => {
                Ok(Constant::Integer { bits: bits.wrapping_neg(), unsigned })
            }
            (b'!', value) => Ok(signed(integer_of(value, span)?.0 == 0)),
            (_, value) => Ok(Constant::Integer { bits: !integer_of(value, span)?.0, unsigned: true }),
        }
    }

    fn primary(&mut self) -> Result<Constant> {
        let start = self.cursor.at();
        if self.cursor.eat(b'(') {
            self.cursor.skip_blanks();
            if self.cursor.at_dot_word() {
                return self.cast();
            }
            let value = self.deeper(Self::ternary)?;
            self.expect(b')')?;
            return Ok(value);
        }
        if self.cursor.at_word() {
            if self.cursor.word() == WARP_NAME {
                return Ok(Constant::Integer { bits: WARP, unsigned: false });
            }
            return Err(ConstantError { kind: Error::Name, span: start..self.cursor.at() });
        }
        self.number()
    }

    fn cast(&mut self) -> Result<Constant> {
        let start = self.cursor.at();
        let unsigned = match self.cursor.dot_word() {
            UNSIGNED => true,
            SIGNED => false,
            _ => return Err(ConstantError { kind: Error::Cast, span: start..self.cursor.at() }),
        };
        self.expect(b')')?;
        self.cursor.skip_blanks();
        let start = self.cursor.at();
        let value = self.deeper(Self::unary)?;
        let (bits, _) = integer_of(value, start..self.cursor.at())?;
        Ok(Constant::Integer { bits, unsigned })
    }

    fn number(&mut self) -> Result<Constant> {
        let start = self.cursor.at();
        let rest = &self.cursor.text().as_bytes()[start..];
        let run = |from: usize, is: fn(&u8) -> bool| rest[from..].iter().take_while(|byte| is(byte)).count();
        let prefix = if rest.first() == Some(&b'0') { rest.get(1).map_or(0, u8::to_ascii_lowercase) } else { 0 };
        let fail = |end: usize, kind| Err(ConstantError { kind, span: start..start + end });
        let radix = match prefix {
            b'f' | b'd' => {
                let digits = if prefix == b'f' { 8 } else { 16 };
                let found = run(2, u8::is_ascii_hexdigit);
                if found != digits {
                    let kind = if prefix == b'f' {
                        "`0f` takes exactly 8 hex digits"
                    } else {
                        "`0d` takes exactly 16 hex digits"
                    };
                    return fail(2 + found, Error::Digits(kind));
                }
                let bits = rest[2..2 + digits].iter().fold(0, |bits, &digit| bits << 4 | digit_of(digit));
                let value =
                    if prefix == b'f' { Constant::Single(bits as u32) } else { Constant::Double(f64::from_bits(bits)) };
                return self.ended(start + 2 + digits, value);
            }
            b'x' => 16,
            b'b' => 2,
            _ => {
                let whole = run(0, u8::is_ascii_digit);
                let end = float_end(rest, whole);
                if end > whole {
                    return self.float(start + end);
                }
                if whole == 0 {
                    return self.error_here(Error::Expected);
                }
                if whole > 1 && rest[0] == b'0' { 8 } else { 10 }
            }
        };
        let skip = if radix == 16 || radix == 2 { 2 } else { 0 };
        let digits = &rest[skip..];
        let count = digits.iter().take_while(|&&byte| digit_of(byte) < radix).count();
        if count == 0 {
            return fail(skip, Error::Digits("digits are missing behind the prefix"));
        }
        let end = skip + count;
        let Some(bits) = digits[..count].iter().try_fold(0u64, |value, &digit| {
            // The assembler wraps a digit around, but does not go on once the topmost bit is set.
            (value >> 63 == 0).then(|| value.wrapping_mul(radix).wrapping_add(digit_of(digit)))
        }) else {
            return fail(end, Error::Overflow);
        };
        let suffix = rest.get(end) == Some(&b'U');
        let unsigned = suffix || bits > i64::MAX as u64;
        self.ended(start + end + usize::from(suffix), Constant::Integer { bits, unsigned })
    }

    fn float(&mut self, end: usize) -> Result<Constant> {
        let start = self.cursor.at();
        let text = &self.cursor.text()[start..end];
        let overflow = Err(ConstantError { kind: Error::Overflow, span: start..end });
        let Ok(value) = text.parse::<f64>() else { return overflow };
        let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
        let zero = mantissa.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        if !value.is_normal() && !zero {
            return overflow;
        }
        self.ended(end, Constant::Double(value))
    }

    /// Moves to the end of a number, which must not be followed by a letter or digit.
    fn ended(&mut self, end: usize, value: Constant) -> Result<Constant> {
        self.cursor.seek(end);
        let rest = self.cursor.word_part();
        if rest.is_empty() {
            Ok(value)
        } else {
            Err(ConstantError { kind: Error::Suffix, span: end..end + rest.len() })
        }
    }
}

/// The value of a digit in any radix; 255 for what is none.
fn digit_of(byte: u8) -> u64 {
    (byte as char).to_digit(16).map_or(255, u64::from)
}

/// Returns the end of a float that begins with `whole` digits; `whole` if neither a fraction nor an exponent follows.
fn float_end(rest: &[u8], whole: usize) -> usize {
    let digits = |from: usize| rest[from.min(rest.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = whole;
    if rest.get(whole) == Some(&b'.') {
        let fraction = digits(whole + 1);
        if whole + fraction == 0 {
            return whole;
        }
        end = whole + 1 + fraction;
    }
    if end > 0 && matches!(rest.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

fn apply(operator: &str, left: Constant, right: Constant) -> core::result::Result<Constant, Error> {
    match (left, right) {
        (Constant::Integer { bits: a, unsigned: ua }, Constant::Integer { bits: b, unsigned: ub }) => {
            integers(operator, (a, ua), (b, ub))
        }
        (Constant::Double(a), Constant::Double(b)) => doubles(operator, a, b),
        (Constant::Single(_), _) | (_, Constant::Single(_)) => Err(Error::SingleInExpression),
        (Constant::Integer { .. }, Constant::Double(_)) | (Constant::Double(_), Constant::Integer { .. }) => {
            Err(Error::Mixed)
        }
    }
}

fn integers(
    operator: &str,
    (a, a_unsigned): (u64, bool),
    (b, b_unsigned): (u64, bool),
) -> core::result::Result<Constant, Error> {
    let unsigned = a_unsigned || b_unsigned;
    let order = if unsigned { a.cmp(&b) } else { (a as i64).cmp(&(b as i64)) };
    let count = (b & 63) as u32;
    let typed = |bits, unsigned| Ok(Constant::Integer { bits, unsigned });
    if matches!(operator, "/" | "%") && b == 0 {
        return Err(Error::DivisionByZero);
    }
    match operator {
        "+" => typed(a.wrapping_add(b), unsigned),
        "-" => typed(a.wrapping_sub(b), unsigned),
        "*" => typed(a.wrapping_mul(b), unsigned),
        "/" if unsigned => typed(a / b, true),
        "/" => typed((a as i64).checked_div(b as i64).ok_or(Error::Overflow)? as u64, false),
        "%" => typed(a % b, true),
        "<<" => typed(a << count, a_unsigned),
        ">>" if a_unsigned => typed(a >> count, true),
        ">>" => typed(((a as i64) >> count) as u64, false),
        "&" => typed(a & b, unsigned),
        "|" => typed(a | b, unsigned),
        "^" => typed(a ^ b, unsigned),
        "&&" => Ok(signed(a != 0 && b != 0)),
        "||" => Ok(signed(a != 0 || b != 0)),
        _ => compare(operator, Some(order)).ok_or(Error::Expected),
    }
}

fn doubles(operator: &str, a: f64, b: f64) -> core::result::Result<Constant, Error> {
    match operator {
        "+" => Ok(Constant::Double(a + b)),
        "-" => Ok(Constant::Double(a - b)),
        "*" => Ok(Constant::Double(a * b)),
        "/" if b == 0.0 => Err(Error::DivisionByZero),
        "/" => Ok(Constant::Double(a / b)),
        _ => compare(operator, a.partial_cmp(&b)).ok_or(Error::IntegerExpected),
    }
}

/// Returns the result of a comparison, given the order of its operands: `None` if either is NaN. Returns `None` if the
/// operator is not a comparison.
fn compare(operator: &str, order: Option<Ordering>) -> Option<Constant> {
    Some(signed(match operator {
        "<" => order == Some(Ordering::Less),
        "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ">" => order == Some(Ordering::Greater),
        ">=" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        "==" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        _ => return None,
    }))
}
