//! Resolution of the operands of an entry: their types and their notation in syntax lines.

use std::collections::HashSet;

use isa_table::limits;
use isa_table::notation::Around;

use super::{Declared, Resolver};
use crate::model::{
    ADDRESS, Item, Kind, Operand, OperandKind, OperandType, Pairs, Pattern, Permission, RangeBuf, Slot, SlotKind,
    Spaces, State, Substitute, SubstituteRule, Syntax, TypeCase, TypeId, TypeSet,
};
use crate::syntax::ast::{self, Ident};
use crate::syntax::walk;
use crate::text::Diagnostic;

/// Operand attributes.
const ATTRIBUTES: [&str; 7] = ["register", "sink", "sinks", "destination", "wider", "immediate", "unread"];

impl Resolver {
    pub(super) fn operands(&mut self, entry: &ast::Instruction, slots: &[Slot], operands: &mut Vec<Operand>) {
        for group in &entry.operands {
            let cases: Vec<TypeCase> = group.cases.iter().map(|case| self.type_case(case, entry, slots)).collect();
            for attribute in &group.attributes {
                let text = attribute.to_string();
                if !ATTRIBUTES.contains(&text.as_str()) {
                    self.error(
                        Diagnostic::new(attribute.span(), format!("unknown operand attribute `{text}`"))
                            .suggest(&text, ATTRIBUTES),
                    );
                }
                if text == "destination" && matches!(entry.semantics, Some(ast::Semantics::Statements(_))) {
                    self.error(
                        Diagnostic::new(
                            attribute.span(),
                            "redundant `destination`: the semantics determine destinations",
                        )
                        .help("`destination` is for entries with `semantics none;`"),
                    );
                }
            }
            let registers = group
                .registers
                .as_ref()
                .map(|registers| registers.iter().filter_map(|register| self.type_id(register)).collect());
            let mut substitutes = Vec::new();
            if group.attributes.iter().any(|attribute| attribute == "register") {
                // Mixtures and missing braces concern registers, which these operands are.
                let other = |substitute: &Substitute| {
                    !matches!(
                        substitute,
                        Substitute::Mixtures | Substitute::Numbers | Substitute::Bare | Substitute::Longer
                    )
                };
                let kinds = Substitute::ALL.iter().copied().filter(other).collect();
                substitutes.push(SubstituteRule { with: false, kinds, registers: TypeSet::default(), condition: None });
            }
            for ast::SubstituteRule { with, kinds, registers, condition } in &group.substitutes {
                let mut found = Vec::new();
                for kind in kinds {
                    let text = kind.to_string();
                    match Substitute::ALL.iter().find(|substitute| substitute.name() == text) {
                        Some(substitute) => found.push(*substitute),
                        None => self.error(
                            Diagnostic::new(kind.span(), format!("unknown kind of substitute `{text}`"))
                                .suggest(&text, Substitute::ALL.iter().map(|substitute| substitute.name())),
                        ),
                    }
                }
                if let Some(first) = registers.first().filter(|_| *with || condition.is_none()) {
                    let message = "types of registers are refused under a condition: `without { .b128 } where …`";
                    self.error(
                        Diagnostic::new(first.span(), message)
                            .help("list those that are always accepted in `registers { … }`"),
                    );
                }
                let registers = registers.iter().filter_map(|register| self.type_id(register)).collect();
                substitutes.push(SubstituteRule { with: *with, kinds: found, registers, condition: condition.clone() });
            }
            let has = |name: &str| group.attributes.iter().any(|attribute| attribute == name);
            let within: Vec<RangeBuf> = group.within.iter().map(|constants| self.constants(constants)).collect();
            let state = group.state.as_ref().map(|state| self.state(state, &cases));
            for name in &group.names {
                let text = name.to_string();
                if operands.iter().any(|other| other.name == text) {
                    self.error(Diagnostic::new(name.span(), format!("duplicate operand `{text}`")));
                    continue;
                }
                operands.push(Operand {
                    name: text,
                    span: name.span(),
                    cases: cases.clone(),
                    registers,
                    substitutes: substitutes.clone(),
                    sink: has("sink"),
                    sinks: has("sinks"),
                    destination: has("destination"),
                    wider: has("wider"),
                    immediate: has("immediate"),
                    within: within.clone(),
                    unread: has("unread"),
                    state: state.clone(),
                    condition: group.condition.clone(),
                });
            }
        }
    }

