//! Resolution of declarations: versions, targets, types, classes, builtins, functions, operators, and deviations of the
//! assembler.

use isa_table::target::{FloorBuf, Removed};
use proc_macro2::{Span, TokenStream};

use super::Resolver;
use super::sum::sum;
use crate::model::fragment::check as check_place;
use crate::model::{
    ChapterBuf, Class, DeclaredBuf, DirectiveBuf, Effect, EffectKind, EffectParam, Feature, FieldBuf, Fragment, Kind,
    Layout, Lenient, ManualBuf, Memory, NonFinite, Origin, Requirement, SpaceBuf, SpecialBuf, SumOfBuf, SummationBuf,
    Target, Type, TypeId, TypeSet, Version,
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

    pub(super) fn spaces(&mut self, spaces: Vec<ast::Space>) {
        const ATTRIBUTES: [&str; 14] = [
            "generic",
            "constants",
            "opaque",
            "values",
            "opaques",
            "vectors",
            "common",
            "option",
            "required",
            "suffixes",
            "inside",
            "until",
            "kernel",
            "function",
        ];
        for space in spaces {
            let ast::Space { docs, name, memory, attributes, option, inside, until, .. } = space;
            let ast::Space { kernel, function, banks, limit, reserved, unit, fields, words, .. } = space;
            let [inside, until] = [inside, until].map(|version| version.map(|version| self.version(&version)));
            for attribute in &attributes {
                if !ATTRIBUTES.iter().any(|known| attribute == known) {
                    self.error(
                        Diagnostic::new(attribute.span(), format!("unknown attribute `{attribute}` of a state space"))
                            .suggest(attribute.as_ref(), ATTRIBUTES),
                    );
                }
            }
            let has = |name: &str| attributes.iter().any(|attribute| attribute == name);
            if self.model.spaces.iter().any(|space| name == space.name) {
                self.error(Diagnostic::new(name.span(), format!("duplicate state space `.{name}`")));
            }
            let options = || self.model.directives.iter().filter(|directive| directive.option);
            if let Some(option) = option.as_ref().filter(|option| options().all(|known| **option != *known.name)) {
                let names: Vec<String> = options().map(|known| known.name.clone()).collect();
                let mistake = Diagnostic::new(option.span(), format!("`{option}` is not an option of `.target`"));
                self.error(mistake.suggest(option.as_ref(), names.iter().map(String::as_str)));
            }
            if let Some(required) = attributes.iter().find(|attribute| *attribute == "required" && option.is_none()) {
                let mistake = Diagnostic::new(required.span(), "`required` goes with an `option`");
                self.error(mistake.help("like `.samplerref opaque option texmode_independent required;`"));
            }
            for window in [&kernel, &function].into_iter().flatten() {
                if !window.to_string().starts_with(&format!("{name}::")) {
                    let message = format!("`.{window}` is not a window of `.{name}`");
                    self.error(Diagnostic::new(window.span(), message).help(format!("like `.{name}::window`")));
                }
            }
            let memory = memory.and_then(|word| self.known(&word, Memory::ALL, Memory::name, "memory"));
            self.model.spaces.push(SpaceBuf {
                name: name.to_string(),
                memory,
                generic: has("generic"),
                constants: has("constants"),
                opaque: has("opaque"),
                option: option.map(|option| option.to_string()),
                required: has("required"),
                suffixes: has("suffixes"),
                kernel: kernel.map(|window| window.to_string()),
                function: function.map(|window| window.to_string()),
                limit: limit.map(|limit| limit.value.into()),
                reserved: reserved.map_or(0, |bytes| bytes.value.into()),
                unit: unit.map_or(1, |bytes| u64::from(bytes.value).max(1)),
                banks: banks.map_or(0, |banks| banks.value.min(u8::MAX.into()) as u8),
                values: has("values"),
                opaques: has("opaques"),
                vectors: has("vectors"),
                common: has("common"),
                fields: fields.iter().map(ToString::to_string).collect(),
                words: words.iter().map(ToString::to_string).collect(),
                inside,
                until,
                description: docs.split_whitespace().collect::<Vec<_>>().join(" "),
            });
        }
    }

    pub(super) fn directives(&mut self, directives: Vec<ast::Directive>) {
        for other in directives.iter().flat_map(|directive| directive.with.iter().chain(&directive.without)) {
            if directives.iter().all(|directive| directive.name != *other) {
                let mistake = Diagnostic::new(other.span(), format!("there is no directive `.{other}`"));
                self.error(mistake.suggest(other.as_ref(), directives.iter().map(|directive| directive.name.as_ref())));
            }
        }
        directives.into_iter().for_each(|directive| self.directive(directive));
    }

    fn directive(&mut self, directive: ast::Directive) {
        const PLACES: [&str; 12] = [
            "module",
            "branches",
            "targets",
            "prototype",
            "entry",
            "function",
            "attribute",
            "option",
            "sections",
            "resultless",
            "first",
            "last",
        ];
        let ast::Directive { docs, name, places, numbers, from, with, without, until, lifetime } = directive;
        for place in &places {
            if !PLACES.iter().any(|known| place == known) {
                self.error(
                    Diagnostic::new(place.span(), format!("unknown directive context `{place}`"))
                        .suggest(place.as_ref(), PLACES),
                );
            }
        }
        if self.model.directives.iter().any(|other| name == other.name) {
            self.error(Diagnostic::new(name.span(), format!("duplicate directive `.{name}`")));
        }
        let Some(floor) = lifetime.and_then(|lifetime| self.lifetime(name.span(), lifetime)) else { return };
        let until = until.map(|version| self.version(&version));
        let allowed_in = |place: &str| places.iter().any(|other| other == place);
        self.model.directives.push(DirectiveBuf {
            name: name.to_string(),
            module: allowed_in("module"),
            branches: allowed_in("branches"),
            targets: allowed_in("targets"),
            prototype: allowed_in("prototype"),
            entry: allowed_in("entry"),
            function: allowed_in("function"),
            attribute: allowed_in("attribute"),
            option: allowed_in("option"),
            sections: allowed_in("sections"),
            resultless: allowed_in("resultless"),
            first: allowed_in("first"),
            last: allowed_in("last"),
            least: numbers.as_ref().map_or(0, |(least, _)| least.value as u8),
            most: numbers.map_or(0, |(_, most)| most.value as u8),
            from: from.as_ref().map_or(1, |(from, _)| from.value),
            up_to: from.and_then(|(_, up_to)| up_to).map_or(u32::MAX, |up_to| up_to.value),
            with: with.iter().map(ToString::to_string).collect(),
            without: without.iter().map(ToString::to_string).collect(),
            until,
            floor,
            description: docs.split_whitespace().collect::<Vec<_>>().join(" "),
        });
    }

    /// Minimum version and targets of a directive or a declaration, both required, and where it was removed.
    pub(super) fn lifetime(&mut self, span: Span, lifetime: ast::Lifetime) -> Option<FloorBuf> {
        let floor = self.requirement(lifetime.from);
        let removal = lifetime.removed.map(|removal| self.requirement(removal));
        let removed =
            removal.and_then(|removal| Some(Removed { ptx: removal.ptx?, target: *removal.targets.first()? }));
        let whole = floor.ptx.filter(|_| !floor.targets.is_empty());
        if whole.is_none() {
            let message = "a directive or declaration has a version and a target";
            self.error(Diagnostic::new(span, message).help("write `: ptx 1.0, sm_10` after it"));
        }
        whole.map(|ptx| FloorBuf { ptx, targets: floor.targets, removed })
    }

    pub(super) fn declared(&mut self, declared: ast::Declared) {
        const ATTRIBUTES: [&str; 2] = ["inside", "number"];
        let ast::Declared { docs, span, name, most, attributes, lifetime } = declared;
        for attribute in &attributes {
            let mistake = if !ATTRIBUTES.iter().any(|known| attribute == known) {
                let message = format!("unknown attribute `{attribute}` of `{name}`");
                Diagnostic::new(attribute.span(), message).suggest(attribute.as_ref(), ATTRIBUTES)
            } else if !name.starts_with('"') {
                Diagnostic::new(attribute.span(), format!("`{attribute}` is for strings of `.pragma`"))
            } else {
                continue;
            };
            self.error(mistake);
        }
        let known = match name.strip_prefix('.') {
            Some(word) => {
                self.model.types.iter().any(|ty| ty.name == word)
                    || self.model.spaces.iter().any(|space| space.name == word)
            }
            None => {
                let field = |space: &SpaceBuf| space.fields.contains(&name);
                name.starts_with('"')
                    || Feature::ALL.iter().any(|feature| feature.name() == name)
                    || self.model.spaces.iter().any(field)
            }
        };
        if !known {
            let features = Feature::ALL.iter().map(|feature| feature.name());
            let message =
                format!("`{name}` is neither a type, a state space, a field of one, nor a part of a declaration");
            self.error(Diagnostic::new(span, message).suggest(&name, features));
        }
        let most = most.map_or(0, |most| most.value.into());
        let last = self.model.declarations.iter().rfind(|other| other.name == name);
        if last.is_some_and(|last| most <= last.most) {
            self.error(Diagnostic::new(
                span,
                format!("duplicate `{name}`: entries of one name must have ascending numbers"),
            ));
        }
        if let Some(floor) = self.lifetime(span, lifetime) {
            let description = docs.split_whitespace().collect::<Vec<_>>().join(" ");
            let [inside, number] = ATTRIBUTES.map(|known| attributes.iter().any(|attribute| attribute == known));
            self.model.declarations.push(DeclaredBuf { name, most, inside, number, floor, description });
        }
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

    pub(super) fn special(&mut self, special: ast::Special) {
        let ast::Special { docs, names, elements, types, limit, floor } = special;
        let named: Vec<TypeId> = types.iter().filter_map(|ty| self.type_id(ty)).collect();
        // Constants may be read as bits or as integers of either signedness.
        let read_as = |id: &TypeId| {
            let own = self.model.ty(*id);
            let word = |kind| matches!(kind, Kind::Bits | Kind::Unsigned | Kind::Signed);
            let same = move |ty: &&Type| ty.bits == own.bits && ty.lanes == 1 && (ty.kind == own.kind || word(ty.kind));
            let all = self.model.type_ids().filter(move |(_, ty)| same(ty));
            all.filter(move |(other, _)| word(own.kind) || other == id).map(|(id, _)| id).collect::<Vec<_>>()
        };
        let types: TypeSet = named.iter().flat_map(read_as).collect();
        let span = floor.span;
        let Requirement { ptx, targets, .. } = self.requirement(floor);
        let Some(ptx) = ptx.filter(|_| !targets.is_empty()) else {
            let message = "a special register has a version and a target";
            return self.error(Diagnostic::new(span, message).help("write `ptx 1.0, sm_10` after its types"));
        };
        for ast::SpecialName { name, count, origin } in names {
            let origin = self.known(&origin, Origin::ALL, Origin::name, "origin of a value");
            self.model.specials.push(SpecialBuf {
                name: format!("%{name}"),
                count: count.map_or(0, |count| count.value as u8),
                vector: elements.is_some(),
                types,
                origin: origin.unwrap_or(Origin::Zero),
                limit: limit.iter().map(|limit| limit.value).collect(),
                floor: FloorBuf { ptx, targets: targets.clone(), removed: None },
                description: docs.split_whitespace().collect::<Vec<_>>().join(" "),
            });
        }
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
