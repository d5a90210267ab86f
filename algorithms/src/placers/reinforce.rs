//! REINFORCE: a learned distribution over devices for each group, in the style of Mirhoseini et al.

use placebench_datasets::{DeviceId, Instance, Time};
use rand::RngExt;

use super::search::{self, Budget, Prior, Search, draw};
use crate::fairness::Exception;
use crate::period::Goal;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError, above};

/// Cost of a sample that does not fit in memory.
const INFEASIBLE_COST: f64 = 10.0;

/// Share of the old value in the baseline's moving average.
const BASELINE_DECAY: f64 = 0.9;

/// How many samples, for each evaluation allowed, may be drawn: infeasible ones cost no evaluation.
const SAMPLES_PER_EVALUATION: usize = 4;

/// Learns, by policy gradients, a distribution over devices for each group of ops; returns the best placement it drew.
///
/// Each round draws `samples` placements from the policy, a table of logits by group and device (softmax over the allowed
/// devices, `prior` at first). A sample costs √(makespan / makespan of the start), or 10 if it does not fit in memory. With
/// the baseline b, a
/// moving average of the costs (b ← 0.9·b + 0.1·cost, starting with the first) that infeasible samples do not enter, each
/// sample moves the logits of its group g by rate · (b − cost) · (1\[device chosen\] − probability) / samples.
///
/// # Reference
/// A. Mirhoseini, H. Pham, Q. V. Le, B. Steiner, R. Larsen, Y. Zhou, N. Kumar, M. Norouzi, S. Bengio, J. Dean, *Device
/// Placement Optimization with Reinforcement Learning*, ICML 2017, arXiv:1706.04972; as told by C. Bahnmüller,
/// *Improving Google's Open-Source Machine Learning System TensorFlow*, Master's thesis, University of Stuttgart 2018,
/// §6.2. REINFORCE: R. J. Williams, Machine Learning 8, 1992, 229–256, doi:10.1007/BF00992696.
///
/// # Complexity
/// `budget` simulations, plus O(groups · devices) for each and O(edges · log edges) to make the groups.
///
/// # Ties
/// The first of equally good placements, in the order of samples, is returned. Sample s draws from PCG-64 keyed by
/// (seed, s).
///
/// # Deviations
/// - Mirhoseini-style, not Mirhoseini's: a table of logits takes the place of their sequence-to-sequence network, and plain
///   gradient steps that of Adam. Groups are made by merging units, not by hand.
/// - They measure seconds, and a cost of 10 stands for 100 s. Here times have any unit, so that the makespan is taken in
///   multiples of the start's: a cost of 10 is 100 times as long as the start.
/// - The start (`single_device`; `heft`, then `hashing`, if it finds no room or does not fit) is evaluated first, is part of
///   the budget and may be the answer; the policy does not learn from it.
/// - Under the memory rule static, samples that do not fit in memory are not simulated and not part of the budget; at most four
///   samples an evaluation are drawn. Under peak only the simulation shows whether a sample fits.
/// - Their network starts near uniform, which is `prior=uniform`; by default faster devices are likelier, so that the budget is not
///   spent on learning that a processor is slow.
/// - `rate` and `samples` are tuned, on the catalogue's graphs.
#[derive(Clone, Copy, Debug)]
pub struct Reinforce {
    /// Evaluations and groups.
    pub budget: Budget,
    /// The first policy.
    pub prior: Prior,
    /// Samples for each step of the policy.
    pub samples: usize,
    /// Learning rate.
    pub rate: f64,
}

impl Algorithm for Reinforce {
    const NAME: &str = "reinforce";
    const SUMMARY: &str = "learns a distribution over devices for each group by policy gradients";
    const SOURCE: &str = "Mirhoseini et al. 2017, B §6.2";
    const EXCEPTIONS: &[Exception] = search::EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            budget: Budget::params(params)?,
            prior: Prior::param(params)?,
            samples: params.number("samples", 10, 1.., "placements drawn for each step of the policy")?,
            rate: params.number("rate", 100.0, above(0.0), "learning rate (tuned)")?,
        })
    }
}

impl Placer for Reinforce {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let mut search = Search::new(Self::NAME, instance, context, self.budget)?;
        let mut policy = Policy::new(&search.prior(self.prior));
        let mut baseline = None;
        let most_samples = self.budget.evaluations.saturating_mul(SAMPLES_PER_EVALUATION) as u64;
        let mut drawn = 0u64;
        while search.left() > 0 && drawn < most_samples {
            let probabilities = policy.probabilities();
            let count = search.round(self.samples)?;
            let samples: Vec<Vec<DeviceId>> =
                (drawn..drawn + count).map(|sample| policy.sample(&search, &probabilities, sample)).collect();
            drawn += count;
            let feasible: Vec<&[DeviceId]> =
                samples.iter().map(Vec::as_slice).filter(|sample| search.groups.fits(sample)).collect();
            let mut judged = search.evaluate(&feasible)?.into_iter();
            for sample in &samples {
                let judgement = search.groups.fits(sample).then(|| judged.next()).flatten();
                let makespan = judgement.filter(|found| found.excess_bytes == 0).map(|found| found.value);
                let cost = makespan.map_or(INFEASIBLE_COST, |makespan| cost(makespan, search.reference()));
                let before = *baseline.get_or_insert(cost);
                if makespan.is_some() {
                    baseline = Some(BASELINE_DECAY * before + (1.0 - BASELINE_DECAY) * cost);
                }
                let step = self.rate * (before - cost) / self.samples as f64;
                policy.learn(&search, &probabilities, sample, step);
            }
        }
        Ok(search.finish())
    }

    fn needs_objective(&self) -> bool {
        true
    }

    fn minimises(&self, asked: Goal) -> Option<Goal> {
        Some(self.budget.goal.unwrap_or(asked))
    }
}

/// √makespan in multiples of the start's.
fn cost(makespan: Time, reference: Time) -> f64 {
    if reference > 0.0 { (makespan / reference).sqrt() } else { 1.0 }
}

/// Logits of the allowed devices of each group.
struct Policy {
    logits: Vec<Vec<f64>>,
}

impl Policy {
    fn new(prior: &[Vec<f64>]) -> Self {
        let logits = |row: &Vec<f64>| row.iter().map(|&probability| libm::log(probability)).collect();
        Self { logits: prior.iter().map(logits).collect() }
    }

    fn probabilities(&self) -> Vec<Vec<f64>> {
        let softmax = |logits: &Vec<f64>| {
            let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut weights: Vec<f64> = logits.iter().map(|&logit| libm::exp(logit - largest)).collect();
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= sum);
            weights
        };
        self.logits.iter().map(softmax).collect()
    }

    fn sample(&self, search: &Search<'_>, probabilities: &[Vec<f64>], sample: u64) -> Vec<DeviceId> {
        let mut random = search.random(sample);
        let groups = probabilities.iter().enumerate();
        groups.map(|(group, row)| draw(search.groups.allowed(group), row, random.random())).collect()
    }

    /// One sample's part of the policy gradient.
    fn learn(&mut self, search: &Search<'_>, probabilities: &[Vec<f64>], sample: &[DeviceId], step: f64) {
        for (group, (logits, row)) in self.logits.iter_mut().zip(probabilities).enumerate() {
            let allowed = search.groups.allowed(group);
            for ((logit, &probability), &device) in logits.iter_mut().zip(row).zip(allowed) {
                let chosen = if device == sample[group] { 1.0 } else { 0.0 };
                *logit += step * (chosen - probability);
            }
        }
    }
}
