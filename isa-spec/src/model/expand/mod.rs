//! Expansion of the abbreviations in entries: templates, named sets, minimum versions of words, and vector lengths
//! derived from a modifier.
//!
//! ```text
//! use binary(x + y);      the blocks of `template binary($value)`, with `x + y` for `$value`
//! .scope                  the members of `set scope`, where the entry has no set of its own
//! wide                    the definition in `condition wide = …;`, unless the entry has an operand of this name
//! .num.x of .b32          1 of .b32 where .num == .x1, 2 of .b32 where .num == .x2, …
//! ```
//!
//! Later stages see fully expanded entries. This module depends on no types and no legality.

mod conditions;
mod count;
mod letters;
mod sets;
mod template;

use std::collections::{BTreeMap, HashMap, HashSet};

use proc_macro2::Span;

use crate::syntax::ast::{
    Builtin, Class, Expr, ExprKind, Function, Ident, Instruction, Item, NamedSet, Spec, Stmt, Template, TypeSet, Word,
};
use crate::text::{self, Errors};

/// Definitions that entries may refer to.
#[derive(Default)]
struct Named {
    templates: HashMap<String, Template>,
    sets: HashMap<String, NamedSet>,
    conditions: BTreeMap<String, Expr>,
    classes: HashMap<String, Vec<Ident>>,
    words: HashMap<String, Word>,
    /// Members of word lists and operators.
    members: HashMap<String, Vec<Ident>>,
    /// Templates whose tokens come from the fallback lexer and cannot be mixed with compiler tokens.
    apart: HashSet<String>,
}

/// Expands the entries of a spec.
pub(super) fn expand(spec: &mut Spec) -> Errors {
    shadow(spec);
    let mut errors = Errors::new();
    let mut named = named(spec, &mut errors);
    sets::flatten_all(&mut named, &mut errors);
    conditions::flatten_all(&mut named, &mut errors);
    let mut whole = |item: &mut Item, named: &Named| {
        let Item::Instruction(entry) = item else { return true };
        let before = errors.len();
        template::fill(entry, named, &mut errors);
        // Parts missing because a template is invalid are not reported.
        if errors.len() > before {
            return false;
        }
        conditions::fill(entry, named);
        sets::fill(entry, named, &mut errors);
        count::fill(entry, named, &mut errors);
        true
    };
    let Spec { library, items, beside, .. } = spec;
    match beside {
        true => text::beside(|| library.retain_mut(|(_, item)| whole(item, &named))),
        false => library.retain_mut(|(_, item)| whole(item, &named)),
    }
    if *beside {
        let templates = library.iter().filter(|(_, item)| matches!(item, Item::Template(_)));
        named.apart = templates.flat_map(|(_, item)| item.names()).map(ToString::to_string).collect();
    }
    items.retain_mut(|(_, item)| whole(item, &named));
    errors
}

/// Declarations of a spec shadow those of a library with the same name, within one namespace.
fn shadow(spec: &mut Spec) {
    let namespace = |item: &Item| {
        Some(match item {
            Item::Class(_) => "class",
            Item::Builtin(_) | Item::Function(_) => "function",
            Item::Operator(_) | Item::Words(_) => "operator",
            Item::Map(_) => "map",
            Item::Fragment(_) => "fragment",
            Item::Layout(_) => "layout",
            Item::Set(_) => "set",
            Item::Condition(_) => "condition",
            Item::Template(_) => "template",
            _ => return None,
        })
    };
    let names = |item: &Item| item.names().into_iter().map(ToString::to_string).collect::<Vec<_>>();
    let own = spec.items.iter().filter_map(|(_, item)| Some((namespace(item)?, names(item))));
    let own: HashSet<(&str, String)> =
        own.flat_map(|(space, names)| names.into_iter().map(move |name| (space, name))).collect();
    let hidden = spec.library.iter().filter_map(|(_, item)| match item {
        Item::Class(class) if own.contains(&("class", class.name.to_string())) => Some(class.clone()),
        _ => None,
    });
    let hidden: Vec<Class> = hidden.collect();
    spec.library.iter_mut().for_each(|(_, item)| keep_domain(item, &hidden));
    spec.library.retain(|(_, item)| {
        namespace(item).is_none_or(|space| !names(item).into_iter().any(|name| own.contains(&(space, name))))
    });
}

/// Replaces hidden classes in the domains of a library's declarations by their types.
fn keep_domain(item: &mut Item, hidden: &[Class]) {
    let domains: Vec<&mut Vec<TypeSet>> = match item {
        Item::Builtin(Builtin { signature, .. }) | Item::Function(Function { signature, .. }) => {
            signature.generic.iter_mut().chain(&mut signature.to).map(|(_, domain)| domain).collect()
        }
        Item::Operator(operator) => operator.members.iter_mut().map(|member| &mut member.domain).collect(),
        _ => return,
    };
    for domain in domains {
        let types = |set: TypeSet| match &set {
            TypeSet::Class(name) => match hidden.iter().find(|class| class.name == name.as_ref()) {
                Some(class) => class.types.iter().cloned().map(TypeSet::Type).collect(),
                None => vec![set],
            },
            TypeSet::Type(_) => vec![set],
        };
        *domain = std::mem::take(domain).into_iter().flat_map(types).collect();
    }
}

