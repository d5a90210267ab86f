//! The known word nearest to a misspelt one, for messages.

/// The known name nearest to a misspelt one, if any is near: at most a third of its letters are wrong (or two), or it
/// begins like it. Of equally near names it is one of the same length, since letters are swapped more often than forgotten.
/// Small and capital letters are the same.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let name = name.to_lowercase();
    let length = name.chars().count();
    let limit = (length / 3).max(2);
    known
        .into_iter()
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let distance = strsim::damerau_levenshtein(&name, &lower);
            let is_near = distance <= limit || lower.starts_with(&name);
            is_near.then(|| (distance, lower.chars().count().abs_diff(length), candidate))
        })
        .min()
        .map(|(.., candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_suggests_the_nearest_and_a_wild_one_nothing() {
        assert_eq!(nearest("hetf", ["heft", "mite"]), Some("heft".into()));
        assert_eq!(nearest("HEFT", ["etf", "heft"]), Some("heft".into()));
        assert_eq!(nearest("iterated", ["heft", "iterated_critical_path"]), Some("iterated_critical_path".into()));
        assert_eq!(nearest("hetf", ["etf", "heft"]), Some("heft".to_owned()));
        assert_eq!(nearest("simulated_annealing", ["heft", "mite"]), None);
    }
}
