//! How well predicted makespans agree with measured ones.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::execute::ExecutorName;
use crate::execute::simulate::PREDICTING_MODELS;
use crate::results::{Row, Status};
use crate::statistics::{mean, median, percentile_interval};

/// A candidate (a placer with a scheduler) on one instance: what a simulation said, and what clocks said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidateTimes {
    /// The simulated makespan.
    pub predicted: f64,
    /// The median of the measured makespans.
    pub measured: f64,
    /// The medians over the odd and over the even rounds.
    pub halves: [f64; 2],
    /// Whether the placement has no transfers, so that the costs of ops alone can be wrong.
    pub without_transfers: bool,
}

/// How well predictions agree with measurements, over the candidates of one instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Candidates.
    pub candidates: usize,
    /// Pairs of candidates that the measurement can tell apart: their medians differ by more than the halves of either do.
    pub decided_pairs: usize,
    /// Kendall's τ between the predicted and the measured order, over the decided pairs; `None` if there are none.
    pub tau: Option<f64>,
    /// The 95 % interval of `tau`: candidates are drawn again with replacement.
    pub tau_interval: Option<(f64, f64)>,
    /// Kendall's τ between the two halves of the measurements, over all pairs: what no prediction can be asked to exceed.
    pub tau_of_halves: Option<f64>,
    /// Mean of |predicted − measured| / measured.
    pub mean_error: f64,
    /// Median of measured / predicted over the candidates without transfers: by how much ops take longer than they did when
    /// the machine was calibrated. `None` if all have transfers.
    pub drift: Option<f64>,
    /// The mean error of the candidates with transfers if each prediction is multiplied by `drift`. Nothing is fitted to them.
    pub error_without_drift: Option<f64>,
}

/// How well a network model predicts what an executor measured on an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAgreement {
    /// The graph.
    pub graph: String,
    /// The cluster.
    pub cluster: String,
    /// The network model of the rows, which gave the runs their order.
    pub network: String,
    /// What was measured.
    pub executor: ExecutorName,
    /// What predicted.
    pub model: &'static str,
    /// How well.
    pub agreement: Agreement,
}

/// The agreement of each network model with each graph, cluster, network and executor that was measured, in the order of the rows.
/// Candidates are placers with schedulers that were measured at least twice; repetitions of a suite count apart.
///
/// # Complexity
/// That of [`Agreement::of`], for each of them.
pub fn agreements(rows: &[Row]) -> Vec<ModelAgreement> {
    let is_measured = |row: &&Row| !row.executor.is_simulator() && row.status == Status::Ok.name();
    let instance = |row: &Row| {
        (
            row.graph.clone(),
            row.cluster.clone(),
            row.network.clone(),
            row.executor.clone(),
            row.kinds,
            row.memory.clone(),
            row.repetition,
        )
    };
    let mut instances = Vec::new();
    for row in rows.iter().filter(is_measured) {
        if !instances.contains(&instance(row)) {
            instances.push(instance(row));
        }
    }
    let mut found = Vec::new();
    for own in &instances {
        let of_instance = || rows.iter().filter(is_measured).filter(|row| instance(row) == *own);
        for model in PREDICTING_MODELS.iter().map(|model| model.name()) {
            let outcome = |row: &Row| {
                Some(CandidateTimes {
                    predicted: row.predictions.get(model)?.makespan?,
                    measured: row.makespan.filter(|&makespan| makespan > 0.0)?,
                    halves: [row.makespan_odd?, row.makespan_even?],
                    without_transfers: row.transfers == Some(0),
                })
            };
            let outcomes: Vec<CandidateTimes> = of_instance().filter_map(outcome).collect();
            if let Some(agreement) = Agreement::of(&outcomes) {
                let (graph, cluster, network, executor, ..) = own.clone();
                found.push(ModelAgreement { graph, cluster, network, executor, model, agreement });
            }
        }
    }
    found
}

/// Resamples for the interval.
const RESAMPLES: usize = 2_000;
/// Share of the resamples beyond each end of the interval.
const TAIL: f64 = 0.025;
/// Predictions this close are equal: simulations that add the same times in another order differ by rounding.
const TIE: f64 = 1e-9;

impl Agreement {
    /// Compares the outcomes of one instance; `None` without outcomes.
    ///
    /// # Complexity
    /// O(outcomes²), and that 2,000 times for the interval.
    ///
    /// # Reference
    /// M. G. Kendall. "A New Measure of Rank Correlation." Biometrika 30, 1938, 81–93. A pair that the prediction ties
    /// counts as neither right nor wrong; a pair that noise ties is left out.
    pub fn of(outcomes: &[CandidateTimes]) -> Option<Self> {
        let all: Vec<usize> = (0..outcomes.len()).collect();
        let (decided_pairs, tau) = tau(outcomes, &all);
        let error = |outcome: &CandidateTimes, factor: f64| (factor * outcome.predicted / outcome.measured - 1.0).abs();
        let (without, with): (Vec<CandidateTimes>, Vec<CandidateTimes>) =
            outcomes.iter().partition(|outcome| outcome.without_transfers);
        let ratios: Vec<f64> = without.iter().map(|outcome| outcome.measured / outcome.predicted).collect();
        let drift = median(&ratios).filter(|drift| drift.is_finite());
        let halves: Vec<CandidateTimes> = outcomes
            .iter()
            .map(|&outcome| {
                let [odd, even] = outcome.halves;
                CandidateTimes { predicted: odd, measured: even, halves: [even; 2], ..outcome }
            })
            .collect();
        Some(Self {
            candidates: outcomes.len(),
            decided_pairs,
            tau,
            tau_interval: tau.and_then(|_| interval(outcomes)),
            tau_of_halves: self::tau(&halves, &all).1,
            mean_error: mean(outcomes.iter().map(|outcome| error(outcome, 1.0)))?,
            drift,
            error_without_drift: drift.and_then(|drift| mean(with.iter().map(|outcome| error(outcome, drift)))),
        })
    }
}

