//! From a mnemonic to its form, against hash maps.

use std::hint::black_box;

use ptx_isa::TABLE;

use crate::measure::{Random, report};

pub(crate) fn rows(random: &mut Random) {
    // Forms that differ in operands alone share a mnemonic; of equal keys the generator would search a perfect hash forever.
    let mut seen = rustc_hash::FxHashSet::default();
    let names: Vec<&'static str> =
        TABLE.forms().map(|form| form.mnemonic()).filter(|name| seen.insert(*name)).collect();
    let fx: rustc_hash::FxHashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (*name, i)).collect();
    let state = phf_generator::generate_hash(&names);
    let entries: Vec<(&'static str, usize)> = state.map.iter().map(|i| (names[*i], *i)).collect();
    let phf: phf::Map<&'static str, usize> =
        phf::Map { key: state.key, disps: state.disps.leak(), entries: entries.leak() };
    // Texts of their own, in random order, as a reader would have them.
    let queries: Vec<String> = (0..8192).map(|_| names[random.next() as usize % names.len()].to_owned()).collect();
    for query in queries.iter().map(String::as_str) {
        assert_eq!(TABLE.forms.index(query).map(|form| TABLE.forms.mnemonic(form)), Some(query));
        assert_eq!([names[fx[query]], names[phf[query]]], [query; 2]);
    }
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
