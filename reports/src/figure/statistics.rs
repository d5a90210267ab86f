//! Comparing many algorithms over many instances by their ranks (Demšar 2006).
//!
//! # Reference
//! J. Demšar, *Statistical comparisons of classifiers over multiple data sets*, Journal of Machine Learning Research 7,
//! 2006, 1–30.

use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF, FisherSnedecor, Normal};

/// What ranks say about algorithms.
#[derive(Clone, Debug, PartialEq)]
pub struct RankTest {
    /// Instances.
    pub instances: usize,
    /// Mean rank of each algorithm, from 1 for the best; equal results share the mean of their ranks.
    pub ranks: Vec<f64>,
    /// Friedman's statistic, chi-squared distributed with algorithms − 1 degrees of freedom.
    pub friedman: f64,
    /// Its probability if all algorithms were equally good.
    pub friedman_p: f64,
    /// Iman and Davenport's less conservative statistic, F distributed; `None` if all instances rank alike.
    pub iman_davenport: Option<f64>,
    /// Its probability if all algorithms were equally good.
    pub iman_davenport_p: Option<f64>,
    /// Nemenyi's critical difference: mean ranks that differ by more are those of algorithms that differ.
    pub critical_difference: f64,
    /// For each algorithm, the probability that it is as good as the one of the best mean rank, adjusted for as many
    /// comparisons by Holm's steps; `None` for the best itself.
    pub holm: Vec<Option<f64>>,
}

/// Ranks of one instance: 1 for the least result, equal ones share the mean of their ranks, and none is behind all.
pub fn ranks_of(results: &[Option<f64>]) -> Vec<f64> {
    let value = |index: usize| results[index].unwrap_or(f64::INFINITY);
    let mut order: Vec<usize> = (0..results.len()).collect();
    order.sort_by(|&a, &b| value(a).total_cmp(&value(b)));
    let mut ranks = vec![0.0; results.len()];
    let mut start = 0;
    while start < order.len() {
        // Simulations that add the same times in another order differ by rounding.
        let first = value(order[start]);
        let equal = order[start..].iter().take_while(|&&index| value(index) <= first * (1.0 + 1e-9)).count();
        for &index in &order[start..start + equal] {
            ranks[index] = start as f64 + (equal as f64 + 1.0) / 2.0;
        }
        start += equal;
    }
    ranks
}

impl RankTest {
    /// Compares algorithms: `results` has one list an instance, with one result an algorithm (smaller is better);
    /// `None` where it failed. `alpha` is the probability of seeing a difference where there is none: 0.05.
    ///
    /// `None` with fewer than two algorithms or two instances.
    ///
    /// # Complexity
    /// O(instances · algorithms · log algorithms).
    pub fn new(results: &[Vec<Option<f64>>], alpha: f64) -> Option<Self> {
        let algorithms = results.first()?.len();
        let instances = results.len();
        if algorithms < 2 || instances < 2 || results.iter().any(|list| list.len() != algorithms) {
            return None;
        }
        let (k, n) = (algorithms as f64, instances as f64);
        let mut ranks = vec![0.0; algorithms];
        for list in results {
            for (sum, rank) in ranks.iter_mut().zip(ranks_of(list)) {
                *sum += rank / n;
            }
        }
        let squares: f64 = ranks.iter().map(|rank| rank * rank).sum();
        // Rounding must not make it negative where all ranks are equal.
        let friedman = (12.0 * n / (k * (k + 1.0)) * (squares - k * (k + 1.0).powi(2) / 4.0)).max(0.0);
        let friedman_p = ChiSquared::new(k - 1.0).ok()?.sf(friedman);
        let rest = n * (k - 1.0) - friedman;
        let iman_davenport = (rest > 1e-9).then(|| (n - 1.0) * friedman / rest);
        let iman_davenport_p = match iman_davenport {
            Some(statistic) => Some(FisherSnedecor::new(k - 1.0, (k - 1.0) * (n - 1.0)).ok()?.sf(statistic)),
            None => None,
        };
        let error = (k * (k + 1.0) / (6.0 * n)).sqrt();
        let holm = holm(&ranks, error);
        let critical_difference = nemenyi_quantile(algorithms, alpha) * error;
        Some(Self {
            instances,
            ranks,
            friedman,
            friedman_p,
            iman_davenport,
            iman_davenport_p,
            critical_difference,
            holm,
        })
    }

