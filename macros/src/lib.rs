//! Macros of `ptx-isa`: [`ptx!`] names an instruction at compile time, [`isa!`] defines a table inline.
//!
//! [`ptx!`] wraps the library's statement parser, so that its errors are those of `ptx-isa check`; [`isa!`] wraps the
//! spec compiler.

mod ptx;
mod tables;

use proc_macro::TokenStream;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Names or builds an instruction at compile time.
///
/// With only a mnemonic, expands to a [`Named`](../ptx_isa/construct/struct.Named.html): the form and its evaluator,
/// both constants.
///
/// ```
/// use ptx_isa_macros::ptx;
///
/// const TRUE: u32 = (ptx!(set.lt.and.ftz.u32.f32).eval)(1.0, 2.0, true);
/// assert_eq!(TRUE, 0xffff_ffff);
/// assert_eq!(ptx!(set.lt.and.ftz.u32.f32).form.since().to_string(), "1.4");
/// ```
///
/// With operands, expands to a [`Statement`](../ptx_isa/text/statement/struct.Statement.html). Operands are
/// expressions: registers of a matching type, numbers where the type accepts them, `_` for a sink; `!`, `p|q` and
/// selectors are written as in PTX. A guard may precede the opcode.
///
/// ```
/// use ptx_isa::construct::Reg;
/// use ptx_isa::types::{Pred, S32};
/// use ptx_isa_macros::ptx;
///
/// let (p, q, a) = (Reg::<Pred>::new("%p1"), Reg::<Pred>::new("%p2"), Reg::<S32>::new("%r1"));
/// let limit = 3 + 4;
/// assert_eq!(ptx!(@!q setp.lt.and.s32 p|_, a, limit, !q).to_string(), "@!%p2 setp.lt.and.s32 %p1|_, %r1, 0x7, !%p2;");
/// ```
///
/// A comma separates operands unless it is in brackets, and a letter with digits after the last dot is a selector if
/// the operand has one. Parentheses force an expression: `(f::<A, B>())`, `(x.b0)`.
///
/// Errors are reported at the token, with the messages of `ptx-isa check`. Statements that the assembler accepts but
/// the manual does not list are errors, too.
///
/// ```compile_fail
/// ptx_isa_macros::ptx!(setp.lo.s32); // `.lo` is for unsigned integers
/// ```
#[proc_macro]
pub fn ptx(input: TokenStream) -> TokenStream {
    ptx::expand(input.into()).into()
}

/// `ptx!` for a table that extends that of `ptx-isa`: the macro of that name in a generated module expands to it. See
/// `isa_spec::Build::with_ptx`.
#[doc(hidden)]
#[proc_macro]
pub fn ptx_of(input: TokenStream) -> TokenStream {
    ptx::expand_of(input.into()).into()
}

/// Defines a table from an inline spec: expands to the items that a build script's `isa_spec::Build` generates for the
/// same text, namely enums, forms, table and evaluators. Errors are reported at the token.
///
/// `use prelude;` imports the types, builtins and operators of `ptx-isa`; `use ptx;` its whole table. A spec may also
/// be self-contained, with builtins of its own whose bodies are in the module that `bodies` names.
///
/// ```
/// mod extra {
///     ptx_isa_macros::isa! {
///         use prelude;
///
///         /// Selects one of two words by a predicate.
///         instruction pick {
///             section 1.1;
///             syntax    { pick.type d, a, b, c; .type = { .u16, .u32 }; }
///             operands  { d, a, b: .type; c: .pred; }
///             requires  { ptx 1.0, sm_10; }
///             semantics { d = c ? a : b; }
///             examples  { pick.u32 r0, r1, r2, p; }
///         }
///     }
/// }
///
/// const PICKED: u32 = extra::scalar::pick_u32(1, 2, false);
/// assert_eq!((PICKED, extra::Form::COUNT), (2, 2));
/// ```
#[proc_macro]
pub fn isa(input: TokenStream) -> TokenStream {
    isa_spec::expand(input.into()).unwrap_or_else(isa_spec::Errors::into_compile_errors).into()
}
