//! The minimum version and target: what `check` accepts there, and refuses below.

use crate::random::Random;
use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Diagnostic, Severity};
use ptx_isa::table::{Directive, FormInfo, Free};
use ptx_isa::target::{Target, Version};
use ptx_isa::text::module::{Minimum, needs};
use ptx_isa::text::{Options, Statement, check, spelling};

/// The refusals of a text for a version and a target that are for these.
fn refusals(text: &str, ptx: Version, target: Target) -> Vec<Diagnostic> {
    let options = Options { ptx: Some(ptx), target: Some(target) };
    let mut found = check(&TABLE, text.as_bytes(), &options).diagnostics;
    found.retain(|it| it.severity == Severity::Error && matches!(it.code, Code::PtxVersion | Code::Target));
    found
}

/// The minimum of a text, which is accepted there, and refused with the version below and on every target below.
fn minimum(text: &str) -> Option<Minimum> {
    let minimum = needs(&TABLE, text.as_bytes()).pop().expect("the module").minimum()?;
    let Minimum { ptx, target, .. } = minimum;
    let found = refusals(text, ptx, target);
    assert!(found.is_empty(), "PTX {ptx}, {target}: {found:?}\n{text}");
    let since = TABLE.targets.iter().find(|known| known.target == target).expect("a target").since;
    let below = TABLE.versions.iter().rev().find(|below| **below < ptx);
    if let Some(below) = below.filter(|_| since < ptx) {
        assert!(!refusals(text, *below, target).is_empty(), "PTX {below}, {target}\n{text}");
        assert!(minimum.version_reason.is_some());
    }
    let newest = *TABLE.versions.last().expect("a version");
    for below in TABLE.targets.iter().filter(|known| known.since <= ptx).map(|known| known.target) {
        if below != target && TABLE.families().has(target, below) {
            assert!(!refusals(text, newest, below).is_empty(), "PTX {newest}, {below}\n{text}");
            assert!(!minimum.target_reasons.is_empty());
        }
    }
    Some(minimum)
}

/// Returns a statement of a random form, with random free modifiers and optional operands.
fn statement(random: &mut Random, forms: &[FormInfo]) -> String {
    let form = forms[random.below(forms.len())];
    let some = |random: &mut Random| {
        let mut values = form.values().to_vec();
        for item in form.syntax().items.iter().filter(|item| form.instruction().slots[usize::from(item.slot)].free) {
            let members: Vec<u8> = (0..63).filter(|member| item.members >> member & 1 == 1).collect();
            let there = !item.optional || random.below(2) == 1;
            values[usize::from(item.slot)] = if there { members[random.below(members.len())] } else { 63 };
        }
        Free::of(form.instruction(), &values)
    };
    let free = (0..100).map(|_| some(random)).find(|free| form.takes(free));
    let Some(free) = free.or_else(|| crate::statements::free(form)) else { return String::new() };
    let least = form.operands().iter().filter(|operand| !operand.optional).count();
    let count = least + random.below(form.operands().len() - least + 1);
    let operands = form.operands().iter().take(count).map(|operand| {
        let name = match random.below(20) {
            0 if operand.specials => "%clusterid.x",
            1 if operand.specials => "%total_smem_size",
            _ => operand.name,
        };
        let name = match operand.second {
            Some(second) => format!("{name}|{}", second.name),
            None => crate::statements::operand(operand, name),
        };
        operand.with_around(&name)
    });
    format!("{} {};\n", form.mnemonic_with(&free), operands.collect::<Vec<_>>().join(", "))
}

#[test]
fn check_accepts_at_the_minimum_and_refuses_below() {
    let mut random = Random::new(35);
    let forms: Vec<FormInfo> = TABLE.forms().collect();
    let (mut some, mut none, mut own) = (0, 0, 0);
    for round in 0..3000 {
        // Statements with high requirements rarely combine, so few are put together.
        let text: String = (0..1 + round % 4).map(|_| statement(&mut random, &forms)).collect();
        match minimum(&text) {
            Some(minimum) => (some, own) = (some + 1, own + usize::from(minimum.target.suffix.is_some())),
            None => none += 1,
        }
    }
    assert!(some > 2000 && none > 20 && own > 200, "{some} have one, {none} none, {own} an architecture's");
}

/// The requirements of a statement on its own agree with the verdict of `check`.
#[test]
fn a_statement_needs_what_check_asks_for() {
    let mut random = Random::new(17);
    let forms: Vec<FormInfo> = TABLE.forms().collect();
    let (mut there, mut all) = (0, 0);
    for _ in 0..20_000 {
        let text = statement(&mut random, &forms);
        let Ok(statement) = Statement::parse(&TABLE, &text) else { continue };
        let ptx = TABLE.versions[random.below(TABLE.versions.len())];
        let target = TABLE.targets[random.below(TABLE.targets.len())].target;
        let met = statement.needs().all(|need| TABLE.has(need.floor, Some(ptx), Some(target)));
        assert_eq!(met, refusals(&text, ptx, target).is_empty(), "PTX {ptx}, {target}: {text}");
        let mnemonic = spelling::is_taken_with(statement.form(), statement.free(), Some(ptx), Some(target));
        assert!(mnemonic || !met, "PTX {ptx}, {target}: {text}");
        (there, all) = (there + usize::from(met), all + 1);
    }
    assert!(all > 15_000 && there > 2000 && there < all - 2000, "{there} of {all}");
}

