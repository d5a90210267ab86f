//! Statistics over paired values: the signed-rank test, Holm's correction, the bootstrap, means of ratios.
//!
//! Distributions come from `statrs`. It has no signed-rank test and no crate that is widely used has one, so the test is
//! here, checked against SciPy 1.17.

use std::cmp::Ordering;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Up to this number of pairs the signed-rank test counts all sign patterns; beyond, the normal approximation is as good.
pub const EXACT_PAIRS: usize = 50;

/// The largest first.
pub(super) fn descending(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

/// What the Wilcoxon signed-rank test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Differences that are not zero: zeros are dropped (Wilcoxon's own rule).
    pub pairs: usize,
    /// Sum of the ranks of the positive differences; ties share their mean rank.
    pub positive: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// The two-sided Wilcoxon signed-rank test of paired differences; `None` if all of them are zero. NaNs count as zeros.
///
/// Up to [`EXACT_PAIRS`] pairs, p is exact given the ranks, ties included: all 2ⁿ sign patterns are counted. Beyond, it is the
/// normal approximation with correction for ties and continuity. Infinite differences are the largest, and tie.
///
/// # Complexity
/// O(n log n), and O(n³) additions for the exact distribution.
///
/// # Reference
/// F. Wilcoxon, *Individual comparisons by ranking methods*, Biometrics Bulletin 1(6), 1945, 80–83. The corrections:
/// M. Hollander, D. A. Wolfe, E. Chicken, *Nonparametric Statistical Methods*, 3rd ed., Wiley 2014, section 3.1.
pub fn signed_rank(differences: &[f64]) -> Option<SignedRank> {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0 && !d.is_nan()).collect();
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    if sorted.is_empty() {
        return None;
    }
    // Ranks are doubled, so that mean ranks of ties are whole numbers.
    let mut doubled = Vec::with_capacity(sorted.len());
    let mut ties = 0.0;
    for tied in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        let first = doubled.len() + 1;
        doubled.extend(std::iter::repeat_n(2 * first + tied.len() - 1, tied.len()));
        let count = tied.len() as f64;
        ties += count.powi(3) - count;
    }
    let positive: usize = doubled.iter().zip(&sorted).filter(|&(_, &d)| d > 0.0).map(|(rank, _)| rank).sum();
    let n = sorted.len();
    let p = if n <= EXACT_PAIRS { exact_p(&doubled, positive) } else { normal_p(n, positive as f64 / 2.0, ties) };
    Some(SignedRank { pairs: n, positive: positive as f64 / 2.0, p })
}

/// Twice the lighter tail of the distribution of the sum of ranks whose signs are fair coins. Counts stay below 2⁵³.
fn exact_p(doubled: &[usize], positive: usize) -> f64 {
    let total: usize = doubled.iter().sum();
    let mut patterns = vec![0.0; total + 1];
    patterns[0] = 1.0;
    for &rank in doubled {
        for sum in (rank..=total).rev() {
            patterns[sum] += patterns[sum - rank];
        }
    }
    let all: f64 = patterns.iter().sum();
    let below: f64 = patterns[..=positive].iter().sum();
    let above: f64 = patterns[positive..].iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

fn normal_p(pairs: usize, positive: f64, ties: f64) -> f64 {
    let n = pairs as f64;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    let distance = ((positive - n * (n + 1.0) / 4.0).abs() - 0.5).max(0.0);
    (2.0 * Normal::standard().sf(distance / variance.sqrt())).min(1.0)
}

/// Holm's correction: p-values that hold for the whole family, in the order given.
///
/// # Complexity
/// O(n log n).
///
/// # Reference
/// S. Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of Statistics 6(2), 1979, 65–70.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        largest = largest.max((p_values.len() - rank) as f64 * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// Statistics of resamples of groups of samples: for each number that `statistic` gives, its values in ascending order,
/// those that are not finite left out. Their percentiles are a confidence interval. Without anything to draw from there
/// are none.
///
/// If some group has several samples, each resample draws as many from every group, with replacement: the values are
/// about other runs of the same groups. If none has, groups are drawn: they are about other groups. `below` draws an index
/// below a number.
///
/// # Complexity
/// `resamples` calls of `statistic`.
///
/// # Reference
/// B. Efron, R. J. Tibshirani. "An Introduction to the Bootstrap." Chapman & Hall 1993, §13.3 (the percentile interval).
pub fn bootstrap<T: Clone>(
    groups: &[Vec<T>],
    resamples: usize,
    mut below: impl FnMut(usize) -> usize,
    statistic: impl Fn(&[Vec<T>]) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    let within = groups.iter().any(|group| group.len() > 1);
    if groups.iter().all(Vec::is_empty) || !within && groups.len() < 2 {
        return Vec::new();
    }
    let mut found: Vec<Vec<f64>> = Vec::new();
    for _ in 0..resamples {
        let sample: Vec<Vec<T>> = match within {
            true => {
                groups.iter().map(|group| group.iter().map(|_| group[below(group.len())].clone()).collect()).collect()
            }
            false => groups.iter().map(|_| groups[below(groups.len())].clone()).collect(),
        };
        let values = statistic(&sample);
        found.resize_with(values.len().max(found.len()), Vec::new);
        for (found, value) in found.iter_mut().zip(values) {
            found.extend(Some(value).filter(|value| value.is_finite()));
        }
    }
    found.iter_mut().for_each(|values| values.sort_unstable_by(f64::total_cmp));
    found
}

/// The ends of the percentile interval of ascending values that leaves out `tail` of them on each side: the values at the
/// ranks nearest to the two shares, counted alike from both ends. `None` of none.
pub fn percentile_interval(ascending: &[f64], tail: f64) -> Option<(f64, f64)> {
    let last = ascending.len().checked_sub(1)?;
    let left_out = (tail * last as f64).round() as usize;
    Some((ascending[left_out], ascending[last - left_out]))
}

/// Geometric mean of positive numbers; `None` of none.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    mean(values.into_iter().map(f64::ln)).map(f64::exp)
}

