//! Resolution of declarations: versions, targets, types, classes, builtins, functions, operators, and deviations of the
//! assembler.

use proc_macro2::{Span, TokenStream};

use super::Resolver;
use super::sum::sum;
use crate::model::fragment::check as check_place;
use crate::model::{
    ChapterBuf, Class, Effect, EffectKind, EffectParam, FieldBuf, Fragment, Kind, Layout, Lenient, ManualBuf,
    NonFinite, SumOfBuf, SummationBuf, Target, Type, TypeId, TypeSet, Version,
};
use crate::syntax::ast::{self, Ident, TypeShape};
use crate::text::Diagnostic;

const KINDS: [(&str, Kind); 6] = [
    ("predicate", Kind::Predicate),
    ("bits", Kind::Bits),
    ("unsigned", Kind::Unsigned),
    ("signed", Kind::Signed),
    ("float", Kind::Float),
    ("minifloat", Kind::Minifloat),
];

const CONSTANTS: [&str; 3] = ["integer", "float", "single"];

impl Resolver {
    pub(super) fn bodies(&mut self, path: TokenStream, span: Span) {
        if self.model.bodies.replace(path).is_some() {
            self.error(
                Diagnostic::new(span, "the bodies are in a module already")
                    .help("a spec has one module of bodies; it may re-export others: `pub use ptx_isa::eval::*;`"),
            );
        }
    }

    pub(super) fn versions(&mut self, list: Vec<ast::Version>) {
        for version in list {
            match self.model.versions.binary_search(&value(&version)) {
                Ok(_) => self.error(Diagnostic::new(version.span, "duplicate version")),
                Err(place) => self.model.versions.insert(place, value(&version)),
            }
        }
    }

    pub(super) fn targets(&mut self, groups: Vec<ast::TargetGroup>) {
        for ast::TargetGroup { since, targets } in groups {
            for target in targets {
                match self.model.targets.binary_search_by_key(&target.value, |(known, _)| *known) {
                    Ok(_) => self.error(Diagnostic::new(target.span, "duplicate target")),
                    Err(place) => self.model.targets.insert(place, (target.value, value(&since))),
                }
            }
            self.since.push(since);
        }
    }

    pub(super) fn families(&mut self, families: Vec<Vec<ast::Target>>) {
        for family in families {
            for target in &family {
                if self.model.families.iter().flatten().any(|sm| *sm == target.value.sm) {
                    self.error(Diagnostic::new(target.span, "this target already belongs to a family"));
                }
            }
            self.model.families.push(family.iter().map(|target| target.value.sm).collect());
            self.members.extend(family);
        }
    }

    pub(super) fn manual(&mut self, manual: ast::Manual) {
        if self.model.manual.is_some() {
            return self.error(Diagnostic::new(manual.span, "there is a manual already"));
        }
        let mut chapters: Vec<ChapterBuf> = Vec::new();
        for (number, title, span) in manual.chapters {
            if chapters.iter().any(|other| other.number == number) {
                self.error(Diagnostic::new(span, "duplicate chapter"));
            }
            chapters.push(ChapterBuf { number, title });
        }
        let version = value(&manual.version);
        self.since.push(manual.version);
        self.model.manual = Some(ManualBuf { version, address: manual.address, chapters });
    }

    /// Checks versions and targets that earlier items refer to: items may be in any order.
    pub(super) fn known_versions(&mut self) {
        for version in std::mem::take(&mut self.since) {
            self.version(&version);
        }
        for target in std::mem::take(&mut self.members) {
            self.target(&target);
        }
    }

