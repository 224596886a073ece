//! Resolution of what a spec says of modules: state spaces, directives, parts of declarations and special registers.

use isa_table::target::{FloorBuf, Removed};
use proc_macro2::Span;

use super::Resolver;
use crate::model::{
    DeclaredBuf, DirectiveBuf, Feature, Kind, Memory, Origin, Requirement, SpaceBuf, SpecialBuf, Type, TypeId, TypeSet,
};
use crate::syntax::ast;
use crate::text::Diagnostic;

impl Resolver {
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
}
