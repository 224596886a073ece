//! From the checked model to the pages of the reference, one for each opcode.
//!
//! A page says what the spec says and what follows from it for the forms. This module knows no renderer; Markdown is
//! made here only because rustdoc wants text while the table is built.

use std::collections::BTreeSet;

use isa_page::{
    Cell, Erratum, Example, Floor, Function, Group, Item, Line, Matrix, Member, Modifier, Operand, Page, Row,
};

use crate::ast::{Expr, ExprKind, Stmt};
use crate::check::{ABSENT, Checked, Form, words};
use crate::emit::names;
use crate::model::{
    Constant, Entry, Meaning, Model, Opcode, OperandType, Pattern, Permission, Requirement, Selector, SelectorShape,
    Slot, SlotKind, TypeId,
};
use crate::pseudo;
use crate::source::Sources;

/// Contents are data that lasts as long as the program that shows them; here that is the generator's run.
fn text(text: impl Into<String>) -> &'static str {
    text.into().leak()
}

fn list<T>(items: impl IntoIterator<Item = T>) -> &'static [T] {
    items.into_iter().collect::<Vec<T>>().leak()
}

fn one_line(docs: &str) -> &'static str {
    text(docs.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The pages of all opcodes, in the model's order.
pub(crate) fn pages(checked: &Checked, sources: &Sources) -> Vec<Page> {
    let opcodes = checked.model.opcodes.iter().enumerate();
    opcodes.map(|(index, opcode)| Pager { checked, sources, index, opcode }.page()).collect()
}

/// The pages as modules, for rustdoc.
pub(crate) fn manual(pages: &[Page], support: &str) -> String {
    let mut out = String::new();
    for page in pages {
        let (module, name) = (names::ident(page.opcode), names::camel(page.opcode).to_string());
        let links = isa_page::markdown::Links { name: &name, item: &format!("{support}::{name}"), krate: support };
        let markdown = isa_page::markdown::page(page, &links);
        out += &format!("#[doc = {markdown:?}]\npub mod {module} {{}}\n\n");
    }
    out
}

struct Pager<'a> {
    checked: &'a Checked,
    sources: &'a Sources,
    index: usize,
    opcode: &'a Opcode,
}

