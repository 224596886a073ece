//! Numbers within the words of modifiers.

/// The number after the given letters of a word, `k` in `m16n8k32`, or before them if the word begins with a number,
/// `d` in `2d`.
pub(super) fn number_at(word: &str, letters: &str) -> Option<u32> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let same = |letter: char| letter.is_ascii_digit() != first.is_ascii_digit();
        let (part, behind) = rest.split_at(rest.find(same).unwrap_or(rest.len()));
        parts.push(part);
        rest = behind;
    }
    let at = parts.iter().position(|part| *part == letters)?;
    let number = match word.starts_with(|first: char| first.is_ascii_digit()) {
        true => parts.get(at.checked_sub(1)?)?,
        false => parts.get(at + 1)?,
    };
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number_at;

    #[test]
    fn words_have_numbers_at_their_letters() {
        assert_eq!(number_at("m16n8k32", "k"), Some(32));
        assert_eq!(number_at("m16n8k32", "m"), Some(16));
        assert_eq!(number_at("x128", "x"), Some(128));
        assert_eq!(number_at("2d", "d"), Some(2));
        assert_eq!(number_at("x", "x"), None);
        assert_eq!(number_at("m16", "k"), None);
    }
}
