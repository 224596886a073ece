//! Generates the reference page of each opcode from the checked model.
//!
//! A page contains what the spec states and what follows for the forms; it does not depend on any renderer.

mod floor;
mod sum;

use std::rc::Rc;

use std::collections::BTreeSet;

use isa_table::page::{
    CellBuf as Cell, EntryBuf, ErratumBuf as Erratum, ExampleBuf as Example, FragmentBuf as Fragment,
    FunctionBuf as Function, GroupBuf as Group, HeldBuf as Held, ItemBuf as Item, LaidBuf as Laid, LayoutBuf as Layout,
    LineBuf as Line, MatrixBuf as Matrix, MemberBuf as Member, ModifierBuf as Modifier, OperandBuf as Operand,
    PageBuf as Page, RowBuf as Row,
};
use isa_table::table::{OperandBuf as Accepted, Range, RangeBuf};
use isa_table::target::in_words;

use self::sum::summed;
use crate::check::{ABSENT, Checked, Form, choice, reason, words};
use crate::model::{
    self, BoundBuf, BuiltinId, Constants, Entry, Kind, Meaning, Model, Opcode, OperandKind, OperandType, Pattern,
    Permission, Selector, SelectorKind, Share, Signature, Slot, SlotKind, Spaces, Syntax, TypeId, TypeSet,
};
use crate::program::Program;
use crate::pseudo;
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::walk;
use crate::text::{Sources, one_line};

/// Description of a name; empty if it has none.
fn described<'a>(list: &'a [(String, String)], name: &str) -> &'a str {
    list.iter().find(|(other, _)| other == name).map_or("", |(_, docs)| docs)
}

/// Pages of all opcodes, in the model's order.
pub(crate) fn pages(checked: &Checked, sources: &Sources) -> Vec<Page> {
    let opcodes = checked.model.opcodes.iter().enumerate();
    let mut forms = vec![Vec::new(); checked.model.opcodes.len()];
    checked.forms.iter().for_each(|form| forms[form.opcode].push(form));
    opcodes.zip(forms).map(|((index, opcode), forms)| Pager { checked, sources, index, opcode, forms }.page()).collect()
}

struct Pager<'a> {
    checked: &'a Checked,
    sources: &'a Sources,
    index: usize,
    opcode: &'a Opcode,
    /// Forms of the opcode.
    forms: Vec<&'a Form>,
}

