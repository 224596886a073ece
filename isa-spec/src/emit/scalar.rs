//! Evaluators of one lane: a typed `const fn` for each form, and bits in, bits out for tools.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::Context;
use super::names::{ident, snake};
use super::warp::Evaluations;
use crate::check::Form;
use crate::ir::{Op, Program, Ty, Value, ValueId};
use crate::model::{Entry, Kind, Model, OperandType, Pattern, SelectorShape, TypeId};

/// For each form and range of targets the bound that SM numbers stay below, and the function's name in `bits`, where
/// no kernel's test does its work.
pub(super) type Functions = Vec<Vec<(u16, Option<Ident>)>>;

/// The module of typed functions, the module of functions on bits, and which of these a form has.
pub(super) fn emit(cx: &Context<'_>, evaluations: &Evaluations) -> (TokenStream, TokenStream, Functions) {
    let mut typed = Vec::new();
    let mut bits = Vec::new();
    let mut evaluators = Vec::new();
    let mut shared: HashMap<(Program, Layout), Ident> = HashMap::new();
    for (form, evaluations) in cx.checked.forms.iter().zip(evaluations) {
        if form.programs.is_empty() {
            evaluators.push(Vec::new());
            continue;
        }
        let scalar = Scalar::new(cx, form);
        let mut found = Vec::new();
        for (index, (below, program)) in form.programs.iter().enumerate() {
            let newest = index + 1 == form.programs.len();
            if newest {
                typed.push(scalar.typed(&scalar.name(), program));
            }
            if evaluations[index].bits.is_some() {
                found.push((*below, None));
                continue;
            }
            let key = (erase(&cx.checked.model, program), scalar.layout());
            let name = shared.entry(key).or_insert_with(|| {
                let name = if newest { scalar.name() } else { format_ident!("{}_below_sm_{}", scalar.name(), below) };
                bits.push(scalar.bits(&name, program));
                name
            });
            found.push((*below, Some(name.clone())));
        }
        evaluators.push(found);
    }
    let (support, bodies) = (cx.support, cx.bodies);
    let typed = quote! {
        /// A function for each form with an evaluator, named by its mnemonic: it computes what one thread computes on
        /// the newest targets. Sources come in the order of writing, then the selectors behind operands; a predicate
        /// is the operand's value with its `!` applied.
        pub mod scalar {
            #![allow(unused_imports, reason = "a table need not use every kind of body")]
            #![allow(unused_variables, reason = "a form need not use every operand")]
            use #bodies as rt;
            #(#typed)*
        }
    };
    let bits = quote! {
        /// Bits in, bits out: one function for all forms that compute the same.
        mod bits {
            #![allow(unused_imports, reason = "a table need not use every kind of body")]
            #![allow(unused_variables, reason = "a form need not use every operand")]
            use #bodies as rt;
            use #support::selector;
            #(#bits)*
        }
    };
    (typed, bits, evaluators)
}

/// For each operand whether it is a destination, and whether it has a selector: this places the words of a function
/// on bits.
pub(super) type Layout = Vec<(bool, bool)>;

/// The program with types reduced to what bits can tell, so that forms which compute the same share a function.
pub(super) fn erase(model: &Model, program: &Program) -> Program {
    let mut program = program.clone();
    program.steps.clear();
    for value in &mut program.values {
        if let Ty::Lanes { lane, .. } = &mut value.ty {
            let bits = model.ty(*lane).bits;
            let same = |ty: &crate::model::Type| ty.lanes == 1 && ty.bits == bits && ty.kind != Kind::Predicate;
            if model.ty(*lane).kind != Kind::Predicate {
                *lane = TypeId(model.types.iter().position(same).expect("the type itself is such a one"));
            }
        }
    }
    program
}

/// Whether a text is one name, so that anything may stand around it.
fn is_path(text: &TokenStream) -> bool {
    let mut tokens = text.clone().into_iter();
    matches!(
        (tokens.next(), tokens.next()),
        (Some(proc_macro2::TokenTree::Ident(_) | proc_macro2::TokenTree::Literal(_)), None)
    )
}

