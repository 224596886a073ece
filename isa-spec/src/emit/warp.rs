//! Evaluators of many lanes: a kernel for all forms that share one, and each form's data.
//!
//! A kernel is safe code for one lane, or a loop over lanes for each stage; the support crate compiles it for every
//! SIMD level (its module `simd`). This module knows builtins by their signatures only: one that works lane by lane is
//! called in a loop, one that takes whole values has a body for 32 lanes in the bodies' module `warp`.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::{format_ident, quote};

use super::Context;
use super::names::ident;
use crate::ir::{Op, Program, Ty, Value, ValueId};
use crate::kernel::{self, Evaluator, Kernel, Test, is_predicate};
use crate::model::{Kind, Model, Param, TypeId};

/// How a form is evaluated on a range of targets.
pub(super) struct Evaluation {
    /// The value of `Evaluator::lanes`.
    pub lanes: TokenStream,
    /// The value of `Evaluator::bits`, where the kernel's test serves one thread too.
    pub bits: Option<TokenStream>,
}

/// For each form and range of targets.
pub(super) type Evaluations = Vec<Vec<Evaluation>>;

/// What a register holds, in bits.
const REGISTERS: [u32; 3] = [16, 32, 64];

/// What a kernel is given at most: sources, picks and subsets.
const MAX_SOURCES: usize = 6;
const MAX_PICKS: usize = 3;
const MAX_SUBSETS: usize = 1;

/// The module of kernels, and the data of each form.
pub(super) fn emit(cx: &Context<'_>) -> (TokenStream, Evaluations) {
    let mut emitter = Emitter { cx, tests: HashMap::new(), kernels: HashMap::new(), items: Vec::new() };
    let mut lanes = Vec::new();
    for form in &cx.checked.forms {
        let entry = &cx.checked.model.opcodes[form.opcode].entries[form.entry];
        let patterns = &entry.syntaxes[form.syntax].patterns;
        let list = form.programs.iter().map(|(_, program)| {
            let evaluator = kernel::evaluator(&cx.checked.model, patterns, program);
            emitter.evaluator(&evaluator)
        });
        lanes.push(list.collect());
    }
    let items = &emitter.items;
    let (support, bodies) = (cx.support, cx.bodies);
    let module = quote! {
        /// Kernels: what forms compute over lanes, apart from their data.
        #[allow(clippy::needless_range_loop, clippy::manual_memcpy, reason = "the shape that becomes vectors")]
        #[allow(clippy::nonminimal_bool, reason = "an operator's definition is kept as the spec has it")]
        mod kernels {
            #[allow(unused_imports, reason = "a table need not use every shape")]
            use #support::simd::{self, Kernel, Selectors, Simd, reinterpret};
            #[allow(unused_imports, reason = "a table need not use every kind of body")]
            use #bodies as rt;
            #[allow(unused_imports, reason = "a table need not have selectors")]
            use #support::selector::Lanes;
            #(#items)*
        }
    };
    (module, lanes)
}

struct Emitter<'a> {
    cx: &'a Context<'a>,
    tests: HashMap<Test, Ident>,
    kernels: HashMap<Kernel, Ident>,
    items: Vec<TokenStream>,
}

