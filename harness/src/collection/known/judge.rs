//! What a solution is worth, by the rules of its collection.

use std::sync::Arc;

use placebench_algorithms::period::Goal;
use placebench_algorithms::{StopToken, Task, registry};
use placebench_datasets::{Instance, MemoryRule, is_less};

use super::{CollectionInstance, KnownRow, Solution};
use crate::evaluate::{Evaluation, EvaluationError};
use crate::execute::{EXECUTORS, ExecutorName, Replay};
use crate::memory::MemoryUse;
use crate::objective::NamedScheduler;
use crate::request::{Answer, CellRequest, Given, Prepared, named_scheduler, silent};
use crate::results::{CellKey, Row};

/// What judgements name the order that a schedule gives.
const GIVEN_ORDER: &str = "given";

/// A solution that keeps the rules of its collection.
#[derive(Debug)]
pub struct Judged {
    /// What is known of it. Who found it and its digest are not said yet.
    pub row: KnownRow,
    /// The solution as it is kept: the ops in the order in which they start. So one schedule is one solution, whoever
    /// submits it in whatever form.
    pub solution: Solution,
    /// What gave the order: `given` by the solution, or the scheduler under which a placement is best.
    pub order: String,
    /// The evaluation: timeline and metrics.
    pub evaluation: Evaluation,
    /// The rules of memory that it keeps.
    pub kept: Vec<MemoryRule>,
}

impl CollectionInstance {
    /// Judges a solution by the rules of the collection: kinds, colocation and memory are kept, the run is simulated and
    /// validated, and its makespan is no less than the lower bound. A schedule runs in its order. A placement runs under each
    /// scheduler, and the least makespan counts; of equal ones, the first in the list of schedulers. Then ops run in the order
    /// in which they started, until that no longer lets one start earlier: so what is kept is worth what is said.
    ///
    /// # Errors
    /// If it breaks a rule.
    ///
    /// # Complexity
    /// That of the lower bounds and of two simulations or a few more, and of one for each scheduler if no order is given.
    pub fn judge(&self, prepared: &Prepared, solution: &Solution) -> Result<Judged, EvaluationError> {
        let instance = prepared.instance();
        let devices = instance.cluster().device_count();
        let schedulers = match solution.tasks(devices) {
            Some(order) => vec![in_order(order)],
            None => registry::SCHEDULERS.iter().filter_map(|entry| named_scheduler(&entry.name).ok()).collect(),
        };
        let (placer, stop) = (Given(solution.placement.clone()), StopToken::default());
        let judged = |scheduler: &NamedScheduler| {
            let Answer { evaluation, row } = prepared.evaluate(&self.request(instance, &placer, scheduler), &stop);
            evaluation.map(|evaluation| (evaluation, row))
        };
        let better = |best: Outcome, next: Outcome| {
            let makespan =
                |outcome: &Outcome| outcome.as_ref().map_or(f64::INFINITY, |(found, _)| found.metrics.makespan);
            if makespan(&next) < makespan(&best) { next } else { best }
        };
        let (mut evaluation, mut row) =
            schedulers.iter().map(judged).reduce(better).unwrap_or(Err(EvaluationError::NoScheduler))?;
        let order = row.scheduler.clone();
        // What is kept is the order of starts. Where ops take no time, more of them may start early in it than before.
        let found = loop {
            let found = Solution::of_timeline(solution.placement.clone(), &evaluation.timeline, instance);
            let Some(tasks) = found.tasks(devices) else { break found };
            let before = sum_of_starts(&evaluation, instance);
            (evaluation, row) = judged(&in_order(tasks))?;
            if sum_of_starts(&evaluation, instance) >= before {
                break found;
            }
        };
        let makespan = evaluation.metrics.makespan;
        let row = KnownRow {
            graph: self.graph.clone(),
            cluster: self.cluster.clone(),
            seed: self.group.seed,
            network: row.network,
            kinds: row.kinds.name().to_owned(),
            memory: row.memory.unwrap_or_default(),
            makespan,
            period: evaluation.metrics.period,
            time_unit: row.time_unit,
            placer: String::new(),
            lower_bound: row.lower_bound,
            bound: row.bound.unwrap_or_default(),
            optimal: row.lower_bound.is_some_and(|bound| !is_less(bound, makespan)),
            author: String::new(),
            sha256: String::new(),
        };
        let kept = MemoryRule::ALL.into_iter().filter(|&rule| self.keeps(rule, instance, &evaluation)).collect();
        Ok(Judged { row, solution: found, order, evaluation, kept })
    }

    /// Whether an executed placement keeps a rule of memory.
    fn keeps(&self, rule: MemoryRule, instance: &Instance, evaluation: &Evaluation) -> bool {
        // The rule of an instance takes away what the others need to know.
        let Ok(cluster) = self.plan.suite.clusters[self.group.cluster].load(self.group.seed) else { return false };
        let Ok(under) = Instance::with_memory_rule(instance.shared_graph(), cluster, rule) else { return false };
        let memory = MemoryUse::new(&evaluation.placed(instance), &evaluation.timeline);
        let fits = |device| under.peak_limit(device).is_none_or(|limit| memory.peak_bytes(device) <= limit);
        evaluation.decision.placement.check(&under).is_ok() && under.cluster().device_ids().all(fits)
    }

    fn request<'a>(&'a self, instance: &Instance, placer: &'a Given, scheduler: &'a NamedScheduler) -> CellRequest<'a> {
        let (network_name, network) = &self.plan.networks[0];
        let executor = &EXECUTORS[0];
        CellRequest {
            key: CellKey {
                graph: self.graph.clone(),
                cluster: self.cluster.clone(),
                kinds: self.plan.suite.kinds(self.group.graph, self.group.cluster),
                network: network_name.clone(),
                executor: ExecutorName::from(executor.name),
                placer: GIVEN_ORDER.to_owned(),
                scheduler: scheduler.name.to_string(),
                seed: self.group.seed,
                ..CellKey::default()
            },
            spec: None,
            memory: instance.memory_rule(),
            graph: &self.plan.suite.graphs[self.group.graph],
            placer,
            schedulers: std::slice::from_ref(scheduler),
            network: *network,
            goal: Goal::Makespan,
            executor,
            noise: None,
            settings: &self.plan.suite.execute,
            notify: silent(),
        }
    }
}

/// The order as a scheduler.
fn in_order(order: Vec<Vec<Task>>) -> NamedScheduler {
    NamedScheduler { name: GIVEN_ORDER.into(), scheduler: Arc::new(Replay { order }) }
}

/// The starts of all ops, added up: less than before if an op starts earlier and none later.
fn sum_of_starts(evaluation: &Evaluation, instance: &Instance) -> f64 {
    instance.graph().op_ids().map(|op| evaluation.timeline.start(op)).sum()
}

/// What came of a scheduler.
type Outcome = Result<(Evaluation, Row), EvaluationError>;
