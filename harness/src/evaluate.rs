//! The one way from an instance to a row: place (or decide online), execute, validate, measure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use placebench_algorithms::bounds::{self, LowerBound};
use placebench_algorithms::placers::SingleDevice;
use placebench_algorithms::schedulers::Pct;
use placebench_algorithms::{
    Algorithm, Decision, ExternalFault, Objective, OnlinePlacer, PlaceContext, PlaceError, Placer, Scheduler, StopToken,
};
use placebench_base::process::peak_rss_bytes;
use placebench_base::significant::{excess_texts, time_text};
use placebench_datasets::{Instance, KindSet, MemoryRule, PlacedGraph, PlacementError, Renumbered, Time, is_less};
use placebench_generator::PassError;

use crate::MeasuredTimeline;
use crate::changed::Executed;
use crate::draws::Draws;
use crate::execute::simulate::{NetworkModel, PREDICTING_MODELS, Simulator};
use crate::execute::{ExecutionError, Executor, OnlineRun, Order, Replay, order_of};
use crate::measurement::Measurement;
use crate::memory::MemoryUse;
use crate::metrics::Metrics;
use crate::numbering;
use crate::objective::SimulatedObjective;
use crate::results::{Predictions, Row, Status};
use crate::timeline::Timeline;
use crate::validator::{self, Demands, Violation};

/// What makespans on an instance are compared with, whatever the placement: computed once for all of them.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The largest lower bound.
    pub bound: LowerBound,
    /// The largest lower bound on the period.
    pub period_bound: LowerBound,
    /// Denominator of the schedule length ratio: the critical path at least cost.
    pub slr_denominator: f64,
    /// Numerator of the speedup: the makespan of the placer `single_device` with its defaults and the scheduler `pct`, in
    /// the instance's time unit. `None` unless [`Reference::with_single_device`] found it.
    pub single_device: Option<Time>,
    /// Devices that at least one op may run on.
    pub usable_devices: usize,
}

impl Reference {
    /// The reference values of an instance that need no run.
    pub fn new(instance: &Instance) -> Self {
        let (cluster, units) = (instance.cluster(), instance.units());
        let kinds = units.ids().fold(KindSet::EMPTY, |kinds, unit| kinds.union(units.kinds(unit)));
        Self {
            bound: bounds::best(instance),
            period_bound: bounds::period(instance),
            slr_denominator: bounds::slr_denominator(instance),
            single_device: None,
            usable_devices: cluster.devices().iter().filter(|device| kinds.contains(device.kind)).count(),
        }
    }

    /// These values, with the makespan of `single_device` on the executor whose makespans are compared with it. It goes the
    /// way of any other placement, with the same kinds, memory rule and network, and is `None` where its row is not `ok`.
    ///
    /// # Complexity
    /// That of placing and executing one placement.
    pub fn with_single_device(self, instance: &Instance, executor: &dyn Executor, stop: &StopToken) -> Self {
        let evaluator = Evaluator { instance, reference: None, seed: 0, stop };
        let run = || {
            let context = PlaceContext { stop: stop.clone(), ..PlaceContext::default() };
            let decision = SingleDevice::with_defaults().place(instance, &context).ok()?;
            let placed = Placed::Before { decision, took: Duration::ZERO };
            evaluator.execute(&placed, Some(&Pct), executor).ok()
        };
        Self { single_device: run().map(|evaluation| evaluation.metrics.makespan), ..self }
    }
}

