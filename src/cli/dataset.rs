//! `ptx-isa table --format dataset`: the contents of the table and the reference as one JSON document.
//!
//! The schema is a contract, described by docs/dataset.md and docs/dataset.schema.json. It has its own version number,
//! [`VERSION`], and its own types, so that the library's types can change independently of it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::reference::page;
use ptx_isa::table::{FormInfo, Measure};
use ptx_isa::target::in_words;
use ptx_isa::text::{effects, spelling};
use serde::Serialize;

use super::names::forms_of;

/// Version of the document's schema; incremented when something is removed or changes its meaning.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Dataset {
    format: &'static str,
    version: u32,
    table: &'static str,
    ptx: Vec<String>,
    targets: Vec<Target>,
    families: &'static [&'static [u16]],
    types: Vec<Type>,
    instructions: Vec<Instruction>,
}

#[derive(Serialize)]
struct Target {
    name: String,
    since: String,
}

#[derive(Serialize)]
struct Type {
    name: &'static str,
    kind: String,
    bits: u16,
    lanes: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<&'static str>,
    registers: Vec<&'static str>,
}

#[derive(Serialize)]
struct Instruction {
    opcode: &'static str,
    entries: Vec<Entry>,
    modifiers: Vec<Modifier>,
    functions: Vec<Function>,
    fragments: Vec<Fragment>,
    layouts: Vec<Layout>,
    forms: Vec<Form>,
}

#[derive(Serialize)]
struct Entry {
    section: &'static str,
    also: &'static [&'static str],
    source: &'static str,
    summary: &'static str,
    details: &'static [&'static str],
    syntax: Vec<Line>,
    operands: Vec<Operand>,
    rules: &'static [&'static str],
    pseudo_code: &'static [&'static str],
    floors: Vec<Floor>,
    lenient: &'static [&'static str],
    errata: Vec<Erratum>,
    examples: Vec<Example>,
}

#[derive(Serialize)]
struct Line {
    text: &'static str,
    modifiers: Vec<Item>,
    operands: &'static [&'static str],
}

#[derive(Serialize)]
struct Item {
    name: &'static str,
    members: &'static [&'static str],
    optional: bool,
}

#[derive(Serialize)]
struct Operand {
    name: &'static str,
    written: bool,
    #[serde(rename = "type")]
    ty: &'static str,
    types: &'static [&'static str],
    takes: &'static [&'static str],
}

#[derive(Serialize)]
struct Floor {
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptx: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assembler: Option<&'static str>,
}

#[derive(Serialize)]
struct Erratum {
    subject: &'static str,
    manual: &'static str,
    machine: &'static str,
}

#[derive(Serialize)]
struct Example {
    text: &'static str,
    refused: bool,
}

#[derive(Serialize)]
struct Modifier {
    name: &'static str,
    description: &'static str,
    optional: bool,
    members: Vec<Member>,
}

#[derive(Serialize)]
struct Member {
    name: &'static str,
    description: &'static str,
    domain: &'static str,
}

#[derive(Serialize)]
struct Function {
    signature: &'static str,
    description: &'static str,
}

#[derive(Serialize)]
struct Fragment {
    name: &'static str,
    description: &'static str,
    formulas: &'static [&'static str],
    registers: u32,
    parts: u32,
    matrices: u32,
    rows: u32,
    columns: u32,
    held: Vec<Held>,
}

#[derive(Serialize)]
struct Held {
    operand: &'static str,
    forms: Vec<String>,
}

#[derive(Serialize)]
struct Layout {
    name: &'static str,
    description: &'static str,
    bits: u32,
    fields: Vec<Field>,
    operands: Vec<Laid>,
}

#[derive(Serialize)]
struct Field {
    low: u32,
    high: u32,
    name: &'static str,
    description: &'static str,
}

#[derive(Serialize)]
struct Laid {
    operand: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<&'static str>,
}