    fn constants(&mut self, constants: &ast::Constants) -> RangeBuf {
        let ast::Constants { least, most, step } = constants;
        if least.0 > most.0 {
            self.error(Diagnostic::new(most.1, "the largest constant is below the least"));
        }
        if let Some(step) = step.as_ref().filter(|step| step.value == 0 || least.0 % i64::from(step.value) != 0) {
            self.error(Diagnostic::new(step.span, format!("the least constant is {}, no multiple of this", least.0)));
        }
        let step = step.as_ref().map_or(1, |step| u64::from(step.value).max(1));
        RangeBuf { least: least.0, most: most.0, step }
    }

    /// Resolves the name of a state space.
    fn space(&mut self, space: &Ident) -> String {
        if !self.model.spaces.iter().any(|known| *space == known.name) {
            let names = self.model.spaces.iter().map(|known| known.name.as_str());
            let unknown = Diagnostic::new(space.span(), format!("unknown state space `.{space}`"));
            let unknown = unknown.suggest(space.as_ref(), names);
            self.error(unknown);
        }
        space.to_string()
    }

    /// Resolves the kind and type of operands under a condition.
    fn type_case(&mut self, case: &ast::TypeCase, entry: &ast::Instruction, slots: &[Slot]) -> TypeCase {
        // A single name may be a modifier's.
        let only = case.spaces.first().filter(|_| case.spaces.len() == 1);
        let spaces = match only.and_then(|only| slots.iter().position(|slot| *only == slot.name)) {
            Some(slot) => Spaces::Slot(slot),
            None => Spaces::Listed(case.spaces.iter().map(|space| self.space(space)).collect()),
        };
        let case_of = |kind, ty| TypeCase { ty, kind, spaces: spaces.clone(), condition: case.condition.clone() };
        // Recover with an arbitrary type, so that the names of the operands are known.
        let any = OperandType::Fixed(TypeId(0));
        match &case.what {
            ast::OperandKind::Value { count, map, ty } => {
                let kind = match count.as_ref().map(|count| &count.first) {
                    Some(ast::Factor::Of { .. }) | None => OperandKind::Scalar,
                    Some(ast::Factor::Number(count)) => {
                        if !(1..=limits::ELEMENTS).contains(&count.value) {
                            let message = format!("a vector has 1 to {} elements", limits::ELEMENTS);
                            self.error(Diagnostic::new(count.span, message));
                        }
                        OperandKind::Vector(count.value as u8)
                    }
                };
                case_of(kind, self.value_type(map.as_ref(), ty, entry, slots))
            }
            ast::OperandKind::Address => {
                let first = self.model.class_named(ADDRESS).and_then(|class| class.types.first().copied());
                case_of(OperandKind::Address, first.map_or(any, OperandType::Fixed))
            }
            ast::OperandKind::Other(word) => {
                let found = OperandKind::NAMED.iter().find(|(name, _)| word == name);
                if found.is_none() {
                    self.error(
                        Diagnostic::new(word.span(), format!("unknown operand kind `{word}`")).suggest(
                            word.as_ref(),
                            OperandKind::NAMED.iter().map(|(name, _)| *name).chain(["address"]),
                        ),
                    );
                }
                case_of(found.map_or(OperandKind::Scalar, |(_, kind)| *kind), any)
            }
        }
    }