    /// Resolves a version that the prelude must list.
    pub(super) fn version(&mut self, version: &ast::Version) -> Version {
        let known = value(version);
        if !self.model.versions.contains(&known) {
            let number = |version: &Version| i32::from(version.major) * 10 + i32::from(version.minor);
            let nearest = self.model.versions.iter().min_by_key(|other| number(other).abs_diff(number(&known)));
            let help = nearest.map_or_else(
                || {
                    "no version is declared: `use prelude;` has those of PTX, and `ptx 1.0, …;` declares others"
                        .to_owned()
                },
                |nearest| format!("the nearest version that the prelude lists is {nearest}"),
            );
            self.error(Diagnostic::new(version.span, format!("unknown PTX version {known}")).help(help));
        }
        known
    }

    /// Resolves a target that the prelude must list.
    pub(super) fn target(&mut self, target: &ast::Target) -> Target {
        if self.model.targets.iter().all(|(known, _)| *known != target.value) {
            let nearest = self.model.targets.iter().min_by_key(|(known, _)| known.sm.abs_diff(target.value.sm));
            let help = nearest.map_or_else(
                || {
                    "no target is declared: `use prelude;` has those of PTX, and `targets { … }` declares others"
                        .to_owned()
                },
                |(nearest, _)| format!("the nearest target that the prelude lists is `{nearest}`"),
            );
            self.error(Diagnostic::new(target.span, "unknown target").help(help));
        }
        target.value
    }

    pub(super) fn types(&mut self, items: Vec<(ast::Type, bool)>) {
        let names: Vec<String> = items.iter().map(|(item, _)| item.name.to_string()).collect();
        if let Some((item, _)) = items.get(isa_table::limits::TYPES) {
            let message = format!("a table holds at most {} types", isa_table::limits::TYPES);
            return self.error(Diagnostic::new(item.name.span(), message));
        }
        for (index, (item, base)) in items.into_iter().enumerate() {
            if names[..index].contains(&names[index]) {
                self.error(Diagnostic::new(item.name.span(), format!("duplicate type `.{}`", names[index])));
            }
            let mut ty = Type {
                name: names[index].clone(),
                base,
                docs: item.docs,
                kind: Kind::Bits,
                bits: 0,
                exponent: 0,
                fraction: 0,
                beyond: NonFinite::default(),
                padding: 0,
                lanes: 1,
                lane: TypeId(index as u8),
                registers: TypeSet::default(),
                beside: TypeSet::default(),
                constants: Default::default(),
            };
            match &item.shape {
                TypeShape::Scalar { kind, bits, exponent, fraction, beyond, padding } => {
                    self.scalar(&mut ty, kind, *bits, (*exponent, *fraction), beyond.as_ref());
                    ty.padding = padding.map_or(0, |padding| padding.value.min(7));
                }
                TypeShape::Packed { lanes, of } => self.packed(&mut ty, *lanes, of, &names[..index]),
            }
            for (listed, set) in [(&item.registers, &mut ty.registers), (&item.beside, &mut ty.beside)] {
                for register in listed {
                    match names.iter().position(|name| register == name) {
                        Some(found) => *set = set.with(TypeId(found as u8)),
                        None => self.unknown_type(register, &names),
                    }
                }
            }
            for constant in &item.constants {
                match constant.to_string().as_str() {
                    "integer" => ty.constants.integer = true,
                    "float" => ty.constants.float = true,
                    "single" => ty.constants.single = true,
                    other => self.error(
                        Diagnostic::new(constant.span(), format!("unknown kind of constant `{constant}`"))
                            .suggest(other, CONSTANTS),
                    ),
                }
            }
            self.model.types.push(ty);
        }
    }

