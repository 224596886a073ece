//! Every selector and mask, on operands that take one and on operands that do not.

use ptx_isa::selector::{self, Selector};
use ptx_isa::table::FormInfo;

use super::{Batch, Extent, newest};
use crate::forms::{one_each, own_register, statement};
use crate::random::hash;

pub(crate) fn batches(extent: &Extent, take: &mut dyn FnMut(Batch)) {
    let mut words: Vec<String> = Vec::new();
    for letter in ["b", "h"] {
        let mut longer = vec![letter.to_owned()];
        for length in 0..=5 {
            words.extend(longer.iter().cloned());
            // The digits of a legal selector end at 7; one more is tried for short words.
            let digits = if length < 2 { 10 } else { 8 };
            if length < 4 {
                longer =
                    longer.iter().flat_map(|word| (0..digits).map(move |digit| format!("{word}{digit}"))).collect();
            } else {
                longer.retain(|word| word.bytes().any(|byte| byte == b'2'));
                longer.iter_mut().for_each(|word| word.push('0'));
                longer.truncate(100);
            }
        }
    }
    words.extend(["B0", "H1", "b_0", "b0b1", "x0", "b0x", "h01h", "b-1", "b 0", "b0 "].map(str::to_owned));
    let forms = one_each(|form| {
        let selectors: Vec<_> =
            form.operands().iter().map(|operand| operand.selector.map(|info| format!("{info:?}"))).collect();
        (
            form.instruction().index(),
            selectors,
            form.operands().len(),
            format!("{:?}", form.operands().iter().map(|o| o.optional).collect::<Vec<_>>()),
        )
    });
    for form in forms {
        if form.selectors().next().is_none() {
            continue;
        }
        let digits = |info: &Selector| match info.kind {
            selector::Kind::Lanes { lanes, .. } => usize::from(lanes),
            selector::Kind::Subset { of } => usize::from(of),
            selector::Kind::Listed { words } => words.iter().map(|word| word.len() - 1).max().unwrap_or(0),
        };
        let mut lines = Vec::new();
        for place in 0..form.operands().len() {
            let most = form.operands()[place].selector.map_or(1, digits);
            for word in &words {
                let tried =
                    |line: &String| !extent.quick || word.len() <= 3 || hash(line, extent.seed).is_multiple_of(16);
                if word.len() <= most + 2 {
                    lines.extend(Some(statement_with(form, place, word)).filter(tried));
                }
            }
        }
        take(Batch { context: newest(), lines });
    }
}

/// The statement with this word behind one operand, and no other selector that may be left out.
fn statement_with(form: FormInfo, place: usize, word: &str) -> String {
    let text = statement(form, |index, operand| format!("{}\u{0}{index}\u{0}", own_register(index, operand)));
    // The mark shows where the operand ends; a selector that must be written follows it.
    let mark = format!("\u{0}{place}\u{0}");
    let (before, behind) = text.split_once(&mark).expect("every operand is marked");
    let behind =
        behind.strip_prefix('.').map_or(behind, |rest| rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    let line = format!("{before}.{word}{behind}");
    let mut plain = String::new();
    let mut parts = line.split('\u{0}');
    while let Some(part) = parts.next() {
        plain.push_str(part);
        // Every second part is a number.
        parts.next();
    }
    plain
}
