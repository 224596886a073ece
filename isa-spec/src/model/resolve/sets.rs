//! Resolution of the sets of an entry and the modifiers of its syntax lines.

use std::collections::HashSet;

use super::{Declared, Resolver};
use crate::model::{Item, Meaning, Member, Permission, Selector, SelectorBuf, SelectorKind, Slot, SlotKind};
use crate::syntax::ast::{self, Ident, SetBody};
use crate::text::Diagnostic;

impl Resolver {
    /// Sets that an entry declares, by name.
    pub(super) fn sets(&mut self, entry: &ast::Instruction) -> Vec<(String, Declared)> {
        let mut declared: Vec<(String, Declared)> = Vec::new();
        // A set that is not a modifier of any line must be a selector.
        let modifier =
            |name: &Ident| entry.syntax.iter().flat_map(|line| &line.modifiers).any(|modifier| modifier.name == *name);
        for set in &entry.sets {
            let name = set.name.to_string();
            if declared.iter().any(|(other, _)| *other == name) {
                self.error(Diagnostic::new(set.name.span(), format!("duplicate set `.{name}`")));
                continue;
            }
            let body = match &set.body {
                SetBody::Named(_) => unreachable!("`expand` wrote it out"),
                SetBody::Listed { operator: None, members } if !modifier(&set.name) => {
                    self.listed_selector(&set.name, members)
                }
                SetBody::Listed { operator: None, members }
                    if entry.free.iter().any(|free| set.name == free.as_ref()) =>
                {
                    self.words_of(&set.name, members)
                }
                SetBody::Listed { operator, members } => self.listed(&set.name, operator.as_ref(), members),
                SetBody::Lanes { letter, lanes, of, default } => {
                    let pick = self.pick(lanes.span, lanes.value, of.value);
                    let kind = SelectorKind::Lanes { lanes: lanes.value as u8, of: of.value as u8 };
                    let default = Some(default).filter(|_| pick.is_some());
                    Declared::Selector(Selector { pick, ..self.selector(&set.name, letter, kind, default) })
                }
                SetBody::Subset { letter, of, default } => {
                    let ok = (1..=isa_table::limits::LANES).contains(&of.value);
                    if !ok {
                        let message = format!("a mask covers 1 to {} lanes", isa_table::limits::LANES);
                        self.error(Diagnostic::new(of.span, message));
                    }
                    let kind = SelectorKind::Subset { of: of.value as u8 };
                    Declared::Selector(self.selector(&set.name, letter, kind, Some(default).filter(|_| ok)))
                }
            };
            declared.push((name, body));
        }
        declared
    }

    pub(super) fn listed(&mut self, name: &Ident, operator: Option<&Ident>, members: &[Ident]) -> Declared {
        let operator_name = operator.unwrap_or(name);
        let found = self.model.operator_named(operator_name.as_ref());
        if let (Some(operator), None) = (operator, found) {
            let diagnostic = Diagnostic::new(operator.span(), format!("unknown operator `{operator}`"))
                .suggest(operator.as_ref(), self.model.operators.iter().map(|operator| operator.name.as_str()));
            self.error(diagnostic);
            return Declared::Listed { kind: SlotKind::Flag, members: Vec::new() };
        }
        let mut list: Vec<Member> = Vec::new();
        for member in members {
            let spelling = member.to_string();
            if list.iter().any(|other| other.spelling == spelling) {
                self.error(Diagnostic::new(member.span(), format!("duplicate `{spelling}` in this set")));
                continue;
            }
            let meaning = match found {
                Some(operator) => {
                    let operator = &self.model.operators[operator.0];
                    match operator.members.iter().position(|other| other.name == spelling) {
                        Some(index) => Meaning::Operator(index),
                        None => {
                            let diagnostic = Diagnostic::new(
                                member.span(),
                                format!("the operator `{}` has no `{spelling}`", operator.name),
                            )
                            .suggest(&spelling, operator.members.iter().map(|member| member.name.as_str()));
                            self.error(diagnostic);
                            continue;
                        }
                    }
                }
                None => match self.type_id(member) {
                    Some(ty) => Meaning::Type(ty),
                    None => continue,
                },
            };
            list.push(Member { spelling, meaning });
        }
        let kind = found.map_or(SlotKind::Type, SlotKind::Operator);
        Declared::Listed { kind, members: list }
    }

    /// Words of a free set.
    fn words_of(&mut self, name: &Ident, members: &[Ident]) -> Declared {
        let mut list: Vec<Member> = Vec::new();
        for member in members {
            let spelling = member.to_string();
            if list.iter().any(|other| other.spelling == spelling) {
                self.error(Diagnostic::new(member.span(), format!("duplicate `{spelling}` in `.{name}`")));
            }
            list.push(Member { spelling, meaning: Meaning::Flag });
        }
        Declared::Listed { kind: SlotKind::Words, members: list }
    }

