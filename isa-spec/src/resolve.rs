//! From the syntax tree to the model: every name finds what it names, or is reported with the nearest that exists.
//!
//! This module knows no types of expressions and no legality: it resolves names of items, slots, operands and sets.
//! Names inside semantics are resolved where their types are, in [`crate::check`].

use std::collections::HashSet;
use std::rc::Rc;

use proc_macro2::{Ident, Span, TokenStream};

use crate::ast::{self, ExprKind, ParamType, SetBody, Spec, TypeSet, TypeShape};
use crate::diagnostic::{Diagnostic, Errors};
use crate::model::{
    Builtin, Class, Constant, Entry, Erratum, Item, Kind, LenientForms, LenientNote, Meaning, Member, Model, OnlyIf,
    Opcode, Operand, OperandType, Operator, OperatorMember, Param, Pattern, Permission, Requirement, Selector,
    SelectorShape, Slip, Slot, SlotKind, Syntax, Type, TypeId,
};

const KINDS: [(&str, Kind); 5] = [
    ("predicate", Kind::Predicate),
    ("bits", Kind::Bits),
    ("unsigned", Kind::Unsigned),
    ("signed", Kind::Signed),
    ("float", Kind::Float),
];

const CONSTANTS: [(&str, Constant); 3] =
    [("integer", Constant::Integer), ("float", Constant::Float), ("single", Constant::Single)];

/// What the statement grammar can take beyond the manual, by the names a prelude notes it with.
pub(crate) const LENIENT: [&str; 8] = [
    "modifier_order",
    "blank_before_modifier",
    "repeated_destination",
    "constant_predicate",
    "register_plus_constant",
    "leading_zeros",
    "function_as_source",
    "sink_behind_destination",
];

/// What may stand for an operand besides a register, unless it is said to be without: constants, a register or
/// variable plus a constant, elements of vectors, and names of functions.
pub(crate) const THINGS: [&str; 4] = ["constants", "sums", "elements", "functions"];

/// Attributes of operands.
const ATTRIBUTES: [&str; 3] = ["register", "sink", "destination"];

/// A slot holds at most so many members: they are sets in one word at run time, with a bit for "absent".
const MAX_MEMBERS: usize = 62;

/// An instruction has at most so many slots: a choice is that long at run time.
const MAX_SLOTS: usize = 16;

/// A table holds at most so many types: they are sets in one word at run time.
const MAX_TYPES: usize = 64;

/// Resolves a whole spec.
///
/// # Errors
///
/// Every name that names nothing, stands twice or stands in the wrong place.
pub fn resolve(spec: Spec) -> Result<Model, Errors> {
    let mut resolver = Resolver { model: Model::default(), errors: Errors::new() };
    let mut later = Vec::new();
    let mut entries = Vec::new();
    // Items may stand in any order: types first, what is built from types next, entries last.
    let mut type_items = Vec::new();
    for item in spec.items {
        match item {
            // What it names has joined the spec: see `crate::library`.
            ast::Item::Use(_) => {}
            ast::Item::Bodies { path, span } => resolver.bodies(path, span),
            ast::Item::Versions(list) => resolver.model.versions.extend(list),
            ast::Item::Targets(groups) => {
                for group in groups {
                    let since = group.since;
                    resolver.model.targets.extend(group.targets.into_iter().map(|target| (target, since.clone())));
                }
            }
            ast::Item::Types(list) => type_items.extend(list),
            ast::Item::Instruction(entry) => entries.push(entry),
            other => later.push(other),
        }
    }
    resolver.versions_and_targets();
    resolver.types(type_items);
    let (classes, later): (Vec<_>, Vec<_>) = later.into_iter().partition(|item| matches!(item, ast::Item::Class(_)));
    for item in classes.into_iter().chain(later) {
        match item {
            ast::Item::Class(class) => resolver.class(class),
            ast::Item::Builtin(builtin) => resolver.builtin(builtin),
            ast::Item::Operator(operator) => resolver.operator(operator),
            ast::Item::Lenient(notes) => resolver.lenient(notes),
            ast::Item::Slips(slips) => resolver.slips(slips),
            ast::Item::Use(_)
            | ast::Item::Bodies { .. }
            | ast::Item::Versions(_)
            | ast::Item::Targets(_)
            | ast::Item::Types(_)
            | ast::Item::Instruction(_) => unreachable!("handled above"),
        }
    }
    for entry in entries {
        resolver.entry(entry);
    }
    resolver.model.opcodes.sort_by(|a, b| a.name.cmp(&b.name));
    resolver.errors.finish(resolver.model)
}

struct Resolver {
    model: Model,
    errors: Errors,
}

/// What the sets of an entry say about one name.
enum Declared {
    Listed { kind: SlotKind, members: Vec<Member> },
    Selector(Selector),
}

impl Resolver {
    fn error(&mut self, diagnostic: Diagnostic) {
        self.errors.push(diagnostic);
    }

