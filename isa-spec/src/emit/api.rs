//! The typed face of a table: modifier enums, a struct for each instruction, `Opcode` and `Form`.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::Context;
use super::names::{camel, snake};
use crate::check::Form;
use crate::model::{Meaning, Model, Opcode, Slot, SlotKind};

pub(super) fn emit(cx: &Context<'_>) -> TokenStream {
    let model = &cx.checked.model;
    let enums = operator_enums(model);
    let types = scalar_type(model);
    let opcode = opcode(cx);
    let instructions: Vec<TokenStream> =
        model.opcodes.iter().enumerate().map(|(index, opcode)| instruction(cx, index, opcode)).collect();
    let any = any_instruction(cx);
    let form = form(cx);
    quote! {
        #enums
        #types
        #opcode
        #any
        #(#instructions)*
        #form
    }
}

/// `///` lines of a description.
fn docs(text: &str) -> Vec<String> {
    text.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") }).collect()
}

/// What every enum of modifiers has: a list, a spelling, and both ways to text.
fn modifier_enum(cx_docs: &[String], name: &Ident, members: &[(Ident, &str, Vec<String>)], what: &str) -> TokenStream {
    let (variants, spellings): (Vec<&Ident>, Vec<&str>) = members.iter().map(|(name, text, _)| (name, *text)).unzip();
    let variant_docs = members.iter().map(|(_, _, docs)| docs);
    let count = members.len();
    let as_str_doc = format!(" The {what} as PTX spells it, without the dot.");
    let all_doc = format!(" Every {what}, in the spec's order.");
    quote! {
        #(#[doc = #cx_docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum #name {
            #(#(#[doc = #variant_docs])* #variants),*
        }

        impl #name {
            #[doc = #all_doc]
            pub const ALL: [#name; #count] = [#(#name::#variants),*];

            #[doc = #as_str_doc]
            pub const fn as_str(self) -> &'static str {
                match self {
                    #(#name::#variants => #spellings),*
                }
            }
        }

        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.as_str())
            }
        }
    }
}

fn operator_enums(model: &Model) -> TokenStream {
    let list = model.operators.iter().map(|operator| {
        let members: Vec<(Ident, &str, Vec<String>)> = operator
            .members
            .iter()
            .map(|member| {
                let mut lines = docs(&member.docs);
                lines.push(String::new());
                lines.push(format!(" For {}.", member.domain_text));
                (camel(&member.name), member.name.as_str(), lines)
            })
            .collect();
        modifier_enum(&docs(&operator.docs), &camel(&operator.name), &members, "operator")
    });
    quote!(#(#list)*)
}

fn scalar_type(model: &Model) -> TokenStream {
    let members: Vec<(Ident, &str, Vec<String>)> =
        model.types.iter().map(|ty| (camel(&ty.name), ty.name.as_str(), docs(&ty.docs))).collect();
    let name = camel("ScalarType");
    modifier_enum(&docs("A type of operands, as a modifier names it."), &name, &members, "type")
}

fn opcode(cx: &Context<'_>) -> TokenStream {
    let model = &cx.checked.model;
    let members: Vec<(Ident, &str, Vec<String>)> = model
        .opcodes
        .iter()
        .map(|opcode| (camel(&opcode.name), opcode.name.as_str(), entry_docs(cx, opcode)))
        .collect();
    modifier_enum(&docs("An opcode of the table."), &camel("Opcode"), &members, "opcode")
}

/// Description, section and spec line of every entry of an opcode.
fn entry_docs(cx: &Context<'_>, opcode: &Opcode) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in &opcode.entries {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(docs(&entry.docs));
        lines.push(String::new());
        lines.push(format!(" Section {}; `{}`.", entry.section, cx.place(entry.span)));
    }
    lines
}

