//! The search for a placement of least period: annealing on units and on connected blocks of them, from the best of others'
//! placements.
//!
//! No schedule takes part: what counts are the loads of devices and of what transfers share, which a move changes at few places
//! ([`state`]). Nothing asks that what a device holds be contiguous.

mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use placebench_datasets::{Instance, MemoryRule, PlacedGraph, Placement, Time};
use rayon::prelude::*;

use self::state::{Problem, State};
use super::sweep::random::Random;
use super::sweep::seeds::all_placers;
use crate::memory::Limits;
use crate::period::{Occupancy, period};
use crate::schedulers::Static;
use crate::{
    Algorithm, Decision, Judgement, Objective, PlaceContext, PlaceError, Placer, Spec, SpecError, StopToken, registry,
};

/// Whose placements the search starts from: those that cut models in stages, those that balance loads and cut little, those that
/// spread, and those that send little.
const STARTS: &[&str] = &[
    "pipeline_dp",
    "pipeline_dp(transfers=ports)",
    "expert",
    "multilevel(epsilon=0.01)",
    "multilevel(epsilon=0.03)",
    "multilevel(epsilon=0.1)",
    "multilevel(epsilon=0.3)",
    "fiduccia_mattheyses(epsilon=0.03)",
    "batch_split",
    "heft",
    "etf",
    "single_device",
    "cluster_load",
    "dfs",
    "m_topo",
    "cola",
    "lookahead",
    "mite",
];

/// Searches that small graphs start from, too: they simulate, and so know what is in flight and how transfers wait.
pub(super) const SEARCHES: &[&str] = &["simulated_annealing", "cross_entropy"];

/// The most units of a small graph.
pub(super) const MOST_SEARCHED: usize = 64;

/// The most units of a graph for which all placers of the registry are asked where memory is short, even if something fits.
pub(super) const MOST_ASKED: usize = 256;

/// Readers are counted for each output and device; of more of them the search makes no table.
const MOST_COUNTED: usize = 1 << 28;

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Chains of annealing, each from another start.
    pub(super) chains: usize,
    /// Moves of each chain: this many times the units, within these limits.
    pub(super) moves: usize,
    pub(super) least: usize,
    pub(super) most: usize,
}

/// Steps between two looks at the clock, and between two sums without rounding.
const ROUND: usize = 4096;

/// Most units of a block that moves as one.
const LARGEST_BLOCK: usize = 256;

/// By what factor the period falls between two placements on the way to the best that are judged, too.
const STEP: f64 = 0.95;

/// First and last temperature, as a share of the period.
const HEAT: (f64, f64) = (0.02, 0.0001);

/// A search under way.
pub(super) struct Search<'a> {
    pub(super) instance: &'a Instance,
    pub(super) context: &'a PlaceContext,
    /// It minimises the period.
    pub(super) objective: &'a dyn Objective,
    /// A decision with a plan for a placement, for schedulers that execute nothing else.
    pub(super) planned: &'a (dyn Fn(Placement) -> Decision + Sync),
    /// How much is tried: the least first, so that who tries more finds nothing worse.
    pub(super) efforts: &'a [Effort],
    /// The last of them goes on until then, if it is given.
    pub(super) deadline: Option<Instant>,
}

/// A decision with what the objective says of it. It has a plan only where the one that its placer made is better than what
/// [`Search::planned`] makes of its placement: in another order other bytes are held at once.
pub(super) type Found = (Judgement, Decision);

/// The best decision so far by the objective.
type Best = Option<Found>;

