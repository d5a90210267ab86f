//! Depth-first search: neighbours follow each other, and traffic and execution time choose their devices.

use std::cmp::Reverse;

use placebench_datasets::{Instance, OpId};

use super::heuristic::HeuristicPlacement;
use crate::fairness::{Exception, Law};
use crate::ranks::OperationsRanks;
use crate::total::steady;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Visits the ops depth first, from the most important source on, and puts the unit of each op, unless it is placed, on
/// the feasible device that minimises `execution time · traffic` as [`Mite`](super::Mite) defines them.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017,
/// §4.8, with Eq. 4.7 to 4.13.
///
/// # Complexity
/// O((units + edges) · devices) time, O(edges + devices²) memory; no recursion.
///
/// # Ties
/// Sources of equal operations rank by id. Of equal products, the least execution time (Eq. 4.12), then the lowest id.
///
/// # Deviations
/// L does not order an op's consumers: here they are visited by tensor, then by id, those behind control edges last. Those
/// of Eq. 4.7 to 4.13 are listed at [`Mite`](super::Mite).
#[derive(Clone, Copy, Debug, Default)]
pub struct Dfs;

impl Algorithm for Dfs {
    const NAME: &str = "dfs";
    const SUMMARY: &str = "depth first from the critical path, minimising traffic and execution time";
    const SOURCE: &str = "L §4.8";
    const EXCEPTIONS: &[Exception] = &[Exception::new(
        Law::RelabelledOps,
        "consumers of an op are visited in the order of their numbers (L §4.8 gives none)",
    )];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for Dfs {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let units = instance.units();
        let mut placement = HeuristicPlacement::new(instance);
        for (position, op) in depth_first_order(instance).into_iter().enumerate() {
            context.stop.check_at(position)?;
            let unit = units.unit_of(op);
            if !placement.is_placed(unit) {
                placement.place(unit, |factors| factors.execution_time * factors.traffic)?;
            }
        }
        Ok(Decision::placement(placement.finish()?))
    }
}

/// All ops in the order in which a depth-first search from the sources, most important first, meets them.
fn depth_first_order(instance: &Instance) -> Vec<OpId> {
    let graph = instance.graph();
    let ranks = OperationsRanks::new(graph);
    let mut sources: Vec<OpId> = graph.op_ids().filter(|&op| graph.in_degree(op) == 0).collect();
    sources.sort_by_key(|&op| Reverse(steady(ranks.of(op))));
    let mut visited = vec![false; graph.op_count()];
    let mut order = Vec::with_capacity(graph.op_count());
    // The consumers that are still to be visited of each op on the way to the present one.
    let mut stack: Vec<std::slice::Iter<'_, OpId>> = vec![sources.iter()];
    while let Some(siblings) = stack.last_mut() {
        match siblings.next() {
            Some(&op) if !visited[op.index()] => {
                visited[op.index()] = true;
                order.push(op);
                stack.push(graph.successor_ops(op).iter());
            }
            Some(_) => {}
            None => {
                stack.pop();
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    #[test]
    fn the_search_starts_at_the_critical_path_and_follows_traffic_until_load_outweighs_it() {
        // op0(1) ─1▶ op3(1)      op1(5) ─6▶ op2(1)     op1 ─6▶ op3      op4(9)
        // Ranks: op0 2, op1 6, op4 9: the order is 4; 1 2 3; 0. Speeds 1 and 2, rate 3.
        // op4: no traffic: 9/9 on d0, 4.5/9 on d1: d1. op1: d0 5, d1 14/2 = 7: d0.
        // op2: d0: traffic 0 → 0.000001; d1: 6/3 = 2 = t̂ → 1. Times 6 and 7.5: d0. op3: d0 holds op1; d1: 1: d0 (7).
        // op0: consumer op3 on d0: d0 0.000001: d0 (8).
        let graph = example::graph(&[1.0, 5.0, 1.0, 1.0, 9.0], &[(0, 3, 1), (1, 2, 6), (1, 3, 6)], &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 2.0], 3.0)).unwrap();
        assert_eq!(depth_first_order(&instance), [4, 1, 2, 3, 0].map(OpId));
        let decision = Dfs.place(&instance, &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [0, 0, 0, 0, 1]);
    }
}
