//! Data of one opcode for the explorer, loaded when the opcode is opened.

use std::collections::BTreeMap;

use ptx_isa::TABLE;
use ptx_isa::reference::page::{Manual, Page};
use ptx_isa::text::Statement;
use ptx_isa::text::statement::{Operand, Value};
use serde::Serialize;

use super::recorded::{Part, Recorded};

#[derive(Serialize)]
struct Told {
    entries: Vec<Entry>,
    /// By modifier and member: what it means, and what it means where no operand is a float.
    members: BTreeMap<&'static str, BTreeMap<&'static str, (&'static str, &'static str)>>,
    functions: Vec<(&'static str, &'static str)>,
    /// Examples with constants, which are samples of the operands' values.
    examples: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<Part>,
}

#[derive(Serialize)]
struct Entry {
    section: &'static str,
    manual: String,
    source: &'static str,
    summary: &'static str,
}

pub(super) fn script(manual: &Manual, page: &'static Page, recorded: Option<&Recorded>) -> serde_json::Result<String> {
    let entry = |entry: &'static ptx_isa::reference::page::Entry| Entry {
        section: entry.section,
        manual: manual.place(entry.section),
        source: entry.source,
        summary: entry.summary,
    };
    let mut members: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for modifier in page.modifiers {
        let said = modifier.members.iter().filter(|member| !member.description.is_empty());
        let own = members.entry(modifier.name).or_default();
        own.extend(said.map(|member| (member.name, (member.description, member.plain))));
    }
    let has_constant = |text: &&str| {
        let statement = Statement::parse(&TABLE, text);
        let constant = |operand: &Operand<'_>| matches!(operand.value, Value::Constant(_));
        statement.is_ok_and(|statement| statement.operands().iter().any(constant))
    };
    let examples = page.entries.iter().flat_map(|entry| entry.examples).map(|example| example.text);
    let told = Told {
        examples: examples.filter(has_constant).collect(),
        recorded: recorded.map(|recorded| recorded.part(page.opcode)),
        entries: page.entries.iter().map(entry).collect(),
        members,
        functions: page.functions.iter().map(|function| (function.signature, function.description)).collect(),
    };
    Ok(format!("tell({:?},{});\n", page.opcode, serde_json::to_string(&told)?))
}
