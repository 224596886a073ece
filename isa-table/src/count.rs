//! Counts with their nouns.

use core::fmt;

/// A number and the noun of what it counts, which gets an `s` if there is not one of them.
///
/// ```
/// use isa_table::count::Count;
///
/// assert_eq!(Count(1, "thread").to_string(), "1 thread");
/// assert_eq!(Count(2, "thread").to_string(), "2 threads");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Count<'a>(pub usize, pub &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count(number, noun) = self;
        write!(f, "{number} {noun}{}", if *number == 1 { "" } else { "s" })
    }
}
