//! Pictures of a statement: where bits move, which lanes read from which, the truth table that a constant is, and who
//! holds the elements of a matrix. All of them are found by evaluating the form, or in its layouts.

use ptx_isa::TABLE;
use ptx_isa::matrix::{Holder, Layout};
use ptx_isa::table::{FormInfo, Free, Kind, Operand};
use ptx_isa::text::Statement;
use ptx_isa::text::evaluate::{Outputs, WARP, Words as _};
use ptx_isa::text::statement::{self, Value};
use ptx_isa::value;
use serde::Serialize;

/// The largest picture of bits.
const MOST_PARTS: usize = 64;

/// The largest truth table, in inputs.
const MOST_INPUTS: usize = 4;

/// Origin of the bits of a destination, each of which depends on at most one bit of the sources.
#[derive(Serialize)]
pub(crate) struct Bits {
    destination: &'static str,
    /// Sources of which bits arrive.
    sources: Vec<&'static str>,
    /// Consecutive bits, the highest first.
    parts: Vec<Part>,
}

/// Consecutive bits of a destination.
#[derive(Serialize)]
struct Part {
    /// The lowest bit.
    to: u32,
    count: u32,
    /// The source and the lowest of its bits; `None` if they depend on none.
    origin: Option<(&'static str, u32)>,
    /// True if all of them are the same bit of the source.
    repeated: bool,
    value: String,
}

/// Lanes that a result depends on.
#[derive(Serialize)]
pub(crate) struct Warp {
    source: &'static str,
    destination: &'static str,
    /// Values in each lane.
    values: Vec<String>,
    results: Vec<String>,
    /// For each lane, the mask of the lanes whose source its result depends on.
    from: Vec<u32>,
    /// Mask of the lanes whose result is unspecified.
    unspecified: u32,
}

/// A constant operand that gives the result for each combination of the bits of the sources.
#[derive(Serialize)]
pub(crate) struct Truth {
    constant: &'static str,
    sources: Vec<&'static str>,
    destination: &'static str,
    /// A row for each combination, the first source in the highest bit.
    rows: Vec<TruthRow>,
}

#[derive(Serialize)]
struct TruthRow {
    result: bool,
    /// The statement with the other result for this combination.
    other: String,
}

/// Distribution of an operand's matrix over the lanes of a warp.
#[derive(Serialize)]
pub(crate) struct Matrix {
    operands: Vec<&'static str>,
    rows: usize,
    columns: usize,
    registers: usize,
    /// Number of rows and columns of a cell: elements that a lane holds consecutively.
    cell: (usize, usize),
    /// For each matrix and cell, row by row: the lane, and the first of its elements.
    matrices: Vec<Vec<(u8, usize)>>,
}

/// The register operands that a statement reads, each with its place among the inputs.
fn registers<'s>(statement: &'s Statement<'_>) -> impl Iterator<Item = (usize, &'static Operand)> + 's {
    sources(statement)
        .filter(|(_, (_, operand))| matches!(operand.value, Value::Register(_) | Value::Negated(_)))
        .map(|(place, (info, _))| (place, info))
}