    /// The probability of such ranks if all algorithms were equally good: Iman and Davenport's where it exists.
    pub fn p(&self) -> f64 {
        self.iman_davenport_p.unwrap_or(self.friedman_p)
    }

    /// Whether any two algorithms differ: the ranks as a whole are no chance, and some two are further apart than the
    /// critical difference.
    pub fn separates(&self, alpha: f64) -> bool {
        let least = self.ranks.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.ranks.iter().copied().fold(0.0, f64::max);
        self.p() < alpha && most - least > self.critical_difference
    }

    /// Groups of algorithms that do not differ by more than the critical difference, none within another: indices by
    /// ascending rank. Groups of one are left out.
    pub fn cliques(&self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.ranks.len()).collect();
        order.sort_by(|&a, &b| self.ranks[a].total_cmp(&self.ranks[b]));
        let mut cliques: Vec<Vec<usize>> = Vec::new();
        let mut reached = 0;
        for start in 0..order.len() {
            let limit = self.ranks[order[start]] + self.critical_difference;
            let end = start + order[start..].iter().take_while(|&&index| self.ranks[index] <= limit).count();
            if end > reached && end - start > 1 {
                cliques.push(order[start..end].to_vec());
            }
            reached = reached.max(end);
        }
        cliques
    }
}

/// Holm's adjusted probabilities of the comparisons with the best.
fn holm(ranks: &[f64], error: f64) -> Vec<Option<f64>> {
    let best = (0..ranks.len()).min_by(|&a, &b| ranks[a].total_cmp(&ranks[b])).unwrap_or_default();
    let normal = Normal::standard();
    let mut order: Vec<usize> = (0..ranks.len()).filter(|&index| index != best).collect();
    order.sort_by(|&a, &b| ranks[b].total_cmp(&ranks[a]));
    let mut adjusted = vec![None; ranks.len()];
    let mut most = 0.0f64;
    for (step, &index) in order.iter().enumerate() {
        let p = 2.0 * normal.sf((ranks[index] - ranks[best]) / error);
        most = most.max(((order.len() - step) as f64 * p).min(1.0));
        adjusted[index] = Some(most);
    }
    adjusted
}

/// Nemenyi's factor for a number of algorithms: the quantile of the studentized range with infinitely many degrees of
/// freedom, over √2 (Demšar 2006, Table 5, which ends at 10 algorithms).
pub fn nemenyi_quantile(algorithms: usize, alpha: f64) -> f64 {
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if studentized_range(middle, algorithms) < 1.0 - alpha { low = middle } else { high = middle }
    }
    (low + high) / 2.0 / std::f64::consts::SQRT_2
}

