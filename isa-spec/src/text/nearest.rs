//! Names near to a misspelled one.

/// Returns the name nearest to a misspelled one, if it is near enough.
pub(crate) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of(wrong, &mut names.into_iter())
}

fn nearest_of<'a>(wrong: &str, names: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, name) = names.map(|name| (edit_distance(wrong, name), name)).min()?;
    let length = wrong.chars().count();
    (distance <= 1 + length / 4 && distance < length).then_some(name)
}

/// Edit distance: insertions, deletions, substitutions and transpositions of neighbors.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(x != y);
            let mut least = replaced.min(row[j] + 1).min(rows[i][j + 1] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("dtpye", ["stype", "dtype"]), Some("dtype"));
        assert_eq!(nearest("onse", ["ne", "ones"]), Some("ones"));
        assert_eq!(nearest("u23", ["u16", "u32", "u8"]), Some("u32"));
        assert_eq!(nearest("x", ["dtype"]), None);
        assert_eq!(nearest("x", ["a", "b"]), None);
    }
}