impl<'a> Pager<'a> {
    fn model(&self) -> &'a Model {
        &self.checked.model
    }

    fn forms(&self) -> impl Iterator<Item = &'a Form> {
        let index = self.index;
        self.checked.forms.iter().filter(move |form| form.opcode == index)
    }

    fn page(&self) -> Page {
        Page {
            opcode: text(&self.opcode.name),
            forms: self.forms().count() as u32,
            entries: list(self.opcode.entries.iter().enumerate().map(|(number, entry)| self.entry(number, entry))),
            modifiers: list(self.opcode.slots.iter().enumerate().map(|(index, slot)| self.modifier(index, slot))),
            matrices: list(self.matrices()),
            functions: list(self.functions()),
        }
    }

    fn entry(&self, number: usize, entry: &Entry) -> isa_page::Entry {
        let mut paragraphs = entry.docs.split("\n\n").map(one_line);
        isa_page::Entry {
            section: text(&entry.section),
            source: text(self.sources.cite(entry.span)),
            forms: self.forms().filter(|form| form.entry == number).count() as u32,
            summary: paragraphs.next().unwrap_or_default(),
            details: list(paragraphs),
            syntax: list((0..entry.syntaxes.len()).map(|line| self.line(number, entry, line))),
            operands: list(self.operands(entry)),
            rules: list(
                entry
                    .legal
                    .iter()
                    .map(|rule| text(format!("{} needs {}", words(&rule.subject), words(&rule.condition)))),
            ),
            semantics: list(pseudo::unfilled(entry.semantics.as_deref().unwrap_or_default()).into_iter().map(text)),
            floors: list(floors(entry)),
            lenient: list(lenient(entry)),
            errata: list(entry.errata.iter().map(|erratum| Erratum {
                subject: one_line(&erratum.subject),
                manual: one_line(&erratum.manual),
                machine: one_line(&erratum.machine),
            })),
            examples: list(
                entry.examples.iter().map(|example| Example { text: text(&example.text), refused: example.refused }),
            ),
        }
    }

    fn line(&self, number: usize, entry: &Entry, line: usize) -> Line {
        let syntax = &entry.syntaxes[line];
        let items = syntax.items.iter().map(|item| {
            let slot = &self.opcode.slots[item.slot];
            // Members that a condition of the line leaves nothing of are not shown.
            let forms = self.forms().filter(|form| (form.entry, form.syntax) == (number, line));
            let found: BTreeSet<usize> = forms.filter_map(|form| form.choice.values[item.slot]).collect();
            Item {
                name: text(&slot.name),
                members: list(found.into_iter().map(|member| text(&slot.members[member].spelling))),
                optional: item.optional,
            }
        });
        Line {
            text: text(format!("{};", syntax.text)),
            items: list(items),
            operands: list(syntax.patterns.iter().map(|pattern| text(notation(entry, pattern)))),
        }
    }

    fn operands(&self, entry: &Entry) -> Vec<Operand> {
        let mut found = Vec::new();
        for (index, operand) in entry.operands.iter().enumerate() {
            let patterns: Vec<&Pattern> =
                entry.syntaxes.iter().flat_map(|syntax| &syntax.patterns).filter(|p| p.operand == index).collect();
            let seconds = entry.syntaxes.iter().flat_map(|syntax| &syntax.patterns);
            let second = seconds.filter_map(|pattern| pattern.second.as_ref()).find(|(second, _)| *second == index);
            let written = second.is_some() || patterns.iter().any(|pattern| pattern.destination);
            let (ty, types) = match operand.ty {
                OperandType::Fixed(ty) => (format!(".{}", self.model().ty(ty).name), vec![ty]),
                OperandType::Slot(slot) => {
                    let slot = &self.opcode.slots[slot];
                    (format!(".{}", slot.name), self.types_of(entry, slot))
                }
            };
            let mut takes = vec![registers(self.model(), operand.registers.as_deref(), &types)];
            if operand.sink {
                takes.push("the sink `_`".into());
            }
            let constants = types.iter().any(|ty| !self.model().ty(*ty).constants.is_empty());
            let never = |thing| operand.without.iter().any(|(things, when)| when.is_none() && things.contains(&thing));
            if !never(0) && constants && !written {
                takes.push(constant_kinds(self.model(), &types));
            }
            if patterns.iter().any(|pattern| pattern.negation == Permission::Yes) {
                takes.push(format!("`!{}` for its complement", operand.name));
            }
            if patterns.iter().any(|pattern| pattern.optional) {
                takes.push("it may be left out, with all behind it".into());
            }
            if second.is_some_and(|(_, optional)| *optional == Permission::Yes) {
                takes.push("it may be left out".into());
            }
            if let Some(selector) = patterns.iter().find_map(|pattern| pattern.selector.as_ref()) {
                takes.push(selector_words(selector));
            }
            found.push(Operand {
                name: text(&operand.name),
                written,
                ty: text(ty),
                types: list(types.iter().map(|ty| text(&self.model().ty(*ty).name))),
                takes: list(takes.into_iter().map(text)),
            });
        }
        // Destinations are written first.
        found.sort_by_key(|operand| !operand.written);
        found
    }

    /// The types that an entry's lines have in a slot.
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
            let (description, domain) = match (member.meaning, slot.kind) {
                (Meaning::Operator(place), SlotKind::Operator(operator)) => {
                    let found = &self.model().operators[operator.0].members[place];
                    (one_line(&found.docs), text(&found.domain_text))
                }
                (Meaning::Type(ty), _) => (one_line(&self.model().ty(ty).docs), ""),
                (Meaning::Operator(_) | Meaning::Flag, _) => ("", ""),
            };
            Member { name: text(&member.spelling), description, domain }
        });
        let description = match slot.kind {
            SlotKind::Operator(operator) => one_line(&self.model().operators[operator.0].docs),
            SlotKind::Type | SlotKind::Flag => "",
        };
        Modifier {
            name: text(&slot.name),
            description,
            optional: self.forms().any(|form| form.choice.values[index].is_none()),
            members: list(members),
        }
    }

    /// Matrices of each type modifier against those that do not go with all of its members.
    fn matrices(&self) -> Vec<Matrix> {
        let slots = &self.opcode.slots;
        let types: Vec<usize> = (0..slots.len()).filter(|slot| slots[*slot].kind == SlotKind::Type).collect();
        let first = (0..slots.len()).find(|slot| matches!(slots[*slot].kind, SlotKind::Operator(_)));
        let mut found = Vec::new();
        for across in &types {
            let partial: Vec<usize> = (0..slots.len())
                .filter(|down| down != across && !self.goes_with_all(*down, *across))
                // Two types are set against each other once.
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
        if let (true, Some(across)) = (found.is_empty(), types.last()) {
            let leading = first.or(types.first().copied().filter(|slot| slot != across));
            found.push(self.matrix(*across, leading.as_slice()));
        }
        found
    }

    fn goes_with_all(&self, down: usize, across: usize) -> bool {
        let rows = 0..self.opcode.slots[down].members.len();
        let columns = 0..self.opcode.slots[across].members.len();
        rows.into_iter()
            .all(|row| columns.clone().all(|column| self.with(&[(down, row), (across, column)]).next().is_some()))
    }

    /// The forms that have these members.
    fn with(&self, members: &[(usize, usize)]) -> impl Iterator<Item = &'a Form> {
        self.forms().filter(move |form| members.iter().all(|(slot, member)| form.choice.values[*slot] == Some(*member)))
    }

    fn matrix(&self, across: usize, downs: &[usize]) -> Matrix {
        let columns = &self.opcode.slots[across];
        let cells = |row: Option<(usize, usize)>| {
            list((0..columns.members.len()).map(|column| {
                let pair: Vec<(usize, usize)> = row.into_iter().chain([(across, column)]).collect();
                self.cell(&pair)
            }))
        };
        let mut groups: Vec<Group> = downs
            .iter()
            .map(|down| {
                let slot = &self.opcode.slots[*down];
                let rows = slot.members.iter().enumerate().map(|(index, member)| Row {
                    name: text(format!(".{}", member.spelling)),
                    cells: cells(Some((*down, index))),
                });
                Group { name: text(&slot.name), rows: list(rows) }
            })
            .collect();
        if groups.is_empty() {
            groups.push(Group { name: "", rows: list([Row { name: text(&self.opcode.name), cells: cells(None) }]) });
        }
        Matrix {
            across: text(&columns.name),
            columns: list(columns.members.iter().map(|member| text(&member.spelling))),
            groups: list(groups),
        }
    }

    fn cell(&self, members: &[(usize, usize)]) -> Cell {
        let forms: Vec<&Form> = self.with(members).collect();
        let Some(first) = forms.first() else {
            return Cell { forms: 0, ptx: "", target: "", reason: self.reason(members), example: "" };
        };
        let ptx = forms.iter().map(|form| form.floor.ptx).min().expect("there is a first");
        let sm = forms.iter().map(|form| form.floor.sm).min().expect("there is a first");
        Cell {
            forms: forms.len() as u32,
            ptx: text(format!("{}.{}", ptx.0, ptx.1)),
            target: text(format!("sm_{sm}")),
            reason: "",
            example: text(&first.mnemonic),
        }
    }

    /// The rule that refuses the members together, whatever stands beside them.
    fn reason(&self, members: &[(usize, usize)]) -> &'static str {
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
        rule.map_or("no syntax line has both", |rule| text(&rule.reason))
    }

    /// Whether a set holds all that may stand in a slot.
    fn is_full(&self, slot: usize, values: u64) -> bool {
        let mut all = self.forms().map(|form| form.choice.values[slot].map_or(ABSENT, |member| member as u8));
        all.all(|value| values >> value & 1 != 0)
    }

    /// The functions that the pseudo-code of any form calls.
    fn functions(&self) -> Vec<Function> {
        let mut names = Vec::new();
        for entry in &self.opcode.entries {
            calls_of_block(entry.semantics.as_deref().unwrap_or_default(), &mut names);
        }
        for slot in &self.opcode.slots {
            if let SlotKind::Operator(operator) = slot.kind {
                for member in &slot.members {
                    if let Meaning::Operator(place) = member.meaning {
                        calls(&self.model().operators[operator.0].members[place].body, &mut names);
                    }
                }
            }
        }
        let mut found: Vec<Function> = Vec::new();
        for name in names {
            let builtin = self.model().builtins.iter().find(|builtin| builtin.name == name);
            let Some(builtin) = builtin else { continue };
            if found.iter().all(|function| function.signature != builtin.signature) {
                found.push(Function { signature: text(&builtin.signature), description: one_line(&builtin.docs) });
            }
        }
        found
    }
}

