//! The static table: every fact of the spec that the text layer, the validator and the reference read.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::Context;
use super::perfect_hash;
use super::scalar::Functions;
use super::warp::{Evaluation, Evaluations};
use crate::ast::Expr;
use crate::check::{ABSENT, Floor, Form};
use crate::choice::Scope;
use crate::hash::Key;
use crate::model::{
    Constant, Entry, Kind, Model, Opcode, OperandType, Pattern, Permission, SelectorShape, Slip, TypeId,
};

pub(super) fn emit(cx: &Context<'_>, functions: &Functions, evaluations: &Evaluations) -> TokenStream {
    let support = cx.support;
    let mut emitter =
        Emitter { cx, shared: HashMap::new(), statics: Vec::new(), modifiers: modifiers(&cx.checked.model) };
    let types = emitter.types();
    let (versions, targets) = versions_and_targets(&cx.checked.model);
    let instructions = emitter.instructions();
    let forms = emitter.forms(functions, evaluations);
    let lenient = lenient(&cx.checked.model);
    let slips: Vec<TokenStream> = cx.checked.model.slips.iter().map(slip).collect();
    let slip_count = slips.len();
    let modifiers = &emitter.modifiers;
    let statics = &emitter.statics;
    let mnemonics: Vec<&str> = cx.checked.forms.iter().map(|form| form.mnemonic.as_str()).collect();
    let perfect_hash::PerfectHash { factors, places } = perfect_hash::build(&mnemonics);
    let factors = factors.into_iter().map(Literal::u32_unsuffixed);
    let places = places.into_iter().map(Literal::u16_unsuffixed);
    let keys = mnemonics.iter().map(|mnemonic| {
        let words = Key::of(mnemonic.as_bytes()).0.map(Literal::u64_unsuffixed);
        quote!(MnemonicKey([#(#words),*]))
    });
    let (type_count, version_count, target_count) = (types.len(), versions.len(), targets.len());
    let (modifier_count, instruction_count, form_count) = (modifiers.len(), instructions.len(), forms.len());
    let (factor_count, place_count) = (factors.len(), places.len());
    quote! {
        /// The whole table that the spec describes.
        pub static TABLE: #support::table::Table = data::TABLE_DATA;

        mod data {
            #[allow(unused_imports, reason = "a table need not use every shape")]
            use #support::{simd, table::*, target::{Target, Version}};
            #[allow(unused_imports, reason = "a table may have no evaluators")]
            use super::bits;

            pub(super) const TABLE_DATA: Table = Table {
                types: &TYPES,
                versions: &VERSIONS,
                targets: &TARGETS,
                modifiers: &MODIFIERS,
                instructions: &INSTRUCTIONS,
                forms: &FORMS,
                mnemonics: Mnemonics { factors: &FACTORS, places: &PLACES, keys: &KEYS },
                lenient: #lenient,
                slips: &SLIPS,
            };
            static SLIPS: [Slip; #slip_count] = [#(#slips),*];
            static TYPES: [TypeInfo; #type_count] = [#(#types),*];
            static VERSIONS: [Version; #version_count] = [#(#versions),*];
            static TARGETS: [TargetInfo; #target_count] = [#(#targets),*];
            static MODIFIERS: [&str; #modifier_count] = [#(#modifiers),*];
            static INSTRUCTIONS: [Instruction; #instruction_count] = [#(#instructions),*];
            static FORMS: [FormInfo; #form_count] = [#(#forms),*];
            static FACTORS: [u32; #factor_count] = [#(#factors),*];
            static PLACES: [u16; #place_count] = [#(#places),*];
            static KEYS: [MnemonicKey; #form_count] = [#(#keys),*];
            #(#statics)*
        }
    }
}

/// The pseudo-code of a form on its newest targets.
pub(super) fn pseudo_code(cx: &Context<'_>, form: &Form) -> Vec<String> {
    pseudo_code_below(cx, form, u16::MAX)
}

/// The pseudo-code of a form on targets right below an SM number.
pub(super) fn pseudo_code_below(cx: &Context<'_>, form: &Form, below: u16) -> Vec<String> {
    let model = &cx.checked.model;
    let opcode = &model.opcodes[form.opcode];
    let scope = Scope { model, opcode, choice: &form.choice, sm: Some(below - 1) };
    crate::pseudo::lines(scope, &opcode.entries[form.entry])
}

/// What a form needs: `PTX 1.0, sm_13`, and what the assembler asks for where that is less.
pub(super) fn floor_words(form: &Form) -> String {
    let words = |floor: &Floor| format!("PTX {}.{}, `sm_{}`", floor.ptx.0, floor.ptx.1, floor.sm);
    let lenient = form.lenient_floor.as_ref().map(|(floor, _)| format!(" (the assembler: {})", words(floor)));
    words(&form.floor) + &lenient.unwrap_or_default()
}

/// Every spelling of a modifier, sorted.
fn modifiers(model: &Model) -> Vec<String> {
    let slots = model.opcodes.iter().flat_map(|opcode| &opcode.slots);
    let mut list: Vec<String> = slots.flat_map(|slot| &slot.members).map(|member| member.spelling.clone()).collect();
    list.sort();
    list.dedup();
    list
}

fn version((major, minor): (u8, u8)) -> TokenStream {
    let (major, minor) = (Literal::u8_unsuffixed(major), Literal::u8_unsuffixed(minor));
    quote!(Version::new(#major, #minor))
}

fn versions_and_targets(model: &Model) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let versions = model.versions.iter().map(|v| version((v.major, v.minor))).collect();
    let targets = model.targets.iter().map(|(target, since)| {
        let sm = Literal::u16_unsuffixed(target.sm);
        let suffix = match target.suffix {
            Some(suffix) => quote!(Some(#suffix)),
            None => quote!(None),
        };
        let since = version((since.major, since.minor));
        quote!(TargetInfo { target: Target { sm: #sm, suffix: #suffix }, since: #since })
    });
    (versions, targets.collect())
}

fn slip(slip: &Slip) -> TokenStream {
    let Slip { text, taken, code, patterns } = slip;
    let note = one_line(text);
    quote!(Slip { note: #note, taken: #taken, code: #code, patterns: &[#(#patterns),*] })
}

fn lenient(model: &Model) -> TokenStream {
    let fields = crate::resolve::LENIENT.map(|name| {
        let field = format_ident!("{name}");
        let note = match model.lenient.iter().find(|note| note.name == name) {
            Some(note) => {
                let text = one_line(&note.text);
                quote!(Some(#text))
            }
            None => quote!(None),
        };
        quote!(#field: #note)
    });
    quote!(Lenient { #(#fields),* })
}

/// A note without its line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn floor(floor: &Floor) -> TokenStream {
    let (ptx, sm) = (version(floor.ptx), Literal::u16_unsuffixed(floor.sm));
    quote!(Floor { ptx: #ptx, sm: #sm })
}

fn permission(permission: &Permission) -> TokenStream {
    match permission {
        Permission::No => quote!(Permission::No),
        Permission::Yes => quote!(Permission::Yes),
        Permission::Lenient(note) => {
            let note = one_line(note);
            quote!(Permission::Lenient(#note))
        }
    }
}

fn type_id(id: TypeId) -> TokenStream {
    let index = Literal::u8_unsuffixed(u8::try_from(id.0).expect("checked: at most 64 types"));
    quote!(TypeId(#index))
}

/// A set of types as bits.
fn type_set(types: &[TypeId]) -> Literal {
    Literal::u64_unsuffixed(types.iter().fold(0, |set, ty| set | 1 << ty.0))
}

struct Emitter<'a> {
    cx: &'a Context<'a>,
    /// Names of the statics made so far, by their text.
    shared: HashMap<String, Ident>,
    statics: Vec<TokenStream>,
    modifiers: Vec<String>,
}

impl Emitter<'_> {
    /// A reference to a static slice; equal slices share one.
    fn slice(&mut self, prefix: &str, element: &TokenStream, list: &[TokenStream]) -> TokenStream {
        if list.is_empty() {
            return quote!(&[]);
        }
        let key = format!("{prefix} {}", quote!(#(#list),*));
        let next = self.shared.len();
        let statics = &mut self.statics;
        let name = self.shared.entry(key).or_insert_with(|| {
            let name = format_ident!("{prefix}_{next}");
            let count = list.len();
            statics.push(quote!(static #name: [#element; #count] = [#(#list),*];));
            name
        });
        quote!(&#name)
    }

    fn modifier(&self, spelling: &str) -> TokenStream {
        let index =
            self.modifiers.binary_search_by(|other| other.as_str().cmp(spelling)).expect("collected from these");
        let index = Literal::u16_unsuffixed(index as u16);
        quote!(ModifierId(#index))
    }

    fn types(&self) -> Vec<TokenStream> {
        let list = self.cx.checked.model.types.iter().map(|ty| {
            let name = &ty.name;
            let kind = match ty.kind {
                Kind::Predicate => quote!(Predicate),
                Kind::Bits => quote!(Bits),
                Kind::Unsigned => quote!(Unsigned),
                Kind::Signed => quote!(Signed),
                Kind::Float => quote!(Float),
                Kind::Packed => quote!(Packed),
            };
            let (bits, lanes) = (Literal::u16_unsuffixed(ty.bits as u16), Literal::u8_unsuffixed(ty.lanes as u8));
            let exponent = Literal::u8_unsuffixed(ty.exponent as u8);
            let lane = type_id(ty.lane);
            let registers = type_set(&ty.registers);
            let [integer, float, single] =
                [Constant::Integer, Constant::Float, Constant::Single].map(|constant| ty.constants.contains(&constant));
            let description = one_line(&ty.docs);
            quote! {
                TypeInfo {
                    name: #name,
                    kind: Kind::#kind,
                    bits: #bits,
                    exponent: #exponent,
                    lanes: #lanes,
                    lane: #lane,
                    registers: #registers,
                    constants: Constants { integer: #integer, float: #float, single: #single },
                    description: #description,
                }
            }
        });
        list.collect()
    }

    fn instructions(&mut self) -> Vec<TokenStream> {
        let checked = self.cx.checked;
        let mut list = Vec::new();
        for (opcode, rules) in checked.model.opcodes.iter().zip(&checked.rules) {
            let name = &opcode.name;
            let slots: Vec<TokenStream> = opcode.slots.iter().map(|slot| self.slot(slot)).collect();
            let mut syntaxes = Vec::new();
            let mut entries = Vec::new();
            for (number, entry) in opcode.entries.iter().enumerate() {
                syntaxes.extend(entry.syntaxes.iter().map(|syntax| {
                    let items = syntax.items.iter().map(|item| {
                        let (slot, optional) = (Literal::u8_unsuffixed(item.slot as u8), item.optional);
                        let members = item.members.iter().fold(0_u64, |set, member| set | 1 << member);
                        let members = Literal::u64_unsuffixed(members);
                        quote!(Item { slot: #slot, optional: #optional, members: #members })
                    });
                    let (text, number) = (format!("{};", syntax.text), Literal::u8_unsuffixed(number as u8));
                    quote!(Syntax { items: &[#(#items),*], text: #text, entry: #number })
                }));
                entries.push(self.entry(entry));
            }
            let rules = rules.iter().map(|rule| {
                let forbids = rule.forbids.iter().map(|(slot, values)| {
                    let (slot, values) = (Literal::u8_unsuffixed(*slot as u8), Literal::u64_unsuffixed(*values));
                    quote!((#slot, #values))
                });
                let reason = &rule.reason;
                quote!(Rule { forbids: &[#(#forbids),*], reason: #reason })
            });
            list.push(quote! {
                Instruction {
                    opcode: #name,
                    slots: &[#(#slots),*],
                    syntaxes: &[#(#syntaxes),*],
                    rules: &[#(#rules),*],
                    entries: &[#(#entries),*],
                }
            });
        }
        list
    }

    fn slot(&self, slot: &crate::model::Slot) -> TokenStream {
        let name = &slot.name;
        let members = slot.members.iter().map(|member| self.modifier(&member.spelling));
        quote!(Slot { name: #name, members: &[#(#members),*] })
    }

    fn entry(&self, entry: &Entry) -> TokenStream {
        let (section, description) = (&entry.section, &entry.docs);
        let summary = one_line(entry.docs.split("\n\n").next().unwrap_or_default());
        let source = self.cx.place(entry.span);
        let errata = entry.errata.iter().map(|erratum| {
            let subject = one_line(&erratum.subject);
            let (manual, machine) = (&erratum.manual, &erratum.machine);
            quote!(Erratum { subject: #subject, manual: #manual, machine: #machine })
        });
        let examples = entry.examples.iter().map(|example| {
            let (text, refused) = (&example.text, example.refused);
            quote!(Example { text: #text, refused: #refused })
        });
        quote! {
            Entry {
                section: #section,
                summary: #summary,
                description: #description,
                source: #source,
                errata: &[#(#errata),*],
                examples: &[#(#examples),*],
            }
        }
    }

    fn forms(&mut self, functions: &Functions, evaluations: &Evaluations) -> Vec<TokenStream> {
        let checked = self.cx.checked;
        let mut list = Vec::new();
        for ((form, functions), evaluations) in checked.forms.iter().zip(functions).zip(evaluations) {
            let opcode = &checked.model.opcodes[form.opcode];
            let entry = &opcode.entries[form.entry];
            let mnemonic = &form.mnemonic;
            let instruction = Literal::u16_unsuffixed(form.opcode as u16);
            let before: usize = opcode.entries[..form.entry].iter().map(|entry| entry.syntaxes.len()).sum();
            let syntax = Literal::u8_unsuffixed((before + form.syntax) as u8);
            let values = form
                .choice
                .values
                .iter()
                .map(|value| Literal::u8_unsuffixed(value.map_or(ABSENT, |member| member as u8)));
            let operands: Vec<TokenStream> = entry.syntaxes[form.syntax]
                .patterns
                .iter()
                .map(|pattern| operand(&checked.model, opcode, entry, form, pattern))
                .collect();
            let operands = self.slice("OPERANDS", &quote!(Operand), &operands);
            let strict = floor(&form.floor);
            let lenient_floor = match &form.lenient_floor {
                Some((lenient, note)) => {
                    let (lenient, note) = (floor(lenient), one_line(note));
                    quote!(Some((#lenient, #note)))
                }
                None => quote!(None),
            };
            let lenient = match &form.lenient {
                Some(note) => {
                    let note = one_line(note);
                    quote!(Some(#note))
                }
                None => quote!(None),
            };
            let evaluators: Vec<TokenStream> = functions
                .iter()
                .zip(evaluations)
                .map(|((below, function), Evaluation { lanes, bits })| {
                    let below = Literal::u16_unsuffixed(*below);
                    let bits = match (bits, function) {
                        (Some(bits), _) => bits.clone(),
                        (None, Some(function)) => quote!(Bits::Function(bits::#function)),
                        (None, None) => unreachable!("what has no test has a function"),
                    };
                    quote!(Evaluator { below: #below, bits: #bits, lanes: #lanes })
                })
                .collect();
            let evaluators = self.slice("EVALUATORS", &quote!(Evaluator), &evaluators);
            let lines: Vec<TokenStream> = pseudo_code(self.cx, form).iter().map(|line| quote!(#line)).collect();
            let lines = self.slice("PSEUDO_CODE", &quote!(&str), &lines);
            list.push(quote! {
                FormInfo {
                    mnemonic: #mnemonic,
                    instruction: #instruction,
                    syntax: #syntax,
                    values: &[#(#values),*],
                    operands: #operands,
                    floor: #strict,
                    lenient_floor: #lenient_floor,
                    lenient: #lenient,
                    evaluators: #evaluators,
                    pseudo_code: #lines,
                }
            });
        }
        list
    }
}

fn operand(model: &Model, opcode: &Opcode, entry: &Entry, form: &Form, pattern: &Pattern) -> TokenStream {
    let operand = &entry.operands[pattern.operand];
    let name = &operand.name;
    let id = match operand.ty {
        OperandType::Fixed(ty) => ty,
        OperandType::Slot(slot) => form.choice.ty(opcode, slot).expect("checked: operands have types"),
    };
    let registers = type_set(operand.registers.as_ref().unwrap_or(&model.ty(id).registers));
    let ty = type_id(id);
    let second = match &pattern.second {
        Some((second, optional)) => {
            let (name, optional) = (&entry.operands[*second].name, permission(optional));
            quote!(Some(Second { name: #name, optional: #optional }))
        }
        None => quote!(None),
    };
    let selector = match &pattern.selector {
        Some(selector) => {
            let (name, letter) = (&selector.name, selector.letter);
            let omission = permission(&selector.omission);
            let kind = match selector.shape {
                SelectorShape::Lanes { lanes, of } => {
                    let (lanes, of) = (Literal::u8_unsuffixed(lanes as u8), Literal::u8_unsuffixed(of as u8));
                    quote!(SelectorKind::Lanes { lanes: #lanes, of: #of })
                }
                SelectorShape::Subset { of } => {
                    let of = Literal::u8_unsuffixed(of as u8);
                    quote!(SelectorKind::Subset { of: #of })
                }
                SelectorShape::Listed(ref words) => quote!(SelectorKind::Listed { words: &[#(#words),*] }),
            };
            let default = Literal::u32_unsuffixed(selector.default);
            quote!(Some(SelectorInfo {
                name: #name,
                letter: #letter,
                kind: #kind,
                default: #default,
                omission: #omission,
            }))
        }
        None => quote!(None),
    };
    // Nothing but a predicate can be negated, whatever its place allows.
    let negation =
        if model.ty(id).kind == Kind::Predicate { permission(&pattern.negation) } else { quote!(Permission::No) };
    let optional = pattern.optional;
    let trailing_sink = permission(&pattern.trailing_sink);
    let (destination, sink) = (pattern.destination, operand.sink);
    let scope = Scope { model, opcode, choice: &form.choice, sm: None };
    let without = |thing: &str| {
        let lacks = |(places, condition): &(Vec<usize>, Option<std::rc::Rc<Expr>>)| {
            places.iter().any(|place| crate::resolve::THINGS[*place] == thing)
                && condition.as_ref().is_none_or(|condition| scope.holds(condition).expect("checked"))
        };
        operand.without.iter().any(lacks)
    };
    let constants = !destination && !without("constants");
    let sums = !destination && !without("sums");
    let elements = !without("elements");
    let functions = !destination && !without("functions");
    quote! {
        Operand {
            name: #name,
            ty: #ty,
            registers: #registers,
            destination: #destination,
            second: #second,
            trailing_sink: #trailing_sink,
            negation: #negation,
            sink: #sink,
            constants: #constants,
            sums: #sums,
            elements: #elements,
            functions: #functions,
            selector: #selector,
            optional: #optional,
        }
    }
}
