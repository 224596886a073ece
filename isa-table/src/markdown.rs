//! Renders a reference page as Markdown, for rustdoc.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use crate::count::Count;
use crate::page::{Drawing, Entry, Floor, Layout, Matrix, Modifier, Page};

/// Page of an opcode; `links` gives the link targets.
pub fn page(page: &Page, links: &Links<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", page.summary);
    let _ = writeln!(out, "{}: [`{}`]({}).\n", Count(page.forms as usize, "form"), links.name, links.item);
    for entry in page.entries {
        self::entry(&mut out, entry, page.entries.len() > 1, links);
    }
    if !page.modifiers.is_empty() {
        out.push_str("# Modifiers\n\n");
        page.modifiers.iter().for_each(|modifier| self::modifier(&mut out, modifier));
    }
    if !page.matrices.is_empty() {
        out.push_str("# What goes together\n\n");
        page.matrices.iter().for_each(|matrix| self::matrix(&mut out, matrix));
    }
    if !page.fragments.is_empty() {
        out.push_str("# Fragments\n\n");
        page.drawings().iter().for_each(|drawing| self::drawing(&mut out, drawing));
    }
    page.layouts.iter().for_each(|layout| self::layout(&mut out, layout));
    if !page.functions.is_empty() {
        out.push_str("# Functions of the pseudo-code\n\n");
        for function in page.functions {
            let _ = writeln!(out, "* `{}`: {}", function.signature, sentence(function.description));
        }
        out.push('\n');
    }
    out
}

/// Link targets of a page.
pub struct Links<'a> {
    /// Name of the item that the page documents.
    pub name: &'a str,
    /// Path of that item.
    pub item: &'a str,
    /// Path of the crate whose items the examples use.
    pub krate: &'a str,
}

fn entry(out: &mut String, entry: &Entry, headed: bool, links: &Links<'_>) {
    if headed {
        let _ = writeln!(out, "# Section {}\n\n{}\n", entry.section, entry.summary);
    }
    entry.details.iter().for_each(|paragraph| out.push_str(&format!("{paragraph}\n\n")));
    if !entry.also.is_empty() {
        let _ = writeln!(out, "Also: {}.\n", entry.also.join(", "));
    }
    let _ = writeln!(out, "Manual: section {}. Spec: `{}`.\n", entry.section, entry.source);
    code(out, "text", entry.syntax.iter().map(|line| line.text));
    out.push_str("| operand | | type | takes |\n|---|---|---|---|\n");
    for operand in entry.operands {
        let role = if operand.written { "written" } else { "read" };
        let takes = cell(&operand.takes.join("; "));
        let _ = writeln!(out, "| `{}` | {role} | `{}` | {takes} |", operand.name, operand.ty);
    }
    out.push('\n');
    list(out, entry.rules.iter().copied());
    if !entry.semantics.is_empty() {
        out.push_str("## Pseudo-code\n\n");
        code(out, "text", entry.semantics.iter().copied());
    }
    out.push_str("## Exists since\n\n| forms | PTX | target | |\n|---|---|---|---|\n");
    for floor in entry.floors {
        let Floor { subject, ptx, target, lenient, .. } = floor;
        let subject = subject.map_or("all".to_string(), |subject| format!("`{}`", cell(subject)));
        let target = target.map_or(String::new(), |target| format!("`{target}`"));
        let note = lenient.map_or(String::new(), |note| format!("The assembler: {}", cell(note)));
        let _ = writeln!(out, "| {subject} | {} | {target} | {note} |", ptx.unwrap_or_default());
    }
    out.push('\n');
    if !entry.lenient.is_empty() {
        out.push_str("## Beyond the manual\n\n");
        list(out, entry.lenient.iter().copied());
    }
    if !entry.errata.is_empty() {
        out.push_str("## Errata\n\n| | the manual | the machine |\n|---|---|---|\n");
        for erratum in entry.errata {
            let [subject, manual, machine] = [erratum.subject, erratum.manual, erratum.machine].map(cell);
            let _ = writeln!(out, "| {subject} | {manual} | {machine} |");
        }
        out.push('\n');
    }
    if !entry.examples.is_empty() {
        out.push_str("## Examples\n\n```\n");
        let _ = writeln!(out, "use {}::{{TABLE, text::Statement}};\n", links.krate);
        for example in entry.examples {
            let verdict = if example.refused { "is_err" } else { "is_ok" };
            let _ = writeln!(out, "assert!(Statement::parse(&TABLE, {:?}).{verdict}());", example.text);
        }
        out.push_str("```\n\n");
    }
}

