//! Marker types for the table's types, with which the compiler checks that a register fits an operand.

use std::collections::BTreeMap;

use isa_table::names::{camel, marker};

use super::Context;
use super::code::Code;
use crate::model::{Kind, Model, OperandKind, TypeId, TypeSet};

pub(super) fn emit(cx: &Context<'_>, code: &mut Code) {
    let model = &cx.checked.model;
    let on_base = |id: TypeId| model.has_base && model.ty(id).base;
    let own: Vec<(TypeId, String)> = model.type_ids().map(|(id, ty)| (id, camel(&ty.name))).collect();
    code.blank();
    code.docs("The types of operands and registers as types of Rust, for instructions built in Rust.");
    code.braces("pub mod types", |code| {
        code.line("#[allow(unused_imports, reason = \"a table need not have constants\")]");
        code.line(format_args!("use {}::construct::{{Accepts, TakesFloats, TakesIntegers, Truth, Type}};", cx.support));
        if model.has_base {
            code.line("#[allow(unused_imports, reason = \"a table need not use everything that its base has\")]");
            code.line(format_args!("pub use {}::types::*;", cx.support));
        }
        for (id, name) in own.iter().filter(|(id, _)| !on_base(*id)) {
            emit_marker(cx, *id, name, model.ty(*id).registers, &model.ty(*id).docs, code);
        }
        for (name, (id, registers)) in narrowed(model) {
            let fitting: Vec<String> =
                registers.iter().map(|register| format!("`.{}`", model.ty(register).name)).collect();
            let fitting = if fitting.is_empty() { "no".to_owned() } else { format!("only {}", fitting.join(", ")) };
            let docs = format!("`.{}` where {fitting} registers fit.", model.ty(id).name);
            emit_marker(cx, id, &name, registers, &docs, code);
        }
    });
}

/// Types of operands whose entry narrows the accepted registers, by marker name.
fn narrowed(model: &Model) -> BTreeMap<String, (TypeId, TypeSet)> {
    let mut found = BTreeMap::new();
    for opcode in &model.opcodes {
        for operand in opcode.entries.iter().flat_map(|entry| &entry.operands) {
            let scalars = operand.cases.iter().filter(|case| case.kind == OperandKind::Scalar);
            for ty in scalars.flat_map(|case| opcode.types_of(&case.ty)) {
                let mut accepted = vec![model.registers_of(operand, OperandKind::Scalar, ty)];
                // Each condition may hold beside the others.
                for rule in operand.substitutes.iter().filter(|rule| !rule.registers.is_empty()) {
                    let without = |all: &TypeSet| all.iter().filter(|ty| !rule.registers.has(*ty)).collect();
                    accepted.extend(accepted.iter().map(without).collect::<Vec<TypeSet>>());
                }
                for registers in accepted.into_iter().filter(|registers| *registers != model.ty(ty).registers) {
                    let names: Vec<&str> = registers.iter().map(|register| model.ty(register).name.as_str()).collect();
                    found.insert(marker(&model.ty(ty).name, Some(&names)), (ty, registers));
                }
            }
        }
    }
    found
}

fn emit_marker(cx: &Context<'_>, id: TypeId, name: &str, registers: TypeSet, docs: &str, code: &mut Code) {
    let model = &cx.checked.model;
    let ty = model.ty(id);
    code.blank();
    code.docs(docs);
    code.line("#[derive(Clone, Copy, Debug)]");
    code.line(format_args!("pub enum {name} {{}}"));
    code.braces(format_args!("impl Type for {name}"), |code| {
        code.line(format_args!("const ID: {0}::table::TypeId = {0}::table::TypeId({1});", cx.support, id.0));
    });
    for register in registers.iter() {
        code.line(format_args!("impl Accepts<{}> for {name} {{}}", camel(&model.ty(register).name)));
    }
    // Constants as predicates are accepted by the assembler only.
    if ty.constants.integer && ty.kind != Kind::Predicate {
        code.line(format_args!("impl TakesIntegers for {name} {{}}"));
    }
    if ty.constants.float {
        code.line(format_args!("impl TakesFloats for {name} {{}}"));
    }
    if ty.kind == Kind::Predicate {
        code.line(format_args!("impl Truth for {name} {{}}"));
    }
}
