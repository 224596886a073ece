//! What the explorer's script reads: the table as JSON, equal lists once.
//!
//! The script knows no instruction: forms, rules with their reasons, floors and pseudo-code all come from here.

use std::collections::HashMap;
use std::hash::Hash;

use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::reference::form;
use ptx_isa::selector::{Permission, Selector};
use ptx_isa::table::{ABSENT, Forbidden, InstructionInfo, Item, Kind, Rule};
use serde::Serialize;

use super::examples;

/// In the script "absent" is -1.
const NONE: i8 = -1;

#[derive(Serialize)]
struct Data {
    types: Vec<Type>,
    instructions: Vec<Instr>,
    operands: Vec<Operands>,
    floors: Vec<Floor>,
    notes: Vec<&'static str>,
    /// Lines of pseudo-code.
    lines: Vec<&'static str>,
    /// Lists of lines, and the SM number that each is for targets below.
    traces: Vec<Vec<(u16, Vec<usize>)>>,
    /// Opcode, syntax line, operands, floor, lenient floor, its note, traces, then the members.
    forms: Vec<Vec<i32>>,
}

#[derive(Serialize)]
struct Type {
    name: &'static str,
    lanes: u8,
    width: String,
    predicate: bool,
    description: &'static str,
}

#[derive(Serialize)]
struct Instr {
    opcode: &'static str,
    slots: Vec<Slot>,
    syntaxes: Vec<Syntax>,
    rules: Vec<Refusal>,
    entries: Vec<Entry>,
    functions: Vec<(&'static str, &'static str)>,
}

#[derive(Serialize)]
struct Slot {
    name: &'static str,
    types: bool,
    members: Vec<(&'static str, &'static str)>,
}

#[derive(Serialize)]
struct Syntax {
    text: &'static str,
    /// Slot, whether it may be left out, members.
    items: Vec<(u8, bool, Vec<usize>)>,
    entry: u8,
}

#[derive(Serialize)]
struct Refusal {
    forbids: Vec<(u8, Vec<i8>)>,
    reason: &'static str,
}

#[derive(Serialize)]
struct Entry {
    section: &'static str,
    source: &'static str,
    summary: &'static str,
}

#[derive(Serialize, PartialEq, Eq, Hash, Clone)]
struct Operands {
    signature: String,
    list: Vec<Operand>,
}

#[derive(Serialize, PartialEq, Eq, Hash, Clone)]
struct Operand {
    name: &'static str,
    ty: u8,
    written: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    second: Option<&'static str>,
    takes: String,
    /// An input that tells something.
    sample: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    selector: Option<(&'static str, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'static str>,
}

/// The version, and the targets in words.
type Floor = (String, String);

/// Values in order of their first use.
struct Shared<T> {
    list: Vec<T>,
    places: HashMap<T, usize>,
}

impl<T: Hash + Eq + Clone> Shared<T> {
    fn new() -> Shared<T> {
        Shared { list: Vec::new(), places: HashMap::new() }
    }

