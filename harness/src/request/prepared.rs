//! What the cells of an instance share, and their answers.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use placebench_algorithms::StopToken;
use placebench_algorithms::fairness::{Assumption, broken_assumptions};
use placebench_datasets::{Instance, Renumbered, Time};

use super::cell::{CellRequest, failed};
use super::scheduler::CHOSEN;
use crate::evaluate::{Evaluation, EvaluationError, Placed, Reference};
use crate::execute::simulate::{NetworkModel, Simulator};
use crate::execute::{ExecutionError, Executor, Setup};
use crate::numbering::mixed;
use crate::problem::Problem;
use crate::results::Row;

/// An instance with what its cells are judged by.
#[derive(Clone)]
pub struct Prepared {
    instance: Instance,
    reference: Reference,
    /// The makespan of `single_device` under each network model that was asked for.
    single_device: Vec<(&'static str, Option<Time>)>,
    /// What placers' authors may assume and this instance breaks.
    broken: Vec<Assumption>,
    /// The instance under the numberings from 1 on, each drawn when it is needed first.
    numberings: Arc<[OnceLock<Arc<Renumbered>>]>,
    /// What the numbers are drawn from.
    seed: u64,
}

/// What [`CellRequest::place`] answers.
type PlacedOrNot<'p> = Result<Placed<'p>, EvaluationError>;

/// What came of a request.
pub struct Answer {
    /// The placement that was executed and measured, or why there is none.
    pub evaluation: Result<Evaluation, EvaluationError>,
    /// The same as a row; a failure is one, too.
    pub row: Row,
}

impl Answer {
    /// Whether the stop token ended it.
    pub fn is_stopped(&self) -> bool {
        self.evaluation.as_ref().is_err_and(EvaluationError::is_stop)
    }
}

impl Prepared {
    /// A problem for cells under these network models. Cells under others have no speedup.
    ///
    /// # Complexity
    /// That of the lower bounds, and of simulating one placement under each network model.
    pub fn new(
        problem: Problem,
        networks: impl IntoIterator<Item = &'static dyn NetworkModel>,
        stop: &StopToken,
    ) -> Self {
        let instance = problem.instance;
        let reference = Reference::new(&instance);
        let makespan = |network: &'static dyn NetworkModel| {
            reference.clone().with_single_device(&instance, &Simulator::new(network), stop).single_device
        };
        Self {
            single_device: networks.into_iter().map(|network| (network.name(), makespan(network))).collect(),
            broken: broken_assumptions(&Assumption::ALL, &instance),
            instance,
            reference,
            numberings: Arc::new([]),
            seed: 0,
        }
    }

    /// The same for cells of a repetition with this seed, that share the instances of this many numberings.
    pub fn with_numberings(self, numberings: u32, seed: u64) -> Self {
        Self { numberings: (1..numberings).map(|_| OnceLock::new()).collect(), seed, ..self }
    }

    /// Places the ops of a cell, as [`CellRequest::place`].
    ///
    /// # Errors
    /// [`EvaluationError::Place`].
    pub fn place<'p>(&self, request: &'p CellRequest<'_>, stop: &StopToken) -> Result<Placed<'p>, EvaluationError> {
        let numbering = request.key.numbering;
        let shared = numbering.checked_sub(1).and_then(|index| self.numberings.get(index as usize));
        let shared = shared.filter(|_| self.seed == request.key.seed);
        let draw = || Arc::new(Renumbered::draw(&self.instance, mixed(self.seed, numbering)));
        request.place_in(&self.instance, shared.map(|shared| shared.get_or_init(draw)), stop)
    }

    /// The instance.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// What makespans of a cell are compared with. A simulated makespan is no measure for a measured one, nor for one under noise.
    fn reference(&self, request: &CellRequest<'_>) -> Reference {
        let of_network = self.single_device.iter().find(|(network, _)| *network == request.network.name());
        let single_device = of_network
            .filter(|_| !request.executor.measures && request.noise.is_none())
            .and_then(|(_, makespan)| *makespan);
        Reference { single_device, ..self.reference.clone() }
    }

    /// The row of a cell before it runs.
    pub fn blank_row(&self, request: &CellRequest<'_>) -> Row {
        let assumed = request.assumptions().iter().filter(|assumption| self.broken.contains(assumption));
        let assumed: Vec<&str> = assumed.map(|assumption| assumption.name()).collect();
        // A bound of the graph that is placed is none of what passes make of it then.
        let is_bounded = request.graph.passes.after_placement().is_empty();
        Row {
            assumptions_broken: (!assumed.is_empty()).then(|| assumed.join(", ")),
            devices: self.instance.cluster().device_count() as u32,
            ops: self.instance.graph().op_count() as u64,
            edges: self.instance.graph().edge_count() as u64,
            time_unit: self.instance.time_unit().to_owned(),
            lower_bound: is_bounded.then_some(self.reference.bound.value),
            period_bound: is_bounded.then_some(self.reference.period_bound.value),
            bound: is_bounded.then(|| self.reference.bound.name.to_owned()),
            ..request.blank_row()
        }
    }

