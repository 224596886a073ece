//! Data of a reference page; [`markdown`](crate::markdown) renders it as Markdown.
//!
//! `isa-spec` computes the pages from a checked spec; rustdoc, the terminal and the web site render them. A page is
//! complete: renderers add no content of their own. This module depends on no instruction and no spec.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::constant::contents;
use crate::target::Version;

contents! {
    /// Reference page of an opcode.
    Page, PageBuf {
        /// The opcode.
        opcode: &'static str,
        /// Summary that fits all entries.
        summary: &'static str,
        /// Number of forms.
        forms: u32,
        /// Entries of the spec, in its order.
        entries: &'static [Entry],
        /// Modifiers of all entries.
        modifiers: &'static [Modifier],
        /// Legal combinations of modifiers.
        matrices: &'static [Matrix],
        /// Functions used by the pseudo-code.
        functions: &'static [Function],
        /// Fragments: distribution of matrix elements over the lanes of a warp.
        fragments: &'static [Fragment],
        /// Bit layouts of operands.
        layouts: &'static [Layout],
    }

    /// An entry of the spec: the opcode as one section of the manual describes it.
    Entry, EntryBuf {
        /// Section of the manual.
        section: &'static str,
        /// Other names and search terms.
        also: &'static [&'static str],
        /// Spec file and line.
        source: &'static str,
        /// Number of forms.
        forms: u32,
        /// First paragraph of the description.
        summary: &'static str,
        /// Remaining paragraphs.
        details: &'static [&'static str],
        /// Syntax lines.
        syntax: &'static [Line],
        /// Operands of all lines.
        operands: &'static [Operand],
        /// Constraints beyond the syntax.
        rules: &'static [&'static str],
        /// Pseudo-code, one statement each.
        semantics: &'static [&'static str],
        /// Minimum versions and targets.
        floors: &'static [Floor],
        /// Deviations of the assembler that accept more than the manual.
        lenient: &'static [&'static str],
        /// Contradictions within the manual, or between the manual and the machine.
        errata: &'static [Erratum],
        /// Example statements.
        examples: &'static [Example],
    }

    /// A syntax line.
    Line, LineBuf {
        /// The line in the manual's notation.
        text: &'static str,
        /// Its modifiers.
        items: &'static [Item],
        /// Its operands in the manual's notation.
        operands: &'static [&'static str],
    }

    /// A modifier of a syntax line.
    Item, ItemBuf {
        /// Name of the set of members.
        name: &'static str,
        /// Allowed members, without dots.
        members: &'static [&'static str],
        /// True if it may be omitted.
        optional: bool,
    }

    /// An operand.
    Operand, OperandBuf {
        /// Its name.
        name: &'static str,
        /// True if it is a destination, false if it is a source.
        written: bool,
        /// Its type, or the modifier that selects it.
        ty: &'static str,
        /// Types that the modifier may select, without dots.
        types: &'static [&'static str],
        /// Accepted operands, one phrase each.
        takes: &'static [&'static str],
    }

    /// Minimum version and target of all forms, or what those that meet a condition need beyond it.
    Floor, FloorBuf {
        /// Condition on modifiers; `None` for all forms.
        subject: Option<&'static str>,
        /// The condition in words.
        words: Option<&'static str>,
        /// Minimum PTX version.
        ptx: Option<&'static str>,
        /// Minimum target.
        target: Option<&'static str>,
        /// Reason why the assembler requires less than the manual; `None` for the manual's own requirement.
        lenient: Option<&'static str>,
    }

    /// A modifier slot.
    Modifier, ModifierBuf {
        /// Its name, without a dot.
        name: &'static str,
        /// Description; empty for types and plain words.
        description: &'static str,
        /// True if some form omits it.
        optional: bool,
        /// Members.
        members: &'static [Member],
    }

    /// A member of a modifier slot.
    Member, MemberBuf {
        /// The spelling, without a dot.
        name: &'static str,
        /// Meaning in the forms of the page; for floats if some forms compare floats.
        description: &'static str,
        /// Meaning where no operand is a float.
        plain: &'static str,
        /// Types it applies to, in words; empty for types and plain words.
        domain: &'static str,
    }

    /// Legal combinations of the members of some modifiers (rows) with those of another (columns).
    Matrix, MatrixBuf {
        /// Modifier of the columns.
        across: &'static str,
        /// Members of that modifier.
        columns: &'static [&'static str],
        /// Rows, grouped by modifier.
        groups: &'static [Group],
    }

    /// Rows of a matrix for one modifier.
    Group, GroupBuf {
        /// The modifier; empty for rows without one.
        name: &'static str,
        /// One row for each member.
        rows: &'static [Row],
    }

    /// A row of a matrix.
    Row, RowBuf {
        /// The member.
        name: &'static str,
        /// One cell for each column.
        cells: &'static [Cell],
    }

    /// A cell: forms that combine two members.
    Cell, CellBuf {
        /// Number of forms that have both.
        forms: u32,
        /// Reason why no form has both.
        reason: &'static str,
        /// First form that has both.
        example: &'static str,
    }

    /// The manual whose section numbers the entries cite.
    Manual, ManualBuf {
        /// PTX version of the manual.
        version: Version,
        /// URL.
        address: &'static str,
        /// Chapters on instructions, in the manual's order.
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
        /// Name, as entries cite it.
        name: &'static str,
        /// Content.
        text: &'static str,
    }

    /// A function of the pseudo-code.
    Function, FunctionBuf {
        /// Signature.
        signature: &'static str,
        /// Description.
        description: &'static str,
    }

    /// Distribution of one or several matrices over the lanes of a warp. Adjacent elements that one lane holds
    /// consecutively share a cell.
    Fragment, FragmentBuf {
        /// Name in the spec.
        name: &'static str,
        /// Description.
        description: &'static str,
        /// Formulas of an element's row, column and matrix in terms of `lane`, `register`, `part`, `parts` and
        /// `element`.
        formulas: &'static [&'static str],
        /// Number of registers for each lane.
        registers: u32,
        /// Number of elements for each register, lowest bits first.
        parts: u32,
        /// Number of matrices.
        matrices: u32,
        /// Number of rows of a matrix.
        rows: u32,
        /// Number of columns of a matrix.
        columns: u32,
        /// Number of rows of a cell.
        high: u32,
        /// Number of columns of a cell.
        wide: u32,
        /// Lane of each cell, row by row.
        lanes: &'static [u8],
        /// Index of the first of the lane's elements in each cell.
        elements: &'static [u8],
        /// Operands held in this fragment.
        held: &'static [Held],
    }

    /// Bit layout of a value.
    Layout, LayoutBuf {
        /// Name in the spec.
        name: &'static str,
        /// Description.
        description: &'static str,
        /// Width in bits.
        bits: u32,
        /// Fields, lowest first; bits outside every field are zero.
        fields: &'static [Field],
        /// Operands with this layout, each with its condition.
        laid: &'static [Laid],
    }

    /// A bit field.
    Field, FieldBuf {
        /// Lowest bit.
        low: u32,
        /// Highest bit.
        high: u32,
        /// Name.
        name: &'static str,
        /// Description.
        description: &'static str,
    }

    /// An operand with a bit layout.
    Laid, LaidBuf {
        /// Name.
        operand: &'static str,
        /// Condition on modifiers; `None` for all forms.
        when: Option<&'static str>,
    }

    /// An operand held in a fragment.
    Held, HeldBuf {
        /// Name.
        operand: &'static str,
        /// Indices, among the forms of the page, of the forms to which this applies.
        forms: &'static [u32],
    }

    /// A contradiction within the manual, or between the manual and the machine.
    Erratum, ErratumBuf {
        /// Subject.
        subject: &'static str,
        /// Statement of the manual.
        manual: &'static str,
        /// Behavior of the machine or the assembler.
        machine: &'static str,
    }

    /// An example statement.
    Example, ExampleBuf {
        /// The statement, with its semicolon.
        text: &'static str,
        /// True if the assembler refuses it although the manual shows it.
        refused: bool,
    }
}

