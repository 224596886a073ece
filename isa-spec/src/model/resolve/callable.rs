//! Resolution of what expressions call: builtins, functions, operators, words and type maps.

use proc_macro2::Span;

use super::Resolver;
use crate::model::{
    Builtin, BuiltinId, Callable, Function, Kind, Linear, Operator, OperatorMember, Own, Param, Pick, Signature, TypeId,
};
use crate::syntax::ast::{self, Ident, ParamType};
use crate::text::Diagnostic;

/// Range of the number of lanes that a selector picks, and picks from: each is a digit.
const PICKED: std::ops::RangeInclusive<u32> = 1..=8;
const PICKED_FROM: std::ops::RangeInclusive<u32> = 1..=10;

impl Resolver {
    /// A builtin or a function.
    pub(super) fn callable(&mut self, item: ast::Item) {
        match item {
            ast::Item::Builtin(builtin) => {
                if let Some(signature) = self.signature(&builtin.signature, "builtin") {
                    let linear = builtin.linear.as_ref().and_then(|kind| self.linear(kind));
                    let Signature { name, params, result, .. } = &signature;
                    let one_type = *result == Param::Generic && params.iter().all(|param| *param == Param::Generic);
                    let truth = ast::truth_table(name).filter(|(_, count)| one_type && params.len() == *count);
                    let truth = truth.map(|(table, _)| table);
                    self.add_callable(name, Callable::Builtin(BuiltinId(self.model.builtins.len())));
                    self.model.builtins.push(Builtin { signature, warp: builtin.warp, linear, truth });
                }
            }
            ast::Item::Function(function) => {
                if let Some(signature) = self.signature(&function.signature, "function") {
                    let names = function.signature.params.iter().map(|(name, _)| name.to_string()).collect();
                    let ast::Signature { generic, to, .. } = &function.signature;
                    let types = [generic, to].map(|ty| ty.as_ref().map(|(name, _)| name.to_string()));
                    let lets = function.lets.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
                    let span = function.signature.name.span();
                    self.add_callable(&signature.name, Callable::Function(self.model.functions.len()));
                    self.model.functions.push(Function { span, signature, names, types, lets, body: function.body });
                }
            }
            _ => unreachable!("the caller sorts items"),
        }
    }

    fn add_callable(&mut self, name: &str, callable: Callable) {
        self.model.callables.entry(name.to_owned()).or_default().push(callable);
    }

    fn linear(&mut self, kind: &Ident) -> Option<Linear> {
        let text = kind.to_string();
        let found = Linear::ALL.into_iter().find(|kind| kind.name() == text);
        if found.is_none() {
            self.error(
                Diagnostic::new(kind.span(), format!("no operation is called a linear `{text}`"))
                    .suggest(&text, Linear::ALL.iter().map(|kind| kind.name())),
            );
        }
        found
    }

    pub(super) fn own(&mut self, item: ast::Own) {
        let text = item.name.to_string();
        let ty = self.type_id(&item.ty);
        match (Own::ALL.iter().find(|own| own.name() == text), ty) {
            (Some(own), Some(ty)) => self.model.own.push((*own, ty, item.docs)),
            (None, _) => self.error(
                Diagnostic::new(item.name.span(), format!("a thread knows no `{text}` of its own"))
                    .suggest(&text, Own::ALL.iter().map(|own| own.name())),
            ),
            (Some(_), None) => {}
        }
    }

