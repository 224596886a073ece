//! Table of an invocation, either this library's or an extension of it, and the Rust items of its forms.

use std::cell::RefCell;
use std::collections::HashMap;

use isa_spec::{Build, Functions};
use isa_table::names;
use proc_macro2::{Ident, Span, TokenStream};
use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, Table, TypeId, TypeSet};
use ptx_isa::text::Statement;
use ptx_isa::text::statement::Value;
use quote::{quote, quote_spanned};

use crate::ptx::Written;

/// A table, and the paths of its module and of the builtins' bodies.
pub(crate) struct Tables {
    pub table: &'static Table,
    path: TokenStream,
    bodies: TokenStream,
    /// Name and text of each spec file; empty for this library's table.
    files: Vec<String>,
}

/// A parsed spec.
struct Read {
    functions: Functions,
    /// Table of its own instructions, if it has any.
    table: Option<&'static Table>,
}

thread_local! {
    /// Cache of parsed specs by their files, shared by all invocations.
    static READ: RefCell<HashMap<Vec<String>, Read>> = RefCell::default();
}

/// Runs a function with the spec of these files, which extends ours.
fn with_spec<R>(files: &[String], act: impl FnOnce(&mut Read) -> R) -> Result<R, String> {
    // The cached tokens outlive this invocation, which compiler tokens must not.
    proc_macro2::fallback::force();
    let result = READ.with_borrow_mut(|read| {
        if !read.contains_key(files) {
            let build = if files.is_empty() { Build::new().ptx() } else { Build::new() };
            let build =
                files.as_chunks().0.iter().fold(build, |build, [name, text]: &[String; 2]| build.text(name, text));
            let functions = build.functions()?;
            let table = if files.is_empty() { None } else { Some(functions.table(&TABLE)?) };
            read.insert(files.to_vec(), Read { functions, table });
        }
        Ok(act(read.get_mut(files).expect("it was just read")))
    });
    proc_macro2::fallback::unforce();
    result
}

/// A generated name as a Rust identifier.
fn name(text: &str) -> Ident {
    match text.strip_prefix("r#") {
        Some(word) => Ident::new_raw(word, Span::call_site()),
        None => Ident::new(text, Span::call_site()),
    }
}

impl Tables {
    /// The table of `ptx-isa`. Its spec is parsed when a function is first requested.
    pub(crate) fn ours() -> Tables {
        Tables { table: &TABLE, path: quote!(::ptx_isa), bodies: quote!(::ptx_isa::eval), files: Vec::new() }
    }

    /// The table of another spec that extends ours.
    pub(crate) fn joined(path: TokenStream, bodies: TokenStream, files: &[String]) -> Result<Tables, String> {
        let table = with_spec(files, |read| read.table)?.unwrap_or(&TABLE);
        Ok(Tables { table, path, bodies, files: files.to_vec() })
    }

    /// Path of the form's constant: `::ptx_isa::Setp::LT_S32`.
    fn constant(&self, form: FormInfo) -> TokenStream {
        let ty = name(&names::camel(form.instruction().opcode));
        let constant = name(&names::constant(&form.name()));
        let ours = Tables::ours().path;
        let path = if std::ptr::eq(form.table(), &TABLE) { &ours } else { &self.path };
        quote!(#path::#ty::#constant)
    }

    /// Inline code of the function that evaluates a form; `None` if the form has no evaluator.
    fn function(&self, form: FormInfo) -> Option<TokenStream> {
        let own = !std::ptr::eq(form.table(), &TABLE);
        let name = names::function(&form.name());
        let text = with_spec(if own { &self.files } else { &[] }, |read| read.functions.function(&form.name(), &name));
        text.expect("a spec that was read holds together")?.parse().ok()
    }

    /// Expands a mnemonic: the form and its evaluator.
    pub(crate) fn named(&self, form: FormInfo) -> TokenStream {
        let constant = self.constant(form);
        let bodies = if std::ptr::eq(form.table(), &TABLE) { &Tables::ours().bodies } else { &self.bodies };
        match self.function(form) {
            Some(function) => {
                let name = name(&names::function(&form.name()));
                quote!({
                    #[allow(unused_imports, reason = "a form need not call a body")]
                    use #bodies as rt;
                    #function
                    ::ptx_isa::construct::Named { form: #constant, eval: #name }
                })
            }
            None => quote!(::ptx_isa::construct::Named { form: #constant, eval: () }),
        }
    }

    /// Marker type of an operand, including narrowed registers.
    /// them.
    fn marker(&self, (ty, registers): (TypeId, TypeSet)) -> Ident {
        let ty = self.table.ty(ty);
        let names: Vec<&str> = registers.iter().map(|register| self.table.ty(register).name).collect();
        name(&names::marker(ty.name, (registers != ty.registers).then_some(&names)))
    }

    /// Expands an instruction with operand expressions.
    pub(crate) fn build(
        &self,
        statement: &Statement<'_>,
        guard: Option<TokenStream>,
        written: &[Written],
    ) -> TokenStream {
        let constant = self.constant(statement.form());
        let path = &self.path;
        let helpers = quote!(::ptx_isa::construct::checked_by_macro);
        let operands = statement.operands_with_info().zip(written).map(|((info, operand), written)| {
            let one = |expression: &Option<TokenStream>, ty| match expression {
                None => quote!(#helpers::sink()),
                Some(expression) => {
                    let span = expression.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
                    let function = Ident::new(if info.constants { "source" } else { "register" }, span);
                    let mut marker = self.marker(ty);
                    marker.set_span(span);
                    let path = path.clone().into_iter().map(|mut token| {
                        token.set_span(span);
                        token
                    });
                    quote_spanned! {span=>
                        ::ptx_isa::construct::checked_by_macro::#function::<#(#path)*::types::#marker, _>(#expression)
                    }
                }
            };
            let mut tokens = one(&written.value, (info.ty, info.registers));
            if let Value::Negated(_) = operand.value {
                tokens = quote!(#helpers::negated(#tokens));
            }
            if let (Some(expression), Some(second)) = (&written.second, &info.second) {
                let second = one(expression, (second.ty, second.registers));
                tokens = quote!(#helpers::pair(#tokens, #second));
            }
            match (operand.selector, &info.selector) {
                (Some(bits), Some(selector)) if bits != selector.default => quote!(#helpers::selected(#tokens, #bits)),
                _ => tokens,
            }
        });
        let guard = match guard {
            Some(guard) => quote!(::core::option::Option::Some(#guard)),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            #helpers::statement(&#path::TABLE, #constant.info(), #guard, &[#(#operands),*])
        }
    }
}
