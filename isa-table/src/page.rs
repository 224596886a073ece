//! A page of an instruction reference: what it says, and how it looks as Markdown ([`markdown`](crate::markdown)).
//!
//! `isa-spec` writes the pages from a checked spec; rustdoc, the terminal and the site show them. All of a page is
//! here, so that no renderer has anything of its own to say. This module knows no instruction and no spec.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::constant::contents;
use crate::target::Version;

contents! {
    /// All that the reference says of one opcode.
    Page, PageBuf {
        /// The opcode.
        opcode: &'static str,
        /// How many forms it has.
        forms: u32,
        /// The entries of the spec, in its order.
        entries: &'static [Entry],
        /// The modifiers of all entries.
        modifiers: &'static [Modifier],
        /// Which modifiers go together.
        matrices: &'static [Matrix],
        /// What the functions of the pseudo-code do.
        functions: &'static [Function],
        /// Who holds which element of a matrix.
        fragments: &'static [Fragment],
        /// What the bits of operands mean.
        layouts: &'static [Layout],
    }

    /// One entry of the spec: the opcode as one section of the manual describes it.
    Entry, EntryBuf {
        /// The manual's section.
        section: &'static str,
        /// What else people call it, and look for.
        also: &'static [&'static str],
        /// Spec file and line.
        source: &'static str,
        /// How many forms it has.
        forms: u32,
        /// The first paragraph of the description.
        summary: &'static str,
        /// The other paragraphs.
        details: &'static [&'static str],
        /// The ways to write it.
        syntax: &'static [Line],
        /// The operands of all lines.
        operands: &'static [Operand],
        /// What must hold beyond the syntax.
        rules: &'static [&'static str],
        /// What it computes, a line each.
        semantics: &'static [&'static str],
        /// Since when and where it exists.
        floors: &'static [Floor],
        /// What the assembler takes beyond the manual.
        lenient: &'static [&'static str],
        /// Where the manual contradicts itself or the machine.
        errata: &'static [Erratum],
        /// Statements.
        examples: &'static [Example],
    }

    /// A line of syntax.
    Line, LineBuf {
        /// The line in the manual's notation.
        text: &'static str,
        /// Its modifiers.
        items: &'static [Item],
        /// Its operands, in the manual's notation.
        operands: &'static [&'static str],
    }

    /// A modifier of a line of syntax.
    Item, ItemBuf {
        /// The name that stands for its members.
        name: &'static str,
        /// What may stand here, without dots.
        members: &'static [&'static str],
        /// Whether it may be left out.
        optional: bool,
    }

    /// An operand.
    Operand, OperandBuf {
        /// Its name.
        name: &'static str,
        /// Whether it is written; else it is read.
        written: bool,
        /// Its type, or the modifier that names it.
        ty: &'static str,
        /// The types that the modifier may name, without dots.
        types: &'static [&'static str],
        /// What may be written for it, each a phrase.
        takes: &'static [&'static str],
    }

    /// Since when, and on what, the forms of a condition exist.
    Floor, FloorBuf {
        /// The condition on modifiers; none for all forms.
        subject: Option<&'static str>,
        /// The first PTX version.
        ptx: Option<&'static str>,
        /// The lowest target.
        target: Option<&'static str>,
        /// Why the assembler asks for less than the manual; none where this is the manual's word.
        lenient: Option<&'static str>,
    }

    /// A place for a modifier.
    Modifier, ModifierBuf {
        /// Its name, without a dot.
        name: &'static str,
        /// What it is about; empty for types and words.
        description: &'static str,
        /// Whether some form goes without it.
        optional: bool,
        /// What may stand there.
        members: &'static [Member],
    }

    /// What may stand in a modifier's place.
    Member, MemberBuf {
        /// The spelling, without a dot.
        name: &'static str,
        /// What it means for the forms of the page: where some compare floats, this is what it means there.
        description: &'static str,
        /// What it means where no operand is a float.
        plain: &'static str,
        /// The types it works on, in words; empty for types and words.
        domain: &'static str,
    }

    /// Which members of some modifiers (rows) go with those of another (columns).
    Matrix, MatrixBuf {
        /// The modifier of the columns.
        across: &'static str,
        /// Its members.
        columns: &'static [&'static str],
        /// The rows, by modifier.
        groups: &'static [Group],
    }

    /// Rows of a matrix that belong to one modifier.
    Group, GroupBuf {
        /// The modifier; empty where rows are of no modifier.
        name: &'static str,
        /// A row for each member.
        rows: &'static [Row],
    }

    /// A row of a matrix.
    Row, RowBuf {
        /// The member.
        name: &'static str,
        /// A cell for each column.
        cells: &'static [Cell],
    }

    /// Whether two modifiers go together.
    Cell, CellBuf {
        /// How many forms have both.
        forms: u32,
        /// Why no form has both.
        reason: &'static str,
        /// The first form that has both.
        example: &'static str,
    }

    /// The manual that sections are those of.
    Manual, ManualBuf {
        /// The version of PTX that it describes.
        version: Version,
        /// Where it is.
        address: &'static str,
        /// Its chapters on instructions, in its order.
        chapters: &'static [Chapter],
    }

    /// A chapter of the manual.
    Chapter, ChapterBuf {
        /// Its number: `9.7.6`.
        number: &'static str,
        /// Its title.
        title: &'static str,
    }

    /// A file of the spec.
    Source, SourceBuf {
        /// Its name, as entries cite it.
        name: &'static str,
        /// What stands in it.
        text: &'static str,
    }

    /// A function of the pseudo-code.
    Function, FunctionBuf {
        /// How it is called.
        signature: &'static str,
        /// What it does.
        description: &'static str,
    }

    /// How the threads of a warp hold a matrix, or several. Neighbours that one thread has behind each other are one cell.
    Fragment, FragmentBuf {
        /// Its name in the spec.
        name: &'static str,
        /// What it is about.
        description: &'static str,
        /// How the places of an element are computed from `lane`, `register`, `part`, `parts` and `element`, each a phrase.
        formulas: &'static [&'static str],
        /// How many registers each thread has of it.
        registers: u32,
        /// How many elements each register has, the lowest bits first.
        parts: u32,
        /// How many matrices they hold.
        matrices: u32,
        /// Rows of a matrix.
        rows: u32,
        /// Columns of a matrix.
        columns: u32,
        /// Rows of a cell.
        high: u32,
        /// Columns of a cell.
        wide: u32,
        /// The lane of each cell, row by row.
        lanes: &'static [u8],
        /// The first of the lane's elements in each cell.
        elements: &'static [u8],
        /// The operands that are such a fragment.
        held: &'static [Held],
    }

    /// What the bits of a value mean.
    Layout, LayoutBuf {
        /// Its name in the spec.
        name: &'static str,
        /// What it is about.
        description: &'static str,
        /// How many bits it has.
        bits: u32,
        /// Its parts, the lowest first; bits of none are zero.
        fields: &'static [Field],
        /// The operands that are such a value, and where: a condition on modifiers, or nothing.
        laid: &'static [Laid],
    }

    /// Bits that mean something.
    Field, FieldBuf {
        /// The lowest of them.
        low: u32,
        /// The highest.
        high: u32,
        /// What they are called.
        name: &'static str,
        /// What they mean.
        description: &'static str,
    }

    /// An operand whose bits have a layout.
    Laid, LaidBuf {
        /// Its name.
        operand: &'static str,
        /// Where it is so: a condition on modifiers; none for all forms.
        when: Option<&'static str>,
    }

    /// An operand that is a fragment.
    Held, HeldBuf {
        /// Its name.
        operand: &'static str,
        /// The forms that have it so, by their places among those of the page.
        forms: &'static [u32],
    }

    /// A place where the manual contradicts itself or the machine.
    Erratum, ErratumBuf {
        /// What it is about.
        subject: &'static str,
        /// What the manual says.
        manual: &'static str,
        /// What the machine or the assembler does.
        machine: &'static str,
    }

    /// A statement that shows the instruction.
    Example, ExampleBuf {
        /// The statement, with its semicolon.
        text: &'static str,
        /// Whether the assembler refuses it although the manual shows it.
        refused: bool,
    }
}