impl<'a> Pager<'a> {
    fn model(&self) -> &'a Model {
        &self.checked.model
    }

    fn forms(&self) -> impl Iterator<Item = &'a Form> {
        self.forms.iter().copied()
    }

    fn page(&self) -> Page {
        let entries = self.opcode.entries.iter().enumerate();
        let entries: Vec<EntryBuf> = entries.map(|(number, entry)| self.entry(number, entry)).collect();
        Page {
            opcode: self.opcode.name.clone(),
            summary: self.summary(&entries),
            forms: self.forms().count() as u32,
            entries,
            modifiers: self.opcode.slots.iter().enumerate().map(|(index, slot)| self.modifier(index, slot)).collect(),
            matrices: self.matrices(),
            functions: self.functions(),
            fragments: self.fragments(),
            layouts: self.layouts(),
        }
    }

    /// The summary that an entry gives for all of them, or that of the first entry.
    fn summary(&self, entries: &[EntryBuf]) -> String {
        let common = self.opcode.entries.iter().find_map(|entry| entry.summary.as_ref());
        let first = || entries.first().map(|entry| &entry.summary);
        common.map(|(text, _)| text).or_else(first).cloned().unwrap_or_default()
    }

    fn entry(&self, number: usize, entry: &Entry) -> EntryBuf {
        let mut paragraphs = entry.docs.split("\n\n").map(one_line);
        let forms: Vec<&Form> = self.forms().filter(|form| form.entry == number).collect();
        EntryBuf {
            section: entry.section.clone(),
            also: entry.also.clone(),
            source: self.sources.cite(entry.span),
            forms: forms.len() as u32,
            summary: paragraphs.next().unwrap_or_default(),
            details: paragraphs.collect(),
            syntax: (0..entry.syntaxes.len()).map(|line| self.line(number, entry, line)).collect(),
            operands: self.operands(number, entry),
            rules: rules(entry),
            semantics: [&entry.effects[..], entry.semantics.as_deref().unwrap_or_default()]
                .into_iter()
                .flat_map(pseudo::unfilled)
                .collect(),
            floors: floor::rows(self.model(), self.opcode, entry, &forms),
            lenient: lenient(entry),
            errata: entry
                .errata
                .iter()
                .map(|erratum| Erratum {
                    subject: one_line(&erratum.docs),
                    manual: one_line(&erratum.manual),
                    machine: one_line(&erratum.machine),
                })
                .collect(),
            examples: entry
                .examples
                .iter()
                .filter(|example| example.is_shown())
                .map(|example| Example { text: example.text.clone(), refused: example.refused })
                .collect(),
        }
    }

    fn line(&self, number: usize, entry: &Entry, line: usize) -> Line {
        let syntax = &entry.syntaxes[line];
        let items = syntax.items.iter().map(|item| {
            let slot = &self.opcode.slots[item.slot];
            // Members that the conditions of a line exclude are not shown.
            let forms = self.forms().filter(|form| (form.entry, form.syntax) == (number, line));
            let found: BTreeSet<usize> = match slot.free {
                true => item.members.iter().copied().collect(),
                false => forms.filter_map(|form| form.choice.values[item.slot]).collect(),
            };
            Item {
                name: slot.name.clone(),
                members: found.into_iter().map(|member| slot.members[member].spelling.clone()).collect(),
                optional: item.optional,
            }
        });
        Line {
            text: format!("{};", syntax.text),
            items: items.collect(),
            operands: entry.written(&syntax.patterns).iter().map(|pattern| notation(entry, pattern)).collect(),
        }
    }

    fn operands(&self, number: usize, entry: &Entry) -> Vec<Operand> {
        let mut found = Vec::new();
        let forms: Vec<&Form> = self.forms().filter(|form| form.entry == number).collect();
        for (index, operand) in entry.operands.iter().enumerate() {
            let patterns: Vec<&Pattern> =
                entry.syntaxes.iter().flat_map(|syntax| &syntax.patterns).filter(|p| p.operand == index).collect();
            let seconds = entry.syntaxes.iter().flat_map(|syntax| &syntax.patterns);
            let second = seconds.filter_map(|pattern| pattern.second.as_ref()).find(|(second, _)| *second == index);
            let accepted = forms.iter().flat_map(|form| form.patterns.iter().zip(&form.operands));
            let accepted: Vec<&Accepted> =
                accepted.filter(|(pattern, _)| pattern.operand == index).map(|(_, operand)| operand).collect();
            let some = |accepts: fn(&Accepted) -> bool| accepted.iter().any(|operand| accepts(operand));
            let each =
                |accepts: fn(&Accepted) -> bool| some(accepts) && accepted.iter().all(|operand| accepts(operand));
            let written = second.is_some() || some(|operand| operand.destination);
            let (ty, types) = self.cases(entry, operand);
            let state = operand.state.as_ref().map(|state| &self.model().states[state.number]);
            let mut takes = match (operand.immediate, state) {
                (true, _) => Vec::new(),
                (false, Some(state)) => vec![format!("`{state}` (implicit)")],
                (false, None) => vec![registers(self.model(), operand.registers, &types)],
            };
            if operand.wider {
                takes.push("a wider register of the same kind, whose low bits are used".into());
            }
            if operand.sink {
                takes.push("the sink `_`".into());
            }
            let constants = types.iter().any(|ty| self.model().ty(*ty).constants != Constants::default());
            let any = operand.within.is_empty();
            if any && constants && state.is_none() && some(|operand| operand.constants) {
                takes.push(constant_kinds(self.model(), &types));
            }
            if let ([first, ..], false) = (&types[..], any) {
                let ty = self.model().ty(*first);
                let range = |RangeBuf { least, most, step }: &RangeBuf| {
                    Range { least: *least, most: *most, step: *step }.in_words(ty.kind, ty.bits)
                };
                let ranges: Vec<String> = operand.within.iter().map(range).collect();
                takes.push(format!("a constant: {}", ranges.join(", ")));
            }
            if each(|operand| operand.specials) {
                takes.push("a special register".into());
            }
            if each(|operand| operand.addresses) {
                takes.push("the address of a variable or function".into());
            }
            if some(|operand| operand.negation == Permission::Yes) {
                takes.push(format!("`!{}` for its complement", operand.name));
            }
            if let Some(condition) = &operand.condition {
                takes.push(format!("only with `{}`", pseudo::text(condition)));
            }
            if some(|operand| operand.optional) {
                takes.push("optional, with all operands after it".into());
            }
            if second.is_some_and(|(_, optional)| *optional == Permission::Yes) {
                takes.push("it may be left out".into());
            }
            if let Some(selector) = patterns.iter().find_map(|pattern| pattern.selector.as_ref()) {
                takes.push(selector_words(selector));
            }
            found.push(Operand {
                name: operand.name.clone(),
                written,
                ty: ty.to_owned(),
                types: types.iter().map(|ty| self.model().ty(*ty).name.clone()).collect(),
                takes,
            });
        }
        // Destinations come first.
        found.sort_by_key(|operand| !operand.written);
        found
    }

    /// Type of an operand in words, and the types it may have.
    fn cases(&self, entry: &Entry, operand: &model::Operand) -> (String, Vec<TypeId>) {
        let mut types = Vec::new();
        let mut cases = Vec::new();
        for case in &operand.cases {
            let own = match &case.ty {
                OperandType::Slot(slot) => self.types_of(entry, &self.opcode.slots[*slot]),
                other => self.opcode.types_of(other),
            };
            let ty = match &case.ty {
                OperandType::Fixed(ty) => format!(".{}", self.model().ty(*ty).name),
                OperandType::Slot(slot) => format!(".{}", self.opcode.slots[*slot].name),
                OperandType::Mapped(slot, pairs) => {
                    let maps = &self.model().maps;
                    let map = maps.iter().find(|(_, other)| Rc::ptr_eq(other, pairs)).map_or("", |(name, _)| name);
                    format!("{map}(.{})", self.opcode.slots[*slot].name)
                }
            };
            let what = match (case.kind, &case.spaces) {
                (OperandKind::Scalar, _) => ty,
                (OperandKind::Vector(count), _) => format!("{count} of {ty}"),
                (OperandKind::Address, Spaces::Slot(slot)) => format!("address in .{}", self.opcode.slots[*slot].name),
                (OperandKind::Address, Spaces::Listed(list)) if list.is_empty() => "address".to_owned(),
                (OperandKind::Address, Spaces::Listed(list)) => format!("address in .{}", list.join(" or .")),
                (kind, _) => kind.name().to_owned(),
            };
            if case.kind.is_value() {
                types.extend(own.into_iter().filter(|ty| !types.contains(ty)).collect::<Vec<_>>());
            }
            if !cases.contains(&what) {
                cases.push(what);
            }
        }
        (cases.join(" or "), types)
    }

    /// Types that an entry's lines allow in a slot.
    fn types_of(&self, entry: &Entry, slot: &Slot) -> Vec<TypeId> {
        let items = entry.syntaxes.iter().flat_map(|syntax| &syntax.items);
        let members: Vec<usize> = items
            .filter(|item| self.opcode.slots[item.slot].name == slot.name)
            .flat_map(|item| item.members.iter().copied())
            .collect();
        let own = slot.members.iter().enumerate().filter(|(index, _)| members.contains(index));
        own.filter_map(|(_, member)| match member.meaning {
            Meaning::Type(ty) => Some(ty),
            Meaning::Operator(_) | Meaning::Flag => None,
        })
        .collect()
    }

    fn modifier(&self, index: usize, slot: &Slot) -> Modifier {
        let members = slot.members.iter().map(|member| {
            let (docs, domain) = match (member.meaning, slot.kind) {
                (Meaning::Operator(place), SlotKind::Operator(operator)) => {
                    let found = &self.model().operators[operator.0].members[place];
                    (found.docs.as_str(), found.domain_text.clone())
                }
                (Meaning::Type(ty), _) => (self.model().ty(ty).docs.as_str(), String::new()),
                (Meaning::Operator(_) | Meaning::Flag, _) => {
                    (described(&self.model().vocabulary, &member.spelling), String::new())
                }
            };
            // The second paragraph is the meaning for floating-point operands.
            let mut paragraphs = docs.split("\n\n").map(one_line);
            let plain = paragraphs.next().unwrap_or_default();
            let description = paragraphs.next().filter(|_| self.has_floats()).unwrap_or_else(|| plain.clone());
            Member { name: member.spelling.clone(), description, plain, domain }
        });
        let description = match slot.kind {
            SlotKind::Operator(operator) => one_line(&self.model().operators[operator.0].docs),
            SlotKind::Type | SlotKind::Flag | SlotKind::Words => one_line(described(&self.model().sets, &slot.name)),
        };
        // Forms say nothing of free modifiers: then their lines do.
        let lines = || self.opcode.entries.iter().flat_map(|entry| &entry.syntaxes);
        let may_lack =
            |syntax: &Syntax| syntax.items.iter().find(|item| item.slot == index).is_none_or(|item| item.optional);
        Modifier {
            name: slot.name.clone(),
            description,
            optional: match slot.free {
                true => lines().any(may_lack),
                false => self.forms().any(|form| form.choice.values[index].is_none()),
            },
            members: members.collect(),
        }
    }

    /// Returns true if some form has a modifier that selects floating-point operands.
    fn has_floats(&self) -> bool {
        let kind = |ty: TypeId| self.model().ty(self.model().ty(ty).lane).kind;
        let members = self.opcode.slots.iter().flat_map(|slot| &slot.members);
        members.into_iter().any(|member| matches!(member.meaning, Meaning::Type(ty) if kind(ty) == Kind::Float))
    }

    /// Matrices of each type modifier against the modifiers that do not combine with all of its members.
    fn matrices(&self) -> Vec<Matrix> {
        let slots = &self.opcode.slots;
        let types: Vec<usize> = (0..slots.len()).filter(|slot| slots[*slot].kind == SlotKind::Type).collect();
        let first = (0..slots.len()).find(|slot| matches!(slots[*slot].kind, SlotKind::Operator(_)));
        let mut found = Vec::new();
        for across in &types {
            let partial: Vec<usize> = (0..slots.len())
                .filter(|down| !slots[*down].free && down != across && !self.goes_with_all(*down, *across))
                // Each pair of types gets one matrix.
                .filter(|down| slots[*down].kind != SlotKind::Type || down < across)
                .collect();
            if !partial.is_empty() {
                let leading = first.or(types.iter().copied().find(|slot| slot != across));
                let mut downs: Vec<usize> = leading.into_iter().chain(partial).filter(|down| down != across).collect();
                downs.dedup();
                downs.sort_by_key(|down| (slots[*down].kind == SlotKind::Flag, *down));
                downs.dedup();
                found.push(self.matrix(*across, &downs));
            }
        }
        // Without type modifiers, a word heads the columns, so that minimum versions are shown.
        let across = types.last().copied().or(slots.iter().position(|slot| !slot.free));
        if let (true, Some(across)) = (found.is_empty(), across) {
            // If everything combines, show all rows, operators first.
            let mut downs: Vec<usize> = (0..slots.len()).filter(|slot| !slots[*slot].free && *slot != across).collect();
            downs.sort_by_key(|down| (slots[*down].kind == SlotKind::Flag, first != Some(*down), *down));
            found.push(self.matrix(across, &downs));
        }
        found
    }

    fn goes_with_all(&self, down: usize, across: usize) -> bool {
        let rows = 0..self.opcode.slots[down].members.len();
        let columns = 0..self.opcode.slots[across].members.len();
        rows.into_iter()
            .all(|row| columns.clone().all(|column| self.with(&[(down, row), (across, column)]).next().is_some()))
    }

    /// Forms that have these members.
    fn with(&self, members: &[(usize, usize)]) -> impl Iterator<Item = &'a Form> {
        self.forms().filter(move |form| members.iter().all(|(slot, member)| form.choice.values[*slot] == Some(*member)))
    }

    fn matrix(&self, across: usize, downs: &[usize]) -> Matrix {
        let columns = &self.opcode.slots[across];
        let cells = |row: Option<(usize, usize)>| {
            (0..columns.members.len())
                .map(|column| {
                    let pair: Vec<(usize, usize)> = row.into_iter().chain([(across, column)]).collect();
                    self.cell(&pair)
                })
                .collect()
        };
        let mut groups: Vec<Group> = downs
            .iter()
            .map(|down| {
                let slot = &self.opcode.slots[*down];
                let rows = slot.members.iter().enumerate().map(|(index, member)| Row {
                    name: format!(".{}", member.spelling),
                    cells: cells(Some((*down, index))),
                });
                Group { name: slot.name.clone(), rows: rows.collect() }
            })
            .collect();
        if groups.is_empty() {
            groups.push(Group {
                name: String::new(),
                rows: vec![Row { name: self.opcode.name.clone(), cells: cells(None) }],
            });
        }
        Matrix {
            across: columns.name.clone(),
            columns: columns.members.iter().map(|member| member.spelling.clone()).collect(),
            groups,
        }
    }

    fn cell(&self, members: &[(usize, usize)]) -> Cell {
        let forms: Vec<&Form> = self.with(members).collect();
        let Some(first) = forms.first() else {
            let reason = self.reason(members);
            return Cell { forms: 0, reason, example: String::new() };
        };
        Cell { forms: forms.len() as u32, reason: String::new(), example: first.mnemonic.clone() }
    }

    /// Reason of the rule that refuses the members in every context.
    fn reason(&self, members: &[(usize, usize)]) -> String {
        let refuses = |forbids: &[(usize, u64)]| {
            let hit = |slot: usize, values: u64| {
                members.iter().find(|(other, _)| *other == slot).is_some_and(|(_, member)| values >> member & 1 != 0)
            };
            members.iter().any(|(slot, _)| forbids.iter().any(|(other, _)| other == slot))
                && forbids.iter().all(|(slot, values)| {
                    let known = members.iter().any(|(other, _)| other == slot);
                    if known { hit(*slot, *values) } else { self.is_full(*slot, *values) }
                })
        };
        let rule = self.checked.rules[self.index].iter().find(|rule| refuses(&rule.forbids));
        rule.map_or_else(|| "no syntax line has both".to_owned(), |rule| rule.reason.clone())
    }

    /// Returns true if a set contains every possible value of a slot.
    fn is_full(&self, slot: usize, values: u64) -> bool {
        let mut all = self.forms().map(|form| form.choice.values[slot].map_or(ABSENT, |member| member as u8));
        all.all(|value| values >> value & 1 != 0)
    }

    /// Fragments of operands, deduplicated.
    fn fragments(&self) -> Vec<Fragment> {
        let mut found: Vec<(Share, Fragment)> = Vec::new();
        for (number, form) in self.forms().enumerate() {
            let entry = &self.opcode.entries[form.entry];
            for pattern in &form.patterns {
                let shares = entry.shares(self.model(), self.opcode, (pattern.operand, &form.choice));
                for (_, share, _) in shares.unwrap_or_default() {
                    let place = found.iter().position(|(other, _)| *other == share).unwrap_or_else(|| {
                        found.extend(self.fragment(share).map(|fragment| (share, fragment)));
                        found.len() - 1
                    });
                    let held = &mut found[place].1.held;
                    let operand = &entry.operands[pattern.operand].name;
                    match held.iter_mut().find(|held| held.operand == *operand) {
                        Some(held) if held.forms.last() == Some(&(number as u32)) => {}
                        Some(held) => held.forms.push(number as u32),
                        None => held.push(Held { operand: operand.clone(), forms: vec![number as u32] }),
                    }
                }
            }
        }
        found.into_iter().map(|(_, fragment)| fragment).collect()
    }

    /// Bit layouts of operands, deduplicated.
    fn layouts(&self) -> Vec<Layout> {
        let mut found: Vec<(usize, Layout)> = Vec::new();
        for entry in &self.opcode.entries {
            for laid in &entry.layouts {
                let of = &self.model().layouts[laid.layout];
                let place = found.iter().position(|(other, _)| *other == laid.layout).unwrap_or_else(|| {
                    let description = one_line(&of.docs);
                    let (name, fields) = (of.name.clone(), of.fields.clone());
                    found.push((laid.layout, Layout { name, description, bits: of.bits, fields, laid: Vec::new() }));
                    found.len() - 1
                });
                let operand = entry.operands[laid.operand].name.clone();
                let laid = Laid { operand, when: laid.condition.as_ref().map(pseudo::text) };
                let known = &mut found[place].1.laid;
                if !known.contains(&laid) {
                    known.push(laid);
                }
            }
        }
        found.into_iter().map(|(_, layout)| layout).collect()
    }

    /// A fragment without operands.
    fn fragment(&self, share: Share) -> Option<Fragment> {
        let of = &self.model().fragments[share.fragment];
        let layout = of.layout(share).ok()?;
        let (high, wide) = layout.block();
        let cells = layout.holders.iter().enumerate().filter(|(place, _)| {
            (place / layout.columns).is_multiple_of(high) && (place % layout.columns).is_multiple_of(wide)
        });
        let (lanes, elements) = cells.map(|(_, (lane, element))| (*lane as u8, *element as u8)).unzip();
        let formula = |(what, formula): (_, Option<_>)| Some(format!("{what} = {}", pseudo::text(formula?)));
        let formulas = of.formulas().into_iter().filter_map(formula);
        Some(Fragment {
            name: of.name.clone(),
            description: one_line(&of.docs),
            formulas: formulas.collect(),
            registers: share.registers,
            parts: share.parts,
            matrices: layout.matrices as u32,
            rows: layout.rows as u32,
            columns: layout.columns as u32,
            high: high as u32,
            wide: wide as u32,
            lanes,
            elements,
            held: Vec::new(),
        })
    }

    /// Functions that the pseudo-code of any form calls.
    fn functions(&self) -> Vec<Function> {
        let mut names = Vec::new();
        let mut visit = |expr: &Expr| {
            if let ExprKind::Call(name, _, arguments) = &expr.kind {
                names.push(name.to_string());
                // How products are summed is named in an argument.
                names.extend(arguments.iter().filter_map(|argument| match &argument.kind {
                    ExprKind::Name(name) => Some(name.to_string()),
                    _ => None,
                }));
            }
        };
        for entry in &self.opcode.entries {
            walk::expressions(&entry.effects, &mut visit);
            walk::expressions(entry.semantics.as_deref().unwrap_or_default(), &mut visit);
        }
        for slot in &self.opcode.slots {
            if let SlotKind::Operator(operator) = slot.kind {
                for member in &slot.members {
                    if let Meaning::Operator(place) = member.meaning {
                        let member = &self.model().operators[operator.0].members[place];
                        member.body.iter().for_each(|body| body.walk(&mut visit));
                    }
                }
            }
        }
        // Of the builtins of one name, those for the types that forms have.
        let programs = self.forms().flat_map(Form::all_programs).map(|program| &self.checked.programs[program]);
        let called: BTreeSet<BuiltinId> = programs.flat_map(Program::builtins).collect();
        let mut found: Vec<Function> = Vec::new();
        for name in names {
            let model = self.model();
            let builtins = called.iter().map(|id| &model.builtins[id.0].signature);
            let mut signatures: Vec<&Signature> = builtins.filter(|signature| signature.name == name).collect();
            if signatures.is_empty() {
                let functions = model.functions.iter().map(|function| &function.signature);
                let all = functions.chain(model.builtins.iter().map(|builtin| &builtin.signature));
                signatures.extend({ all }.find(|signature| signature.name == name));
            }
            let signatures = signatures.into_iter().map(|signature| (signature.text.clone(), &signature.docs));
            let effects = model.effects.iter().filter(|effect| effect.kind.name() == name);
            let effects = effects.map(|effect| (effect.text.clone(), &effect.docs));
            let summations = model.summations.iter().filter(|summation| summation.name == name);
            let summations = summations.map(|summation| (summed(summation), &summation.description));
            for (signature, docs) in signatures.chain(effects).chain(summations) {
                let function = Function { signature, description: one_line(docs) };
                if !found.contains(&function) {
                    found.push(function);
                }
            }
        }
        found
    }
}

