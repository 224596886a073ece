//! Rust code generation from the checked model and the plan.
//!
//! A table is one module: modifier enums, a struct for each instruction with its forms as constants, the operand types,
//! and the static table. Optional modules hold typed functions of all forms (`typed`), loops over lanes (`loops`) and
//! the reference (`reference`). Emitters only format: all decisions have been made before. Generated code refers to two
//! paths, the support crate and the bodies of builtins.

mod api;
mod code;
mod columns;
mod loops;
mod markers;
mod operations;
mod pool;
mod reference;
mod rows;
mod rust;
mod typed;

use isa_table::constant::Content;
use isa_table::page::PageBuf;
use isa_table::table::{Data, Table};

use crate::check::Checked;
use crate::plan::Plan;
use crate::text::Sources;
use code::Code;
pub(crate) use reference::manual;

/// Input of every emitter.
pub(crate) struct Context<'a> {
    pub checked: &'a Checked,
    pub plan: &'a Plan,
    pub sources: &'a Sources,
    /// Path of the crate `ptx-isa` in the generated code: `::ptx_isa`.
    pub support: &'a str,
    /// Path of the module with the builtins' bodies: `::ptx_isa::eval`.
    pub bodies: &'a str,
}

impl Context<'_> {
    /// `comparison.isa:8`
    fn place(&self, span: proc_macro2::Span) -> String {
        self.sources.cite(span)
    }
}

/// Optional parts of a table's own file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parts {
    /// The loops; otherwise the table refers to a sibling module `loops`.
    pub loops: bool,
    /// Typed functions of all forms.
    pub typed: bool,
}

/// Generates the module of a table.
pub(crate) fn table(cx: &Context<'_>, parts: Parts) -> String {
    let mut code = Code::default();
    api::emit(cx, &mut code);
    markers::emit(cx, &mut code);
    columns::emit(cx, &mut code);
    operations::emit(cx, &mut code);
    if parts.loops {
        code.blank();
        loops::emit(cx, &mut code);
    }
    if parts.typed {
        code.blank();
        typed::emit_module(cx, &mut code);
    }
    code.finish()
}

/// Generates the module `loops`.
pub(crate) fn loops(cx: &Context<'_>) -> String {
    let mut code = Code::default();
    loops::emit(cx, &mut code);
    code.finish()
}

/// Generates the module of typed functions.
pub(crate) fn typed(cx: &Context<'_>) -> String {
    let mut code = Code::default();
    typed::emit_module(cx, &mut code);
    code.finish()
}

/// Generates the macro `ptx!` of a table that is included at a path; it embeds the spec.
pub(crate) fn ptx(path: &str, bodies: &str, sources: &Sources) -> String {
    let mut code = Code::default();
    code.blank();
    code.docs("`ptx!` for this table and its base.");
    code.line("#[allow(unused_macros, reason = \"not every table is used so\")]");
    code.braces("macro_rules! ptx", |code| {
        code.block("($($tokens:tt)*) => {", "};", |code| {
            code.block(
                format_args!("::ptx_isa_macros::ptx_of! {{ ({path}) ({bodies}) ("),
                "); $($tokens)* }",
                |code| {
                    sources.files().for_each(|(name, text)| code.line(format_args!("{name:?} {text:?}")));
                },
            );
        });
    });
    code.line("#[allow(unused_imports, reason = \"not every table is used so\")]");
    code.line("pub(crate) use ptx;");
    code.finish()
}

/// Leaks a table that extends a base table, without code to evaluate it.
pub(crate) fn leaked(cx: &Context<'_>, base: &'static Table) -> &'static Table {
    let data = Data::leak(rows::rows(cx).data);
    Box::leak(Box::new(Table { base: Some(base), data, operation: |_, _| 0, operations: &[], linear: &[], loops: &[] }))
}

/// Generates the functions of all forms as lines of macro input.
pub(crate) fn catalog(cx: &Context<'_>) -> String {
    let mut code = Code::default();
    typed::emit_catalog(cx, &mut code);
    code.finish()
}

/// Generates the function of one form under a given name; `None` if no form with an evaluator has this name.
pub(crate) fn function(cx: &Context<'_>, form: &str, name: &str) -> Option<String> {
    let form = cx.checked.forms.iter().find(|other| other.name == form && cx.checked.by_thread(other))?;
    let mut code = Code::default();
    typed::emit(cx, form, name, &mut code);
    Some(code.finish())
}

/// Generates the items of the reference module: the pages, and the value of each line of pseudo-code.
pub(crate) fn reference(cx: &Context<'_>, pages: &[PageBuf]) -> String {
    let mut code = Code::default();
    reference::emit(cx, pages, &mut code);
    code.finish()
}
