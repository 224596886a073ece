//! What the reference adds to the table: the pages, and for each form what every line of its pseudo-code computes.

use std::collections::HashMap;

use isa_page::Constant;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::Context;
use super::scalar::{Layout, Scalar, erase};
use super::table::pseudo_code_below;
use crate::ir::{Program, Ty, ValueId};

pub(super) fn emit(cx: &Context<'_>, pages: &[isa_page::Page]) -> TokenStream {
    let support = cx.support;
    let pages = pages.iter().map(|page| page.constant().parse::<TokenStream>().expect("an expression"));
    let mut traces = Traces { cx, functions: Vec::new(), names: HashMap::new() };
    let forms: Vec<TokenStream> = cx.checked.forms.iter().map(|form| traces.form(form)).collect();
    let functions = &traces.functions;
    let bodies = cx.bodies;
    quote! {
        #[allow(unused_imports, reason = "a table need not use every shape")]
        use #support::reference::{page::*, Reference, Step, Trace};
        #[allow(unused_imports, reason = "a table need not use every shape")]
        use #support::table::TypeId;

        /// The reference that the spec writes.
        pub static REFERENCE: Reference = Reference { pages: PAGES, traces: TRACES };

        static PAGES: &[Page] = &[#(#pages),*];

        /// For each form its traces, ascending by the bound that SM numbers stay below.
        static TRACES: &[&[Trace]] = &[#(&[#forms]),*];

        mod trace {
            #![allow(unused_variables, reason = "a step need not read every source")]
            #[allow(unused_imports, reason = "a table need not use every kind of body")]
            use #bodies as rt;
            #[allow(unused_imports, reason = "a table need not use every kind of body")]
            use #support::selector;
            #(#functions)*
        }
    }
}

struct Traces<'a> {
    cx: &'a Context<'a>,
    functions: Vec<TokenStream>,
    /// Names of the functions, by what they compute.
    names: HashMap<(Program, Layout, Vec<ValueId>), Ident>,
}

impl Traces<'_> {
    fn form(&mut self, form: &crate::check::Form) -> TokenStream {
        let mut list = TokenStream::new();
        for (below, program) in &form.programs {
            let lines = pseudo_code_below(self.cx, form, *below);
            let shown = |id: &ValueId| matches!(program.value(*id).ty, Ty::Lanes { .. });
            let steps: Vec<Option<ValueId>> = program.steps.iter().map(|step| step.filter(shown)).collect();
            let known: Vec<ValueId> = steps.iter().flatten().copied().collect();
            let scalar = Scalar::new(self.cx, form);
            let key = (erase(&self.cx.checked.model, program), scalar.layout(), known.clone());
            let next = format_ident!("trace_{}", self.names.len());
            let functions = &mut self.functions;
            let name = self.names.entry(key).or_insert_with(|| {
                functions.push(scalar.trace(&next, program, &known));
                next
            });
            let steps = lines.iter().zip(&steps).map(|(line, step)| {
                let (ty, lanes) = match step.map(|step| program.value(step).ty) {
                    Some(Ty::Lanes { lane, lanes }) => (lane.0, lanes),
                    Some(Ty::Pick { .. }) | None => (0, 0),
                };
                let (ty, lanes) = (Literal::u8_unsuffixed(ty as u8), Literal::u8_unsuffixed(lanes as u8));
                quote!(Step { line: #line, ty: TypeId(#ty), lanes: #lanes })
            });
            let below = Literal::u16_unsuffixed(*below);
            list.extend(quote!(Trace { below: #below, steps: &[#(#steps),*], values: trace::#name },));
        }
        list
    }
}
