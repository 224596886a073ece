//! Name resolution: converts the syntax tree to the model; unresolved names are reported with the nearest match.
//!
//! `prelude` resolves declarations, `module` those about modules, `callable` what expressions call, `entry` an instruction, with its `sets` of
//! modifiers and its `operands`. Types of expressions and legality are the task of [`crate::check`], as are names inside semantics, which
//! depend on types.

mod callable;
mod entry;
mod module;
mod operands;
mod prelude;
mod sets;
mod sum;

use proc_macro2::Span;

use super::{Member, Model, Opcode, Selector, SlotKind};
use crate::syntax::ast::{self, Spec};
use crate::text::{Diagnostic, Errors};

/// Resolves a whole spec.
///
/// # Errors
///
/// Every unresolved, duplicate or misplaced name.
pub fn resolve(mut spec: Spec) -> Result<Model, Errors> {
    let errors = super::expand::expand(&mut spec);
    let mut resolver = Resolver { model: Model::default(), errors, since: Vec::new(), members: Vec::new() };
    let Spec { items, library, .. } = spec;
    if let Some(mistake) = nothing_to_stand_on(&items, &library) {
        return Err(mistake.into());
    }
    // Items may be in any order: types are resolved first, what refers to types next, entries last.
    let (mut types, mut classes, mut maps) = (Vec::new(), Vec::new(), Vec::new());
    let (mut signatures, mut operators, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    let (mut own_values, mut specials, mut summations) = (Vec::new(), Vec::new(), Vec::new());
    let (mut spaces, mut directives, mut declarations) = (Vec::new(), Vec::new(), Vec::new());
    let own = library.len();
    for (index, (_, item)) in library.into_iter().chain(items).enumerate() {
        let base = index < own;
        match item {
            // Libraries have joined the spec: see `crate::library`.
            ast::Item::Use(_) => {}
            ast::Item::Bodies { path, span } => resolver.bodies(path, span),
            ast::Item::Versions(list) => resolver.versions(list),
            ast::Item::Targets(groups) => resolver.targets(groups),
            ast::Item::Families(families) => resolver.families(families),
            ast::Item::Manual(manual) => resolver.manual(manual),
            ast::Item::Types(list) => types.extend(list.into_iter().map(|ty| (ty, base))),
            ast::Item::Class(class) => classes.push(class),
            ast::Item::Builtin(_) | ast::Item::Function(_) => signatures.push(item),
            ast::Item::Own(item) => own_values.push(item),
            ast::Item::Effect(effect) => resolver.effect(effect),
            ast::Item::Operator(operator) => operators.push((operator, base)),
            ast::Item::Words(words) => resolver.words(words, base),
            ast::Item::Map(map) => maps.push(map),
            ast::Item::Fragment(fragment) => resolver.fragment(fragment),
            ast::Item::Summation(summation) => summations.push(summation),
            ast::Item::Layout(layout) => resolver.layout(layout),
            ast::Item::Lenient(notes) => resolver.lenient(notes),
            ast::Item::Declarations(list) => declarations.extend(list),
            // Loops of the base table exist already.
            ast::Item::Scalarize(_) if base => {}
            ast::Item::Scalarize(list) => resolver.model.scalarized.extend(list),
            ast::Item::Spaces(list) => spaces.extend(list),
            ast::Item::Directives(list) => directives.extend(list),
            ast::Item::Special(list) => specials.extend(list.into_iter().filter(|_| !base)),
            // Already merged into entries: see `expand`.
            ast::Item::Set(set) => resolver.model.sets.push((set.name.to_string(), set.docs)),
            ast::Item::Modifiers(words) => resolver.modifiers(words),
            ast::Item::Template(_) | ast::Item::Condition(_) => {}
            ast::Item::Instruction(entry) => entries.push((entry, base)),
        }
    }
    resolver.known_versions();
    summations.into_iter().for_each(|summation| resolver.summation(summation));
    resolver.types(types);
    classes.into_iter().for_each(|class| resolver.class(class));
    maps.into_iter().for_each(|map| resolver.map(map));
    specials.into_iter().for_each(|special| resolver.special(special));
    resolver.directives(directives);
    resolver.spaces(spaces);
    declarations.into_iter().for_each(|declared| resolver.declared(declared));
    own_values.into_iter().for_each(|item| resolver.own(item));
    signatures.into_iter().for_each(|item| resolver.callable(item));
    operators.into_iter().for_each(|(operator, base)| resolver.operator(operator, base));
    entries.into_iter().for_each(|(entry, base)| resolver.entry(entry, base));
    resolver.describe_words();
    resolver.model.opcodes.sort_by(|a, b| a.name.cmp(&b.name));
    resolver.model.has_base = resolver.model.opcodes.iter().any(Opcode::is_base);
    resolver.errors.finish(resolver.model)
}

/// Detects a spec without versions, targets and types, whose other errors would be consequences of a missing prelude.
fn nothing_to_stand_on(items: &[(Span, ast::Item)], library: &[(Span, ast::Item)]) -> Option<Diagnostic> {
    let has = |wanted: fn(&ast::Item) -> bool| items.iter().chain(library).any(|(_, item)| wanted(item));
    let first = items.iter().find_map(|(_, item)| match item {
        ast::Item::Instruction(entry) => Some(entry.opcode.span()),
        _ => None,
    })?;
    let nothing = !has(|item| matches!(item, ast::Item::Versions(_) | ast::Item::Targets(_) | ast::Item::Types(_)));
    let message = "this spec declares no versions, no targets and no types";
    nothing.then(|| Diagnostic::new(first, message).help("did you forget `use prelude;`?"))
}

struct Resolver {
    model: Model,
    errors: Errors,
    /// Versions referred to by targets, and targets referred to by families.
    since: Vec<ast::Version>,
    members: Vec<ast::Target>,
}

/// Declaration of a name by the sets of an entry.
enum Declared {
    Listed { kind: SlotKind, members: Vec<Member> },
    Selector(Selector),
}

impl Resolver {
    fn error(&mut self, diagnostic: Diagnostic) {
        self.errors.push(diagnostic);
    }
}
