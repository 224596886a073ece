//! A line of syntax as a railroad diagram.

use ptx_isa::reference::page::{Item, Line};
use railroad::{Choice, Diagram, Node, NonTerminal, Optional, Sequence, SimpleEnd, SimpleStart, Terminal};

/// Maximum number of members that are shown for a modifier; with more, its name is shown.
const SHOWN: usize = 4;

/// Padding on each side of a diagram.
const PADDING: i64 = 10;

type Boxed = Box<dyn Node>;

/// A wider diagram says less than the line itself.
const WIDEST: i64 = 1200;

/// The diagram as SVG without a style of its own; none where it would be too wide to read.
pub(super) fn svg(opcode: &str, line: &Line) -> Option<String> {
    let mut nodes: Vec<Boxed> = vec![Box::new(SimpleStart), terminal(opcode)];
    nodes.extend(line.items.iter().map(modifier));
    for (index, written) in line.operands.iter().enumerate() {
        let comma = if index > 0 { Some(terminal(",")) } else { None };
        match written.strip_prefix('{').filter(|_| written.ends_with('}') && !written.starts_with("{!}")) {
            // An optional operand includes its comma.
            Some(inner) => {
                let inner = operand(inner.strip_suffix('}').unwrap_or(inner));
                nodes.push(Box::new(Optional::new(sequence(comma.into_iter().chain(inner).collect()))));
            }
            None => nodes.extend(comma.into_iter().chain(operand(written))),
        }
    }
    nodes.push(terminal(";"));
    nodes.push(Box::new(SimpleEnd));
    let nodes = sequence(nodes);
    let width = nodes.width() + 2 * PADDING;
    if width > WIDEST {
        return None;
    }
    let mut diagram = Diagram::new(nodes);
    diagram.attr("width".into()).or_insert_with(|| width.to_string());
    // It shrinks a little before it scrolls.
    diagram.attr("style".into()).or_insert_with(|| format!("min-width:min(44rem,{width}px)"));
    diagram.attr("role".into()).or_insert_with(|| "img".into());
    diagram.attr("aria-label".into()).or_insert_with(|| format!("Syntax: {}", line.text));
    Some(compact(&diagram.to_string()))
}

/// The same drawing without what a page of HTML does not need or the style sheet says for all; lines that follow each other are one.
fn compact(svg: &str) -> String {
    const SHORTER: [(&str, &str); 9] = [
        ("\n", ""),
        (" xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\"", ""),
        ("<rect width=\"100%\" height=\"100%\" class=\"railroad_canvas\"/>", ""),
        (" class=\"sequence\"", ""),
        (" class=\"choice\"", ""),
        (" ry=\"10\"", ""),
        (" rx=\"10\"", ""),
        (" height=\"22\"", ""),
        ("\"/><path d=\"", ""),
    ];
    let svg = SHORTER.iter().fold(svg.to_owned(), |svg, (long, short)| svg.replace(long, short));
    let svg = svg.replace("class=\"terminal\"", "class=\"word\"").replace("class=\"nonterminal\"", "class=\"name\"");
    // In the data of a path nothing but numbers needs a space between.
    let mut pieces = svg.split("<path d=\"");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (data, rest) = piece.split_once('"').unwrap_or((piece, ""));
        text += "<path d=\"";
        let mut before = ' ';
        for word in data.split_ascii_whitespace() {
            if !before.is_ascii_alphabetic() && word.starts_with(|first: char| first.is_ascii_digit()) {
                text.push(' ');
            }
            text += word;
            before = word.chars().last().unwrap_or(' ');
        }
        text.push('"');
        text += rest;
    }
    text
}

fn terminal(text: &str) -> Boxed {
    Box::new(Terminal::new(text.to_owned()))
}

fn name(text: &str) -> Boxed {
    Box::new(NonTerminal::new(text.to_owned()))
}

fn sequence(nodes: Vec<Boxed>) -> Sequence<Boxed> {
    Sequence::new(nodes)
}

fn modifier(item: &Item) -> Boxed {
    let node: Boxed = match item.members {
        [only] => terminal(&format!(".{only}")),
        members if members.len() <= SHOWN => {
            Box::new(Choice::new(members.iter().map(|member| terminal(&format!(".{member}"))).collect::<Vec<_>>()))
        }
        _ => name(&format!(".{}", item.name)),
    };
    if item.optional { Box::new(Optional::new(node)) } else { node }
}

/// `{!}c`, `p[|q]`, `a{.asel}`, and with brackets that it shares with other operands: `[map`, `coordinates]`
fn operand(notation: &str) -> Vec<Boxed> {
    let is_flag = notation.starts_with("{!}");
    if let Some(open) = notation.chars().next().filter(|first| !is_flag && "[{(".contains(*first)) {
        return [terminal(&open.to_string())].into_iter().chain(operand(&notation[1..])).collect();
    }
    for (open, close) in [('[', ']'), ('{', '}'), ('(', ')')] {
        let is_alone = notation.matches(close).count() > notation.matches(open).count();
        if let Some(inner) = notation.strip_suffix(close).filter(|_| is_alone) {
            return operand(inner).into_iter().chain([terminal(&close.to_string())]).collect();
        }
    }
    let mut nodes: Vec<Boxed> = Vec::new();
    let rest = match notation.strip_prefix("{!}") {
        Some(rest) => {
            nodes.push(Box::new(Optional::new(terminal("!"))));
            rest
        }
        None => notation,
    };
    let end = rest.find(['[', '|', '{', '.']).unwrap_or(rest.len());
    let (first, more) = rest.split_at(end);
    nodes.push(name(first));
    let more_name = more.trim_matches(['[', ']', '|', '{', '}', '.']);
    let optional = more.starts_with(['[', '{']);
    if !more_name.is_empty() {
        let more: Vec<Boxed> = match more.contains('|') {
            true => vec![terminal("|"), name(more_name)],
            false => vec![name(&format!(".{more_name}"))],
        };
        nodes.push(if optional { Box::new(Optional::new(sequence(more))) } else { Box::new(sequence(more)) });
    }
    nodes
}