    fn bodies(&mut self, path: TokenStream, span: Span) {
        if self.model.bodies.replace(path).is_some() {
            self.error(
                Diagnostic::new(span, "the bodies are in a module already")
                    .help("a spec has one module of bodies; it may re-export others: `pub use ptx_isa::eval::*;`"),
            );
        }
    }

    fn versions_and_targets(&mut self) {
        self.model.versions.sort_by_key(|version| (version.major, version.minor));
        let model = &mut self.model;
        for pair in model.versions.windows(2) {
            if (pair[0].major, pair[0].minor) == (pair[1].major, pair[1].minor) {
                self.errors.push(Diagnostic::new(pair[1].span, "this version stands twice"));
            }
        }
        model.targets.sort_by_key(|(target, _)| (target.sm, target.suffix));
        for pair in model.targets.windows(2) {
            let ((first, _), (second, _)) = (&pair[0], &pair[1]);
            if (first.sm, first.suffix) == (second.sm, second.suffix) {
                self.errors.push(Diagnostic::new(second.span, "this target stands twice"));
            }
        }
        let since: Vec<ast::Version> = model.targets.iter().map(|(_, since)| since.clone()).collect();
        for version in since {
            self.known_version(&version);
        }
    }

    fn known_version(&mut self, version: &ast::Version) {
        let known = self.model.versions.iter().any(|v| (v.major, v.minor) == (version.major, version.minor));
        if !known {
            let nearest = self.model.versions.iter().min_by_key(|v| {
                (i32::from(v.major) * 10 + i32::from(v.minor))
                    .abs_diff(i32::from(version.major) * 10 + i32::from(version.minor))
            });
            let help = nearest.map_or_else(
                || "the prelude lists no versions: add `ptx 1.0, …;`".to_owned(),
                |v| format!("the nearest version that the prelude lists is {}.{}", v.major, v.minor),
            );
            self.error(
                Diagnostic::new(version.span, format!("there is no PTX version {}.{}", version.major, version.minor))
                    .help(help),
            );
        }
    }

    fn known_target(&mut self, target: &ast::Target) {
        let known = self.model.targets.iter().any(|(t, _)| (t.sm, t.suffix) == (target.sm, target.suffix));
        if !known {
            let nearest = self.model.targets.iter().min_by_key(|(t, _)| t.sm.abs_diff(target.sm));
            let help = nearest.map_or_else(
                || "the prelude lists no targets: add `targets { … }`".to_owned(),
                |(t, _)| format!("the nearest target that the prelude lists is `sm_{}`", t.sm),
            );
            self.error(Diagnostic::new(target.span, "there is no such target").help(help));
        }
    }

    fn types(&mut self, items: Vec<ast::Type>) {
        let names: Vec<String> = items.iter().map(|item| item.name.to_string()).collect();
        let mut seen = HashSet::new();
        for (index, item) in items.iter().enumerate() {
            if !seen.insert(&names[index]) {
                self.error(Diagnostic::new(item.name.span(), format!("the type `.{}` stands twice", names[index])));
            }
        }
        for (index, item) in items.into_iter().enumerate() {
            let mut ty = Type {
                name: names[index].clone(),
                docs: item.docs,
                kind: Kind::Bits,
                bits: 0,
                exponent: 0,
                lanes: 1,
                lane: TypeId(index),
                registers: Vec::new(),
                constants: Vec::new(),
            };
            match &item.shape {
                TypeShape::Scalar { kind, bits, exponent } => {
                    match KINDS.iter().find(|(name, _)| kind == name) {
                        Some((_, found)) => ty.kind = *found,
                        None => self.error(
                            Diagnostic::new(kind.span(), format!("`{kind}` is no kind of type"))
                                .suggest(&kind.to_string(), KINDS.map(|(name, _)| name)),
                        ),
                    }
                    ty.bits = bits.value;
                    let widths: &[u32] = match ty.kind {
                        Kind::Predicate => &[1],
                        Kind::Float => &[16, 32, 64],
                        _ => &[8, 16, 32, 64, 128],
                    };
                    if !widths.contains(&bits.value) {
                        self.error(Diagnostic::new(bits.span, format!("no `{kind}` type has {} bits", bits.value)));
                    }
                    // IEEE 754's own, unless the type says otherwise.
                    let usual = [(16, 5), (32, 8), (64, 11)].iter().find(|(width, _)| *width == bits.value);
                    match (ty.kind, exponent) {
                        (Kind::Float, Some(exponent)) if (2..bits.value.min(12) - 1).contains(&exponent.value) => {
                            ty.exponent = exponent.value;
                        }
                        (_, Some(exponent)) => self.error(Diagnostic::new(
                            exponent.span,
                            format!("no `{kind}` type of {} bits has such an exponent", bits.value),
                        )),
                        (Kind::Float, None) => ty.exponent = usual.map_or(0, |(_, exponent)| *exponent),
                        (_, None) => {}
                    }
                }
                TypeShape::Packed { lanes, of } => {
                    ty.kind = Kind::Packed;
                    ty.lanes = lanes.value;
                    match names[..index].iter().position(|name| of == name) {
                        Some(lane) => {
                            ty.lane = TypeId(lane);
                            ty.bits = lanes.value.saturating_mul(self.model.types[lane].bits);
                            if !(2..=8).contains(&lanes.value) || ty.bits > 64 {
                                self.error(Diagnostic::new(
                                    lanes.span,
                                    "a packed type has 2 to 8 lanes and at most 64 bits",
                                ));
                            }
                        }
                        None => self.error(
                            Diagnostic::new(of.span(), format!("no type `.{of}` stands before this one"))
                                .suggest(&of.to_string(), names[..index].iter().map(String::as_str)),
                        ),
                    }
                }
            }
            for register in &item.registers {
                match names.iter().position(|name| register == name) {
                    Some(found) => ty.registers.push(TypeId(found)),
                    None => self.unknown_type(register, &names),
                }
            }
            for constant in &item.constants {
                match CONSTANTS.iter().find(|(name, _)| constant == name) {
                    Some((_, found)) => ty.constants.push(*found),
                    None => self.error(
                        Diagnostic::new(constant.span(), format!("`{constant}` is no kind of constant"))
                            .suggest(&constant.to_string(), CONSTANTS.map(|(name, _)| name)),
                    ),
                }
            }
            if index == MAX_TYPES {
                self.error(Diagnostic::new(item.name.span(), format!("a table holds at most {MAX_TYPES} types")));
            }
            self.model.types.push(ty);
        }
    }

