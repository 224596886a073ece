//! Random lines near legal ones: a statement of a random form with operands that mostly fit, then a few edits.

use ptx_isa::TABLE;
use ptx_isa::selector::{self, Permission};
use ptx_isa::table::{FormInfo, Free, Kind, Operand, OperandKind};

use super::{Batch, Extent, newest, operands};
use crate::context::{declarable, in_vectors};
use crate::forms::{free, own_register, words};
use crate::random::{Random, hash, pick_name};

/// Number of lines in one batch.
const BATCH: usize = 10_000;

/// Candidates for a function operand.
const FUNCTIONS: &[&str] = &["function", "callee", "by_register", "by_bytes", "kernel", "prototype", "b64_0"];

/// Candidates for the arguments or results of a call.
const ARGUMENTS: &[&str] = &[
    "()",
    "(word)",
    "(word_1, two_words)",
    "(two_words, word)",
    "(word_1)",
    "(bytes)",
    "(b32_0)",
    "(f32_0)",
    "(b64_0)",
    "(1)",
    "(1, 2)",
    "(_)",
    "(word, two_words, bytes)",
    "(number)",
    "(local_variable)",
];

/// Candidates for the target list or prototype of an indirect branch or call.
const TABLES: &[&str] = &["list", "functions", "prototype", "plain", "label", "undeclared"];

pub(crate) fn batches(extent: &Extent, take: &mut dyn FnMut(Batch)) {
    let texts = operands::texts("u32");
    // The lines of a form do not change when the table gets others.
    let rounds = extent.random.div_ceil(TABLE.forms.len());
    let share = extent.random as f64 / (rounds * TABLE.forms.len()) as f64;
    let mut lines = Vec::new();
    for form in TABLE.forms() {
        let mut random = Random::new(hash(form.mnemonic(), extent.seed));
        for _ in 0..rounds {
            let mut own = Random::new(random.next());
            if (random.below(1_000_000) as f64) < share * 1e6 {
                lines.push(line(&mut own, form, &texts));
            }
        }
        if lines.len() >= BATCH {
            take(Batch { context: newest(), lines: std::mem::take(&mut lines) });
        }
    }
    take(Batch { context: newest(), lines });
}

fn line(random: &mut Random, form: FormInfo, texts: &[String]) -> String {
    let mut tokens = tokens(random, form, texts);
    // Half of all lines stay as they are.
    let edits = [0, 0, 0, 1, 1, 2][random.below(6)];
    for _ in 0..edits {
        edit(random, &mut tokens);
    }
    tokens.concat()
}

/// The tokens of a statement, blanks among them.
fn tokens(random: &mut Random, form: FormInfo, texts: &[String]) -> Vec<String> {
    let mut tokens = Vec::new();
    if random.one_in(4) {
        let not = if random.one_in(2) { "!" } else { "" };
        tokens.extend(["@", not, "pred_0", " "].map(str::to_owned));
    }
    let mnemonic = form.mnemonic_with(&free(form, random).unwrap_or(Free::NONE));
    let opcode = form.instruction().data().opcode;
    tokens.push(opcode.to_owned());
    let mut modifiers: Vec<String> =
        mnemonic[opcode.len()..].split('.').skip(1).map(|part| format!(".{part}")).collect();
    if random.one_in(8) && modifiers.len() > 1 {
        let (one, other) = (random.below(modifiers.len()), random.below(modifiers.len()));
        modifiers.swap(one, other);
    }
    tokens.append(&mut modifiers);
    for (index, operand) in form.operands().iter().enumerate() {
        if operand.optional && random.one_in(3) {
            break;
        }
        tokens.push(if index == 0 { " " } else { ", " }.to_owned());
        tokens.push(operand.around.before().to_owned());
        write_operand(random, &mut tokens, index, operand, texts);
        tokens.push(operand.around.behind().to_owned());
    }
    tokens.push(";".to_owned());
    tokens
}

