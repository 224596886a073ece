//! Number of spaces between two neighbors on a line.

use proc_macro2::TokenStream;

use super::lex::{Kind, Lexeme};
use super::structure::{Mode, Place, WIDTH};

/// Keywords after which an operand begins; not operands themselves.
const WORDS: [&str; 11] = ["as", "in", "if", "else", "only", "where", "for", "default", "of", "within", "to"];

/// Keywords that are followed by a name with parenthesized parameters.
const DECLARES: [&str; 6] = ["effect", "builtin", "fn", "operator", "template", "use"];

/// Returns true if a number, a dot and the token after it would lex as one number without a space: `cta_group::1
/// .128x256b`.
pub(super) fn makes_a_number(number: &Lexeme, dot: &Lexeme, behind: &str) -> bool {
    if number.kind != Kind::Literal || !dot.is(".") {
        return false;
    }
    let joined = format!("{}.{behind}", number.text).parse::<TokenStream>();
    let tokens: Vec<String> = joined.into_iter().flatten().map(|token| token.to_string()).collect();
    tokens.first().is_none_or(|first| first != number.text)
}

/// Number of spaces between two tokens of a line, comments excluded.
pub(super) fn before(lexemes: &[Lexeme], places: &[Place], at: usize) -> usize {
    let (last, next, place) = (lexemes[at - 1], lexemes[at], places[at]);
    if next.is("{") && place.block {
        return 1 + if place.hangs { WIDTH.saturating_sub(last.text.len()) } else { 0 };
    }
    if next.is(";") || next.is(",") && !last.is("{") && !last.is(";") {
        return 0;
    }
    if last.is(";") {
        return 1;
    }
    match place.mode {
        // Braces of an entry and their content.
        _ if (next.is("}") && place.block) || (last.is("{") && places[at - 1].block) => 1,
        Mode::Mnemonic if last.is(":") => 1,
        Mode::Mnemonic => {
            let word = next.kind == Kind::Word || next.is("$") && last.is("refused");
            usize::from(last.kind == Kind::Word && word)
        }
        Mode::Operands { before } if before > 0 => before,
        Mode::Operands { .. } => usize::from(last.is(",") || last.kind == Kind::Word && next.kind == Kind::Word),
        Mode::Section => usize::from(last.is("section")),
        Mode::Opcode => usize::from(last.is("instruction")),
        Mode::Angle => usize::from(last.is(",") || last.is(":")),
        // Aligned with `machine` on the next line.
        Mode::Plain if last.is("manual") && next.text.starts_with('"') => 2,
        Mode::Plain => usize::from(plain(lexemes, places, at)),
    }
}

/// Returns true if a space separates two tokens of an expression or a list.
fn plain(lexemes: &[Lexeme], places: &[Place], at: usize) -> bool {
    let (last, next) = (lexemes[at - 1], lexemes[at]);
    let first = places[at].first;
    match (last.text, next.text) {
        (_, "::") => first == "bodies" && last.is("bodies"),
        ("::" | "." | "!" | "~" | "%" | "$" | "(" | "[", _) | (_, ")" | "]") => false,
        (",", _) | ("{", _) | (_, "{" | "}") => true,
        // `9.7.1`
        (_, ".") if last.kind == Kind::Literal => false,
        ("-", _) => !is_sign(lexemes, at - 1),
        (_, ":") => is_choice(lexemes, at),
        // `%envreg<32>`
        (_, "<") if at > 1 && lexemes[at - 2].is("%") => false,
        ("<", _) if at > 2 && lexemes[at - 3].is("%") => false,
        (_, ">") if at > 3 && lexemes[at - 4].is("%") => false,
        (_, "(") => match last.kind {
            Kind::Word => WORDS.contains(&last.text) || is_infix(lexemes, at - 1),
            // After type parameters.
            _ => !(last.is(">") && places[at - 1].mode == Mode::Angle),
        },
        (_, "[") => !is_operand(last),
        // Parts of mnemonics as template arguments.
        (_, ".") if last.kind == Kind::Word && first == "use" && !WORDS.contains(&last.text) => false,
        // `.num.x`
        (_, ".") if last.kind == Kind::Word && at > 1 && lexemes[at - 2].is(".") => false,
        (_, ".") if last.kind == Kind::Word => !(is_call(lexemes, at) || is_state(lexemes, at)),
        _ => true,
    }
}

/// Returns true if a value or a name ends here.
fn is_operand(lexeme: Lexeme) -> bool {
    match lexeme.kind {
        Kind::Word => !WORDS.contains(&lexeme.text),
        Kind::Literal => true,
        Kind::Close => !lexeme.is("}"),
        _ => false,
    }
}

/// Returns true if a minus is a sign rather than a binary operator.
fn is_sign(lexemes: &[Lexeme], at: usize) -> bool {
    at == 0 || !is_operand(lexemes[at - 1])
}

/// Returns true if a colon belongs to a conditional `a ? b : c`.
fn is_choice(lexemes: &[Lexeme], at: usize) -> bool {
    let (mut depth, mut colons) = (0, 0);
    for lexeme in lexemes[..at].iter().rev() {
        match lexeme.kind {
            Kind::Close => depth += 1,
            Kind::Open if depth == 0 => return false,
            Kind::Open => depth -= 1,
            _ if depth > 0 => {}
            _ if lexeme.is(";") => return false,
            _ if lexeme.is(":") => colons += 1,
            _ if lexeme.is("?") && colons == 0 => return true,
            _ if lexeme.is("?") => colons -= 1,
            _ => {}
        }
    }
    false
}

/// Returns true if a word is an infix operator, as in `a CmpOp (b)`.
fn is_infix(lexemes: &[Lexeme], at: usize) -> bool {
    let Some(last) = at.checked_sub(1) else { return false };
    lexemes[at].kind == Kind::Word
        && is_operand(lexemes[last])
        && !DECLARES.contains(&lexemes[last].text)
        && !is_infix(lexemes, last)
}

/// Returns true if a dot after a name introduces the result type of a call: `convert.s32(a)`.
fn is_call(lexemes: &[Lexeme], dot: usize) -> bool {
    let mut behind = lexemes[dot + 1..]
        .iter()
        .skip_while(|lexeme| matches!(lexeme.kind, Kind::Word | Kind::Literal) || lexeme.is("::"));
    behind.next().is_some_and(|lexeme| lexeme.is("(")) && !WORDS.contains(&lexemes[dot - 1].text)
}

/// Returns true if a dot is part of the name of a state: `state CC.CF`.
fn is_state(lexemes: &[Lexeme], dot: usize) -> bool {
    dot > 1 && lexemes[dot - 2].is("state")
}