fn named(spec: &Spec, errors: &mut Errors) -> Named {
    let mut named = Named::default();
    let mut twice = |name: &Ident, what: &str| {
        errors.push(crate::text::Diagnostic::new(name.span(), format!("duplicate {what} `{name}`")));
    };
    for (_, item) in spec.library.iter().chain(&spec.items) {
        match item {
            Item::Template(template) => {
                let known = named.templates.insert(template.name.to_string(), template.clone());
                known.is_some().then(|| twice(&template.name, "template"));
            }
            Item::Set(set) => {
                let known = named.sets.insert(set.name.to_string(), set.clone());
                known.is_some().then(|| twice(&set.name, "set"));
            }
            Item::Condition(condition) => {
                let known = named.conditions.insert(condition.name.to_string(), condition.value.clone());
                known.is_some().then(|| twice(&condition.name, "condition"));
            }
            Item::Class(class) => drop(named.classes.insert(class.name.to_string(), class.types.clone())),
            Item::Modifiers(words) => {
                for word in words {
                    if named.words.insert(word.name.to_string(), word.clone()).is_some() {
                        twice(&word.name, "modifier");
                    }
                }
            }
            Item::Words(words) => {
                let members = words.members.iter().map(|(_, member)| member.clone()).collect();
                named.members.insert(words.name.to_string(), members);
            }
            Item::Operator(operator) => {
                let members = operator.members.iter().map(|member| member.name.clone()).collect();
                named.members.insert(operator.name.to_string(), members);
            }
            _ => {}
        }
    }
    named
}

/// Visits every condition and every expression of an entry.
fn expressions(entry: &mut Instruction, visit: &mut dyn FnMut(&mut Expr)) {
    fn statements(list: &mut [Stmt], visit: &mut dyn FnMut(&mut Expr)) {
        for statement in list {
            match statement {
                Stmt::Assign { value: expr, .. }
                | Stmt::Unspecified { condition: expr, .. }
                | Stmt::Effect { call: expr } => visit(expr),
                Stmt::If { condition, then, otherwise } => {
                    visit(condition);
                    statements(then, visit);
                    statements(otherwise, visit);
                }
            }
        }
    }
    let lines = entry.syntax.iter_mut().chain(&mut entry.lenient_syntax);
    lines.filter_map(|line| line.condition.as_mut()).for_each(&mut *visit);
    for rule in entry.narrowed.iter_mut().chain(&mut entry.legal) {
        visit(&mut rule.subject);
        visit(&mut rule.condition);
    }
    for operand in &mut entry.operands {
        operand.condition.iter_mut().for_each(&mut *visit);
        operand.cases.iter_mut().filter_map(|case| case.condition.as_mut()).for_each(&mut *visit);
        operand.state.iter_mut().filter_map(|state| state.condition.as_mut()).for_each(&mut *visit);
        for rule in &mut operand.substitutes {
            rule.condition.iter_mut().for_each(|condition| visit(std::rc::Rc::make_mut(condition)));
        }
    }
    let fragments = entry.fragments.iter_mut().chain(&mut entry.layouts).flat_map(|of| &mut of.cases);
    fragments.filter_map(|case| case.condition.as_mut()).for_each(&mut *visit);
    let floors = entry.lenient_floors.iter_mut().map(|floor| &mut floor.requirement);
    entry.requires.iter_mut().chain(floors).filter_map(|floor| floor.condition.as_mut()).for_each(&mut *visit);
    entry.lenient_forms.iter_mut().for_each(|forms| visit(&mut forms.condition));
    entry.bounds.iter_mut().filter_map(|bound| bound.condition.as_mut()).for_each(&mut *visit);
    if let Some(crate::syntax::ast::Semantics::Statements(list)) = &mut entry.semantics {
        statements(list, visit);
    }
}

/// Expression `.modifier == .word`, or `.word` for a flag.
fn is_word(modifier: &Ident, word: &Ident, span: Span) -> Expr {
    let dotted = |name: &Ident| Expr { span, kind: ExprKind::Dotted(Ident::new(name.to_string(), span)) };
    match modifier == word.as_ref() {
        true => dotted(word),
        false => {
            let equal = crate::syntax::ast::BinaryOp::Eq;
            Expr { span, kind: ExprKind::Binary(equal, Box::new(dotted(modifier)), Box::new(dotted(word))) }
        }
    }
}
