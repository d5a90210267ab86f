//! Exact binomial and hypergeometric draws: how many of the edges fall into one level.
//!
//! Both walk outward from the mode of the distribution. The probability of the mode comes from Loader's saddle-point
//! form: it keeps full precision for populations of 10¹⁸ pairs, where differences of log-factorials lose all of theirs.
//! The number of steps is about the standard deviation, so a level of 10,000 edges costs 100 steps.
//!
//! Only IEEE operations and the portable `libm` are used, so that the counts are the same on every platform.
//!
//! Reference: C. Loader. "Fast and Accurate Computation of Binomial Probabilities." 2000.

use crate::random::{Stream, unit};

/// Draws how many of `trials` independent trials succeed, each with `probability`.
pub(crate) fn binomial(rng: &mut Stream, trials: u64, probability: f64) -> u64 {
    if trials == 0 || probability <= 0.0 {
        return 0;
    }
    if probability >= 1.0 {
        return trials;
    }
    if probability > 0.5 {
        return trials - binomial(rng, trials, 1.0 - probability);
    }
    let n = trials as f64;
    let mode = (((n + 1.0) * probability) as u64).min(trials);
    let odds = probability / (1.0 - probability);
    walk_from_mode(
        rng,
        Support { low: 0, mode, high: trials },
        binomial_pmf(mode as f64, n, probability, 1.0 - probability),
        |k| (n - k) / (k + 1.0) * odds,
    )
}

/// Draws how many of `marked` items are among `draws` items taken without replacement from `total`.
pub(crate) fn hypergeometric(rng: &mut Stream, total: u64, marked: u64, draws: u64) -> u64 {
    debug_assert!(marked <= total && draws <= total);
    let low = draws.saturating_sub(total - marked);
    let high = marked.min(draws);
    if low == high {
        return low;
    }
    let mode = (u128::from(draws + 1) * u128::from(marked + 1) / (u128::from(total) + 2)) as u64;
    let mode = mode.clamp(low, high);
    let (unmarked, k) = ((total - marked) as f64, mode as f64);
    let (total, marked, draws) = (total as f64, marked as f64, draws as f64);
    // P(k) = b(k; marked, p) · b(draws − k; unmarked, p) / b(draws; total, p) for any p; p = draws / total is the
    // one for which the terms do not cancel.
    let (p, q) = (draws / total, (total - draws) / total);
    let at_mode = if q > 0.0 {
        binomial_pmf(k, marked, p, q) * binomial_pmf(draws - k, unmarked, p, q) / binomial_pmf(draws, total, p, q)
    } else {
        1.0
    };
    walk_from_mode(rng, Support { low, mode, high }, at_mode, |k| {
        (marked - k) * (draws - k) / ((k + 1.0) * (unmarked - draws + k + 1.0))
    })
}

/// The values that a count can have, and the likeliest of them.
struct Support {
    low: u64,
    mode: u64,
    high: u64,
}

/// Inverts the distribution by adding up probabilities mode, mode + 1, mode − 1, mode + 2, …; `ratio(k)` is
/// P(k + 1) / P(k).
fn walk_from_mode(rng: &mut Stream, support: Support, at_mode: f64, ratio: impl Fn(f64) -> f64) -> u64 {
    /// Once the terms of both sides are below this, the rest is rounding error of the sum.
    const NEGLIGIBLE: f64 = 1e-18;
    let mut left = unit(rng) - at_mode;
    let (mut up, mut down) = (support.mode, support.mode);
    let (mut p_up, mut p_down) = (at_mode, at_mode);
    while left >= 0.0 {
        let mut moved = false;
        if up < support.high && p_up > NEGLIGIBLE {
            p_up *= ratio(up as f64);
            up += 1;
            left -= p_up;
            moved = true;
            if left < 0.0 {
                return up;
            }
        }
        if down > support.low && p_down > NEGLIGIBLE {
            p_down /= ratio((down - 1) as f64);
            down -= 1;
            left -= p_down;
            moved = true;
            if left < 0.0 {
                return down;
            }
        }
        if !moved {
            return support.mode;
        }
    }
    support.mode
}

/// The binomial probability of `k` successes in `n` trials, as R's `dbinom_raw`.
fn binomial_pmf(k: f64, n: f64, p: f64, q: f64) -> f64 {
    if k == 0.0 {
        return if n == 0.0 { 1.0 } else { libm::exp(n * libm::log1p(-p)) };
    }
    if k == n {
        return libm::exp(n * libm::log(p));
    }
    let exponent =
        stirling_error(n) - stirling_error(k) - stirling_error(n - k) - deviance(k, n * p) - deviance(n - k, n * q);
    libm::exp(exponent) * libm::sqrt(n / (std::f64::consts::TAU * k * (n - k)))
}

