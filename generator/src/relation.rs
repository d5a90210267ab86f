//! Relations between costs and sizes: their correlation, and the ratio of communication to computation.

use placebench_datasets::{DataflowGraph, TensorId};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::error::GeneratorError;
use crate::random::Stream;

/// How far the ratio may be off after sizes are rounded to whole bytes.
const TOLERANCE: f64 = 0.01;

/// Reorders `bytes` so that its ranks correlate with those of `costs` by `correlation`, Spearman's coefficient. The
/// values stay, and so does their distribution, whatever it is.
///
/// Each cost gets the normal score of its rank, and each byte size the rank of a normal variable that correlates with that
/// score by 2 sin(π/6 · `correlation`), which gives normal variables that rank correlation. Equal costs are ranked in
/// the order of the ops.
///
/// # Reference
/// R. L. Iman, W. J. Conover: A distribution-free approach to inducing rank correlation among input variables.
/// Communications in Statistics B 11(3), 1982, 311–334.
///
/// # Complexity
/// O(n log n).
pub(crate) fn correlate(costs: &[f64], bytes: &mut [u64], correlation: f64, rng: &mut Stream) {
    let count = costs.len();
    let normal = 2.0 * libm::sin(std::f64::consts::FRAC_PI_6 * correlation);
    let rest = libm::sqrt((1.0 - normal * normal).max(0.0));
    let mut scores: Vec<f64> = (0..count).map(|_| StandardNormal.sample(rng)).collect();
    for (rank, &item) in ascending(costs).iter().enumerate() {
        let score = &mut scores[item as usize];
        *score = normal * quantile((rank as f64 + 0.5) / count as f64) + rest * *score;
    }
    let mut sorted = bytes.to_vec();
    sorted.par_sort_unstable();
    for (&item, value) in ascending(&scores).iter().zip(sorted) {
        bytes[item as usize] = value;
    }
}

/// The positions of `values` in ascending order of value, equal ones by position.
fn ascending(values: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.par_sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]).then(a.cmp(&b)));
    order
}

/// The quantile of the standard normal distribution, within 1.2 · 10⁻⁹ of itself.
///
/// Reference: P. J. Acklam. "An algorithm for computing the inverse normal cumulative distribution function." 2003.
fn quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] =
        [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416];
    /// Below this and above its complement are the tails.
    const TAIL: f64 = 0.024_25;
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient);
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    if p < TAIL {
        let q = libm::sqrt(-2.0 * libm::log(p));
        return horner(&C, q) / (horner(&D, q) * q + 1.0);
    }
    let q = p - 0.5;
    horner(&A, q * q) * q / (horner(&B, q * q) * q * q + 1.0)
}

/// The mean size of what edges carry over the mean cost of ops, or over the mean of their times on all machines where they have
/// such; `None` without edges or costs.
fn ratio(graph: &DataflowGraph) -> Option<f64> {
    let bytes: f64 = graph.edges().map(|(_, edge)| graph.edge_bytes(edge) as f64).sum();
    let machines = graph.measured_times();
    let cost = |op| match machines {
        [] => graph.ops(op),
        _ => machines.iter().filter_map(|times| times.of(op)).sum::<f64>() / machines.len() as f64,
    };
    let ops: f64 = graph.op_ids().map(cost).sum();
    let ratio = (bytes / graph.edge_count() as f64) / (ops / graph.op_count() as f64);
    (graph.edge_count() > 0 && ops > 0.0).then_some(ratio)
}

/// The same graph with all tensors larger or smaller by one factor, so that the mean bytes an edge over the mean cost of
/// an op is `ccr`.
pub(crate) fn scale_to_ccr(graph: &DataflowGraph, ccr: f64) -> Result<DataflowGraph, GeneratorError> {
    let refuse = |expected: &str| GeneratorError::bad("ccr", ccr, expected);
    let now = ratio(graph).ok_or_else(|| refuse("none for a graph without edges, or whose ops cost nothing"))?;
    if now == 0.0 {
        return Err(refuse("none for a graph whose edges carry no bytes"));
    }
    let bytes = (0..graph.tensor_count())
        .map(|tensor| (graph.tensor_bytes(TensorId::new(tensor)) as f64 * (ccr / now)).round() as u64);
    let scaled = graph.with_tensor_bytes(bytes.collect())?;
    let found = ratio(&scaled).unwrap_or(0.0);
    if (found - ccr).abs() > TOLERANCE * ccr {
        let fault = format!("such that whole bytes come close: they make it {found:.4}; give ops larger costs");
        return Err(refuse(&fault));
    }
    Ok(scaled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream, unit};

    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, expected) in [
            (0.5, 0.0),
            (0.975, 1.959_963_985),
            (0.025, -1.959_963_985),
            (0.9, 1.281_551_566),
            (0.001, -3.090_232_306),
            (1e-9, -5.997_807_015),
        ] {
            assert!((quantile(p) - expected).abs() < 1e-7, "{p}: {}", quantile(p));
        }
    }

    /// Spearman's coefficient of values that are all different.
    fn spearman(a: &[f64], b: &[f64]) -> f64 {
        let ranks = |values: &[f64]| {
            let mut ranks = vec![0.0; values.len()];
            ascending(values).iter().enumerate().for_each(|(rank, &item)| ranks[item as usize] = rank as f64);
            ranks
        };
        let n = a.len() as f64;
        let squares: f64 = ranks(a).iter().zip(ranks(b)).map(|(a, b)| (a - b).powi(2)).sum();
        1.0 - 6.0 * squares / (n * (n * n - 1.0))
    }

    #[test]
    fn ranks_correlate_as_asked_and_the_values_stay() {
        let mut rng = stream(4, Purpose::Correlation, 1);
        let costs: Vec<f64> = (0..50_000).map(|_| unit(&mut rng)).collect();
        let bytes: Vec<u64> = (0..50_000).map(|_| (1e12 * unit(&mut rng).powi(9)) as u64).collect();
        for wanted in [-1.0, -0.6, 0.25, 0.8, 1.0] {
            let mut reordered = bytes.clone();
            correlate(&costs, &mut reordered, wanted, &mut rng);
            let found = spearman(&costs, &reordered.iter().map(|&value| value as f64).collect::<Vec<_>>());
            assert!((found - wanted).abs() < 0.02, "{found} instead of {wanted}");
            let sorted = |mut values: Vec<u64>| {
                values.sort_unstable();
                values
            };
            assert_eq!(sorted(reordered), sorted(bytes.clone()));
        }
    }
}