    fn scalar(
        &mut self,
        ty: &mut Type,
        kind: &Ident,
        bits: ast::Number,
        (exponent, fraction): (Option<ast::Number>, Option<ast::Number>),
        beyond: Option<&Ident>,
    ) {
        match KINDS.iter().find(|(name, _)| kind == name) {
            Some((_, found)) => ty.kind = *found,
            None => self.error(
                Diagnostic::new(kind.span(), format!("unknown kind of type `{kind}`"))
                    .suggest(kind.as_ref(), KINDS.map(|(name, _)| name)),
            ),
        }
        ty.bits = bits.value;
        let widths: &[u32] = match ty.kind {
            Kind::Predicate => &[1],
            Kind::Float => &[16, 32, 64],
            Kind::Minifloat => &[4, 6, 7, 8, 32],
            Kind::Unsigned | Kind::Signed => &[4, 8, 16, 32, 64, 128],
            _ => &[1, 8, 16, 32, 64, 128],
        };
        if !widths.contains(&bits.value) {
            self.error(Diagnostic::new(bits.span, format!("no `{kind}` type has {} bits", bits.value)));
        }
        // Default exponent widths are those of IEEE 754.
        let usual = [(16, 5), (32, 8), (64, 11)].iter().find(|(width, _)| *width == bits.value);
        match (ty.kind, exponent) {
            (Kind::Float, Some(exponent)) if (2..bits.value.min(12) - 1).contains(&exponent.value) => {
                ty.exponent = exponent.value;
            }
            (Kind::Minifloat, Some(exponent)) if (1..=bits.value.min(8)).contains(&exponent.value) => {
                ty.exponent = exponent.value;
            }
            (_, Some(exponent)) => self.error(Diagnostic::new(
                exponent.span,
                format!("no `{kind}` type of {} bits has such an exponent", bits.value),
            )),
            (Kind::Float, None) => ty.exponent = usual.map_or(0, |(_, exponent)| *exponent),
            (_, None) => {}
        }
        match (ty.kind, fraction) {
            (Kind::Minifloat, Some(fraction)) if ty.exponent + fraction.value <= ty.bits => {
                ty.fraction = fraction.value
            }
            (_, Some(fraction)) => self.error(Diagnostic::new(
                fraction.span,
                format!("no `{kind}` type of {} bits has such a fraction", bits.value),
            )),
            (Kind::Float, None) => ty.fraction = ty.bits.saturating_sub(ty.exponent + 1),
            (_, None) => {}
        }
        const BEYOND: [(&str, NonFinite); 3] =
            [("infinity", NonFinite::Infinity), ("lone_nan", NonFinite::Nan), ("none", NonFinite::None)];
        match beyond.map(|beyond| (beyond, BEYOND.iter().find(|(name, _)| beyond == name))) {
            Some((_, Some((_, found)))) if ty.kind == Kind::Minifloat => ty.beyond = *found,
            Some((beyond, _)) => self.error(
                Diagnostic::new(beyond.span(), format!("a `{kind}` type does not have `{beyond}`"))
                    .suggest(beyond.as_ref(), BEYOND.map(|(name, _)| name)),
            ),
            None => {}
        }
    }

    pub(super) fn packed(&mut self, ty: &mut Type, lanes: ast::Number, of: &Ident, before: &[String]) {
        ty.kind = Kind::Packed;
        ty.lanes = lanes.value;
        match before.iter().position(|name| of == name) {
            Some(lane) => {
                ty.lane = TypeId(lane as u8);
                ty.bits = lanes.value.saturating_mul(self.model.types[lane].lane_bits());
                if !(2..=isa_table::limits::LANES).contains(&lanes.value) || ty.bits > 64 {
                    self.error(Diagnostic::new(lanes.span, "a packed type has 2 to 8 lanes and at most 64 bits"));
                }
            }
            None => self.error(
                Diagnostic::new(of.span(), format!("type `.{of}` is not declared before this one"))
                    .suggest(of.as_ref(), before.iter().map(String::as_str)),
            ),
        }
    }

    pub(super) fn unknown_type(&mut self, name: &Ident, names: &[String]) {
        self.error(
            Diagnostic::new(name.span(), format!("unknown type `.{name}`"))
                .suggest(name.as_ref(), names.iter().map(String::as_str)),
        );
    }

    pub(super) fn type_id(&mut self, name: &Ident) -> Option<TypeId> {
        let found = self.model.type_named(name.as_ref());
        if found.is_none() {
            let names: Vec<String> = self.model.types.iter().map(|ty| ty.name.clone()).collect();
            self.unknown_type(name, &names);
        }
        found
    }

