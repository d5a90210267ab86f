//! Cross-entropy method: a distribution over devices for each group, refitted to the best samples.

use placebench_datasets::{DeviceId, Instance};
use rand::RngExt;

use super::search::{self, Budget, Prior, Search, draw};
use crate::fairness::Exception;
use crate::period::Goal;
use crate::{Algorithm, Decision, Judgement, Params, PlaceContext, PlaceError, Placer, SpecError, above_to};

/// Draws placements from a categorical distribution for each group of ops and refits it to the best of them, again and
/// again; returns the best placement it drew.
///
/// Each round draws `samples` placements; those that do not fit in memory are repaired. The `elites`-th part with the least
/// makespans sets the frequency of each device in each group, and the distribution becomes `smoothing` · frequency +
/// (1 − `smoothing`) · what it was. It starts with `prior`.
///
/// # Reference
/// R. Y. Rubinstein, *The Cross-Entropy Method for Combinatorial and Continuous Optimization*, Methodology and Computing in
/// Applied Probability 1, 1999, 127–190, doi:10.1023/A:1010091220143. For device placement: Y. Gao, L. Chen, B. Li, *Post:
/// Device Placement with Cross-Entropy Minimization and Proximal Policy Optimization*, NeurIPS 2018.
///
/// # Complexity
/// `budget` simulations, plus O(groups · devices) for each and O(edges · log edges) to make the groups.
///
/// # Ties
/// Of equally good samples the earlier one is the better one. Sample s draws from PCG-64 keyed by (seed, s).
///
/// # Deviations
/// - Post takes gradient steps (PPO) between its refits; here are the refits alone.
/// - The start (`single_device`; `heft`, then `hashing`, if it finds no room or does not fit) is evaluated first, is part of
///   the budget and may be the answer; the distribution is not fitted to it.
/// - Under the memory rule peak only the simulation shows whether a sample fits. One that does not is worse than all that do, and
///   among such samples those with the fewest bytes too many are the elites.
/// - Repair: the largest groups first, a group whose device is full goes to the allowed device with the most memory left. A
///   sample beyond repair is never an elite and costs no evaluation; a round in which all are beyond repair ends the search.
/// - The method starts uniform, which is `prior=uniform`; by default faster devices are likelier, so that the budget is not spent on
///   learning that a processor is slow.
/// - `samples`, `elites` and `smoothing` are tuned, on the catalogue's graphs.
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropy {
    /// Evaluations and groups.
    pub budget: Budget,
    /// The first distribution.
    pub prior: Prior,
    /// Samples for each refit.
    pub samples: usize,
    /// Share of the samples that are elites.
    pub elites: f64,
    /// Weight of the elites against the former distribution.
    pub smoothing: f64,
}

impl Algorithm for CrossEntropy {
    const NAME: &str = "cross_entropy";
    const SUMMARY: &str = "refits a distribution over devices for each group to the best samples";
    const SOURCE: &str = "Rubinstein 1999, Gao et al. 2018, B §6.2";
    const EXCEPTIONS: &[Exception] = search::EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let share = || above_to(0.0, 1.0);
        let smoothing = "weight of the elites against the former distribution (tuned)";
        Ok(Self {
            budget: Budget::params(params)?,
            prior: Prior::param(params)?,
            samples: params.number("samples", 50, 1.., "placements drawn for each refit (tuned)")?,
            elites: params.number("elites", 0.1, share(), "share of them to refit to (tuned)")?,
            smoothing: params.number("smoothing", 0.7, share(), smoothing)?,
        })
    }
}

impl Placer for CrossEntropy {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let mut search = Search::new(Self::NAME, instance, context, self.budget)?;
        let mut rows = search.prior(self.prior);
        let mut drawn = 0u64;
        while search.left() > 0 {
            let count = search.round(self.samples)?;
            let samples: Vec<Vec<DeviceId>> =
                (drawn..drawn + count).filter_map(|number| sample(&search, &rows, number)).collect();
            drawn += count;
            if samples.is_empty() {
                break;
            }
            let choices: Vec<&[DeviceId]> = samples.iter().map(Vec::as_slice).collect();
            let mut order: Vec<(usize, Judgement)> = search.evaluate(&choices)?.into_iter().enumerate().collect();
            order.sort_unstable_by(|a, b| a.1.compare(&b.1).then(a.0.cmp(&b.0)));
            let elites = ((order.len() as f64 * self.elites).ceil() as usize).clamp(1, order.len());
            let elites: Vec<&[DeviceId]> = order[..elites].iter().map(|&(position, _)| choices[position]).collect();
            self.refit(&search, &mut rows, &elites);
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

/// A placement drawn from the distribution, repaired if it does not fit; `None` if it is beyond repair.
fn sample(search: &Search<'_>, rows: &[Vec<f64>], number: u64) -> Option<Vec<DeviceId>> {
    let mut random = search.random(number);
    let groups = rows.iter().enumerate();
    let mut choice: Vec<DeviceId> =
        groups.map(|(group, row)| draw(search.groups.allowed(group), row, random.random())).collect();
    search.groups.repair(&mut choice).then_some(choice)
}

impl CrossEntropy {
    fn refit(&self, search: &Search<'_>, rows: &mut [Vec<f64>], elites: &[&[DeviceId]]) {
        for (group, row) in rows.iter_mut().enumerate() {
            for (probability, &device) in row.iter_mut().zip(search.groups.allowed(group)) {
                let count = elites.iter().filter(|elite| elite[group] == device).count();
                let frequency = count as f64 / elites.len() as f64;
                *probability = self.smoothing * frequency + (1.0 - self.smoothing) * *probability;
            }
        }
    }
}