/// The Rust type of a slot's member.
fn member_type(model: &Model, slot: &Slot) -> TokenStream {
    match slot.kind {
        SlotKind::Operator(id) => {
            let name = camel(&model.operators[id.0].name);
            quote!(#name)
        }
        SlotKind::Type => {
            let name = camel("ScalarType");
            quote!(#name)
        }
        SlotKind::Flag => quote!(bool),
    }
}

/// Whether some syntax line leaves the slot out.
fn may_be_absent(opcode: &Opcode, slot: usize) -> bool {
    let mut lines = opcode.entries.iter().flat_map(|entry| &entry.syntaxes);
    lines.any(|syntax| syntax.items.iter().all(|item| item.slot != slot || item.optional))
}

/// The struct of one opcode and its ways to and from forms.
fn instruction(cx: &Context<'_>, index: usize, opcode: &Opcode) -> TokenStream {
    let (model, support) = (&cx.checked.model, cx.support);
    let name = camel(&opcode.name);
    let lines = entry_docs(cx, opcode);
    let mut fields = Vec::new();
    let mut to_values = Vec::new();
    let mut from_values = Vec::new();
    for (number, slot) in opcode.slots.iter().enumerate() {
        let field = snake(&slot.name);
        let member = member_type(model, slot);
        let optional = may_be_absent(opcode, number);
        let spellings: Vec<&str> = slot.members.iter().map(|member| member.spelling.as_str()).collect();
        let doc = match slot.kind {
            SlotKind::Flag => format!(" Whether `.{}` is there.", slot.name),
            SlotKind::Operator(_) | SlotKind::Type => {
                format!(" `.{}`: one of {}.", slot.name, spellings.join(", "))
            }
        };
        if slot.kind == SlotKind::Flag {
            fields.push(quote!(#[doc = #doc] pub #field: bool));
            to_values.push(quote!(if self.#field { 0 } else { #support::table::ABSENT }));
            from_values.push(quote!(#field: values[#number] != #support::table::ABSENT));
            continue;
        }
        let members = slot.members.iter().map(|choice| {
            let variant = match choice.meaning {
                Meaning::Operator(index) => {
                    let SlotKind::Operator(id) = slot.kind else { unreachable!("an operator's slot") };
                    camel(&model.operators[id.0].members[index].name)
                }
                Meaning::Type(ty) => camel(&model.ty(ty).name),
                Meaning::Flag => unreachable!("handled above"),
            };
            quote!(#member::#variant)
        });
        let list = quote!(&[#(#members),*]);
        if optional {
            fields.push(quote!(#[doc = #doc] pub #field: Option<#member>));
            to_values.push(quote!(#support::table::optional_member(#list, self.#field)));
            from_values.push(quote! {
                #field: match values[#number] {
                    #support::table::ABSENT => None,
                    value => Some((#list as &[#member])[value as usize]),
                }
            });
        } else {
            fields.push(quote!(#[doc = #doc] pub #field: #member));
            to_values.push(quote!(#support::table::member(#list, self.#field)));
            from_values.push(quote!(#field: (#list as &[#member])[values[#number] as usize]));
        }
    }
    let values = if opcode.slots.is_empty() { quote!(_) } else { quote!(values) };
    quote! {
        #(#[doc = #lines])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct #name {
            #(#fields),*
        }

        impl #name {
            /// The form that these modifiers spell.
            ///
            /// # Errors
            ///
            /// The rules that refuse the combination.
            pub fn form(self) -> Result<Form, #support::table::IllegalForm> {
                let values = [#(#to_values),*];
                TABLE.select(#index, &values).map(|index| Form::ALL[index])
            }

            fn from_values(#values: &[u8]) -> #name {
                #name { #(#from_values),* }
            }
        }

        impl TryFrom<#name> for Form {
            type Error = #support::table::IllegalForm;

            fn try_from(instruction: #name) -> Result<Form, #support::table::IllegalForm> {
                instruction.form()
            }
        }

        impl From<#name> for Instruction {
            fn from(instruction: #name) -> Instruction {
                Instruction::#name(instruction)
            }
        }
    }
}

fn any_instruction(cx: &Context<'_>) -> TokenStream {
    let (model, support) = (&cx.checked.model, cx.support);
    let names: Vec<Ident> = model.opcodes.iter().map(|opcode| camel(&opcode.name)).collect();
    let doc = model.opcodes.iter().map(|opcode| format!(" `{}` with its modifiers.", opcode.name));
    let last = names.len().saturating_sub(1);
    let (indices, tail) = (0..last, &names[last]);
    let head = &names[..last];
    let indices = indices.map(proc_macro2::Literal::usize_unsuffixed);
    quote! {
        /// Any instruction of the table with its modifiers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Instruction {
            #(#[doc = #doc] #names(#names)),*
        }

        impl Instruction {
            /// The form that these modifiers spell.
            ///
            /// # Errors
            ///
            /// The rules that refuse the combination.
            pub fn form(self) -> Result<Form, #support::table::IllegalForm> {
                match self {
                    #(Instruction::#names(instruction) => instruction.form()),*
                }
            }
        }

        impl From<Form> for Instruction {
            fn from(form: Form) -> Instruction {
                let info = form.info();
                match info.instruction {
                    #(#indices => Instruction::#head(#head::from_values(info.values)),)*
                    _ => Instruction::#tail(#tail::from_values(info.values)),
                }
            }
        }
    }
}

fn form(cx: &Context<'_>) -> TokenStream {
    let (checked, support) = (cx.checked, cx.support);
    let names: Vec<Ident> = checked.forms.iter().map(|form| camel(&form.mnemonic)).collect();
    let docs = checked.forms.iter().map(|form| form_doc(cx, form));
    let count = names.len();
    let opcodes = checked.model.opcodes.iter().map(|opcode| camel(&opcode.name));
    quote! {
        /// A legal form of the table: an opcode with all its modifiers. The discriminant is dense.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Form {
            #(#[doc = #docs] #names),*
        }

        impl Form {
            /// How many forms there are.
            pub const COUNT: usize = #count;

            /// Every form; the index is the form's discriminant.
            pub const ALL: &'static [Form; #count] = &[#(Form::#names),*];

            /// Everything the table knows of the form.
            pub fn info(self) -> &'static #support::table::FormInfo {
                &TABLE.forms[self as usize]
            }

            /// The form with this index in the table.
            pub fn from_index(index: usize) -> Option<Form> {
                Form::ALL.get(index).copied()
            }

            /// The form of a table entry; `None` if it is another table's.
            pub fn of(info: &#support::table::FormInfo) -> Option<Form> {
                Form::from_index(TABLE.index_of(info)?)
            }

            /// The canonical mnemonic.
            pub fn mnemonic(self) -> &'static str {
                self.info().mnemonic
            }

            /// The operands in order of writing.
            pub fn operands(self) -> &'static [#support::table::Operand] {
                self.info().operands
            }

            /// The first version of PTX that has the form.
            pub fn since(self) -> #support::target::Version {
                self.info().floor.ptx
            }

            /// The lowest target that has the form.
            pub fn target(self) -> #support::target::Target {
                #support::target::Target::sm(self.info().floor.sm)
            }

            /// The manual's section that describes the form.
            pub fn section(self) -> &'static str {
                TABLE.entry(self.info()).section
            }

            /// The opcode.
            pub fn opcode(self) -> Opcode {
                [#(Opcode::#opcodes),*][self.info().instruction as usize]
            }

            /// The modifiers.
            pub fn instruction(self) -> Instruction {
                Instruction::from(self)
            }

            /// Bits in, bits out, as the newest targets compute it: see
            #[doc = concat!("[`FormInfo::evaluate`](", stringify!(#support), "::table::FormInfo::evaluate).")]
            pub fn evaluate(self, inputs: &[u64]) -> [u64; 2] {
                self.info().evaluate(u16::MAX, inputs)
            }
        }

        impl ::core::fmt::Display for Form {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.mnemonic())
            }
        }

        impl ::core::fmt::Debug for Form {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.mnemonic())
            }
        }

        impl ::core::str::FromStr for Form {
            type Err = #support::table::UnknownMnemonic;

            fn from_str(mnemonic: &str) -> Result<Form, #support::table::UnknownMnemonic> {
                let index = TABLE.form_index(mnemonic).ok_or(#support::table::UnknownMnemonic)?;
                Ok(Form::ALL[index])
            }
        }
    }
}

fn form_doc(cx: &Context<'_>, form: &Form) -> String {
    let entry = &cx.checked.model.opcodes[form.opcode].entries[form.entry];
    let place = cx.place(entry.syntaxes[form.syntax].span);
    format!(" `{}`: {}; section {}, `{place}`.", form.mnemonic, super::table::floor_words(form), entry.section)
}
