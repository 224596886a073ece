//! Text representation of values: parses text to the bits of a type, and formats bits as text.
//!
//! ```
//! use ptx_isa::{TABLE, value};
//!
//! let float = TABLE.types.iter().find(|ty| ty.name == "f32").unwrap();
//! assert_eq!(value::parse("-inf", float), Ok(0xff80_0000));
//! assert_eq!(value::parse("0f3f800000", float), Ok(0x3f80_0000));
//! assert_eq!(value::show(0x3f80_0000, float), "0x3f800000 (1.0)");
//!
//! let pair = TABLE.types.iter().find(|ty| ty.name == "e4m3x2").unwrap();
//! assert_eq!(value::parse_lanes(&TABLE, "1.5 -448", pair), Ok(0xfe3c));
//! assert_eq!(value::show_lanes(&TABLE, 0xfe3c, pair), ["1.5", "-448.0"]);
//! ```

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::eval::product::Format;
use crate::eval::{bf16, f16};
use crate::table::{Kind, Table, TypeInfo};

/// Number of exponent bits that distinguishes `bf16` from `f16`.
const BFLOAT_EXPONENT: u8 = 8;

/// Parses a value of a type, and returns its bits.
///
/// # Errors
///
/// If the text is not a value of the type; the error describes the expected format.
pub fn parse(text: &str, ty: &TypeInfo) -> Result<u128, String> {
    parse_value(text, ty).ok_or_else(|| {
        let expected = match ty.kind {
            Kind::Predicate => "0 or 1".to_owned(),
            Kind::Bits => format!("{} bits as decimal, hex, `0f…` or `0d…`", ty.bits),
            Kind::Minifloat => format!("a number that the format has, like `1.5`, or {} bits in hex", ty.bits),
            Kind::Unsigned => format!("an unsigned integer of {} bits, decimal or hex", ty.bits),
            Kind::Signed => format!("a signed integer of {} bits, or its bits in hex", ty.bits),
            Kind::Float => format!("a float literal like `1.5`, `nan` or `-inf`, or {} bits in hex", ty.bits),
            Kind::Packed => format!("the {} bits of all lanes in hex", ty.bits),
        };
        format!("`{text}` is not a value of type `.{}`: it should be {expected}", ty.name)
    })
}

fn parse_value(text: &str, ty: &TypeInfo) -> Option<u128> {
    let width = u32::from(ty.bits.min(128));
    let mask = u128::MAX >> (128 - width);
    let fits = |bits: &u128| bits & !mask == 0;
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        return hex_bits(hex).filter(|bits| fits(bits) && !negative);
    }
    // `0f…` and `0d…` give the bits of a 32-bit or a 64-bit float.
    let float_bits = |prefixes: [&str; 2], width: u32| {
        let hex = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix))?;
        hex_bits(hex).filter(|_| hex.len() as u32 == width / 4 && u32::from(ty.bits) == width)
    };
    if let Some(bits) = float_bits(["0f", "0F"], 32).or_else(|| float_bits(["0d", "0D"], 64)) {
        return matches!(ty.kind, Kind::Float | Kind::Bits).then_some(bits);
    }
    match ty.kind {
        Kind::Float => return float(text, ty),
        Kind::Minifloat => return narrow(text.parse().ok()?, ty),
        _ => {}
    }
    let value = digits.parse::<u128>().ok().filter(fits)?;
    // A negative number is stored in two's complement, if the type is signed or untyped.
    match (negative, ty.kind) {
        (false, _) => Some(value),
        (true, Kind::Bits | Kind::Signed) => (value <= 1 << (width - 1)).then_some(value.wrapping_neg() & mask),
        (true, _) => None,
    }
}