impl Page {
    /// Description of a member of a modifier.
    pub fn member(&self, modifier: &str, member: &str) -> Option<&'static Member> {
        let modifier = self.modifiers.iter().find(|other| other.name == modifier)?;
        modifier.members.iter().find(|other| other.name == member)
    }

    /// The fragments with each distribution once, in the order of the first fragment of each.
    pub fn drawings(&self) -> Vec<Drawing> {
        let mut drawings: Vec<Drawing> = Vec::new();
        for fragment in self.fragments {
            let same = |drawing: &&mut Drawing| {
                fragment.is_corner_of(drawing.fragment) || drawing.fragment.is_corner_of(fragment)
            };
            match drawings.iter_mut().find(same) {
                Some(drawing) => {
                    drawing.members.push(fragment);
                    if drawing.fragment.is_corner_of(fragment) {
                        drawing.fragment = fragment;
                    }
                }
                None => drawings.push(Drawing { fragment, members: Vec::from([fragment]) }),
            }
        }
        drawings
    }
}

/// A distribution of elements, and the fragments that have it: smaller ones are its corner.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// The largest of them.
    pub fragment: &'static Fragment,
    /// All of them, in the order of the page.
    pub members: Vec<&'static Fragment>,
}

impl Drawing {
    /// Names the smaller matrices, which have the first rows and columns of the largest; `None` if there are none.
    pub fn corners(&self) -> Option<String> {
        let mut sizes: Vec<String> = Vec::new();
        for Fragment { rows, columns, .. } in &self.members {
            let size = format!("{rows} × {columns}");
            if (*rows, *columns) != (self.fragment.rows, self.fragment.columns) && !sizes.contains(&size) {
                sizes.push(size);
            }
        }
        let sizes = sizes.join(", ");
        (!sizes.is_empty()).then(|| format!("Matrices of {sizes} have its first rows and columns."))
    }
}