/// An operand in the manual's notation: `{!}c`, `p[|q]`, `a{.asel}`.
fn notation(entry: &Entry, pattern: &Pattern) -> String {
    let name = |operand: usize| entry.operands[operand].name.as_str();
    let selector = pattern.selector.as_ref().map(|selector| &selector.spelling);
    let operand = isa_table::notation::Operand {
        name: name(pattern.operand),
        negated: pattern.negation == Permission::Yes,
        second: pattern.second.as_ref().map(|(second, optional)| (name(*second), *optional == Permission::Yes)),
        selector: selector.map(|selector| (selector.name.as_str(), selector.omission != Permission::No)),
        optional: false,
        around: pattern.around,
    };
    if pattern.optional { format!("{{{operand}}}") } else { operand.to_string() }
}

/// Refused combinations and removals.
fn rules(entry: &Entry) -> Vec<String> {
    let legal = entry.legal.iter().map(reason);
    let removed = entry.requires.iter().filter(|requirement| requirement.removed).map(|requirement| {
        let since = requirement.ptx.map_or_else(String::new, |ptx| ptx.to_string());
        let forms =
            requirement.condition.as_ref().map_or_else(String::new, |condition| format!("{}: ", choice(condition)));
        format!("{forms}removed in PTX {since} for {} and higher", in_words(&requirement.targets))
    });
    let bounds = entry.bounds.iter().map(|bound| {
        let forms = bound.condition.as_ref().map_or_else(String::new, |condition| format!("{}: ", words(condition)));
        let BoundBuf { measure, value, amount: _ } = &bound.distance;
        format!("{forms}A machine's result is within {} of the exact one", measure.of(value))
    });
    legal.chain(removed).chain(bounds).collect()
}

