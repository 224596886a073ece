//! The table's types as marker types, so that the compiler checks which register fits which operand.

use std::collections::BTreeMap;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::Context;
use super::names::camel;
use crate::model::{Constant, Kind, Model, TypeId};

pub(super) fn emit(cx: &Context<'_>) -> TokenStream {
    let (model, support) = (&cx.checked.model, cx.support);
    let own = model.types.iter().enumerate().map(|(index, ty)| {
        let id = TypeId(index);
        marker(cx, id, marker_name(model, id, &ty.registers), &ty.registers, &ty.docs)
    });
    let narrowed = narrowed(model);
    let narrowed = narrowed.iter().map(|(name, (id, registers))| {
        let fitting: Vec<String> =
            registers.iter().map(|register| format!("`.{}`", model.ty(*register).name)).collect();
        let docs = format!("`.{}` where only {} registers fit.", model.ty(*id).name, fitting.join(", "));
        marker(cx, *id, name.clone(), registers, &docs)
    });
    quote! {
        /// The types of operands and registers as types of Rust, for instructions built in Rust.
        pub mod types {
            #[allow(unused_imports, reason = "a table need not have constants")]
            use #support::build::{Accepts, TakesFloats, TakesIntegers, Truth, Type};
            #(#own)*
            #(#narrowed)*
        }
    }
}

/// The name of an operand's type: the type's own, with the registers behind it where the entry narrows them.
/// The macro that names these types computes it from the table in the same way.
fn marker_name(model: &Model, id: TypeId, registers: &[TypeId]) -> String {
    let ty = model.ty(id);
    let mut name = camel(&ty.name).to_string();
    if !same(registers, &ty.registers) {
        name += "From";
        for (index, register) in model.types.iter().enumerate() {
            if registers.contains(&TypeId(index)) {
                name += &camel(&register.name).to_string();
            }
        }
    }
    name
}

fn same(a: &[TypeId], b: &[TypeId]) -> bool {
    a.iter().all(|ty| b.contains(ty)) && b.iter().all(|ty| a.contains(ty))
}

/// The types of operands whose entry says which registers fit, by name.
fn narrowed(model: &Model) -> BTreeMap<String, (TypeId, Vec<TypeId>)> {
    let mut found = BTreeMap::new();
    for opcode in &model.opcodes {
        for operand in opcode.entries.iter().flat_map(|entry| &entry.operands) {
            let Some(registers) = &operand.registers else { continue };
            let types: Vec<TypeId> = match operand.ty {
                crate::model::OperandType::Fixed(ty) => vec![ty],
                crate::model::OperandType::Slot(slot) => opcode.slots[slot]
                    .members
                    .iter()
                    .filter_map(|member| match member.meaning {
                        crate::model::Meaning::Type(ty) => Some(ty),
                        crate::model::Meaning::Operator(_) | crate::model::Meaning::Flag => None,
                    })
                    .collect(),
            };
            for ty in types.into_iter().filter(|ty| !same(registers, &model.ty(*ty).registers)) {
                found.insert(marker_name(model, ty, registers), (ty, registers.clone()));
            }
        }
    }
    found
}

fn marker(cx: &Context<'_>, id: TypeId, name: String, registers: &[TypeId], docs: &str) -> TokenStream {
    let (model, support) = (&cx.checked.model, cx.support);
    let ty = model.ty(id);
    let name = super::names::ident(&name);
    let index = Literal::u8_unsuffixed(u8::try_from(id.0).expect("checked: at most 64 types"));
    let accepted = registers.iter().map(|register| {
        let register = camel(&model.ty(*register).name);
        quote!(impl Accepts<#register> for #name {})
    });
    // A predicate's constants are the assembler's leniency, not the manual's.
    let integers = (ty.constants.contains(&Constant::Integer) && ty.kind != Kind::Predicate)
        .then(|| quote!(impl TakesIntegers for #name {}));
    let floats = ty.constants.contains(&Constant::Float).then(|| quote!(impl TakesFloats for #name {}));
    let truth = (ty.kind == Kind::Predicate).then(|| quote!(impl Truth for #name {}));
    let docs = docs.lines().map(|line| format!(" {line}"));
    quote! {
        #(#[doc = #docs])*
        #[derive(Clone, Copy, Debug)]
        pub enum #name {}

        impl Type for #name {
            const ID: #support::table::TypeId = #support::table::TypeId(#index);
        }
        #(#accepted)*
        #integers
        #floats
        #truth
    }
}
