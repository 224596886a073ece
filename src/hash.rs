//! The hash of mnemonics. The generator places forms with it and the library finds them with it, so both crates hold
//! this file; a test keeps the copies the same.

/// The hash of a mnemonic: any number of bytes.
#[inline(always)]
pub(crate) fn hash(text: &[u8]) -> u64 {
    let mut state = (text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut words = text.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes([word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7]]);
        state = mix(state ^ word);
    }
    let mut tail = 0;
    for byte in words.remainder() {
        tail = tail << 8 | u64::from(*byte);
    }
    mix(state ^ tail)
}

#[inline(always)]
fn mix(word: u64) -> u64 {
    let product = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    product ^ product >> 32
}

/// The place of a hash in a table of so many places, a power of two, with its bucket's displacement.
#[inline(always)]
pub(crate) fn place(hash: u64, displacement: u16, places: usize) -> usize {
    let step = (hash >> 40) | 1;
    (hash >> 16).wrapping_add(step.wrapping_mul(displacement as u64)) as usize & (places - 1)
}

/// The bucket of a hash among so many, a power of two.
#[inline(always)]
pub(crate) fn bucket(hash: u64, buckets: usize) -> usize {
    hash as usize & (buckets - 1)
}
