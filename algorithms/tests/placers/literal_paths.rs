//! iterated_critical_path and critical_path, word for word: every rank is computed anew for every path.

use std::collections::BTreeSet;

use placebench_algorithms::placers::{CriticalPath, IteratedCriticalPath};
use placebench_algorithms::ranks::{Average, AverageTransfer, average_exec_times};
use placebench_datasets::{DeviceId, Instance, KindSet, OpId};
use proptest::prelude::*;

use super::state::{Outcome, State, assert_same, order};
use crate::support::random::{Limits, instances};

type Edges = BTreeSet<(OpId, OpId)>;

/// The op with the largest value; of those equal up to rounding, the one with the lowest id.
fn largest(candidates: impl Iterator<Item = (f64, OpId)>) -> Option<OpId> {
    candidates.min_by(|a, b| order(b.0, a.0).then(a.1.cmp(&b.1))).map(|(_, op)| op)
}

/// L §4.5, step 1: the path to the sink of largest source rank, from the sink on, over the edges that are left.
fn critical_path_of_operations(instance: &Instance, edges: &Edges) -> Vec<OpId> {
    let graph = instance.graph();
    let mut rank = vec![0.0f64; graph.op_count()];
    let mut before: Vec<Option<OpId>> = vec![None; graph.op_count()];
    for op in graph.topological_order() {
        let producers = || edges.iter().filter(|(_, to)| *to == op).map(|&(from, _)| from);
        let contribution = |from: OpId| (rank[from.index()] + graph.ops(from), from);
        before[op.index()] = largest(producers().map(contribution));
        rank[op.index()] = producers().map(|from| contribution(from).0).fold(0.0, f64::max);
    }
    let is_sink = |op: OpId| edges.iter().any(|(_, to)| *to == op) && !edges.iter().any(|(from, _)| *from == op);
    let sink = largest(graph.op_ids().filter(|&op| is_sink(op)).map(|op| (rank[op.index()], op)));
    std::iter::successors(sink, |op| before[op.index()]).collect()
}

/// Places sub-path after sub-path; a sub-path is a list of units.
fn place_sub_path(state: &mut State<'_>, sub_path: &[Vec<OpId>]) -> Result<(), OpId> {
    if sub_path.is_empty() || state.place_least_loaded(&sub_path.concat()).is_ok() {
        return Ok(());
    }
    if let [unit] = sub_path {
        return Err(unit[0]);
    }
    let (near, far) = sub_path.split_at(sub_path.len().div_ceil(2));
    place_sub_path(state, near)?;
    place_sub_path(state, far)
}

fn iterated_critical_path(instance: &Instance) -> Outcome {
    let (graph, cluster) = (instance.graph(), instance.cluster());
    let mut state = State::new(instance);
    let mut edges: Edges = graph.edges().map(|(from, edge)| (from, edge.op)).collect();
    while !edges.is_empty() {
        let path = critical_path_of_operations(instance, &edges);
        let mut sub_paths: Vec<Vec<Vec<OpId>>> = vec![vec![]];
        for &op in &path {
            let unit = state.unit(op);
            let (closed, open) = sub_paths.split_at(sub_paths.len() - 1);
            if open[0].contains(&unit) {
                continue;
            }
            if state.d(op).is_some() || closed.iter().any(|sub_path| sub_path.contains(&unit)) {
                sub_paths.push(vec![]);
                continue;
            }
            let mut together: Vec<OpId> = open[0].concat();
            together.extend(&unit);
            let kinds = together.iter().fold(KindSet::ALL, |kinds, &op| kinds.intersection(graph.kinds(op)));
            if !cluster.devices().iter().any(|device| kinds.contains(device.kind)) {
                sub_paths.push(vec![]);
            }
            sub_paths.last_mut().expect("there is always one").push(unit);
        }
        for sub_path in sub_paths {
            place_sub_path(&mut state, &sub_path)?;
        }
        for pair in path.windows(2) {
            assert!(edges.remove(&(pair[1], pair[0])));
        }
    }
    state.place_rest()?;
    Ok(state.devices())
}

/// L Eq. 4.1 with the averages of a deviation or of L, by its recursive definition.
fn upward_rank(instance: &Instance, exec: &[f64], transfer: AverageTransfer, op: OpId) -> f64 {
    let graph = instance.graph();
    let behind = graph
        .successors(op)
        .map(|edge| transfer.time(graph.edge_bytes(edge)) + upward_rank(instance, exec, transfer, edge.op));
    exec[op.index()] + behind.fold(0.0, f64::max)
}

fn critical_path(instance: &Instance, average: Average) -> Outcome {
    let (graph, cluster) = (instance.graph(), instance.cluster());
    let exec = average_exec_times(instance, average);
    let transfer = AverageTransfer::new(instance, average);
    let rank = |op| upward_rank(instance, &exec, transfer, op);
    let sources = graph.op_ids().filter(|&op| graph.in_degree(op) == 0);
    let path = std::iter::successors(largest(sources.map(|op| (rank(op), op))), |&op| {
        largest(graph.successors(op).map(|edge| (transfer.time(graph.edge_bytes(edge)) + rank(edge.op), edge.op)))
    });
    let mut state = State::new(instance);
    for op in path {
        if state.d(op).is_none() {
            let unit = state.unit(op);
            let empty = State::new(instance);
            let key = |&device: &DeviceId| (empty.exec_min(device, &unit), -cluster.device(device).speed, device);
            let feasible = state.feasible(&unit);
            let fastest = feasible
                .iter()
                .map(key)
                .min_by(|a, b| order(a.0, b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)))
                .ok_or(unit[0])?;
            state.place(&unit, fastest.2);
        }
    }
    state.place_rest()?;
    Ok(state.devices())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn iterated_critical_path_places_as_its_text_says(instance in instances(Limits::exact(14))) {
        assert_same(&IteratedCriticalPath, &instance, iterated_critical_path(&instance));
    }

    #[test]
    fn critical_path_places_as_its_text_says(instance in instances(Limits::exact(10))) {
        for average in [Average::Speed, Average::Time] {
            assert_same(&CriticalPath { average }, &instance, critical_path(&instance, average));
        }
    }
}
