//! Suggests a known name for a misspelt one.

/// The known name nearest to a misspelt one, if one is near: at most a third of the letters are wrong
/// (Damerau–Levenshtein distance, upper and lower case alike), or the name is its beginning.
///
/// # Ties
/// Of equally near names it is one of the same length, since people swap letters more often than they forget one; then
/// the first in the alphabet.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let name = name.to_lowercase();
    let length = name.chars().count();
    if length == 0 {
        return None;
    }
    known
        .into_iter()
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let candidate_length = lower.chars().count();
            let longer = length.max(candidate_length);
            // The lengths alone say that it is far: comparing letters would take their product.
            if 3 * candidate_length.abs_diff(length) > longer && !lower.starts_with(&name) {
                return None;
            }
            let distance = strsim::damerau_levenshtein(&name, &lower);
            let near = 3 * distance <= longer || lower.starts_with(&name);
            near.then_some((distance, candidate_length.abs_diff(length), candidate))
        })
        .min()
        .map(|(_, _, candidate)| candidate.to_owned())
}

/// What to do about a misspelt word where few are known: the nearest one, or all. For tables that are too long to print,
/// see [`find`](crate::find).
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str, IntoIter: Clone>) -> String {
    let known = known.into_iter();
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("use one of {}", known.collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_suggests_the_nearest_and_a_wild_one_nothing() {
        assert_eq!(nearest("hetf", ["heft", "mite"]), Some("heft".to_owned()));
        assert_eq!(nearest("iterated", ["heft", "iterated_critical_path"]), Some("iterated_critical_path".to_owned()));
        assert_eq!(nearest("hetf", ["etf", "heft"]), Some("heft".to_owned()));
        assert_eq!(nearest("simulated_annealing", ["heft", "mite"]), None);
        assert_eq!(nearest("PBTXX", ["pb", "pbtxt"]), Some("pbtxt".to_owned()));
        assert_eq!(nearest("gml", ["el", "graph"]), None, "two of three letters are wrong");
        assert_eq!(nearest("", ["gml", "el"]), None, "nothing is the beginning of everything");
        assert_eq!(nearest(&"x".repeat(1_000_000), ["heft"; 100]), None);
    }

    #[test]
    fn a_far_name_is_answered_with_all_known_ones() {
        assert_eq!(did_you_mean("memroy", ["name", "memory"].into_iter()), "did you mean 'memory'?");
        assert_eq!(did_you_mean("colour", ["name", "kind"]), "use one of name, kind");
    }
}
