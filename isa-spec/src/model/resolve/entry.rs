//! Resolution of an entry and its blocks.

use std::collections::HashSet;

use super::Resolver;
use super::operands::{entry_patterns, merge_shapes, syntax_text};
use isa_table::table::{Measure, MemoryOrderBuf};
use proc_macro2::Span;

use crate::model::{
    Bound, BoundBuf, Entry, Held, Item, Laid, LenientForms, Model, NOT_DESCRIBED, OnlyIf, Opcode, Operand, Requirement,
    Syntax,
};
use crate::syntax::ast;
use crate::text::Diagnostic;

impl Resolver {
    pub(super) fn entry(&mut self, entry: ast::Instruction, base: bool) {
        let (before, opcode, template) = (self.errors.len(), entry.opcode.to_string(), entry.from_template);
        self.own_entry(entry, base);
        if let Some(span) = template {
            self.errors.note_from(before, span, &format!("as `{opcode}` uses the template"));
        }
    }

    fn own_entry(&mut self, entry: ast::Instruction, base: bool) {
        let name = entry.opcode.to_string();
        self.opcode_is_a_word(&entry.opcode);
        let index = self.model.opcodes.iter().position(|opcode| opcode.name == name).unwrap_or_else(|| {
            self.model.opcodes.push(Opcode { name: name.clone(), slots: Vec::new(), entries: Vec::new() });
            self.model.opcodes.len() - 1
        });
        let mut slots = std::mem::take(&mut self.model.opcodes[index].slots);
        self.whole(&entry);
        let before = self.errors.len();
        let declared = self.sets(&entry);
        let mut operands = Vec::new();
        let mut used = HashSet::new();
        // Slots first: operand types refer to them.
        let mut lines: Vec<(Vec<Item>, &ast::SyntaxLine)> = Vec::new();
        for line in entry.syntax.iter().chain(&entry.lenient_syntax) {
            if line.opcode != name {
                self.error(
                    Diagnostic::new(line.opcode.span(), format!("this entry is about `{name}`"))
                        .label("another opcode")
                        .also(entry.opcode.span(), "the entry"),
                );
            }
            lines.push((self.items(line, &declared, &entry.free, &mut slots, &mut used), line));
        }
        for word in &entry.free {
            if !slots.iter().any(|slot| slot.name == word.as_ref()) {
                let names = slots.iter().map(|slot| slot.name.as_str());
                self.error(
                    Diagnostic::new(word.span(), format!("no syntax line has the modifier `.{word}`"))
                        .suggest(word.as_ref(), names),
                );
            }
        }
        if slots.len() > isa_table::limits::SLOTS {
            let message = format!("`{name}` has more than {} different modifiers", isa_table::limits::SLOTS);
            self.error(Diagnostic::new(entry.opcode.span(), message));
        }
        self.operands(&entry, &slots, &mut operands);
        // As statements have them: templates declare some before others.
        let order: Vec<usize> = lines.iter().flat_map(|(_, line)| self.names(line, &operands)).collect();
        let mut numbered: Vec<(usize, Operand)> = operands.into_iter().enumerate().collect();
        numbered.sort_by_key(|(index, _)| order.iter().position(|other| other == index).unwrap_or(usize::MAX));
        let operands: Vec<Operand> = numbered.into_iter().map(|(_, operand)| operand).collect();
        let mut syntaxes: Vec<Syntax> = Vec::new();
        let mut written = HashSet::new();
        let strict = entry.syntax.len();
        for (number, (items, line)) in lines.into_iter().enumerate() {
            let written_operands: Vec<usize> = self.names(line, &operands);
            written.extend(written_operands);
            let patterns = self.patterns(line, &entry, &operands, &declared, &mut used);
            if number < strict {
                let text = syntax_text(line);
                let span = line.opcode.span();
                syntaxes.push(Syntax { span, text, items, patterns, condition: None });
            } else {
                self.relax(line, &items, &patterns, &mut syntaxes);
            }
        }
        for (syntax, line) in syntaxes.iter_mut().zip(&entry.syntax) {
            syntax.condition = line.condition.clone();
        }
        merge_shapes(&mut syntaxes);
        self.states(&entry, &operands, &mut syntaxes);
        // A misspelled name would make the name that was meant seem unused.
        let whole = self.errors.len() == before;
        for (index, operand) in operands.iter().enumerate() {
            if whole && operand.state.is_none() && !written.contains(&index) {
                let names = entry_patterns(&syntaxes, &operands);
                self.error(
                    Diagnostic::new(operand.span, format!("no syntax line names the operand `{}`", operand.name))
                        .near(&operand.name, names.iter().map(String::as_str)),
                );
            }
        }
        for set in &entry.sets {
            let set_name = set.name.to_string();
            if whole && !used.contains(&set_name) {
                let flags: Vec<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
                self.error(
                    Diagnostic::new(set.name.span(), format!("no syntax line uses `.{set_name}`"))
                        .near(&set_name, flags),
                );
            }
        }
        let mut unread = Vec::new();
        for word in &entry.unread {
            let text = word.to_string();
            match slots.iter().position(|slot| slot.name == text) {
                Some(slot) => unread.push((slot, word.span())),
                None => self.error(
                    Diagnostic::new(word.span(), format!("no syntax line has the modifier `.{text}`"))
                        .suggest(&text, slots.iter().map(|slot| slot.name.as_str())),
                ),
            }
        }
        let mut requires = Vec::new();
        for requirement in entry.requires {
            requires.push(self.requirement(requirement));
        }
        let mut lenient_floors = Vec::new();
        for floor in entry.lenient_floors {
            if floor.docs.is_empty() {
                let span = floor.requirement.span;
                self.error(Diagnostic::new(span, "a lenient floor says why in a `///` line"));
            }
            lenient_floors.push((self.requirement(floor.requirement), floor.docs));
        }
        let mut lenient_forms = Vec::new();
        for ast::LenientForms { docs: text, span, condition } in entry.lenient_forms {
            if text.is_empty() {
                self.error(Diagnostic::new(
                    span,
                    "missing `///` description: explain what the assembler accepts beyond the manual",
                ));
            }
            lenient_forms.push(LenientForms { span, condition, text });
        }
        let mut bounds = Vec::new();
        for ast::Bound { condition, measure, value, amount } in entry.bounds {
            let known = Measure::ALL.iter().find(|known| measure == known.name());
            match known {
                Some(known) => {
                    let distance = BoundBuf { measure: *known, value, amount: amount.to_bits() };
                    bounds.push(Bound { condition, distance });
                }
                None => self.error(
                    Diagnostic::new(measure.span(), format!("unknown error measure `{measure}`"))
                        .suggest(measure.as_ref(), Measure::ALL.iter().map(|known| known.name())),
                ),
            }
        }
        let fragments = self.fragments(&entry.fragments, &operands);
        let layouts = self.layouts(&entry.layouts, &operands);
        let also = self.also(&entry.opcode, &entry.also);
        for with in entry.examples.iter().filter_map(|example| example.with.clone()) {
            self.requirement(with);
        }
        let (mut effects, mut semantics, mut lacks) = (Vec::new(), None, String::new());
        match entry.semantics {
            Some(ast::Semantics::Statements(statements)) => {
                let (own, rest) = self.part(statements);
                effects = own;
                semantics = (effects.is_empty() || !rest.is_empty()).then_some(rest);
            }
            Some(ast::Semantics::None(why)) if why.is_empty() => lacks.push_str(NOT_DESCRIBED),
            Some(ast::Semantics::None(why)) => lacks = why,
            None => {}
        }
        let resolved = Entry {
            span: entry.opcode.span(),
            from_template: entry.from_template,
            base,
            summary: entry.summary,
            also,
            docs: entry.docs,
            section: entry.section.map(|(text, _)| text).unwrap_or_default(),
            syntaxes,
            operands,
            fragments,
            layouts,
            narrowed: entry.narrowed.into_iter().map(only_if).collect(),
            unread,
            legal: entry.legal.into_iter().map(only_if).collect(),
            requires,
            effects,
            lacks,
            semantics,
            bounds,
            lenient_floors,
            lenient_forms,
            errata: entry.errata,
            examples: entry.examples,
        };
        let opcode = &mut self.model.opcodes[index];
        opcode.slots = slots;
        opcode.entries.push(resolved);
    }