impl Page {
    /// The first sentence that tells what the instruction does.
    pub fn summary(&self) -> &'static str {
        self.entries.first().map_or("", |entry| entry.summary)
    }

    /// What a member of a modifier means.
    pub fn member(&self, modifier: &str, member: &str) -> Option<&'static Member> {
        let modifier = self.modifiers.iter().find(|other| other.name == modifier)?;
        modifier.members.iter().find(|other| other.name == member)
    }
}

impl Manual {
    /// The chapter that a section belongs to.
    pub fn chapter(&self, section: &str) -> Option<&'static Chapter> {
        let holds = |chapter: &&Chapter| {
            let rest = section.strip_prefix(chapter.number);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.chapters.iter().find(holds)
    }

    /// Where a section is: its chapter, and there the text of its number, which browsers go to.
    pub fn place(&self, section: &str) -> String {
        let Some(chapter) = self.chapter(section) else { return self.address.into() };
        let word = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let anchor: String = chapter.title.chars().map(word).collect();
        format!("{}#{anchor}:~:text={section}.", self.address)
    }
}

/// Numbers below a size, so many together: `0`, or `0–1`.
fn ranges(size: u32, each: u32) -> Vec<String> {
    let range = |number: u32| match each {
        1 => format!("{number}"),
        _ => format!("{}–{}", number * each, number * each + each - 1),
    };
    (0..size / each).map(range).collect()
}

