//! What search-based placers minimise: the simulated makespan, or the period.

use std::fmt;
use std::sync::Arc;

use placebench_algorithms::period::{Goal, Occupancy, period};
use placebench_algorithms::schedulers::{Pct, Static};
use placebench_algorithms::{Algorithm, Decision, Judgement, Objective, PlaceError, Scheduler, StopToken};
use placebench_datasets::{Cluster, DeviceId, Instance, MemoryRule, PlacedGraph};

use crate::execute::simulate::{NetworkModel, Noise, Simulator};
use crate::execute::{ExecutionError, Executor, Noisy, Order, Replay};
use crate::memory::MemoryUse;
use crate::statistics::mean;
use crate::steady_state::SteadyState;
use crate::timeline::Timeline;

/// A scheduler with its name in tables.
#[derive(Clone)]
pub struct NamedScheduler {
    /// The name, with its parameters as written.
    pub name: Arc<str>,
    /// The scheduler.
    pub scheduler: Arc<dyn Scheduler>,
}

impl fmt::Debug for NamedScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Simulates each decision under one network model with each of some schedulers, and takes the best. Under the memory rule `peak` the
/// peaks of the run count: one that needs more than a device has is worse than any that fits.
///
/// Where the period is minimised, nothing is simulated but under the rule `peak`: then it is the least at which what is in flight
/// fits ([`SteadyState`]).
#[derive(Clone, Debug)]
pub struct SimulatedObjective {
    network: &'static dyn NetworkModel,
    schedulers: Vec<NamedScheduler>,
    names: Vec<Arc<str>>,
    goal: Goal,
    /// By how much costs vary, if the mean over draws is what counts.
    noise: Option<Noise>,
    /// Whether what counts is the simulation in which devices repeat the order of the ops.
    replays_ops: bool,
}

/// Draws of an objective under noise.
const DRAWS: u32 = 30;

/// What they are drawn from, which is no seed of a cell: plans are judged by other draws than they are chosen by.
const DRAWN_FROM: u64 = 0x05ee_d0f0_b1ec_71fe;

impl SimulatedObjective {
    /// For cells of this network model that one of these schedulers executes. `pct` comes first, and is the only one if none is
    /// given; of several that do equally well the first is taken.
    pub fn new(network: &'static dyn NetworkModel, schedulers: &[NamedScheduler]) -> Self {
        let mut schedulers = schedulers.to_vec();
        if schedulers.is_empty() {
            schedulers.push(NamedScheduler { name: Pct::NAME.into(), scheduler: Arc::new(Pct) });
        }
        schedulers.sort_by_key(|scheduler| &*scheduler.name != Pct::NAME);
        let names = schedulers.iter().map(|scheduler| Arc::clone(&scheduler.name)).collect();
        Self { network, schedulers, names, goal: Goal::Makespan, noise: None, replays_ops: false }
    }

    /// The same runs, of which something else is minimised.
    pub fn minimising(self, goal: Goal) -> Self {
        Self { goal, ..self }
    }

    /// The same for executors that repeat the order of the ops, as the simulation with a scheduler has it, and receive a tensor when
    /// an op needs it. Where a receive takes time of its device, that is not what the scheduler did.
    pub fn replaying_ops(self) -> Self {
        Self { replays_ops: true, ..self }
    }

    /// The scheduler that executes a decision: the one that it names, or the first.
    pub fn scheduler_of(&self, decision: &Decision) -> &dyn Scheduler {
        let named = self.schedulers.iter().find(|scheduler| decision.scheduler.as_ref() == Some(&scheduler.name));
        &*named.unwrap_or(&self.schedulers[0]).scheduler
    }
}

impl Objective for SimulatedObjective {
    fn schedulers(&self) -> &[Arc<str>] {
        &self.names
    }

