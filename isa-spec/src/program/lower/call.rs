//! Lowering of calls: overload resolution, operators that modifiers choose, and inlining of functions.

use std::collections::HashMap;

use proc_macro2::Span;

use super::{DomainError, Local, LowerError, Lowering, Result, Typed, is_number};
use crate::model::{Callable, Kind, Meaning, OperatorId, Param, Signature, SlotKind, TypeId};
use crate::program::{Callee, Op, Ty};
use crate::syntax::ast::{Expr, ExprKind, Ident};
use crate::text::Diagnostic;

/// A word as an argument.
#[derive(Clone, Debug)]
pub(super) enum Word {
    Chosen(OperatorId, usize),
    /// A literal word such as `.rz`, which the callee resolves.
    Spelt(Ident),
}

/// Arguments of a call other than values.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    /// Requested result type.
    pub(super) to: Option<TypeId>,
    pub(super) words: Vec<Word>,
}

/// Instantiation of a signature for given arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    /// Value of the type parameter.
    ty: Option<TypeId>,
    /// Lane type of the corresponding argument, which may be an integer where bits are declared.
    lane: Option<TypeId>,
    result: Ty,
}

/// Maximum call depth of functions.
pub(super) const DEEPEST_CALL: usize = 16;

impl<'a> Lowering<'a> {
    /// Word that an argument denotes, if any: a modifier, a dotted word, or a function's own parameter.
    pub(super) fn word(&self, expr: &Expr) -> Result<Option<Word>> {
        match &expr.kind {
            ExprKind::Name(name) => match self.locals.get(&name.to_string()) {
                Some(Local::Word(words, member)) => Ok(Some(Word::Chosen(*words, *member))),
                _ => Ok(None),
            },
            ExprKind::Choose(condition, a, b) => match self.decide(condition)? {
                Some(true) => self.word(a),
                Some(false) => self.word(b),
                None => Ok(None),
            },
            ExprKind::Dotted(name) => {
                let Some(slot) = self.scope.slot(name.as_ref()) else {
                    return Ok(Some(Word::Spelt(name.clone())));
                };
                let found = &self.scope.opcode.slots[slot];
                match (found.kind, self.scope.choice.values[slot].map(|member| found.members[member].meaning)) {
                    (SlotKind::Operator(words), Some(Meaning::Operator(member))) => {
                        Ok(Some(Word::Chosen(words, member)))
                    }
                    (SlotKind::Operator(_), _) => {
                        Err(Diagnostic::new(expr.span, format!("a syntax line leaves `.{name}` out"))
                            .help("give a default: `.rnd ? .rnd : .rn`")
                            .into())
                    }
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// Values of a call. A literal has the type of its parameter, or of the first argument that is not a literal.
    pub(super) fn arguments(&mut self, name: &str, args: &[&Expr]) -> Result<Vec<Typed>> {
        let found = self.callables(name).find(|(_, signature)| signature.params.len() == args.len());
        let params = found.map(|(_, signature)| signature.params.clone()).unwrap_or_default();
        let mut values: Vec<Option<Typed>> = vec![None; args.len()];
        for (value, arg) in values.iter_mut().zip(args).filter(|(_, arg)| !is_number(arg)) {
            *value = Some(self.expr(arg, None)?);
        }
        let given: Vec<Option<Ty>> = values.iter().map(|value| value.map(|value| self.ty(value))).collect();
        let of_generic = |index: usize| matches!(params.get(index), Some(Param::Generic | Param::GenericLanes) | None);
        let usual = (0..args.len()).find_map(|index| given[index].filter(|_| of_generic(index)));
        for (index, arg) in args.iter().enumerate() {
            if values[index].is_none() {
                let expected = match params.get(index) {
                    Some(Param::Type(ty)) => Some(self.ty_of(*ty)),
                    _ => usual,
                };
                values[index] = Some(self.expr(arg, expected)?);
            }
        }
        Ok(values.into_iter().map(|value| value.expect("each has one")).collect())
    }

    /// Application of the operator that a slot chose.
    pub(super) fn operator(&mut self, name: &str, span: Span, args: &[&Expr]) -> Result<Typed> {
        let scope = self.scope;
        let Some((slot, found)) = scope.operator_slot(name) else {
            let slots = scope.opcode.slots.iter().filter(|slot| matches!(slot.kind, SlotKind::Operator(_)));
            let names = slots.map(|slot| slot.name.as_str());
            return Err(Diagnostic::new(span, format!("no syntax line has an operator `{name}`"))
                .suggest(name, names)
                .into());
        };
        let SlotKind::Operator(id) = found.kind else { unreachable!("an operator's slot") };
        let operator = &self.model().operators[id.0];
        if operator.params.len() != args.len() {
            return Err(Diagnostic::new(
                span,
                format!("`{}` takes {} operands, but {} were given", operator.name, operator.params.len(), args.len()),
            )
            .into());
        }
        let chosen = scope.choice.values[slot];
        let (body, member) = match chosen {
            Some(member) => {
                let Meaning::Operator(index) = found.members[member].meaning else {
                    unreachable!("a member of an operator's slot")
                };
                let body = operator.members[index].body.as_ref().expect("no list of words");
                (body, Some((member, &operator.members[index])))
            }
            None => match &operator.absent {
                Some(body) => (body, None),
                None => {
                    return Err(Diagnostic::new(span, format!("this syntax line has no `{name}`"))
                        .help(format!("give `{}` a member `absent`", operator.name))
                        .into());
                }
            },
        };
        let mut bound = HashMap::new();
        for (param, arg) in operator.params.iter().zip(args) {
            // The definition for an absent modifier may omit an operand that the line lacks.
            if member.is_some() || body.mentions(param) {
                bound.insert(param.clone(), Local::Value(self.expr(arg, None)?));
            }
        }
        if let Some((member, operator)) = member
            && let Some(Local::Value(first)) = bound.get(&self.model().operators[id.0].params[0])
            && let Ty::Lanes { lane, .. } = self.ty(*first)
            && !operator.domain.contains(&lane)
        {
            return Err(LowerError::Domain(DomainError { slot, member, type_slot: first.slot }));
        }
        let outer = std::mem::replace(&mut self.locals, bound);
        let value = self.expr(body, None);
        self.locals = outer;
        // The error is reported at the application of the operator.
        value.map_err(|error| match error {
            LowerError::Spec(diagnostic) => {
                LowerError::Spec(Box::new(diagnostic.blame(span, "in the meaning of the operator")))
            }
            error => error,
        })
    }

    /// Every builtin and function of a name.
    pub(super) fn callables(&self, name: &str) -> impl Iterator<Item = (Callable, &'a Signature)> + use<'a> {
        let model = self.model();
        let found = model.callables.get(name).map(Vec::as_slice).unwrap_or_default();
        found.iter().map(|callable| match *callable {
            Callable::Builtin(id) => (*callable, &model.builtins[id.0].signature),
            Callable::Function(index) => (*callable, &model.functions[index].signature),
        })
    }

    /// Checks that a builtin or function of this name exists.
    pub(super) fn callable(&self, name: &str, span: Span) -> Result<()> {
        if self.callables(name).next().is_some() {
            return Ok(());
        }
        let model = self.model();
        let slots = self.scope.opcode.slots.iter().filter(|slot| matches!(slot.kind, SlotKind::Operator(_)));
        let names = model.builtins.iter().map(|builtin| builtin.signature.name.as_str());
        let names = names.chain(model.functions.iter().map(|function| function.signature.name.as_str()));
        let names = names.chain(slots.map(|slot| slot.name.as_str()));
        Err(Diagnostic::new(span, format!("unknown builtin `{name}`")).suggest(name, names).into())
    }

    /// Types that the callables of a name with this many values accept.
    pub(super) fn domain(&self, name: &str, values: usize) -> Option<String> {
        let signatures = self.callables(name).filter(|(_, signature)| signature.params.len() == values);
        let mut names: Vec<String> = Vec::new();
        for ty in signatures.flat_map(|(_, signature)| signature.generic.iter().flatten()) {
            let name = format!("`.{}`", self.model().ty(*ty).name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        (!names.is_empty()).then(|| names.join(", "))
    }

    pub(super) fn call(&mut self, name: &str, span: Span, args: &[Typed], beside: &Given) -> Result<Typed> {
        self.callable(name, span)?;
        let mut counts: Vec<usize> = self.callables(name).map(|(_, signature)| signature.params.len()).collect();
        counts.sort_unstable();
        counts.dedup();
        if !counts.contains(&args.len()) {
            let plural = if counts == [1] { "" } else { "s" };
            let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
            let (counts, given) = (counts.join(" or "), args.len());
            let message = format!("the builtin `{name}` takes {counts} value{plural}, but {given} were given");
            return Err(Diagnostic::new(span, message).into());
        }
        let args = &self.broadcast(args)[..];
        let tys: Vec<Ty> = args.iter().map(|arg| self.ty(*arg)).collect();
        let fits = self
            .callables(name)
            .filter(|(_, signature)| signature.modes.len() == beside.words.len())
            .filter_map(|(callable, signature)| {
                self.matches(signature, &tys, beside.to).map(|found| (callable, signature, found))
            })
            // A match of the type itself takes precedence over a match of its bits.
            .min_by_key(|(_, _, found)| found.ty != found.lane);
        let Some((callable, signature, Match { ty, lane, result })) = fits else {
            let given: Vec<String> = tys.iter().map(|ty| self.describe(*ty)).collect();
            let to = beside.to.map_or_else(String::new, |to| format!(" to `.{}`", self.model().ty(to).name));
            let mut counts: Vec<usize> = self.callables(name).map(|(_, signature)| signature.modes.len()).collect();
            counts.dedup();
            let message = format!("the builtin `{name}` does not work on {}{to}", given.join(" and "));
            let diagnostic = Diagnostic::new(span, message);
            return Err(match counts.contains(&beside.words.len()) {
                true if self.callables(name).any(|(_, signature)| signature.to.is_some()) && beside.to.is_none() => {
                    diagnostic.help(format!("name the result type: `{name}.type(…)`"))
                }
                true => match self.domain(name, args.len()) {
                    Some(domain) => diagnostic.help(format!("it works on {domain}")),
                    None => diagnostic,
                },
                false => {
                    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
                    diagnostic.help(format!("its values are followed by {} words", counts.join(" or ")))
                }
            }
            .into());
        };
        let mut modes = Vec::new();
        for (words, given) in signature.modes.iter().zip(&beside.words) {
            modes.push(match given {
                Word::Chosen(own, member) if own == words => (*words, *member),
                Word::Chosen(own, _) => {
                    let name = |words: OperatorId| &self.model().operators[words.0].name;
                    let message = format!("this is a `{}`, and `{}` is asked for", name(*own), name(*words));
                    return Err(Diagnostic::new(span, message).into());
                }
                Word::Spelt(word) => (*words, self.member(*words, word)?),
            });
        }
        let to = beside.to.map(|to| self.model().ty(to).lane);
        let slot = args.first().and_then(|arg| arg.slot).filter(|_| signature.result == Param::Generic);
        match callable {
            Callable::Builtin(builtin) => {
                let callee = Callee { builtin, ty, to, modes };
                let op = Op::Call { callee, args: args.iter().map(|arg| arg.id).collect() };
                Ok(self.push(op, result, slot))
            }
            Callable::Function(index) => {
                let value = self.function(index, span, args, [lane, to], &modes, result)?;
                Ok(Typed { id: value.id, slot })
            }
        }
    }

    /// Lowers a function's body with values for its parameters.
    pub(super) fn function(
        &mut self,
        index: usize,
        span: Span,
        args: &[Typed],
        types: [Option<TypeId>; 2],
        modes: &[(OperatorId, usize)],
        result: Ty,
    ) -> Result<Typed> {
        if self.calls >= DEEPEST_CALL {
            return Err(Diagnostic::new(span, "functions call each other without an end").into());
        }
        let function = &self.model().functions[index];
        let values = args.iter().map(|arg| Local::Value(*arg));
        let words = modes.iter().map(|(words, member)| Local::Word(*words, *member));
        let bound = function.names.iter().cloned().zip(values.chain(words)).collect();
        let types = function.types.iter().cloned().zip(types).filter_map(|(name, ty)| Some((name?, ty?))).collect();
        let outer = std::mem::replace(&mut self.locals, bound);
        let outer_types = std::mem::replace(&mut self.types, types);
        self.calls += 1;
        let value = self.named_values(&function.lets).and_then(|()| self.expr(&function.body, Some(result)));
        self.calls -= 1;
        self.locals = outer;
        self.types = outer_types;
        let label = "in the body of the function";
        let value = value.map_err(|error| match error {
            LowerError::Spec(diagnostic) => LowerError::Spec(Box::new(diagnostic.blame(span, label))),
            error => error,
        })?;
        let found = self.ty(value);
        if found != result {
            let message = format!(
                "the function `{}` gives {}, and its body is {}",
                function.signature.name,
                self.describe(result),
                self.describe(found)
            );
            return Err(Diagnostic::new(function.body.span, message).into());
        }
        Ok(value)
    }

    /// Lowers the named values of a function's body.
    pub(super) fn named_values(&mut self, lets: &[(String, Expr)]) -> Result<()> {
        for (name, value) in lets {
            let local = match (self.decide(value)?, self.word(value)?) {
                (Some(known), _) => Local::Known(known),
                (None, Some(Word::Chosen(words, member))) => Local::Word(words, member),
                (None, _) => Local::Value(self.expr(value, None)?),
            };
            self.locals.insert(name.clone(), local);
        }
        Ok(())
    }

    /// Broadcasts a single predicate next to predicates of several lanes.
    pub(super) fn broadcast(&mut self, args: &[Typed]) -> Vec<Typed> {
        let predicate = |ty: Ty| match ty {
            Ty::Lanes { lane, lanes } if self.model().ty(lane).kind == Kind::Predicate => Some(lanes),
            Ty::Lanes { .. } | Ty::Pick(_) => None,
        };
        let lanes: Option<Vec<u32>> = args.iter().map(|arg| predicate(self.ty(*arg))).collect();
        let Some(most) = lanes.as_ref().and_then(|lanes| lanes.iter().copied().max()).filter(|most| *most > 1) else {
            return args.to_vec();
        };
        let spread = |arg: &Typed| match self.ty(*arg) {
            Ty::Lanes { lane, lanes: 1 } => self.push(Op::Spread(arg.id), Ty::Lanes { lane, lanes: most }, arg.slot),
            Ty::Lanes { .. } | Ty::Pick(_) => *arg,
        };
        args.iter().map(spread).collect()
    }

    /// Instantiates a signature for arguments, if it accepts them.
    ///
    /// A declaration for bits also accepts integers of that width, unless there is one for the integers.
    pub(super) fn matches(&self, signature: &Signature, args: &[Ty], to: Option<TypeId>) -> Option<Match> {
        let Signature { params, generic, result, .. } = signature;
        if params.len() != args.len() || signature.to.is_some() != to.is_some() {
            return None;
        }
        let to = to.map(|to| self.model().ty(to).lane);
        if let (Some(to), Some(range)) = (to, &signature.to) {
            range.contains(&to).then_some(())?;
        }
        let taken = |lane: TypeId| {
            let generic = generic.as_ref()?;
            generic
                .contains(&lane)
                .then_some(lane)
                .or_else(|| generic.iter().copied().find(|ty| self.is_bits_of(*ty, lane)))
        };
        let mut ty = None;
        let mut given = None;
        let mut each_lane = 1;
        for (param, arg) in params.iter().zip(args) {
            match (*param, *arg) {
                (Param::Type(id), arg) => (self.ty_of(id) == arg).then_some(())?,
                (Param::Generic, Ty::Lanes { lane, lanes }) => {
                    given.is_none_or(|given| given == (lane, lanes)).then_some(())?;
                    given = Some((lane, lanes));
                    ty = Some(taken(lane)?);
                    each_lane = lanes;
                }
                (Param::GenericLanes, Ty::Lanes { lane, lanes }) => {
                    given = Some((lane, lanes));
                    ty = Some(taken(lane)?);
                }
                (Param::Pick(pick), Ty::Pick(found)) => (pick == found).then_some(())?,
                (Param::Generic | Param::GenericLanes | Param::To, _) | (Param::Pick(_), Ty::Lanes { .. }) => {
                    return None;
                }
            }
        }
        let result = match *result {
            Param::Type(id) => match self.ty_of(id) {
                Ty::Lanes { lane, lanes: 1 } => Ty::Lanes { lane, lanes: each_lane },
                whole => whole,
            },
            Param::Generic => Ty::Lanes { lane: given?.0, lanes: each_lane },
            Param::GenericLanes => Ty::Lanes { lane: given?.0, lanes: given?.1 },
            Param::To => Ty::Lanes { lane: to?, lanes: each_lane },
            Param::Pick(pick) => Ty::Pick(pick),
        };
        Some(Match { ty, lane: given.map(|(lane, _)| lane), result })
    }

    /// Returns true if a type is the untyped bits of an integer type.
    pub(super) fn is_bits_of(&self, bits: TypeId, integer: TypeId) -> bool {
        let (bits, integer) = (self.model().ty(bits), self.model().ty(integer));
        bits.kind == Kind::Bits && matches!(integer.kind, Kind::Unsigned | Kind::Signed) && bits.bits == integer.bits
    }
}
