//! From the checked model and the plan to Rust.
//!
//! A table is one module: modifier enums, a struct for each instruction with its forms as constants, the types of
//! operands, and the static table that all else reads. Beside it there may be the functions of all forms (`typed`), the
//! loops over lanes (`loops`) and the reference (`reference`). Emitters only write text: what there is to write is
//! decided. What the text relies on stands behind two paths, that of the support crate and that of the builtins' bodies.

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

/// What every emitter reads.
pub(crate) struct Context<'a> {
    pub checked: &'a Checked,
    pub plan: &'a Plan,
    pub sources: &'a Sources,
    /// The path of the crate `ptx-isa` as the generated code sees it: `::ptx_isa`.
    pub support: &'a str,
    /// The path of the module with the builtins' bodies: `::ptx_isa::eval`.
    pub bodies: &'a str,
}

impl Context<'_> {
    /// `comparison.isa:8`
    fn place(&self, span: proc_macro2::Span) -> String {
        self.sources.cite(span)
    }
}

/// Which parts of a table stand in its own file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parts {
    /// The loops; else the table says that they are in the module `loops` beside it.
    pub loops: bool,
    /// The functions of all forms.
    pub typed: bool,
}

/// The module of a table.
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

/// The module `loops`.
pub(crate) fn loops(cx: &Context<'_>) -> String {
    let mut code = Code::default();
    loops::emit(cx, &mut code);
    code.finish()
}

/// The module of functions of all forms.
pub(crate) fn typed(cx: &Context<'_>) -> String {
    let mut code = Code::default();
    typed::emit_module(cx, &mut code);
    code.finish()
}

/// The macro `ptx!` of a table that is included at a path: it brings the spec along.
pub(crate) fn ptx(path: &str, bodies: &str, sources: &Sources) -> String {
    let mut code = Code::default();
    code.blank();
    code.docs("`ptx!` for this table and the one that it stands on.");
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

/// A table in memory, which lasts as long as the program; it stands on another one. It computes nothing.
pub(crate) fn leaked(cx: &Context<'_>, base: &'static Table) -> &'static Table {
    let data = Data::leak(rows::rows(cx).data);
    Box::leak(Box::new(Table { base: Some(base), data, operation: |_, _| 0, loops: &[] }))
}

/// The functions of all forms as lines of a macro's input.
pub(crate) fn catalog(cx: &Context<'_>) -> String {
    let mut code = Code::default();
    typed::emit_catalog(cx, &mut code);
    code.finish()
}

/// The function of one form, called so; `None` if no form with an evaluator has this name.
pub(crate) fn function(cx: &Context<'_>, form: &str, name: &str) -> Option<String> {
    let form = cx.checked.forms.iter().find(|other| other.name == form && cx.checked.by_thread(other))?;
    let mut code = Code::default();
    typed::emit(cx, form, name, &mut code);
    Some(code.finish())
}

/// The items of the module that holds the reference: the pages, and what each line of pseudo-code computes.
pub(crate) fn reference(cx: &Context<'_>, pages: &[PageBuf]) -> String {
    let mut code = Code::default();
    reference::emit(cx, pages, &mut code);
    code.finish()
}
