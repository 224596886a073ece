//! Sums of products in words.

use crate::model::{Rounding, Sum, SumOfBuf, SummationBuf};

/// The sums of a summation, by target: `fused: sm_75 24 fraction bits, 16 bytes a step; sm_90 25 fraction bits`.
pub(super) fn summed(summation: &SummationBuf) -> String {
    let row = |row: &SumOfBuf| {
        let sum = match row.sum {
            Sum::Exact => "exact".to_owned(),
            Sum::CountAnd => "counts of AND".to_owned(),
            Sum::CountXor => "counts of XOR".to_owned(),
            Sum::Chained { rounding, step } => {
                let mode = match rounding {
                    Rounding::Nearest => "rn",
                    Rounding::Zero => "rz",
                    Rounding::Down => "rm",
                    Rounding::Up => "rp",
                };
                match step {
                    0 => format!("chain of `fma.{mode}`"),
                    step => format!("chains of `fma.{mode}` of {step} bytes, each added to the accumulator"),
                }
            }
            Sum::Fused { fraction, step, result, group, split } => {
                let mut text = format!("{fraction} fraction bits");
                for (number, what) in [(step, "bytes a step"), (result, "of the result"), (group, "products a term")] {
                    if number != 0 {
                        text += &format!(", {number} {what}");
                    }
                }
                if split != 0 {
                    text += &format!(
                        ", the first {half} of every {split} elements, then the other {half}, as half precision, and the \
                         accumulator at last",
                        half = split / 2
                    );
                }
                text
            }
        };
        format!("sm_{} {sum}{}", row.sm, if row.likely { " (likely)" } else { "" })
    };
    let rows: Vec<String> = summation.rows.iter().map(row).collect();
    format!("{}: {}", summation.name, rows.join("; "))
}