/// A number with its type.
fn number(text: String) -> TokenStream {
    text.parse().expect("a number with a type")
}

/// Emits the functions of one form.
pub(super) struct Scalar<'a> {
    cx: &'a Context<'a>,
    form: &'a Form,
    entry: &'a Entry,
    patterns: &'a [Pattern],
}

impl<'a> Scalar<'a> {
    pub(super) fn new(cx: &'a Context<'a>, form: &'a Form) -> Scalar<'a> {
        let entry = &cx.checked.model.opcodes[form.opcode].entries[form.entry];
        Scalar { cx, form, entry, patterns: &entry.syntaxes[form.syntax].patterns }
    }

    fn model(&self) -> &'a Model {
        &self.cx.checked.model
    }

    pub(super) fn layout(&self) -> Layout {
        self.patterns.iter().map(|pattern| (pattern.destination, pattern.selector.is_some())).collect()
    }

    fn name(&self) -> Ident {
        snake(&self.form.mnemonic)
    }

    /// Sources in order of writing, then selectors: name and type in semantics.
    fn params(&self) -> Vec<(Ident, Ty)> {
        let sources = self.patterns.iter().filter(|pattern| !pattern.destination).map(|pattern| {
            let operand = &self.entry.operands[pattern.operand];
            (ident(&operand.name), self.operand_ty(pattern.operand))
        });
        let selectors = self.patterns.iter().filter_map(|pattern| pattern.selector.as_ref()).map(|selector| {
            let ty = match selector.shape {
                SelectorShape::Lanes { lanes, of } => Ty::Pick { lanes, of },
                SelectorShape::Listed(ref words) => Ty::Pick { lanes: 1, of: words.len() as u32 + 1 },
                SelectorShape::Subset { of } => Ty::Lanes { lane: self.predicate(), lanes: of },
            };
            (ident(&selector.name), ty)
        });
        sources.chain(selectors).collect()
    }

    /// A name that no operand and no selector of the form has.
    fn fresh(&self, name: &str) -> Ident {
        let mut name = name.to_owned();
        while self.params().iter().any(|(param, _)| *param == name) {
            name.push('_');
        }
        ident(&name)
    }

    /// The destinations' names, in the order of a program's outputs.
    fn destinations(&self) -> impl Iterator<Item = Ident> {
        let destinations = self.patterns.iter().filter(|pattern| pattern.destination);
        let names = destinations
            .flat_map(|pattern| std::iter::once(pattern.operand).chain(pattern.second.as_ref().map(|second| second.0)));
        names.map(|operand| ident(&self.entry.operands[operand].name))
    }

    fn predicate(&self) -> TypeId {
        let found = self.model().types.iter().position(|ty| ty.kind == Kind::Predicate);
        TypeId(found.expect("checked: a mask is predicates"))
    }

    fn operand_ty(&self, operand: usize) -> Ty {
        let id = match self.entry.operands[operand].ty {
            OperandType::Fixed(ty) => ty,
            OperandType::Slot(slot) => {
                let opcode = &self.model().opcodes[self.form.opcode];
                self.form.choice.ty(opcode, slot).expect("checked: operands have types")
            }
        };
        let ty = self.model().ty(id);
        Ty::Lanes { lane: ty.lane, lanes: ty.lanes }
    }

