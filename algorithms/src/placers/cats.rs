//! CATS: the criticality-aware task scheduler.

use placebench_datasets::{DataflowGraph, Instance};

use super::criticality::{Criticality, Stealing};
use crate::fairness::{Assumption, Exception, Law};
use crate::online::{OnlinePlacer, OnlinePolicy};
use crate::{Algorithm, Params, SpecError};

/// During the run: ops on the path with most ops to the end go to fast devices, the others to slow ones.
///
/// The bottom level of an op is the largest number of ops on a path that starts with it. An op that becomes ready is
/// critical if its bottom level is at least that of the last critical op, or if it is a successor of that op and none of the
/// successors has a larger one. An idle device takes the ready op of the highest bottom level: a fast device a
/// critical one, else one that is not (it steals); a slow device one that is not and, with `steal=both`, else a critical one.
///
/// # Reference
/// K. Chronaki, A. Rico, R. M. Badia, E. Ayguadé, J. Labarta, M. Valero, *Criticality-Aware Dynamic Task Scheduling for
/// Heterogeneous Architectures*, ICS 2015, doi:10.1145/2751205.2751235. The rule for critical ops follows the authors'
/// scheduler `botlev` in the runtime Nanos++.
///
/// # Complexity
/// O(ops · (devices + log ops) + edges); with memory limits each look into a queue skips the ops that do not fit.
///
/// # Ties
/// Ops that become ready at one instant are looked at by bottom level, highest first, then by id; equal priorities in that
/// order. Idle devices choose by the mean time of the ops that they may run, then by id.
///
/// # Deviations
/// - The original has fast and slow cores. Here a device is fast for the ops of a set of kinds if it takes at most the mean
///   time of the devices allowed for all of them together (measured times included).
/// - Tasks are discovered as the program runs; here the whole graph is known, and with it every bottom level.
/// - Nothing in the original takes time to send. Here inputs that are elsewhere are sent when the device has taken the op, and
///   it waits for them.
/// - The first op of a unit (colocation group) to be taken binds the unit; a device first takes what is bound to it.
/// - An op that no device meant for it has memory for goes anywhere else once all devices are idle.
#[derive(Clone, Copy, Debug)]
pub struct Cats {
    /// Who may steal.
    pub steal: Stealing,
}

impl Algorithm for Cats {
    const NAME: &str = "cats";
    const SUMMARY: &str = "online: ops on the path of most ops to fast devices, others to slow ones";
    const SOURCE: &str = "Chronaki et al. 2015, L §8";
    const ASSUMES: &[Assumption] = &[Assumption::NoKinds, Assumption::NoMemory, Assumption::FreeTransfers];
    const EXCEPTIONS: &[Exception] =
        &[Exception::new(Law::RelabelledOps, "ops with equally many ops behind them go by number")];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { steal: Stealing::param(params)? })
    }
}

impl OnlinePlacer for Cats {
    fn start<'a>(&self, instance: &'a Instance) -> Box<dyn OnlinePolicy + 'a> {
        let levels = bottom_levels(instance.graph());
        Box::new(Criticality::new(instance, self.steal, levels.clone(), levels))
    }
}

/// The largest number of ops on a path that starts with each op.
pub(super) fn bottom_levels(graph: &DataflowGraph) -> Vec<f64> {
    let mut levels = vec![0.0; graph.op_count()];
    for op in graph.topological_order().rev() {
        let behind = graph.successor_ops(op).iter().map(|after| levels[after.index()]).fold(0.0, f64::max);
        levels[op.index()] = 1.0 + behind;
    }
    levels
}
