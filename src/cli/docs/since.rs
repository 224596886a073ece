//! Since when the forms of an entry exist: a row for each condition, its needs as text and as a strip of versions and targets.

use ptx_isa::TABLE;
use ptx_isa::reference::page::{Entry, Floor};
use ptx_isa::target::{Target, Version};

/// A condition in words, and what the forms that meet it need.
pub(super) struct Since {
    pub(super) label: &'static str,
    /// The version and the targets.
    pub(super) needs: [Option<(String, Vec<Part>)>; 2],
    /// True if only the assembler is content with it.
    pub(super) lenient: bool,
}

/// A part of a strip.
pub(super) struct Part {
    pub(super) from: String,
    pub(super) wide: String,
    /// True if not every target of these numbers has it, only those of an architecture or a family.
    pub(super) some: bool,
}

pub(super) fn rows(entry: &Entry) -> Vec<Since> {
    entry.floors.iter().map(row).collect()
}

fn row(floor: &Floor) -> Since {
    let version = floor.ptx.and_then(|ptx| ptx.parse::<Version>().ok());
    let ptx = version.map(|version| {
        let there = TABLE.versions.iter().map(|known| if *known >= version { Has::All } else { Has::None });
        (format!("PTX {version}"), parts(there.collect()))
    });
    let target = floor.target.map(|text| {
        let wanted: Vec<Target> = text.split(" or ").filter_map(|name| name.parse().ok()).collect();
        (text.to_owned(), parts(sms().into_iter().map(|sm| has(sm, &wanted)).collect()))
    });
    Since { label: floor.words.unwrap_or("every form"), needs: [ptx, target], lenient: floor.lenient.is_some() }
}

#[derive(Clone, Copy, PartialEq)]
enum Has {
    None,
    Some,
    All,
}

/// Which targets of a number have what one of these has.
fn has(sm: u16, wanted: &[Target]) -> Has {
    let own = TABLE.targets.iter().map(|info| info.target).filter(|target| target.sm == sm);
    let (mut some, mut all) = (false, true);
    for target in own {
        let there = wanted.iter().any(|wanted| TABLE.families().has(target, *wanted));
        some |= there;
        all &= there;
    }
    match (some, all) {
        (true, true) => Has::All,
        (true, false) => Has::Some,
        (false, _) => Has::None,
    }
}

/// The SM numbers of all targets, ascending.
fn sms() -> Vec<u16> {
    let mut sms: Vec<u16> = TABLE.targets.iter().map(|info| info.target.sm).collect();
    sms.dedup();
    sms
}

/// Neighbors that are alike are one part; where there is nothing is none.
fn parts(there: Vec<Has>) -> Vec<Part> {
    let percent = |count: usize| format!("{:.1}", 100.0 * count as f64 / there.len() as f64);
    let percent = |count| format!("{}%", percent(count).trim_end_matches(".0"));
    let mut parts = Vec::new();
    let mut from = 0;
    for run in there.chunk_by(|one, other| one == other) {
        if run[0] != Has::None {
            parts.push(Part { from: percent(from), wide: percent(run.len()), some: run[0] == Has::Some });
        }
        from += run.len();
    }
    parts
}