    /// Separates effects, with their conditions, from computations.
    fn part(&self, statements: Vec<ast::Stmt>) -> (Vec<ast::Stmt>, Vec<ast::Stmt>) {
        let (mut effects, mut rest) = (Vec::new(), Vec::new());
        for statement in statements {
            match statement {
                ast::Stmt::Effect { .. } => effects.push(statement),
                ast::Stmt::Assign { ref value, .. } if self.is_effect(value) => effects.push(statement),
                ast::Stmt::If { condition, then, otherwise } => {
                    let ((then, rest_then), (otherwise, rest_otherwise)) = (self.part(then), self.part(otherwise));
                    for (list, then, otherwise) in
                        [(&mut effects, then, otherwise), (&mut rest, rest_then, rest_otherwise)]
                    {
                        if !then.is_empty() || !otherwise.is_empty() {
                            list.push(ast::Stmt::If { condition: condition.clone(), then, otherwise });
                        }
                    }
                }
                _ => rest.push(statement),
            }
        }
        (effects, rest)
    }

    fn is_effect(&self, value: &ast::Expr) -> bool {
        let ast::ExprKind::Call(name, _, _) = &value.kind else { return false };
        self.model.effects.iter().any(|effect| name == effect.kind.name())
    }

    /// Checks for the blocks that every entry needs.
    pub(super) fn whole(&mut self, entry: &ast::Instruction) {
        let span = entry.opcode.span();
        let opcode = &entry.opcode;
        let missing = [
            (entry.docs.is_empty(), "description", "describe the instruction in `///` lines above it"),
            (entry.section.is_none(), "section", "add `section 9.7.6.1;`"),
            (entry.syntax.is_empty(), "syntax line", "add `syntax { … }`"),
            (
                entry.semantics.is_none(),
                "semantics",
                "add `semantics { … }`, or `semantics none;` if it is only syntax",
            ),
            (entry.examples.is_empty(), "example", "add `examples { … }`"),
        ];
        for (absent, what, help) in missing {
            if absent {
                self.error(Diagnostic::new(span, format!("missing {what}: entry `{opcode}` has none")).help(help));
            }
        }
    }