/// Evaluates placements of one instance.
///
/// # Example
/// ```
/// use placebench_algorithms::{StopToken, registry};
/// use placebench_datasets::{Cluster, GraphBuilder, Instance, Kind, Link, OpSpec};
/// use placebench_harness::evaluate::{Evaluator, Reference};
/// use placebench_harness::execute::simulate::{ContentionFree, Simulator};
///
/// let mut builder = GraphBuilder::default();
/// builder.add_op(OpSpec::cost(30.0), &[]);
/// let cluster = Cluster::uniform(2, Kind::Cpu, 10.0, Link { rate: 25.0, latency: 0.0 })?;
/// let instance = Instance::new(builder.build()?, cluster)?;
/// let (reference, stop) = (Reference::new(&instance), StopToken::default());
/// let evaluator = Evaluator { instance: &instance, reference: Some(&reference), seed: 0, stop: &stop };
/// let (heft, pct) = (registry::placer(&"heft".parse()?)?, registry::scheduler(&"pct".parse()?)?);
/// let placed = evaluator.place(&*heft, &ContentionFree)?;
/// let evaluation = evaluator.execute(&placed, Some(&*pct), &Simulator::new(&ContentionFree))?;
/// assert_eq!((evaluation.metrics.makespan, evaluation.slr), (3.0, Some(1.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Evaluator<'a> {
    /// The problem.
    pub instance: &'a Instance,
    /// What makespans are compared with; without it there are no ratios, and no check against the lower bound.
    pub reference: Option<&'a Reference>,
    /// Seed of the placer's randomness.
    pub seed: u64,
    /// Ends placing and executing early.
    pub stop: &'a StopToken,
}

/// What a placer answered before the run.
pub enum Placed<'p> {
    /// It placed all ops.
    Before {
        /// What it decided.
        decision: Decision,
        /// How long that took.
        took: Duration,
    },
    /// It placed all ops, and saw ops and devices under drawn numbers, under which the run goes on: numbers decide ties of
    /// schedulers and networks, too.
    BeforeRenumbered {
        /// The instance under the drawn numbers.
        drawn: Arc<Renumbered>,
        /// What it decided, in the drawn numbers.
        found: Decision,
        /// That in the given numbers.
        decision: Decision,
        /// How long that took.
        took: Duration,
    },
    /// It chooses devices during the run.
    During(&'p dyn OnlinePlacer),
    /// It chooses devices during the run, and sees ops and devices under drawn numbers.
    DuringRenumbered(&'p dyn OnlinePlacer, Arc<Renumbered>),
    /// It placed all ops, and passes changed what it placed.
    Changed {
        /// What it answered.
        given: Box<Self>,
        /// What is executed.
        executed: Arc<Executed>,
        /// What is executed under drawn numbers, if under such.
        drawn: Option<(Arc<Renumbered>, Decision)>,
    },
}

impl Placed<'_> {
    /// What was decided before the run, in the given numbers.
    pub fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Before { decision, .. } | Self::BeforeRenumbered { decision, .. } => Some(decision),
            Self::Changed { given, .. } => given.decision(),
            Self::During(_) | Self::DuringRenumbered(..) => None,
        }
    }

    /// How long placing took, if that was before the run.
    pub(crate) fn took(&self) -> Option<Duration> {
        match self {
            Self::Before { took, .. } | Self::BeforeRenumbered { took, .. } => Some(*took),
            Self::Changed { given, .. } => given.took(),
            Self::During(_) | Self::DuringRenumbered(..) => None,
        }
    }
}

/// A placement that passes its check.
struct Prepared<'d> {
    graph: PlacedGraph<'d>,
    decision: &'d Decision,
    /// How long placing took.
    took: Duration,
    /// What is executed, if under drawn numbers, and the decision in these.
    drawn: Option<(&'d Renumbered, PlacedGraph<'d>, &'d Decision)>,
    /// What was placed, and what passes made of it.
    changed: Option<(&'d Placed<'d>, &'d Arc<Executed>)>,
}

/// A placement that was executed, found valid, and measured.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The placement, with what the placer said about it.
    pub decision: Decision,
    /// What was executed, if passes changed what was placed; the timeline is of that. See [`Evaluation::placed`].
    pub executed: Option<Arc<Executed>>,
    /// When everything happened.
    pub timeline: Timeline,
    /// What the timeline is worth. The makespan of a measured run is the median of its repetitions, that of a run under noise the
    /// mean of its draws.
    pub metrics: Metrics,
    /// What the network models predict for a measured placement and order; empty for a simulated one.
    pub predictions: Predictions,
    /// Schedule length ratio; `None` without a reference, or if its denominator is 0.
    pub slr: Option<f64>,
    /// Makespan / lower bound; `None` without a reference, if the bound is 0, or if passes changed what was placed: a bound of the
    /// graph before is none of what was executed.
    pub gap: Option<f64>,
    /// [`Reference::single_device`] / makespan; `None` if that is unknown, or the makespan is 0.
    pub speedup: Option<f64>,
    /// Speedup / [`Reference::usable_devices`].
    pub efficiency: Option<f64>,
    /// How long placing took; for an online placer the whole run.
    pub placed_in: Duration,
    /// How long executing took; `None` for an online placer.
    pub executed_in: Option<Duration>,
}

