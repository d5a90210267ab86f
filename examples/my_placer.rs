//! A placer of your own through the library: written, judged, and compared with two that come with placebench.
//!
//! `cargo run --release --example my_placer`

use std::cmp::Reverse;
use std::error::Error;

use placebench::algorithms::{
    Assignment, Decision, PlaceContext, PlaceError, Placer, Spec, StopToken, registry, schedulers::Pct,
};
use placebench::datasets::Instance;
use placebench::harness::evaluate::{Evaluator, Reference};
use placebench::harness::execute::simulate::{ContentionFree, Simulator};
use placebench::harness::problem::{ClusterEntry, GraphEntry, Problem};

/// Goes through the ops in topological order and puts each unit where the inputs of its first op mostly are, unless that
/// device has more than its share of the work already.
struct FollowTheData {
    /// How much more than the mean work a device may have.
    slack: f64,
}

impl Placer for FollowTheData {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let share = graph.op_ids().map(|op| instance.min_exec_time(op)).sum::<f64>() / cluster.device_count() as f64;
        let mut work = vec![0.0; cluster.device_count()];
        // An assignment knows what is feasible: kinds, colocation, memory.
        let mut assignment = Assignment::new(instance);
        for op in graph.topological_order() {
            context.stop.check()?;
            let unit = units.unit_of(op);
            if assignment.device_of_unit(unit).is_some() {
                continue;
            }
            let mut local_bytes = vec![0; cluster.device_count()];
            for input in graph.predecessors(op) {
                if let Some(device) = assignment.device_of(input.op) {
                    local_bytes[device.index()] += graph.edge_bytes(input);
                }
            }
            // Room first, then most bytes, then least work; the smallest id among equals, so that the same input gives the
            // same output.
            let device = assignment
                .feasible_devices(unit)
                .map(|device| {
                    let is_full = work[device.index()] > share * self.slack;
                    let end = work[device.index()] + instance.exec_time(op, device);
                    (is_full, Reverse(local_bytes[device.index()]), end, device)
                })
                .min_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)))
                .map(|(_, _, _, device)| device)
                .ok_or_else(|| assignment.infeasible(unit))?;
            work[device.index()] += units.members(unit).iter().map(|&op| instance.exec_time(op, device)).sum::<f64>();
            assignment.assign(unit, device);
        }
        Ok(Decision::placement(assignment.finish()?))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // As `placebench place lstm_lm --cluster gtx1080x4` makes it.
    let (graph, cluster) = (GraphEntry::named("lstm_lm")?, ClusterEntry::named("gtx1080x4")?);
    let instance = Problem::new(&graph, &cluster, 0)?.instance;
    let placers: [(&str, Box<dyn Placer>); 3] = [
        ("follow_the_data", Box::new(FollowTheData { slack: 1.2 })),
        ("heft", registry::placer(&"heft".parse::<Spec>()?)?),
        ("random", registry::placer(&"random".parse::<Spec>()?)?),
    ];
    let (reference, stop) = (Reference::new(&instance), StopToken::default());
    let evaluator = Evaluator { instance: &instance, reference: Some(&reference), seed: 1, stop: &stop };
    println!("{:<16} {:>12} {:>8} {:>13}", "placer", "makespan", "gap", "traffic");
    for (name, placer) in placers {
        // Places, simulates, validates the simulation independently, and measures it.
        let placed = evaluator.place(&*placer, &ContentionFree)?;
        let evaluation = evaluator.execute(&placed, Some(&Pct), &Simulator::new(&ContentionFree))?;
        let (metrics, gap) = (&evaluation.metrics, evaluation.gap.unwrap_or_default());
        println!(
            "{name:<16} {:>9.1} ms {gap:>8.2} {:>10.0} MB",
            metrics.makespan * 1e3,
            metrics.traffic_bytes as f64 / 1e6
        );
    }
    Ok(())
}
