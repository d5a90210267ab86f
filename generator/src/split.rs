//! Splits a number of edges over levels, chunks or cells, so that each can be made alone.

use crate::counts::{binomial, hypergeometric};
use crate::error::GeneratorError;
use crate::random::Stream;

/// Splits `count` distinct pairs drawn uniformly from all pairs over levels or chunks with given numbers of pairs: a multivariate hypergeometric draw.
pub(crate) fn split_exactly(
    rng: &mut Stream,
    param: &'static str,
    count: u64,
    pairs: &[u64],
) -> Result<Vec<u64>, GeneratorError> {
    let mut total: u64 = pairs.iter().sum();
    if count > total {
        return Err(GeneratorError::TooManyEdges { param, asked: count, possible: total });
    }
    let mut left = count;
    Ok(pairs
        .iter()
        .map(|&here| {
            let taken = hypergeometric(rng, total, here, left);
            total -= here;
            left -= taken;
            taken
        })
        .collect())
}

/// Splits `count` edges over levels or cells in proportion to their weights (multinomial); edges for which one has no pairs
/// go to the others.
///
/// # Complexity
/// O(parts + √count) a round; a round more for each time that parts fill up.
pub(crate) fn split_by_weight(
    rng: &mut Stream,
    param: &'static str,
    count: u64,
    pairs: &[u64],
    weights: &[f64],
) -> Result<Vec<u64>, GeneratorError> {
    let possible: u64 = pairs.iter().sum();
    if count > possible {
        return Err(GeneratorError::TooManyEdges { param, asked: count, possible });
    }
    let mut taken = vec![0; pairs.len()];
    let mut left = count;
    while left > 0 {
        let mut open: f64 =
            (0..pairs.len()).filter(|&level| taken[level] < pairs[level]).map(|level| weights[level]).sum();
        let mut this_round = left;
        let mut last_open = None;
        for level in 0..pairs.len() {
            if taken[level] == pairs[level] {
                continue;
            }
            last_open = Some(level);
            let drawn = binomial(rng, this_round, weights[level] / open);
            this_round -= drawn;
            open -= weights[level];
            let fits = drawn.min(pairs[level] - taken[level]);
            taken[level] += fits;
            left -= fits;
        }
        // Rounding of `open` can leave a few at the end.
        if let Some(level) = last_open {
            let fits = this_round.min(pairs[level] - taken[level]);
            taken[level] += fits;
            left -= fits;
        }
    }
    Ok(taken)
}
