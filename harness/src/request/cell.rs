//! One request for one cell.

use std::sync::Arc;

use placebench_algorithms::fairness::Assumption;
use placebench_algorithms::period::Goal;
use placebench_algorithms::{Placer, Scheduler, StopToken, registry};
use placebench_datasets::{Instance, MemoryRule, Renumbered};
use placebench_generator::Passes;

use crate::changed::Executed;
use crate::evaluate::{Evaluation, EvaluationError, Evaluator, Placed, Reference};
use crate::execute::simulate::{NetworkModel, Noise};
use crate::execute::{ExecuteSettings, Executor, ExecutorEntry, Notify, OrderMode};
use crate::numbering::{drawn_decision, mixed};
use crate::objective::{NamedScheduler, SimulatedObjective};
use crate::problem::GraphEntry;
use crate::results::{CellKey, Row, Status};

/// All that makes a cell, but for its instance, which cells share: see [`Prepared`](super::Prepared).
///
/// # Example
/// ```
/// use placebench_algorithms::period::Goal;
/// use placebench_algorithms::{StopToken, registry};
/// use placebench_harness::execute::simulate::ContentionFree;
/// use placebench_harness::execute::{EXECUTORS, ExecuteSettings};
/// use placebench_harness::problem::{ClusterEntry, GraphEntry, Problem};
/// use placebench_harness::request::{CellRequest, Prepared, all_schedulers, choose_scheduler, silent};
/// use placebench_harness::results::CellKey;
///
/// let (graph, cluster) = (GraphEntry::named("convnet")?, ClusterEntry::named("gtx1080x4")?);
/// let stop = StopToken::default();
/// let prepared = Prepared::new(Problem::new(&graph, &cluster, 0)?, [&ContentionFree as _], &stop);
/// let heft = registry::placer(&"heft".parse()?)?;
/// let chosen = choose_scheduler("heft", &*heft, None, &all_schedulers()?)?;
/// let request = CellRequest {
///     key: CellKey { graph: graph.label(), placer: "heft".into(), scheduler: chosen.name, ..CellKey::default() },
///     spec: Some("heft"),
///     memory: cluster.memory,
///     graph: &graph,
///     placer: &*heft,
///     schedulers: &chosen.schedulers,
///     network: &ContentionFree,
///     goal: Goal::Makespan,
///     executor: &EXECUTORS[0],
///     noise: None,
///     settings: &ExecuteSettings::default(),
///     notify: silent(),
/// };
/// let row = prepared.evaluate(&request, &stop).row;
/// assert!(row.is_ok() && row.scheduler == "pct" && row.ops == 225);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CellRequest<'a> {
    /// The names under which tables have the cell.
    pub key: CellKey,
    /// The placer in the registry, as `name` or `name(parameter=value)`; `None` for a program, a function or a given placement.
    pub spec: Option<&'a str>,
    /// How memory limits placements.
    pub memory: MemoryRule,
    /// Where the graph comes from, for executors that run its real ops.
    pub graph: &'a GraphEntry,
    /// The placer.
    pub placer: &'a dyn Placer,
    /// The scheduler, or those from which a placer that searches chooses; none for a placer that decides during the run.
    pub schedulers: &'a [NamedScheduler],
    /// The network model: of the simulation, or of the one that gives a measured run its order.
    pub network: &'static dyn NetworkModel,
    /// What a placer that searches minimises.
    pub goal: Goal,
    /// The executor.
    pub executor: &'static ExecutorEntry,
    /// By how much costs vary in a simulation. Placers and schedulers do not know it.
    pub noise: Option<Noise>,
    /// How executors that measure run.
    pub settings: &'a ExecuteSettings,
    /// Hears how an executor that measures goes on.
    pub notify: Notify,
}

/// Hears nothing: for requests that nobody watches.
pub fn silent() -> Notify {
    Arc::new(|_| ())
}

