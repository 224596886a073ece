//! Typed API of a table: modifier enums, a struct with its forms for each instruction, `Opcode` and `Form`.

use isa_table::names::{camel, constant, snake};

use super::Context;
use super::code::Code;
use super::columns::floor_words;
use crate::model::{Meaning, Model, Opcode, Slot, SlotKind};

pub(super) fn emit(cx: &Context<'_>, code: &mut Code) {
    let model = &cx.checked.model;
    enums(cx, code);
    let opcodes = model.opcodes.iter().map(|opcode| Member {
        variant: camel(&opcode.name),
        spelling: &opcode.name,
        docs: entry_docs(cx, opcode),
    });
    modifier_enum(code, "An opcode of the table.", "Opcode", &opcodes.collect::<Vec<_>>(), "opcode");
    any_instruction(cx, code);
    let mut forms = cx.checked.forms.iter().enumerate().peekable();
    for (index, opcode) in model.opcodes.iter().enumerate() {
        instruction(cx, index, opcode, code);
        code.blank();
        code.docs("Its forms, named by their mnemonics; of each syntax line the first is shown.");
        code.braces(format_args!("impl {}", camel(&opcode.name)), |code| {
            let mut line = None;
            while let Some((number, form)) = forms.next_if(|(_, form)| form.opcode == index) {
                let first = line.replace((form.entry, form.syntax)) != Some((form.entry, form.syntax));
                let syntax = &opcode.entries[form.entry].syntaxes[form.syntax];
                if first {
                    code.line(format_args!("// {}, {}", syntax.text, cx.place(syntax.span)));
                }
                code.docs(&format!("`{}`: {}.", form.mnemonic, floor_words(form)));
                match first {
                    true => code.docs(&format!("\nThe others of `{}` are named alike.", syntax.text)),
                    false => code.line(HIDDEN),
                }
                code.line(format_args!("pub const {}: Form = Form::at({number});", constant(&form.name)));
            }
        });
    }
    code.blank();
    let count = cx.checked.forms.len();
    code.line(format_args!("{}::forms!(Form, Opcode, Instruction, TABLE, {count});", cx.support));
}

/// Hides all but the first of many similar items from the documentation, which would be unreadable with all of them.
pub(super) const HIDDEN: &str = "#[doc(hidden)]";

struct Member<'a> {
    variant: String,
    spelling: &'a str,
    docs: String,
}

/// Items common to all modifier enums: list of variants, spelling, conversion to text.
fn modifier_enum(code: &mut Code, docs: &str, name: &str, members: &[Member<'_>], what: &str) {
    code.blank();
    code.docs(docs);
    code.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]");
    code.line("#[non_exhaustive]");
    code.braces(format_args!("pub enum {name}"), |code| {
        for member in members {
            code.docs(&member.docs);
            // Documentation search ignores case.
            if !member.spelling.eq_ignore_ascii_case(&member.variant) {
                code.alias(member.spelling);
            }
            code.line(format_args!("{},", member.variant));
        }
    });
    code.blank();
    code.braces(format_args!("impl {name}"), |code| {
        code.docs(&format!("Every {what}, in the spec's order."));
        code.block(format_args!("pub const ALL: [{name}; {}] = [", members.len()), "];", |code| {
            code.list(members.iter().map(|member| format!("{name}::{}", member.variant)));
        });
        code.blank();
        code.docs(&format!("The {what} as PTX spells it, without the dot."));
        code.braces("pub const fn as_str(self) -> &'static str", |code| {
            code.braces("match self", |code| {
                for member in members {
                    code.line(format_args!("{name}::{} => {:?},", member.variant, member.spelling));
                }
            });
        });
    });
    code.blank();
    code.braces(format_args!("impl ::core::fmt::Display for {name}"), |code| {
        code.braces("fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result", |code| {
            code.line("f.pad(self.as_str())");
        });
    });
}