    fn unknown_type(&mut self, name: &Ident, names: &[String]) {
        self.error(
            Diagnostic::new(name.span(), format!("there is no type `.{name}`"))
                .suggest(&name.to_string(), names.iter().map(String::as_str)),
        );
    }

    fn type_id(&mut self, name: &Ident) -> Option<TypeId> {
        let found = self.model.type_named(&name.to_string());
        if found.is_none() {
            let names: Vec<String> = self.model.types.iter().map(|ty| ty.name.clone()).collect();
            self.unknown_type(name, &names);
        }
        found
    }

    fn class(&mut self, class: ast::Class) {
        let name = class.name.to_string();
        if self.model.class_named(&name).is_some() {
            self.error(Diagnostic::new(class.name.span(), format!("the class `{name}` stands twice")));
        }
        let types = class.types.iter().filter_map(|ty| self.type_id(ty)).collect();
        self.model.classes.push(Class { name, docs: class.docs, types });
    }

    /// The types of a set, and the set in words.
    fn type_set(&mut self, set: &[TypeSet]) -> (Vec<TypeId>, String) {
        let mut types = Vec::new();
        let mut words = Vec::new();
        for item in set {
            match item {
                TypeSet::Type(name) => {
                    types.extend(self.type_id(name));
                    words.push(format!("`.{name}`"));
                }
                TypeSet::Class(name) => match self.model.class_named(&name.to_string()) {
                    Some(class) => {
                        types.extend(&class.types);
                        words.push(class.docs.clone());
                    }
                    None => {
                        let diagnostic = Diagnostic::new(name.span(), format!("there is no class `{name}`"))
                            .suggest(&name.to_string(), self.model.classes.iter().map(|class| class.name.as_str()));
                        self.error(diagnostic);
                    }
                },
            }
        }
        let text = match words.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
            None => String::new(),
        };
        (types, text)
    }

    fn builtin(&mut self, builtin: ast::Builtin) {
        let mut parameter = None;
        let mut generic = None;
        if let Some((name, set)) = &builtin.generic {
            parameter = Some(name.to_string());
            generic = Some(self.type_set(set).0);
        }
        let mut resolve = |ty: &ParamType| -> Option<Param> {
            match ty {
                ParamType::Type(name) => self.type_id(name).map(Param::Type),
                ParamType::Generic(name) | ParamType::Lanes(name)
                    if parameter.as_deref() != Some(&name.to_string()) =>
                {
                    self.error(
                        Diagnostic::new(name.span(), format!("`{name}` is no type parameter of this builtin"))
                            .help("types are written with a dot, like `.u32`"),
                    );
                    None
                }
                ParamType::Generic(_) => Some(Param::Generic),
                ParamType::Lanes(_) => Some(Param::GenericLanes),
                ParamType::Pick { span, lanes, of } => {
                    if !(1..=8).contains(&lanes.value) || !(1..=10).contains(&of.value) {
                        self.error(Diagnostic::new(*span, "a selector picks 1 to 8 lanes of at most 10"));
                    }
                    Some(Param::Pick { lanes: lanes.value, of: of.value })
                }
            }
        };
        let params: Vec<Param> = builtin.params.iter().filter_map(|(_, ty)| resolve(ty)).collect();
        let Some(result) = resolve(&builtin.result) else { return };
        let resolved = params.len() == builtin.params.len();
        if generic.is_some()
            && resolved
            && !params.iter().any(|param| matches!(param, Param::Generic | Param::GenericLanes))
        {
            self.error(Diagnostic::new(builtin.name.span(), "no parameter tells what the type parameter is"));
        }
        let name = builtin.name.to_string();
        let overlaps = self.model.builtins.iter().any(|other| {
            other.name == name
                && match (&other.generic, &generic) {
                    (Some(a), Some(b)) => a.iter().any(|ty| b.contains(ty)),
                    _ => true,
                }
        });
        if overlaps {
            self.error(
                Diagnostic::new(builtin.name.span(), format!("the builtin `{name}` stands twice for one type"))
                    .help("builtins of one name range over different types"),
            );
        }
        let names: Vec<String> = builtin.params.iter().map(|(name, _)| name.to_string()).collect();
        let signature = format!("{name}({})", names.join(", "));
        self.model.builtins.push(Builtin { name, docs: builtin.docs, signature, generic, params, result });
    }

    fn operator(&mut self, operator: ast::Operator) {
        let name = operator.name.to_string();
        if self.model.operator_named(&name).is_some() {
            self.error(Diagnostic::new(operator.name.span(), format!("the operator `{name}` stands twice")));
        }
        if operator.params.is_empty() {
            self.error(
                Diagnostic::new(operator.name.span(), format!("the operator `{name}` has no operands"))
                    .help(format!("write `operator {name}(a, b)`")),
            );
        }
        for (index, param) in operator.params.iter().enumerate() {
            if operator.params[..index].contains(param) {
                self.error(Diagnostic::new(param.span(), format!("the operand `{param}` stands twice")));
            }
        }
        let mut resolved = Operator {
            name,
            docs: operator.docs,
            params: operator.params.iter().map(Ident::to_string).collect(),
            members: Vec::new(),
            absent: None,
        };
        for member in operator.members {
            let name = member.name.to_string();
            if name == "absent" {
                if resolved.absent.replace(member.body).is_some() {
                    self.error(Diagnostic::new(member.name.span(), "`absent` stands twice in this operator"));
                }
                continue;
            }
            if resolved.members.iter().any(|other| other.name == name) {
                self.error(Diagnostic::new(member.name.span(), format!("`{name}` stands twice in this operator")));
            }
            if member.domain.is_empty() {
                self.error(
                    Diagnostic::new(member.name.span(), format!("`{name}` does not say what types it is for"))
                        .help("write `for` and classes or types behind its meaning"),
                );
            }
            let (domain, domain_text) = self.type_set(&member.domain);
            resolved.members.push(OperatorMember { name, docs: member.docs, body: member.body, domain, domain_text });
        }
        self.model.operators.push(resolved);
    }

    fn slips(&mut self, slips: Vec<ast::Slip>) {
        for slip in slips {
            let taken = slip.verdict == "takes";
            let mistake = match &slip.code {
                _ if !taken && slip.verdict != "refuses" => Some("a slip is what the assembler `takes` or `refuses`"),
                None if taken => Some("behind `takes` stands the code of the table's refusal"),
                Some(_) if !taken => Some("behind `refuses` stands no code: the table takes such statements"),
                _ => None,
            };
            if let Some(message) = mistake {
                let help = "`takes selector \"*.b01*\";`, `refuses \"*.b01*\";`";
                self.error(Diagnostic::new(slip.verdict.span(), message).help(help));
            }
            if slip.docs.is_empty() {
                self.error(Diagnostic::new(slip.verdict.span(), "a slip is described in a `///` line"));
            }
            let code = slip.code.map_or_else(String::new, |code| code.to_string().replace('_', "-"));
            self.model.slips.push(Slip { text: slip.docs, taken, code, patterns: slip.patterns });
        }
    }

    fn lenient(&mut self, notes: Vec<ast::LenientNote>) {
        for note in notes {
            let name = note.name.to_string();
            if note.docs.is_empty() {
                self.error(Diagnostic::new(note.name.span(), "a lenient note says why in a `///` line"));
            }
            if self.model.lenient.iter().any(|other| other.name == name) {
                self.error(Diagnostic::new(note.name.span(), format!("`{name}` stands twice")));
            }
            if !LENIENT.contains(&name.as_str()) {
                self.error(
                    Diagnostic::new(note.name.span(), format!("`{name}` is nothing the statement grammar can relax"))
                        .suggest(&name, LENIENT),
                );
            }
            self.model.lenient.push(LenientNote { name, text: note.docs });
        }
    }

    fn entry(&mut self, entry: ast::Instruction) {
        let name = entry.opcode.to_string();
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
        // Slots first: the types of operands name them.
        let mut lines: Vec<(Vec<Item>, &ast::SyntaxLine)> = Vec::new();
        for line in entry.syntax.iter().chain(&entry.lenient_syntax) {
            if line.opcode != name {
                self.error(
                    Diagnostic::new(line.opcode.span(), format!("this entry is about `{name}`"))
                        .label("another opcode")
                        .also(entry.opcode.span(), "the entry"),
                );
            }
            lines.push((self.items(line, &declared, &mut slots, &mut used), line));
        }
        if slots.len() > MAX_SLOTS {
            let message = format!("`{name}` has more than {MAX_SLOTS} different modifiers");
            self.error(Diagnostic::new(entry.opcode.span(), message));
        }
        self.operands(&entry, &slots, &mut operands);
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
        for (syntax, line) in syntaxes.iter_mut().zip(entry.syntax) {
            syntax.condition = line.condition;
        }
        merge_shapes(&mut syntaxes);
        // Where a line misspells a name, what it meant is not superfluous.
        let whole = self.errors.len() == before;
        for (index, operand) in operands.iter().enumerate() {
            if whole && !written.contains(&index) {
                let names = entry_patterns(&syntaxes, &operands);
                self.error(
                    Diagnostic::new(operand.span, format!("no syntax line names the operand `{}`", operand.name))
                        .suggest(&operand.name, names.iter().map(String::as_str)),
                );
            }
        }
        for set in &entry.sets {
            let set_name = set.name.to_string();
            if whole && !used.contains(&set_name) {
                let flags: Vec<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
                self.error(
                    Diagnostic::new(set.name.span(), format!("no syntax line uses `.{set_name}`"))
                        .suggest(&set_name, flags),
                );
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
                self.error(Diagnostic::new(span, "what only the assembler takes is explained in a `///` line"));
            }
            lenient_forms.push(LenientForms { span, condition, text });
        }
        let resolved = Entry {
            span: entry.opcode.span(),
            docs: entry.docs,
            section: entry.section.map(|(text, _)| text).unwrap_or_default(),
            syntaxes,
            operands,
            narrowed: entry.narrowed.into_iter().map(only_if).collect(),
            legal: entry.legal.into_iter().map(only_if).collect(),
            requires,
            semantics: match entry.semantics {
                Some(ast::Semantics::Statements(statements)) => Some(statements),
                Some(ast::Semantics::None) | None => None,
            },
            lenient_floors,
            lenient_forms,
            errata: entry
                .errata
                .into_iter()
                .map(|erratum| Erratum { subject: erratum.docs, manual: erratum.manual, machine: erratum.machine })
                .collect(),
            examples: entry.examples,
        };
        let opcode = &mut self.model.opcodes[index];
        opcode.slots = slots;
        opcode.entries.push(resolved);
    }

    /// The parts that every entry has.
    fn whole(&mut self, entry: &ast::Instruction) {
        let span = entry.opcode.span();
        let opcode = &entry.opcode;
        let missing = [
            (entry.docs.is_empty(), "description", "write what it does in `///` lines above it, in your own words"),
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
                self.error(Diagnostic::new(span, format!("the entry `{opcode}` has no {what}")).help(help));
            }
        }
    }

    /// The sets an entry declares, by name.
    fn sets(&mut self, entry: &ast::Instruction) -> Vec<(String, Declared)> {
        let mut declared: Vec<(String, Declared)> = Vec::new();
        // What is no modifier of any line stands behind operands, or nowhere.
        let modifier =
            |name: &Ident| entry.syntax.iter().flat_map(|line| &line.modifiers).any(|modifier| modifier.name == *name);
        for set in &entry.sets {
            let name = set.name.to_string();
            if declared.iter().any(|(other, _)| *other == name) {
                self.error(Diagnostic::new(set.name.span(), format!("the set `.{name}` stands twice")));
                continue;
            }
            let body = match &set.body {
                SetBody::Listed { operator: None, members } if !modifier(&set.name) => {
                    self.listed_selector(&set.name, members)
                }
                SetBody::Listed { operator, members } => self.listed(&set.name, operator.as_ref(), members),
                SetBody::Lanes { letter, lanes, of, default } => {
                    let ok = (1..=8).contains(&lanes.value) && (1..=10).contains(&of.value);
                    let shape = SelectorShape::Lanes { lanes: lanes.value, of: of.value };
                    if !ok {
                        self.error(Diagnostic::new(lanes.span, "a selector picks 1 to 8 lanes of at most 10"));
                    }
                    self.selector(&set.name, letter, shape, Some(default).filter(|_| ok))
                }
                SetBody::Subset { letter, of, default } => {
                    let ok = (1..=10).contains(&of.value);
                    if !ok {
                        self.error(Diagnostic::new(of.span, "a mask covers 1 to 10 lanes"));
                    }
                    let shape = SelectorShape::Subset { of: of.value };
                    self.selector(&set.name, letter, shape, Some(default).filter(|_| ok))
                }
            };
            declared.push((name, body));
        }
        declared
    }

    fn listed(&mut self, name: &Ident, operator: Option<&Ident>, members: &[Ident]) -> Declared {
        let operator_name = operator.unwrap_or(name);
        let found = self.model.operator_named(&operator_name.to_string());
        if let (Some(operator), None) = (operator, found) {
            let diagnostic = Diagnostic::new(operator.span(), format!("there is no operator `{operator}`"))
                .suggest(&operator.to_string(), self.model.operators.iter().map(|operator| operator.name.as_str()));
            self.error(diagnostic);
            return Declared::Listed { kind: SlotKind::Flag, members: Vec::new() };
        }
        let mut list: Vec<Member> = Vec::new();
        for member in members {
            let spelling = member.to_string();
            if list.iter().any(|other| other.spelling == spelling) {
                self.error(Diagnostic::new(member.span(), format!("`{spelling}` stands twice in this set")));
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

    fn listed_selector(&mut self, name: &Ident, members: &[Ident]) -> Declared {
        let words: Vec<String> = members.iter().map(Ident::to_string).collect();
        for (index, member) in members.iter().enumerate() {
            if words[..index].contains(&words[index]) {
                self.error(Diagnostic::new(member.span(), format!("`{member}` stands twice in this set")));
            }
        }
        if words.len() > 9 {
            self.error(Diagnostic::new(name.span(), "a selector is one of at most 9 words"));
        }
        let (name, default) = (name.to_string(), words.len() as u32);
        let shape = SelectorShape::Listed(words);
        Declared::Selector(Selector { name, letter: '_', shape, default, omission: Permission::Yes })
    }

    /// A set of lanes or masks; the default is read where the set's shape makes sense.
    fn selector(&mut self, name: &Ident, letter: &Ident, shape: SelectorShape, default: Option<&Ident>) -> Declared {
        let text = letter.to_string();
        let mut letters = text.chars();
        let first = letters.next().filter(|first| first.is_ascii_lowercase() && letters.next().is_none());
        if first.is_none() {
            self.error(Diagnostic::new(letter.span(), format!("`.{text}` is not one small letter")));
        }
        let mut value = 0;
        if let (Some(letter), Some(default)) = (first, default) {
            match parse_selector(letter, &shape, &default.to_string()) {
                Some(parsed) => value = parsed,
                None => {
                    let digits = match &shape {
                        SelectorShape::Lanes { lanes, of } => {
                            format!("`{letter}` and {lanes} digits below {of}, the last for lane 0")
                        }
                        SelectorShape::Subset { of } => format!("`{letter}` and falling digits below {of}"),
                        SelectorShape::Listed(words) => format!("one of `.{}`", words.join("`, `.")),
                    };
                    self.error(
                        Diagnostic::new(default.span(), "this default is not spelt like a member of the set")
                            .help(format!("a member is {digits}")),
                    );
                }
            }
        }
        let (name, letter) = (name.to_string(), first.unwrap_or('?'));
        Declared::Selector(Selector { name, letter, shape, default: value, omission: Permission::Yes })
    }

    /// The modifiers of a line as slots.
    fn items(
        &mut self,
        line: &ast::SyntaxLine,
        declared: &[(String, Declared)],
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
                        Diagnostic::new(modifier.name.span(), format!("`.{name}` stands behind operands"))
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
            let slot = slots.iter().position(|slot| slot.name == name).unwrap_or_else(|| {
                slots.push(Slot { name: name.clone(), kind, members: Vec::new() });
                slots.len() - 1
            });
            if slots[slot].kind != kind {
                self.error(Diagnostic::new(
                    modifier.name.span(),
                    format!("another entry of this opcode uses `.{name}` for something else"),
                ));
                continue;
            }
            if items.iter().any(|item| item.slot == slot) {
                self.error(Diagnostic::new(modifier.name.span(), format!("`.{name}` stands twice in this line")));
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
            if all.len() > MAX_MEMBERS {
                let message = format!("a slot holds at most {MAX_MEMBERS} members");
                self.error(Diagnostic::new(modifier.name.span(), message));
            }
            items.push(Item { slot, optional: modifier.optional, members: indices });
        }
        items
    }

    fn operands(&mut self, entry: &ast::Instruction, slots: &[Slot], operands: &mut Vec<Operand>) {
        for group in &entry.operands {
            let ty_name = group.ty.to_string();
            let slot = slots.iter().position(|slot| slot.name == ty_name && slot.kind == SlotKind::Type);
            let ty = match (slot, self.model.type_named(&ty_name)) {
                (Some(slot), _) => OperandType::Slot(slot),
                (None, Some(ty)) => OperandType::Fixed(ty),
                (None, None) => {
                    let names = slots.iter().filter(|slot| slot.kind == SlotKind::Type).map(|slot| slot.name.as_str());
                    let names: Vec<&str> = names.chain(self.model.types.iter().map(|ty| ty.name.as_str())).collect();
                    let span = group.ty.span();
                    let diagnostic = match entry.sets.iter().any(|set| group.ty == set.name) {
                        true => Diagnostic::new(span, format!("no syntax line has the modifier `.{ty_name}`"))
                            .suggest(&ty_name, slots.iter().map(|slot| slot.name.as_str())),
                        false => {
                            Diagnostic::new(span, format!("`.{ty_name}` is neither a type nor a set of types here"))
                                .suggest(&ty_name, names)
                        }
                    };
                    self.error(diagnostic);
                    // Any type: the operands have names all the same.
                    OperandType::Fixed(TypeId(0))
                }
            };
            for attribute in &group.attributes {
                let text = attribute.to_string();
                if !ATTRIBUTES.contains(&text.as_str()) {
                    self.error(
                        Diagnostic::new(attribute.span(), format!("`{text}` is no attribute of operands"))
                            .suggest(&text, ATTRIBUTES),
                    );
                }
                if text == "destination" && matches!(entry.semantics, Some(ast::Semantics::Statements(_))) {
                    self.error(
                        Diagnostic::new(attribute.span(), "semantics tell which operands are destinations")
                            .help("`destination` is for entries with `semantics none;`"),
                    );
                }
            }
            let registers: Vec<TypeId> =
                group.registers.iter().flatten().filter_map(|register| self.type_id(register)).collect();
            let mut without: Vec<(Vec<usize>, Option<Rc<ast::Expr>>)> = Vec::new();
            if group.attributes.iter().any(|attribute| attribute == "register") {
                without.push(((0..THINGS.len()).collect(), None));
            }
            for ast::Without { things, condition } in &group.without {
                let mut places = Vec::new();
                for thing in things {
                    let text = thing.to_string();
                    match THINGS.iter().position(|known| *known == text) {
                        Some(place) => places.push(place),
                        None => self.error(
                            Diagnostic::new(thing.span(), format!("an operand cannot be without `{text}`"))
                                .suggest(&text, THINGS),
                        ),
                    }
                }
                without.push((places, condition.clone()));
            }
            let has = |name: &str| group.attributes.iter().any(|attribute| attribute == name);
            for name in &group.names {
                let text = name.to_string();
                if operands.iter().any(|other| other.name == text) {
                    self.error(Diagnostic::new(name.span(), format!("the operand `{text}` stands twice")));
                    continue;
                }
                operands.push(Operand {
                    name: text,
                    span: name.span(),
                    ty,
                    registers: group.registers.as_ref().map(|_| registers.clone()),
                    without: without.clone(),
                    sink: has("sink"),
                    destination: has("destination"),
                });
            }
        }
    }

    fn operand(&mut self, name: &Ident, operands: &[Operand]) -> Option<usize> {
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

    /// The operands that a line writes, those that have types.
    fn names(&self, line: &ast::SyntaxLine, operands: &[Operand]) -> Vec<usize> {
        let names = line.operands.iter().flat_map(|pattern| {
            std::iter::once(&pattern.name).chain(pattern.second.as_ref().map(|(second, _)| second))
        });
        names.filter_map(|name| operands.iter().position(|operand| name == &operand.name)).collect()
    }

    fn patterns(
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
                self.error(Diagnostic::new(pattern.name.span(), "this operand stands twice in this line"));
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
                        let omission = if *optional { Permission::Yes } else { Permission::No };
                        selector = Some(Selector { omission, ..found.clone() });
                    }
                    Some((_, Declared::Listed { .. })) | None => {
                        let names = declared
                            .iter()
                            .filter(|(_, body)| matches!(body, Declared::Selector(_)))
                            .map(|(name, _)| name.as_str());
                        let diagnostic =
                            Diagnostic::new(name.span(), format!("`.{text}` is no set of lanes or masks here"))
                                .suggest(&text, names)
                                .label("declare it with `lanes` or `subset`");
                        self.error(diagnostic);
                    }
                }
            }
            // A pair is always written; of the others semantics tell, or the entry says.
            let destination = second.is_some()
                || match &entry.semantics {
                    Some(ast::Semantics::Statements(statements)) => assigns(statements, &pattern.name),
                    Some(ast::Semantics::None) | None => operands[operand].destination,
                };
            patterns.push(Pattern {
                operand,
                destination,
                second,
                trailing_sink,
                negation: if pattern.negatable { Permission::Yes } else { Permission::No },
                selector,
                optional: false,
            });
        }
        patterns
    }

    /// Lets a lenient line relax the operands of the strict lines with the same modifiers.
    fn relax(&mut self, line: &ast::SyntaxLine, items: &[Item], patterns: &[Pattern], syntaxes: &mut [Syntax]) {
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
                    a.operand == b.operand && a.second.as_ref().map(|s| s.0) == b.second.as_ref().map(|s| s.0)
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
                    && strict.omission == Permission::No
                    && lenient.omission == Permission::Yes
                {
                    strict.omission = Permission::Lenient(line.docs.clone());
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
                Diagnostic::new(line.opcode.span(), "this lenient line relaxes nothing")
                    .help("it repeats a syntax line, with `{!}`, `[|q]` or `[|_]` where that line has none"),
            );
        }
    }

    fn requirement(&mut self, requirement: ast::Requirement) -> Requirement {
        if let Some(version) = &requirement.ptx {
            self.known_version(version);
        }
        if let Some(target) = &requirement.target {
            self.known_target(target);
        }
        let ast::Requirement { span, condition, ptx, target } = requirement;
        Requirement { span, condition, ptx, target }
    }
}

