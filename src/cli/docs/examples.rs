//! Examples of the spec with what they compute, for inputs that their types suggest.

use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, Kind, Operand, TypeInfo};
use ptx_isa::text::Statement;
use ptx_isa::text::statement::Value;
use ptx_isa::value;

/// How many rows an example shows.
const ROWS: usize = 3;

/// An example and the rows of its table.
pub(super) struct Evaluated {
    pub mnemonic: &'static str,
    /// The names of the sources, as the example calls them, then those of the destinations.
    pub sources: Vec<String>,
    pub destinations: Vec<String>,
    pub rows: Vec<Row>,
}

/// What the sources hold, and what the destinations receive.
pub(super) struct Row {
    pub sources: Vec<String>,
    pub destinations: Vec<String>,
    /// The sources for a link to the evaluator.
    pub link: String,
}

/// What an example computes; nothing where it is refused or has no evaluator.
pub(super) fn evaluate(text: &str) -> Option<Evaluated> {
    let statement = Statement::parse(&TABLE, text).ok()?;
    let form = statement.form();
    if !form.has_evaluator() {
        return None;
    }
    let (mut sources, mut destinations) = (Vec::new(), Vec::new());
    for (info, operand) in statement.operands_with_info() {
        let names = if info.destination { &mut destinations } else { &mut sources };
        names.push(match operand.value {
            Value::Register(register) | Value::Negated(register) => register.name.to_owned(),
            _ => info.name.to_owned(),
        });
        if let Some(second) = &info.second {
            destinations.push(second.name.to_owned());
        }
    }
    let selectors: Vec<u128> =
        statement.operands().iter().filter_map(|operand| operand.selector).map(u128::from).collect();
    let rows = (0..ROWS).map(|row| self::row(form, row, &selectors, sources.len())).collect();
    Some(Evaluated { mnemonic: form.mnemonic(), sources, destinations, rows })
}

fn row(form: FormInfo, row: usize, selectors: &[u128], shown: usize) -> Row {
    let types: Vec<&TypeInfo> = form.sources().map(|operand| TABLE.ty(operand.ty)).collect();
    let inputs: Vec<u128> =
        form.sources().enumerate().map(|(place, operand)| operand_sample(operand, row, place)).collect();
    let words: Vec<u128> = inputs.iter().copied().chain(selectors.iter().copied()).collect();
    let results = form.evaluate(u16::MAX, &words);
    let destinations = form.results().map(|(_, ty)| TABLE.ty(ty));
    let link = inputs.iter().zip(&types).map(|(bits, ty)| format!(";{}", brief(*bits, ty))).collect();
    Row {
        sources: inputs.iter().zip(&types).map(|(bits, ty)| value::show(*bits, ty)).take(shown).collect(),
        destinations: destinations.zip(results.iter()).map(|(ty, bits)| value::show(*bits, ty)).collect(),
        link,
    }
}

/// A value as short as an input can be.
fn brief(bits: u128, ty: &TypeInfo) -> String {
    match ty.kind {
        Kind::Predicate => bits.to_string(),
        Kind::Bits | Kind::Unsigned | Kind::Signed | Kind::Float | Kind::Packed => format!("{bits:#x}"),
    }
}

/// A value for an operand: one with parts that differ where parts of it may be picked.
pub(super) fn operand_sample(operand: &Operand, row: usize, place: usize) -> u128 {
    let ty = TABLE.ty(operand.ty);
    match operand.selector {
        Some(_) => [0x01fe_7f80, 0x0203_ff7f, 0x8001_7ffe][(row + place) % 3],
        None => sample(ty, row, place),
    }
}

/// A value that tells something: rows differ in order, and the last one in kind.
fn sample(ty: &TypeInfo, row: usize, place: usize) -> u128 {
    let mask = u128::MAX >> (128 - u32::from(ty.bits.min(128)));
    let parse = |text: &str| value::parse(text, ty).unwrap_or_default() & mask;
    let whole = |values: [[i32; 3]; 3]| parse(&values[row % 3][place % 3].to_string());
    let float = |values: [[f32; 3]; 3]| parse(&values[row % 3][place % 3].to_string());
    match ty.kind {
        Kind::Predicate => [1, 0, 1][row % 3],
        Kind::Bits | Kind::Unsigned => whole([[5, 7, 3], [7, 7, 1], [200, 5, 0]]),
        Kind::Signed => whole([[5, -3, 1], [-3, 5, -1], [7, 7, 0]]),
        Kind::Float => float([[1.5, 2.5, -1.0], [2.5, -0.5, 0.0], [f32::NAN, 1.0, 1.0]]),
        Kind::Packed => {
            let lane = TABLE.ty(ty.lane);
            let lanes = (0..u32::from(ty.lanes)).rev();
            lanes.fold(0, |all, index| {
                let (row, place) = (row + index as usize, place + index as usize);
                all << lane.bits | sample(lane, row, place)
            })
        }
    }
}