/// The probability that the range of `count` standard normal numbers is below `range`:
/// k ∫ φ(z) (Φ(z) − Φ(z − range))^(k−1) dz, by Simpson's rule.
fn studentized_range(range: f64, count: usize) -> f64 {
    let normal = Normal::standard();
    let (from, to, steps) = (-8.0, 8.0, 800);
    let width = (to - from) / f64::from(steps);
    let exponent = count.saturating_sub(1) as i32;
    let sum: f64 = (0..=steps)
        .map(|step| {
            let z = from + f64::from(step) * width;
            let weight = if step == 0 || step == steps {
                1.0
            } else if step % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * normal.pdf(z) * (normal.cdf(z) - normal.cdf(z - range)).powi(exponent)
        })
        .sum();
    count as f64 * sum * width / 3.0
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Demšar 2006, Table 6: areas under the curve of four variants of C4.5 on 14 data sets. On `voting` the third and
    /// fourth variant print the same but rank apart; 0.9751 stands for the better.
    pub(crate) const DEMSAR: [[f64; 4]; 14] = [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ];

    pub(crate) fn demsar() -> Vec<Vec<Option<f64>>> {
        // More is better there, less here.
        DEMSAR.iter().map(|row| row.iter().map(|area| Some(1.0 - area)).collect()).collect()
    }

    #[test]
    fn demsars_example_gives_demsars_numbers() {
        let test = RankTest::new(&demsar(), 0.05).unwrap();
        for (rank, published) in test.ranks.iter().zip([3.143, 2.000, 2.893, 1.964]) {
            assert!((rank - published).abs() < 5e-4, "{rank} {published}");
        }
        assert!((test.friedman - 9.28).abs() < 5e-3, "{}", test.friedman);
        assert!((test.iman_davenport.unwrap() - 3.69).abs() < 5e-3);
        assert!((test.critical_difference - 1.25).abs() < 5e-3, "{}", test.critical_difference);
        let at_ten = RankTest::new(&demsar(), 0.10).unwrap();
        assert!((at_ten.critical_difference - 1.12).abs() < 5e-3);
        // At 0.05 no two of the four differ; at 0.10 the first differs from the second and fourth.
        assert_eq!(test.cliques(), [vec![3, 1, 2, 0]]);
        assert_eq!(at_ten.cliques(), [vec![3, 1, 2], vec![2, 0]]);
        assert!(!test.separates(0.05) && at_ten.separates(0.10));
    }

    #[test]
    fn nemenyis_factors_are_those_of_demsars_table() {
        // The table cuts its third digit off in places: 2.3437 is 2.343 there.
        let at_five = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164];
        let at_ten = [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920];
        for (index, (five, ten)) in at_five.into_iter().zip(at_ten).enumerate() {
            assert!((nemenyi_quantile(index + 2, 0.05) - five).abs() < 1e-3, "{index} {five}");
            assert!((nemenyi_quantile(index + 2, 0.10) - ten).abs() < 1e-3, "{index} {ten}");
        }
    }

    #[test]
    fn equal_results_share_ranks_and_failures_come_last() {
        assert_eq!(ranks_of(&[Some(2.0), None, Some(1.0), Some(2.0), None]), [2.5, 4.5, 1.0, 2.5, 4.5]);
    }

    #[test]
    fn one_algorithm_or_one_instance_compares_nothing_and_equals_do_not_differ() {
        assert_eq!(RankTest::new(&[vec![Some(1.0)], vec![Some(1.0)]], 0.05), None);
        assert_eq!(RankTest::new(&[vec![Some(1.0), Some(2.0)]], 0.05), None);
        let equal = RankTest::new(&vec![vec![Some(1.0); 3]; 4], 0.05).unwrap();
        assert_eq!((equal.friedman, equal.cliques().len()), (0.0, 1));
        assert!(equal.friedman_p > 0.999);
        let opposite = RankTest::new(&vec![vec![Some(1.0), Some(2.0)]; 9], 0.05).unwrap();
        assert_eq!((opposite.iman_davenport, opposite.cliques().len()), (None, 0));
    }

    #[test]
    fn holms_probabilities_never_fall_as_ranks_come_closer_to_the_best() {
        let test = RankTest::new(&demsar(), 0.05).unwrap();
        assert_eq!(test.holm[3], None);
        // z = (3.143 − 1.964) / √(4·5/(6·14)) = 2.416, p = 0.0157, three comparisons.
        assert!((test.holm[0].unwrap() - 3.0 * 0.0157).abs() < 5e-4);
        assert!(test.holm[0] <= test.holm[2] && test.holm[2] <= test.holm[1]);
    }
}
