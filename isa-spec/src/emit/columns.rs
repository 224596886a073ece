//! Static table: the data of the spec that the text layer, the validator and the reference read, in columns.

use std::fmt::Display;

use isa_table::constant::Content;
use isa_table::matrix::{BitLayout, Fragment, Summation};
use isa_table::program::{Evaluation, Shape};
use isa_table::table::{
    Bounded, DataBuf, Declared, Directive, EffectList, Floors, Instruction, MemoryOrder, Name, Operand, OperandList,
    Space, Special, Syntax, TargetInfo, TypeInfo,
};
use isa_table::target::{FloorBuf, Version, in_words};

use super::Context;
use super::code::Code;
use super::rows::{Rows, expression, rows};
use crate::check::Form;
use crate::model::choice::Scope;

/// Pseudo-code of a form for targets directly below an SM number.
pub(super) fn pseudo_code(cx: &Context<'_>, form: &Form, below: u16) -> Vec<String> {
    let model = &cx.checked.model;
    let opcode = &model.opcodes[form.opcode];
    let scope = Scope { model, opcode, choice: &form.choice, sm: Some(below - 1), free: false };
    let entry = &opcode.entries[form.entry];
    crate::pseudo::lines(scope, entry, &form.patterns)
}

/// Requirements of a form: `PTX 1.0, sm_13`, and those of the assembler if lower.
pub(super) fn floor_words(form: &Form) -> String {
    let words = |floor: &FloorBuf| format!("PTX {}, `{}`", floor.ptx, in_words(&floor.targets));
    let lenient = form.lenient_floor.as_ref().map(|(floor, _)| format!(" (the assembler: {})", words(floor)));
    words(&form.floor) + &lenient.unwrap_or_default()
}

pub(super) fn emit(cx: &Context<'_>, code: &mut Code) {
    let Rows { data, lines } = rows(cx);
    let base = if cx.checked.model.has_base { format!("Some(&{}::TABLE)", cx.support) } else { "None".to_owned() };
    code.blank();
    code.docs("The whole table that the spec describes.");
    code.block(format_args!("pub static TABLE: {0}::table::Table = {0}::table::Table {{", cx.support), "};", |code| {
        code.line(format_args!("base: {base},"));
        code.line("data: data::DATA,");
        code.line("operation,");
        code.line("operations: OPERATION_NAMES,");
        code.line("linear: LINEAR,");
        code.line("loops: loops::LOOPS,");
    });
    code.blank();
    code.braces("mod data", |code| {
        code.line("#[allow(unused_imports, reason = \"a table need not use every shape\")]");
        code.line(format_args!(
            "use {}::table::{{*, matrix::{{self, BitField, BitLayout, Fragment, Share, SumOf, Summation}}, program::*, selector::{{self, Permission, Selector}}, target::{{Floor, Removed, Target, Version}}}};",
            cx.support
        ));
        code.blank();
        structure(&data, code);
        rows_of::<TypeInfo>(code, "TYPES", "TypeInfo", &data.types);
        list(code, "VERSIONS", "Version", data.versions.len(), |code| {
            code.list(data.versions.iter().map(expression::<Version>));
        });
        rows_of::<TargetInfo>(code, "TARGETS", "TargetInfo", &data.targets);
        rows_of::<Special>(code, "SPECIALS", "Special", &data.specials);
        rows_of::<Directive>(code, "DIRECTIVES", "Directive", &data.directives);
        rows_of::<Fragment>(code, "FRAGMENTS", "Fragment", &data.fragments);
        rows_of::<Summation>(code, "SUMMATIONS", "Summation", &data.summations);
        rows_of::<BitLayout>(code, "LAYOUTS", "BitLayout", &data.layouts);
        rows_of::<Declared>(code, "DECLARATIONS", "Declared", &data.declarations);
        rows_of::<Instruction>(code, "INSTRUCTIONS", "Instruction", &data.instructions);
        rows_of::<Syntax>(code, "SYNTAXES", "Syntax", &data.syntaxes);
        rows_of::<Operand>(code, "ALL_OPERANDS", "Operand", &data.forms.all_operands);
        rows_of::<OperandList>(code, "OPERAND_LISTS", "OperandList", &data.forms.operand_lists);
        rows_of::<Floors>(code, "FLOOR_LIST", "Floors", &data.forms.floor_list);
        rows_of::<&str>(code, "NOTE_LIST", "&str", &data.forms.note_list);
        rows_of::<EffectList>(code, "EFFECT_LISTS", "EffectList", &data.forms.effect_lists);
        let numbers = |code: &mut Code, name: &str, ty: &str, numbers: &[u32]| {
            list(code, name, ty, numbers.len(), |code| code.list(numbers));
        };
        rows_of::<Name>(code, "NAMES", "Name", &data.forms.names);
        rows_of::<&str>(code, "LONG_NAMES", "&str", &data.forms.long_names);
        numbers(code, "FACTORS", "u32", &data.forms.factors);
        rows_of::<Bounded>(code, "BOUNDS", "Bounded", &data.forms.bounds);
        list(code, "NEXT_SHAPES", "u16", data.forms.next_shapes.len(), |code| code.list(&data.forms.next_shapes));
        list(code, "PLACES", "u16", data.forms.places.len(), |code| code.list(&data.forms.places));
        let grouped = Grouped { cx, lines: &lines };
        grouped.column(code, "SYNTAX", "u16", &data.forms.syntax);
        grouped.column(code, "OPERANDS", "u16", &data.forms.operands);
        grouped.column(code, "FLOORS", "u16", &data.forms.floors);
        grouped.column(code, "NOTES", "u16", &data.forms.notes);
        grouped.column(code, "EFFECTS", "u16", &data.forms.effects);
        grouped.column(code, "EVALUATIONS", "u32", &data.forms.evaluations);
        bytes(code, "VALUES", &data.forms.values);
        programs(cx, &data, code);
    });
}

