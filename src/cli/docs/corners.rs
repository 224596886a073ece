//! Corner cases of forms that read floats, computed by the evaluators: NaN, infinities, zeros, subnormals, extremes.

use ptx_isa::TABLE;
use ptx_isa::reference::sample;
use ptx_isa::table::{FormInfo, Kind, NonFinite, Operand, TypeInfo};
use ptx_isa::value;

use crate::cli::names::forms_of;

/// Most tables of an entry: one for each type of float.
const MOST: usize = 3;

/// Results of a form for corner cases of its first source, and of its second where this is a float, too.
pub(super) struct Corners {
    pub(super) form: String,
    /// What is read and written: `d for a (down) and b (across); c = 0x0 (0.0)`.
    pub(super) caption: String,
    pub(super) columns: Vec<String>,
    /// A source, and the results for it.
    pub(super) rows: Vec<(String, Vec<String>)>,
}

/// The tables of an entry.
pub(super) fn of(opcode: &str, entry: usize) -> Vec<Corners> {
    let mut seen: Vec<Vec<&str>> = Vec::new();
    let mut tables = Vec::new();
    for form in forms_of(opcode).filter(|form| usize::from(form.syntax().entry) == entry) {
        let types: Vec<&str> = form.sources().map(|source| TABLE.ty(source.ty).name).collect();
        if tables.len() < MOST
            && !seen.contains(&types)
            && let Some(table) = table(form)
        {
            tables.push(table);
            seen.push(types);
        }
    }
    tables
}

fn is_float(operand: &Operand) -> bool {
    let ty = TABLE.ty(operand.ty);
    ty.kind == Kind::Float && ty.lanes == 1 && ty.beyond == NonFinite::Infinity
}

fn table(form: FormInfo) -> Option<Corners> {
    let sources: Vec<&Operand> = form.sources().collect();
    let plain = form.has_evaluator() && !form.is_collective() && form.selectors().next().is_none();
    let destination = form.operands().iter().find(|operand| operand.destination)?;
    let first = sources.first().filter(|source| is_float(source) && plain && form.states().is_empty())?;
    let second = sources.get(1).filter(|source| is_float(source));
    let rest: Vec<u128> = sources.iter().enumerate().map(|(place, source)| fixed(source, place)).collect();
    let result = |a: u128, b: Option<u128>| {
        let mut inputs = rest.clone();
        inputs[0] = a;
        if let Some(b) = b {
            inputs[1] = b;
        }
        let (output, open) = (form.evaluate(u16::MAX, &inputs), form.unspecified(u16::MAX, &inputs));
        match open.iter().next().is_some_and(|open| *open != 0) {
            true => "unspecified".to_owned(),
            false => output.iter().next().map_or_else(String::new, |bits| brief(*bits, TABLE.ty(destination.ty))),
        }
    };
    let (ty, across) = (TABLE.ty(first.ty), second.map(|second| TABLE.ty(second.ty)));
    let columns: Vec<Option<u128>> =
        across.map_or_else(|| vec![None], |ty| corners(ty).into_iter().map(Some).collect());
    let row = |a: u128| (brief(a, ty), columns.iter().map(|b| result(a, *b)).collect());
    let others = sources.iter().zip(&rest).skip(1 + usize::from(second.is_some()));
    let others: String =
        others.map(|(source, bits)| format!("; {} = {}", source.name, brief(*bits, TABLE.ty(source.ty)))).collect();
    let of = second.map_or_else(String::new, |second| format!(" (down) and `{}` (across)", second.name));
    let names = columns.iter().zip([across].into_iter().cycle());
    let names = names.map(|(bits, ty)| match (bits, ty) {
        (Some(bits), Some(ty)) => brief(*bits, ty),
        _ => destination.name.to_owned(),
    });
    Some(Corners {
        form: form.mnemonic().to_owned(),
        caption: format!("`{}` for `{}`{of}{others}", destination.name, first.name),
        columns: names.collect(),
        rows: corners(ty).into_iter().map(row).collect(),
    })
}

/// A further source: zero if it is a float.
fn fixed(source: &Operand, place: usize) -> u128 {
    if is_float(source) { 0 } else { sample::of(&TABLE, source, 0, place) }
}

/// The corner cases of a format, in ascending order between the NaN and the positive infinity.
fn corners(ty: &TypeInfo) -> Vec<u128> {
    let (exponent, fraction) = (u32::from(ty.exponent), u32::from(ty.fraction));
    let infinity = ((1_u128 << exponent) - 1) << fraction;
    let sign = 1_u128 << (ty.bits - 1);
    let one = ((1_u128 << (exponent - 1)) - 1) << fraction;
    let (subnormal, normal, largest) = (1, 1 << fraction, infinity - 1);
    let nan = infinity | 1 << (fraction - 1);
    vec![nan, sign | infinity, sign | one, sign | subnormal, sign, 0, subnormal, normal, one, largest, infinity]
}

/// Shorter numbers are written with all their digits.
const SHORT: usize = 8;

/// A value without its bits, where these say no more.
fn brief(bits: u128, ty: &TypeInfo) -> String {
    let text = value::show(bits, ty);
    match text.split_once('(') {
        Some((_, value)) if ty.kind == Kind::Float => {
            let text = value.trim_end_matches(')');
            let value = text.parse::<f64>().unwrap_or(f64::NAN);
            match value {
                value if value.is_infinite() => if value > 0.0 { "+∞" } else { "−∞" }.to_owned(),
                value if value.is_nan() => "NaN".to_owned(),
                value if value == 0.0 => if value.is_sign_negative() { "−0" } else { "+0" }.to_owned(),
                value if (1e-3..1e6).contains(&value.abs()) => format!("{}", (value * 1e6).round() / 1e6),
                _ if text.len() < SHORT && text.contains('e') => text.to_owned(),
                value => format!("{value:.3e}"),
            }
            .replace('-', "−")
        }
        Some((_, value)) => value.trim_end_matches(')').replace('-', "−"),
        None => text,
    }
}