fn only_if(rule: ast::OnlyIf) -> OnlyIf {
    OnlyIf { subject: rule.subject, condition: rule.condition, span: rule.span }
}

fn entry_patterns(syntaxes: &[Syntax], operands: &[Operand]) -> Vec<String> {
    let patterns = syntaxes.iter().flat_map(|syntax| &syntax.patterns);
    patterns.map(|pattern| operands[pattern.operand].name.clone()).collect()
}

/// Lines that spell the same mnemonics, the longer ones with more operands at their end, become one line whose last
/// operands may be left out.
fn merge_shapes(syntaxes: &mut Vec<Syntax>) {
    let continues = |short: &Syntax, long: &Syntax| {
        let same_items = short.items.len() == long.items.len()
            && short
                .items
                .iter()
                .zip(&long.items)
                .all(|(a, b)| a.slot == b.slot && a.optional == b.optional && a.members == b.members);
        let selector = |pattern: &Pattern| pattern.selector.as_ref().map(|selector| selector.name.clone());
        let prefix = short.patterns.iter().zip(&long.patterns).all(|(a, b)| {
            // What may not be left out of the longer line may be missing from the shorter one.
            let of_long = b.selector.as_ref().is_some_and(|selector| selector.omission != Permission::Yes);
            let same_selector = selector(a) == selector(b) || a.selector.is_none() && of_long;
            a.operand == b.operand && a.destination == b.destination && a.second == b.second && same_selector
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

/// Whether semantics give a name a value: such an operand is a destination.
fn assigns(semantics: &[ast::Stmt], name: &Ident) -> bool {
    semantics.iter().any(|statement| match statement {
        ast::Stmt::Assign { target, .. } => target == name,
        ast::Stmt::If { then, otherwise, .. } => assigns(then, name) || assigns(otherwise, name),
    })
}

/// The value of a selector's spelling: `b7654` or `b310`.
pub(crate) fn parse_selector(letter: char, shape: &SelectorShape, text: &str) -> Option<u32> {
    if let SelectorShape::Listed(words) = shape {
        return words.iter().position(|word| word == text).map(|place| place as u32);
    }
    let digits: Vec<u32> = text.strip_prefix(letter)?.chars().map(|c| c.to_digit(10)).collect::<Option<_>>()?;
    match *shape {
        SelectorShape::Listed(_) => None,
        SelectorShape::Lanes { lanes, of } => {
            let fits = digits.len() == lanes as usize && digits.iter().all(|&digit| digit < of);
            fits.then(|| digits.iter().fold(0, |value, digit| value << 4 | digit))
        }
        SelectorShape::Subset { of } => {
            let fits = !digits.is_empty() && digits[0] < of && digits.windows(2).all(|pair| pair[0] > pair[1]);
            fits.then(|| digits.iter().fold(0, |value, digit| value | 1 << digit))
        }
    }
}

/// A syntax line as it was written, blanks evened.
fn syntax_text(line: &ast::SyntaxLine) -> String {
    let mut text = line.opcode.to_string();
    for modifier in &line.modifiers {
        let name = &modifier.name;
        text += &if modifier.optional { format!("{{.{name}}}") } else { format!(".{name}") };
    }
    let operands: Vec<String> = line.operands.iter().map(pattern_text).collect();
    text + " " + &operands.join(", ")
}

fn pattern_text(pattern: &ast::Pattern) -> String {
    let mut text = if pattern.negatable { format!("{{!}}{}", pattern.name) } else { pattern.name.to_string() };
    match &pattern.second {
        Some((second, true)) => text += &format!("[|{second}]"),
        Some((second, false)) => text += &format!("|{second}"),
        None => {}
    }
    match &pattern.selector {
        Some((selector, true)) => text += &format!("{{.{selector}}}"),
        Some((selector, false)) => text += &format!(".{selector}"),
        None => {}
    }
    text
}

/// The names of conditions and semantics that a spelling could have meant.
pub(crate) fn dotted_name(expr: &ast::Expr) -> Option<&Ident> {
    match &expr.kind {
        ExprKind::Dotted(name) => Some(name),
        _ => None,
    }
}