    /// Resolves the type of a value: of a set, of a map, or fixed.
    fn value_type(&mut self, map: Option<&Ident>, ty: &Ident, entry: &ast::Instruction, slots: &[Slot]) -> OperandType {
        let name = ty.to_string();
        let slot = slots.iter().position(|slot| slot.name == name && slot.kind == SlotKind::Type);
        match (slot, self.model.type_named(&name)) {
            (Some(slot), _) => match map.map(|map| self.map_named(map)) {
                Some(Some(pairs)) => OperandType::Mapped(slot, pairs),
                Some(None) | None => OperandType::Slot(slot),
            },
            (None, Some(_)) if map.is_some() => {
                let message = format!("`.{name}` is not a set of types in this entry");
                self.error(Diagnostic::new(ty.span(), message));
                OperandType::Fixed(TypeId(0))
            }
            (None, Some(ty)) => OperandType::Fixed(ty),
            (None, None) => {
                let names = slots.iter().filter(|slot| slot.kind == SlotKind::Type).map(|slot| slot.name.as_str());
                let names: Vec<&str> = names.chain(self.model.types.iter().map(|ty| ty.name.as_str())).collect();
                let diagnostic = match entry.sets.iter().any(|set| *ty == set.name) {
                    true => Diagnostic::new(ty.span(), format!("no syntax line has the modifier `.{name}`"))
                        .suggest(&name, slots.iter().map(|slot| slot.name.as_str())),
                    false => Diagnostic::new(ty.span(), format!("`.{name}` is neither a type nor a set of types here"))
                        .suggest(&name, names),
                };
                self.error(diagnostic);
                OperandType::Fixed(TypeId(0))
            }
        }
    }

    /// Resolves a thread state by name, adding it if no other entry has it.
    fn state(&mut self, state: &ast::State, cases: &[TypeCase]) -> State {
        let ast::State { span, name, condition } = state;
        let predicate =
            |case: &TypeCase| matches!(case.ty, OperandType::Fixed(ty) if self.model.ty(ty).kind == Kind::Predicate);
        if !cases.iter().all(predicate) {
            self.error(Diagnostic::new(*span, format!("state `{name}` must be a predicate")));
        }
        let states = &mut self.model.states;
        let number = states.iter().position(|other| other == name).unwrap_or_else(|| {
            states.push(name.clone());
            states.len() - 1
        });
        if number >= limits::STATES {
            let message = format!("a table has at most {} states", limits::STATES);
            self.error(Diagnostic::new(*span, message));
        }
        State { number, condition: condition.clone() }
    }

    /// Patterns appended to every line: the states that the entry reads and writes.
    pub(super) fn states(&mut self, entry: &ast::Instruction, operands: &[Operand], syntaxes: &mut [Syntax]) {
        for (index, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.state.is_some()) {
            let destination = match &entry.semantics {
                Some(ast::Semantics::Statements(statements)) => assigns(statements, &operand.name),
                Some(ast::Semantics::None(_)) | None => operand.destination,
            };
            for syntax in &mut *syntaxes {
                if syntax.patterns.iter().any(|pattern| pattern.operand == index) {
                    let message = format!("`{}` is a state and must not be written in a syntax line", operand.name);
                    self.errors.push(Diagnostic::new(syntax.span, message));
                } else if syntax.patterns.iter().any(|pattern| pattern.optional) {
                    let message = "an entry with a state has no operands that may be left out";
                    self.errors.push(Diagnostic::new(operand.span, message));
                } else {
                    syntax.patterns.push(Pattern {
                        operand: index,
                        destination,
                        second: None,
                        trailing_sink: Permission::No,
                        negation: Permission::No,
                        selector: None,
                        optional: false,
                        around: Around::default(),
                    });
                }
            }
        }
    }

    fn map_named(&mut self, name: &Ident) -> Option<Pairs> {
        let text = name.to_string();
        let found = self.model.maps.iter().find(|(other, _)| *other == text).map(|(_, pairs)| pairs.clone());
        if found.is_none() {
            self.error(
                Diagnostic::new(name.span(), format!("unknown map `{text}`"))
                    .suggest(&text, self.model.maps.iter().map(|(name, _)| name.as_str())),
            );
        }
        found
    }

    pub(super) fn operand(&mut self, name: &Ident, operands: &[Operand]) -> Option<usize> {
        let text = name.to_string();
        let found = operands.iter().position(|operand| operand.name == text);
        if found.is_none() {
            self.error(
                Diagnostic::new(name.span(), format!("the operand `{text}` has no type"))
                    .suggest(&text, operands.iter().map(|operand| operand.name.as_str()))
                    .label("not in the `operands` block"),
            );
        }
        found
    }

    /// Patterns of the operands in a line that have a type.
    pub(super) fn names(&self, line: &ast::SyntaxLine, operands: &[Operand]) -> Vec<usize> {
        let names = line.operands.iter().flat_map(|pattern| {
            std::iter::once(&pattern.name).chain(pattern.second.as_ref().map(|(second, _)| second))
        });
        names.filter_map(|name| operands.iter().position(|operand| name == &operand.name)).collect()
    }