/// The decided pairs among `drawn`, and τ over them. A candidate that was drawn twice is no pair.
fn tau(outcomes: &[CandidateTimes], drawn: &[usize]) -> (usize, Option<f64>) {
    let noise = |outcome: &CandidateTimes| (outcome.halves[0] - outcome.halves[1]).abs();
    let (mut pairs, mut score) = (0usize, 0i64);
    for (position, &first) in drawn.iter().enumerate() {
        for &second in &drawn[..position] {
            let (a, b) = (&outcomes[first], &outcomes[second]);
            let measured = a.measured - b.measured;
            if first == second || measured.abs() <= noise(a).max(noise(b)) {
                continue;
            }
            pairs += 1;
            let predicted = a.predicted - b.predicted;
            if predicted.abs() > TIE * a.predicted.abs().max(b.predicted.abs()) {
                score += if (predicted > 0.0) == (measured > 0.0) { 1 } else { -1 };
            }
        }
    }
    (pairs, (pairs > 0).then(|| score as f64 / pairs as f64))
}

fn interval(outcomes: &[CandidateTimes]) -> Option<(f64, f64)> {
    let mut random = Pcg64::seed_from_u64(0);
    let mut found: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let drawn: Vec<usize> = (0..outcomes.len()).map(|_| random.random_range(0..outcomes.len())).collect();
            tau(outcomes, &drawn).1
        })
        .collect();
    found.sort_by(f64::total_cmp);
    percentile_interval(&found, TAIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(values: &[(f64, f64)]) -> Vec<CandidateTimes> {
        values
            .iter()
            .map(|&(predicted, measured)| CandidateTimes {
                predicted,
                measured,
                halves: [measured; 2],
                without_transfers: false,
            })
            .collect()
    }

    #[test]
    fn tau_counts_pairs_in_the_same_order_less_those_in_the_other() {
        // SciPy 1.17: kendalltau([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]) = 0.6
        let found = Agreement::of(&outcomes(&[(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0), (5.0, 5.0)])).unwrap();
        assert_eq!((found.candidates, found.decided_pairs), (5, 10));
        assert!((found.tau.unwrap() - 0.6).abs() < 1e-12);
        assert_eq!(found.tau_of_halves, Some(1.0));
        let (low, high) = found.tau_interval.unwrap();
        assert!(low < 0.6 && 0.6 < high && high <= 1.0, "{low} {high}");
        let errors = [0.5, 1.0, 0.25, 1.0 / 3.0, 0.0];
        assert!((found.mean_error - errors.iter().sum::<f64>() / 5.0).abs() < 1e-12);
    }

    #[test]
    fn a_pair_that_noise_ties_is_left_out_and_one_that_the_prediction_ties_counts_as_missed() {
        let mut found = outcomes(&[(1.0, 1.0), (2.0, 2.0), (2.0, 3.0)]);
        assert_eq!(Agreement::of(&found).unwrap().tau, Some(2.0 / 3.0));
        found[2].halves = [2.0, 4.0];
        let found = Agreement::of(&found).unwrap();
        assert_eq!((found.decided_pairs, found.tau), (1, Some(1.0)), "3 ± 2 cannot be told from 1 nor 2");
    }

    #[test]
    fn drift_is_what_placements_without_transfers_show_and_does_not_count_as_an_error_of_the_others() {
        let mut found = outcomes(&[(1.0, 1.2), (2.0, 2.4), (4.0, 6.0)]);
        let without = Agreement::of(&found).unwrap();
        assert_eq!((without.drift, without.error_without_drift), (None, None));
        found[0].without_transfers = true;
        let agreement = Agreement::of(&found).unwrap();
        assert_eq!(agreement.drift, Some(1.2));
        assert!((agreement.error_without_drift.unwrap() - (0.0 + 0.2) / 2.0).abs() < 1e-12, "{agreement:?}");
        assert!((agreement.mean_error - (1.0 / 6.0 + 1.0 / 6.0 + 1.0 / 3.0) / 3.0).abs() < 1e-12, "{agreement:?}");
    }

    #[test]
    fn runs_in_the_order_of_different_network_models_are_not_one_instance() {
        let row = |network: &str, placer: &str, makespan: f64| Row {
            network: network.to_owned(),
            placer: placer.to_owned(),
            executor: "threads".into(),
            status: Status::Ok.name().to_owned(),
            makespan: Some(makespan),
            makespan_odd: Some(makespan),
            makespan_even: Some(makespan),
            predictions: crate::results::Predictions::of(&[makespan; PREDICTING_MODELS.len()], makespan),
            ..Row::default()
        };
        let rows = [row("a", "x", 1.0), row("b", "x", 5.0), row("a", "y", 2.0), row("b", "y", 6.0)];
        let found = agreements(&rows);
        assert_eq!(found.len(), 2 * PREDICTING_MODELS.len());
        assert!(found.iter().all(|line| line.agreement.candidates == 2 && line.agreement.tau == Some(1.0)));
        assert_eq!((found[0].network.as_str(), found[PREDICTING_MODELS.len()].network.as_str()), ("a", "b"));
    }

    #[test]
    fn without_a_decided_pair_there_is_no_tau() {
        let found = Agreement::of(&outcomes(&[(1.0, 2.0)])).unwrap();
        assert_eq!((found.tau, found.tau_interval, found.mean_error), (None, None, 0.5));
        assert_eq!(Agreement::of(&[]), None);
    }
}