/// Field names of the columns of forms.
const COLUMNS: [&str; 9] =
    ["names", "long_names", "syntax", "values", "operands", "floors", "notes", "effects", "evaluations"];

/// Field names of the pools that the columns index.
const POOLS: [&str; 9] = [
    "all_operands",
    "operand_lists",
    "floor_list",
    "note_list",
    "effect_lists",
    "bounds",
    "next_shapes",
    "factors",
    "places",
];

/// Fields of the programs and their sources.
const PROGRAMS: [(&str, &str); 4] =
    [("shapes", "SHAPES"), ("evaluations", "RUNS"), ("places", "PLACES_READ"), ("data", "WORDS")];

/// Writes the structure that ties columns and pools together.
fn structure(data: &DataBuf, code: &mut Code) {
    code.block("pub(super) const DATA: Data = Data {", "};", |code| {
        code.line("types: TYPES,");
        code.line("versions: VERSIONS,");
        code.line("targets: TARGETS,");
        code.line(format_args!("families: {},", expression::<&[&[u16]]>(&data.families)));
        code.line("instructions: INSTRUCTIONS,");
        code.line("syntaxes: SYNTAXES,");
        code.block("forms: Forms {", "},", |code| {
            for name in COLUMNS.iter().chain(&POOLS) {
                code.line(format_args!("{name}: {},", name.to_ascii_uppercase()));
            }
        });
        code.block("programs: Programs {", "},", |code| {
            for (field, name) in PROGRAMS {
                code.line(format_args!("{field}: {name},"));
            }
        });
        code.line(format_args!("lenient: {},", expression::<&[Option<&str>]>(&data.lenient)));
        code.line("specials: SPECIALS,");
        code.line(format_args!("spaces: {},", expression::<&[Space]>(&data.spaces)));
        code.line(format_args!("orders: {},", expression::<&[MemoryOrder]>(&data.orders)));
        code.line("directives: DIRECTIVES,");
        code.line("fragments: FRAGMENTS,");
        code.line("summations: SUMMATIONS,");
        code.line("layouts: LAYOUTS,");
        code.line("declarations: DECLARATIONS,");
    });
}

pub(super) fn list(code: &mut Code, name: &str, ty: &str, count: usize, inside: impl FnOnce(&mut Code)) {
    code.blank();
    code.block(format_args!("static {name}: &[{ty}; {count}] = &["), "];", inside);
}

/// Writes a byte list.
fn bytes(code: &mut Code, name: &str, bytes: &[u8]) {
    code.blank();
    code.line(format_args!("static {name}: &[u8; {}] = {};", bytes.len(), expression::<&[u8]>(&bytes.to_vec())));
}

/// Writes a list with one element for each row.
pub(super) fn rows_of<T: Content>(code: &mut Code, name: &str, ty: &str, rows: &[T::Buf]) {
    list(code, name, ty, rows.len(), |code| rows.iter().for_each(|row| code.line(expression::<T>(row) + ",")));
}

fn programs(cx: &Context<'_>, data: &DataBuf, code: &mut Code) {
    list(code, "SHAPES", "Shape", data.programs.shapes.len(), |code| {
        for (planned, shape) in cx.plan.shapes.iter().zip(&data.programs.shapes) {
            let first = planned.forms.first().map_or("", |form| cx.checked.forms[*form].mnemonic.as_str());
            let more = planned.forms.len().saturating_sub(1);
            code.line(format_args!("// {first}{}", if more > 0 { format!(" and {more} more") } else { String::new() }));
            code.line(expression::<Shape>(shape) + ",");
        }
    });
    rows_of::<Evaluation>(code, "RUNS", "Evaluation", &data.programs.evaluations);
    bytes(code, "PLACES_READ", &data.programs.places);
    let words = data.programs.data.iter().map(expression::<u64>);
    list(code, "WORDS", "u64", data.programs.data.len(), |code| code.list(words));
}

/// Columns of forms, with line breaks between syntax lines.
struct Grouped<'a> {
    cx: &'a Context<'a>,
    /// First form of each syntax line, and the index of the line in the table.
    lines: &'a [(usize, usize)],
}

impl Grouped<'_> {
    fn column<T: Display>(&self, code: &mut Code, name: &str, ty: &str, column: &[T]) {
        list(code, name, ty, column.len(), |code| {
            for (index, (start, _)) in self.lines.iter().enumerate() {
                let end = self.lines.get(index + 1).map_or(column.len(), |(next, _)| *next);
                let form = &self.cx.checked.forms[*start];
                let entry = &self.cx.checked.model.opcodes[form.opcode].entries[form.entry];
                let syntax = &entry.syntaxes[form.syntax];
                code.line(format_args!("// {}, {}", syntax.text, self.cx.place(syntax.span)));
                code.list(&column[*start..end]);
            }
        });
    }
}
