//! What a program needs to place, judge, generate, read and run: `use placebench::prelude::*`. Semantic versioning holds these
//! names, with the methods and fields that their documentation shows.
//!
//! # Example
//! A placer of one's own, judged as `placebench place dynamic_rnn` judges those that come with the program:
//! ```
//! use placebench::prelude::*;
//!
//! /// Every op where it takes least time.
//! struct Fastest;
//!
//! impl Placer for Fastest {
//!     fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
//!         let mut assignment = Assignment::new(instance);
//!         for unit in instance.units().ids() {
//!             context.stop.check()?;
//!             let time = |device| instance.units().members(unit).iter().map(|&op| instance.exec_time(op, device)).sum::<f64>();
//!             let device = assignment.feasible_devices(unit).min_by(|&a, &b| time(a).total_cmp(&time(b)));
//!             assignment.assign(unit, device.ok_or_else(|| assignment.infeasible(unit))?);
//!         }
//!         Ok(Decision::placement(assignment.finish()?))
//!     }
//! }
//!
//! let (graph, cluster) = (GraphEntry::named("dynamic_rnn")?, ClusterEntry::named("gtx1080x4")?);
//! let instance = Problem::new(&graph, &cluster, 0)?.instance;
//! let (reference, stop) = (Reference::new(&instance), StopToken::default());
//! let evaluator = Evaluator { instance: &instance, reference: Some(&reference), seed: 0, stop: &stop };
//! let (network, pct) = (network_model("contention_free")?, scheduler(&"pct".parse()?)?);
//! let mut makespans = Vec::new();
//! for placer in [Box::new(Fastest) as Box<dyn Placer>, placer(&"etf".parse()?)?] {
//!     let placed = evaluator.place(&*placer, network)?;
//!     makespans.push(evaluator.execute(&placed, Some(&*pct), &Simulator::new(network))?.metrics.makespan);
//! }
//! let etf = makespans[1];
//! assert_eq!(format!("{:.0} µs", etf * 1e6), "431 µs", "as in the table of the README");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// What a problem is: graphs, clusters, instances, placements.
pub use crate::datasets::{
    AssignmentUnits, Cluster, ClusterError, DataflowGraph, Device, DeviceId, Edge, GraphBuilder, GraphError, Instance,
    InstanceError, Kind, KindSet, Kinds, Link, MemoryRule, OpId, OpSpec, PlacedGraph, Placement, PlacementError,
    Properties, TensorId, Time, UnitId,
};

/// Files, and the graphs that come with the program.
pub use crate::datasets::catalogue;
/// Reads and writes graphs and clusters in any format.
pub use crate::datasets::format::{
    FormatError, GraphHeader, ReadOptions, Units, read_cluster, read_graph, read_graph_with, write_cluster, write_graph,
};

/// Makes graphs and clusters.
pub use crate::generator::{
    ClusterParams, GeneratorError, GraphParams, LeveledParams, TrainingParams, cluster_preset, generate_cluster,
};

/// Decides: what a placer or a scheduler is, and those there are by name.
pub use crate::algorithms::{
    Assignment, Decision, PlaceContext, PlaceError, Placer, Plan, Scheduler, Spec, SpecError, StopToken,
    registry::{placer, scheduler},
};

/// Turns names and files into instances, and judges placements of them.
pub use crate::harness::{
    evaluate::{Evaluation, EvaluationError, Evaluator, Placed, Reference},
    execute::simulate::{NetworkModel, Simulator, network_model},
    metrics::Metrics,
    problem::{ClusterEntry, GraphEntry, Problem, ProblemError},
    timeline::Timeline,
};

/// Runs suites, and reads their rows.
pub use crate::harness::{
    results::{Row, Status, Table, read_table, save_table},
    runner::{Silent, read_run, run},
    suite::{RunPlan, Suite, SuiteError},
};