    pub(super) fn patterns(
        &mut self,
        line: &ast::SyntaxLine,
        entry: &ast::Instruction,
        operands: &[Operand],
        declared: &[(String, Declared)],
        used: &mut HashSet<String>,
    ) -> Vec<Pattern> {
        let mut patterns: Vec<Pattern> = Vec::new();
        for pattern in &line.operands {
            let Some(operand) = self.operand(&pattern.name, operands) else { continue };
            if patterns.iter().any(|other| other.operand == operand) {
                self.error(Diagnostic::new(pattern.name.span(), "duplicate operand in this line"));
            }
            let mut second = None;
            let mut trailing_sink = Permission::No;
            if let Some((name, optional)) = &pattern.second
                && name == "_"
            {
                trailing_sink = if *optional { Permission::Yes } else { Permission::No };
            } else if let Some((name, optional)) = &pattern.second {
                let permission = if *optional { Permission::Yes } else { Permission::No };
                second = self.operand(name, operands).map(|operand| (operand, permission));
            }
            let mut selector = None;
            if let Some((name, optional)) = &pattern.selector {
                let text = name.to_string();
                used.insert(text.clone());
                match declared.iter().find(|(other, _)| *other == text) {
                    Some((_, Declared::Selector(found))) => {
                        let mut found = found.clone();
                        found.spelling.omission = if *optional { Permission::Yes } else { Permission::No };
                        selector = Some(found);
                    }
                    Some((_, Declared::Listed { .. })) | None => {
                        let names = declared
                            .iter()
                            .filter(|(_, body)| matches!(body, Declared::Selector(_)))
                            .map(|(name, _)| name.as_str());
                        let diagnostic = Diagnostic::new(
                            name.span(),
                            format!("`.{text}` is not a set of lanes or masks in this entry"),
                        )
                        .suggest(&text, names)
                        .label("declare it with `lanes` or `subset`");
                        self.error(diagnostic);
                    }
                }
            }
            // Both operands of a pair are destinations; otherwise semantics or an attribute decide.
            let destination = second.is_some()
                || match &entry.semantics {
                    Some(ast::Semantics::Statements(statements)) => assigns(statements, pattern.name.as_ref()),
                    Some(ast::Semantics::None(_)) | None => operands[operand].destination,
                };
            patterns.push(Pattern {
                operand,
                destination,
                second,
                trailing_sink,
                negation: if pattern.negatable { Permission::Yes } else { Permission::No },
                selector,
                optional: pattern.optional,
                around: pattern.around,
            });
        }
        patterns
    }

    /// Applies a lenient line to the operands of the strict lines with the same modifiers.
    pub(super) fn relax(
        &mut self,
        line: &ast::SyntaxLine,
        items: &[Item],
        patterns: &[Pattern],
        syntaxes: &mut [Syntax],
    ) {
        if line.docs.is_empty() {
            self.error(Diagnostic::new(line.opcode.span(), "a lenient line says why in a `///` line"));
        }
        let same_items = |syntax: &Syntax| {
            syntax.items.len() == items.len()
                && syntax.items.iter().zip(items).all(|(a, b)| a.slot == b.slot && a.optional == b.optional)
        };
        let mut relaxed = 0;
        for syntax in syntaxes.iter_mut().filter(|syntax| same_items(syntax)) {
            let same_operands = syntax.patterns.len() == patterns.len()
                && syntax.patterns.iter().zip(patterns).all(|(a, b)| {
                    a.operand == b.operand
                        && a.second.as_ref().map(|s| s.0) == b.second.as_ref().map(|s| s.0)
                        && a.around == b.around
                });
            if !same_operands {
                continue;
            }
            for (strict, lenient) in syntax.patterns.iter_mut().zip(patterns) {
                if strict.negation == Permission::No && lenient.negation == Permission::Yes {
                    strict.negation = Permission::Lenient(line.docs.clone());
                    relaxed += 1;
                }
                if strict.trailing_sink == Permission::No && lenient.trailing_sink == Permission::Yes {
                    strict.trailing_sink = Permission::Lenient(line.docs.clone());
                    relaxed += 1;
                }
                if let (Some(strict), Some(lenient)) = (&mut strict.selector, &lenient.selector)
                    && strict.spelling.omission == Permission::No
                    && lenient.spelling.omission == Permission::Yes
                {
                    strict.spelling.omission = Permission::Lenient(line.docs.clone());
                    relaxed += 1;
                }
                if let (Some((_, strict)), Some((_, Permission::Yes))) = (&mut strict.second, &lenient.second)
                    && *strict == Permission::No
                {
                    *strict = Permission::Lenient(line.docs.clone());
                    relaxed += 1;
                }
            }
        }
        if relaxed == 0 {
            self.error(
                Diagnostic::new(line.opcode.span(), "this lenient line has no effect")
                    .help("repeat a syntax line and add `{!}`, `[|q]` or `[|_]`"),
            );
        }
    }
}

