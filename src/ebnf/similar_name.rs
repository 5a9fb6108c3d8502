//! Suggestions for misspelt names, by edit distance with transpositions.
//!
//! *Source:* Damerau, "A technique for computer detection and correction of spelling errors"
//! (1964).

/// The name that is most like a wrong one, if at most a third of the characters differ.
/// O(names × length²).
pub(crate) fn most_similar<'n>(
    wrong: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let limit = (wrong.chars().count() / 3).max(1);
    names
        .filter(|name| name.len().abs_diff(wrong.len()) <= 4 * limit)
        .map(|name| (distance(wrong, name), name))
        .filter(|&(distance, _)| distance <= limit)
        .min()
        .map(|(_, name)| name)
}

/// The number of characters to add, remove, change, or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut least = rows[i][j] + usize::from(a[i] != b[j]);
            least = least.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
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
    fn a_misspelt_name_finds_its_like() {
        let names = ["number", "string", "ws", "member"];
        assert_eq!(most_similar("numbr", names.into_iter()), Some("number"));
        assert_eq!(most_similar("srting", names.into_iter()), Some("string"));
        assert_eq!(most_similar("wss", names.into_iter()), Some("ws"));
        assert_eq!(most_similar("array", names.into_iter()), None);
    }
}