/// Lists of forms, pages and completion agree with the verdict on statements: a form exists since a spelling of it is accepted.
#[test]
fn a_form_exists_since_its_canonical_spelling() {
    let mut random = Random::new(21);
    let newest = TABLE.versions.last().copied();
    let mut later = 0;
    for form in TABLE.forms() {
        let (free, since) = (spelling::canonical(form).expect("a spelling"), spelling::since(form));
        assert!(form.takes(&free), "{}", form.mnemonic_with(&free));
        // No target below has any spelling, and with the version below no target has.
        let at = |ptx, target| spelling::is_taken_with(form, &free, Some(ptx), Some(target));
        assert!(since.targets.iter().all(|target| at(since.ptx, *target)), "{}: {since}", form.pattern());
        if form.lenient_floor().is_none() {
            let below = TABLE.versions.iter().rev().find(|below| **below < since.ptx);
            let known = &TABLE.targets[random.below(TABLE.targets.len())];
            let target = known.target;
            assert!(
                below.is_none_or(|below| !spelling::is_taken(form, Some(*below), Some(target))),
                "{}",
                form.pattern()
            );
            let below = |least: &Target| *least != target && TABLE.families().has(*least, target);
            if known.since <= since.ptx && since.targets.iter().all(below) {
                assert!(!spelling::is_taken(form, newest, Some(target)), "{} on {target}", form.pattern());
            }
        }
        later += usize::from(since.ptx > form.floor().ptx);
    }
    assert!(later > 100, "{later} forms need more than their own floor");
}

/// A target that accepts a form accepts at least one of its spellings, and conversely.
#[test]
fn a_form_is_taken_where_a_spelling_is() {
    let mut random = Random::new(8);
    let forms: Vec<FormInfo> = TABLE.forms().filter(|form| form.syntax().free).collect();
    let mut seen = [0, 0];
    for _ in 0..20_000 {
        let text = statement(&mut random, &forms);
        let Ok(statement) = Statement::parse(&TABLE, &text) else { continue };
        let (form, free) = (statement.form(), statement.free());
        let ptx = Some(TABLE.versions[random.below(TABLE.versions.len())]);
        let target = Some(TABLE.targets[random.below(TABLE.targets.len())].target);
        let (some, this) = (spelling::is_taken(form, ptx, target), spelling::is_taken_with(form, free, ptx, target));
        assert!(some || !this, "{ptx:?}, {target:?}: {text}");
        seen[usize::from(some && !this)] += 1;
    }
    assert!(seen[0] > 5000 && seen[1] > 500, "{seen:?}");
}

#[test]
fn modules_have_a_minimum() {
    for file in std::fs::read_dir("tests/modules").expect("a folder") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a module");
        let minimum = minimum(&text).expect("a version and a target");
        // With them in its head nothing is refused that was not before.
        let before = check(&TABLE, text.as_bytes(), &Options::default()).errors();
        let lines = text.lines().map(|line| match line.split_whitespace().next() {
            Some(".version") => format!(".version {}\n", minimum.ptx),
            Some(".target") => format!(".target {}\n", minimum.target),
            _ => format!("{line}\n"),
        });
        assert_eq!(check(&TABLE, lines.collect::<String>().as_bytes(), &Options::default()).errors(), before);
    }
}

/// Directives of heads and bodies, options of the target, attributes of variables.
#[test]
fn directives_have_a_minimum() {
    let text = |directive: &Directive| {
        let Directive { name, module, entry, function, attribute, option, sections, least, .. } = *directive;
        let numbers = vec!["1"; usize::from(least)].join(", ");
        let option = if option { format!(", {name}") } else { String::new() };
        let before = match (attribute, module) {
            (true, _) if least > 0 => format!(".global .attribute(.{name}({numbers})) .u32 v;"),
            (true, _) => format!(".global .attribute(.{name}) .u32 v;"),
            (_, true) => format!(".{name} \"x\";"),
            _ if sections => ".section .debug_str { .b8 0 }".to_owned(),
            _ => String::new(),
        };
        let head = if entry { format!(".{name} {numbers}") } else { String::new() };
        let device = if function && !entry { format!(".func f() .{name} {numbers} {{ ret; }}") } else { String::new() };
        let inside = if directive.is_labeled() { format!("L: .{name} x;") } else { String::new() };
        format!(".version 9.0 .target sm_90{option}\n{before}\n{device}\n.entry k() {head} {{ {inside} ret; }}\n")
    };
    let mut later = 0;
    for directive in TABLE.directives {
        let text = text(directive);
        let minimum = minimum(&text).unwrap_or_else(|| panic!("{text}"));
        if directive.floor.has(TABLE.versions[0], TABLE.targets[0].target, TABLE.families()) {
            continue;
        }
        later += 1;
        let asked = (minimum.ptx, minimum.target);
        assert!(asked.0 >= directive.floor.ptx && asked.1 >= directive.floor.target(), "{asked:?}: {text}");
    }
    assert!(later > 10, "{later} directives came later");
}

#[test]
fn a_function_needs_what_those_that_it_reaches_need() {
    let text = "
        .version 7.0 .target sm_80
        .func leaf() { griddepcontrol.wait; ret; }
        .func loop() { call loop; ret; }
        .func pointed() { call leaf; ret; }
        .entry calls() { call pointed; ret; }
        .entry takes() { .reg .b64 %rd<2>; mov.u64 %rd1, pointed; ret; }
        .entry none() { call loop; ret; }";
    let minimum = |name: &str| {
        let mut all = needs(&TABLE, text.as_bytes()).into_iter();
        let own = all.find(|needs| needs.function.is_some_and(|function| function.name == name)).expect("a function");
        own.minimum().expect("a version and a target").target
    };
    for name in ["leaf", "pointed", "calls", "takes"] {
        assert_eq!(minimum(name), Target::sm(90), "{name}");
    }
    for name in ["loop", "none"] {
        assert!(minimum(name) < Target::sm(90), "{name}");
    }
}
