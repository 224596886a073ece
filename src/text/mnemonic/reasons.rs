//! Why a mnemonic means no form, and what may be meant.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::near::{MEANT, Wanted};
use super::{Fit, Members, NEAREST, Refusal, Speller, Token, list};
use crate::diagnostic::{Code, Diagnostic, Fix};
use crate::table::{ABSENT, Forbidden, Free, Item, Kind, Syntax};
use crate::text::alike::{closest_all, either};

impl Speller {
    fn best(&self, tokens: &[Token<'_>], members: Members) -> Option<Fit> {
        let fits = self.instruction.syntaxes().iter().map(|syntax| self.fit(syntax, tokens, members));
        // If two lines fit equally well, prefer the line that accepts the types.
        let types = |fit: &Fit| fit.left.iter().filter(|&&(index, _)| self.is_type(tokens[index].text)).count();
        // A modifier that another line takes is not a misspelt one.
        let known = |text: &str| self.instruction.data().slots.iter().any(|slot| slot.members.contains(&text));
        let strays =
            |fit: &Fit| fit.left.iter().filter(|(index, by)| by.is_none() && known(tokens[*index].text)).count();
        fits.min_by_key(|fit| (fit.problems(), types(fit), strays(fit), fit.missing.len()))
    }

    /// Why the tokens mean no form.
    pub(super) fn refusal(&self, tokens: &[Token<'_>]) -> Refusal {
        let everything = self.opcode.start..tokens.last().map_or(self.opcode.end, |token| token.span.end);
        let Some(loose) = self.best(tokens, Members::Slot) else {
            let message = format!("`{}` has no syntax in the table", self.instruction.opcode);
            return Refusal::of(Diagnostic::error(Code::Syntax, everything, message));
        };
        let mut wanted = Wanted { values: loose.values.clone(), also: Vec::new() };
        let mut suspects = Vec::new();
        let mut reasons = self.misplaced(&loose, tokens, &mut wanted);
        suspects.extend(loose.missing.iter().map(|item| usize::from(item.slot)));
        suspects.extend(loose.left.iter().filter_map(|(_, by)| by.map(|item| usize::from(item.slot))));
        if reasons.is_empty() {
            reasons = self.broken_rules(&loose, tokens, &mut suspects);
        }
        if reasons.is_empty()
            && let Some(fit) = self.best(tokens, Members::Line)
        {
            reasons = self.misplaced(&fit, tokens, &mut wanted);
            suspects.extend(fit.missing.iter().map(|item| usize::from(item.slot)));
        }
        if reasons.is_empty() {
            // Something may be left out that is needed with these.
            suspects.extend((0..wanted.values.len()).filter(|slot| wanted.values[*slot] == ABSENT));
            let message = "no syntax line has these modifiers together";
            reasons.push(Diagnostic::error(Code::IllegalModifier, everything.clone(), message));
        }
        let near = self.nearest(&wanted, &suspects, |_| true);
        // Keep the free modifiers if the form accepts them.
        let free = Free::of(self.instruction, &wanted.values);
        let mut meant: Vec<(usize, String)> = Vec::new();
        for (cost, form) in &near {
            for (more, mnemonic) in self.spellings(*form, &free) {
                if self.takes(&mnemonic) && meant.iter().all(|(_, known)| *known != mnemonic) {
                    meant.push((cost + more, mnemonic));
                }
            }
        }
        meant.sort_by_key(|(cost, _)| *cost);
        meant.truncate(MEANT);
        let least = meant.first().map(|(cost, _)| *cost);
        let mut tied = meant.iter().filter(|(cost, _)| Some(*cost) == least).count();
        // A misspelling is likelier than another modifier.
        if let Some((form, free)) = self.respelt(&loose, tokens) {
            let mnemonic = form.mnemonic_with(&free);
            let place = meant.iter().position(|(_, known)| *known == mnemonic);
            if place.is_none_or(|place| place >= tied) {
                tied = 1;
            }
            if let Some(place) = place {
                meant.remove(place);
            }
            meant.insert(0, (0, mnemonic));
        }
        let fixes = meant.into_iter().map(|(_, mnemonic)| Fix::new(everything.clone(), mnemonic)).collect();
        let nearest = near.into_iter().take(NEAREST).map(|(_, form)| form).collect();
        Refusal { reasons, nearest, fixes, tied, read: Some((self.instruction, wanted.values)) }
    }

    /// Tokens without a place and places without a token. A misspelt token's likely meaning goes into `wanted`.
    fn misplaced(&self, fit: &Fit, tokens: &[Token<'_>], wanted: &mut Wanted) -> Vec<Diagnostic> {
        let mut missing = fit.missing.clone();
        let mut reasons = Vec::new();
        for &(index, by) in &fit.left {
            let token = &tokens[index];
            reasons.push(match by {
                Some(item) if self.is_known(token.text) => {
                    let slot = usize::from(item.slot);
                    let names = || self.names(self.slot(item), self.all_members(item));
                    let mut near = self.alike(token.text, names());
                    if near.is_empty() {
                        near = closest_all(token.text, names());
                    }
                    if wanted.values[slot] == ABSENT {
                        wanted.set(slot, self.slot(item), &near);
                    }
                    self.refused(fit.syntax, item, token)
                }
                _ => self.homeless(fit, token, (&tokens[..index], tokens), &mut missing, wanted),
            });
        }
        for item in missing {
            let slot = self.slot(item);
            let opcode = self.instruction.opcode;
            let members = if tokens.is_empty() { self.all_members(item) } else { item.members };
            let names: Vec<&str> = self.names(slot, members).collect();
            let end = tokens.last().map_or(self.opcode.end, |token| token.span.end);
            let error = |message| Diagnostic::error(Code::MissingModifier, self.opcode.start..end, message);
            reasons.push(match *names {
                [only] => error(format!("`{opcode}` requires `.{only}`")).with_help(format!("write `.{only}`")),
                _ => error(format!("`{opcode}` requires a modifier such as {}", list(names.iter().copied(), "."))),
            });
        }
        reasons
    }

    /// The members that some syntax line takes in the slot of an item.
    fn all_members(&self, item: &Item) -> u64 {
        let lines = self.instruction.syntaxes().iter().flat_map(|syntax| syntax.items);
        lines.filter(|other| other.slot == item.slot).fold(item.members, |members, other| members | other.members)
    }

    /// Returns the instruction's modifiers that are closest to a token, several if they are equally close; those of the syntax
    /// line are tried first.
    pub(super) fn near(&self, fit: &Fit, token: &Token<'_>) -> Vec<&'static str> {
        let line = || fit.syntax.items.iter().flat_map(|item| self.names(self.slot(item), item.members));
        let all = || self.instruction.data().slots.iter().flat_map(|slot| slot.members.iter().copied());
        let same = || line().chain(all()).find(|name| name.eq_ignore_ascii_case(token.text));
        let own = |name: &'static str| line().chain(all()).find(|own| *own == name);
        if let Some(same) = same().or_else(|| self.foreign(token.text).and_then(|ty| own(ty.name))) {
            return [same].into();
        }
        let alike = [self.alike(token.text, line()), self.alike(token.text, all())];
        if let Some(alike) = alike.into_iter().find(|alike| !alike.is_empty()) {
            return alike;
        }
        let (of_line, of_all) = (closest_all(token.text, line()), closest_all(token.text, line().chain(all())));
        // Those of other lines count as well if they are as close.
        if of_line.first().is_none_or(|near| of_all.contains(near)) { of_all } else { of_line }
    }

    /// A modifier that the instruction has, in a place where this line does not take it.
    fn refused(&self, syntax: &Syntax, item: &Item, token: &Token<'_>) -> Diagnostic {
        let (slot, all) = (self.slot(item), self.all_members(item));
        // If another syntax line accepts the modifier, the members of this line matter.
        let elsewhere = self.names(slot, all).any(|name| name == token.text);
        let all = if elsewhere { item.members } else { all };
        let of = if all == item.members { syntax.text } else { self.instruction.opcode };
        let message = format!("`.{}` is not a valid `.{}` of `{of}`", token.text, slot.name);
        let help = format!("`.{}` is one of {}", slot.name, list(self.names(slot, all), "."));
        Diagnostic::error(Code::IllegalModifier, token.span.clone(), message).with_help(help)
    }

    /// A token that no item of the line takes: a second one, a foreign one, or a misspelt one.
    fn homeless(
        &self,
        fit: &Fit,
        token: &Token<'_>,
        (before, tokens): (&[Token<'_>], &[Token<'_>]),
        missing: &mut Vec<&Item>,
        wanted: &mut Wanted,
    ) -> Diagnostic {
        let opcode = self.instruction.opcode;
        let error = |code, message: String| Diagnostic::error(code, token.span.clone(), message);
        let taken = fit.syntax.items.iter().find(|item| self.member(item, token.text, Members::Line).is_some());
        if let Some(item) = taken {
            let first = before.iter().rev().find(|first| self.member(item, first.text, Members::Slot).is_some());
            let first = first.map_or("", |first| first.text);
            let message = if first == token.text {
                format!("duplicate modifier `.{first}`")
            } else if self.is_type(token.text) {
                format!("`{opcode}` takes fewer types: `.{}` is one too many", token.text)
            } else {
                format!("`.{}` conflicts with `.{first}`: only one of them is allowed", token.text)
            };
            return error(Code::DuplicateModifier, message);
        }
        if self.instruction.slots.iter().any(|slot| slot.members.contains(&token.text)) {
            let others = tokens.iter().filter(|other| other.span != token.span).map(|other| other.text);
            let others: String = others.flat_map(|text| [".", text]).collect();
            let message = format!("`.{}` is not valid for `{opcode}{others}`", token.text);
            return error(Code::IllegalModifier, message);
        }
        let known = self.is_known(token.text) || self.is_type(token.text);
        let code = if known { Code::IllegalModifier } else { Code::UnknownModifier };
        let message = format!("`{opcode}` has no modifier `.{}`", token.text);
        let near = self.near(fit, token);
        let Some(first) = near.first() else { return error(code, message) };
        let slots = self.instruction.data().slots;
        // A misspelt modifier is not missing as well.
        let mut places = slots.iter().enumerate().filter(|(slot, _)| wanted.values[*slot] == ABSENT);
        if let Some((slot, names)) = places.find(|(_, names)| names.members.contains(first)) {
            missing.retain(|absent| usize::from(absent.slot) != slot);
            wanted.set(slot, names, &near);
        }
        let choices: Vec<String> = near.iter().map(|near| format!(".{near}")).collect();
        let error = error(code, message).with_help(format!("did you mean {}?", either(&choices)));
        near.iter().fold(error, |error, near| error.with_fix(token.span.clone(), *near)).tied()
    }

    /// The rules of the spec that a full set of modifiers breaks. The slots they are about go into `suspects`.
    fn broken_rules(&self, fit: &Fit, tokens: &[Token<'_>], suspects: &mut Vec<usize>) -> Vec<Diagnostic> {
        let broken = self.instruction.data().rules.iter().filter(|rule| rule.refuses(&fit.values));
        let mut reasons: Vec<Diagnostic> = Vec::new();
        for rule in broken {
            if reasons.iter().any(|reason| reason.message == rule.reason) {
                continue;
            }
            let token_of = |forbidden: &Forbidden| {
                let slot = usize::from(forbidden.slot);
                let member = self.instruction.slots[slot].members.get(usize::from(fit.values[slot]))?;
                let token = tokens.iter().find(|token| token.text == *member)?;
                Some((slot, token.span.clone()))
            };
            let (slot, span) = rule.forbids.iter().find_map(token_of).unwrap_or((usize::MAX, self.opcode.clone()));
            suspects.push(slot);
            // So is an integer type, whose registers fit another one of its width; untyped bits are rarely meant as such.
            let is_integer = |slot: &usize| {
                let slot = (self.instruction.data().slots.get(*slot)).zip(fit.values.get(*slot));
                let name = slot.and_then(|(slot, value)| slot.members.get(usize::from(*value)));
                name.and_then(|name| self.ty(name)).is_some_and(|ty| matches!(ty.kind, Kind::Unsigned | Kind::Signed))
            };
            suspects.extend(rule.forbids.iter().map(|forbidden| usize::from(forbidden.slot)).filter(is_integer));
            reasons.push(Diagnostic::error(Code::IllegalModifier, span, rule.reason));
        }
        reasons
    }
}
