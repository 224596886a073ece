//! Evaluators of forms, with the data of an instruction.

use alloc::vec::Vec;

use isa_table::program::{Outcomes, Param, Reader, Shape, Value as Coded};

use super::DecodeError;
use crate::table::{Evaluator, FormInfo};

/// The evaluator of a form, and all data of an instruction except the places of its operands.
pub(crate) struct Decoded {
    pub evaluator: Evaluator,
    /// For each parameter, its constant, its truth table, or its packed selector.
    pub data: Vec<u64>,
    /// Compiled loops over lanes; empty if the instruction runs thread by thread.
    pub loops: &'static [crate::lanes::Run],
}

impl Decoded {
    /// Returns the evaluator for targets with this SM number and `sources` sources. `selectors` are packed, in order of
    /// writing; if empty, the defaults apply.
    pub(crate) fn new(form: FormInfo, sm: u16, sources: usize, selectors: &[u32]) -> Result<Decoded, DecodeError> {
        let name = form.mnemonic();
        if form.evaluations().is_empty() {
            return Err(DecodeError::NoEvaluator(name));
        }
        let evaluator = form.evaluator(sm, sources).ok_or(DecodeError::Count(name))?;
        if !selectors.is_empty() && selectors.len() != form.selectors().count() {
            return Err(DecodeError::Count(name));
        }
        let loops = evaluator.code();
        let shape = evaluator.shape();
        // Without a loop, it runs thread by thread, provided that registers can hold its operands.
        let held = shape.places.iter().all(|bits| matches!(bits, 1 | 8 | 16 | 32 | 64));
        let loops = match loops {
            Ok(loops) => loops,
            Err(_) if held && shape.places.len() <= isa_table::limits::PLACES => &[],
            Err(why) => return Err(DecodeError::NoLanes { form: name, why }),
        };
        let mut data = evaluator.data().to_vec();
        for (param, datum) in shape.params.iter().zip(&mut data) {
            if let Param::Pick(..) | Param::Subset(_) = param {
                let number = *datum as usize;
                let default = form.selectors().nth(number).map_or(0, |selector| selector.default);
                *datum = selectors.get(number).copied().unwrap_or(default).into();
            }
        }
        Ok(Decoded { evaluator, data, loops })
    }
}

/// Complements a predicate source of a shape, by permuting the truth tables that depend on it.
pub(crate) fn complement(shape: &Shape, data: &mut [u64], source: usize) {
    let mut reader = Reader::new(shape.code);
    // Values that equal this source: the source itself, and its broadcasts to lanes.
    let mut asked = Vec::new();
    // For each truth table, a mask of the leaves that equal this source. Outputs that share a table have the same
    // leaves.
    let mut flips = alloc::vec![0_usize; data.len()];
    let mut number = 0_u8;
    while let Some(value) = reader.next() {
        match value {
            Coded::Source { source: own, .. } if usize::from(own) == source => asked.push(number),
            Coded::Spread { of, .. } if asked.contains(&of) => asked.push(number),
            Coded::Truth { table: Outcomes::Param(param), leaves, .. } => {
                for (index, (leaf, _)) in leaves.iter().enumerate() {
                    if asked.contains(leaf) {
                        flips[usize::from(param)] |= 1 << index;
                    }
                }
            }
            _ => {}
        }
        number += 1;
    }
    for ((datum, flip), param) in data.iter_mut().zip(flips).zip(shape.params) {
        if let (Param::Truth(leaves), 1..) = (param, flip) {
            let outcomes = *datum;
            *datum = (0..1 << leaves).fold(0, |table, spelt| table | (outcomes >> (spelt ^ flip) & 1) << spelt);
        }
    }
}
