//! "Did you mean": the known name that is most like a given one.

/// Returns the candidate that is most like `name`, or `None` if none is like it.
pub fn suggest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Below this two names share too little for a suggestion to help (difflib draws the line here too).
    const ALIKE: f64 = 0.6;
    // Of two names as many edits away, the one with more of the same letters.
    let likeness = |candidate: &&str| {
        (strsim::normalized_damerau_levenshtein(name, candidate), strsim::jaro(name, candidate))
    };
    candidates.filter(|candidate| likeness(candidate).0 >= ALIKE).max_by(|one, other| {
        let ((edits, letters), (other_edits, other_letters)) = (likeness(one), likeness(other));
        edits.total_cmp(&other_edits).then(letters.total_cmp(&other_letters))
    })
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn a_swapped_or_missing_letter_finds_the_name() {
        let names = || ["enabled", "benchmark", "deterministic"].into_iter();
        assert_eq!(suggest("benchmrak", names()), Some("benchmark"));
        assert_eq!(suggest("enable", names()), Some("enabled"));
        assert_eq!(suggest("zzz", names()), None);
    }
}
