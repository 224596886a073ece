//! Each entry of the spec about asynchronous copies, barriers in shared memory and cancelled launches is executed by some test of this folder,
//! is refused with a reason that the spec has, or is on the list here.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use ptx_isa::text::Statement;

/// Sections of the manual: asynchronous copies and stores, tensor maps, asynchronous reductions, mbarrier objects, cancelled launches.
const SECTIONS: [&str; 6] = ["9.7.9.12", "9.7.9.25", "9.7.9.26", "9.7.13.7", "9.7.13.15", "9.7.13.17"];

/// Entries that no test executes, by a form of each, and why.
const LISTED: [(&str, &str); 9] = [
    ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4", CHECKED),
    ("cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w", CHECKED),
    ("cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w::128", CHECKED),
    ("cp.async.bulk.prefetch.tensor.1d.L2.global", CHECKED),
    ("cp.async.bulk.tensor.3d.global.im2col_no_offs::w.bulk_group", NEW),
    ("cp.reduce.async.bulk.tensor.3d.global.and.im2col_no_offs::w.bulk_group", NEW),
    ("tensormap.replace.tile.swizzle_atomicity.b1024.b32", FIELD),
    ("tensormap.replace.tile.interleave_layout.b1024.b32", FIELD),
    ("tensormap.replace.tile.fill_mode.b1024.b32", FIELD),
];
const CHECKED: &str = "has no effect; the tensor map is checked as other modes check it";
const NEW: &str = "goes through the images as `.im2col::w` does; no compiler writes it yet";
const FIELD: &str = "replaces a field as others do";

fn in_sections(section: &str) -> bool {
    SECTIONS.iter().any(|own| section.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

#[test]
fn every_entry_runs_or_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = |folder: &Path, ending: &str| -> Vec<String> {
        let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let named = all.filter(|path| path.to_string_lossy().ends_with(ending));
        named.map(|path| fs::read_to_string(path).unwrap()).collect()
    };
    // The kernels of compilers, and those in the tests themselves.
    let texts = [files(&root.join("kernels"), ".ptx"), files(&root.join("run"), "barriers.rs")].concat();
    let place = |form: FormInfo| std::ptr::from_ref(form.entry()) as usize;
    let mut run: HashSet<usize> = HashSet::new();
    for part in texts.iter().flat_map(|text| text.split([';', '\n'])) {
        if let Ok(statement) = Statement::parse(&TABLE, &format!("{};", part.trim())) {
            run.insert(place(statement.form()));
        }
    }
    let mut left: HashMap<usize, FormInfo> = HashMap::new();
    for form in TABLE.forms().filter(|form| in_sections(form.section()) && form.effects().lacks.is_empty()) {
        if !run.contains(&place(form)) {
            left.entry(place(form)).or_insert(form);
        }
    }
    for (name, reason) in LISTED {
        let before = left.len();
        left.retain(|_, form| form.mnemonic() != name);
        assert!(
            left.len() < before,
            "`{name}` is executed or unknown, though it is listed: {reason}; left are {:?}",
            left.values().map(|form| form.mnemonic()).collect::<Vec<_>>()
        );
    }
    let left: Vec<&str> = left.values().map(|form| form.mnemonic()).collect();
    assert!(left.is_empty(), "no test executes {}", left.join(", "));
}