    pub(super) fn listed_selector(&mut self, name: &Ident, members: &[Ident]) -> Declared {
        let words: Vec<String> = members.iter().map(Ident::to_string).collect();
        for (index, member) in members.iter().enumerate() {
            if words[..index].contains(&words[index]) {
                self.error(Diagnostic::new(member.span(), format!("duplicate `{member}` in this set")));
            }
        }
        let pick = self.pick_of_words(name.span(), words.clone());
        let spelling = SelectorBuf {
            name: name.to_string(),
            letter: '_',
            default: words.len() as u32,
            kind: SelectorKind::Listed { words },
            omission: Permission::Yes,
        };
        Declared::Selector(Selector { spelling, pick })
    }

    /// A set of lanes or masks; the default is parsed if the set is valid.
    fn selector(
        &mut self,
        name: &Ident,
        letter: &Ident,
        kind: SelectorKind<Vec<String>>,
        default: Option<&Ident>,
    ) -> Selector {
        let text = letter.to_string();
        let mut letters = text.chars();
        let first = letters.next().filter(|first| first.is_ascii_lowercase() && letters.next().is_none());
        if first.is_none() {
            self.error(Diagnostic::new(letter.span(), format!("`.{text}` is not one small letter")));
        }
        let mut value = 0;
        if let (Some(letter), Some(default)) = (first, default) {
            match kind.parse(letter, default.as_ref()) {
                Some(parsed) => value = parsed,
                None => self.error(
                    Diagnostic::new(default.span(), "this default is not spelt like a member of the set")
                        .help(kind.describe(letter)),
                ),
            }
        }
        let (name, letter) = (name.to_string(), first.unwrap_or('?'));
        let spelling = SelectorBuf { name, letter, kind, default: value, omission: Permission::Yes };
        Selector { spelling, pick: None }
    }

    /// Modifiers of a line as slots.
    pub(super) fn items(
        &mut self,
        line: &ast::SyntaxLine,
        declared: &[(String, Declared)],
        free: &[Ident],
        slots: &mut Vec<Slot>,
        used: &mut HashSet<String>,
    ) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        for modifier in &line.modifiers {
            let name = modifier.name.to_string();
            used.insert(name.clone());
            let (kind, members) = match declared.iter().find(|(other, _)| *other == name) {
                Some((_, Declared::Listed { kind, members })) => (*kind, members.clone()),
                Some((_, Declared::Selector(_))) => {
                    self.error(
                        Diagnostic::new(
                            modifier.name.span(),
                            format!("`.{name}` is a selector: write it after an operand"),
                        )
                        .help(format!("write it as `d{{.{name}}}`")),
                    );
                    continue;
                }
                None => match self.model.operator_named(&name) {
                    Some(id) => {
                        let members = self.model.operators[id.0].members.iter().enumerate();
                        let members = members
                            .map(|(i, member)| Member { spelling: member.name.clone(), meaning: Meaning::Operator(i) });
                        (SlotKind::Operator(id), members.collect())
                    }
                    None => (SlotKind::Flag, vec![Member { spelling: name.clone(), meaning: Meaning::Flag }]),
                },
            };
            let is_free = free.iter().any(|free| modifier.name == free.as_ref());
            let slot = slots.iter().position(|slot| slot.name == name).unwrap_or_else(|| {
                slots.push(Slot { name: name.clone(), kind, members: Vec::new(), free: is_free });
                slots.len() - 1
            });
            if (slots[slot].kind, slots[slot].free) != (kind, is_free) {
                self.error(Diagnostic::new(
                    modifier.name.span(),
                    format!("another entry of this opcode uses `.{name}` for something else"),
                ));
                continue;
            }
            if items.iter().any(|item| item.slot == slot) {
                self.error(Diagnostic::new(modifier.name.span(), format!("duplicate modifier `.{name}` in this line")));
                continue;
            }
            let all = &mut slots[slot].members;
            let mut indices = Vec::new();
            for member in members {
                indices.push(all.iter().position(|other| *other == member).unwrap_or_else(|| {
                    all.push(member);
                    all.len() - 1
                }));
            }
            if all.len() > isa_table::limits::MEMBERS {
                let message = format!("a slot holds at most {} members", isa_table::limits::MEMBERS);
                self.error(Diagnostic::new(modifier.name.span(), message));
            }
            items.push(Item { slot, optional: modifier.optional, members: indices });
        }
        items
    }
}