    pub(super) fn signature(&mut self, written: &ast::Signature, what: &str) -> Option<Signature> {
        let name_of = |ty: &Option<(Ident, Vec<ast::TypeSet>)>| ty.as_ref().map(|(name, _)| name.to_string());
        let (parameter, own) = (name_of(&written.generic), name_of(&written.to));
        let generic = written.generic.as_ref().map(|(_, set)| self.type_set(set).0);
        let to = written.to.as_ref().map(|(_, set)| self.type_set(set).0);
        let mut modes = Vec::new();
        let mut params = Vec::new();
        let mut of_warp = Vec::new();
        for (name, ty) in &written.params {
            let (ty, whole) = match ty {
                ParamType::Warp(inner) => (&**inner, true),
                ty => (ty, false),
            };
            match ty {
                ParamType::Generic(words) if self.model.operator_named(words.as_ref()).is_some() => {
                    modes.extend(self.model.operator_named(words.as_ref()));
                }
                ty => {
                    params.extend(self.param(ty, name.span(), parameter.as_deref(), what));
                    of_warp.push(whole);
                    if whole && what != "builtin" {
                        let message = "a function's values are those of one thread";
                        self.error(Diagnostic::new(name.span(), message).help("builtins ask other threads"));
                    }
                    if !modes.is_empty() {
                        let message = "value parameters must precede word parameters";
                        self.error(Diagnostic::new(name.span(), message));
                    }
                }
            }
        }
        if what == "builtin" {
            let whole = written.params.iter().map(|(_, ty)| ty).chain([&written.result]);
            whole.for_each(|ty| self.whole_lanes(ty, generic.as_deref().unwrap_or_default()));
        }
        let result = match &written.result {
            ParamType::Generic(name) if own.as_deref() == Some(name.as_ref()) => Param::To,
            result => self.param(result, written.name.span(), parameter.as_deref(), what)?,
        };
        if to.is_some() && result != Param::To {
            self.error(Diagnostic::new(written.name.span(), "the second type parameter is the result's, and is not"));
        }
        let resolved = params.len() + modes.len() == written.params.len();
        if generic.is_some()
            && resolved
            && !params.iter().any(|param| matches!(param, Param::Generic | Param::GenericLanes))
        {
            self.error(Diagnostic::new(written.name.span(), "no parameter determines the type parameter"));
        }
        let name = written.name.to_string();
        let builtins = self.model.builtins.iter().map(|builtin| &builtin.signature);
        let functions = self.model.functions.iter().map(|function| &function.signature);
        let overlaps = |other: &Signature| {
            let generics = other.generic.as_ref().zip(generic.as_ref());
            other.name == name
                && other.params.len() == params.len()
                && generics.is_none_or(|(a, b)| a.iter().any(|ty| b.contains(ty)))
                && other.to.as_ref().zip(to.as_ref()).is_none_or(|(a, b)| a.iter().any(|ty| b.contains(ty)))
        };
        if builtins.chain(functions).any(overlaps) {
            self.error(
                Diagnostic::new(written.name.span(), format!("duplicate {what} `{name}` for the same type"))
                    .help("builtins and functions of one name range over different types"),
            );
        }
        for (index, (param, _)) in written.params.iter().enumerate() {
            if written.params[..index].iter().any(|(other, _)| other == param) {
                self.error(Diagnostic::new(param.span(), format!("duplicate parameter `{param}`")));
            }
        }
        let names: Vec<String> = written.params.iter().map(|(name, _)| name.to_string()).collect();
        let text = format!("{name}({})", names.join(", "));
        Some(Signature { name, docs: written.docs.clone(), text, generic, to, params, of_warp, modes, result })
    }

    /// Bodies take and return packed values as arrays of lanes, which must be whole bytes.
    fn whole_lanes(&mut self, ty: &ParamType, generic: &[TypeId]) {
        let (span, lanes) = match ty {
            ParamType::Warp(inner) => return self.whole_lanes(inner, generic),
            ParamType::Type(name) => {
                let found = self.model.type_named(name.as_ref()).map(|id| self.model.ty(id)).filter(|ty| ty.lanes > 1);
                (name.span(), found.map(|ty| ty.lane).into_iter().collect())
            }
            ParamType::Lanes(name) => (name.span(), generic.to_vec()),
            ParamType::Generic(_) | ParamType::Pick { .. } | ParamType::Listed { .. } => return,
        };
        let part = |lane: &&TypeId| {
            let ty = self.model.ty(**lane);
            ty.kind != Kind::Predicate && ty.lane_bits() < 8
        };
        if let Some(lane) = lanes.iter().find(part) {
            let name = &self.model.ty(*lane).name;
            let message = format!(
                "a builtin takes and returns lanes of `.{name}`, {} bits, one by one",
                self.model.ty(*lane).bits
            );
            self.error(
                Diagnostic::new(span, message)
                    .help(format!("write `.{name}`: calls work on each lane of packed values")),
            );
        }
    }

    pub(super) fn param(
        &mut self,
        ty: &ParamType,
        written: Span,
        parameter: Option<&str>,
        what: &str,
    ) -> Option<Param> {
        match ty {
            ParamType::Type(name) => self.type_id(name).map(Param::Type),
            ParamType::Generic(name) | ParamType::Lanes(name) if parameter != Some(name.as_ref()) => {
                self.error(
                    Diagnostic::new(name.span(), format!("unknown type parameter `{name}` of this {what}"))
                        .help("types are written with a dot, like `.u32`"),
                );
                None
            }
            ParamType::Warp(inner) => {
                self.param(inner, written, parameter, what);
                self.error(Diagnostic::new(written, "a result is the value of one thread"));
                None
            }
            ParamType::Generic(_) => Some(Param::Generic),
            ParamType::Lanes(_) => Some(Param::GenericLanes),
            ParamType::Pick { span, lanes, of } => self.pick(*span, lanes.value, of.value).map(Param::Pick),
            ParamType::Listed { span, words } => {
                let words = words.iter().map(Ident::to_string).collect();
                self.pick_of_words(*span, words).map(Param::Pick)
            }
        }
    }

