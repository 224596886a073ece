//! Modifiers out of order, twice, left out, foreign, misspelt, and with blanks around their dots.

use std::collections::BTreeSet;

use ptx_isa::table::{ABSENT, FormInfo};

use super::{Batch, Extent, newest};
use crate::forms::{one_each, own_register, statement, words};
use crate::random::hash;

/// Modifiers that PTX has and the table may not.
const FOREIGN: &[&str] = &[
    "sat", "rn", "rz", "approx", "full", "uni", "sync", "relu", "noftz", "cc", "hi", "lo", "wide", "global", "shared",
    "v2", "v4", "volatile", "L2::128B", "x2", "e4m3", "tf32", "foo", "u32x", "U32", "reg", "entry", "version", "1",
    "32", "f", "", "_", "eq2", "u33", "f8", "b256", "s4", "const", "param", "align", "b", "h", "h0", "b0", "x", "y",
];

const BLANKS: &[&str] = &[" ", "\t", "\n", "\r", "\x0c", "\x0b", "/**/", "// c\n", "  \n ", "\u{a0}", "\\"];

pub(crate) fn batches(extent: &Extent, take: &mut dyn FnMut(Batch)) {
    // One form for each set of slots that are filled, of each entry.
    let mut lines = BTreeSet::new();
    let words = words();
    let forms = one_each(|form| {
        let filled: Vec<bool> = form.values().iter().map(|value| *value == ABSENT).collect();
        (form.instruction().index(), form.line(), filled)
    });
    // A quick run tries an eighth of them.
    let turn = |form: &FormInfo| hash(form.mnemonic(), extent.seed);
    for form in forms.into_iter().filter(|form| !extent.quick || turn(form).is_multiple_of(8)) {
        let whole = statement(form, own_register);
        let (mnemonic, operands) = whole.split_at(whole.find([' ', ';']).unwrap_or(whole.len()));
        let opcode = form.instruction().data().opcode;
        let modifiers: Vec<&str> = mnemonic[opcode.len()..].split('.').skip(1).collect();
        let modifiers = &modifiers[..];
        let mut add = |modifiers: &[&str]| {
            let dotted: String = modifiers.iter().map(|modifier| format!(".{modifier}")).collect();
            lines.insert(format!("{opcode}{dotted}{operands}"));
        };
        // Of many modifiers the first few change places.
        let moved = modifiers.len().min(5);
        permutations(&mut modifiers[..moved].to_vec(), 0, &mut |first: &[&str]| {
            add(&[first, &modifiers[moved..]].concat())
        });
        for (dot, _) in opcode.match_indices('.') {
            // Modifiers between the words of an opcode: these must be adjacent.
            let (before, behind) = opcode.split_at(dot);
            let rest: String = modifiers.iter().map(|modifier| format!(".{modifier}")).collect();
            lines.insert(format!("{before}{rest}{behind}{operands}"));
        }
        let mut add = |modifiers: &[&str]| {
            let dotted: String = modifiers.iter().map(|modifier| format!(".{modifier}")).collect();
            lines.insert(format!("{opcode}{dotted}{operands}"));
        };
        // A quick run tries other words with each form, a few of them.
        let tried = |word: &&&str| !extent.quick || hash(word, turn(&form)).is_multiple_of(32);
        for other in words.iter().chain(FOREIGN).filter(tried) {
            for place in 0..=modifiers.len() {
                let mut more = modifiers.to_vec();
                more.insert(place, other);
                if !extent.quick || place == modifiers.len() {
                    add(&more);
                }
                if place < modifiers.len() {
                    more.remove(place + 1);
                    add(&more);
                }
            }
        }
        for place in 0..modifiers.len() {
            let mut less = modifiers.to_vec();
            less.remove(place);
            add(&less);
            for behind in 0..=modifiers.len() {
                let mut twice = modifiers.to_vec();
                twice.insert(behind, modifiers[place]);
                add(&twice);
            }
            let upper = modifiers[place].to_uppercase();
            let mut loud = modifiers.to_vec();
            loud[place] = &upper;
            add(&loud);
        }
        for (place, _) in whole.char_indices().filter(|(place, c)| *c == '.' && *place < mnemonic.len()) {
            for blank in BLANKS {
                lines.insert(format!("{}{blank}{}", &whole[..place], &whole[place..]));
                lines.insert(format!("{}{blank}{}", &whole[..=place], &whole[place + 1..]));
            }
        }
        for blank in BLANKS {
            lines.insert(format!("{mnemonic}{blank}{operands}"));
        }
        lines.insert(whole.to_uppercase());
        lines.insert(format!("{opcode}x{}", &whole[opcode.len()..]));
        lines.insert(format!("{}{}", &opcode[..opcode.len() - 1], &whole[opcode.len()..]));
        lines.insert(format!("%{whole}"));
        lines.insert(format!(".{whole}"));
    }
    take(Batch { context: newest(), lines: lines.into_iter().collect() });
}

fn permutations<'a>(list: &mut Vec<&'a str>, from: usize, visit: &mut dyn FnMut(&[&'a str])) {
    if from + 1 >= list.len() {
        return visit(list);
    }
    for other in from..list.len() {
        list.swap(from, other);
        permutations(list, from + 1, visit);
        list.swap(from, other);
    }
}
