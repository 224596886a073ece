//! Syntax tree of the spec language, with spans and without interpretation.

mod declaration;
mod entry;
mod expr;

use proc_macro2::{Span, TokenStream};

pub(crate) use super::ident::Ident;
pub(crate) use declaration::*;
pub(crate) use entry::*;
pub(crate) use expr::*;

/// Text of the `///` lines before an item, joined, without the leading space.
pub(crate) type Docs = String;

/// A whole spec: its items in order.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Items, each with its start.
    pub(crate) items: Vec<(Span, Item)>,
    /// Items of its libraries.
    pub(crate) library: Vec<(Span, Item)>,
    /// True if library tokens come from the fallback lexer, while the spec's come from the compiler.
    pub(crate) beside: bool,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all items are instructions, the largest")]
pub(crate) enum Item {
    /// `use prelude;`
    Use(Ident),
    /// `bodies crate::bodies;`
    Bodies {
        path: TokenStream,
        span: Span,
    },
    Versions(Vec<Version>),
    Targets(Vec<TargetGroup>),
    /// `families { sm_100, sm_103; }`
    Families(Vec<Vec<Target>>),
    /// `manual 9.2 "https://…" { … }`
    Manual(Manual),
    Types(Vec<Type>),
    Class(Class),
    Builtin(Builtin),
    Own(Own),
    Effect(Effect),
    Function(Function),
    Operator(Operator),
    Words(Words),
    Map(Map),
    Fragment(Fragment),
    Summation(Summation),
    Layout(Layout),
    Lenient(Vec<LenientNote>),
    Special(Vec<Special>),
    /// `spaces { … }`
    Spaces(Vec<Space>),
    /// `directives { … }`
    Directives(Vec<Directive>),
    /// `set scope = { .cta, .gpu };`
    Set(NamedSet),
    /// `condition generic = !.ss;`
    Condition(NamedCondition),
    /// `modifiers { .ftz; }`
    Modifiers(Vec<Word>),
    Template(Template),
    Declarations(Vec<Declared>),
    /// `scalarize { cvt: .sat; }`
    Scalarize(Vec<Scalarized>),
    Instruction(Instruction),
}

/// The manual whose section numbers the entries cite.
#[derive(Clone, Debug)]
pub(crate) struct Manual {
    pub span: Span,
    pub version: Version,
    pub address: String,
    /// Number, title and place of each.
    pub chapters: Vec<(String, String, Span)>,
}

impl Item {
    /// Names that it declares, except opcodes and paths of Rust.
    pub(crate) fn names(&self) -> Vec<&Ident> {
        match self {
            Item::Types(types) => types.iter().map(|ty| &ty.name).collect(),
            Item::Class(class) => vec![&class.name],
            Item::Builtin(builtin) => vec![&builtin.signature.name],
            Item::Own(own) => vec![&own.name],
            Item::Effect(effect) => vec![&effect.name],
            Item::Function(function) => vec![&function.signature.name],
            Item::Operator(operator) => vec![&operator.name],
            Item::Words(words) => vec![&words.name],
            Item::Map(map) => vec![&map.name],
            Item::Fragment(fragment) => vec![&fragment.name],
            Item::Summation(summation) => vec![&summation.name],
            Item::Layout(layout) => vec![&layout.name],
            Item::Set(set) => vec![&set.name],
            Item::Condition(condition) => vec![&condition.name],
            Item::Template(template) => vec![&template.name],
            Item::Spaces(spaces) => spaces.iter().map(|space| &space.name).collect(),
            Item::Directives(directives) => directives.iter().map(|directive| &directive.name).collect(),
            Item::Use(_)
            | Item::Bodies { .. }
            | Item::Versions(_)
            | Item::Targets(_)
            | Item::Families(_)
            | Item::Lenient(_)
            | Item::Declarations(_)
            | Item::Scalarize(_)
            | Item::Manual(_)
            | Item::Special(_)
            | Item::Modifiers(_)
            | Item::Instruction(_) => Vec::new(),
        }
    }
}