/// Enums of operators and types. If this table extends a base table, those of the base exist already.
fn enums(cx: &Context<'_>, code: &mut Code) {
    let model = &cx.checked.model;
    let mut known = Vec::new();
    for operator in &model.operators {
        if model.has_base && operator.base {
            known.push(camel(&operator.name));
            continue;
        }
        let members = operator.members.iter().map(|member| Member {
            variant: camel(&member.name),
            spelling: &member.name,
            docs: match member.domain_text.as_str() {
                "" => member.docs.clone(),
                domain => format!("{}\n\nFor {domain}.", member.docs),
            },
        });
        let members: Vec<Member<'_>> = members.collect();
        modifier_enum(code, &operator.docs, &camel(&operator.name), &members, "operator");
    }
    if model.has_base && model.types.iter().all(|ty| ty.base) {
        known.push("ScalarType".to_owned());
    } else {
        let members =
            model.types.iter().map(|ty| Member { variant: camel(&ty.name), spelling: &ty.name, docs: ty.docs.clone() });
        let members: Vec<Member<'_>> = members.collect();
        modifier_enum(code, "A type of operands, as a modifier names it.", "ScalarType", &members, "type");
    }
    if !known.is_empty() {
        code.line("#[allow(unused_imports, reason = \"a table need not use everything that its base has\")]");
        code.line(format_args!("pub use {}::{{{}}};", cx.support, known.join(", ")));
    }
}

/// Description, section and spec line of every entry of an opcode.
fn entry_docs(cx: &Context<'_>, opcode: &Opcode) -> String {
    let entries = opcode
        .entries
        .iter()
        .map(|entry| format!("{}\n\nSection {}; `{}`.", entry.docs, entry.section, cx.place(entry.span)));
    entries.collect::<Vec<_>>().join("\n\n")
}

/// The Rust type of a slot's member.
fn member_type(model: &Model, slot: &Slot) -> String {
    match slot.kind {
        SlotKind::Operator(id) => camel(&model.operators[id.0].name),
        SlotKind::Type => "ScalarType".to_owned(),
        SlotKind::Flag => "bool".to_owned(),
        SlotKind::Words => unreachable!("words are free modifiers, which are not part of a form"),
    }
}

/// Slots that are part of a form, with their indices.
fn bound(opcode: &Opcode) -> impl Iterator<Item = (usize, &Slot)> {
    opcode.slots.iter().enumerate().filter(|(_, slot)| !slot.free)
}

/// Returns true if some syntax line omits the slot.
fn may_be_absent(opcode: &Opcode, slot: usize) -> bool {
    let mut lines = opcode.entries.iter().flat_map(|entry| &entry.syntaxes);
    lines.any(|syntax| syntax.items.iter().all(|item| item.slot != slot || item.optional))
}