impl Search<'_> {
    /// The best decision by the objective: of those that are given or, without them, of others', and of what annealing makes of them.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`] if it is time to stop and nothing is known, [`PlaceError::Unsupported`] if the objective knows no
    /// period, and what the others say if none of them places.
    pub(super) fn run(&self, start: Vec<Decision>) -> Result<Found, PlaceError> {
        let Self { instance, context, objective, .. } = *self;
        let Some(occupancy) = objective.occupancy(instance.cluster()) else {
            return Err(PlaceError::Unsupported(
                "nothing says what a sample keeps busy: the objective knows no period".to_owned(),
            ));
        };
        let known = match start.is_empty() {
            false => start,
            true => starts(instance, context)?,
        };
        let mut best: Best = None;
        let is_tight = self.judge(&known, &mut best);
        let Some((&most, less)) = self.efforts.split_last() else { return best.ok_or(PlaceError::Stopped) };
        for &effort in less {
            self.anneal_within(effort, None, &*occupancy, &known, &mut best);
        }
        self.anneal_within(most, self.deadline, &*occupancy, &known, &mut best);
        let fits = |best: &Best| best.as_ref().is_some_and(|(judgement, _)| judgement.excess_bytes == 0);
        let may_ask = instance.units().count() <= MOST_ASKED;
        let is_short = |best: &Best| best.as_ref().is_some_and(|found| self.is_short_of_memory(&*occupancy, found));
        if (!fits(&best) || may_ask && (is_tight || is_short(&best))) && !context.stop.is_stopped() {
            // Any placer may find what fits, or leaves room for more in flight.
            let place = |placer: Box<dyn Placer>| placer.place(instance, context).ok();
            let found: Vec<Decision> = all_placers().into_par_iter().filter_map(place).collect();
            self.judge(&found, &mut best);
            if fits(&best) {
                self.anneal_within(most, self.deadline, &*occupancy, &found, &mut best);
            }
        }
        if best.is_none() {
            // Told to stop before anything was judged: what is known is judged all the same.
            self.judge_until(&known, &mut best, &StopToken::default());
        }
        best.ok_or(PlaceError::Stopped)
    }

    /// Anneals from the best of what is known, by the objective and by the loads; with a deadline until then.
    fn anneal_within(
        &self,
        effort: Effort,
        deadline: Option<Instant>,
        occupancy: &dyn Occupancy,
        known: &[Decision],
        best: &mut Best,
    ) {
        let Self { instance, context, .. } = *self;
        // Where the run decides about memory, limits that are more and more sure to hold.
        let cautions: &[fn(&Instance) -> Option<Limits>] = match instance.memory_rule() {
            MemoryRule::Peak => &[
                |_| None,
                |instance| Some(Limits::estimated_peaks(instance)),
                |instance| Some(Limits::safe_peaks(instance)),
            ],
            _ => &[Limits::of_cluster],
        };
        for limits in cautions {
            let problem = Problem::new(instance, occupancy, limits(instance));
            if problem.table_size() > MOST_COUNTED || context.stop.is_stopped() {
                break;
            }
            let first = best.iter().map(|(_, found)| &found.placement);
            let states = ranked(&problem, first, known.iter().map(|known| &known.placement), effort.chains);
            self.anneal(effort, deadline, &problem, &states, best);
            if best.as_ref().is_some_and(|found| !self.is_short_of_memory(occupancy, found)) {
                break;
            }
        }
    }

    /// Whether a placement does not fit, or has a longer period than what is busy, so that memory is what counts.
    fn is_short_of_memory(&self, occupancy: &dyn Occupancy, (judgement, found): &Found) -> bool {
        let busy = period(&PlacedGraph::new(self.instance, &found.placement), occupancy);
        judgement.excess_bytes > 0 || judgement.value > busy * (1.0 + 1e-6)
    }

    /// Chains from these states, once or, with a deadline, until then.
    fn anneal(
        &self,
        effort: Effort,
        deadline: Option<Instant>,
        problem: &Problem<'_>,
        states: &[State<'_>],
        best: &mut Best,
    ) {
        let context = self.context;
        for round in 0.. {
            let chain = |(number, start): (usize, &State<'_>)| {
                let random = Random::new(context.seed, (round * states.len() + number) as u64);
                Annealing { problem, context, effort, deadline, random }.run(start.clone())
            };
            let found: Vec<Vec<Placement>> = states.par_iter().enumerate().map(chain).collect();
            let found: Vec<Decision> = found.into_iter().flatten().map(Decision::placement).collect();
            self.judge(&found, best);
            if deadline.is_none_or(|deadline| Instant::now() >= deadline) || context.stop.is_stopped() {
                break;
            }
        }
    }

    /// Keeps the best. Whether some does not fit.
    fn judge(&self, found: &[Decision], best: &mut Best) -> bool {
        self.judge_until(found, best, &self.context.stop)
    }

    fn judge_until(&self, found: &[Decision], best: &mut Best, stop: &StopToken) -> bool {
        let schedulers = self.objective.schedulers();
        let is_static = |name: &Arc<str>| **name == *Static::NAME;
        // Where another scheduler may execute a placement, plans that have to be made are not worth their time.
        let needs_plan = !schedulers.is_empty() && schedulers.iter().all(is_static);
        let follows_plans = schedulers.is_empty() || schedulers.iter().any(is_static);
        let mut is_tight = false;
        let mut take = |decision: &Decision, kept: &Decision| {
            let Ok(judgement) = self.objective.judge(self.instance, decision, stop) else { return };
            is_tight |= judgement.excess_bytes > 0;
            if best.as_ref().is_none_or(|(least, _)| judgement.compare(least).is_lt()) {
                *best = Some((judgement, kept.clone()));
            }
        };
        for Decision { placement, plan, .. } in found {
            let bare = Decision::placement(placement.clone());
            match needs_plan {
                true => take(&(self.planned)(placement.clone()), &bare),
                false => take(&bare, &bare),
            }
            if follows_plans && plan.is_some() {
                let own = Decision { plan: plan.clone(), ..bare };
                take(&own, &own);
            }
        }
        is_tight
    }
}

