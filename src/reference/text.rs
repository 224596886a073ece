//! Pages of the reference as text, styled as a terminal shows them: what `ptx-isa explain` prints.
//!
//! ```
//! use ptx_isa::reference::{REFERENCE, text::Terminal};
//!
//! let mut terminal = Terminal { out: Vec::new() };
//! terminal.page(REFERENCE.page("selp").unwrap()).unwrap();
//! assert!(String::from_utf8(terminal.out).unwrap().contains("Selects one of two values by a predicate"));
//! ```

use std::borrow::ToOwned;
use std::format;
use std::io::{self, Write};
use std::string::String;
use std::vec::Vec;
use std::{write, writeln};

use anstyle::{AnsiColor, Style};
use isa_table::count::Count;

use super::examples::{self, Evaluated};
use super::form::{self, FormPage};
use super::page::{Entry, Example, Floor, Fragment, Layout, Matrix, Modifier, Page};
use crate::TABLE;
use crate::selector::Permission;
use crate::table::{FormInfo, Free, OperandKind, Requirement};
use crate::target;
use crate::text::Statement;
use crate::text::statement::Need;

/// Width in columns at which text is wrapped.
const WIDTH: usize = 96;

/// Style of the subject of a page.
pub const NAME: Style = Style::new().bold();
const HEADING: Style = AnsiColor::Cyan.on_default().bold();
/// Style of PTX and Rust code.
pub const CODE: Style = AnsiColor::Green.on_default();
/// Style of secondary information.
pub const FAINT: Style = Style::new().dimmed();

/// Writes styled text; a stream drops styles where they are not wanted.
#[derive(Debug)]
pub struct Terminal<W: Write> {
    /// The destination.
    pub out: W,
}