/// Why there is no evaluation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvaluationError {
    /// The placer gave no placement.
    #[error("{error}")]
    Place {
        /// Why.
        error: PlaceError,
        /// How long it took.
        took: Duration,
    },
    /// The placer was stopped at its own limit.
    #[error("not placed within {} s of processor time", .limit.as_secs_f64())]
    NotPlaced {
        /// The limit.
        limit: Duration,
    },
    /// The placement is fixed before the run, and nothing says in which order devices execute their ops.
    #[error("the placer decides before the run: give a scheduler, such as pct")]
    NoScheduler,
    /// The placement breaks a constraint.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// A pass over the placed graph refuses it.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// There are passes over the placed graph, and nothing is placed before the run, or the run is not simulated.
    #[error(
        "passes over the placed graph ({passes}) need a placement before the run and a simulation: leave them out, or {remedy}"
    )]
    NoPass {
        /// The passes.
        passes: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The run failed.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    /// The run needs more memory than a device has, which the rule `peak` refuses.
    #[error(
        "device '{device}' held {} at {}, more than its memory of {}: the memory rule peak refuses the run; use more devices or \
         devices with more memory, or choose the rule unlimited",
        excess_texts(*.bytes, *.memory_bytes).0,
        time_text(*.time, .time_unit),
        excess_texts(*.bytes, *.memory_bytes).1
    )]
    OutOfMemory {
        /// The first instant of the device's peak.
        time: Time,
        /// The unit of `time`.
        time_unit: String,
        /// The first device whose peak is too high.
        device: String,
        /// The peak in bytes.
        bytes: u64,
        /// The device's memory in bytes.
        memory_bytes: u64,
    },
    /// What passes made of the placement needs more memory than there is.
    #[error("{error}; {passes} changed what was placed: {}", match *.fits_without {
        true => "without, the placement fits",
        false => "without, it does not fit either",
    })]
    Changed {
        /// What does not fit.
        error: Box<Self>,
        /// The passes.
        passes: String,
        /// Whether the placement as it was fits.
        fits_without: bool,
    },
    /// The timeline breaks a rule.
    #[error(transparent)]
    Violation(Violation),
    /// The makespan is below a proven bound, so one of the two is wrong.
    #[error("makespan {makespan} is below the lower bound {} ({})", .bound.value, .bound.name)]
    BelowBound {
        /// The makespan.
        makespan: f64,
        /// The bound.
        bound: LowerBound,
    },
}

impl EvaluationError {
    /// Whether the stop token ended it.
    pub fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Place { error: PlaceError::Stopped, .. }
                | Self::Execution(
                    ExecutionError::Stopped { .. }
                        | ExecutionError::Interrupted { .. }
                        | ExecutionError::Place(PlaceError::Stopped)
                )
        )
    }

    /// The status of the row.
    pub fn status(&self) -> Status {
        match self {
            Self::Place { error, .. } | Self::Execution(ExecutionError::Place(error)) => status_of(error),
            Self::NotPlaced { .. }
            | Self::Execution(ExecutionError::Stopped { .. } | ExecutionError::Interrupted { .. }) => Status::TimedOut,
            Self::OutOfMemory { .. } | Self::Changed { .. } => Status::Infeasible,
            Self::Execution(_) | Self::NoScheduler | Self::Pass(_) | Self::NoPass { .. } => Status::Error,
            Self::Placement(_) | Self::Violation(_) | Self::BelowBound { .. } => Status::Invalid,
        }
    }
}