/// Like [`parse`], but a packed value may also be given lane by lane, lane 0 first: `1.0 2.0`.
///
/// # Errors
///
/// If the text is not a value of the type; the error describes the expected format.
pub fn parse_lanes(table: &Table, text: &str, ty: &TypeInfo) -> Result<u128, String> {
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    if ty.kind != Kind::Packed || words.len() < 2 {
        return parse(text, ty);
    }
    if words.len() != usize::from(ty.lanes) {
        return Err(format!("`{text}` has {} lanes, and `.{}` has {}", words.len(), ty.name, ty.lanes));
    }
    let lane = table.ty(ty.lane);
    words.iter().rev().try_fold(0, |all, word| Ok(all << ty.lane_bits() | parse(word, lane)?))
}

/// Formats the lanes of a packed value, lane 0 first. Returns an empty list for other types.
pub fn show_lanes(table: &Table, bits: u128, ty: &TypeInfo) -> Vec<String> {
    if ty.kind != Kind::Packed {
        return Vec::new();
    }
    let lane = table.ty(ty.lane);
    let mask = u128::MAX >> (128 - u32::from(lane.bits));
    let shown = (0..u32::from(ty.lanes)).map(|index| show(bits >> (index * ty.lane_bits()) & mask, lane));
    let value = |text: String| match text.split_once('(') {
        Some((_, value)) => value.trim_end_matches(')').to_owned(),
        None => text,
    };
    shown.map(value).collect()
}

fn hex_bits(hex: &str) -> Option<u128> {
    let plain = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(hex, 16).ok().filter(|_| plain)
}

fn float(text: &str, ty: &TypeInfo) -> Option<u128> {
    Some(match (ty.bits, ty.exponent) {
        (64, _) => text.parse::<f64>().ok()?.to_bits().into(),
        (32, _) => text.parse::<f32>().ok()?.to_bits().into(),
        (_, BFLOAT_EXPONENT) => bf16::from_f64(text.parse().ok()?).to_bits().into(),
        _ => f16::from_f64(text.parse().ok()?).to_bits().into(),
    })
}

/// Bits of a number that a narrow format has.
fn narrow(number: f64, ty: &TypeInfo) -> Option<u128> {
    let same = |bits: &u32| {
        let value = narrow_value((*bits).into(), ty);
        value == number && value.is_sign_negative() == number.is_sign_negative() || value.is_nan() && number.is_nan()
    };
    match ty.bits {
        // As those of a single, whose upper bits they are.
        32 => Some((number as f32).to_bits()).filter(same),
        bits => (0..1 << bits).find(same),
    }
    .map(u128::from)
}

/// Number that the bits of a narrow format represent.
fn narrow_value(bits: u128, ty: &TypeInfo) -> f64 {
    let Some(format) = Format::of(ty) else { return f64::NAN };
    match format.decode(bits as u64).value() {
        0.0 if format.signed && bits >> (ty.bits - 1) & 1 != 0 => -0.0,
        value => value,
    }
}

/// Formats bits with their value: `0x3f800000 (1.0)`; a predicate as `0` or `1`.
pub fn show(bits: u128, ty: &TypeInfo) -> String {
    let digits = usize::from(ty.bits).div_ceil(4) + 2;
    let shift = 128 - u32::from(ty.bits.min(128));
    match ty.kind {
        Kind::Predicate => bits.to_string(),
        Kind::Bits | Kind::Packed => format!("{bits:#0digits$x}"),
        Kind::Minifloat => format!("{bits:#0digits$x} ({:?})", narrow_value(bits, ty)),
        Kind::Unsigned => format!("{bits:#0digits$x} ({bits})"),
        Kind::Signed => format!("{bits:#0digits$x} ({})", (bits << shift).cast_signed() >> shift),
        Kind::Float => {
            let value = match (ty.bits, ty.exponent) {
                (64, _) => format!("{:?}", f64::from_bits(bits as u64)),
                (32, _) => format!("{:?}", f32::from_bits(bits as u32)),
                (_, BFLOAT_EXPONENT) => format!("{:?}", bf16::from_bits(bits as u16).to_f64()),
                _ => format!("{:?}", f16::from_bits(bits as u16).to_f64()),
            };
            format!("{bits:#0digits$x} ({value})")
        }
    }
}
