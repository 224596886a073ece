//! Layout of lines with aligned columns.

use super::lex::Lexeme;
use super::space;
use super::structure::{Column, Place};

/// A line of output.
#[derive(Default)]
struct Line {
    text: String,
    /// Bracket frame of its first statement; of a hanging block, of the first one within.
    frame: usize,
    /// Columns with their offsets in characters.
    columns: Vec<(Column, usize)>,
    /// True if it contains only doc comments or comments.
    is_comment: bool,
}

/// Renders the text of a file.
pub(super) fn text(lexemes: &[Lexeme], places: &[Place]) -> String {
    let mut lines = lines(lexemes, places);
    for column in [Column::Value, Column::Registers] {
        let mut start = 0;
        while start < lines.len() {
            let end =
                (start..lines.len()).find(|at| !belongs(&lines[start], &lines[*at], column)).unwrap_or(lines.len());
            align(&mut lines[start..end], column);
            start = end.max(start + 1);
        }
    }
    lines.iter().map(|line| format!("{}\n", line.text.trim_end())).collect()
}

fn lines(lexemes: &[Lexeme], places: &[Place]) -> Vec<Line> {
    let all = || lexemes.iter().zip(places);
    let tokens: (Vec<Lexeme>, Vec<Place>) = all().filter(|(lexeme, _)| !lexeme.is_comment()).unzip();
    let mut lines: Vec<Line> = Vec::new();
    let (mut token, mut behind_comment) = (0, true);
    for (at, (lexeme, place)) in all().enumerate() {
        if at == 0 || place.breaks > 0 {
            lines.extend((1..place.breaks).map(|_| Line::default()));
            let text = " ".repeat(place.indent);
            lines.push(Line { text, frame: place.frame, columns: Vec::new(), is_comment: lexeme.ends_line() });
        } else if let Some(line) = lines.last_mut() {
            let behind = lexemes.get(at + 1).filter(|next| !next.is_comment() && places[at + 1].breaks == 0);
            let blanks = match behind_comment || lexeme.is_comment() {
                true => 1,
                false => space::before(&tokens.0, &tokens.1, token),
            };
            let number = space::makes_a_number(&lexemes[at - 1], lexeme, behind.map_or("", |behind| behind.text));
            line.text += &" ".repeat(if number { 1 } else { blanks });
        }
        let hangs = at > 0 && places[at - 1].hangs;
        behind_comment = lexeme.is_comment();
        token += usize::from(!behind_comment);
        let Some(line) = lines.last_mut() else { continue };
        if hangs {
            line.frame = place.frame;
        }
        if let Some(column) = place.column {
            line.columns.push((column, line.text.chars().count()));
        }
        line.text += lexeme.text;
    }
    lines
}

/// Returns true if a line continues an alignment group: it has the same column in the same block, or is a comment
/// within.
fn belongs(first: &Line, line: &Line, column: Column) -> bool {
    let has = |line: &Line| line.columns.iter().any(|(other, _)| *other == column);
    first.frame == line.frame
        && !line.text.is_empty()
        && (line.is_comment || has(line) || column == Column::Registers && !line.columns.is_empty())
}

/// Pads a column of several lines to the widest one.
fn align(lines: &mut [Line], column: Column) {
    let at = |line: &Line| line.columns.iter().find(|(other, _)| *other == column).map(|(_, at)| *at);
    let Some(most) = lines.iter().filter_map(at).max() else { return };
    for line in lines {
        let Some(place) = at(line) else { continue };
        let byte = line.text.char_indices().nth(place).map_or(line.text.len(), |(byte, _)| byte);
        line.text.insert_str(byte, &" ".repeat(most - place));
        line.columns.iter_mut().filter(|(_, at)| *at >= place).for_each(|(_, at)| *at += most - place);
    }
}
