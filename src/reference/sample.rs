//! Sample inputs: small distinct numbers, and values with distinct parts for operands of which parts may be selected.

use alloc::borrow::ToOwned;
use alloc::string::String;

use crate::table::{Kind, Operand, Table, TypeInfo};
use crate::value;

/// Number of distinct rows of samples.
pub const ROWS: usize = 3;

/// Returns a sample value for an operand of a table. The parts of the value are distinct if parts of it may be
/// selected.
pub fn of(table: &Table, operand: &Operand, row: usize, place: usize) -> u128 {
    match (operand.selector, operand.within) {
        (_, [range, ..]) => u128::from(range.least as u64),
        (Some(_), _) => [0x01fe_7f80, 0x0203_ff7f, 0x8001_7ffe][(row + place) % ROWS],
        (None, _) => sample(table, table.ty(operand.ty), row, place),
    }
}

/// Formats the sample value of an operand in its shortest readable form: as a number rather than as bits, if possible.
pub fn written(table: &Table, operand: &Operand, place: usize) -> String {
    let ty = table.ty(operand.ty);
    if ty.kind == Kind::Packed && matches!(table.ty(ty.lane).kind, Kind::Float | Kind::Minifloat) {
        return value::show_lanes(table, of(table, operand, 0, place), ty).join(" ");
    }
    let text = value::show(of(table, operand, 0, place), ty);
    let value = text.split_once('(').map(|(_, value)| value.trim_end_matches(')'));
    let bits = text.split(' ').next().unwrap_or_default();
    value.filter(|_| operand.selector.is_none()).unwrap_or(bits).to_owned()
}

/// Rows differ in order, and the last one in kind.
fn sample(table: &Table, ty: &TypeInfo, row: usize, place: usize) -> u128 {
    let mask = u128::MAX >> (128 - u32::from(ty.bits.min(128)));
    let parse = |text: &str| value::parse(text, ty).unwrap_or_default() & mask;
    let whole = |values: [[i32; 3]; ROWS]| parse(&alloc::format!("{}", values[row % ROWS][place % 3]));
    let float = |values: [[f32; 3]; ROWS]| parse(&alloc::format!("{}", values[row % ROWS][place % 3]));
    match ty.kind {
        Kind::Predicate => [1, 0, 1][row % ROWS],
        Kind::Bits | Kind::Unsigned => whole([[5, 7, 3], [7, 7, 1], [200, 5, 0]]),
        Kind::Signed => whole([[5, -3, 1], [-3, 5, -1], [7, 7, 0]]),
        Kind::Float | Kind::Minifloat => float([[1.5, 2.5, -1.0], [2.5, -0.5, 0.0], [f32::NAN, 1.0, 1.0]]),
        Kind::Packed => {
            let lane = table.ty(ty.lane);
            let lanes = (0..usize::from(ty.lanes)).rev();
            lanes.fold(0, |all, index| all << ty.lane_bits() | sample(table, lane, row + index, place + index))
        }
    }
}