impl Fragment {
    /// What stands in the cells, by matrices and rows: `T5 2–3` where lane 5 has it, as its elements 2 and 3.
    pub fn cells(&self) -> Vec<Vec<Vec<String>>> {
        let more = (self.high * self.wide - 1) as u8;
        let cell = |(lane, first): (&u8, &u8)| match more {
            0 => format!("T{lane} {first}"),
            _ => format!("T{lane} {first}–{}", first + more),
        };
        let cells: Vec<String> = self.lanes.iter().zip(self.elements).map(cell).collect();
        let (rows, columns) = ((self.rows / self.high) as usize, (self.columns / self.wide) as usize);
        cells.chunks(columns).map(<[String]>::to_vec).collect::<Vec<_>>().chunks(rows).map(<[_]>::to_vec).collect()
    }

    /// What rows the rows of cells have: `0`, or `0–1`.
    pub fn row_names(&self) -> Vec<String> {
        ranges(self.rows, self.high)
    }

    /// What columns the columns of cells have.
    pub fn column_names(&self) -> Vec<String> {
        ranges(self.columns, self.wide)
    }

    /// What it is in words: `16 × 16 elements; each lane has 4 registers of 2`.
    pub fn size(&self) -> String {
        let Fragment { matrices, rows, columns, registers, parts, .. } = self;
        let matrices = if *matrices == 1 { String::new() } else { format!("{matrices} matrices of ") };
        let registers = if *registers == 1 { "a register".into() } else { format!("{registers} registers") };
        let parts = if *parts == 1 { "one element".into() } else { format!("{parts} elements, the lowest bits first") };
        format!("{matrices}{rows} × {columns} elements; each lane has {registers} of {parts}")
    }
}

impl Layout {
    /// The operands in words: `a`, `idesc where .mx == .kind::mxf4`.
    pub fn operands(&self) -> String {
        let laid = self.laid.iter().map(|laid| match laid.when {
            Some(when) => format!("`{}` where `{when}`", laid.operand),
            None => format!("`{}`", laid.operand),
        });
        laid.collect::<Vec<_>>().join(", ")
    }

    /// All its bits, the highest first: how many, which they are, and their name; none where they are zero.
    pub fn cells(&self) -> Vec<(u32, String, &'static str)> {
        let mut cells = Vec::new();
        let mut next = self.bits;
        let cell = |low: u32, end: u32, name| (end - low, bits(low, end - 1), name);
        for field in self.fields.iter().rev() {
            if field.high + 1 < next {
                cells.push(cell(field.high + 1, next, ""));
            }
            cells.push(cell(field.low, field.high + 1, field.name));
            next = field.low;
        }
        if next > 0 {
            cells.push(cell(0, next, ""));
        }
        cells
    }
}

impl Field {
    /// Which bits they are: `13:0`.
    pub fn bits(&self) -> String {
        bits(self.low, self.high)
    }
}

/// `13:0`, or `52`.
fn bits(low: u32, high: u32) -> String {
    if low == high { format!("{low}") } else { format!("{high}:{low}") }
}

impl Modifier {
    /// Whether it is one word that is there or not.
    pub fn is_word(&self) -> bool {
        matches!(self.members, [only] if only.name == self.name)
    }
}
