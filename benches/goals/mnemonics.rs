//! From a mnemonic to its form, against hash maps.

use std::hint::black_box;

use ptx_isa::TABLE;

use crate::measure::{Random, report};

pub(crate) fn rows(random: &mut Random) {
    let names: Vec<&'static str> = TABLE.forms().map(|form| form.mnemonic()).collect();
    let fx: rustc_hash::FxHashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (*name, i)).collect();
    let state = phf_generator::generate_hash(&names);
    let entries: Vec<(&'static str, usize)> = state.map.iter().map(|i| (names[*i], *i)).collect();
    let phf: phf::Map<&'static str, usize> =
        phf::Map { key: state.key, disps: state.disps.leak(), entries: entries.leak() };
    // Texts of their own, in random order, as a reader would have them.
    let queries: Vec<String> = (0..8192).map(|_| names[random.next() as usize % names.len()].to_owned()).collect();
    let sum = |find: &dyn Fn(&str) -> Option<usize>| queries.iter().map(|q| find(q).unwrap()).sum::<usize>();
    let ours = |q: &str| TABLE.forms.index(q);
    assert_eq!(sum(&ours), sum(&|q| fx.get(q).copied()));
    assert_eq!(sum(&ours), sum(&|q| phf.get(q).copied()));
    let mut ours = || {
        black_box(black_box(&queries).iter().map(|q| TABLE.forms.index(q).unwrap()).sum::<usize>());
    };
    report("mnemonic to form, FxHashMap", 1.5, 4, &mut ours, &mut || {
        black_box(black_box(&queries).iter().map(|q| *fx.get(q.as_str()).unwrap()).sum::<usize>());
    });
    report("mnemonic to form, phf", 3.0, 4, &mut ours, &mut || {
        black_box(black_box(&queries).iter().map(|q| *phf.get(q.as_str()).unwrap()).sum::<usize>());
    });
}
