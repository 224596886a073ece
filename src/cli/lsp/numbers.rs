//! Numbers of registers in a family, as they are completed.

/// The numbers below a count that begin with some digits, those with fewer digits first.
pub(super) fn numbers(digits: &str, count: u64) -> impl Iterator<Item = u64> {
    let first = if digits.starts_with('0') && digits != "0" { None } else { digits.parse::<u64>().ok() };
    let all = if digits.is_empty() { 0..count } else { 0..0 };
    // Nothing follows a zero.
    let powers = std::iter::successors(Some(1_u64), move |power| power.checked_mul(10).filter(|_| first != Some(0)));
    let ranges = powers.map_while(move |power| {
        let start = first?.checked_mul(power)?;
        (start < count).then(|| start..start.saturating_add(power).min(count))
    });
    all.chain(ranges.flatten())
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn numbers_go_on_with_digits() {
        let of = |digits, count| numbers(digits, count).collect::<Vec<_>>();
        assert_eq!(of("", 3), [0, 1, 2]);
        assert_eq!(of("0", 300), [0]);
        assert_eq!(of("12", 125), [12, 120, 121, 122, 123, 124]);
        assert_eq!(of("12", 12), [0; 0]);
        assert_eq!(numbers("1", u64::MAX).nth(10), Some(19));
        for none in ["00", "x", "99999999999999999999999"] {
            assert_eq!(of(none, u64::MAX), [0; 0], "{none}");
        }
        assert_eq!(numbers("18446744073709551614", u64::MAX).count(), 1);
    }
}