    fn place(&mut self, value: T) -> i32 {
        let next = self.list.len();
        let place = *self.places.entry(value.clone()).or_insert(next);
        if place == next {
            self.list.push(value);
        }
        place as i32
    }
}

pub(super) fn script() -> serde_json::Result<String> {
    let mut operands = Shared::new();
    let mut floors = Shared::new();
    let mut notes = Shared::new();
    let mut lines = Shared::new();
    let mut traces = Shared::new();
    let mut forms = Vec::new();
    for form in TABLE.forms() {
        let mut place = 0;
        let list = form.operands().iter().map(|info| {
            let described = operand(info, place);
            place += usize::from(!info.destination);
            described
        });
        let list = list.collect();
        let floor = |floor: &ptx_isa::target::Floor| (floor.ptx.to_string(), floor.targets_in_words());
        let mut row = vec![
            form.instruction().index() as i32,
            form.line() as i32,
            operands.place(Operands { signature: form.signature(), list }),
            floors.place(floor(form.floor())),
        ];
        match form.lenient_floor() {
            Some(relaxed) => row.extend([floors.place(floor(&relaxed.floor)), notes.place(relaxed.note)]),
            None => row.extend([-1, -1]),
        }
        let mut trace = Vec::new();
        for (range, steps) in REFERENCE.traces(form) {
            let steps = steps.into_iter().map(|line| lines.place(line) as usize).collect::<Vec<_>>();
            trace.push((range.below, steps));
        }
        row.push(if trace.is_empty() { -1 } else { traces.place(trace) });
        row.extend(form.values().iter().map(|value| if *value == ABSENT { -1 } else { i32::from(*value) }));
        forms.push(row);
    }
    let data = Data {
        types: TABLE.types.iter().map(ty).collect(),
        instructions: TABLE.instructions().zip(REFERENCE.pages()).map(|(info, page)| instruction(info, page)).collect(),
        operands: operands.list,
        floors: floors.list,
        notes: notes.list,
        lines: lines.list,
        traces: traces.list,
        forms,
    };
    Ok(format!("const PTX={};\n", serde_json::to_string(&data)?))
}

fn ty(ty: &'static ptx_isa::table::TypeInfo) -> Type {
    Type {
        name: ty.name,
        lanes: ty.lanes,
        width: form::width(ty),
        predicate: ty.kind == Kind::Predicate,
        description: ty.description,
    }
}

fn members(set: u64) -> Vec<usize> {
    (0..usize::from(ABSENT)).filter(|member| set >> member & 1 != 0).collect()
}

fn instruction(info: InstructionInfo, page: &'static ptx_isa::reference::page::Page) -> Instr {
    let slots = info.data().slots.iter().zip(page.modifiers).map(|(slot, modifier)| {
        let members: Vec<_> = modifier.members.iter().map(|member| (member.name, member.description)).collect();
        Slot { name: slot.name, types: slot.types, members }
    });
    let items = |items: &[Item]| items.iter().map(|item| (item.slot, item.optional, members(item.members))).collect();
    let syntaxes =
        info.syntaxes().iter().map(|line| Syntax { text: line.text, items: items(line.items), entry: line.entry });
    let forbids = |rule: &Rule| {
        let values = rule.forbids.iter().map(|Forbidden { slot, values: set }| {
            let absent = (set >> ABSENT & 1 != 0).then_some(NONE);
            (*slot, members(*set).into_iter().map(|member| member as i8).chain(absent).collect())
        });
        values.collect()
    };
    Instr {
        opcode: info.data().opcode,
        slots: slots.collect(),
        syntaxes: syntaxes.collect(),
        rules: info.data().rules.iter().map(|rule| Refusal { forbids: forbids(rule), reason: rule.reason }).collect(),
        entries: page
            .entries
            .iter()
            .map(|entry| Entry { section: entry.section, source: entry.source, summary: entry.summary })
            .collect(),
        functions: page.functions.iter().map(|function| (function.signature, function.description)).collect(),
    }
}

fn operand(operand: &'static ptx_isa::table::Operand, place: usize) -> Operand {
    let second = operand.second.as_ref().map_or(Permission::No, |second| second.optional);
    let permissions = [operand.negation, operand.trailing_sink, second];
    let notes = permissions.iter().filter_map(|permission| match permission {
        Permission::Lenient(note) => Some(*note),
        Permission::No | Permission::Yes => None,
    });
    Operand {
        name: operand.name,
        ty: operand.ty.0,
        written: operand.destination,
        second: operand.second.as_ref().map(|second| second.name),
        takes: form::takes(&TABLE, operand).join(", "),
        sample: sample(operand, place),
        selector: operand.selector.as_ref().map(|selector| (selector.name, written(selector))),
        notes: notes.collect(),
    }
}

/// An input for an operand as people write it: the value where it says more than the bits.
fn sample(operand: &ptx_isa::table::Operand, place: usize) -> String {
    let text = ptx_isa::value::show(examples::operand_sample(operand, 0, place), TABLE.ty(operand.ty));
    let value = text.split_once('(').map(|(_, value)| value.trim_end_matches(')').to_owned());
    value
        .filter(|_| operand.selector.is_none())
        .unwrap_or_else(|| text.split(' ').next().unwrap_or_default().to_owned())
}

/// The default of a selector as it is written; nothing where no word is.
fn written(selector: &Selector) -> String {
    let word = selector.kind.spell(selector.letter, selector.default);
    if word.is_empty() { word } else { format!(".{word}") }
}