fn calls_of_block(statements: &[Stmt], names: &mut Vec<String>) {
    for statement in statements {
        match statement {
            Stmt::Assign { target: _, value } => calls(value, names),
            Stmt::If { condition: _, then, otherwise } => {
                calls_of_block(then, names);
                calls_of_block(otherwise, names);
            }
        }
    }
}

fn calls(expr: &Expr, names: &mut Vec<String>) {
    match &expr.kind {
        ExprKind::Call(name, args) => {
            names.push(name.to_string());
            args.iter().for_each(|arg| calls(arg, names));
        }
        ExprKind::Unary(_, inner) | ExprKind::As(inner, _) | ExprKind::In(inner, _) | ExprKind::Index(inner, _) => {
            calls(inner, names);
        }
        ExprKind::Binary(_, a, b) | ExprKind::Infix(_, a, b) => {
            calls(a, names);
            calls(b, names);
        }
        ExprKind::Choose(a, b, c) => [a, b, c].into_iter().for_each(|expr| calls(expr, names)),
        ExprKind::Name(_) | ExprKind::Dotted(_) | ExprKind::Target(_) | ExprKind::Integer(_) | ExprKind::Float(_) => {}
    }
}

/// An operand in the manual's notation: `{!}c`, `p[|q]`, `a{.asel}`.
fn notation(entry: &Entry, pattern: &Pattern) -> String {
    let name = |operand: usize| entry.operands[operand].name.as_str();
    let mut out = String::new();
    out += if pattern.negation == Permission::Yes { "{!}" } else { "" };
    out += name(pattern.operand);
    match &pattern.second {
        Some((second, Permission::Yes)) => out += &format!("[|{}]", name(*second)),
        Some((second, _)) => out += &format!("|{}", name(*second)),
        None => {}
    }
    if let Some(selector) = &pattern.selector {
        let may_be_absent = selector.omission != Permission::No;
        out += &if may_be_absent { format!("{{.{}}}", selector.name) } else { format!(".{}", selector.name) };
    }
    if pattern.optional { format!("{{{out}}}") } else { out }
}