    /// Places, executes and judges a cell. An executor that cannot be made says so before the placer runs.
    pub fn evaluate(&self, request: &CellRequest<'_>, stop: &StopToken) -> Answer {
        match self.executor(request) {
            Ok(executor) => self.answer_on(&*executor, request, &self.place(request, stop), stop),
            Err(error) => self.answered(request, None, Err(error)),
        }
    }

    /// Executes and judges what was placed for a cell ([`CellRequest::place`]).
    pub fn answer(&self, request: &CellRequest<'_>, placed: &PlacedOrNot<'_>, stop: &StopToken) -> Answer {
        match self.executor(request) {
            Ok(executor) => self.answer_on(&*executor, request, placed, stop),
            Err(error) => self.answered(request, Some(placed), Err(error)),
        }
    }

    fn answer_on(
        &self,
        executor: &dyn Executor,
        request: &CellRequest<'_>,
        placed: &PlacedOrNot<'_>,
        stop: &StopToken,
    ) -> Answer {
        let reference = self.reference(request);
        let evaluator = request.evaluator(&self.instance, Some(&reference), stop);
        let found = match placed {
            Ok(placed) => {
                let objective = request.objective();
                evaluator.execute(placed, request.scheduler_of(&objective, placed), executor)
            }
            Err(error) => Err(error.clone()),
        };
        self.answered(request, Some(placed), found)
    }

    /// Answers requests of one executor, network model and seed together, so that their placements can take turns. Each placer
    /// has this limit.
    pub fn answer_in_turns(
        &self,
        requests: &[CellRequest<'_>],
        limit: Option<Duration>,
        stop: &StopToken,
    ) -> Vec<Answer> {
        let Some(first) = requests.first() else { return Vec::new() };
        let place = |request| {
            let Some(limit) = limit else { return self.place(request, stop) };
            match self.place(request, &stop.within(limit)) {
                Err(error) if error.is_stop() && !stop.is_stopped() => Err(EvaluationError::NotPlaced { limit }),
                placed => placed,
            }
        };
        let placed: Vec<_> = requests.iter().map(place).collect();
        let objectives: Vec<_> = requests.iter().map(CellRequest::objective).collect();
        let runs = placed.iter().zip(requests).zip(&objectives);
        let runs: Vec<_> = runs
            .filter_map(|((placed, request), objective)| {
                let placed = placed.as_ref().ok()?;
                Some((placed, request.scheduler_of(objective, placed)))
            })
            .collect();
        let reference = self.reference(first);
        let mut found = match self.executor(first) {
            Ok(executor) => first.evaluator(&self.instance, Some(&reference), stop).execute_all(&runs, &*executor),
            Err(error) => vec![Err(error); runs.len()],
        }
        .into_iter();
        let answer = |(request, placed): (&CellRequest<'_>, &PlacedOrNot<'_>)| {
            let found = match placed {
                Ok(_) => found.next().unwrap_or(Err(ExecutionError::NotOnline.into())),
                Err(error) => Err(error.clone()),
            };
            self.answered(request, Some(placed), found)
        };
        requests.iter().zip(&placed).map(answer).collect()
    }

    fn executor(&self, request: &CellRequest<'_>) -> Result<Box<dyn Executor>, EvaluationError> {
        let setup = Setup {
            network: request.network,
            noise: request.noise,
            seed: request.key.seed,
            settings: request.settings,
            graph: request.graph,
            time_unit: self.instance.time_unit(),
            notify: request.notify.clone(),
        };
        let failed = |reason| ExecutionError::Failed { executor: request.executor.name, reason }.into();
        (request.executor.make)(&setup).map_err(failed)
    }

    fn answered(
        &self,
        request: &CellRequest<'_>,
        placed: Option<&PlacedOrNot<'_>>,
        evaluation: Result<Evaluation, EvaluationError>,
    ) -> Answer {
        let blank = self.blank_row(request);
        let row = match &evaluation {
            Ok(evaluation) => {
                let chosen = evaluation.decision.scheduler.as_deref().filter(|_| blank.scheduler == CHOSEN);
                Row { chosen_scheduler: chosen.map(str::to_owned), ..evaluation.row(blank) }
            }
            Err(error) => {
                let took = match placed {
                    Some(Ok(placed)) => placed.took(),
                    Some(Err(EvaluationError::Place { took, .. })) => Some(*took),
                    _ => None,
                };
                let took = took.map(|took| took.as_secs_f64());
                // Numbers in the reason are those that the placer saw.
                let reason = match request.key.numbering {
                    numbering
                        if numbering > 0 && matches!(error, EvaluationError::Place { .. }) && !error.is_stop() =>
                    {
                        format!("numbering {numbering}: {error}")
                    }
                    _ => error.to_string(),
                };
                failed(Row { place_seconds: took, ..blank }, error.status(), &reason)
            }
        };
        Answer { evaluation, row }
    }
}
