//! The perfect hash from mnemonics to forms: a displacement for each bucket, found by trying.

use crate::hash::{bucket, hash, place};

/// Displacements of buckets and forms in places; both lengths are powers of two.
pub(super) struct PerfectHash {
    pub displacements: Vec<u16>,
    pub places: Vec<u16>,
}

/// Marks a place without a form.
const EMPTY: u16 = u16::MAX;

/// Places every text; the id of a text is its index.
pub(super) fn build(texts: &[&str]) -> PerfectHash {
    let hashes: Vec<u64> = texts.iter().map(|text| hash(text.as_bytes())).collect();
    let mut places = (texts.len() * 2).next_power_of_two();
    loop {
        if let Some(found) = try_build(&hashes, places / 4, places) {
            return found;
        }
        places *= 2;
    }
}

fn try_build(hashes: &[u64], buckets: usize, size: usize) -> Option<PerfectHash> {
    let buckets = buckets.max(1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); buckets];
    for (id, hash) in hashes.iter().enumerate() {
        members[bucket(*hash, buckets)].push(id);
    }
    let mut order: Vec<usize> = (0..buckets).collect();
    order.sort_by_key(|index| std::cmp::Reverse(members[*index].len()));
    let mut places = vec![EMPTY; size];
    let mut displacements = vec![0; buckets];
    for index in order {
        let ids = &members[index];
        let displacement = (0..u16::MAX).find(|displacement| {
            let spots: Vec<usize> = ids.iter().map(|id| place(hashes[*id], *displacement, size)).collect();
            let apart = spots.iter().enumerate().all(|(i, spot)| !spots[..i].contains(spot));
            apart && spots.iter().all(|spot| places[*spot] == EMPTY)
        })?;
        displacements[index] = displacement;
        for id in ids {
            places[place(hashes[*id], displacement, size)] = *id as u16;
        }
    }
    Some(PerfectHash { displacements, places })
}