    /// The public function of a form.
    fn typed(&self, name: &Ident, program: &Program) -> TokenStream {
        let params = self.params().into_iter().map(|(name, ty)| {
            let ty = self.signature_type(ty);
            quote!(#name: #ty)
        });
        let results = program.outputs.iter().map(|output| self.signature_type(program.value(*output).ty));
        let result = match program.outputs.as_slice() {
            [_] => quote!(#(#results)*),
            _ => quote!((#(#results),*)),
        };
        let (lets, outputs) = self.body(program);
        let output = match outputs.as_slice() {
            [only] => quote!(#only),
            outputs => quote!((#(#outputs),*)),
        };
        let docs = self.docs();
        // Typed predicates of masks come as a mask.
        let masks = self
            .params()
            .into_iter()
            .filter(|(_, ty)| self.is_mask(*ty))
            .map(|(name, _)| quote!(let #name = #name.lanes();));
        quote! {
            #(#[doc = #docs])*
            #[inline]
            #[must_use]
            pub const fn #name(#(#params),*) -> #result {
                #(#masks)*
                #lets
                #output
            }
        }
    }

    fn docs(&self) -> Vec<String> {
        let form = self.form;
        let syntax = &self.entry.syntaxes[form.syntax];
        let operands = syntax.text.split_once(' ').map_or("", |(_, operands)| operands);
        let summary = self.entry.docs.split("\n\n").next().unwrap_or_default();
        let mut docs = vec![format!(" `{} {operands};`", form.mnemonic), String::new()];
        docs.extend(summary.lines().map(|line| format!(" {line}")));
        docs.extend([String::new(), format!(" {}.", self.operand_types()), String::new()]);
        docs.push(format!(
            " Section {}; {}; `{}`.",
            self.entry.section,
            super::table::floor_words(form),
            self.cx.place(syntax.span)
        ));
        docs.extend([String::new(), String::from(" ```text")]);
        docs.extend(super::table::pseudo_code(self.cx, form).iter().map(|line| format!(" {line}")));
        docs.push(String::from(" ```"));
        docs
    }

    /// `d: .u32; a: .f32; b: .f32`
    fn operand_types(&self) -> String {
        let names = self.patterns.iter().flat_map(|pattern| {
            [Some(pattern.operand), pattern.second.as_ref().map(|(second, _)| *second)].into_iter().flatten()
        });
        let typed = names.map(|operand| {
            let found = &self.entry.operands[operand];
            let id = match found.ty {
                OperandType::Fixed(ty) => ty,
                OperandType::Slot(slot) => {
                    let opcode = &self.model().opcodes[self.form.opcode];
                    self.form.choice.ty(opcode, slot).expect("checked: operands have types")
                }
            };
            format!("`{}: .{}`", found.name, self.model().ty(id).name)
        });
        typed.collect::<Vec<_>>().join(", ")
    }

    /// The parameters from words, and how many there are.
    fn loads(&self) -> (TokenStream, Literal) {
        let params = self.params();
        let x = self.fresh("x");
        let loads = params.iter().enumerate().map(|(index, (name, ty))| {
            let index = Literal::usize_unsuffixed(index);
            let word = quote!(#x[#index]);
            let value = match *ty {
                Ty::Pick { lanes, of } => {
                    let (lanes, of) = (Literal::u32_unsuffixed(lanes), Literal::u32_unsuffixed(of));
                    quote!(selector::Lanes::<#lanes, #of>::from_bits(#word as u32))
                }
                ty if self.is_mask(ty) => {
                    let lanes = Literal::u32_unsuffixed(self.lanes(ty));
                    quote!(selector::Subset::<#lanes>::from_bits(#word as u32).lanes())
                }
                ty => self.value_of(&word, 64, ty),
            };
            quote!(let #name = #value;)
        });
        (quote!(#(#loads)*), Literal::usize_unsuffixed(params.len()))
    }

    /// The function on bits: parameters as words, results as words.
    fn bits(&self, name: &Ident, program: &Program) -> TokenStream {
        let (loads, count) = self.loads();
        let x = self.fresh("x");
        let (lets, outputs) = self.body(program);
        let names: Vec<Ident> = self.destinations().collect();
        let words = program
            .outputs
            .iter()
            .zip(&names)
            .map(|(output, name)| self.bits_of(&quote!(#name), program.value(*output).ty, 64));
        let zeros = (outputs.len()..2).map(|_| quote!(0));
        let words = words.chain(zeros);
        let outputs = outputs.iter().zip(&names).map(|(output, name)| quote!(let #name = #output;));
        quote! {
            pub(super) fn #name(#x: &[u64]) -> [u64; 2] {
                let #x: &[u64; #count] = #x.first_chunk().expect("a word for each source and selector");
                #loads
                #lets
                #(#outputs)*
                [#(#words),*]
            }
        }
    }

    /// The function that gives the lanes of what each line of the pseudo-code computes, one after the other.
    pub(super) fn trace(&self, name: &Ident, program: &Program, steps: &[ValueId]) -> TokenStream {
        let traced = Program { outputs: steps.to_vec(), ..program.clone() };
        let (loads, count) = self.loads();
        let (lets, values) = self.body(&traced);
        let (x, push) = (self.fresh("x"), self.fresh("push"));
        let pushes = values.iter().zip(steps).enumerate().map(|(index, (value, step))| {
            let name = self.fresh(&format!("step_{index}"));
            let ty = program.value(*step).ty;
            let (Ty::Lanes { lane, lanes }, one) = (ty, |lane| Ty::Lanes { lane, lanes: 1 }) else {
                unreachable!("the caller leaves selectors out")
            };
            let words = (0..lanes).map(|i| {
                let i = Literal::u32_unsuffixed(i);
                let value = if lanes == 1 { quote!(#name) } else { quote!(#name[#i]) };
                let word = self.bits_of(&value, one(lane), 64);
                quote!(#push(#word);)
            });
            quote!(let #name = #value; #(#words)*)
        });
        quote! {
            pub(super) fn #name(#x: &[u64], #push: &mut dyn FnMut(u64)) {
                let #x: &[u64; #count] = #x.first_chunk().expect("a word for each source and selector");
                #loads
                #lets
                #(#pushes)*
            }
        }
    }

    /// Statements, and an expression for each output.
    fn body(&self, program: &Program) -> (TokenStream, Vec<TokenStream>) {
        let mut uses = vec![0; program.values.len()];
        for id in program.values.iter().flat_map(|value| value.op.args()).chain(program.outputs.iter().copied()) {
            uses[id.0] += 1;
        }
        let mut lets = TokenStream::new();
        let mut texts: Vec<TokenStream> = Vec::new();
        for (index, value) in program.values.iter().enumerate() {
            let text = self.value(program, value, &texts);
            // What is used once stands where it is used, unless it is indexed or an operator would bind into it.
            let output = program.outputs.contains(&ValueId(index));
            let once = uses[index] == 1 && (self.lanes(value.ty) == 1 || output);
            let whole = match value.op {
                Op::Select(..) | Op::Reinterpret(_) => output,
                Op::Source(_) | Op::Selector(_) | Op::Constant(_) | Op::Call { .. } | Op::Lane(..) => true,
            };
            if is_path(&text) || (once && whole) {
                texts.push(text);
            } else {
                let name = self.fresh(&format!("v{index}"));
                lets.extend(quote!(let #name = #text;));
                texts.push(quote!(#name));
            }
        }
        (lets, program.outputs.iter().map(|output| texts[output.0].clone()).collect())
    }

    fn value(&self, program: &Program, value: &Value, texts: &[TokenStream]) -> TokenStream {
        let text = |id: &ValueId| &texts[id.0];
        match &value.op {
            Op::Source(place) => {
                let name = ident(&self.entry.operands[self.patterns[*place].operand].name);
                quote!(#name)
            }
            Op::Selector(place) => {
                let selector = self.patterns[*place].selector.as_ref().expect("lowered from it");
                let name = ident(&selector.name);
                quote!(#name)
            }
            Op::Constant(bits) => self.constant(*bits, value.ty),
            Op::Lane(inner, lane) => {
                let (inner, lane) = (text(inner), Literal::u32_unsuffixed(*lane));
                quote!(#inner[#lane])
            }
            Op::Reinterpret(inner) => {
                let from = program.value(*inner).ty;
                self.reinterpret(text(inner), from, value.ty)
            }
            Op::Select(condition, a, b) => {
                let choose = |c: TokenStream, a: TokenStream, b: TokenStream| quote!(if #c { #a } else { #b });
                let (c, a, b) = (text(condition), text(a), text(b));
                match self.lanes(program.value(*condition).ty) {
                    1 => choose(quote!(#c), quote!(#a), quote!(#b)),
                    lanes => {
                        let lanes = (0..lanes).map(|i| {
                            let i = Literal::u32_unsuffixed(i);
                            choose(quote!(#c[#i]), quote!(#a[#i]), quote!(#b[#i]))
                        });
                        quote!([#(#lanes),*])
                    }
                }
            }
            Op::Call { builtin, ty, args } => {
                let builtin = &self.model().builtins[builtin.0];
                let name = match ty {
                    Some(ty) => format_ident!("{}_{}", builtin.name, self.model().ty(*ty).name),
                    None => ident(&builtin.name),
                };
                let each_lane = builtin.params.contains(&crate::model::Param::Generic);
                let lanes = args.first().map_or(1, |arg| self.lanes(program.value(*arg).ty));
                let args: Vec<&TokenStream> = args.iter().map(text).collect();
                if each_lane && lanes > 1 {
                    let calls = (0..lanes).map(|i| {
                        let i = Literal::u32_unsuffixed(i);
                        quote!(rt::#name(#(#args[#i]),*))
                    });
                    quote!([#(#calls),*])
                } else {
                    quote!(rt::#name(#(#args),*))
                }
            }
        }
    }

    fn constant(&self, bits: u64, ty: Ty) -> TokenStream {
        let Ty::Lanes { lane, lanes } = ty else { unreachable!("selectors are no constants") };
        let found = self.model().ty(lane);
        let one = match found.kind {
            Kind::Predicate => {
                let value = bits != 0;
                quote!(#value)
            }
            Kind::Float => {
                let ty = self.lane_type(lane);
                let bits = Literal::u64_unsuffixed(bits);
                quote!(#ty::from_bits(#bits))
            }
            Kind::Signed => {
                let shift = 64 - found.bits;
                number(format!("{}i{}", (bits << shift) as i64 >> shift, found.bits))
            }
            Kind::Bits | Kind::Unsigned | Kind::Packed => number(format!("{bits}u{}", found.bits)),
        };
        if lanes == 1 {
            return one;
        }
        let lanes = Literal::u32_unsuffixed(lanes);
        quote!([#one; #lanes])
    }

    fn lanes(&self, ty: Ty) -> u32 {
        match ty {
            Ty::Lanes { lanes, .. } => lanes,
            Ty::Pick { .. } => 1,
        }
    }

    fn is_mask(&self, ty: Ty) -> bool {
        matches!(ty, Ty::Lanes { lane, lanes } if lanes > 1 && self.model().ty(lane).kind == Kind::Predicate)
    }

    /// Whether the Rust type is the unsigned integer of the value's bits.
    fn is_word(&self, ty: Ty) -> bool {
        matches!(ty, Ty::Lanes { lane, lanes: 1 } if matches!(self.model().ty(lane).kind, Kind::Bits | Kind::Unsigned))
    }

    fn width(&self, ty: Ty) -> u32 {
        match ty {
            Ty::Lanes { lane, lanes } => self.model().ty(lane).bits * lanes,
            Ty::Pick { .. } => unreachable!("checked: selectors are not read as bits"),
        }
    }

    /// The Rust type of one lane.
    fn lane_type(&self, lane: TypeId) -> TokenStream {
        let ty = self.model().ty(lane);
        let bits = ty.bits;
        let name = match (ty.kind, bits) {
            (Kind::Predicate, _) => format_ident!("bool"),
            (Kind::Bits | Kind::Unsigned | Kind::Packed, _) => format_ident!("u{bits}"),
            (Kind::Signed, _) => format_ident!("i{bits}"),
            (Kind::Float, 32 | 64) => format_ident!("f{bits}"),
            (Kind::Float, _) => {
                let name = ident(&ty.name);
                return quote!(rt::#name);
            }
        };
        quote!(#name)
    }

    fn signature_type(&self, ty: Ty) -> TokenStream {
        match ty {
            Ty::Pick { lanes, of } => {
                let support = self.cx.support;
                let (lanes, of) = (Literal::u32_unsuffixed(lanes), Literal::u32_unsuffixed(of));
                quote!(#support::selector::Lanes<#lanes, #of>)
            }
            ty if self.is_mask(ty) => {
                let support = self.cx.support;
                let lanes = Literal::u32_unsuffixed(self.lanes(ty));
                quote!(#support::selector::Subset<#lanes>)
            }
            Ty::Lanes { lane, lanes: 1 } => self.lane_type(lane),
            Ty::Lanes { lane, lanes } => {
                let (lane, lanes) = (self.lane_type(lane), Literal::u32_unsuffixed(lanes));
                quote!([#lane; #lanes])
            }
        }
    }

    /// A value's bits as an unsigned integer of so many bits.
    fn bits_of(&self, value: &TokenStream, ty: Ty, width: u32) -> TokenStream {
        let Ty::Lanes { lane, lanes } = ty else { unreachable!("checked: selectors are not read as bits") };
        let found = self.model().ty(lane);
        let word = format_ident!("u{width}");
        let cast = found.bits != width || found.kind == Kind::Predicate;
        let one = |value: TokenStream| {
            let bits = match found.kind {
                Kind::Float => quote!(#value.to_bits()),
                Kind::Signed => quote!(#value.cast_unsigned()),
                Kind::Predicate | Kind::Bits | Kind::Unsigned | Kind::Packed => value,
            };
            if cast { quote!(#bits as #word) } else { bits }
        };
        if lanes == 1 {
            return one(quote!(#value));
        }
        let parts = (0..lanes).map(|i| {
            let (index, shift) = (Literal::u32_unsuffixed(i), Literal::u32_unsuffixed(i * found.bits));
            let lane = one(quote!(#value[#index]));
            match (i, cast) {
                (0, _) => lane,
                (_, true) => quote!((#lane) << #shift),
                (_, false) => quote!(#lane << #shift),
            }
        });
        quote!(#(#parts)|*)
    }

    /// A value from an unsigned integer of so many bits, which is a path, a call or in parentheses.
    fn value_of(&self, word: &TokenStream, width: u32, ty: Ty) -> TokenStream {
        let Ty::Lanes { lane, lanes } = ty else { unreachable!("checked: selectors are not read as bits") };
        let found = self.model().ty(lane);
        let one = |word: TokenStream| match found.kind {
            Kind::Predicate => quote!(#word & 1 != 0),
            _ if found.bits == width => self.lane_from_bits(lane, word),
            Kind::Signed => {
                let unsigned = format_ident!("u{}", found.bits);
                self.lane_from_bits(lane, quote!((#word as #unsigned)))
            }
            Kind::Float | Kind::Bits | Kind::Unsigned | Kind::Packed => {
                let unsigned = format_ident!("u{}", found.bits);
                self.lane_from_bits(lane, quote!(#word as #unsigned))
            }
        };
        if lanes == 1 {
            return one(quote!(#word));
        }
        let parts = (0..lanes).map(|i| {
            let shift = Literal::u32_unsuffixed(i * found.bits);
            one(if i == 0 { quote!(#word) } else { quote!((#word >> #shift)) })
        });
        quote!([#(#parts),*])
    }

    /// One lane from an unsigned integer of its width.
    fn lane_from_bits(&self, lane: TypeId, word: TokenStream) -> TokenStream {
        match self.model().ty(lane).kind {
            Kind::Float => {
                let own = self.lane_type(lane);
                quote!(#own::from_bits(#word))
            }
            Kind::Signed => quote!(#word.cast_signed()),
            Kind::Predicate | Kind::Bits | Kind::Unsigned | Kind::Packed => word,
        }
    }

    /// The same bits as another type.
    fn reinterpret(&self, value: &TokenStream, from: Ty, to: Ty) -> TokenStream {
        if let (Ty::Lanes { lane: a, lanes: n }, Ty::Lanes { lane: b, lanes: m }) = (from, to)
            && n == m
        {
            let width = self.model().ty(a).bits;
            let one = |value: TokenStream| {
                self.lane_from_bits(b, self.bits_of(&value, Ty::Lanes { lane: a, lanes: 1 }, width))
            };
            if n == 1 {
                return one(quote!(#value));
            }
            let lanes = (0..n).map(|i| {
                let index = Literal::u32_unsuffixed(i);
                one(quote!(#value[#index]))
            });
            return quote!([#(#lanes),*]);
        }
        let width = self.width(from);
        let bits = self.bits_of(value, from, width);
        if self.is_word(to) { bits } else { self.value_of(&quote!((#bits)), width, to) }
    }
}