    pub(super) fn class(&mut self, class: ast::Class) {
        let name = class.name.to_string();
        if self.model.class_named(&name).is_some() {
            self.error(Diagnostic::new(class.name.span(), format!("duplicate class `{name}`")));
        }
        let types = class.types.iter().filter_map(|ty| self.type_id(ty)).collect();
        self.model.classes.push(Class { name, docs: class.docs, types });
    }

    /// Types of a set, and the set in words.
    pub(super) fn type_set(&mut self, set: &[ast::TypeSet]) -> (Vec<TypeId>, String) {
        let mut types = Vec::new();
        let mut words = Vec::new();
        for item in set {
            match item {
                ast::TypeSet::Type(name) => {
                    types.extend(self.type_id(name));
                    words.push(format!("`.{name}`"));
                }
                ast::TypeSet::Class(name) => match self.model.class_named(name.as_ref()) {
                    Some(class) => {
                        types.extend(&class.types);
                        words.push(class.docs.clone());
                    }
                    None => {
                        let diagnostic = Diagnostic::new(name.span(), format!("unknown class `{name}`"))
                            .suggest(name.as_ref(), self.model.classes.iter().map(|class| class.name.as_str()));
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

    pub(super) fn fragment(&mut self, fragment: ast::Fragment) {
        let ast::Fragment { docs, name, places } = fragment;
        if self.model.fragments.iter().any(|other| name == other.name) {
            return self.error(Diagnostic::new(name.span(), format!("duplicate fragment `{name}`")));
        }
        let [mut matrix, mut row, mut column] = [None, None, None];
        for (what, formula) in places {
            let place = match what.as_ref() {
                "matrix" => &mut matrix,
                "row" => &mut row,
                "column" => &mut column,
                other => {
                    let message = format!("unknown coordinate `{other}` of a fragment");
                    let known = ["matrix", "row", "column"];
                    return self.error(Diagnostic::new(what.span(), message).suggest(other, known));
                }
            };
            if place.is_some() {
                return self.error(Diagnostic::new(what.span(), format!("duplicate `{what}` in this fragment")));
            }
            if let Err(diagnostic) = check_place(&formula) {
                self.error(diagnostic);
            }
            *place = Some(formula);
        }
        match (row, column) {
            (Some(row), Some(column)) => {
                self.model.fragments.push(Fragment { name: name.to_string(), docs, matrix, row, column });
            }
            _ => self.error(
                Diagnostic::new(name.span(), "a fragment says the row and the column of each element")
                    .help("like `row = lane >> 2; column = (lane & 3) * parts + part;`"),
            ),
        }
    }

    pub(super) fn summation(&mut self, summation: ast::Summation) {
        let ast::Summation { docs, name, rows } = summation;
        if self.model.summations.iter().any(|other| name == other.name) {
            return self.error(Diagnostic::new(name.span(), format!("duplicate summation `{name}`")));
        }
        let mut found: Vec<SumOfBuf> = Vec::new();
        for row in rows {
            let sm = self.target(&row.target).sm;
            if found.last().is_some_and(|last| last.sm >= sm) {
                self.error(Diagnostic::new(row.target.span, "targets of a summation are in ascending order"));
            }
            match sum(&row) {
                Ok(sum) => found.push(SumOfBuf { sm, sum, likely: row.likely }),
                Err(diagnostic) => self.error(diagnostic),
            }
        }
        self.model.summations.push(SummationBuf { name: name.to_string(), description: docs, rows: found });
    }

    pub(super) fn layout(&mut self, layout: ast::Layout) {
        let ast::Layout { docs, name, bits, fields } = layout;
        if self.model.layouts.iter().any(|other| name == other.name) {
            self.error(Diagnostic::new(name.span(), format!("duplicate layout `{name}`")));
        }
        let mut known: Vec<FieldBuf> = Vec::new();
        for ast::BitField { docs, low, high, name } in fields {
            let field = FieldBuf {
                low: low.value,
                high: high.value,
                name: name.to_string(),
                description: docs.split_whitespace().collect::<Vec<_>>().join(" "),
            };
            if field.high < field.low || field.high >= bits.value {
                let message = format!("the bits are from 0 to {}, the lower one first", bits.value.saturating_sub(1));
                self.error(Diagnostic::new(high.span, message));
            } else if let Some(other) = known.iter().find(|other| field.low <= other.high && other.low <= field.high) {
                self.error(Diagnostic::new(low.span, format!("`{}` has some of these bits", other.name)));
            } else if known.iter().any(|other| other.name == field.name) {
                self.error(Diagnostic::new(name.span(), format!("duplicate field `{name}` in this layout")));
            } else if field.description.is_empty() {
                self.error(Diagnostic::new(name.span(), "missing `///` description of this field"));
            }
            known.push(field);
        }
        known.sort_by_key(|field| field.low);
        self.model.layouts.push(Layout { name: name.to_string(), docs, bits: bits.value, fields: known });
    }

    /// Resolves a word from a fixed list.
    pub(super) fn known<T: Copy>(
        &mut self,
        word: &Ident,
        all: &[T],
        name: fn(T) -> &'static str,
        what: &str,
    ) -> Option<T> {
        let found = all.iter().copied().find(|one| word == name(*one));
        if found.is_none() {
            let mistake = Diagnostic::new(word.span(), format!("unknown {what} `{word}`"));
            self.error(mistake.suggest(word.as_ref(), all.iter().map(|one| name(*one))));
        }
        found
    }

    pub(super) fn effect(&mut self, effect: ast::Effect) {
        const PARAMS: [(&str, EffectParam); 7] = [
            ("operand", EffectParam::Operand),
            ("word", EffectParam::Word),
            ("program", EffectParam::Program),
            ("summation", EffectParam::Summation),
            ("layout", EffectParam::Layout),
            ("types", EffectParam::Types),
            ("literal", EffectParam::Number),
        ];
        let ast::Effect { docs, name, params, result } = effect;
        let Some(kind) = self.known(&name, EffectKind::ALL, |kind| kind.name(), "effect") else { return };
        let names: Vec<&str> = params.iter().map(|(name, _)| name.as_ref()).collect();
        let text = format!("{name}({})", names.join(", "));
        let params = params.iter().filter_map(|(_, what)| {
            let found = PARAMS.iter().find(|(known, _)| what == known).map(|(_, param)| *param);
            if found.is_none() {
                let mistake = Diagnostic::new(what.span(), format!("unknown kind `{what}` of an effect's parameter"));
                self.error(mistake.suggest(what.as_ref(), PARAMS.map(|(known, _)| known)));
            }
            found
        });
        let params = params.collect();
        self.model.effects.push(Effect { docs, text, kind, params, result });
    }

    pub(super) fn lenient(&mut self, notes: Vec<ast::LenientNote>) {
        for note in notes {
            let name = note.name.to_string();
            if note.docs.is_empty() {
                self.error(Diagnostic::new(note.name.span(), "a lenient note says why in a `///` line"));
            }
            let Some(what) = Lenient::ALL.iter().find(|what| what.name() == name) else {
                self.error(
                    Diagnostic::new(note.name.span(), format!("unknown deviation `{name}` of the assembler"))
                        .suggest(&name, Lenient::ALL.iter().map(|what| what.name())),
                );
                continue;
            };
            if self.model.lenient.iter().any(|(other, _)| other == what) {
                self.error(Diagnostic::new(note.name.span(), format!("duplicate `{name}`")));
            }
            self.model.lenient.push((*what, note.docs));
        }
    }
}

fn value(version: &ast::Version) -> Version {
    Version::new(version.major, version.minor)
}