#[derive(Serialize)]
struct Form {
    mnemonic: &'static str,
    pattern: String,
    operands: String,
    entry: u8,
    ptx: String,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assembler: Option<Relaxed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<&'static str>,
    evaluator: bool,
    collective: bool,
    effects: Effects,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Bound>,
}

/// Effects of a form on registers, memory, control flow and other threads, free modifiers by the names of their slots.
#[derive(Serialize)]
struct Effects {
    reads: Vec<&'static str>,
    writes: Vec<&'static str>,
    memory: Vec<Access>,
    flow: &'static str,
    synchronization: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<&'static str>,
}

#[derive(Serialize)]
struct Access {
    address: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    space: Option<String>,
    bytes: u32,
    read: bool,
    written: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
}

#[derive(Serialize)]
struct Relaxed {
    ptx: String,
    target: String,
    note: &'static str,
}

#[derive(Serialize)]
struct Bound {
    measure: &'static str,
    value: &'static str,
}

/// Writes the instructions that have some of the forms, and of their forms these.
pub(super) fn write(out: &mut impl Write, forms: &[FormInfo]) -> io::Result<()> {
    let mut of: BTreeMap<&str, Vec<FormInfo>> = BTreeMap::new();
    forms.iter().for_each(|form| of.entry(form.instruction().opcode).or_default().push(*form));
    let instruction = |page: &&'static page::Page| Some(instruction(page, of.get(page.opcode)?));
    let ty = |ty: &ptx_isa::table::TypeInfo| Type {
        name: ty.name,
        kind: format!("{:?}", ty.kind).to_lowercase(),
        bits: ty.bits,
        lanes: ty.lanes,
        lane: (ty.lanes > 1).then(|| TABLE.ty(ty.lane).name),
        registers: ty.registers.iter().map(|ty| TABLE.ty(ty).name).collect(),
    };
    let target =
        |info: &ptx_isa::table::TargetInfo| Target { name: info.target.to_string(), since: info.since.to_string() };
    let dataset = Dataset {
        format: "ptx-isa-dataset",
        version: VERSION,
        table: env!("CARGO_PKG_VERSION"),
        ptx: TABLE.versions.iter().map(ToString::to_string).collect(),
        targets: TABLE.targets.iter().map(target).collect(),
        families: TABLE.data.families,
        types: TABLE.types.iter().map(ty).collect(),
        instructions: REFERENCE.pages().iter().filter_map(instruction).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &dataset)?;
    writeln!(out)
}

fn instruction(page: &'static page::Page, forms: &[FormInfo]) -> Instruction {
    let member =
        |&page::Member { name, description, domain, plain: _ }: &page::Member| Member { name, description, domain };
    let modifier = |modifier: &page::Modifier| Modifier {
        name: modifier.name,
        description: modifier.description,
        optional: modifier.optional,
        members: modifier.members.iter().map(member).collect(),
    };
    let function = |&page::Function { signature, description }: &page::Function| Function { signature, description };
    Instruction {
        opcode: page.opcode,
        entries: page.entries.iter().map(entry).collect(),
        modifiers: page.modifiers.iter().map(modifier).collect(),
        functions: page.functions.iter().map(function).collect(),
        fragments: page.fragments.iter().map(|fragment| self::fragment(page, fragment)).collect(),
        layouts: page.layouts.iter().map(layout).collect(),
        forms: forms.iter().map(|form| self::form(*form)).collect(),
    }
}

fn fragment(page: &page::Page, fragment: &page::Fragment) -> Fragment {
    let forms: Vec<FormInfo> = forms_of(page.opcode).collect();
    let held = |held: &page::Held| Held {
        operand: held.operand,
        forms: held.forms.iter().filter_map(|place| forms.get(*place as usize)).map(|form| form.pattern()).collect(),
    };
    let &page::Fragment { name, description, formulas, registers, parts, matrices, rows, columns, .. } = fragment;
    let held = fragment.held.iter().map(held).collect();
    Fragment { name, description, formulas, registers, parts, matrices, rows, columns, held }
}

