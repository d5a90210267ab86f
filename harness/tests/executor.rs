//! An executor whose clocks are not exact: the validator holds it to the laws of order alone.

use std::time::Duration;

use placebench_algorithms::schedulers::Fifo;
use placebench_algorithms::{Decision, StopToken, registry};
use placebench_datasets::{PlacedGraph, Time};
use placebench_harness::evaluate::{EvaluationError, Evaluator, Placed, Reference};
use placebench_harness::execute::simulate::Simulator;
use placebench_harness::execute::{ExecutionError, Executor, Order};
use placebench_harness::timeline::{Interval, Timeline};
use placebench_harness::validator::{Demands, Violation, validate};
use proptest::prelude::*;

use crate::support::random::{PLAIN, instance, shapes};

/// Replays simulated runs by a clock that goes now faster, now slower.
struct Jittery;

impl Executor for Jittery {
    fn demands(&self) -> Demands {
        Demands::Order
    }

    fn execute(
        &self,
        placed: &PlacedGraph<'_>,
        order: Order<'_>,
        stop: &StopToken,
    ) -> Result<Timeline, ExecutionError> {
        let simulated = Simulator::default().execute(placed, order, stop)?;
        // It never runs backwards: the slope is 1.1 at least.
        let clock = |time: Time| 1.4 * time + 0.3 * time.sin();
        let measured = |at: Interval| Interval { start: clock(at.start), end: clock(at.end) };
        let ops = placed.instance().graph().op_ids().map(|op| measured(simulated.op(op))).collect();
        let sends = simulated.sends().map(|(_, at)| measured(at)).collect();
        let transfers = placed.transfer_ids().map(|id| measured(simulated.transfer(placed, id))).collect();
        let receives = simulated.receives().map(|(_, at)| measured(at)).collect();
        Ok(Timeline::measured(placed, ops, sends, transfers).with_measured_receives(placed, receives))
    }
}

fn order() -> Order<'static> {
    Order { scheduler: &Fifo, plan: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn measured_runs_keep_the_laws_of_order_but_not_exact_times(shape in shapes()) {
        let (instance, placement) = instance(shape, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = Jittery.execute(&placed, order(), &StopToken::default()).unwrap();
        let records = timeline.records(&placed);
        prop_assert_eq!(validate(&instance, &placement, &records, Jittery.demands()), Ok(()));
        let exact = validate(&instance, &placement, &records, Simulator::default().demands());
        let takes_time = timeline.makespan() > 0.0;
        prop_assert_eq!(matches!(exact, Err(Violation::WrongDuration { .. })), takes_time, "{:?}", exact);
    }

    /// The laws of order are laws: each of these changes breaks one of them.
    #[test]
    fn a_measured_run_that_breaks_an_order_is_found(shape in shapes(), choice: prop::sample::Index, early in 0.01..0.9f64) {
        let (instance, placement) = instance(shape, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = Jittery.execute(&placed, order(), &StopToken::default()).unwrap();
        let mut records = timeline.records(&placed);
        prop_assume!(!records.transfers.is_empty());
        let position = choice.index(records.transfers.len());
        let record = &mut records.transfers[position];
        let produced = timeline.finish(record.route.source);
        prop_assume!(produced > 0.0);
        record.start = produced * early;
        let found = validate(&instance, &placement, &records, Jittery.demands());
        prop_assert!(matches!(found, Err(Violation::MovedTooEarly { .. })), "{:?}", found);
    }

    #[test]
    fn busy_times_of_measured_runs_are_measured(shape in shapes()) {
        let (instance, placement) = instance(shape, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = Jittery.execute(&placed, order(), &StopToken::default()).unwrap();
        let records = timeline.records(&placed);
        let tasks = records.ops.iter().map(|op| op.end - op.start);
        let others = records.sends.iter().chain(&records.receives).map(|task| task.end - task.start);
        let total: Time = tasks.chain(others).sum();
        let busy: Time = timeline.busy_times(&placed).iter().sum();
        prop_assert!((busy - total).abs() <= 1e-9 * total);
    }
}

#[test]
fn an_evaluation_takes_any_executor_and_says_which_cannot_run_online() {
    let shape = crate::support::random::Shape { ops: 20, devices: 3, send_ops: 1.0, whole_numbers: false, seed: 3 };
    let (instance, placement) = instance(shape, PLAIN);
    let reference = Reference::new(&instance);
    let stop = StopToken::default();
    let evaluator = Evaluator { instance: &instance, reference: Some(&reference), seed: 0, stop: &stop };
    let placed = Placed::Before { decision: Decision::placement(placement), took: Duration::ZERO };
    let measured = evaluator.execute(&placed, Some(&Fifo), &Jittery).unwrap();
    let simulated = evaluator.execute(&placed, Some(&Fifo), &Simulator::default()).unwrap();
    assert_eq!(measured.metrics.traffic_bytes, simulated.metrics.traffic_bytes);
    assert!(measured.metrics.makespan > simulated.metrics.makespan);
    assert_eq!(measured.slr, Some(measured.metrics.makespan / reference.slr_denominator));

    let error = evaluator.execute(&placed, None, &Jittery).unwrap_err();
    assert_eq!(error, EvaluationError::NoScheduler);
    let cats = registry::placer(&"cats".parse().unwrap()).unwrap();
    let error = evaluator.execute(&Placed::During(cats.online().unwrap()), None, &Jittery).unwrap_err();
    assert_eq!(error, EvaluationError::Execution(ExecutionError::NotOnline));
    assert_eq!(error.status().name(), "error");
}