    /// Resolves the fragments of operands.
    fn fragments(&mut self, list: &[ast::FragmentOf], operands: &[Operand]) -> Vec<Held> {
        let known: Vec<String> = self.model.fragments.iter().map(|fragment| fragment.name.clone()).collect();
        let held = |(fragment, operand, case): (usize, usize, &ast::FragmentCase)| Held {
            span: case.name.span(),
            operand,
            fragment,
            by: case.by.map(|by| by.value),
            condition: case.condition.clone(),
        };
        self.cases(list, operands, "fragment", &known).into_iter().map(held).collect()
    }

    /// Resolves the bit layouts of operands.
    fn layouts(&mut self, list: &[ast::FragmentOf], operands: &[Operand]) -> Vec<Laid> {
        for by in list.iter().flat_map(|of| &of.cases).filter_map(|case| case.by) {
            self.error(Diagnostic::new(by.span, "a layout says itself how many bits it has"));
        }
        let known: Vec<String> = self.model.layouts.iter().map(|layout| layout.name.clone()).collect();
        let laid = |(layout, operand, case): (usize, usize, &ast::FragmentCase)| Laid {
            span: case.name.span(),
            operand,
            layout,
            condition: case.condition.clone(),
        };
        self.cases(list, operands, "layout", &known).into_iter().map(laid).collect()
    }

