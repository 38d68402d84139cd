//! "Did you mean" suggestions.

/// Returns the candidate that is most similar to `name`, else the only one that begins with it.
pub fn suggest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // The minimum similarity of a suggestion; Python's difflib uses the same value.
    const MIN_SIMILARITY: f64 = 0.6;
    let candidates: Vec<_> = candidates.collect();
    // Of two names with the same edit distance, the one with more letters in common.
    let similarity = |candidate: &&str| {
        (strsim::normalized_damerau_levenshtein(name, candidate), strsim::jaro(name, candidate))
    };
    // The edit distance is at least the difference of the lengths. Its computation takes the product of both, which is long
    // for a name of a million letters.
    let could_be_similar = |candidate: &&str| {
        let (own, other) = (name.chars().count(), candidate.chars().count());
        own.min(other) as f64 >= MIN_SIMILARITY * own.max(other) as f64
    };
    let similar = candidates.iter().copied().filter(could_be_similar);
    let similar = similar.filter(|candidate| similarity(candidate).0 >= MIN_SIMILARITY);
    let most_similar = similar.max_by(|one, other| {
        let ((edits, letters), (other_edits, other_letters)) = (similarity(one), similarity(other));
        edits.total_cmp(&other_edits).then(letters.total_cmp(&other_letters))
    });
    most_similar.or_else(|| {
        let mut prefixed =
            candidates.iter().filter(|candidate| !name.is_empty() && candidate.starts_with(name));
        prefixed.next().copied().filter(|_| prefixed.next().is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn suggest_finds_a_name_with_a_swapped_or_missing_letter() {
        let names = || ["enabled", "benchmark", "deterministic"].into_iter();
        assert_eq!(suggest("benchmrak", names()), Some("benchmark"));
        assert_eq!(suggest("enable", names()), Some("enabled"));
        assert_eq!(suggest("zzz", names()), None);
        assert_eq!(suggest("", names()), None);
    }

    #[test]
    fn suggest_finds_the_only_name_with_a_prefix() {
        let names = || ["max_split_size_mb", "max_non_split_rounding_mb"].into_iter();
        assert_eq!(suggest("max_split", names()), Some("max_split_size_mb"));
        assert_eq!(suggest("max", names()), None);
    }
}
