//! Pages of names other than instructions: special registers, directives, types and state spaces.

use ptx_isa::TABLE;
use ptx_isa::table::{Directive, Kind, NonFinite, Space, Special, TypeInfo, TypeSet};
use ptx_isa::text::constant;

use super::index::{Floors, Named};
use super::prose;
use super::sheet::{Row, Section, Sheet, code, entry};

/// Files and titles of these pages.
pub(super) const FILES: [(&str, &str); 4] = [
    ("special-registers.html", "Special registers"),
    ("directives.html", "Directives"),
    ("types.html", "Types"),
    ("spaces.html", "State spaces"),
];

/// The pages, and what a search finds on them.
pub(super) fn sheets(floors: &mut Floors) -> (Vec<Sheet>, Vec<Named>) {
    let mut names = Vec::new();
    let [registers, directives, types, spaces] = FILES;
    let sheet = |(file, title): (&str, &str), lead: &str, sections: Vec<Option<Section>>| Sheet {
        file: file.to_owned(),
        title: title.to_owned(),
        lead: lead.to_owned(),
        body: String::new(),
        sections: sections.into_iter().flatten().collect(),
    };
    let sheets = vec![
        sheet(
            registers,
            "Read-only registers that describe a thread, its place in the launch, and the machine.",
            vec![
                Section::of(
                    "registers",
                    "Special registers",
                    &["Register", "Meaning", "Types", "Exists since"],
                    families().iter().map(|family| register(family, registers.0, floors, &mut names)),
                ),
                Section::of(
                    "constants",
                    "Named constants",
                    &["Constant", "Meaning", "Value"],
                    [warp_size(registers.0, &mut names)],
                ),
            ],
        ),
        sheet(
            directives,
            "Directives, and the parts of declarations that need a version or a target.",
            vec![
                Section::of(
                    "basic",
                    "Modules, functions and declarations",
                    &["Directive", "Meaning", "Exists since"],
                    TABLE
                        .directives
                        .iter()
                        .filter(|one| places(one).is_empty())
                        .map(|one| directive(one, directives.0, floors, &mut names)),
                ),
                Section::of(
                    "directives",
                    "Further directives",
                    &["Directive", "Meaning", "Place", "Arguments", "Not with", "Exists since"],
                    TABLE
                        .directives
                        .iter()
                        .filter(|one| !places(one).is_empty())
                        .map(|one| directive(one, directives.0, floors, &mut names)),
                ),
                Section::of(
                    "declarations",
                    "Parts of declarations",
                    &["Part", "Meaning", "At most", "Exists since"],
                    declarations(floors),
                ),
            ],
        ),
        sheet(
            types,
            "Types of operands and registers. Untyped bits fit any type of their width, and any type takes registers of as many \
             untyped bits. Integers of one width fit each other, signed or not; apart from bits, floats fit their own type only. The \
             last column lists them. Where an instruction takes more, such as wider registers, its page says so.",
            vec![
                Section::of(
                    "types",
                    "Types",
                    &["Type", "Meaning", "Bits", "Registers that hold it"],
                    TABLE
                        .types
                        .iter()
                        .filter(|ty| !ty.description.is_empty())
                        .map(|ty| type_row(ty, types.0, &mut names)),
                ),
                Section::of(
                    "floats",
                    "Formats of floats",
                    &[
                        "Type",
                        "Sign, exponent, fraction",
                        "Largest",
                        "Smallest normal",
                        "Smallest subnormal",
                        "Beyond numbers",
                    ],
                    TABLE.types.iter().filter(|ty| ty.exponent > 0 && ty.lanes == 1).map(float),
                ),
            ],
        ),
        sheet(
            spaces,
            "Where variables are, who shares them, and how they are addressed.",
            vec![Section::of(
                "spaces",
                "State spaces",
                &["Space", "Meaning", "Variables"],
                TABLE.spaces.iter().map(|one| space(one, spaces.0, &mut names)),
            )],
        ),
    ];
    (sheets, names)
}

/// The types of a set with which registers are declared.
fn names_of(types: TypeSet) -> String {
    let declared = types.iter().filter(|id| TABLE.ty(*id).registers.iter().any(|own| own == *id));
    declared.map(|id| code(&format!(".{}", TABLE.ty(id).name))).collect::<Vec<_>>().join(" ")
}

