//! The macros of `ptx-isa`: [`ptx!`] names an instruction at compile time, [`isa!`] writes a table in place.
//!
//! Both are shells: [`ptx!`] around the library's own reader of statements, so that its mistakes have the words of
//! `ptx-isa check`; [`isa!`] around the spec compiler.

mod ptx;
mod tables;

use proc_macro::TokenStream;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// An instruction named at compile time.
///
/// With a mnemonic alone it is a [`Named`](../ptx_isa/construct/struct.Named.html): the form and its evaluator, both
/// constants.
///
/// ```
/// use ptx_isa_macros::ptx;
///
/// const TRUE: u32 = (ptx!(set.lt.and.ftz.u32.f32).eval)(1.0, 2.0, true);
/// assert_eq!(TRUE, 0xffff_ffff);
/// assert_eq!(ptx!(set.lt.and.ftz.u32.f32).form.since().to_string(), "1.4");
/// ```
///
/// With operands it is a [`Statement`](../ptx_isa/text/statement/struct.Statement.html). Operands are expressions:
/// registers whose types fit, numbers where the type takes them, `_` for a sink; `!`, `p|q` and selectors are written
/// as in PTX. Before the opcode may stand a guard.
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
/// A comma parts operands wherever it is not in brackets, and a letter and digits behind the last dot are a selector
/// where the operand takes one: `(f::<A, B>())` and `(x.b0)` are expressions for sure.
///
/// A mistake is an error under the token, in the words of `ptx-isa check`; so is what the assembler takes although the
/// manual does not list it.
///
/// ```compile_fail
/// ptx_isa_macros::ptx!(setp.lo.s32); // `.lo` is for unsigned integers
/// ```
#[proc_macro]
pub fn ptx(input: TokenStream) -> TokenStream {
    ptx::expand(input.into()).into()
}

/// `ptx!` of a table that stands on that of `ptx-isa`: what the macro of that name in a generated module expands to. See
/// `isa_spec::Build::with_ptx`.
#[doc(hidden)]
#[proc_macro]
pub fn ptx_of(input: TokenStream) -> TokenStream {
    ptx::expand_of(input.into()).into()
}

/// A spec written inline: expands to the items that a build script's `isa_spec::Build` would write for the same text,
/// that is enums, forms, table and evaluators. A mistake is an error under the token.
///
/// `use prelude;` takes the types, builtins and operators of `ptx-isa`; `use ptx;` its whole table. A spec may also
/// stand alone, with builtins of its own whose bodies are in the module that `bodies` names.
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