/// Arithmetic mean; `None` of none.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.into_iter().fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Median; `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(match sorted.len() {
        0 => return None,
        n if n % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    })
}

/// The value that Student's t with `freedom` degrees exceeds with probability `tail`; `None` without freedom or outside of (0, ½].
pub fn t_exceeded(tail: f64, freedom: f64) -> Option<f64> {
    if !(tail > 0.0 && tail <= 0.5) {
        return None;
    }
    Some(-StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(tail))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() <= 1e-9 * expected.abs(), "{actual} is not {expected}");
    }

    /// `0.12 + sin(1.7 i) / 2`: values of both signs without a pattern.
    fn waves(count: usize) -> Vec<f64> {
        (0..count).map(|i| (i as f64 * 1.7).sin() * 0.5 + 0.12).collect()
    }

    #[test]
    fn an_interval_leaves_out_as_many_values_above_as_below() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(percentile_interval(&values, 0.025), Some((25.0, 974.0)));
        assert_eq!(percentile_interval(&values[..1], 0.025), Some((0.0, 0.0)));
        assert_eq!(percentile_interval(&[], 0.025), None);
    }

    #[test]
    fn small_samples_without_ties_have_scipys_exact_p() {
        let sample = [0.3, -0.1, 0.25, 0.7, -0.05, 1.1, 0.9, 0.02, -0.4, 0.6];
        // scipy.stats.wilcoxon(sample, method='exact'): W⁻ = 11.
        let test = signed_rank(&sample).unwrap();
        assert_eq!((test.pairs, test.positive), (10, 55.0 - 11.0));
        close(test.p, 0.10546875);
        close(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap().p, 0.0625);
        close(signed_rank(&waves(40)).unwrap().p, 0.032_078_737_429_401_37);
    }

    #[test]
    fn ties_and_zeros_have_the_p_of_all_sign_patterns() {
        // scipy.stats.permutation_test over the signs of the eight that are not zero.
        let test = signed_rank(&[0.1, 0.1, -0.1, 0.2, 0.2, 0.3, -0.2, 0.4, 0.0, 0.0]).unwrap();
        assert_eq!((test.pairs, test.positive), (8, 29.0));
        close(test.p, 0.1640625);
    }

    #[test]
    fn large_samples_have_scipys_normal_p_with_and_without_ties() {
        // scipy.stats.wilcoxon(…, zero_method='wilcox', correction=True, method='asymptotic').
        close(signed_rank(&waves(60)).unwrap().p, 0.013_798_902_431_392_55);
        let rounded: Vec<f64> = waves(60).iter().map(|value| (value * 100.0).round() / 100.0).collect();
        let test = signed_rank(&rounded).unwrap();
        assert_eq!(test.positive.min(60.0 * 61.0 / 2.0 - test.positive), 579.5);
        close(test.p, 0.013_649_309_598_789_93);
        let positive: Vec<f64> = (1..=200).map(|i| f64::from(i) / 100.0).collect();
        close(signed_rank(&positive).unwrap().p, 1.447_001_734_810_239_8e-34);
    }

    #[test]
    fn the_exact_and_the_approximate_p_meet() {
        let sample = waves(EXACT_PAIRS);
        let exact = signed_rank(&sample).unwrap();
        let approximate = normal_p(EXACT_PAIRS, exact.positive, 0.0);
        assert!((approximate / exact.p - 1.0).abs() < 0.1, "{approximate} and {}", exact.p);
    }

    #[test]
    fn no_difference_is_no_test_and_infinite_ones_tie_at_the_top() {
        assert_eq!(signed_rank(&[0.0, -0.0, f64::NAN]), None);
        let test = signed_rank(&[f64::INFINITY, f64::NEG_INFINITY, 0.5]).unwrap();
        assert_eq!((test.positive, test.p), (2.5 + 1.0, 1.0));
    }

    #[test]
    fn swapping_the_sides_keeps_p() {
        let negated: Vec<f64> = waves(30).iter().map(|value| -value).collect();
        assert_eq!(signed_rank(&negated).unwrap().p, signed_rank(&waves(30)).unwrap().p);
    }

    #[test]
    fn holm_is_that_of_statsmodels_and_keeps_the_order() {
        // statsmodels.stats.multitest.multipletests(…, method='holm').
        let p_values = [0.01, 0.04, 0.03, 0.005, 0.5, 0.02];
        let adjusted = holm(&p_values);
        for (&actual, expected) in adjusted.iter().zip([0.05, 0.09, 0.09, 0.03, 0.5, 0.08]) {
            close(actual, expected);
        }
        for (i, a) in p_values.iter().enumerate() {
            assert!(adjusted[i] >= *a && adjusted[i] <= 1.0);
            for (j, b) in p_values.iter().enumerate() {
                assert!(a > b || adjusted[i] <= adjusted[j]);
            }
        }
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
    }

    #[test]
    fn quantiles_of_t_are_scipys() {
        // scipy.stats.t.ppf(1 - tail, freedom).
        for (tail, freedom, expected) in [
            (0.025, 1.0, 12.706_204_736_174_69),
            (0.0005, 2.0, 31.599_054_576_445_37),
            (1e-6, 5.0, 24.771_029_720_372_5),
            (1e-6, 17.0, 7.036_486_856_738_055),
            (0.0005, 300.0, 3.323_251_514_972_956),
        ] {
            let actual = t_exceeded(tail, freedom).unwrap();
            assert!((actual / expected - 1.0).abs() < 1e-6, "{actual} is not {expected}");
        }
        assert_eq!((t_exceeded(0.01, 0.0), t_exceeded(0.7, 3.0), t_exceeded(0.0, 3.0)), (None, None, None));
    }

    fn mean_of(groups: &[Vec<f64>]) -> Vec<f64> {
        mean(groups.iter().flatten().copied()).into_iter().collect()
    }

    fn resampled(groups: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut random = rand_pcg::Pcg64::seed_from_u64(1);
        bootstrap(groups, 1000, |count| random.random_range(0..count), mean_of)
    }

    #[test]
    fn the_percentiles_of_a_resampled_mean_are_near_those_of_the_normal_distribution() {
        // 100 samples 0..99: the mean is 49.5, its standard error 2.89, so 95 % are 43.8 to 55.2.
        let means = &resampled(&[(0..100).map(f64::from).collect()])[0];
        assert_eq!(means.len(), 1000);
        assert!((means[25] - 43.8).abs() < 0.8 && (means[974] - 55.2).abs() < 0.8, "{} to {}", means[25], means[974]);
    }

    #[test]
    fn single_samples_are_resampled_by_group_and_one_alone_not_at_all() {
        let means = &resampled(&[vec![1.0], vec![2.0], vec![3.0]])[0];
        assert_eq!((means[0], means[999]), (1.0, 3.0));
        assert!(resampled(&[vec![1.0]]).is_empty() && resampled(&[]).is_empty());
        // With several samples somewhere, the differences between groups are no matter of chance.
        assert_eq!(resampled(&[vec![1.0, 1.0], vec![5.0, 5.0]]), [vec![3.0; 1000]]);
    }

    #[test]
    fn means_and_medians_of_none_are_none() {
        assert_eq!((geometric_mean([]), mean([]), median(&[])), (None, None, None));
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])), (Some(2.0), Some(2.5)));
        close(geometric_mean([2.0, 8.0]).unwrap(), 4.0);
    }
}
