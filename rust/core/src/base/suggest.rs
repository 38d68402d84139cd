//! "Did you mean" suggestions.

/// The minimum similarity of a suggestion; Python's difflib uses the same value.
const MIN_SIMILARITY: f64 = 0.6;

/// The fewest letters of a name for which a suggestion is a candidate that begins with them.
const MIN_PREFIX: usize = 3;

/// Returns the candidate that is the end of a dotted name, such as "cudnn.enabled" of "torch.backends.cudnn.enabled"; else
/// the one that is most similar to the name; else the one that begins with it.
pub fn suggest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<_> = candidates.collect();
    let is_end = |candidate: &str| name.strip_suffix(candidate).is_some_and(|before| before.ends_with('.'));
    let end = candidates.iter().copied().find(|candidate| is_end(candidate));
    end.or_else(|| most_similar(name, &candidates)).or_else(|| beginning_with(name, &candidates))
}

/// Returns the candidate with the fewest edits; of several, the one with more letters in common.
fn most_similar<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let letters = |candidate: &str| strsim::jaro(name, candidate);
    let similar = candidates.iter().copied().filter(|candidate| is_similar(name, candidate));
    similar.max_by(|one, other| {
        let edits = similarity(name, one).total_cmp(&similarity(name, other));
        edits.then_with(|| letters(one).total_cmp(&letters(other)))
    })
}

/// Returns the shortest candidate that begins with `name`, if all others that do begin with that one.
fn beginning_with<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let found = || candidates.iter().copied().filter(|candidate| candidate.starts_with(name));
    let shortest = found().min_by_key(|candidate| candidate.len())?;
    (name.len() >= MIN_PREFIX && found().all(|candidate| candidate.starts_with(shortest))).then_some(shortest)
}

/// Returns whether two names are similar; of dotted names with as many parts, each part.
fn is_similar(name: &str, candidate: &str) -> bool {
    let parts = |name: &str| name.split('.').count();
    let pairs = || name.split('.').zip(candidate.split('.'));
    similarity(name, candidate) >= MIN_SIMILARITY
        && (parts(name) != parts(candidate)
            || pairs().all(|(part, other)| similarity(part, other) >= MIN_SIMILARITY))
}

/// Returns the similarity of two texts from 0 to 1, or 0 if their lengths alone make it less than the minimum.
fn similarity(one: &str, other: &str) -> f64 {
    // The edit distance is at least the difference of the lengths. Its computation takes the product of both, which is long
    // for a name of a million letters.
    let (length, other_length) = (one.chars().count(), other.chars().count());
    if (length.min(other_length) as f64) < MIN_SIMILARITY * length.max(other_length) as f64 {
        return 0.0;
    }
    strsim::normalized_damerau_levenshtein(one, other)
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
    fn suggest_compares_each_part_of_dotted_names() {
        let names = || ["cudnn.enabled", "cudnn.benchmark", "mkldnn.enabled"].into_iter();
        assert_eq!(suggest("cudn.enable", names()), Some("cudnn.enabled"));
        assert_eq!(suggest("cudnn.nope", names()), None);
        assert_eq!(suggest("cudnn.conv.enabled", names()), Some("cudnn.enabled"));
        assert_eq!(suggest("torch.backends.mkldnn.enabled", names()), Some("mkldnn.enabled"));
    }

    #[test]
    fn suggest_finds_the_name_that_begins_with_the_given_letters() {
        let names = || ["max_split_size_mb", "max_non_split_rounding_mb"].into_iter();
        assert_eq!(suggest("max_split", names()), Some("max_split_size_mb"));
        assert_eq!(suggest("max", names()), None);
        let names = || ["benchmark_limit", "benchmark", "xnnpack"].into_iter();
        assert_eq!(suggest("bench", names()), Some("benchmark"));
        assert_eq!(suggest("x", names()), None);
    }
}
