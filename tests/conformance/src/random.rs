//! Pseudo-random choices that a seed reproduces.

#[path = "../../random/mod.rs"]
mod generator;

pub(crate) use generator::Random;

/// Returns one of some names, chosen so that names added to the list change few choices.
pub(crate) fn pick_name<T: AsRef<str>>(random: &mut Random, names: impl IntoIterator<Item = T>) -> T {
    let turn = random.next();
    names.into_iter().min_by_key(|name| hash(name.as_ref(), turn)).expect("there are names")
}

/// Returns a number that depends only on a text and a seed: samples drawn by it stay the same when others are added.
pub(crate) fn hash(text: &str, seed: u64) -> u64 {
    Random::from_text(text, seed).next()
}
