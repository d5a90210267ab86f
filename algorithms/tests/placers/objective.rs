//! An objective for searches: every device executes its ops in topological order, transfers are free of contention.

use std::sync::atomic::{AtomicUsize, Ordering};

use placebench_algorithms::{Decision, Judgement, Objective, PlaceError, StopToken};
use placebench_datasets::{Instance, Placement, Time};

/// The objective, which counts how often it is asked and remembers the least that it answered.
#[derive(Debug, Default)]
pub(crate) struct TopologicalOrder {
    asked: AtomicUsize,
    /// Bits of the least makespan, plus 1 so that 0 is none.
    least: AtomicUsize,
}

impl TopologicalOrder {
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    pub(crate) fn least(&self) -> Time {
        Time::from_bits(!(self.least.load(Ordering::Relaxed) as u64))
    }

    pub(crate) fn evaluate(instance: &Instance, placement: &Placement) -> Time {
        let (graph, cluster) = (instance.graph(), instance.cluster());
        let mut finish = vec![0.0; graph.op_count()];
        let mut free = vec![0.0; cluster.device_count()];
        for op in graph.topological_order() {
            let device = placement.device_of(op);
            let arrivals = graph.predecessors(op).map(|edge| {
                let moved = cluster.transfer_time(graph.edge_bytes(edge), placement.device_of(edge.op), device);
                finish[edge.op.index()] + moved
            });
            let end = arrivals.fold(free[device.index()], Time::max) + instance.exec_time(op, device);
            (finish[op.index()], free[device.index()]) = (end, end);
        }
        finish.into_iter().fold(0.0, Time::max)
    }
}

impl Objective for TopologicalOrder {
    fn judge(&self, instance: &Instance, decision: &Decision, stop: &StopToken) -> Result<Judgement, PlaceError> {
        stop.check()?;
        decision.placement.check(instance).expect("only feasible placements are judged");
        let makespan = Self::evaluate(instance, &decision.placement);
        self.asked.fetch_add(1, Ordering::Relaxed);
        // Times are not negative, so that their bits order as they do, and complements the other way round.
        self.least.fetch_max(!makespan.to_bits() as usize, Ordering::Relaxed);
        Ok(Judgement::fits(makespan))
    }
}