    /// For each case and operand, the index of the named definition and that of the operand.
    fn cases<'a>(
        &mut self,
        list: &'a [ast::FragmentOf],
        operands: &[Operand],
        what: &str,
        known: &[String],
    ) -> Vec<(usize, usize, &'a ast::FragmentCase)> {
        let mut found = Vec::new();
        for ast::FragmentOf { names, cases } in list {
            let numbers: Vec<usize> = names.iter().filter_map(|name| self.operand(name, operands)).collect();
            for case in cases {
                match known.iter().position(|other| case.name == *other) {
                    Some(number) => found.extend(numbers.iter().map(|operand| (number, *operand, case))),
                    None => {
                        let message = format!("unknown {what} `{}`", case.name);
                        let error = Diagnostic::new(case.name.span(), message);
                        self.error(error.suggest(case.name.as_ref(), known.iter().map(String::as_str)));
                    }
                }
            }
        }
        found
    }

    /// Checks other names: distinct phrases, and functions as C++ spells them.
    fn also(&mut self, opcode: &ast::Ident, also: &[(String, Span)]) -> Vec<String> {
        let mut phrases: Vec<String> = Vec::new();
        for (phrase, span) in also {
            let word = |word: &str| {
                word.len() >= 2 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            };
            let is_function = phrase
                .contains(|letter: char| matches!(letter, '_' | ':') || letter.is_ascii_uppercase())
                && phrase.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'));
            if !is_function && !phrase.split(' ').all(word) {
                let message = "other names are lower-case words separated by single spaces, or a function of C++";
                self.error(Diagnostic::new(*span, message).help("like `also \"exchange lanes\", \"__swap_lanes\";`"));
            } else if phrases.contains(phrase) {
                self.error(Diagnostic::new(*span, "duplicate name"));
            } else if *phrase == opcode.as_ref() {
                self.error(Diagnostic::new(*span, "redundant name: it is the opcode"));
            }
            phrases.push(phrase.clone());
        }
        phrases
    }

    /// Checks that an opcode can name generated items.
    fn opcode_is_a_word(&mut self, opcode: &ast::Ident) {
        let text = opcode.to_string();
        if text.contains(|letter: char| letter.is_ascii_uppercase()) {
            let message = format!("an opcode is written in small letters, not `{text}`");
            let small = text.to_ascii_lowercase();
            self.error(Diagnostic::new(opcode.span(), message).help(format!("write `{small}`")));
        }
    }

    /// Adds modifier words: their descriptions, and how they order accesses.
    pub(super) fn modifiers(&mut self, words: Vec<ast::Word>) {
        const ATTRIBUTES: [&str; 3] = ["atomic", "acquires", "releases"];
        for ast::Word { docs, name, attributes, floor } in words {
            if let Some(floor) = floor {
                self.requirement(floor);
            }
            for attribute in attributes.iter().filter(|attribute| ATTRIBUTES.iter().all(|known| attribute != known)) {
                let message = format!("unknown attribute `{attribute}` of a modifier");
                self.error(Diagnostic::new(attribute.span(), message).suggest(attribute.as_ref(), ATTRIBUTES));
            }
            if !attributes.is_empty() {
                let has = |name: &str| attributes.iter().any(|attribute| attribute == name);
                let (acquires, releases) = (has("acquires"), has("releases"));
                self.model.orders.push(MemoryOrderBuf { name: name.to_string(), acquires, releases });
            }
            self.model.vocabulary.push((name.to_string(), docs));
        }
    }

    /// Gives members of `words` without a description that of the modifier word.
    pub(super) fn describe_words(&mut self) {
        let Model { operators, vocabulary, .. } = &mut self.model;
        let members = operators.iter_mut().flat_map(|operator| &mut operator.members);
        for member in members.filter(|member| member.docs.is_empty()) {
            if let Some((_, docs)) = vocabulary.iter().find(|(word, _)| *word == member.name) {
                member.docs.clone_from(docs);
            }
        }
    }

    pub(super) fn requirement(&mut self, requirement: ast::Requirement) -> Requirement {
        let ast::Requirement { span, condition, removed, ptx, targets } = requirement;
        if removed && (ptx.is_none() || targets.len() != 1) {
            let message = "a removal requires a version and a target";
            self.error(Diagnostic::new(span, message).help("write `removed ptx 6.4, sm_70;`"));
        }
        let ptx = ptx.map(|version| self.version(&version));
        let targets = targets.iter().map(|target| self.target(target)).collect();
        Requirement { span, condition, removed, ptx, targets }
    }
}

fn only_if(rule: ast::OnlyIf) -> OnlyIf {
    OnlyIf { subject: rule.subject, condition: rule.condition, span: rule.span }
}