fn status_of(error: &PlaceError) -> Status {
    match error {
        PlaceError::Infeasible { .. } => Status::Infeasible,
        PlaceError::Stopped => Status::TimedOut,
        PlaceError::Unsupported(_) => Status::Error,
        PlaceError::External { fault, .. } => match fault {
            ExternalFault::Failed => Status::Error,
            ExternalFault::Infeasible => Status::Infeasible,
            ExternalFault::TimedOut => Status::TimedOut,
            ExternalFault::Invalid => Status::Invalid,
            ExternalFault::Interrupted => Status::Interrupted,
        },
    }
}

impl Evaluator<'_> {
    /// Places all ops, unless the placer does that during the run. A placer that searches minimises the makespan simulated
    /// under `network` with the scheduler `pct`.
    ///
    /// # Errors
    /// [`EvaluationError::Place`].
    pub fn place<'p>(
        &self,
        placer: &'p dyn Placer,
        network: &'static dyn NetworkModel,
    ) -> Result<Placed<'p>, EvaluationError> {
        self.place_for(placer, &Arc::new(SimulatedObjective::new(network, &[])), None)
    }

    /// As [`Evaluator::place`], for a search that minimises this objective. With `drawn`, the placer sees ops and devices under
    /// drawn numbers; one that reads the order of ops sees the given ones, and its placement runs under the drawn ones.
    ///
    /// # Errors
    /// [`EvaluationError::Place`].
    pub fn place_for<'p>(
        &self,
        placer: &'p dyn Placer,
        objective: &Arc<SimulatedObjective>,
        drawn: Option<&Arc<Renumbered>>,
    ) -> Result<Placed<'p>, EvaluationError> {
        if let Some(online) = placer.online() {
            return Ok(match drawn {
                Some(drawn) => Placed::DuringRenumbered(online, Arc::clone(drawn)),
                None => Placed::During(online),
            });
        }
        let Some(drawn) = drawn else {
            let (decision, took) = self.decide(placer, objective, self.instance)?;
            return Ok(Placed::Before { decision, took });
        };
        if placer.reads_order() {
            let (decision, took) = self.decide(placer, objective, self.instance)?;
            let found = numbering::drawn_decision(drawn, self.instance, decision.clone());
            return Ok(Placed::BeforeRenumbered { drawn: Arc::clone(drawn), found, decision, took });
        }
        let (found, took) = self.decide(placer, objective, drawn.instance())?;
        let decision = numbering::given_decision(drawn, self.instance, found.clone());
        Ok(Placed::BeforeRenumbered { drawn: Arc::clone(drawn), found, decision, took })
    }

    fn decide(
        &self,
        placer: &dyn Placer,
        objective: &Arc<SimulatedObjective>,
        instance: &Instance,
    ) -> Result<(Decision, Duration), EvaluationError> {
        let objective = Arc::clone(objective) as Arc<dyn Objective>;
        let context = PlaceContext { seed: self.seed, stop: self.stop.clone(), objective: Some(objective) };
        let started = Instant::now();
        let decision = placer.place(instance, &context);
        let took = started.elapsed();
        match decision {
            Ok(decision) => Ok((decision, took)),
            Err(error) => Err(EvaluationError::Place { error, took }),
        }
    }

    /// Executes what was placed, validates the timeline and measures it. Without a scheduler only an online placer can run.
    ///
    /// # Errors
    /// If the placement or the timeline is refused, or the run fails.
    pub fn execute(
        &self,
        placed: &Placed<'_>,
        scheduler: Option<&dyn Scheduler>,
        executor: &dyn Executor,
    ) -> Result<Evaluation, EvaluationError> {
        match placed {
            Placed::Before { .. } | Placed::BeforeRenumbered { .. } | Placed::Changed { .. } => {
                self.execute_all(&[(placed, scheduler)], executor).remove(0)
            }
            Placed::During(online) => {
                let started = Instant::now();
                let run = executor.execute_online(self.instance, *online, self.stop)?;
                self.measure_online(run, started.elapsed(), executor)
            }
            Placed::DuringRenumbered(online, drawn) => {
                let started = Instant::now();
                let run = executor.execute_online(drawn.instance(), *online, self.stop)?;
                let placed_in = started.elapsed();
                self.measure_online(numbering::given_run(drawn, self.instance, run), placed_in, executor)
            }
        }
    }

    fn measure_online(
        &self,
        run: OnlineRun,
        placed_in: Duration,
        executor: &dyn Executor,
    ) -> Result<Evaluation, EvaluationError> {
        let OnlineRun { placement, timeline } = run;
        placement.check(self.instance)?;
        let graph = PlacedGraph::new(self.instance, &placement);
        let decision = Decision::placement(placement.clone());
        Ok(Evaluation { placed_in, ..self.measure(&graph, timeline, decision, executor)? })
    }

    /// Executes several placements together ([`Executor::execute_all`]), validates their timelines and measures them. One
    /// answer for each, in order, in the given numbers. A placer that decides during the run cannot take part.
    pub fn execute_all(
        &self,
        placed: &[(&Placed<'_>, Option<&dyn Scheduler>)],
        executor: &dyn Executor,
    ) -> Vec<Result<Evaluation, EvaluationError>> {
        let prepared: Vec<_> = placed.iter().map(|&(placed, scheduler)| self.prepared(placed, scheduler)).collect();
        let orders = prepared.iter().zip(placed).filter_map(|(prepared, &(_, scheduler))| {
            let prepared = prepared.as_ref().ok()?;
            let (graph, decision) = match (&prepared.drawn, prepared.changed) {
                (Some((_, graph, found)), _) => (graph, *found),
                (None, Some((_, executed))) => (&prepared.graph, &executed.decision),
                (None, None) => (&prepared.graph, prepared.decision),
            };
            Some((graph, Order { scheduler: scheduler?, plan: decision.plan.as_ref() }))
        });
        let orders: Vec<_> = orders.collect();
        let started = Instant::now();
        let mut timelines = executor.execute_all(&orders, self.stop).into_iter();
        let executed_in = started.elapsed() / orders.len().max(1) as u32;
        let evaluation = |(prepared, scheduler): (Result<Prepared<'_>, EvaluationError>, Option<&dyn Scheduler>)| {
            let Prepared { graph, decision, took, drawn, changed } = prepared?;
            let mut timeline = timelines.next().unwrap_or(Err(ExecutionError::NotOnline))?;
            if let Some((drawn, _, found)) = drawn {
                let run = OnlineRun { placement: found.placement.clone(), timeline };
                timeline = numbering::given_run(drawn, graph.instance(), run).timeline;
            }
            let executed = changed.map(|(given, executed)| {
                let before = self.execute_all(&[(given, scheduler)], executor).remove(0).ok();
                let before = before.map(|evaluation| Box::new(evaluation.metrics));
                Arc::new(Executed { before, ..Executed::clone(executed) })
            });
            let evaluation =
                self.measure(&graph, timeline, decision.clone(), executor).map_err(|error| match &executed {
                    Some(executed) if error.status() == Status::Infeasible => EvaluationError::Changed {
                        error: Box::new(error),
                        passes: executed.passes.to_string(),
                        fits_without: executed.before.is_some(),
                    },
                    _ => error,
                })?;
            let gap = evaluation.gap.filter(|_| executed.is_none());
            Ok(Evaluation { placed_in: took, executed_in: Some(executed_in), executed, gap, ..evaluation })
        };
        let schedulers = placed.iter().map(|&(_, scheduler)| scheduler);
        prepared.into_iter().zip(schedulers).map(evaluation).collect()
    }

    /// What an executor gets of a placement that passes its check.
    fn prepared<'d>(
        &'d self,
        placed: &'d Placed<'_>,
        scheduler: Option<&dyn Scheduler>,
    ) -> Result<Prepared<'d>, EvaluationError> {
        let (instance, run, drawn) = match placed {
            Placed::Before { decision, .. } => (self.instance, decision, None),
            Placed::BeforeRenumbered { drawn, found, decision, .. } => {
                (self.instance, decision, Some((&**drawn, found)))
            }
            Placed::Changed { executed, drawn, .. } => {
                let drawn = drawn.as_ref().map(|(drawn, found)| (&**drawn, found));
                (&executed.instance, &executed.decision, drawn)
            }
            Placed::During(_) | Placed::DuringRenumbered(..) => return Err(ExecutionError::NotOnline.into()),
        };
        let changed = match placed {
            Placed::Changed { given, executed, .. } => Some((&**given, executed)),
            _ => None,
        };
        run.placement.check(instance).map_err(|error| match changed {
            // What was placed fits: that was checked before passes changed it.
            Some((_, executed)) => EvaluationError::Changed {
                error: Box::new(error.into()),
                passes: executed.passes.to_string(),
                fits_without: true,
            },
            None => error.into(),
        })?;
        scheduler.ok_or(EvaluationError::NoScheduler)?;
        let graph = PlacedGraph::new(instance, &run.placement);
        let drawn = drawn.map(|(drawn, found)| (drawn, PlacedGraph::new(drawn.instance(), &found.placement), found));
        let decision = placed.decision().unwrap_or(run);
        Ok(Prepared { graph, decision, took: placed.took().unwrap_or_default(), drawn, changed })
    }

    /// What a violation means: under the rule `peak` nobody but the run can know that memory is short, so that this is no
    /// fault of the timeline.
    fn refusal(instance: &Instance, violation: Violation) -> EvaluationError {
        match violation {
            Violation::OutOfMemory { time, device, bytes, memory_bytes }
                if instance.memory_rule() == MemoryRule::Peak =>
            {
                let time_unit = instance.time_unit().to_owned();
                EvaluationError::OutOfMemory { time, time_unit, device, bytes, memory_bytes }
            }
            violation => EvaluationError::Violation(violation),
        }
    }

    /// The makespans that the network models predict for the placement and the order of a measured timeline.
    fn predict(&self, placed: &PlacedGraph<'_>, measured: &Timeline) -> Result<Vec<Time>, ExecutionError> {
        let replay = Replay { order: order_of(placed, measured) };
        let order = Order { scheduler: &replay, plan: None };
        let makespan = |&network| Ok(Simulator::new(network).execute(placed, order, self.stop)?.makespan());
        PREDICTING_MODELS.iter().map(makespan).collect()
    }

    fn measure(
        &self,
        placed: &PlacedGraph<'_>,
        timeline: Timeline,
        decision: Decision,
        executor: &dyn Executor,
    ) -> Result<Evaluation, EvaluationError> {
        let instance = placed.instance();
        validator::validate(instance, placed.placement(), &timeline.records(placed), executor.demands())
            .map_err(|violation| Self::refusal(instance, violation))?;
        let memory = MemoryUse::new(placed, &timeline);
        let mut metrics = Metrics::new(placed, &timeline, &memory, executor.network().map(|network| network as _));
        let mut predictions = Predictions::default();
        if let Some(measurement) = timeline.measurement() {
            metrics.makespan = measurement.median();
            predictions = Predictions::of(&self.predict(placed, &timeline)?, metrics.makespan);
        }
        if let Some(draws) = timeline.draws() {
            metrics.makespan = draws.mean();
        }
        let makespan = metrics.makespan;
        // What is measured or drawn may beat a bound that follows from the costs: they are what is in question. The bound of a graph is
        // none of what passes make of it.
        let is_changed = decision.placement.devices().len() != placed.placement().devices().len();
        if let Some(&Reference { bound, .. }) = self.reference
            && executor.demands() != Demands::Order
            && !is_changed
            && is_less(makespan, bound.value)
        {
            return Err(EvaluationError::BelowBound { makespan, bound });
        }
        let ratio = |denominator: fn(&Reference) -> f64| {
            self.reference.map(denominator).filter(|&value| value > 0.0).map(|value| makespan / value)
        };
        let single_device = self.reference.and_then(|reference| reference.single_device);
        let speedup = single_device.filter(|_| makespan > 0.0).map(|single| single / makespan);
        let usable_devices = self.reference.map_or(0, |reference| reference.usable_devices);
        Ok(Evaluation {
            decision,
            executed: None,
            timeline,
            metrics,
            predictions,
            slr: ratio(|reference| reference.slr_denominator),
            gap: ratio(|reference| reference.bound.value),
            speedup,
            efficiency: speedup.map(|speedup| speedup / usable_devices as f64),
            placed_in: Duration::ZERO,
            executed_in: None,
        })
    }
}