/// Splits a name at its first number: `%pm`, 0, `_64`.
fn numbered(name: &str) -> Option<(&str, u32, &str)> {
    let (start, _) = name.char_indices().find(|(_, letter)| letter.is_ascii_digit())?;
    let (stem, rest) = name.split_at(start);
    let tail = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    Some((stem, rest[..rest.len() - tail.len()].parse().ok()?, tail))
}

/// Returns true if two special registers differ in nothing but the number in their names, which is one higher.
fn follows(next: &Special, special: &Special) -> bool {
    let is_next = match (numbered(special.name), numbered(next.name)) {
        (Some((stem, number, tail)), Some(other)) => other == (stem, number + 1, tail),
        _ => false,
    };
    let shape = |special: &Special| (special.count, special.vector, special.types, special.description);
    is_next && shape(special) == shape(next) && special.floor == next.floor
}

/// The special registers: those that differ in a number only are a family, `%pm0` to `%pm3`.
pub(super) fn families() -> Vec<Vec<&'static Special>> {
    let mut families: Vec<Vec<&'static Special>> = Vec::new();
    for special in TABLE.specials {
        let is_of = |family: &&mut Vec<&'static Special>| family.last().is_some_and(|last| follows(special, last));
        match families.iter_mut().find(is_of) {
            Some(family) => family.push(special),
            None => families.push(vec![special]),
        }
    }
    families
}

/// The name of a family as HTML.
pub(super) fn family_name(family: &[&Special]) -> String {
    let [first, .., last] = family else {
        return family.first().map_or_else(String::new, |special| code(&register_name(special)));
    };
    format!("{} to {}", code(first.name), code(last.name))
}

fn register_name(special: &Special) -> String {
    match (special.count, special.vector) {
        (0, false) => special.name.to_owned(),
        (0, true) => format!("{}.{{x,y,z,w}}", special.name),
        (count, _) => format!("{}<{count}>", special.name),
    }
}

fn register(family: &[&'static Special], file: &str, floors: &mut Floors, names: &mut Vec<Named>) -> Row {
    let first = family[0];
    let id = first.name.trim_start_matches('%');
    names.extend(family.iter().map(|one| entry("special register", file, one.name, id, one.description)));
    let cells = vec![family_name(family), prose(first.description), names_of(first.types), first.floor.to_string()];
    Row::named(id, Some(&first.floor), floors, cells)
}

/// The row of the constant that has a name.
fn warp_size(file: &str, names: &mut Vec<Named>) -> Row {
    const MEANING: &str = "Warp size: the number of lanes in a warp, in any constant expression.";
    let name = constant::WARP_NAME;
    names.push(entry("constant", file, name, name, MEANING));
    let cells = vec![code(name), prose(MEANING), constant::WARP.to_string()];
    Row { id: name.to_owned(), floor: None, cells }
}

/// Places of a directive that has no syntax of its own.
fn places(one: &Directive) -> Vec<&'static str> {
    let places = [
        (one.module, "at the level of the module"),
        (one.entry, "in the head of a kernel"),
        (one.function, "in the head of a function"),
        (one.attribute, "in `.attribute` of a variable"),
        (one.option, "in `.target`, without its dot"),
        (one.branches || one.targets || one.prototype, "behind a label of a function"),
    ];
    places.iter().filter(|(there, _)| *there).map(|(_, place)| *place).collect()
}

/// Identifier of a directive's row; `target` alone is that of a control of each page.
fn id(one: &Directive) -> String {
    format!("directive-{}", one.name)
}