    /// Lanes picked by digits.
    pub(super) fn pick(&mut self, span: Span, lanes: u32, of: u32) -> Option<Pick> {
        if !PICKED.contains(&lanes) || !PICKED_FROM.contains(&of) {
            self.error(Diagnostic::new(span, "a selector picks 1 to 8 lanes of at most 10"));
            return None;
        }
        Some(Pick { lanes: lanes as u8, of: of as u8, words: None })
    }

    /// Lanes picked by one of several words, or by none of them.
    pub(super) fn pick_of_words(&mut self, span: Span, words: Vec<String>) -> Option<Pick> {
        // The additional index means that no word is written.
        let of = words.len() as u32 + 1;
        if !PICKED_FROM.contains(&of) {
            self.error(Diagnostic::new(span, "a selector is one of at most 9 words"));
            return None;
        }
        let list = self.model.words.iter().position(|other| *other == words).unwrap_or_else(|| {
            self.model.words.push(words);
            self.model.words.len() - 1
        });
        Some(Pick { lanes: 1, of: of as u8, words: Some(list) })
    }

    /// Words are resolved before what refers to them.
    pub(super) fn words(&mut self, words: ast::Words, base: bool) {
        let ast::Words { docs, name, of_opcode, members } = words;
        let text = name.to_string();
        if self.model.operator_named(&text).is_some() {
            self.error(Diagnostic::new(name.span(), format!("duplicate list of words `{name}`")));
        }
        let mut list: Vec<OperatorMember> = Vec::new();
        for (docs, member) in members {
            let name = member.to_string();
            if list.iter().any(|other| other.name == name) {
                self.error(Diagnostic::new(member.span(), format!("duplicate `{name}` in this list")));
            }
            list.push(OperatorMember { name, docs, body: None, domain: Vec::new(), domain_text: String::new() });
        }
        let span = name.span();
        let (params, absent) = (Vec::new(), None);
        self.model.operators.push(Operator { name: text, span, base, docs, params, members: list, of_opcode, absent });
    }

    pub(super) fn map(&mut self, map: ast::Map) {
        let name = map.name.to_string();
        if self.model.maps.iter().any(|(other, _)| *other == name) {
            self.error(Diagnostic::new(map.name.span(), format!("duplicate map `{name}`")));
        }
        let pair = |(from, to): &(Ident, Ident)| Some((self.type_id(from)?, self.type_id(to)?));
        let pairs = map.pairs.iter().filter_map(pair).collect();
        self.model.maps.push((name, pairs));
    }

    pub(super) fn operator(&mut self, operator: ast::Operator, base: bool) {
        let name = operator.name.to_string();
        if self.model.operator_named(&name).is_some() {
            self.error(Diagnostic::new(operator.name.span(), format!("duplicate operator `{name}`")));
        }
        if operator.params.is_empty() {
            self.error(
                Diagnostic::new(operator.name.span(), format!("the operator `{name}` has no operands"))
                    .help(format!("write `operator {name}(a, b)`")),
            );
        }
        for (index, param) in operator.params.iter().enumerate() {
            if operator.params[..index].contains(param) {
                self.error(Diagnostic::new(param.span(), format!("duplicate operand `{param}`")));
            }
        }
        let mut resolved = Operator {
            name,
            span: operator.name.span(),
            base,
            docs: operator.docs,
            params: operator.params.iter().map(Ident::to_string).collect(),
            members: Vec::new(),
            of_opcode: false,
            absent: None,
        };
        for member in operator.members {
            let name = member.name.to_string();
            if name == "absent" {
                if resolved.absent.replace(member.body).is_some() {
                    self.error(Diagnostic::new(member.name.span(), "duplicate `absent` in this operator"));
                }
                continue;
            }
            if resolved.members.iter().any(|other| other.name == name) {
                self.error(Diagnostic::new(member.name.span(), format!("duplicate `{name}` in this operator")));
            }
            if member.domain.is_empty() {
                self.error(
                    Diagnostic::new(member.name.span(), format!("missing types of `{name}`"))
                        .help("write `for` and classes or types after its definition"),
                );
            }
            let (domain, domain_text) = self.type_set(&member.domain);
            let body = Some(member.body);
            resolved.members.push(OperatorMember { name, docs: member.docs, body, domain, domain_text });
        }
        self.model.operators.push(resolved);
    }
}
