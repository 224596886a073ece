//! The perfect hash of mnemonics.
#![cfg(feature = "write")]

use isa_table::hash::{Key, Places, build, find};

/// Places are distinct even in a small table and for texts that differ anywhere.
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
                // Two letters 64 apart differ in the two highest bits only.
                let mut texts: Vec<String> = (0..count).map(text).collect();
                texts.push(texts[0].replace('a', "!"));
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let Places { factors, places } = build(&texts);
                assert!(places.len() <= 4 * texts.len(), "{} for {texts:?}", places.len());
                for (id, text) in texts.iter().enumerate() {
                    let hash = Key::of(text.as_bytes()).hash();
                    assert_eq!(usize::from(places[find(hash, &factors, places.len())]), id, "{text}");
                }
            }
        }
    }
}
