//! Simulated annealing over groups: the control that learned searches have to beat.

use std::cmp::Ordering;

use placebench_datasets::{DeviceId, Instance, Time};
use rand::RngExt;
use rand_pcg::Pcg64;

use super::search::{self, Budget, Prior, Search, draw};
use crate::fairness::Exception;
use crate::period::Goal;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError, above_to};

/// Share of the budget, and most evaluations, that the first temperature is estimated from.
const ESTIMATE_SHARE: usize = 10;
const MOST_ESTIMATES: usize = 50;

/// The percentile of |Δ| that is the first temperature.
const PERCENTILE: f64 = 0.8;

/// How often a move is drawn again if it changes nothing or does not fit in memory.
const REDRAWS: usize = 50;

/// Moves one group to another device, or swaps the devices of two groups, and accepts what is worse by Δ with probability
/// exp(−Δ / temperature); returns the best placement it met.
///
/// The first temperature is the 80th percentile of |Δ| over moves from the start (a tenth of the budget, at most 50). It
/// falls geometrically with every evaluation, to `end` times itself when the budget is spent. Moves and swaps are equally
/// likely, a group's new device is drawn from `prior`, and only moves that fit in memory are evaluated. Under the memory rule
/// peak only the simulation shows whether a move fits: a move to fewer bytes too many is accepted, one to more never.
///
/// # Reference
/// S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, *Optimization by Simulated Annealing*, Science 220, 1983, 671–680,
/// doi:10.1126/science.220.4598.671.
///
/// # Complexity
/// `budget` simulations, plus O(groups + ops) for each and O(edges · log edges) to make the groups.
///
/// # Ties
/// Moves to an equal makespan are accepted. The first of equally good placements is returned. Move s draws from PCG-64 keyed
/// by (seed, s).
///
/// # Deviations
/// - To judge in parallel, `batch` moves are drawn from the same state; the first of them that is accepted is made, and
///   those after it are discarded, though they count. `batch=1` is the textbook's algorithm.
/// - The start is `single_device` (`heft`, then `hashing`, if it finds no room or does not fit), each group where most of its ops are; it is
///   part of the budget. If groups do not fit where their ops do, the search ends with the start.
/// - The usual control draws devices evenly, which is `prior=uniform`; by default faster ones are likelier, as in the learning
///   searches, so that all know the same.
/// - `batch` and `end` are tuned, on the catalogue's graphs.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedAnnealing {
    /// Evaluations and groups.
    pub budget: Budget,
    /// How likely a device is to be the one that a group moves to.
    pub prior: Prior,
    /// Moves that are judged at once.
    pub batch: usize,
    /// Last temperature / first temperature.
    pub end: f64,
}

impl Algorithm for SimulatedAnnealing {
    const NAME: &str = "simulated_annealing";
    const SUMMARY: &str = "moves and swaps groups, accepting what is worse less and less";
    const SOURCE: &str = "Kirkpatrick et al. 1983, control";
    const EXCEPTIONS: &[Exception] = search::EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            budget: Budget::params(params)?,
            prior: Prior::param(params)?,
            batch: params.number("batch", 2, 1.., "moves judged at once from one state (tuned)")?,
            end: params.number("end", 0.001, above_to(0.0, 1.0), "last / first temperature (tuned)")?,
        })
    }
}

impl Placer for SimulatedAnnealing {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let mut search = Search::new(Self::NAME, instance, context, self.budget)?;
        let Some(mut state) = search.nearest_to_best() else { return Ok(search.finish()) };
        let mut worth = match search.best_if(&state) {
            Some(worth) => worth,
            None if search.left() == 0 => return Ok(search.finish()),
            None => search.evaluate(&[state.as_slice()])?[0],
        };
        let moves = Moves { prior: search.prior(self.prior) };
        let mut drawn = 0u64;
        let estimates = (self.budget.evaluations / ESTIMATE_SHARE).clamp(1, MOST_ESTIMATES).min(search.left());
        let first = moves.first_temperature(&mut search, &state, worth.value, &mut drawn, estimates)?;
        let total = search.left() as f64;
        while search.left() > 0 {
            let spent = 1.0 - search.left() as f64 / total;
            let temperature = first * libm::pow(self.end, spent);
            let next = moves.draw(&search, &state, &mut drawn, self.batch.min(search.left()));
            if next.is_empty() {
                break;
            }
            let choices: Vec<&[DeviceId]> = next.iter().map(|(choice, _)| choice.as_slice()).collect();
            let judged = search.evaluate(&choices)?;
            let accepted = judged.iter().zip(&next).position(|(found, &(_, uniform))| {
                match found.excess_bytes.cmp(&worth.excess_bytes) {
                    Ordering::Less => true,
                    Ordering::Greater => false,
                    Ordering::Equal => {
                        let worse = found.value - worth.value;
                        worse <= 0.0 || (temperature > 0.0 && uniform < libm::exp(-worse / temperature))
                    }
                }
            });
            if let Some(position) = accepted {
                worth = judged[position];
                state.clone_from(&next[position].0);
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

/// Draws moves.
struct Moves {
    prior: Vec<Vec<f64>>,
}

impl Moves {
    /// The percentile of the changes that moves from the start make.
    fn first_temperature(
        &self,
        search: &mut Search<'_>,
        start: &[DeviceId],
        makespan: Time,
        drawn: &mut u64,
        estimates: usize,
    ) -> Result<Time, PlaceError> {
        let moves = self.draw(search, start, drawn, estimates);
        let choices: Vec<&[DeviceId]> = moves.iter().map(|(choice, _)| choice.as_slice()).collect();
        let mut changes: Vec<Time> =
            search.evaluate(&choices)?.into_iter().map(|next| (next.value - makespan).abs()).collect();
        changes.sort_unstable_by(Time::total_cmp);
        let rank = (changes.len() as f64 * PERCENTILE).ceil() as usize;
        Ok(changes.get(rank.saturating_sub(1)).copied().unwrap_or(0.0))
    }

    /// Up to `count` moves from a state, each with the number that decides whether it is accepted.
    fn draw(
        &self,
        search: &Search<'_>,
        state: &[DeviceId],
        drawn: &mut u64,
        count: usize,
    ) -> Vec<(Vec<DeviceId>, f64)> {
        let numbers = *drawn..*drawn + count as u64;
        *drawn = numbers.end;
        numbers
            .filter_map(|number| {
                let mut random = search.random(number);
                let neighbour = (0..REDRAWS).find_map(|_| self.neighbour(search, state, &mut random))?;
                Some((neighbour, random.random()))
            })
            .collect()
    }

    /// A state that differs in one move or swap; `None` if what was drawn changes nothing or does not fit.
    fn neighbour(&self, search: &Search<'_>, state: &[DeviceId], random: &mut Pcg64) -> Option<Vec<DeviceId>> {
        let mut group = || random.random_range(0..state.len() as u32) as usize;
        let (a, b) = (group(), group());
        let allowed = search.groups.allowed(a);
        let mut next = state.to_vec();
        if random.random() {
            next[a] = draw(allowed, &self.prior[a], random.random());
        } else if allowed.contains(&state[b]) && search.groups.allowed(b).contains(&state[a]) {
            next.swap(a, b);
        }
        (next != state && search.groups.fits(&next)).then_some(next)
    }
}
