//! Functions that modules call and do not define: the device's runtime.

use std::format;
use std::prelude::rust_2024::*;

/// A function of the device's runtime, by the name that compilers call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// Prints a format with arguments in memory.
    Print,
    /// Reports an assertion that failed.
    Assert,
    Allocate,
    Free,
}

impl System {
    pub(crate) fn named(name: &str) -> Option<System> {
        Some(match name {
            "vprintf" => System::Print,
            "__assertfail" | "__assert_fail" => System::Assert,
            "malloc" => System::Allocate,
            "free" => System::Free,
            _ => return None,
        })
    }

    /// Returns the unsupported part of the device runtime that a function belongs to; `None` for other functions.
    pub(crate) fn missing(name: &str) -> Option<&'static str> {
        let launches = ["cudaLaunchDevice", "cudaGetParameterBuffer", "__cudaCDP"];
        match launches.iter().any(|start| name.starts_with(start)) {
            true => Some("kernel launches from a kernel"),
            false => name.starts_with("cudaCG").then_some("cooperative groups of the device runtime"),
        }
    }
}

/// Maximum width, and precision of a number; larger ones are clamped. The standard library panics near 65,535.
const MOST: usize = 1 << 15;

/// Formats as C does, with arguments that lie behind each other in memory, each at a multiple of its size.
///
/// `read` gives the bytes at an offset behind the first argument, `string` the text at an address. The result is the text, and
/// how many arguments it has.
pub(crate) fn print(
    format: &str,
    mut read: impl FnMut(u64, u8) -> Option<u64>,
    mut string: impl FnMut(u64) -> Option<String>,
) -> Option<(String, u64)> {
    let mut out = String::new();
    let (mut offset, mut count) = (0_u64, 0);
    let mut rest = format.chars().peekable();
    let mut next = |offset: &mut u64, bytes: u8| {
        count += 1;
        *offset = offset.next_multiple_of(bytes.into());
        let value = read(*offset, bytes);
        *offset += u64::from(bytes);
        value
    };
    while let Some(letter) = rest.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let (mut flags, mut width, mut precision) = (String::new(), None, None);
        while let Some(flag) = rest.next_if(|letter| "-+ #0".contains(*letter)) {
            flags.push(flag);
        }
        let mut number = |rest: &mut std::iter::Peekable<std::str::Chars<'_>>, offset: &mut u64| {
            if rest.next_if_eq(&'*').is_some() {
                return next(offset, 4).map(|value| value as i32 as i64);
            }
            let mut digits = String::new();
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            (!digits.is_empty()).then(|| digits.parse().unwrap_or(i64::MAX))
        };
        if let Some(found) = number(&mut rest, &mut offset) {
            if found < 0 {
                flags.push('-');
            }
            width = Some(found.unsigned_abs().min(MOST as u64) as usize);
        }
        if rest.next_if_eq(&'.').is_some() {
            // A negative precision counts as none.
            precision = usize::try_from(number(&mut rest, &mut offset).unwrap_or(0)).ok();
        }
        // Bytes that the argument takes, and the bits of it that count.
        let (mut size, mut bits) = (4, 32);
        while let Some(letter) = rest.next_if(|letter| "hljztL".contains(*letter)) {
            match letter {
                'h' => bits /= 2,
                'L' => {}
                _ => (size, bits) = (8, 64),
            }
        }
        let above = 64 - u32::from(bits.clamp(8_u8, 64));
        let kind = rest.next()?;
        if kind != 's' {
            precision = precision.map(|places| places.min(MOST));
        }
        let text = match kind {
            '%' => {
                out.push('%');
                continue;
            }
            'd' | 'i' => {
                let value = (next(&mut offset, size)? << above) as i64 >> above;
                signed(value < 0, digits(value.unsigned_abs(), 'u', precision), &flags)
            }
            'u' => digits(next(&mut offset, size)? << above >> above, kind, precision),
            'x' | 'X' | 'o' => {
                let value = next(&mut offset, size)? << above >> above;
                let text = digits(value, kind, precision);
                let prefix = match kind {
                    _ if !flags.contains('#') => "",
                    'o' if !text.starts_with('0') => "0",
                    'x' if value != 0 => "0x",
                    'X' if value != 0 => "0X",
                    _ => "",
                };
                prefix.to_owned() + &text
            }
            'p' => format!("{:#x}", next(&mut offset, 8)?),
            'c' => char::from(next(&mut offset, 4)? as u8).to_string(),
            's' => {
                let text = string(next(&mut offset, 8)?)?;
                text.chars().take(precision.unwrap_or(usize::MAX)).collect()
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
                let value = f64::from_bits(next(&mut offset, 8)?);
                let text = float(value.abs(), kind, precision, flags.contains('#'));
                signed(value.is_sign_negative(), text, &flags)
            }
            _ => return None,
        };
        let missing = width.unwrap_or(0).saturating_sub(text.chars().count());
        if flags.contains('-') {
            out += &text;
            out.extend(std::iter::repeat_n(' ', missing));
        } else if flags.contains('0') && takes_zeros(kind, &text, precision) {
            // Zeros lie behind the sign and `0x`.
            let unsigned = text.trim_start_matches(['+', '-', ' ']);
            let digits = unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X")).unwrap_or(unsigned);
            out += &text[..text.len() - digits.len()];
            out.extend(std::iter::repeat_n('0', missing));
            out += digits;
        } else {
            out.extend(std::iter::repeat_n(' ', missing));
            out += &text;
        }
    }
    Some((out, count))
}