/// Notes on what the assembler accepts beyond the manual.
fn lenient(entry: &Entry) -> Vec<String> {
    let forms = entry.lenient_forms.iter();
    let mut notes: Vec<String> =
        forms.map(|forms| format!("{}: {}", choice(&forms.condition), one_line(&forms.text))).collect();
    for pattern in entry.syntaxes.iter().flat_map(|syntax| &syntax.patterns) {
        let second = pattern.second.as_ref().map_or(&Permission::No, |(_, optional)| optional);
        let omission = pattern.selector.as_ref().map_or(&Permission::No, |selector| &selector.spelling.omission);
        for permission in [second, &pattern.trailing_sink, &pattern.negation, omission] {
            if let Permission::Lenient(note) = permission {
                let note = one_line(note);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    notes
}

fn registers(model: &Model, own: Option<TypeSet>, types: &[TypeId]) -> String {
    let named = |set: TypeSet| {
        let names: Vec<String> = set.iter().map(|ty| format!("`.{}`", model.ty(ty).name)).collect();
        format!("a register: {}", names.join(", "))
    };
    match (own, types) {
        (Some(own), _) => named(own),
        (None, [only]) => named(model.ty(*only).registers),
        (None, _) => "a register that fits the type".into(),
    }
}

fn constant_kinds(model: &Model, types: &[TypeId]) -> String {
    let has = |wanted: fn(Constants) -> bool| types.iter().any(|ty| wanted(model.ty(*ty).constants));
    match (has(|takes| takes.integer), has(|takes| takes.float || takes.single)) {
        (true, true) => "a constant of its type".into(),
        (true, false) => "an integer constant".into(),
        (false, _) => "a float constant".into(),
    }
}

fn selector_words(selector: &Selector) -> String {
    let spelling = &selector.spelling;
    let letter = spelling.letter;
    let what = match &spelling.kind {
        SelectorKind::Lanes { lanes, of } => {
            format!("`.{letter}` followed by a digit below {of} for each of {lanes} lanes, highest lane first")
        }
        SelectorKind::Subset { of } => format!("`.{letter}` and the digits of the lanes that count, of {of}, falling"),
        SelectorKind::Listed { words } => {
            let words = words.iter().map(|word| format!("`.{word}`")).collect::<Vec<_>>().join(", ");
            format!("one of {words}")
        }
    };
    let name = &spelling.name;
    if spelling.omission == Permission::No {
        return format!("selector `.{name}`: {what}");
    }
    let default = match spelling.kind.spell(letter, spelling.default) {
        none if none.is_empty() => "none".to_owned(),
        default => format!("`.{default}`"),
    };
    format!("selector `.{name}`: {what}; default {default}")
}