    fn judge(&self, instance: &Instance, decision: &Decision, stop: &StopToken) -> Result<Judgement, PlaceError> {
        // Before work that does not ask: a search judges many placements at once.
        stop.check()?;
        let placed = PlacedGraph::new(instance, &decision.placement);
        let simulator = Simulator::new(self.network);
        let busy = match self.goal {
            Goal::Makespan => None,
            Goal::Period => Some(period(&placed, &*self.network.occupancy(instance.cluster()))),
        };
        if let Some(busy) = busy.filter(|_| instance.memory_rule() != MemoryRule::Peak) {
            return Ok(Judgement::fits(busy));
        }
        let mut best: Option<Judgement> = None;
        let mut failure = None;
        for (number, NamedScheduler { name, scheduler }) in self.schedulers.iter().enumerate() {
            let is_named = decision.scheduler.as_ref().is_none_or(|named| named == name);
            if !is_named || (scheduler.needs_plan() && decision.plan.is_none() && self.schedulers.len() > 1) {
                continue;
            }
            let order = Order { scheduler: &**scheduler, plan: decision.plan.as_ref() };
            let cluster = instance.cluster();
            let replays = self.replays_ops && (cluster.sends_cost() || cluster.receives_cost());
            let run = |simulator: &Simulator| {
                let timeline = simulator.execute(&placed, order, stop)?;
                match replays {
                    true => {
                        let replay = Replay::of_ops(&placed, &timeline);
                        simulator.execute(&placed, Order { scheduler: &replay, plan: None }, stop)
                    }
                    false => Ok(timeline),
                }
            };
            let draws = |noise| Noisy { simulator, noise, seed: DRAWN_FROM }.makespans(run, Timeline::makespan);
            let outcome =
                run(&simulator).and_then(|timeline| Ok((timeline, self.noise.map(draws).transpose()?.and_then(mean))));
            match outcome {
                Ok((timeline, mean)) => {
                    let excess_bytes = excess_bytes(&placed, &timeline);
                    let value = match busy {
                        None => mean.unwrap_or_else(|| timeline.makespan()),
                        Some(busy) if excess_bytes > 0 => busy,
                        Some(busy) => SteadyState::new(&placed, &timeline, busy).period,
                    };
                    let judgement = Judgement { excess_bytes, value, scheduler: number };
                    if best.is_none_or(|best| judgement.compare(&best).is_lt()) {
                        best = Some(judgement);
                    }
                }
                Err(ExecutionError::Stopped { .. }) => return Err(PlaceError::Stopped),
                Err(error) => failure = Some(error.to_string()),
            }
        }
        let none = || format!("no scheduler can execute what was found: {} needs a plan", Static::NAME);
        best.ok_or_else(|| PlaceError::Unsupported(failure.unwrap_or_else(none)))
    }

    fn goal(&self) -> Goal {
        self.goal
    }

    fn for_goal(&self, goal: Goal) -> Option<Arc<dyn Objective>> {
        Some(Arc::new(self.clone().minimising(goal)))
    }

    fn under_noise(&self, variation: f64) -> Option<Arc<dyn Objective>> {
        let noise = format!("op={variation},transfer={variation},draws={DRAWS}").parse().ok()?;
        Some(Arc::new(Self { noise: Some(noise), ..self.clone() }))
    }

    fn occupancy<'c>(&self, cluster: &'c Cluster) -> Option<Box<dyn Occupancy + 'c>> {
        Some(self.network.occupancy(cluster))
    }
}

/// By how much the devices' peaks exceed what they may hold, added up.
fn excess_bytes(placed: &PlacedGraph<'_>, timeline: &Timeline) -> u64 {
    let (instance, cluster) = (placed.instance(), placed.instance().cluster());
    if instance.memory_rule() != MemoryRule::Peak {
        return 0;
    }
    // A peak is at most the sum of the demands, which is known without sorting a timeline.
    let mut demands = vec![0u64; cluster.device_count()];
    for op in instance.graph().op_ids() {
        let demand = &mut demands[placed.device_of(op).index()];
        *demand = demand.saturating_add(instance.graph().demand_bytes(op));
    }
    let beyond =
        |device: DeviceId, bytes: u64| instance.peak_limit(device).map_or(0, |most| bytes.saturating_sub(most));
    if cluster.device_ids().zip(&demands).all(|(device, &bytes)| beyond(device, bytes) == 0) {
        return 0;
    }
    let memory = MemoryUse::new(placed, timeline);
    let excess = cluster.device_ids().map(|device| beyond(device, memory.peak_bytes(device)));
    excess.fold(0, u64::saturating_add)
}