impl Manual {
    /// Chapter that contains a section.
    pub fn chapter(&self, section: &str) -> Option<&'static Chapter> {
        let holds = |chapter: &&Chapter| {
            let rest = section.strip_prefix(chapter.number);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.chapters.iter().find(holds)
    }

    /// URL of a section: that of its chapter, with a text fragment that scrolls to its number.
    pub fn place(&self, section: &str) -> String {
        let Some(chapter) = self.chapter(section) else { return self.address.into() };
        let word = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let anchor: String = chapter.title.chars().map(word).collect();
        format!("{}#{anchor}:~:text={section}.", self.address)
    }
}

/// Ranges of `each` consecutive indices below `size`: `0`, or `0–1`.
fn ranges(size: u32, each: u32) -> Vec<String> {
    let range = |number: u32| match each {
        1 => format!("{number}"),
        _ => format!("{}–{}", number * each, number * each + each - 1),
    };
    (0..size / each).map(range).collect()
}

impl Fragment {
    /// Returns true if the rows and columns are the first ones of another fragment, each element held by the same lane in the
    /// same place.
    fn is_corner_of(&self, large: &Fragment) -> bool {
        let same =
            (self.name, self.matrices, self.high, self.wide) == (large.name, large.matrices, large.high, large.wide);
        let grid = |fragment: &Fragment| {
            ((fragment.rows / fragment.high) as usize, (fragment.columns / fragment.wide) as usize)
        };
        let ((rows, columns), (all_rows, all_columns)) = (grid(self), grid(large));
        let row = |fragment: &'static [u8], columns: usize, number: usize| &fragment[number * columns..][..columns];
        let equal = |own: &'static [u8], other: &'static [u8]| {
            (0..self.matrices as usize).all(|matrix| {
                (0..rows).all(|at| {
                    let other = row(other, all_columns, matrix * all_rows + at);
                    row(own, columns, matrix * rows + at) == &other[..columns]
                })
            })
        };
        same && rows <= all_rows
            && columns <= all_columns
            && equal(self.lanes, large.lanes)
            && equal(self.elements, large.elements)
    }

    /// Labels of the cells, by matrix and row: `T5 2–3` if lane 5 holds it as elements 2 and 3.
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

    /// Row indices of each row of cells: `0`, or `0–1`.
    pub fn row_names(&self) -> Vec<String> {
        ranges(self.rows, self.high)
    }

    /// Column indices of each column of cells.
    pub fn column_names(&self) -> Vec<String> {
        ranges(self.columns, self.wide)
    }

    /// Summary of the size: `16 × 16 elements; each lane has 4 registers of 2`.
    pub fn size(&self) -> String {
        let Fragment { matrices, rows, columns, registers, parts, .. } = self;
        let matrices = if *matrices == 1 { String::new() } else { format!("{matrices} matrices of ") };
        let registers = if *registers == 1 { "a register".into() } else { format!("{registers} registers") };
        let parts = if *parts == 1 { "one element".into() } else { format!("{parts} elements, the lowest bits first") };
        format!("{matrices}{rows} × {columns} elements; each lane has {registers} of {parts}")
    }
}

impl Layout {
    /// The operands with their conditions: `a`, `idesc where .mx == .kind::mxf4`.
    pub fn operands(&self) -> String {
        let laid = self.laid.iter().map(|laid| match laid.when {
            Some(when) => format!("`{}` where `{when}`", laid.operand),
            None => format!("`{}`", laid.operand),
        });
        laid.collect::<Vec<_>>().join(", ")
    }

    /// Fields from the highest bit down: width, range and name; zero bits have an empty name.
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
    /// Bit range: `13:0`.
    pub fn bits(&self) -> String {
        bits(self.low, self.high)
    }
}

/// `13:0`, or `52`.
fn bits(low: u32, high: u32) -> String {
    if low == high { format!("{low}") } else { format!("{high}:{low}") }
}

impl Modifier {
    /// Returns true if it is a single optional word, which is present or absent.
    pub fn is_word(&self) -> bool {
        matches!(self.members, [only] if only.name == self.name)
    }
}