fn floors(entry: &Entry) -> Vec<Floor> {
    let floor = |requirement: &Requirement, lenient| Floor {
        subject: requirement.condition.as_ref().map(|condition| text(pseudo::text(condition))),
        ptx: requirement.ptx.as_ref().map(|version| text(format!("{}.{}", version.major, version.minor))),
        target: requirement.target.as_ref().map(|target| text(format!("sm_{}", target.sm))),
        lenient,
    };
    let manual = entry.requires.iter().map(|requirement| floor(requirement, None));
    let assembler = entry.lenient_floors.iter().map(|(requirement, note)| floor(requirement, Some(one_line(note))));
    manual.chain(assembler).collect()
}

/// The notes on what may be written beyond the manual.
fn lenient(entry: &Entry) -> Vec<&'static str> {
    let mut notes: Vec<&'static str> = entry.lenient_forms.iter().map(|forms| one_line(&forms.text)).collect();
    for pattern in entry.syntaxes.iter().flat_map(|syntax| &syntax.patterns) {
        let second = pattern.second.as_ref().map_or(&Permission::No, |(_, optional)| optional);
        let omission = pattern.selector.as_ref().map_or(&Permission::No, |selector| &selector.omission);
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

fn registers(model: &Model, own: Option<&[TypeId]>, types: &[TypeId]) -> String {
    let named = |list: &[TypeId]| {
        let names: Vec<String> = list.iter().map(|ty| format!("`.{}`", model.ty(*ty).name)).collect();
        format!("a register: {}", names.join(", "))
    };
    match (own, types) {
        (Some(own), _) => named(own),
        (None, [only]) => named(&model.ty(*only).registers),
        (None, _) => "a register that fits the type".into(),
    }
}

fn constant_kinds(model: &Model, types: &[TypeId]) -> String {
    let has = |constant| types.iter().any(|ty| model.ty(*ty).constants.contains(&constant));
    match (has(Constant::Integer), has(Constant::Float) || has(Constant::Single)) {
        (true, true) => "a constant of its type".into(),
        (true, false) => "an integer constant".into(),
        (false, _) => "a float constant".into(),
    }
}

fn selector_words(selector: &Selector) -> String {
    let Selector { name, letter, shape, default, omission } = selector;
    let digits = |count: u32, digit: &dyn Fn(u32) -> Option<u32>| {
        let digits: String = (0..count).rev().filter_map(digit).map(|digit| digit.to_string()).collect();
        format!("`.{letter}{digits}`")
    };
    let (what, default) = match shape {
        SelectorShape::Lanes { lanes, of } => {
            let what =
                format!("`.{letter}` and a digit for each of {lanes} lanes, the highest first: which of {of} it is");
            (what, digits(*lanes, &|lane| Some(default >> (4 * lane) & 15)))
        }
        SelectorShape::Subset { of } => {
            let what = format!("`.{letter}` and the digits of the lanes that count, of {of}, falling");
            (what, digits(*of, &|lane| (default >> lane & 1 != 0).then_some(lane)))
        }
        SelectorShape::Listed(words) => {
            let what = words.iter().map(|word| format!("`.{word}`")).collect::<Vec<_>>().join(", ");
            let default = words.get(*default as usize).map_or("none of them".into(), |word| format!("`.{word}`"));
            (format!("one of {what}"), default)
        }
    };
    match omission {
        Permission::No => format!("behind it `.{name}`: {what}"),
        Permission::Yes | Permission::Lenient(_) => format!("behind it `.{name}`: {what}; left out it is {default}"),
    }
}