fn directive(one: &'static Directive, file: &str, floors: &mut Floors, names: &mut Vec<Named>) -> Row {
    let numbers = match (one.least, one.most) {
        (_, 0) => String::new(),
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    let without: Vec<String> = one.without.iter().map(|other| code(&format!(".{other}"))).collect();
    let until = one.until.map(|until| format!("; gone from PTX {until} on")).unwrap_or_default();
    let name = format!(".{}", one.name);
    let id = id(one);
    names.push(entry("directive", file, &name, &id, one.description));
    let mut cells = vec![code(&name), prose(one.description)];
    let places = places(one);
    if !places.is_empty() {
        cells.extend([prose(&places.join(", or ")), numbers, without.join(" ")]);
    }
    cells.push(format!("{}{until}", one.floor));
    Row::named(&id, Some(&one.floor), floors, cells)
}

fn declarations(floors: &mut Floors) -> Vec<Row> {
    let row = |part: &'static ptx_isa::table::Declared| {
        let most = if part.most > 0 { part.most.to_string() } else { String::new() };
        // The name of a feature is not PTX text.
        let is_written = part.name.starts_with(['.', '"']);
        let name = if is_written { code(part.name) } else { prose(&part.name.replace('_', " ")) };
        Row::named("", Some(&part.floor), floors, vec![name, prose(part.description), most, part.floor.to_string()])
    };
    TABLE.declarations.iter().map(row).collect()
}

fn type_row(ty: &'static TypeInfo, file: &str, names: &mut Vec<Named>) -> Row {
    let name = format!(".{}", ty.name);
    names.push(entry("type", file, &name, ty.name, ty.description));
    let bits = match (ty.kind, ty.lanes) {
        (Kind::Predicate, _) => "1".to_owned(),
        (_, 1) => ty.bits.to_string(),
        (_, lanes) => format!("{lanes} × {}", ty.lane_bits()),
    };
    Row {
        id: ty.name.to_owned(),
        floor: None,
        cells: vec![code(&name), prose(ty.description), bits, names_of(ty.registers)],
    }
}

/// A format of floats with its extreme values, as they follow from its fields.
fn float(ty: &'static TypeInfo) -> Row {
    let (exponent, fraction) = (i32::from(ty.exponent), i32::from(ty.fraction));
    let signed = i32::from(ty.bits) > exponent + fraction;
    let bias = (1 << (exponent - 1)) - 1;
    // With infinities the last exponent is theirs; a lone NaN takes the last fraction.
    let (last, steps) = match ty.beyond {
        NonFinite::Infinity => ((1 << exponent) - 2 - bias, 1),
        NonFinite::Nan if fraction > 0 => ((1 << exponent) - 1 - bias, 2),
        NonFinite::Nan => ((1 << exponent) - 2 - bias, 1),
        NonFinite::None => ((1 << exponent) - 1 - bias, 1),
    };
    let beyond = match ty.beyond {
        NonFinite::Infinity => "infinities, NaNs",
        NonFinite::Nan if signed => "one NaN of each sign",
        NonFinite::Nan => "one NaN",
        NonFinite::None => "nothing",
    };
    // A product, as a single power below 2^-1022 comes out as zero.
    let power =
        |power: i32| format!("2<sup>{power}</sup> ≈ {:.4e}", 2f64.powi(power / 2) * 2f64.powi(power - power / 2));
    let (normal, subnormal) = match fraction {
        0 => (power(-bias), String::new()),
        _ => (power(1 - bias), power(1 - bias - fraction)),
    };
    let largest = (2.0 - f64::from(steps) * 2f64.powi(-fraction)) * 2f64.powi(last);
    let largest = if (1e-4..1e6).contains(&largest) { largest.to_string() } else { format!("{largest:.6e}") };
    Row::new(vec![
        code(&format!(".{}", ty.name)),
        format!("{}, {exponent}, {fraction}", u8::from(signed)),
        largest,
        normal,
        subnormal,
        beyond.to_owned(),
    ])
}

fn space(one: &'static Space, file: &str, names: &mut Vec<Named>) -> Row {
    let name = format!(".{}", one.name);
    names.push(entry("state space", file, &name, one.name, one.description));
    let mut variables = Vec::new();
    if one.opaque {
        variables.push("declared in another space, with this as their type".to_owned());
    } else if let Some(inside) = one.inside {
        variables.push(format!("inside functions only, from PTX {inside} on"));
    }
    if one.values {
        variables.push("may have initial values".to_owned());
    }
    if one.vectors {
        variables.push("may be vectors".to_owned());
    }
    if let Some(option) = one.option {
        variables.push(format!("need `.target {option}`"));
    }
    if let Some(until) = one.until {
        variables.push(format!("gone from PTX {until} on"));
    }
    let cells = vec![code(&name), prose(one.description), prose(&variables.join("; "))];
    Row { id: one.name.to_owned(), floor: None, cells }
}
