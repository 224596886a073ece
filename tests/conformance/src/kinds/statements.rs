//! Syntax around operands: commas, semicolons, guards, labels, braces, comments; too few and too many operands.

use std::collections::BTreeSet;

use super::{Batch, Extent, newest};
use crate::forms::{one_each, own_register, statement};

/// Prefixes of a statement; `P` is a predicate.
const BEFORE: &[&str] = &[
    "@P ",
    "@!P ",
    "@ P ",
    "@ !P ",
    "@! P ",
    "@!\nP ",
    "@/**/P ",
    "@P\n",
    "@P/**/",
    "@P",
    "@",
    "@!",
    "@!!P ",
    "@(P) ",
    "@1 ",
    "@!1 ",
    "@_ ",
    "@P @P ",
    "@P, ",
    "@P; ",
    "@P: ",
    "@P|P ",
    "@P+0 ",
    "@-P ",
    "@u32_0 ",
    "@undeclared ",
    "@%tid.x ",
    "@%p ",
    "@pred_01 ",
    "@pred_9 ",
    "@P.x ",
    "@v2_u32 ",
    "@v2_u32.x ",
    "@function ",
    "@label ",
    "@WARP_SZ ",
    "@kernel ",
    "@variable ",
    "a: ",
    "a:b: ",
    "a : ",
    "a:",
    "a:\n@P ",
    "@P a: ",
    "$L: ",
    "%L: ",
    "1: ",
    "a:; ",
    "; ",
    ";; ",
    "a: a: ",
    "label: ",
    "function: ",
    "u32_0: ",
    "pred_2: @P ",
    "pred_1:",
    "_: ",
    "a.b: ",
    "WARP_SZ: ",
    "a::",
    "$a$: ",
    "_a: ",
    "a%: ",
    "{ ",
    "} ",
    "{} ",
    "{{}} ",
    "{}; ",
    "/**/",
    "/* */ /**/",
    "// c\n",
    "/*/ ",
    "/ ",
    "# 1 \"a\"\n",
    "#\n",
    ".loc 1 3 0 ",
    ".loc 1 3 ",
    ".pragma \"x\"; ",
    ".pragma \"x\" ",
    ".file 1 \"a\" ",
    ".reg .u32 b; ",
    ".reg .u32 ; ",
    ".reg .u32 b<4>; ",
    ".reg .u32 b",
    ".reg .foo b; ",
    ".reg b; ",
    ".reg .pred q<2>, r; ",
    ".reg .f32 u32_0; ",
    ".reg .f32 u32_<2>; ",
    ".reg .v2 .u32 pred_0; ",
    ".reg .u32 b, b; ",
    ".reg .u32 b<0>; ",
    ".reg .u32 b<-1>; ",
    ".reg .u32 b<1.0>; ",
    ".reg .u32 b<4U>, c<0x4>; ",
    ".reg .u32 b = 1; ",
    ".reg .v3 .u32 b; ",
    ".reg .u32 1b; ",
    ".local .u32 u32_1; ",
    "ret; ",
    "bra label; ",
    "mov.u32 u32_0, 1; ",
    "\u{feff}",
    "é",
    "\u{0}",
    "\u{b}",
    "\u{c}",
    "\t",
    "\r",
    "...",
    ".",
    "%",
    "@@ ",
    "@@DWARF\n",
];

/// Suffixes of a statement, including its semicolon.
const BEHIND: &[&str] = &[
    "",
    " ;",
    "\n;",
    "/**/;",
    ";;",
    "; ;",
    ";;;",
    "; {}",
    "; a:",
    "; ret;",
    "; }",
    ";}{",
    ";\n}",
    "\n",
    ",;",
    ", ;",
    ",",
    ".;",
    ";.",
    "; // c",
    "; /* c */",
    "; /* c",
    "//;",
    "/*;*/",
    "/*;",
    ":",
    ";:",
    "}",
    "{",
    "{};",
    ");",
    "];",
    "|;",
    "!;",
    "@;",
    ", _;",
    "+;",
    "+1;",
    "; #",
    "é;",
    "; é",
    "; // é",
    " a;",
    " 1;",
    ";1",
    "; 1",
    "; a",
    ";@pred_0",
    "; @pred_0",
    "\\;",
    "\";",
    "; \"",
];

/// Replacements for a comma.
const COMMAS: &[&str] =
    &["", " ", ",,", ", ,", " , ", "\n,\n", "/**/,/**/", ";", ":", "|", ",_,", ".", ",\u{b}", "//,\n,", "+", ", !"];

pub(crate) fn batches(extent: &Extent, take: &mut dyn FnMut(Batch)) {
    let forms = one_each(|form| {
        let shape = |operand: &ptx_isa::table::Operand| {
            (
                operand.destination,
                operand.second.is_some(),
                operand.sink,
                operand.constants,
                operand.optional,
                operand.selector.is_some(),
                operand.negation,
            )
        };
        let operands: Vec<String> = form.operands().iter().map(|operand| format!("{:?}", shape(operand))).collect();
        (if extent.quick { 0 } else { form.instruction().index() }, operands)
    });
    let mut lines = BTreeSet::new();
    for form in forms {
        let whole = statement(form, own_register);
        let bare = whole.strip_suffix(';').expect("a statement ends in a semicolon");
        for before in BEFORE {
            lines.insert(format!("{}{whole}", before.replace('P', "pred_2").replace("WARpred_2_SZ", "WARP_SZ")));
        }
        for behind in BEHIND {
            lines.insert(format!("{bare}{behind}"));
        }
        lines.insert(format!("{whole}{whole}"));
        lines.insert(format!("{whole}\n\n@pred_2 {whole}"));
        for (place, _) in whole.match_indices(", ") {
            for comma in COMMAS {
                lines.insert(format!("{}{comma}{}", &whole[..place], &whole[place + 2..]));
            }
            lines.insert(format!("{};", &whole[..place]));
        }
        let (mnemonic, operands) = bare.split_once(' ').unwrap_or((bare, ""));
        let list: Vec<&str> = operands.split(", ").collect();
        for place in 0..list.len() {
            let mut fewer = list.clone();
            fewer.remove(place);
            lines.insert(format!("{mnemonic} {};", fewer.join(", ")));
            let mut more = list.clone();
            more.insert(place, list[place]);
            lines.insert(format!("{mnemonic} {};", more.join(", ")));
            let mut swapped = list.clone();
            swapped.swap(0, place);
            lines.insert(format!("{mnemonic} {};", swapped.join(", ")));
        }
        for extra in ["pred_0", "!pred_0", "u32_0", "1", "1.0", "_", "u32_0, u32_1", "f32_0, pred_0", "b32_0"] {
            lines.insert(format!("{bare}, {extra};"));
        }
        lines.insert(format!("{mnemonic};"));
        lines.insert(mnemonic.to_owned());
    }
    take(Batch { context: newest(), lines: lines.into_iter().collect() });
}
