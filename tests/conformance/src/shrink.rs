//! Smaller lines on which the verdicts still differ.

use crate::assembler::Assembler;
use crate::context::Context;

/// Leaves out what can be left out of a line, a token or more at a time, while the verdicts differ in the same way.
pub(crate) fn shrink(assembler: &Assembler, context: &Context, line: &str) -> String {
    let sense = |line: &str| {
        let (ours, _) = context.judge(line);
        let theirs = assembler.judge_one(context, line);
        (ours.taken() != theirs.taken()).then_some(ours.taken())
    };
    let Some(first) = sense(line) else { return line.to_owned() };
    let mut tokens = tokens(line);
    let mut length = tokens.len() / 2;
    let mut left = 400;
    while length > 0 {
        let mut at = 0;
        while at + length <= tokens.len() && left > 0 {
            left -= 1;
            let mut fewer = tokens.clone();
            fewer.drain(at..at + length);
            if sense(&fewer.concat()) == Some(first) {
                tokens = fewer;
            } else {
                at += 1;
            }
        }
        length /= 2;
    }
    tokens.concat()
}

/// Words with the dot before them, and single characters.
fn tokens(line: &str) -> Vec<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    let mut tokens: Vec<String> = Vec::new();
    for c in line.chars() {
        match tokens.last_mut() {
            Some(last) if word(c) && last.chars().all(|other| word(other) || other == '.') => last.push(c),
            _ => tokens.push(c.to_string()),
        }
    }
    tokens
}
