//! Confidence intervals by resampling, the same at every call.
//!
//! # Reference
//! B. Efron, R. J. Tibshirani. "An Introduction to the Bootstrap." Chapman & Hall 1993, §13.3 (the percentile interval).

/// Resamples behind an interval.
const RESAMPLES: usize = 1000;
/// What an interval leaves out on each side: 95 % confidence.
const TAIL: f64 = 0.025;

/// The 95 % percentile interval of `statistic` over groups of samples; `None` if nothing can be resampled or the statistic
/// does not exist.
///
/// If some group has several samples, each resample draws as many from every group, with replacement: the interval is about
/// other runs of the same groups. If none has, groups are drawn: the interval is about other groups.
///
/// # Complexity
/// 1000 calls of `statistic`.
pub(super) fn interval<T: Clone>(
    groups: &[Vec<T>],
    statistic: impl Fn(&[Vec<T>]) -> Option<f64>,
) -> Option<(f64, f64)> {
    let within = groups.iter().any(|group| group.len() > 1);
    if !within && groups.len() < 2 {
        return None;
    }
    let mut random = SplitMix(0x706c_6163_6562_656e);
    let mut values: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let sample: Vec<Vec<T>> = match within {
                true => groups
                    .iter()
                    .map(|group| group.iter().map(|_| group[random.below(group.len())].clone()).collect())
                    .collect(),
                false => groups.iter().map(|_| groups[random.below(groups.len())].clone()).collect(),
            };
            statistic(&sample)
        })
        .filter(|value| value.is_finite())
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| values[(share * last as f64).round() as usize];
    Some((at(TAIL), at(1.0 - TAIL)))
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, and good enough to draw indices.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An index below `count`, which is not 0.
    fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(groups: &[Vec<f64>]) -> Option<f64> {
        let all: Vec<f64> = groups.iter().flatten().copied().collect();
        Some(all.iter().sum::<f64>() / all.len() as f64)
    }

    #[test]
    fn the_interval_of_a_mean_is_near_that_of_the_normal_distribution() {
        // 100 samples 0..99: the mean is 49.5, its standard error 2.89, so 95 % are 43.8 to 55.2.
        let samples = vec![(0..100).map(f64::from).collect::<Vec<f64>>()];
        let (low, high) = interval(&samples, mean).unwrap();
        assert!((low - 43.8).abs() < 0.8 && (high - 55.2).abs() < 0.8, "{low} to {high}");
        assert_eq!(interval(&samples, mean), Some((low, high)));
    }

    #[test]
    fn single_samples_are_resampled_by_group_and_one_alone_not_at_all() {
        let groups = [vec![1.0], vec![2.0], vec![3.0]];
        assert_eq!(interval(&groups, mean), Some((1.0, 3.0)));
        assert_eq!(interval(&[vec![1.0]], mean), None);
        assert_eq!(interval(&[], mean), None);
        // With several samples somewhere, the differences between groups are no matter of chance.
        assert_eq!(interval(&[vec![1.0, 1.0], vec![5.0, 5.0]], mean), Some((3.0, 3.0)));
    }
}