fn modifier(out: &mut String, modifier: &Modifier) {
    let left_out = if modifier.optional { " It may be left out." } else { "" };
    if modifier.is_word() {
        let _ = writeln!(out, "`.{}`:{left_out}\n", modifier.name);
        return;
    }
    let _ = writeln!(out, "`.{}`: {}{left_out}\n", modifier.name, sentence(modifier.description));
    let domains = modifier.members.iter().any(|member| !member.domain.is_empty());
    out.push_str(if domains { "| | | for |\n|---|---|---|\n" } else { "| | |\n|---|---|\n" });
    for member in modifier.members {
        let domain = if domains { format!(" {} |", cell(member.domain)) } else { String::new() };
        let _ = writeln!(out, "| `.{}` | {} |{domain}", member.name, cell(member.description));
    }
    out.push('\n');
}

fn matrix(out: &mut String, matrix: &Matrix) {
    let _ = write!(out, "| |");
    matrix.columns.iter().for_each(|column| out.push_str(&format!(" `.{column}` |")));
    out.push_str("\n|---|");
    matrix.columns.iter().for_each(|_| out.push_str(":-:|"));
    out.push('\n');
    for row in matrix.groups.iter().flat_map(|group| group.rows) {
        let _ = write!(out, "| `{}` |", row.name);
        row.cells.iter().for_each(|cell| out.push_str(if cell.forms > 0 { " ● |" } else { " · |" }));
        out.push('\n');
    }
    out.push('\n');
}

fn drawing(out: &mut String, drawing: &Drawing) {
    let fragment = drawing.fragment;
    let operands: Vec<String> = fragment.held.iter().map(|held| format!("`{}`", held.operand)).collect();
    let _ = writeln!(out, "{}: {}. {}\n", operands.join(", "), fragment.size(), sentence(fragment.description));
    code(out, "text", fragment.formulas.iter().copied());
    if let Some(corners) = drawing.corners() {
        let _ = writeln!(out, "{corners}\n");
    }
    for matrix in fragment.cells() {
        let columns = fragment.column_names();
        let _ = writeln!(out, "| | {} |\n|---|{}", columns.join(" | "), "---|".repeat(columns.len()));
        for (name, cells) in fragment.row_names().iter().zip(matrix) {
            let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
        }
        out.push('\n');
    }
}

fn layout(out: &mut String, layout: &Layout) {
    let _ = writeln!(out, "# Bits of {}\n\n{}\n", layout.operands(), sentence(layout.description));
    out.push_str("| bits | | |\n|---|---|---|\n");
    for field in layout.fields {
        let _ = writeln!(out, "| {} | {} | {} |", field.bits(), field.name, cell(field.description));
    }
    out.push('\n');
}

fn code<'a>(out: &mut String, language: &str, lines: impl Iterator<Item = &'a str>) {
    let _ = writeln!(out, "```{language}");
    lines.for_each(|line| out.push_str(&format!("{line}\n")));
    out.push_str("```\n\n");
}

fn list<'a>(out: &mut String, items: impl Iterator<Item = &'a str>) {
    let before = out.len();
    items.for_each(|item| out.push_str(&format!("* {}\n", sentence(item))));
    if out.len() > before {
        out.push('\n');
    }
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Appends a full stop unless the text ends with punctuation.
fn sentence(text: &str) -> String {
    if text.is_empty() || text.ends_with('.') { text.to_string() } else { format!("{text}.") }
}
