//! The macros of `ptx-isa`: [`isa!`] writes a table in place.

use proc_macro::TokenStream;

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
