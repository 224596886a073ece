//! The perfect hash from mnemonics to forms: a factor for each bucket, found by trying.

use crate::hash::{Key, bucket, place};

/// Factors of buckets and forms in places; both lengths are powers of two.
pub(super) struct PerfectHash {
    pub factors: Vec<u32>,
    pub places: Vec<u16>,
}

/// Marks a place without a form.
const EMPTY: u16 = u16::MAX;

/// How many factors are tried for a bucket.
const TRIES: u32 = 1 << 14;

/// Places every text; the id of a text is its index.
///
/// # Panics
///
/// If two texts have one hash, so that no factor parts them, which no table should see; and if there are so many texts
/// that 2¹⁶ places are not enough.
pub(super) fn build(texts: &[&str]) -> PerfectHash {
    let hashes: Vec<u64> = texts.iter().map(|text| Key::of(text.as_bytes()).hash()).collect();
    let mut sorted = hashes.clone();
    sorted.sort_unstable();
    assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "two mnemonics have one hash");
    let buckets = (texts.len() / 3).next_power_of_two();
    let mut places = (texts.len() + 1).next_power_of_two();
    loop {
        if let Some(found) = try_build(&hashes, buckets, places) {
            return found;
        }
        places *= 2;
        assert!(places <= 1 << 16, "there are too many mnemonics");
    }
}

fn try_build(hashes: &[u64], buckets: usize, size: usize) -> Option<PerfectHash> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); buckets];
    for (id, hash) in hashes.iter().enumerate() {
        members[bucket(*hash, buckets)].push(id);
    }
    let mut order: Vec<usize> = (0..buckets).collect();
    order.sort_by_key(|index| std::cmp::Reverse(members[*index].len()));
    let mut places = vec![EMPTY; size];
    let mut factors = vec![1; buckets];
    for index in order {
        let ids = &members[index];
        let spots = |factor| ids.iter().map(move |id| place(hashes[*id], factor, size));
        factors[index] = (0..TRIES).map(factor).find(|factor| {
            let free = spots(*factor).all(|spot| places[spot] == EMPTY);
            free && spots(*factor).enumerate().all(|(i, spot)| spots(*factor).take(i).all(|other| other != spot))
        })?;
        for (id, spot) in ids.iter().zip(spots(factors[index])) {
            places[spot] = *id as u16;
        }
    }
    Some(PerfectHash { factors, places })
}

/// An odd factor that carries low bits of a hash up, another one for each try.
fn factor(number: u32) -> u32 {
    (number + 1).wrapping_mul(0x9e37_79b9) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each text has its place in a small table, wherever they differ.
    #[test]
    fn texts_that_differ_in_one_byte_have_places_of_their_own() {
        for length in [1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 33] {
            for index in 0..length {
                for count in [1, 2, 3, 26] {
                    let text = |number: u8| {
                        let mut bytes = vec![b'.'; length];
                        bytes[index] = b'a' + number;
                        String::from_utf8(bytes).unwrap()
                    };
                    // Two letters apart by 64 differ in the two highest bits only.
                    let mut texts: Vec<String> = (0..count).map(text).collect();
                    texts.push(texts[0].replace('a', "!"));
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    let PerfectHash { factors, places } = build(&texts);
                    assert!(places.len() <= 4 * texts.len(), "{} for {texts:?}", places.len());
                    for (id, text) in texts.iter().enumerate() {
                        let hash = Key::of(text.as_bytes()).hash();
                        let factor = factors[bucket(hash, factors.len())];
                        assert_eq!(usize::from(places[place(hash, factor, places.len())]), id, "{text}");
                    }
                }
            }
        }
    }
}