impl Evaluation {
    /// The placed graph that was executed, whose times the timeline has: what passes made of the placement, if there were any,
    /// else the placement on its instance.
    pub fn placed<'a>(&'a self, instance: &'a Instance) -> PlacedGraph<'a> {
        match &self.executed {
            Some(executed) => PlacedGraph::new(&executed.instance, executed.placement()),
            None => PlacedGraph::new(instance, &self.decision.placement),
        }
    }

    /// A row with the outcome filled in.
    pub fn row(&self, blank: Row) -> Row {
        let metrics = &self.metrics;
        let measurement = self.timeline.measurement();
        let draws = self.timeline.draws();
        let halves = measurement.and_then(Measurement::halves).or_else(|| draws.and_then(Draws::halves));
        let kept = MeasuredTimeline::of(blank.key(), &self.decision.placement, &self.timeline);
        Row {
            timeline: kept.map(Box::new),
            status: Status::Ok.name().to_owned(),
            makespan: Some(metrics.makespan),
            makespan_least: measurement.map(Measurement::least).or(draws.map(Draws::least)),
            makespan_largest: measurement.map(Measurement::largest).or(draws.map(Draws::largest)),
            makespan_p95: draws.map(Draws::percentile_95),
            stretch: draws.and_then(Draws::stretch),
            makespan_odd: halves.map(|[odd, _]| odd),
            makespan_even: halves.map(|[_, even]| even),
            time_scale: measurement.map(|measurement| measurement.time_scale),
            hardware: measurement.map(|measurement| measurement.hardware.clone()),
            execution: measurement.map(|measurement| measurement.execution.clone()),
            other_load: measurement.and_then(|measurement| measurement.other_load),
            warm_ups: measurement.map(|measurement| u64::from(measurement.warm_ups)),
            repetitions: measurement
                .map(|measurement| measurement.makespans.len() as u64)
                .or(draws.map(|draws| draws.makespans.len() as u64)),
            predictions: self.predictions.clone(),
            slr: self.slr,
            gap: self.gap,
            speedup: self.speedup,
            efficiency: self.efficiency,
            planned_makespan: self.decision.plan.as_ref().map(|plan| plan.makespan),
            repaired: self.decision.repaired,
            period: metrics.period,
            bottleneck: metrics.bottleneck.clone(),
            in_flight_memory_bytes: metrics.in_flight.as_ref().map(MemoryUse::max_peak_bytes),
            traffic_bytes: Some(metrics.traffic_bytes),
            cut_bytes: Some(metrics.cut_bytes),
            transfers: Some(metrics.transfers),
            cut_edges: Some(metrics.cut_edges),
            load_imbalance: metrics.load_imbalance,
            utilization: metrics.utilization,
            idle_time: Some(metrics.idle_time),
            peak_memory_bytes: Some(metrics.peak_memory_bytes),
            devices_used: Some(metrics.devices_used),
            accelerators_used: metrics.accelerators.map(|load| load.used),
            accelerators_loaded: metrics.accelerators.map(|load| load.loaded),
            accelerator_utilization: metrics.accelerators.map(|load| load.utilization),
            busiest_accelerator: metrics.accelerators.and_then(|load| load.busiest_share),
            executable_mean: metrics.executable_mean,
            place_seconds: Some(self.placed_in.as_secs_f64()),
            simulate_seconds: self.executed_in.map(|took| took.as_secs_f64()),
            peak_rss_bytes: peak_rss_bytes(),
            ..blank
        }
    }
}