fn signed(negative: bool, text: String, flags: &str) -> String {
    let sign = match (negative, flags.contains('+'), flags.contains(' ')) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    };
    sign.to_owned() + &text
}

/// Returns true if the flag `0` pads with zeros: integers without a precision, and finite floats.
fn takes_zeros(kind: char, text: &str, precision: Option<usize>) -> bool {
    match kind {
        's' | 'c' => false,
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'p' => precision.is_none(),
        _ => text.contains(|letter: char| letter.is_ascii_digit()),
    }
}

/// Formats an integer with at least `precision` digits; zero with precision 0 gives no digits.
fn digits(value: u64, kind: char, precision: Option<usize>) -> String {
    let width = precision.unwrap_or(1);
    match kind {
        _ if value == 0 && width == 0 => String::new(),
        'x' => format!("{value:0width$x}"),
        'X' => format!("{value:0width$X}"),
        'o' => format!("{value:0width$o}"),
        _ => format!("{value:0width$}"),
    }
}

/// A number that is not negative, as C writes it.
fn float(value: f64, kind: char, precision: Option<usize>, keep: bool) -> String {
    let upper = kind.is_ascii_uppercase();
    let cased = |text: String| if upper { text.to_ascii_uppercase() } else { text };
    if !value.is_finite() {
        return cased(if value.is_nan() { "nan".into() } else { "inf".into() });
    }
    let scientific = |digits: usize| {
        let text = format!("{value:.digits$e}");
        let (mantissa, exponent) = text.split_once('e').expect("it has an exponent");
        let exponent: i32 = exponent.parse().expect("a number");
        (mantissa.to_owned(), exponent)
    };
    // The flag `#` keeps the point.
    let pointed = |text: String| if keep && !text.contains('.') { text + "." } else { text };
    let exponential = |mantissa: String, exponent: i32| {
        format!("{}e{}{:02}", pointed(mantissa), if exponent < 0 { '-' } else { '+' }, exponent.abs())
    };
    let (given, precision) = (precision, precision.unwrap_or(6));
    cased(match kind.to_ascii_lowercase() {
        'f' => pointed(format!("{value:.precision$}")),
        'e' => {
            let (mantissa, exponent) = scientific(precision);
            exponential(mantissa, exponent)
        }
        'a' => hexadecimal(value, given, keep),
        _ => {
            let precision = precision.max(1);
            let (mantissa, exponent) = scientific(precision - 1);
            let trimmed = |text: &str| match !keep && text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text.to_owned(),
            };
            if exponent < -4 || exponent >= precision as i32 {
                exponential(trimmed(&mantissa), exponent)
            } else {
                let digits = (precision as i32 - 1 - exponent).max(0) as usize;
                pointed(trimmed(&format!("{value:.digits$}")))
            }
        }
    })
}

/// Formats a finite number in hexadecimal, rounded to `precision` digits after the point; `None` prints all significant
/// digits.
fn hexadecimal(value: f64, precision: Option<usize>, keep: bool) -> String {
    const FRACTION: u32 = 52;
    let bits = value.to_bits();
    let (mut exponent, mut digits) = ((bits >> FRACTION) as i64 - 1023, bits & ((1 << FRACTION) - 1));
    match exponent {
        -1023 if digits == 0 => exponent = 0,
        -1023 => exponent = -1022,
        _ => digits |= 1 << FRACTION,
    }
    if let Some(dropped) =
        precision.and_then(|places| (FRACTION as usize / 4).checked_sub(places)).filter(|_| digits != 0)
    {
        // To the nearest, ties to even.
        let unit = 1_u64 << (4 * dropped);
        let (rest, half) = (digits % unit, unit / 2);
        let up = rest > half || rest == half && dropped > 0 && digits / unit % 2 == 1;
        digits = digits - rest + if up { unit } else { 0 };
    }
    let fraction = format!("{:013x}", digits & ((1 << FRACTION) - 1));
    let fraction = match precision {
        None => fraction.trim_end_matches('0').to_owned(),
        Some(places) => format!("{fraction:0<places$}")[..places].to_owned(),
    };
    let point = if fraction.is_empty() && !keep { "" } else { "." };
    format!("0x{:x}{point}{fraction}p{exponent:+}", digits >> FRACTION)
}