impl CellRequest<'_> {
    /// The row, as far as it is known before the instance is made.
    pub fn blank_row(&self) -> Row {
        let CellKey { suite, graph, cluster, kinds, network, executor, placer, scheduler, repetition, seed, numbering } =
            self.key.clone();
        Row {
            placer_spec: self.spec.filter(|&spec| spec != placer).map(str::to_owned),
            suite,
            graph,
            passes: (!self.graph.passes.is_empty()).then(|| self.graph.passes.to_string()),
            cluster,
            kinds,
            memory: Some(self.memory.name().to_owned()),
            placer,
            scheduler,
            network,
            objective: (self.goal != Goal::Makespan).then(|| self.goal.to_string()),
            executor,
            repetition,
            seed,
            numbering,
            ..Row::default()
        }
    }

    /// What the placer's authors assume; nothing is known of placers that the registry does not have.
    pub(super) fn assumptions(&self) -> &'static [Assumption] {
        let name = self.spec.and_then(|spec| spec.split('(').next()).unwrap_or_default().trim();
        registry::placers().find(|entry| entry.name == name).map_or(&[], |entry| entry.assumes)
    }

    /// Places the ops of the cell's instance, unless the placer does that during the run. Simulated cells that differ only
    /// in the noise share the answer; if the placer does not search, all cells that differ only in how they run, too.
    ///
    /// # Errors
    /// [`EvaluationError::Place`].
    pub fn place(&self, instance: &Instance, stop: &StopToken) -> Result<Placed<'_>, EvaluationError> {
        self.place_in(instance, None, stop)
    }

    /// As [`CellRequest::place`]. `drawn` is the instance under the cell's numbering, where it is known already.
    pub(super) fn place_in(
        &self,
        instance: &Instance,
        drawn: Option<&Arc<Renumbered>>,
        stop: &StopToken,
    ) -> Result<Placed<'_>, EvaluationError> {
        let evaluator = self.evaluator(instance, None, stop);
        let objective = Arc::new(self.objective());
        let passes = self.graph.passes.after_placement();
        self.check(&passes)?;
        let placed = match (self.key.numbering, drawn) {
            (0, _) => evaluator.place_for(self.placer, &objective, None),
            (_, Some(drawn)) => evaluator.place_for(self.placer, &objective, Some(drawn)),
            (numbering, None) => {
                let drawn = Arc::new(Renumbered::draw(instance, mixed(self.key.seed, numbering)));
                evaluator.place_for(self.placer, &objective, Some(&drawn))
            }
        }?;
        if passes.is_empty() { Ok(placed) } else { self.changed(&passes, instance, placed) }
    }

    /// Checks that passes over the placed graph have a placement to change, and a simulation that runs what they make.
    fn check(&self, passes: &Passes) -> Result<(), EvaluationError> {
        let remedy = match passes.is_empty() {
            true => return Ok(()),
            false if self.placer.online().is_some() => "take a placer that decides before the run",
            false if self.executor.measures => "simulate",
            false => return Ok(()),
        };
        Err(EvaluationError::NoPass { passes: passes.to_string(), remedy })
    }

    /// What passes over the placed graph make of a placement. Under a numbering they see the given numbers, and what they make
    /// runs under numbers drawn for it.
    fn changed<'p>(
        &self,
        passes: &Passes,
        instance: &Instance,
        given: Placed<'p>,
    ) -> Result<Placed<'p>, EvaluationError> {
        let Some(decision) = given.decision() else { return Ok(given) };
        decision.placement.check(instance)?;
        let executed = Executed::of(passes, instance, decision)?;
        let numbering = self.key.numbering;
        let drawn = (numbering > 0).then(|| {
            let drawn = Arc::new(Renumbered::draw(&executed.instance, mixed(self.key.seed, numbering)));
            let found = drawn_decision(&drawn, &executed.instance, executed.decision.clone());
            (drawn, found)
        });
        Ok(Placed::Changed { given: Box::new(given), executed, drawn })
    }

    /// Places and executes the cell on an executor that need not be its own, without ratios to reference values.
    ///
    /// # Errors
    /// As [`Evaluator::place`] and [`Evaluator::execute`].
    pub fn evaluate_on(
        &self,
        executor: &dyn Executor,
        instance: &Instance,
        stop: &StopToken,
    ) -> Result<Evaluation, EvaluationError> {
        let placed = self.place(instance, stop)?;
        let (objective, evaluator) = (self.objective(), self.evaluator(instance, None, stop));
        evaluator.execute(&placed, self.scheduler_of(&objective, &placed), executor)
    }

    /// What a search minimises.
    pub(super) fn objective(&self) -> SimulatedObjective {
        let objective = SimulatedObjective::new(self.network, self.schedulers).minimising(self.goal);
        match self.executor.orders_ops && self.settings.order == OrderMode::Replay {
            true => objective.replaying_ops(),
            false => objective,
        }
    }

    /// The scheduler that executes a placement: that of the cell, or the one that the search found best.
    pub(super) fn scheduler_of<'o>(
        &self,
        objective: &'o SimulatedObjective,
        placed: &Placed<'_>,
    ) -> Option<&'o dyn Scheduler> {
        let decision = placed.decision().filter(|_| !self.schedulers.is_empty());
        decision.map(|decision| objective.scheduler_of(decision))
    }

    pub(super) fn evaluator<'e>(
        &self,
        instance: &'e Instance,
        reference: Option<&'e Reference>,
        stop: &'e StopToken,
    ) -> Evaluator<'e> {
        Evaluator { instance, reference, seed: mixed(self.key.seed, self.key.numbering), stop }
    }
}

/// A row of a cell that failed.
pub fn failed(row: Row, status: Status, reason: &str) -> Row {
    Row { status: status.name().to_owned(), error: Some(reason.replace('\n', " ")), ..row }
}