impl<W: Write> Terminal<W> {
    /// Writes the reference page of a form. `needs` are the requirements and `effects` the effects of the form with its
    /// free modifiers, or of a whole statement.
    ///
    /// # Errors
    ///
    /// Returns the error of the underlying writer.
    pub fn form(&mut self, explained: &FormPage, needs: &[Need<'_>], effects: &[String]) -> io::Result<()> {
        let FormPage { form, free, page, entry, modifiers, lines, functions, function, constant, written } = explained;
        let table = form.table();
        let name = if *free == Free::NONE { form.pattern() } else { form.mnemonic_with(free) };
        let signature = format!("{NAME}{name}{NAME:#}  {}", form.signature());
        writeln!(self.out, "{};\n", signature.trim_end())?;
        self.paragraph(entry.summary)?;
        for details in entry.details {
            self.paragraph(details)?;
        }
        self.also(entry)?;
        if !modifiers.is_empty() {
            self.heading("Modifiers")?;
        }
        let width = modifiers.iter().map(|modifier| modifier.spelling.len()).max().unwrap_or(0) + 3;
        for modifier in modifiers {
            let dotted = format!(".{}", modifier.spelling);
            self.item(
                &format!("{dotted:<width$}"),
                if modifier.description.is_empty() { "see the pseudo-code" } else { modifier.description },
            )?;
        }
        if form.operands().len() + form.states().len() > 0 {
            self.heading("Operands")?;
        }
        for (place, operand) in form.operands().iter().chain(form.states()).enumerate() {
            let ty = table.ty(operand.ty);
            let name = match &operand.second {
                Some(second) => format!("{}|{}", operand.name, second.name),
                None => operand.name.to_owned(),
            };
            let role = if operand.destination { "written" } else { "read" };
            let ty = match operand.kind {
                OperandKind::Scalar => format!(".{}, {}", ty.name, form::width(ty)),
                OperandKind::Vector(count) => format!("{count} of .{}, {} each", ty.name, form::width(ty)),
                OperandKind::Address => "an address".to_owned(),
                other => other.name().to_owned(),
            };
            // The effects are told in terms of what the statement writes.
            let text = written.get(place).map_or_else(String::new, |text| format!("{text}: "));
            let takes = form::takes(*form, free, operand).join(", ");
            self.item(&format!("{name:<5} {role:<9}"), &format!("{text}{ty}; {takes}"))?;
        }
        let others: Vec<FormInfo> = form::alike(*form, free).filter(|other| other != form).collect();
        if written.is_empty() && !others.is_empty() {
            self.heading("Other operands")?;
            others.iter().try_for_each(|other| self.item("", &other.signature()))?;
        }
        let fragments = explained.fragments();
        if !fragments.is_empty() {
            self.heading("Fragments")?;
        }
        for (fragment, operands) in fragments {
            self.fragment(fragment, &operands)?;
        }
        let named = |layout: &&Layout| {
            layout.laid.iter().any(|laid| form.operands().iter().any(|operand| operand.name == laid.operand))
        };
        self.layouts(page.layouts.iter().filter(named))?;
        if !lines.is_empty() {
            self.heading("Pseudo-code")?;
            self.code(lines)?;
            for function in functions {
                self.item(&format!("{}: ", function.signature), function.description)?;
            }
        }
        if let Some(bound) = form.bound() {
            self.item("", &format!("A machine's result is within {bound} of the exact one"))?;
        }
        self.effects(effects)?;
        self.heading("Exists since")?;
        self.since(*form, needs)?;
        if let Some(relaxed) = form.lenient_floor() {
            self.item("", &format!("For the assembler {}: {}", relaxed.floor, relaxed.note))?;
        }
        let notes = form.operands().iter().flat_map(|operand| {
            let second = operand.second.as_ref().map_or(Permission::No, |second| second.optional);
            [operand.negation, operand.trailing_sink, second]
        });
        let notes = notes.filter_map(|permission| match permission {
            Permission::Lenient(note) => Some(note),
            Permission::No | Permission::Yes => None,
        });
        let mut notes: Vec<&str> = form.lenient().into_iter().chain(notes).collect();
        notes.dedup();
        if !notes.is_empty() {
            self.heading("Beyond the manual")?;
            for note in notes {
                self.item("", note)?;
            }
        }
        self.errata(entry)?;
        let own = |example: &&Example| {
            Statement::parse(&TABLE, example.text).is_ok_and(|statement| statement.form() == *form)
        };
        self.examples(&entry.examples.iter().filter(own).collect::<Vec<_>>())?;
        self.heading("Where")?;
        writeln!(self.out, "  manual  section {}", entry.section)?;
        writeln!(self.out, "  spec    {}", entry.source)?;
        if let Some(function) = function {
            writeln!(self.out, "  Rust    {CODE}ptx_isa::scalar::{function}{CODE:#}")?;
        }
        writeln!(self.out, "          {CODE}ptx_isa::{constant}{CODE:#}")
    }

    fn effects(&mut self, effects: &[String]) -> io::Result<()> {
        if effects.is_empty() {
            return Ok(());
        }
        self.heading("Effects")?;
        effects.iter().try_for_each(|effect| self.item("", &effect.replace('`', "")))
    }

    /// Since when there is all of a statement, and of what it consists; then what other operands would need.
    fn since(&mut self, form: FormInfo, needs: &[Need<'_>]) -> io::Result<()> {
        let floors = needs.iter().map(|need| Requirement::From(need.listed()));
        match form.table().least(floors) {
            Some(least) => writeln!(self.out, "  {least}")?,
            None => writeln!(self.out, "  no PTX version and target")?,
        }
        if needs.len() > 1 {
            for need in needs {
                self.item("", &format!("{need}: {}", need.listed()))?;
            }
        } else if let Some(removed) = form.floor().removed {
            self.item("", &format!("It is {removed}"))?;
        }
        let unwritten = |floor: &&target::Floor| needs.iter().all(|need| need.floor != *floor);
        for operand in form.operands() {
            if let Some(floor) = operand.floor.filter(unwritten) {
                let kind = if operand.optional { "" } else { " that is not a variable" };
                self.item("", &format!("With an operand `{}`{kind}: {floor}", operand.name))?;
            }
        }
        Ok(())
    }

    /// Writes the reference page of an opcode.
    ///
    /// # Errors
    ///
    /// Returns the error of the underlying writer.
    pub fn page(&mut self, page: &Page) -> io::Result<()> {
        writeln!(self.out, "{NAME}{}{NAME:#}  {}\n", page.opcode, Count(page.forms as usize, "form"))?;
        if page.entries.len() > 1 {
            self.paragraph(page.summary)?;
        }
        let described: Vec<&Modifier> = page.modifiers.iter().filter(|it| !it.description.is_empty()).collect();
        for (number, entry) in page.entries.iter().enumerate() {
            let effects = form::effects(page.opcode, number);
            self.entry(entry, &described, &effects, page.entries.len() > 1)?;
        }
        for modifier in page.modifiers {
            self.modifier(modifier)?;
        }
        for matrix in page.matrices {
            self.matrix(matrix)?;
        }
        if !page.fragments.is_empty() {
            self.heading("Fragments")?;
        }
        for drawing in page.drawings() {
            let fragment = drawing.fragment;
            self.fragment(fragment, &fragment.held.iter().map(|held| held.operand).collect::<Vec<_>>())?;
            if let Some(corners) = drawing.corners() {
                self.item("", &corners)?;
            }
        }
        self.layouts(page.layouts.iter())?;
        if !page.functions.is_empty() {
            self.heading("Functions of the pseudo-code")?;
            for function in page.functions {
                self.item(&format!("{}: ", function.signature), function.description)?;
            }
        }
        Ok(())
    }

    /// Writes one entry of a page; `described` are the modifiers that are described in a separate section.
    fn entry(&mut self, entry: &Entry, described: &[&Modifier], effects: &[String], headed: bool) -> io::Result<()> {
        if headed {
            writeln!(self.out, "{NAME}Section {}{NAME:#}\n", entry.section)?;
        }
        self.paragraph(entry.summary)?;
        for details in entry.details {
            self.paragraph(details)?;
        }
        self.also(entry)?;
        self.heading("Syntax")?;
        self.code(&entry.syntax.iter().map(|line| line.text).collect::<Vec<_>>())?;
        let mut sets: Vec<(&str, String)> = Vec::new();
        for item in entry.syntax.iter().flat_map(|line| line.items) {
            // Modifiers with a description are listed in their own section.
            let told = described.iter().any(|modifier| modifier.name == item.name);
            if item.members.len() > 1 && !told && !sets.iter().any(|(name, _)| *name == item.name) {
                let members = item.members.iter().map(|member| format!(".{member}"));
                sets.push((item.name, members.collect::<Vec<_>>().join(" ")));
            }
        }
        for (name, members) in sets {
            self.item(&format!(".{name}: "), &members)?;
        }
        for rule in entry.rules {
            self.item("", &rule.replace('`', ""))?;
        }
        self.heading("Operands")?;
        for operand in entry.operands {
            let role = if operand.written { "written" } else { "read" };
            let takes = operand.takes.join("; ").replace('`', "");
            self.item(&format!("{:<5} {role:<9}", operand.name), &format!("{}; {takes}", operand.ty))?;
        }
        if !entry.semantics.is_empty() {
            self.heading("Pseudo-code")?;
            self.code(entry.semantics)?;
        }
        self.effects(effects)?;
        self.heading("Exists since")?;
        let subject = |floor: &Floor| floor.subject.unwrap_or("all").to_owned();
        let width = entry.floors.iter().map(|floor| subject(floor).len()).max().unwrap_or(0) + 2;
        for floor in entry.floors {
            let words = [floor.ptx.map(|ptx| format!("PTX {ptx}")), floor.target.map(str::to_owned)];
            let words = words.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let note = floor.lenient.map_or(String::new(), |note| format!(" for the assembler: {note}"));
            self.item(&format!("{:<width$}", subject(floor)), &format!("{words}{note}"))?;
        }
        if !entry.lenient.is_empty() {
            self.heading("Beyond the manual")?;
            for note in entry.lenient {
                self.item("", note)?;
            }
        }
        self.errata(entry)?;
        self.examples(&entry.examples.iter().collect::<Vec<_>>())?;
        self.heading("Where")?;
        writeln!(self.out, "  manual  section {}\n  spec    {}\n", entry.section, entry.source)
    }

    fn also(&mut self, entry: &Entry) -> io::Result<()> {
        if entry.also.is_empty() { Ok(()) } else { self.paragraph(&format!("Also: {}.", entry.also.join(", "))) }
    }

    fn modifier(&mut self, modifier: &Modifier) -> io::Result<()> {
        // Types speak for themselves here; the operands name them.
        if modifier.description.is_empty() {
            return Ok(());
        }
        self.heading(&format!(".{}: {}", modifier.name, modifier.description.trim_end_matches('.')))?;
        let width = modifier.members.iter().map(|member| member.name.len()).max().unwrap_or(0) + 3;
        for member in modifier.members {
            let dotted = format!(".{}", member.name);
            let domain = if member.domain.is_empty() { String::new() } else { format!(" For {}.", member.domain) };
            self.item(&format!("{dotted:<width$}"), &format!("{}{domain}", member.description))?;
        }
        Ok(())
    }

    fn matrix(&mut self, matrix: &Matrix) -> io::Result<()> {
        self.heading(&format!("What goes with .{}", matrix.across))?;
        let rows = || matrix.groups.iter().flat_map(|group| group.rows);
        let width = rows().map(|row| row.name.len()).max().unwrap_or(0) + 2;
        write!(self.out, "  {:width$}", "")?;
        for column in matrix.columns {
            write!(self.out, "{FAINT}{column}{FAINT:#} ")?;
        }
        writeln!(self.out)?;
        for row in rows() {
            write!(self.out, "  {:<width$}", row.name)?;
            for (cell, column) in row.cells.iter().zip(matrix.columns) {
                let size = column.len();
                match cell.forms {
                    0 => write!(self.out, "{FAINT}{:^size$}{FAINT:#} ", "·")?,
                    _ => write!(self.out, "{CODE}{:^size$}{CODE:#} ", "●")?,
                }
            }
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// Which lane holds which of its elements where.
    fn fragment(&mut self, fragment: &Fragment, operands: &[&str]) -> io::Result<()> {
        self.item(&format!("{}: ", operands.join(", ")), &format!("{}. {}", fragment.size(), fragment.description))?;
        for formula in fragment.formulas {
            writeln!(self.out, "    {CODE}{formula}{CODE:#}")?;
        }
        let (rows, columns, matrices) = (fragment.row_names(), fragment.column_names(), fragment.cells());
        let longest = |list: &[String]| list.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let left = longest(&rows);
        let width = matrices.iter().flatten().map(|row| longest(row)).max().unwrap_or(0).max(longest(&columns));
        for (number, matrix) in matrices.iter().enumerate() {
            if matrices.len() > 1 {
                self.item("", &format!("Matrix {number}"))?;
            }
            let columns = columns.iter().map(|column| format!("  {column:<width$}")).collect::<String>();
            writeln!(self.out, "  {:left$}{FAINT}{}{FAINT:#}", "", columns.trim_end())?;
            for (row, cells) in rows.iter().zip(matrix) {
                let cells = cells.iter().map(|cell| format!("  {cell:<width$}")).collect::<String>();
                writeln!(self.out, "  {FAINT}{row:<left$}{FAINT:#}{}", cells.trim_end())?;
            }
        }
        writeln!(self.out)
    }

    /// Writes the bit fields of the operands.
    fn layouts<'a>(&mut self, layouts: impl Iterator<Item = &'a Layout>) -> io::Result<()> {
        for layout in layouts {
            self.heading(&format!("Bits of {}", layout.operands().replace('`', "")))?;
            self.item("", layout.description)?;
            let name = layout.fields.iter().map(|field| field.name.len()).max().unwrap_or(0);
            for field in layout.fields {
                self.item(
                    &format!("{:<6} {:<name$}  ", field.bits(), field.name),
                    &field.description.replace('`', ""),
                )?;
            }
        }
        Ok(())
    }

    /// Statements, and what those compute that have evaluators.
    fn examples(&mut self, list: &[&Example]) -> io::Result<()> {
        if list.is_empty() {
            return Ok(());
        }
        self.heading("Examples")?;
        for example in list {
            let refused = if example.refused { "   // refused, though the manual shows it" } else { "" };
            writeln!(self.out, "  {CODE}{}{CODE:#}{FAINT}{refused}{FAINT:#}", example.text)?;
            let evaluated = if example.refused { None } else { examples::evaluate(example.text) };
            let Some(Evaluated { sources, destinations, rows, .. }) = evaluated else { continue };
            let named = |names: &[String], values: &[String]| {
                let pairs = names.iter().zip(values).map(|(name, value)| format!("{name} = {value}"));
                pairs.collect::<Vec<_>>().join(", ")
            };
            for row in rows {
                let (read, written) = (named(&sources, &row.sources), named(&destinations, &row.destinations));
                self.item("  ", &format!("{read}{}{written}", if read.is_empty() { "" } else { ": " }))?;
            }
        }
        Ok(())
    }

    fn errata(&mut self, entry: &Entry) -> io::Result<()> {
        if entry.errata.is_empty() {
            return Ok(());
        }
        self.heading("Errata")?;
        for erratum in entry.errata {
            writeln!(self.out, "  {NAME}{}{NAME:#}", erratum.subject)?;
            self.item("  the manual:  ", erratum.manual)?;
            self.item("  the machine: ", erratum.machine)?;
        }
        Ok(())
    }

    /// Writes a heading on a line of its own.
    ///
    /// # Errors
    ///
    /// Returns the error of the underlying writer.
    pub fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{HEADING}{text}{HEADING:#}")
    }

    fn code(&mut self, lines: &[&str]) -> io::Result<()> {
        lines.iter().try_for_each(|line| writeln!(self.out, "  {CODE}{line}{CODE:#}"))
    }

    fn paragraph(&mut self, text: &str) -> io::Result<()> {
        self.wrapped(0, "", text)?;
        writeln!(self.out)
    }

    /// Writes a label and text with a hanging indent.
    ///
    /// # Errors
    ///
    /// Returns the error of the underlying writer.
    pub fn item(&mut self, label: &str, text: &str) -> io::Result<()> {
        self.wrapped(2, label, text)
    }

    fn wrapped(&mut self, indent: usize, label: &str, text: &str) -> io::Result<()> {
        write!(self.out, "{:indent$}", "")?;
        self.wrapped_behind(label, indent + label.chars().count(), text)
    }

    /// Writes a label that ends at column `hanging`, and text with a hanging indent at that column.
    ///
    /// # Errors
    ///
    /// Returns the error of the underlying writer.
    pub fn wrapped_behind(&mut self, label: &str, hanging: usize, text: &str) -> io::Result<()> {
        write!(self.out, "{label}")?;
        let mut column = hanging;
        for (index, word) in text.split(' ').enumerate() {
            let length = word.chars().count();
            if index > 0 && column + 1 + length > WIDTH {
                write!(self.out, "\n{:hanging$}", "")?;
                column = hanging;
            } else if index > 0 {
                write!(self.out, " ")?;
                column += 1;
            }
            write!(self.out, "{word}")?;
            column += length;
        }
        writeln!(self.out)
    }
}