fn write_operand(
    random: &mut Random,
    tokens: &mut Vec<String>,
    index: usize,
    operand: &'static Operand,
    texts: &[String],
) {
    if operand.kind != OperandKind::Scalar {
        let names = match operand.kind {
            OperandKind::Function => FUNCTIONS,
            OperandKind::Arguments => ARGUMENTS,
            OperandKind::Branches | OperandKind::Targets => TABLES,
            _ => &[],
        };
        let usual = |place| own_register(index + place, operand);
        return tokens.push(match random.below(10) {
            0 => random.of(texts).clone(),
            1..8 if !names.is_empty() => random.of(names).to_string(),
            _ => crate::forms::operand(operand, usual),
        });
    }
    if operand.negation != Permission::No && random.one_in(3) {
        tokens.push("!".to_owned());
    }
    let fits: Vec<_> = declarable().filter(|ty| operand.registers.has(*ty)).collect();
    let name = |random: &mut Random| match fits.is_empty() {
        true => own_register(index, operand),
        false => {
            let ty = *random.of(&fits);
            let name = TABLE.types[ty.index()].name;
            match random.below(8) {
                0 if in_vectors(ty) => format!("v2_{name}.{}", random.of(&["x", "y", "r", "g"])),
                _ => format!("{name}_{}", random.below(4)),
            }
        }
    };
    let text = match random.below(10) {
        0 => random.of(texts).clone(),
        1 if operand.sink => "_".to_owned(),
        2 | 3 if operand.constants => constant(random, TABLE.types[operand.ty.index()].kind),
        4 if operand.constants => format!("{}+{}", name(random), random.below(9)),
        _ => name(random),
    };
    tokens.push(text);
    if let Some(second) = &operand.second
        && (second.optional != Permission::Yes || random.one_in(2))
    {
        tokens.push("|".to_owned());
        tokens.push(if random.one_in(4) { "_".to_owned() } else { name(random) });
    }
    if let Some(selector) = &operand.selector
        && random.one_in(2)
    {
        let digits = match selector.kind {
            selector::Kind::Lanes { lanes, of } => {
                let of = usize::from(of) + usize::from(random.one_in(8));
                (0..lanes).map(|_| random.below(of).to_string()).collect()
            }
            selector::Kind::Subset { of } => {
                let mut digits: Vec<usize> = (0..usize::from(of)).rev().filter(|_| random.one_in(2)).collect();
                if random.one_in(8) {
                    digits.reverse();
                }
                digits.iter().map(usize::to_string).collect()
            }
            selector::Kind::Listed { words } => {
                tokens.push(format!(".{}", random.of(words)));
                return;
            }
        };
        let digits: String = digits;
        tokens.push(format!(".{}{digits}", selector.letter));
    }
}

/// A constant expression, mostly of the right kind.
fn constant(random: &mut Random, kind: Kind) -> String {
    const INTEGERS: &[&str] =
        &["0", "1", "7U", "0x1f", "017", "0b11", "WARP_SZ", "-1", "~0", "!3", "(.s64)2", "(.u64)9"];
    const FLOATS: &[&str] = &["1.0", ".5", "2e3", "0d3ff0000000000000", "-1.5", "1.", "0f3f800000"];
    const BOTH: &[&str] = &["+", "-", "*", "/", "<", "<=", "==", "!="];
    const WHOLE: &[&str] = &["&", "|", "^", "<<", ">>", "&&", "||", " % ", "%"];
    let float = (kind == Kind::Float) != random.one_in(10);
    let one = |random: &mut Random| random.of(if float { FLOATS } else { INTEGERS }).to_string();
    let mut text = one(random);
    while random.one_in(3) {
        let list = if float || random.one_in(2) { BOTH } else { WHOLE };
        let operator = random.of(list);
        let more = one(random);
        text = match random.below(5) {
            0 => format!("({text}){operator}{more}"),
            1 => format!("{text} {operator} ({more})"),
            2 if !float => format!("{text} ? {more} : {}", one(random)),
            _ => format!("{text}{operator}{more}"),
        };
    }
    text
}

/// One small change.
fn edit(random: &mut Random, tokens: &mut Vec<String>) {
    const TOKENS: &[&str] = &[
        ",", ";", "|", "!", "@", "_", ":", "+", "-", "(", ")", " ", "\n", "/**/", ".", "1", "1.0", "pred_1", "u32_1",
        "f32_1", "v2_u32", "function", "variable", "label", "%laneid", "[", "]", "WARP_SZ", "u32_01", "//\n",
    ];
    if tokens.is_empty() {
        return;
    }
    let place = random.below(tokens.len());
    match random.below(9) {
        0 => {
            tokens.remove(place);
        }
        1 => tokens.insert(place, tokens[place].clone()),
        2 => {
            let other = random.below(tokens.len());
            tokens.swap(place, other);
        }
        3 => tokens.insert(place, random.of(TOKENS).to_string()),
        4 => tokens.insert(place, [" ", "\n", "\t", "/**/", "//\n"][random.below(5)].to_owned()),
        5 => tokens[place] = random.of(TOKENS).to_string(),
        6 | 7 => {
            let modifier = format!(".{}", pick_name(random, words()));
            match tokens[place].starts_with('.') || random.one_in(4) {
                true => tokens[place] = modifier,
                false => tokens.insert(place, modifier),
            }
        }
        _ => {
            // A letter less, or one twice.
            let letters: Vec<char> = tokens[place].chars().collect();
            if let Some(at) = (!letters.is_empty()).then(|| random.below(letters.len())) {
                let twice = random.one_in(2);
                let kept = letters.iter().enumerate().filter(|(index, _)| twice || *index != at);
                tokens[place] = kept
                    .flat_map(|(index, c)| std::iter::repeat_n(*c, 1 + usize::from(twice && index == at)))
                    .collect();
            }
        }
    }
}

/// One or two small changes to a line, which stays a line.
pub(crate) fn spoil(random: &mut Random, line: &str) -> String {
    let mut tokens: Vec<String> = Vec::new();
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    for c in line.chars() {
        match tokens.last_mut() {
            Some(last) if word(c) && last.chars().all(|other| word(other) || other == '.') => last.push(c),
            _ => tokens.push(c.to_string()),
        }
    }
    for _ in 0..1 + random.below(2) {
        edit(random, &mut tokens);
    }
    tokens.concat().replace('\n', " ").replace("//", "")
}