/// Struct of an opcode and its conversions to and from forms.
fn instruction(cx: &Context<'_>, index: usize, opcode: &Opcode, code: &mut Code) {
    let (model, support) = (&cx.checked.model, cx.support);
    let name = camel(&opcode.name);
    code.blank();
    code.docs(&entry_docs(cx, opcode));
    if !opcode.name.eq_ignore_ascii_case(&name) {
        code.alias(&opcode.name);
    }
    code.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]");
    code.braces(format_args!("pub struct {name}"), |code| {
        for (number, slot) in bound(opcode) {
            let spellings: Vec<&str> = slot.members.iter().map(|member| member.spelling.as_str()).collect();
            let (field, ty) = (snake(&slot.name), member_type(model, slot));
            if slot.kind == SlotKind::Flag {
                code.docs(&format!("Whether `.{}` is there.", slot.name));
                code.line(format_args!("pub {field}: bool,"));
                continue;
            }
            code.docs(&format!("`.{}`: one of {}.", slot.name, spellings.join(", ")));
            match may_be_absent(opcode, number) {
                true => code.line(format_args!("pub {field}: Option<{ty}>,")),
                false => code.line(format_args!("pub {field}: {ty},")),
            }
        }
    });
    let list_name = |slot: &Slot| snake(&slot.name).trim_start_matches("r#").to_ascii_uppercase() + "_MEMBERS";
    code.blank();
    code.braces(format_args!("impl {name}"), |code| {
        for (_, slot) in bound(opcode).filter(|(_, slot)| slot.kind != SlotKind::Flag) {
            let ty = member_type(model, slot);
            let variants = slot.members.iter().map(|member| match (member.meaning, slot.kind) {
                (Meaning::Operator(index), SlotKind::Operator(id)) => {
                    format!("{ty}::{}", camel(&model.operators[id.0].members[index].name))
                }
                (Meaning::Type(id), _) => format!("{ty}::{}", camel(&model.ty(id).name)),
                (Meaning::Operator(_) | Meaning::Flag, _) => unreachable!("flags are left out"),
            });
            code.block(format_args!("const {}: [{ty}; {}] = [", list_name(slot), slot.members.len()), "];", |code| {
                code.list(variants);
            });
        }
        code.blank();
        code.docs("The form that these modifiers spell.\n\n# Errors\n\nThe rules that refuse the combination.");
        let signature = format!("pub fn form(self) -> Result<Form, {support}::table::IllegalForm>");
        code.braces(signature, |code| {
            code.block("let values = [", "];", |code| {
                for (number, slot) in opcode.slots.iter().enumerate() {
                    let field = snake(&slot.name);
                    let text = match (slot.kind, may_be_absent(opcode, number)) {
                        _ if slot.free => format!("{support}::table::ABSENT"),
                        (SlotKind::Flag, _) => format!("if self.{field} {{ 0 }} else {{ {support}::table::ABSENT }}"),
                        (_, true) => {
                            format!("{support}::table::optional_member(&{name}::{}, self.{field})", list_name(slot))
                        }
                        (_, false) => format!("{support}::table::member(&{name}::{}, self.{field})", list_name(slot)),
                    };
                    code.line(format_args!("{text},"));
                }
            });
            code.line(format_args!("Form::select({index}, &values)"));
        });
        code.blank();
        let values = if bound(opcode).next().is_none() { "_" } else { "values" };
        code.braces(format_args!("fn from_values({values}: &[u8]) -> {name}"), |code| {
            code.braces(&name, |code| {
                for (number, slot) in bound(opcode) {
                    let field = snake(&slot.name);
                    let text = match (slot.kind, may_be_absent(opcode, number)) {
                        (SlotKind::Flag, _) => format!("values[{number}] != {support}::table::ABSENT"),
                        (_, true) => format!("{name}::{}.get(usize::from(values[{number}])).copied()", list_name(slot)),
                        (_, false) => format!("{name}::{}[usize::from(values[{number}])]", list_name(slot)),
                    };
                    code.line(format_args!("{field}: {text},"));
                }
            });
        });
    });
    code.blank();
    code.line(format_args!("{support}::instruction!({name}, Form, Instruction);"));
}

fn any_instruction(cx: &Context<'_>, code: &mut Code) {
    let opcodes = &cx.checked.model.opcodes;
    let names: Vec<String> = opcodes.iter().map(|opcode| camel(&opcode.name)).collect();
    code.blank();
    code.docs("Any instruction of the table with its modifiers.");
    code.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]");
    code.line("#[non_exhaustive]");
    code.braces("pub enum Instruction", |code| {
        for (name, opcode) in names.iter().zip(opcodes) {
            code.docs(&format!("`{}` with its modifiers.", opcode.name));
            code.line(format_args!("{name}({name}),"));
        }
    });
    code.blank();
    code.braces("impl Instruction", |code| {
        code.docs("The form that these modifiers spell.\n\n# Errors\n\nThe rules that refuse the combination.");
        code.braces(format_args!("pub fn form(self) -> Result<Form, {}::table::IllegalForm>", cx.support), |code| {
            code.braces("match self", |code| {
                for name in &names {
                    code.line(format_args!("Instruction::{name}(instruction) => instruction.form(),"));
                }
            });
        });
    });
    code.blank();
    code.braces("impl From<Form> for Instruction", |code| {
        code.braces("fn from(form: Form) -> Instruction", |code| {
            code.line("let info = form.info();");
            code.line("let values = info.values();");
            code.braces("match info.instruction().index()", |code| {
                let last = names.len() - 1;
                for (index, name) in names.iter().enumerate() {
                    let index = if index == last { "_".to_owned() } else { index.to_string() };
                    code.line(format_args!("{index} => Instruction::{name}({name}::from_values(values)),"));
                }
            });
        });
    });
}
