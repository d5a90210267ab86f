//! What statistics count as observations: the graphs that were drawn.

use std::collections::BTreeMap;

use placebench_datasets::is_equal;
use placebench_generator::Passes;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::{Grid, GridInstance, Standings};
use crate::statistics::percentile_interval;

/// Share of the resampled means beyond each end of an interval: 95 % confidence.
const TAIL: f64 = 0.025;

/// A graph that was drawn, with what passes make of it, on all clusters and under all rules that it was judged under.
///
/// Draws that share their graph, such as those of a placer's own randomness, are one observation: many of them make its
/// value more certain, but say nothing of other graphs. Neither do clusters and network models.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// For each candidate that takes part, in the order of [`Standings::candidates`]: the mean logarithm of what it reaches,
    /// turned so that less is better, over the draws; where a place has several draws of the graph, of their mean. Negative
    /// infinity if it reaches 0 somewhere.
    pub logs: Vec<f64>,
    /// The parts of common places that it has.
    parts: Vec<Part>,
}

/// The draws of an observation at a place.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    /// Index into [`Standings::common`].
    common: usize,
    draws: f64,
    /// Sum of the values over these draws, by candidate; NaN where it has none.
    sums: Vec<f64>,
}

/// How intervals are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resampling {
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// Its seed.
    pub seed: u64,
}

impl Grid {
    /// The draws of some instances by the graph that was drawn, in the order of names: for each of them the positions in
    /// `instances` with the draws there.
    ///
    /// # Complexity
    /// O(draws · log draws).
    pub fn drawn_graphs(&self, instances: &[usize]) -> Vec<Vec<(usize, usize)>> {
        let mut draws: BTreeMap<_, Vec<(usize, usize)>> = BTreeMap::new();
        for (position, &instance) in instances.iter().enumerate() {
            let GridInstance { key, draws: own, .. } = &self.instances[instance];
            let graph = Passes::base_name(&key.graph);
            for (number, draw) in own.iter().enumerate() {
                let of_graph = (key.suite.as_str(), graph, draw.repetition, draw.seed);
                draws.entry(of_graph).or_default().push((position, number));
            }
        }
        let problem = |&(position, number): &(usize, usize)| {
            (position, self.instances[instances[position]].draws[number].problem)
        };
        let mut graphs: BTreeMap<_, Vec<(usize, usize)>> = BTreeMap::new();
        for ((suite, graph, ..), places) in draws {
            let signature: Vec<_> = places.iter().map(problem).collect();
            graphs.entry((suite, graph, signature)).or_default().extend(places);
        }
        graphs.into_values().collect()
    }
}

impl Standings {
    /// The candidates that take part, in the order of [`Standings::candidates`].
    pub fn participants(&self) -> Vec<usize> {
        (0..self.candidates.len()).filter(|&own| self.takes_part[own]).collect()
    }

    /// The observations behind the means, in the order of names: every draw of every common place is in one of them.
    ///
    /// # Complexity
    /// O(draws · candidates) over the common places.
    pub fn observations(&self, grid: &Grid) -> Vec<Observation> {
        let participants = self.participants();
        let instances: Vec<usize> = self.common.iter().map(|&place| self.places[place].0).collect();
        let observation = |drawn: Vec<(usize, usize)>| {
            let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
            for (common, draw) in drawn {
                let empty = || Part { common, draws: 0.0, sums: vec![0.0; self.candidates.len()] };
                let part = parts.entry(common).or_insert_with(empty);
                part.draws += 1.0;
                let values = self.values(grid, self.common[common], draw);
                part.sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            let parts: Vec<Part> = parts.into_values().collect();
            let draws: f64 = parts.iter().map(|part| part.draws).sum();
            let log = |own: usize| {
                let of_part = |part: &Part| part.draws * grid.loss(part.sums[own] / part.draws).ln();
                parts.iter().map(of_part).sum::<f64>() / draws
            };
            Observation { logs: participants.iter().map(|&own| log(own)).collect(), parts }
        };
        grid.drawn_graphs(&instances).into_iter().map(observation).collect()
    }

    /// What each candidate reaches in a draw at a place; NaN where it has no value.
    fn values(&self, grid: &Grid, place: usize, draw: usize) -> Vec<f64> {
        let value = |own| self.cell(grid, own, place)?.value(draw);
        (0..self.candidates.len()).map(|own| value(own).unwrap_or(f64::NAN)).collect()
    }

    /// The 95 % interval of each participant's mean, in the order of [`Standings::participants`]: observations are drawn
    /// again with replacement, and all is condensed as before. An instance counts as often as its draws were drawn again, and
    /// not at all in a resample in which its best is 0. `None` of a single observation, which says nothing about others.
    ///
    /// # Complexity
    /// O(resamples · draws · candidates).
    ///
    /// # Reference
    /// B. Efron, R. J. Tibshirani. "An Introduction to the Bootstrap." Chapman & Hall 1993, §13.3 (the percentile interval).
    pub fn intervals(&self, grid: &Grid, observations: &[Observation], how: Resampling) -> Vec<Option<(f64, f64)>> {
        let participants = self.participants();
        if observations.len() < 2 {
            return vec![None; participants.len()];
        }
        let width = self.candidates.len();
        let mut whole = vec![0.0; self.common.len()];
        for part in observations.iter().flat_map(|observation| &observation.parts) {
            whole[part.common] += part.draws;
        }
        let mut random = Pcg64::seed_from_u64(how.seed);
        let mut found = vec![Vec::with_capacity(how.resamples); participants.len()];
        let mut times = vec![0u32; observations.len()];
        let mut sums = vec![0.0; self.common.len() * width];
        let mut drawn = vec![0.0; self.common.len()];
        for _ in 0..how.resamples {
            times.fill(0);
            observations.iter().for_each(|_| times[random.random_range(0..observations.len())] += 1);
            sums.fill(0.0);
            drawn.fill(0.0);
            for (&times, observation) in times.iter().zip(observations).filter(|(times, _)| **times > 0) {
                let times = f64::from(times);
                for part in &observation.parts {
                    drawn[part.common] += times * part.draws;
                    let sums = &mut sums[part.common * width..][..width];
                    sums.iter_mut().zip(&part.sums).for_each(|(sum, own)| *sum += times * own);
                }
            }
            let (mut logarithms, mut weights) = (vec![0.0; participants.len()], 0.0);
            for (common, sums) in sums.chunks_exact(width).enumerate().filter(|(common, _)| drawn[*common] > 0.0) {
                let loss = |sum: f64| grid.loss(sum / drawn[common]);
                // NaN is less than nothing.
                let least = sums.iter().copied().map(loss).fold(f64::INFINITY, f64::min);
                if least <= 0.0 || participants.iter().any(|&own| !loss(sums[own]).is_finite()) {
                    continue;
                }
                let weight = drawn[common] / whole[common];
                weights += weight;
                let own = logarithms.iter_mut().zip(&participants);
                // As everywhere, what is equal up to rounding has the ratio 1.
                own.map(|(sum, &own)| (sum, loss(sums[own])))
                    .filter(|&(_, loss)| !is_equal(loss, least))
                    .for_each(|(sum, loss)| *sum += weight * (loss / least).ln());
            }
            if weights > 0.0 {
                found.iter_mut().zip(logarithms).for_each(|(found, sum)| found.push((sum / weights).exp()));
            }
        }
        let interval = |mut means: Vec<f64>| {
            means.sort_unstable_by(f64::total_cmp);
            percentile_interval(&means, TAIL)
        };
        found.into_iter().map(interval).collect()
    }
}