fn layout(layout: &page::Layout) -> Layout {
    let field = |&page::Field { low, high, name, description }: &page::Field| Field { low, high, name, description };
    let laid = |&page::Laid { operand, when }: &page::Laid| Laid { operand, when };
    Layout {
        name: layout.name,
        description: layout.description,
        bits: layout.bits,
        fields: layout.fields.iter().map(field).collect(),
        operands: layout.laid.iter().map(laid).collect(),
    }
}

fn entry(entry: &page::Entry) -> Entry {
    let item = |&page::Item { name, members, optional }: &page::Item| Item { name, members, optional };
    let line = |line: &page::Line| Line {
        text: line.text,
        modifiers: line.items.iter().map(item).collect(),
        operands: line.operands,
    };
    let operand = |&page::Operand { name, written, ty, types, takes }: &page::Operand| Operand {
        name,
        written,
        ty,
        types,
        takes,
    };
    let floor = |floor: &page::Floor| Floor {
        when: floor.subject,
        ptx: floor.ptx,
        target: floor.target,
        assembler: floor.lenient,
    };
    let erratum = |&page::Erratum { subject, manual, machine }: &page::Erratum| Erratum { subject, manual, machine };
    let example = |&page::Example { text, refused }: &page::Example| Example { text, refused };
    Entry {
        section: entry.section,
        also: entry.also,
        source: entry.source,
        summary: entry.summary,
        details: entry.details,
        syntax: entry.syntax.iter().map(line).collect(),
        operands: entry.operands.iter().map(operand).collect(),
        rules: entry.rules,
        pseudo_code: entry.semantics,
        floors: entry.floors.iter().map(floor).collect(),
        lenient: entry.lenient,
        errata: entry.errata.iter().map(erratum).collect(),
        examples: entry.examples.iter().map(example).collect(),
    }
}

fn form(form: FormInfo) -> Form {
    let since = spelling::since(form);
    Form {
        mnemonic: form.mnemonic(),
        pattern: form.pattern(),
        operands: form.signature(),
        entry: form.syntax().entry,
        ptx: since.ptx.to_string(),
        target: in_words(&since.targets),
        removed: form.floor().removed.map(|removed| removed.to_string()),
        assembler: form.lenient_floor().zip(spelling::accepted_since(form)).map(|(relaxed, since)| Relaxed {
            ptx: since.ptx.to_string(),
            target: in_words(&since.targets),
            note: relaxed.note,
        }),
        unlisted: form.lenient(),
        evaluator: !form.evaluations().is_empty(),
        collective: form.is_collective(),
        effects: effects(form),
        bound: form.bound().map(|bound| Bound {
            measure: match bound.measure {
                Measure::Ulp => "ulp",
                Measure::Absolute => "abs",
                Measure::Relative => "rel",
            },
            value: bound.value,
        }),
    }
}

fn effects(form: FormInfo) -> Effects {
    let found = effects::of_any(form);
    // The name of a place has a dot before it, a word has none.
    let word = |word: &str| {
        let is_place = form.instruction().data().slots.iter().any(|slot| slot.free && slot.name == word);
        if is_place { format!(".{word}") } else { word.to_owned() }
    };
    let access = |access: &effects::Access| Access {
        address: form.operands().iter().nth(access.operand).map_or("", |operand| operand.name),
        space: access.space.map(word),
        bytes: access.bytes,
        read: access.read,
        written: access.written,
        order: access.order.map(word),
        scope: access.scope.map(word),
    };
    Effects {
        memory: found.memory.iter().map(access).collect(),
        flow: found.flow.name(),
        synchronization: found.synchronization.iter().map(|one| one.name()).collect(),
        lacks: found.lacks,
        reads: found.reads.into_iter().chain(found.states_read).collect(),
        writes: found.writes.into_iter().chain(found.states_written).collect(),
    }
}