impl Emitter<'_> {
    fn evaluator(&mut self, evaluator: &Evaluator) -> Evaluation {
        let Some(kernel) = self.kernel(&evaluator.kernel) else {
            return Evaluation { lanes: quote!(None), bits: None };
        };
        let mut sources: Vec<Option<usize>> = evaluator.sources.iter().map(|place| Some(*place)).collect();
        if evaluator.truth.is_some() {
            // The shapes with a truth table have a first source, a second one and a predicate.
            let first = sources[0];
            sources = vec![first, sources.get(1).copied().unwrap_or(first), evaluator.predicate];
        }
        sources.resize(MAX_SOURCES, None);
        let sources = sources.into_iter().map(|place| {
            let place = Literal::u8_unsuffixed(place.map_or(u8::MAX, |place| place as u8));
            quote!(#place)
        });
        let outcomes = evaluator.truth.unwrap_or_default().into_iter().flatten();
        let truth = outcomes.enumerate().fold(0, |bits, (bit, outcome)| bits | u8::from(outcome) << bit);
        let truth = Literal::u8_unsuffixed(truth);
        let constants = evaluator.constants.unwrap_or([0; 2]).map(Literal::u64_unsuffixed);
        let lanes = quote! {
            Some(LaneEvaluator {
                kernel: &super::kernels::#kernel,
                sources: [#(#sources),*],
                truth: #truth,
                constants: [#(#constants),*],
            })
        };
        Evaluation { lanes, bits: self.bits(&evaluator.kernel) }
    }

    /// The test of a kernel for one thread.
    fn bits(&self, kernel: &Kernel) -> Option<TokenStream> {
        let (test, variant) = match kernel {
            Kernel::Truth { test, .. } => (test, format_ident!("Truth")),
            Kernel::Choose { test, .. } if test.lanes == 1 => (test, format_ident!("Choose")),
            Kernel::Choose { test, .. } => (test, format_ident!("ChooseInPairs")),
            Kernel::General(_) => return None,
        };
        let name = self.tests.get(test)?;
        let function = format_ident!("{}", if test.lanes == 1 { "bits_of" } else { "bits_of_pair" });
        Some(quote!(Bits::#variant(simd::#function::<super::kernels::#name>)))
    }

    /// The static of a kernel; `None` where a value has no register or there are too many operands.
    fn kernel(&mut self, kernel: &Kernel) -> Option<Ident> {
        if let Some(name) = self.kernels.get(kernel) {
            return Some(name.clone());
        }
        let value = match kernel {
            Kernel::Truth { test, outputs } => {
                let outputs = Literal::usize_unsuffixed(*outputs);
                let lanes = test.lanes;
                let test = self.test(test)?;
                match lanes {
                    1 => quote!(Kernel::truth::<#test, #outputs>()),
                    _ => quote!(Kernel::truth_of_pairs::<#test>()),
                }
            }
            Kernel::Choose { test, bits } => {
                let lanes = test.lanes;
                let (test, word) = (self.test(test)?, register(*bits)?);
                match lanes {
                    1 => quote!(Kernel::choose::<#test, #word>()),
                    _ => quote!(Kernel::choose_in_pairs::<#test>()),
                }
            }
            Kernel::General(program) => {
                let name = format_ident!("Program{}", self.kernels.len());
                let chunk = Chunk::new(&self.cx.checked.model, program);
                let item = chunk.item(&name)?;
                self.items.push(item);
                let plain = |value: &Value| lanes_of(value.ty) == 1 && !matches!(value.op, Op::Selector(_));
                if program.values.iter().all(plain) {
                    quote!(Kernel::general::<#name>())
                } else {
                    let mut bits = program.outputs.iter().map(|output| chunk.register_bits(*output));
                    let [d, e] = [bits.next(), bits.next()].map(|bits| Literal::u32_unsuffixed(bits.unwrap_or(0)));
                    quote!(Kernel::packed::<#name, #d, #e>())
                }
            }
        };
        let name = format_ident!("KERNEL_{}", self.kernels.len());
        self.items.push(quote!(pub(super) static #name: Kernel = #value;));
        self.kernels.insert(kernel.clone(), name.clone());
        Some(name)
    }

    fn test(&mut self, test: &Test) -> Option<Ident> {
        if let Some(name) = self.tests.get(test) {
            return Some(name.clone());
        }
        let model = &self.cx.checked.model;
        let name = format_ident!("Test{}", self.tests.len());
        let mut types = [None, None];
        let (mut lets, mut output) = (TokenStream::new(), TokenStream::new());
        for (index, value) in test.program.values.iter().enumerate() {
            let text = match &value.op {
                Op::Source(source) => {
                    let bits = lane_bits(model, value.ty)?;
                    register(bits * test.lanes)?;
                    types[*source] = Some(format_ident!("u{bits}"));
                    let name = [format_ident!("a"), format_ident!("b")][*source].clone();
                    quote!(#name)
                }
                Op::Constant(bits) => constant(model, *bits, value.ty),
                Op::Call { builtin, ty, args } => {
                    let args: Vec<TokenStream> = args.iter().map(local).collect();
                    call(model, *builtin, *ty, &args)
                }
                Op::Select(c, a, b) => {
                    let (c, a, b) = (local(c), local(a), local(b));
                    quote!(if #c { #a } else { #b })
                }
                Op::Reinterpret(inner) => local(inner),
                Op::Selector(_) | Op::Lane(..) => unreachable!("a test is computed lane by lane from sources"),
            };
            let name = local(&ValueId(index));
            if test.program.outputs[0].0 == index {
                output = text;
            } else {
                lets.extend(quote!(let #name = #text;));
            }
        }
        let [a, b] = types;
        let a = a?;
        let (second, b) = match b {
            Some(b) => (quote!(b), b),
            None => (quote!(_), a.clone()),
        };
        self.items.push(quote! {
            pub(super) struct #name;
            impl simd::Test for #name {
                type A = #a;
                type B = #b;
                #[inline(always)]
                fn test(a: #a, #second: #b) -> bool {
                    #lets
                    #output
                }
            }
        });
        self.tests.insert(test.clone(), name.clone());
        Some(name)
    }
}

/// The name of a value of one lane.
fn local(id: &ValueId) -> TokenStream {
    let name = format_ident!("x{}", id.0);
    quote!(#name)
}

/// The word that a register of so many bits is.
fn register(bits: u32) -> Option<Ident> {
    REGISTERS.contains(&bits).then(|| format_ident!("u{bits}"))
}

/// The width of one lane; `None` for predicates and selectors, and where no integer has it.
fn lane_bits(model: &Model, ty: Ty) -> Option<u32> {
    let Ty::Lanes { lane, .. } = ty else { return None };
    let ty = model.ty(lane);
    (ty.kind != Kind::Predicate && matches!(ty.bits, 8 | 16 | 32 | 64)).then_some(ty.bits)
}

fn lanes_of(ty: Ty) -> u32 {
    match ty {
        Ty::Lanes { lanes, .. } => lanes,
        Ty::Pick { .. } => 1,
    }
}

/// A constant's bits in one lane.
fn constant(model: &Model, bits: u64, ty: Ty) -> TokenStream {
    if is_predicate(model, ty) {
        let value = bits != 0;
        return quote!(#value);
    }
    let literal = match lane_bits(model, ty) {
        Some(8) => Literal::u8_suffixed(bits as u8),
        Some(16) => Literal::u16_suffixed(bits as u16),
        Some(32) => Literal::u32_suffixed(bits as u32),
        _ => Literal::u64_suffixed(bits),
    };
    quote!(#literal)
}

/// A call of a builtin's body for one lane, bits in and bits out.
fn call(model: &Model, id: crate::model::BuiltinId, ty: Option<TypeId>, args: &[TokenStream]) -> TokenStream {
    let builtin = &model.builtins[id.0];
    let name = body(model, id, ty);
    let concrete = |param: Param| match param {
        Param::Type(id) => Some(id),
        Param::Generic | Param::GenericLanes => ty,
        Param::Pick { .. } => None,
    };
    let args = builtin.params.iter().zip(args).map(|(param, arg)| match concrete(*param).map(|id| model.ty(id)) {
        Some(ty) if ty.kind == Kind::Float => {
            let own = float(ty);
            quote!(#own::from_bits(#arg))
        }
        Some(ty) if ty.kind == Kind::Signed => quote!(#arg.cast_signed()),
        _ => quote!(#arg),
    });
    let call = quote!(rt::#name(#(#args),*));
    match concrete(builtin.result).map(|id| model.ty(id).kind) {
        Some(Kind::Float) => quote!(#call.to_bits()),
        Some(Kind::Signed) => quote!(#call.cast_unsigned()),
        _ => call,
    }
}

fn body(model: &Model, id: crate::model::BuiltinId, ty: Option<TypeId>) -> Ident {
    let builtin = &model.builtins[id.0];
    match ty {
        Some(ty) => format_ident!("{}_{}", builtin.name, model.ty(ty).name),
        None => ident(&builtin.name),
    }
}

/// The Rust type of a float.
fn float(ty: &crate::model::Type) -> TokenStream {
    let name = ident(&ty.name);
    match ty.bits {
        32 | 64 => quote!(#name),
        _ => quote!(rt::#name),
    }
}

/// Emits the code of a general kernel: values are arrays of 32 times their lanes, predicates are masks. What is
/// computed lane by lane becomes a loop; the rest are operations on whole arrays and masks.
struct Chunk<'a> {
    model: &'a Model,
    program: &'a Program,
    /// The values that are needed whole, as an array or a mask.
    whole: Vec<bool>,
}

/// How a value comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It is a source, a selector or an operation on whole values.
    Whole,
    /// In a loop over lanes.
    Lane,
}

impl<'a> Chunk<'a> {
    fn new(model: &'a Model, program: &'a Program) -> Chunk<'a> {
        let mut chunk = Chunk { model, program, whole: vec![false; program.values.len()] };
        for (index, value) in program.values.iter().enumerate() {
            if chunk.way(ValueId(index)) == Way::Whole {
                chunk.whole[index] = true;
                value.op.args().iter().for_each(|arg| chunk.whole[arg.0] = true);
            }
        }
        program.outputs.iter().for_each(|output| chunk.whole[output.0] = true);
        chunk
    }

    fn value(&self, id: ValueId) -> &'a Value {
        self.program.value(id)
    }

    fn lanes(&self, id: ValueId) -> u32 {
        lanes_of(self.value(id).ty)
    }

    fn is_predicate(&self, id: ValueId) -> bool {
        is_predicate(self.model, self.value(id).ty)
    }

    fn way(&self, id: ValueId) -> Way {
        let whole = match &self.value(id).op {
            Op::Source(_) | Op::Selector(_) | Op::Lane(..) => true,
            Op::Call { builtin, ty, args } if kernel::algebra(self.model, *builtin, *ty).is_some() => {
                args.iter().any(|arg| self.way(*arg) == Way::Whole)
            }
            Op::Call { builtin, .. } => !kernel::each_lane(self.model, *builtin),
            Op::Reinterpret(inner) => self.lanes(*inner) != self.lanes(id),
            Op::Constant(_) => self.is_predicate(id),
            Op::Select(condition, a, b) => {
                let by_mask = |id: &ValueId| self.is_predicate(*id) && self.way(*id) == Way::Whole;
                [condition, a, b].into_iter().any(by_mask) || self.lanes(*condition) != self.lanes(id)
            }
        };
        if whole { Way::Whole } else { Way::Lane }
    }

    /// The array or mask of a value.
    fn name(id: ValueId) -> Ident {
        format_ident!("v{}", id.0)
    }

    /// The type of a register that holds a value.
    fn register_type(&self, id: ValueId, predicate: &TokenStream) -> Option<TokenStream> {
        if self.is_predicate(id) {
            return (self.lanes(id) == 1).then(|| predicate.clone());
        }
        let word = register(self.register_bits(id))?;
        Some(quote!([#word; 32]))
    }

    /// Bits of a register that holds a value: 1 for predicates.
    fn register_bits(&self, id: ValueId) -> u32 {
        lane_bits(self.model, self.value(id).ty).map_or(1, |bits| bits * self.lanes(id))
    }

    fn item(&self, name: &Ident) -> Option<TokenStream> {
        let values = &self.program.values;
        let mut sources = Vec::new();
        let mut names = Vec::new();
        let (mut picks, mut subsets) = (0, 0);
        for (index, value) in values.iter().enumerate() {
            let id = ValueId(index);
            match value.op {
                Op::Source(source) => {
                    debug_assert_eq!(source, sources.len(), "numbered in order of first use");
                    sources.push(self.register_type(id, &quote!(simd::Mask))?);
                    names.push(Chunk::name(id));
                }
                Op::Selector(place) if matches!(value.ty, Ty::Pick { .. }) => picks = picks.max(place + 1),
                Op::Selector(place) => subsets = subsets.max(place + 1),
                _ => {}
            }
            if !matches!(value.ty, Ty::Pick { .. }) && !self.is_predicate(id) {
                lane_bits(self.model, value.ty)?;
            }
            if !matches!(lanes_of(value.ty), 1 | 2 | 4) {
                return None;
            }
        }
        if sources.is_empty() || sources.len() > MAX_SOURCES || picks > MAX_PICKS || subsets > MAX_SUBSETS {
            return None;
        }
        let mut stages = TokenStream::new();
        for index in 0..values.len() {
            stages.extend(self.stage(ValueId(index)));
        }
        let mut outputs = Vec::new();
        let mut types = Vec::new();
        for output in &self.program.outputs {
            types.push(self.register_type(*output, &quote!(u32))?);
            outputs.push(match self.is_predicate(*output) || self.lanes(*output) == 1 {
                true => self.by_value(*output),
                false => {
                    let whole = self.by_value(*output);
                    quote!(reinterpret(#whole))
                }
            });
        }
        types.resize(2, quote!(()));
        outputs.resize(2, quote!(()));
        let [d, e] = types.as_slice() else { return None };
        let mentions = |name: &str| {
            let all = stages.clone().into_iter().chain(outputs.iter().cloned().flatten());
            all.flat_map(flatten).any(|token| token.to_string() == name)
        };
        let [simd, selectors] = ["simd", "selectors"].map(|name| match mentions(name) {
            true => format_ident!("{name}"),
            false => format_ident!("_{name}"),
        });
        Some(quote! {
            pub(super) struct #name;
            impl simd::Program for #name {
                type Sources = (#(#sources,)*);
                type D = #d;
                type E = #e;
                const PICKS: usize = #picks;
                #[inline(always)]
                fn run<L: Simd>(
                    #simd: L,
                    (#(#names,)*): <Self::Sources as simd::Sources>::Refs<'_>,
                    #selectors: &Selectors,
                ) -> (Self::D, Self::E) {
                    #stages
                    (#(#outputs),*)
                }
            }
        })
    }

    /// Whether a value's name stands for a reference.
    fn is_reference(&self, id: ValueId) -> bool {
        matches!(self.value(id).op, Op::Source(_)) && !self.is_predicate(id) && self.lanes(id) == 1
    }

    fn by_value(&self, id: ValueId) -> TokenStream {
        let name = Chunk::name(id);
        if self.is_reference(id) { quote!(*#name) } else { quote!(#name) }
    }

    fn by_reference(&self, id: ValueId) -> TokenStream {
        let name = Chunk::name(id);
        if self.is_reference(id) { quote!(#name) } else { quote!(&#name) }
    }

    fn array_type(&self, id: ValueId) -> TokenStream {
        let bits = lane_bits(self.model, self.value(id).ty).expect("asked before");
        let (word, count) = (format_ident!("u{bits}"), Literal::u32_unsuffixed(32 * self.lanes(id)));
        quote!([#word; #count])
    }

    /// The statements that make a value's array or mask, if it is needed.
    fn stage(&self, id: ValueId) -> TokenStream {
        if !self.whole[id.0] {
            return TokenStream::new();
        }
        let value = self.value(id);
        let name = Chunk::name(id);
        if self.way(id) == Way::Lane {
            return self.looped(id);
        }
        match &value.op {
            Op::Source(_) if self.is_predicate(id) || self.lanes(id) == 1 => TokenStream::new(),
            Op::Source(_) => {
                let ty = self.array_type(id);
                quote!(let #name: #ty = reinterpret(*#name);)
            }
            Op::Selector(_) => match value.ty {
                Ty::Pick { .. } => TokenStream::new(),
                Ty::Lanes { .. } => quote!(let #name = selectors.subset;),
            },
            Op::Constant(bits) => {
                let mask = match (*bits, self.lanes(id)) {
                    (0, 1) => quote!(0_u32),
                    (_, 1) => quote!(u32::MAX),
                    (0, _) => quote!(0_u128),
                    (_, _) => quote!(u128::MAX),
                };
                quote!(let #name = #mask;)
            }
            Op::Lane(inner, lane) => {
                let (lanes, lane) = (Literal::u32_unsuffixed(self.lanes(*inner)), Literal::u32_unsuffixed(*lane));
                if self.is_predicate(id) {
                    let inner = Chunk::name(*inner);
                    return quote!(let #name = simd.lane::<#lanes>(#inner, #lane););
                }
                let (ty, inner) = (self.array_type(id), Chunk::name(*inner));
                quote! {
                    let mut #name: #ty = [0; 32];
                    let mut i = 0;
                    while i < 32 {
                        #name[i] = #inner[#lanes * i + #lane];
                        i += 1;
                    }
                }
            }
            Op::Reinterpret(inner) => {
                let (ty, inner) = (self.array_type(id), self.by_value(*inner));
                quote!(let #name: #ty = reinterpret(#inner);)
            }
            Op::Select(condition, a, b) => self.select(id, *condition, *a, *b),
            Op::Call { builtin, ty, args } if kernel::algebra(self.model, *builtin, *ty).is_some() => {
                let args: Vec<Ident> = args.iter().map(|arg| Chunk::name(*arg)).collect();
                let text = match (self.model.builtins[builtin.0].name.as_str(), args.as_slice()) {
                    ("not", [a]) => quote!(!#a),
                    ("and", [a, b]) => quote!(#a & #b),
                    ("or", [a, b]) => quote!(#a | #b),
                    (_, args) => quote!(#(#args)^*),
                };
                quote!(let #name = #text;)
            }
            Op::Call { builtin, ty, args } => {
                let body = body(self.model, *builtin, *ty);
                let params = &self.model.builtins[builtin.0].params;
                // A body for any number of lanes is told how many.
                let any = params.iter().position(|param| *param == Param::GenericLanes);
                let lanes = any.map(|index| Literal::u32_unsuffixed(self.lanes(args[index])));
                let lanes = lanes.map(|lanes| quote!(::<_, #lanes>));
                let args = args.iter().map(|arg| match (&self.value(*arg).op, self.value(*arg).ty) {
                    (Op::Selector(place), Ty::Pick { .. }) => {
                        let place = Literal::usize_unsuffixed(*place);
                        quote!(&selectors.picks[#place])
                    }
                    _ if self.is_predicate(*arg) => self.by_value(*arg),
                    _ => self.by_reference(*arg),
                });
                quote!(let #name = rt::warp::#body #lanes(simd, #(#args),*);)
            }
        }
    }

    /// A choice by a mask.
    fn select(&self, id: ValueId, condition: ValueId, a: ValueId, b: ValueId) -> TokenStream {
        let name = Chunk::name(id);
        let condition_name = Chunk::name(condition);
        let mask = if self.lanes(condition) == 1 { quote!(#condition_name.into()) } else { quote!(#condition_name) };
        if self.is_predicate(id) {
            let (a, b) = (Chunk::name(a), Chunk::name(b));
            return quote!(let #name = (#a & #condition_name) | (#b & !#condition_name););
        }
        let ty = self.array_type(id);
        let (a, b) = if self.lanes(condition) == self.lanes(id) {
            (self.by_reference(a), self.by_reference(b))
        } else {
            // A predicate for a whole packed value: registers are chosen.
            let [a, b] = [self.by_value(a), self.by_value(b)];
            let register = register(self.register_bits(id)).unwrap_or_else(|| format_ident!("u32"));
            let array = quote!([#register; 32]);
            let whole = quote!(simd.select(#mask, &reinterpret::<_, #array>(#a), &reinterpret(#b)));
            return quote!(let #name: #ty = reinterpret(#whole););
        };
        quote!(let #name: #ty = simd.select(#mask, #a, #b);)
    }

    /// The loop that computes a value in each lane.
    fn looped(&self, id: ValueId) -> TokenStream {
        let name = Chunk::name(id);
        let count = Literal::u32_unsuffixed(32 * self.lanes(id));
        let mut lets = TokenStream::new();
        let mut done = vec![false; self.program.values.len()];
        let text = self.compute(id, &mut lets, &mut done);
        if let Op::Constant(_) = self.value(id).op {
            return quote!(let #name = [#text; #count];);
        }
        let (ty, text, close) = match (self.is_predicate(id), self.lanes(id)) {
            (false, _) => (self.array_type(id), text, TokenStream::new()),
            (true, lanes) => {
                let compared = Literal::u32_unsuffixed(self.widest(id));
                let word = if lanes == 1 { quote!(as u32) } else { quote!() };
                let close = quote!(let #name = simd.mask(&#name, #compared) #word;);
                (quote!([i8; #count]), quote!(-i8::from(#text)), close)
            }
        };
        quote! {
            let mut #name: #ty = [0; #count];
            let mut i = 0;
            while i < #count {
                #lets
                #name[i] = #text;
                i += 1;
            }
            #close
        }
    }

    /// The bits of the widest lanes that the loop for a value reads.
    fn widest(&self, id: ValueId) -> u32 {
        let args = self.value(id).op.args();
        let read = |arg: &ValueId| {
            let bits = lane_bits(self.model, self.value(*arg).ty).unwrap_or(0);
            if self.whole[arg.0] { bits } else { bits.max(self.widest(*arg)) }
        };
        args.iter().map(read).max().unwrap_or(0)
    }

    /// A value in lane `i`, read where it is an array.
    fn read(&self, id: ValueId, lets: &mut TokenStream, done: &mut Vec<bool>) -> TokenStream {
        if let Op::Constant(bits) = self.value(id).op {
            return constant(self.model, bits, self.value(id).ty);
        }
        if let (Op::Selector(place), Ty::Pick { lanes, of }) = (&self.value(id).op, self.value(id).ty) {
            let place = Literal::usize_unsuffixed(*place);
            let (lanes, of) = (Literal::u32_unsuffixed(lanes), Literal::u32_unsuffixed(of));
            return quote!(Lanes::<#lanes, #of>::from_bits(selectors.picks[#place].packed()));
        }
        if self.whole[id.0] && !self.is_predicate(id) {
            let name = Chunk::name(id);
            return quote!(#name[i]);
        }
        if self.way(id) == Way::Whole {
            let name = Chunk::name(id);
            return quote!((#name >> i & 1 != 0));
        }
        let name = local(&id);
        if !done[id.0] {
            done[id.0] = true;
            let text = self.compute(id, lets, done);
            lets.extend(quote!(let #name = #text;));
        }
        name
    }

    /// A value in lane `i`, computed.
    fn compute(&self, id: ValueId, lets: &mut TokenStream, done: &mut Vec<bool>) -> TokenStream {
        let value = self.value(id);
        match &value.op {
            Op::Source(_) | Op::Selector(_) | Op::Lane(..) => unreachable!("whole values are read"),
            Op::Constant(bits) => constant(self.model, *bits, value.ty),
            Op::Reinterpret(inner) => self.read(*inner, lets, done),
            Op::Select(condition, a, b) => {
                let condition = self.read(*condition, lets, done);
                let (a, b) = (self.read(*a, lets, done), self.read(*b, lets, done));
                quote!(if #condition { #a } else { #b })
            }
            Op::Call { builtin, ty, args } => {
                let args: Vec<TokenStream> = args.iter().map(|arg| self.read(*arg, lets, done)).collect();
                call(self.model, *builtin, *ty, &args)
            }
        }
    }
}

/// The tokens in a tree of tokens.
fn flatten(tree: TokenTree) -> Vec<TokenTree> {
    match tree {
        TokenTree::Group(group) => group.stream().into_iter().flat_map(flatten).collect(),
        other => vec![other],
    }
}