pub(super) fn entry_patterns(syntaxes: &[Syntax], operands: &[Operand]) -> Vec<String> {
    let patterns = syntaxes.iter().flat_map(|syntax| &syntax.patterns);
    patterns.map(|pattern| operands[pattern.operand].name.clone()).collect()
}

/// Merges lines that spell the same mnemonics and differ in trailing operands: those become optional.
pub(super) fn merge_shapes(syntaxes: &mut Vec<Syntax>) {
    let continues = |short: &Syntax, long: &Syntax| {
        let same_items = short.items.len() == long.items.len()
            && short
                .items
                .iter()
                .zip(&long.items)
                .all(|(a, b)| a.slot == b.slot && a.optional == b.optional && a.members == b.members);
        let selector = |pattern: &Pattern| pattern.selector.as_ref().map(|selector| selector.spelling.name.clone());
        let prefix = short.patterns.iter().zip(&long.patterns).all(|(a, b)| {
            // A selector that is mandatory in the longer line may be missing from the shorter one.
            let of_long = b.selector.as_ref().is_some_and(|selector| selector.spelling.omission != Permission::Yes);
            let same_selector = selector(a) == selector(b) || a.selector.is_none() && of_long;
            let same_around = a.around == b.around;
            a.operand == b.operand
                && a.destination == b.destination
                && a.second == b.second
                && same_selector
                && same_around
        });
        let plain = short.condition.is_none() && long.condition.is_none();
        plain && same_items && prefix && short.patterns.len() < long.patterns.len()
    };
    let mut index = 0;
    while index < syntaxes.len() {
        match syntaxes.iter().position(|long| continues(&syntaxes[index], long)) {
            Some(long) => {
                let short = syntaxes.remove(index);
                let long = &mut syntaxes[if long > index { long - 1 } else { long }];
                long.patterns[short.patterns.len()..].iter_mut().for_each(|pattern| pattern.optional = true);
                long.text = format!("{}; {}", short.text, long.text);
            }
            None => index += 1,
        }
    }
}

/// Returns true if semantics assign to a name: such an operand is a destination.
fn assigns(semantics: &[ast::Stmt], name: &str) -> bool {
    let mut found = false;
    walk::statements(semantics, &mut |statement| {
        found |= matches!(statement, ast::Stmt::Assign { target, value: _ } if target == name);
    });
    found
}

/// A syntax line as written, with normalized spacing.
pub(super) fn syntax_text(line: &ast::SyntaxLine) -> String {
    let mut text = line.opcode.to_string();
    for modifier in &line.modifiers {
        let name = &modifier.name;
        text += &if modifier.optional { format!("{{.{name}}}") } else { format!(".{name}") };
    }
    let operands = isa_table::notation::list(line.operands.iter().map(notation));
    if operands.is_empty() { text } else { text + " " + &operands }
}

fn notation(pattern: &ast::Pattern) -> isa_table::notation::Operand<'_> {
    let second = pattern.second.as_ref().map(|(second, optional)| (second.as_ref(), *optional));
    let selector = pattern.selector.as_ref().map(|(selector, optional)| (selector.as_ref(), *optional));
    isa_table::notation::Operand {
        name: pattern.name.as_ref(),
        negated: pattern.negatable,
        second,
        selector,
        optional: pattern.optional,
        around: pattern.around,
    }
}