/// ln(n!) minus Stirling's formula.
fn stirling_error(n: f64) -> f64 {
    const SMALL: [f64; 16] = [
        0.0,
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_29,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_093,
        0.016_644_691_189_821_193,
        0.013_876_128_823_070_748,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_096,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
        0.007_573_675_487_951_841,
        0.006_942_840_107_209_53,
        0.006_408_994_188_004_207,
        0.005_951_370_112_758_848,
        0.005_554_733_551_962_801,
    ];
    if n < 16.0 {
        return SMALL[n as usize];
    }
    let inverse_square = 1.0 / (n * n);
    (1.0 / 12.0
        - (1.0 / 360.0
            - (1.0 / 1260.0 - (1.0 / 1680.0 - inverse_square * (1.0 / 1188.0)) * inverse_square) * inverse_square)
            * inverse_square)
        / n
}

/// x·ln(x/m) + m − x without cancellation where x is near m (Loader's bd0).
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * libm::log(x / mean) - difference;
    }
    let v = difference / (x + mean);
    let mut sum = difference * v;
    let mut term = 2.0 * x * v;
    let mut odd = 3.0;
    loop {
        term *= v * v;
        let next = sum + term / odd;
        if next == sum {
            return next;
        }
        sum = next;
        odd += 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    fn mean_and_variance(draw: impl FnMut() -> u64, samples: usize) -> (f64, f64) {
        let values: Vec<f64> = std::iter::repeat_with(draw).take(samples).map(|value| value as f64).collect();
        let mean = values.iter().sum::<f64>() / samples as f64;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / samples as f64)
    }

    #[test]
    fn probabilities_at_the_mode_match_exact_fractions() {
        assert!((binomial_pmf(2.0, 5.0, 0.3, 0.7) - 0.3087).abs() < 1e-15);
        assert!((binomial_pmf(0.0, 3.0, 0.5, 0.5) - 0.125).abs() < 1e-16);
        // C(1000, 500) / 2^1000
        assert!((binomial_pmf(500.0, 1000.0, 0.5, 0.5) - 0.025_225_018_178_360_786).abs() < 1e-15);
    }

    #[test]
    fn a_small_hypergeometric_has_its_exact_probabilities() {
        // 10 items, 4 marked, 3 drawn: P(0..3) = 20, 60, 36, 4 of 120.
        let mut rng = stream(3, Purpose::LevelEdgeCounts, 0);
        let mut counts = [0.0f64; 4];
        for _ in 0..120_000 {
            counts[hypergeometric(&mut rng, 10, 4, 3) as usize] += 1.0;
        }
        for (count, expected) in counts.iter().zip([20_000.0, 60_000.0, 36_000.0, 4_000.0]) {
            assert!((count - expected).abs() < 5.0 * f64::sqrt(expected), "{counts:?}");
        }
    }

    #[test]
    fn large_draws_have_the_right_mean_and_variance() {
        let mut rng = stream(5, Purpose::LevelEdgeCounts, 0);
        let (mean, variance) = mean_and_variance(|| binomial(&mut rng, 1_000_000_000_000, 1e-9), 20_000);
        assert!((mean - 1000.0).abs() < 1.2 && (variance / 1000.0 - 1.0).abs() < 0.05, "{mean} {variance}");
        // Half of 10¹⁸ pairs marked, 4000 drawn.
        let (mean, variance) = mean_and_variance(
            || hypergeometric(&mut rng, 1_000_000_000_000_000_000, 500_000_000_000_000_000, 4000),
            20_000,
        );
        assert!((mean - 2000.0).abs() < 1.2 && (variance / 1000.0 - 1.0).abs() < 0.05, "{mean} {variance}");
        // Drawing nearly all items leaves little variance.
        let (mean, variance) = mean_and_variance(|| hypergeometric(&mut rng, 10_000, 5_000, 9_900), 20_000);
        assert!((mean - 4950.0).abs() < 0.2 && (variance / 24.7525 - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn certain_counts_are_certain() {
        let mut rng = stream(5, Purpose::LevelEdgeCounts, 1);
        assert_eq!(binomial(&mut rng, 9, 0.0), 0);
        assert_eq!(binomial(&mut rng, 9, 1.0), 9);
        assert_eq!(binomial(&mut rng, 0, 0.5), 0);
        assert_eq!(hypergeometric(&mut rng, 9, 4, 9), 4);
        assert_eq!(hypergeometric(&mut rng, 9, 9, 5), 5);
        assert_eq!(hypergeometric(&mut rng, 9, 0, 5), 0);
        for _ in 0..100 {
            assert!((3..=4).contains(&hypergeometric(&mut rng, 9, 4, 8)));
        }
    }
}