/// What others answer; those that find nothing are left out.
///
/// # Errors
/// What the first says if none finds anything.
fn starts(instance: &Instance, context: &PlaceContext) -> Result<Vec<Decision>, PlaceError> {
    let place = |text: &&str| -> Result<Decision, PlaceError> {
        let spec: Spec = text.parse().map_err(|error: SpecError| PlaceError::Unsupported(error.to_string()))?;
        let placer = registry::placer(&spec).map_err(|error| PlaceError::Unsupported(error.to_string()))?;
        placer.place(instance, context)
    };
    let searches = if instance.units().count() <= MOST_SEARCHED { SEARCHES } else { &[] };
    let found: Vec<Result<Decision, PlaceError>> = STARTS.par_iter().chain(searches).map(place).collect();
    let mut starts: Vec<Decision> = Vec::new();
    let mut failure = None;
    for found in found {
        match found {
            Ok(found) => starts.push(found),
            Err(error @ PlaceError::Infeasible { .. }) => failure = failure.or(Some(error)),
            Err(_) => {}
        }
    }
    match (starts.is_empty(), failure) {
        (false, _) => Ok(starts),
        (true, failure) => Err(failure.unwrap_or(PlaceError::Stopped)),
    }
}

/// The starts of the chains: the best by the objective, then the others, the best by their loads first; those that keep the memory, or
/// are made to.
fn ranked<'p, 'k>(
    problem: &'p Problem<'p>,
    best: impl Iterator<Item = &'k Placement>,
    known: impl Iterator<Item = &'k Placement>,
    chains: usize,
) -> Vec<State<'p>> {
    let units = problem.instance.units();
    let state = |placement: &Placement| {
        let device = units.ids().map(|unit| placement.device_of(units.members(unit)[0]).0).collect();
        let mut state = State::new(problem, device);
        repair(problem, &mut state).then_some(state)
    };
    let mut distinct: Vec<&Placement> = Vec::new();
    for placement in known {
        if !distinct.contains(&placement) {
            distinct.push(placement);
        }
    }
    let mut states: Vec<State<'_>> = distinct.into_iter().filter_map(state).collect();
    states.sort_by(|a, b| a.period().total_cmp(&b.period()).then(a.smooth().total_cmp(&b.smooth())));
    let mut starts: Vec<State<'_>> = best.filter_map(state).collect();
    let is_new = |state: &State<'_>| starts.iter().all(|start| start.device != state.device);
    states.retain(is_new);
    starts.append(&mut states);
    starts.truncate(chains);
    starts
}

/// Moves units from devices without the memory for them to the least loaded that have it. Whether that was possible.
fn repair(problem: &Problem<'_>, state: &mut State<'_>) -> bool {
    while let Some(device) = state.overfull() {
        let here = (0..problem.units()).rev().filter(|&unit| state.device[unit] as usize == device);
        let target = |unit: usize| {
            let others = (0..problem.devices() as u32).filter(|&to| to as usize != device && state.may_move(unit, to));
            others.min_by(|&a, &b| state.load(a).total_cmp(&state.load(b))).map(|to| (unit, to))
        };
        let Some((unit, to)) = here.filter(|&unit| problem.demand(unit) > 0).find_map(target) else { return false };
        state.shift(unit, to);
    }
    state.recompute();
    true
}

/// One chain.
struct Annealing<'a> {
    problem: &'a Problem<'a>,
    context: &'a PlaceContext,
    effort: Effort,
    deadline: Option<Instant>,
    random: Random,
}