fn sources<'s, 'a>(
    statement: &'s Statement<'a>,
) -> impl Iterator<Item = (usize, (&'static Operand, &'s statement::Operand<'a>))> {
    let read = statement.operands_with_info();
    read.filter(|(info, operand)| !info.destination && operand.value != Value::Absent).enumerate()
}

fn width(operand: &Operand) -> u32 {
    TABLE.ty(operand.ty).bits.into()
}

/// A word whose lowest bits are ones.
pub(crate) fn ones(bits: u32) -> u128 {
    u128::MAX >> (128 - bits.clamp(1, 128))
}

// ---- Bits.

/// A source, by its place among those that move bits, and one of its bits.
type Origin = Option<(usize, u32)>;

/// Consecutive bits: the lowest, their number, the origin of the lowest, and whether all have that.
type Run = (u32, u32, Origin, bool);

/// Returns where the bits of each destination come from, if any is moved to another position.
pub(crate) fn bits(statement: &Statement<'_>, sm: u16, words: &[u128]) -> Vec<Bits> {
    let form = statement.form();
    let results = form.evaluate(sm, words);
    let changed: Vec<(usize, &Operand, Vec<Vec<u128>>)> = registers(statement)
        .filter(|(_, info)| width(info) >= 8)
        .map(|(place, info)| {
            let bits = (0..width(info)).map(|bit| changes(form, sm, words, place, bit, &results));
            (place, info, bits.collect())
        })
        .collect();
    let mut found = Vec::new();
    for (number, (destination, ty)) in form.results().enumerate() {
        let width: u32 = TABLE.ty(ty).bits.into();
        let mut origins: Vec<Vec<Origin>> = Vec::new();
        for (source, (.., changed)) in changed.iter().enumerate() {
            let from = |to: u32| {
                let mut bits = (0..).zip(changed).filter(|(_, results)| results[number] >> to & 1 != 0);
                (bits.next().map(|(bit, _)| (source, bit)), bits.next().is_some())
            };
            let (own, several): (Vec<_>, Vec<bool>) = (0..width).map(from).unzip();
            if several.contains(&true) || own.iter().all(Option::is_none) {
                continue;
            }
            // Sources share a picture where no bit depends on two of them.
            let apart = |all: &Vec<Origin>| all.iter().zip(&own).all(|(a, b)| a.is_none() || b.is_none());
            match origins.iter_mut().find(|all| apart(all)) {
                Some(all) => all.iter_mut().zip(own).for_each(|(all, own)| *all = all.or(own)),
                None => origins.push(own),
            }
        }
        for origins in origins {
            let parts = parts(&origins, results[number], |source| changed[source].1.name);
            let moves = (0..).zip(&origins).any(|(to, origin)| origin.is_some_and(|(_, bit)| bit != to));
            // A bit that is merely repeated decides, but is not moved.
            let runs = parts.iter().any(|part| part.origin.is_some() && !part.repeated);
            if moves && runs && parts.len() <= MOST_PARTS {
                let mut sources: Vec<usize> = origins.iter().flatten().map(|(source, _)| *source).collect();
                sources.sort_unstable();
                sources.dedup();
                let sources = sources.into_iter().map(|source| changed[source].1.name).collect();
                found.push(Bits { destination, sources, parts });
            }
        }
    }
    found
}

/// The bits of each result that change with a bit of a source.
fn changes(form: FormInfo, sm: u16, words: &[u128], place: usize, bit: u32, results: &[u128]) -> Vec<u128> {
    let mut other = words.to_vec();
    other[place] ^= 1 << bit;
    form.evaluate(sm, &other).iter().zip(results).map(|(new, old)| new ^ old).collect()
}

/// Joins bits whose origins are consecutive, or the same; the highest first.
fn parts(origins: &[Origin], result: u128, name: impl Fn(usize) -> &'static str) -> Vec<Part> {
    let mut runs: Vec<Run> = Vec::new();
    for (to, origin) in (0..).zip(origins) {
        let joined = runs.last_mut().is_some_and(|(_, count, first, repeated)| {
            let next = match (*first, *origin) {
                (None, None) => Some(false),
                (Some((a, first)), Some((b, bit))) if a == b => {
                    let same = bit == first && (*repeated || *count == 1);
                    let follows = bit == first + *count && !*repeated;
                    (same || follows).then_some(same)
                }
                _ => None,
            };
            *repeated = next.unwrap_or(*repeated);
            *count += u32::from(next.is_some());
            next.is_some()
        });
        if !joined {
            runs.push((to, 1, *origin, false));
        }
    }
    let part = |(to, count, origin, repeated): Run| Part {
        to,
        count,
        origin: origin.map(|(source, bit)| (name(source), bit)),
        repeated,
        value: format!("{:#x}", result >> to & ones(count)),
    };
    runs.into_iter().rev().map(part).collect()
}

// ---- Lanes.

/// Returns which lanes each result depends on, for the sources that are read from other lanes.
pub(crate) fn warp(statement: &Statement<'_>, sm: u16, outputs: &Outputs<[u128; WARP]>) -> Vec<Warp> {
    let form = statement.form();
    let results: Vec<_> = form.results().collect();
    let compute = |words: &[[u128; WARP]]| <[u128; WARP]>::compute(form, sm, outputs.written, words);
    let values = compute(&outputs.words);
    let mut found = Vec::new();
    for (place, info) in registers(statement) {
        let mut from = vec![[0_u32; WARP]; results.len()];
        // A lane may matter only beside certain others: besides the given values, all lanes alike are tried.
        for base in [outputs.words[place], [0; WARP], [ones(width(info)); WARP]] {
            let mut words = outputs.words.clone();
            words[place] = base;
            let before = compute(&words);
            for lane in (0..WARP).filter(|lane| outputs.written >> lane & 1 != 0) {
                words[place][lane] ^= ones(width(info));
                let after = compute(&words);
                words[place][lane] = base[lane];
                for (from, ((before, _), (after, _))) in from.iter_mut().zip(before.iter().zip(&after)) {
                    let changed = (0..WARP).filter(|other| before[*other] != after[*other]);
                    changed.for_each(|other| from[other] |= 1 << lane);
                }
            }
        }
        for (number, from) in from.into_iter().enumerate() {
            if (0..).zip(from).any(|(lane, from)| from & !(1 << lane) != 0) {
                let shown = |words: &[u128; WARP], ty| words.iter().map(|word| brief(*word, ty)).collect();
                found.push(Warp {
                    source: info.name,
                    destination: results[number].0,
                    values: shown(&outputs.words[place], info.ty),
                    results: shown(&values[number].0, results[number].1),
                    from: from.to_vec(),
                    unspecified: values[number].1,
                });
            }
        }
    }
    found
}

/// A value in few letters: a number where it has one, and no leading zeros.
fn brief(word: u128, ty: ptx_isa::table::TypeId) -> String {
    match TABLE.ty(ty).kind {
        Kind::Predicate => word.to_string(),
        Kind::Bits if word < 100 => word.to_string(),
        Kind::Bits => format!("{word:x}"),
        _ => {
            let text = value::show(word, TABLE.ty(ty));
            text.split_once('(').map_or(text.clone(), |(_, number)| number.trim_end_matches(')').to_owned())
        }
    }
}

// ---- Truth tables.

/// Returns the truth table that a constant operand of the statement is: each of its bits is the result for one
/// combination of the sources' bits.
pub(crate) fn truth(statement: &Statement<'_>, sm: u16, words: &[u128]) -> Option<Truth> {
    let form = statement.form();
    let (destination, ty) = form.results().next()?;
    let all = ones(TABLE.ty(ty).bits.into());
    let inputs: Vec<(usize, &Operand)> = registers(statement).filter(|(_, info)| info.ty == ty).collect();
    if all == 1 || !(2..=MOST_INPUTS).contains(&inputs.len()) {
        return None;
    }
    let combinations = 1 << inputs.len();
    let (place, (info, operand)) =
        sources(statement).find(|(_, (_, operand))| matches!(operand.value, Value::Constant(_)))?;
    let Value::Constant(constant) = operand.value else { return None };
    // The bit that gives the result where each source has all bits 0 or 1.
    let bit_of = |combination: usize| {
        let mut words = words.to_vec();
        for (number, (place, _)) in inputs.iter().rev().enumerate() {
            words[*place] = if combination >> number & 1 != 0 { all } else { 0 };
        }
        let mut result = |bit: u32| {
            words[place] = 1 << bit;
            form.evaluate(sm, &words).first().copied()
        };
        let mut found = None;
        for bit in 0..combinations {
            match result(bit)? {
                0 => {}
                word if word == all && found.is_none() => found = Some(bit),
                _ => return None,
            }
        }
        found
    };
    let bits = (0..combinations as usize).map(bit_of).collect::<Option<Vec<u32>>>()?;
    let number = form.operands().iter().position(|other| other.name == info.name)?;
    let rows = bits.into_iter().map(|bit| TruthRow {
        result: constant >> bit & 1 != 0,
        other: statement.with_constant(number, constant ^ 1 << bit).to_string(),
    });
    let sources = inputs.iter().map(|(_, info)| info.name).collect();
    Some(Truth { constant: info.name, sources, destination, rows: rows.collect() })
}

// ---- Matrices.

/// Returns the distributions of the matrices that operands of a form hold; operands with the same one share it.
pub(crate) fn matrices(form: FormInfo, free: &Free) -> Vec<Matrix> {
    let mut found: Vec<(Matrix, Vec<Holder>)> = Vec::new();
    for operand in form.operands() {
        let Some(layout) = Layout::new(form, operand, free) else { continue };
        match found.iter_mut().find(|(matrix, holders)| *holders == layout.holders && matrix.rows == layout.rows) {
            Some((matrix, _)) => matrix.operands.push(operand.name),
            None => found.push((matrix(operand, &layout, TABLE.ty(operand.ty).bits.into()), layout.holders)),
        }
    }
    found.into_iter().map(|(matrix, _)| matrix).collect()
}

fn matrix(operand: &Operand, layout: &Layout, register: u32) -> Matrix {
    let Layout { rows, columns, registers, bits, .. } = *layout;
    let element = |matrix: usize, row: usize, column: usize| {
        let Holder { lane, register: number, bit } = layout.holders[(matrix * rows + row) * columns + column];
        (lane, (u32::from(number) * (register / bits) + u32::from(bit) / bits) as usize)
    };
    // True if each cell of this size is held by one lane, as consecutive elements.
    let joins = |(high, wide): (usize, usize)| {
        let together = |matrix: usize, row: usize, column: usize| {
            let (lane, first) = element(matrix, row - row % high, column - column % wide);
            element(matrix, row, column) == (lane, first + row % high + column % wide)
        };
        rows.is_multiple_of(high)
            && columns.is_multiple_of(wide)
            && (0..layout.matrices)
                .all(|matrix| (0..rows).all(|row| (0..columns).all(|column| together(matrix, row, column))))
    };
    let sizes = (0..6).rev().flat_map(|power| [(1, 1 << power), (1 << power, 1)]);
    let (high, wide) = sizes.into_iter().find(|size| joins(*size)).unwrap_or((1, 1));
    let cells = |matrix: usize| {
        let rows = (0..rows).step_by(high);
        rows.flat_map(|row| (0..columns).step_by(wide).map(move |column| (row, column)))
            .map(|(row, column)| element(matrix, row, column))
            .collect()
    };
    let matrices = (0..layout.matrices).map(cells).collect();
    Matrix { operands: vec![operand.name], rows, columns, registers, cell: (high, wide), matrices }
}