impl Annealing<'_> {
    /// The best placement that was met and, since it may hold more in flight than fits, some on the way there.
    fn run(mut self, mut state: State<'_>) -> Vec<Placement> {
        let moves = (self.effort.moves * self.problem.units()).clamp(self.effort.least, self.effort.most);
        let mut best = (state.period(), state.device.clone());
        let mut way: Vec<(Time, Placement)> = Vec::new();
        for step in 0..moves {
            if step % ROUND == 0 {
                state.recompute();
                let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if is_late || self.context.stop.is_stopped() {
                    break;
                }
            }
            let before = state.smooth();
            let heat = HEAT.0 * libm::pow(HEAT.1 / HEAT.0, step as f64 / moves as f64);
            let limit = before * (1.0 + heat * self.random.exponential());
            let mark = state.mark();
            if !self.propose(&mut state) || state.smooth() > limit {
                state.back_to(&mark);
                continue;
            }
            state.keep();
            let period = state.period();
            if period < best.0 {
                best = (period, state.device.clone());
                if way.last().is_none_or(|&(last, _)| period < last * STEP) {
                    way.push((period, state.placement()));
                }
            }
        }
        state.device = best.1;
        way.into_iter().map(|(_, placement)| placement).chain([state.placement()]).collect()
    }

    /// Changes the placement, if what is drawn can be done.
    fn propose(&mut self, state: &mut State<'_>) -> bool {
        let unit = self.unit(state);
        let Some(to) = self.target(state, unit) else { return false };
        match self.random.below(4) {
            0 => self.swap(state, unit, to),
            1 => self.block(state, unit, to),
            _ => {
                state.may_move(unit, to) && {
                    state.shift(unit, to);
                    true
                }
            }
        }
    }

    /// Any unit, or one of the busiest device.
    fn unit(&mut self, state: &State<'_>) -> usize {
        let mut unit = self.random.below(self.problem.units());
        if self.random.below(2) == 0 {
            let busiest = state.busiest_device();
            for _ in 0..2 * self.problem.devices() {
                if state.device[unit] == busiest {
                    break;
                }
                unit = self.random.below(self.problem.units());
            }
        }
        unit
    }

    /// Another device: that of a unit with which it shares a tensor, or any.
    fn target(&mut self, state: &State<'_>, unit: usize) -> Option<u32> {
        let from = state.device[unit];
        if self.random.below(4) > 0 {
            let neighbours = self.problem.neighbours(unit).count();
            if neighbours > 0 {
                let neighbour = self.problem.neighbours(unit).nth(self.random.below(neighbours));
                if let Some(to) = neighbour.map(|neighbour| state.device[neighbour]).filter(|&to| to != from) {
                    return Some(to);
                }
            }
        }
        let to = self.random.below(self.problem.devices()) as u32;
        (to != from).then_some(to)
    }

    /// A unit goes to a device from which another comes.
    fn swap(&mut self, state: &mut State<'_>, unit: usize, to: u32) -> bool {
        let from = state.device[unit];
        let mut other = self.random.below(self.problem.units());
        for _ in 0..2 * self.problem.devices() {
            if state.device[other] == to {
                break;
            }
            other = self.random.below(self.problem.units());
        }
        if state.device[other] != to
            || !self.problem.time(unit, to as usize).is_finite()
            || !state.may_move(other, from)
        {
            return false;
        }
        state.shift(other, from);
        if !state.may_move(unit, to) {
            return false;
        }
        state.shift(unit, to);
        true
    }

    /// A unit goes to a device with what it is connected with on its own: some units, more seldom many.
    fn block(&mut self, state: &mut State<'_>, unit: usize, to: u32) -> bool {
        let from = state.device[unit];
        let most = LARGEST_BLOCK.min(self.problem.units() / 2).max(1);
        let wanted = libm::pow(most as f64, self.random.unit()) as usize + 1;
        let mut block = vec![unit];
        let mut next = 0;
        if !state.may_move(unit, to) {
            return false;
        }
        state.shift(unit, to);
        while next < block.len() && block.len() < wanted {
            for neighbour in self.problem.neighbours(block[next]) {
                if block.len() < wanted && state.device[neighbour] == from && state.may_move(neighbour, to) {
                    state.shift(neighbour, to);
                    block.push(neighbour);
                }
            }
            next += 1;
        }
        true
    }
}
