//! batch_split, mite and dfs, word for word.

use std::collections::BTreeSet;

use placebench_algorithms::placers::{BatchSplit, Dfs, Mite};
use placebench_datasets::{DeviceId, Edge, Instance, OpId};
use proptest::prelude::*;

use super::state::{Outcome, State, assert_same, operations_rank, order};
use crate::support::random::{Limits, instances};

fn batch_split(instance: &Instance) -> Outcome {
    let mut state = State::new(instance);
    let cluster = instance.cluster();
    let mut ops: Vec<OpId> = instance.graph().op_ids().collect();
    ops.sort_by(|&a, &b| operations_rank(instance, b).total_cmp(&operations_rank(instance, a)).then(a.cmp(&b)));
    let is_used = |device: &DeviceId| ops.iter().any(|&op| state.is_allowed(op, *device));
    let mut devices: Vec<DeviceId> = cluster.device_ids().filter(is_used).collect();
    devices.sort_by(|&a, &b| cluster.device(b).speed.total_cmp(&cluster.device(a).speed).then(a.cmp(&b)));
    for (position, &op) in ops.iter().enumerate() {
        if state.d(op).is_none() {
            let unit = state.unit(op);
            let range = position * devices.len() / ops.len();
            let mut wrapped = (0..devices.len()).map(|step| devices[(range + step) % devices.len()]);
            let device = wrapped.find(|&device| state.is_feasible(&unit, device)).ok_or(unit[0])?;
            state.place(&unit, device);
        }
    }
    Ok(state.devices())
}

/// Eq. 4.7 to 4.9, a tensor at a time: an edge counts unless the tensor is on the device already or counted already.
fn traffic_temp_of_op(state: &State<'_>, dx: DeviceId, ni: OpId) -> f64 {
    let (graph, cluster) = (state.instance.graph(), state.instance.cluster());
    let rate = |from, to| cluster.link(from, to).rate;
    let holds = |producer: OpId, tensor, device| {
        graph.successors(producer).any(|edge| edge.tensor == Some(tensor) && state.d(edge.op) == Some(device))
    };
    let mut sum = 0.0;
    let mut counted = BTreeSet::new();
    for Edge { op: nj, tensor } in graph.predecessors(ni) {
        if let (Some(tensor), Some(dj)) = (tensor, state.d(nj))
            && dj != dx
            && !holds(nj, tensor, dx)
            && counted.insert(tensor)
        {
            sum += graph.tensor_bytes(tensor) as f64 / rate(dj, dx);
        }
    }
    let mut counted = BTreeSet::new();
    for Edge { op: nj, tensor } in graph.successors(ni) {
        if let (Some(tensor), Some(dj)) = (tensor, state.d(nj))
            && dj != dx
            && counted.insert((tensor, dj))
        {
            sum += graph.tensor_bytes(tensor) as f64 / rate(dx, dj);
        }
    }
    sum
}

/// Eq. 4.10.
fn traffic_temp(state: &State<'_>, dx: DeviceId, a: &[OpId]) -> f64 {
    a.iter().map(|&op| traffic_temp_of_op(state, dx, op)).sum()
}

fn max(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// Eq. 4.11.
fn traffic(state: &State<'_>, dx: DeviceId, a: &[OpId]) -> f64 {
    let t_hat = max(state.feasible(a).into_iter().map(|device| traffic_temp(state, device, a)));
    let temp = traffic_temp(state, dx, a);
    if temp == 0.0 && t_hat != 0.0 {
        0.000001
    } else if t_hat == 0.0 {
        1.0
    } else {
        temp / t_hat
    }
}

/// Eq. 4.13.
fn execution_time(state: &State<'_>, dx: DeviceId, a: &[OpId]) -> f64 {
    let e_hat = max(state.feasible(a).into_iter().map(|device| state.exec_min(device, a)));
    if e_hat == 0.0 { 1.0 } else { state.exec_min(dx, a) / e_hat }
}

/// Eq. 4.14.
fn memory(state: &State<'_>, dx: DeviceId) -> f64 {
    let cluster = state.instance.cluster();
    let portion = |device: DeviceId| match cluster.device(device).memory_bytes {
        Some(size) if state.used(device) > 0 => state.used(device) as f64 / size as f64,
        _ => 0.0,
    };
    let mut m_tilde = 1.0;
    for device in cluster.device_ids() {
        if portion(device) != 0.0 && portion(device) < m_tilde {
            m_tilde = portion(device);
        }
    }
    if portion(dx) == 0.0 { m_tilde / 10.0 } else { portion(dx) }
}

/// Eq. 4.15 and 4.16.
fn importance_speed_boost(state: &State<'_>, dx: DeviceId, a: &[OpId]) -> f64 {
    let (graph, cluster) = (state.instance.graph(), state.instance.cluster());
    let f_hat = max(state.feasible(a).into_iter().map(|device| cluster.device(device).speed));
    let o_hat = max(graph.op_ids().map(|op| operations_rank(state.instance, op)));
    let sum: f64 = a.iter().map(|&op| operations_rank(state.instance, op)).sum();
    let importance = if o_hat == 0.0 { 0.0 } else { sum / (o_hat * a.len() as f64) };
    1.0 - importance * (cluster.device(dx).speed / f_hat)
}

/// The feasible device with the least value, then the least execution time, then the lowest id.
fn place_best(state: &mut State<'_>, a: &[OpId], heu: fn(&State<'_>, DeviceId, &[OpId]) -> f64) -> Result<(), OpId> {
    let key = |device: &DeviceId| (heu(state, *device, a), state.exec_min(*device, a), *device);
    let feasible = state.feasible(a);
    let best = feasible
        .iter()
        .map(key)
        .min_by(|x, y| order(x.0, y.0).then(order(x.1, y.1)).then(x.2.cmp(&y.2)))
        .ok_or(a[0])?;
    state.place(a, best.2);
    Ok(())
}

fn mite(instance: &Instance) -> Outcome {
    let mut state = State::new(instance);
    for unit in state.units() {
        place_best(&mut state, &unit, |state, dx, a| {
            traffic(state, dx, a)
                * execution_time(state, dx, a)
                * memory(state, dx)
                * importance_speed_boost(state, dx, a)
        })?;
    }
    Ok(state.devices())
}

fn dfs(instance: &Instance) -> Outcome {
    fn visit(state: &mut State<'_>, visited: &mut [bool], op: OpId) -> Result<(), OpId> {
        if std::mem::replace(&mut visited[op.index()], true) {
            return Ok(());
        }
        if state.d(op).is_none() {
            let unit = state.unit(op);
            place_best(state, &unit, |state, dx, a| execution_time(state, dx, a) * traffic(state, dx, a))?;
        }
        state.instance.graph().successors(op).try_for_each(|edge| visit(state, visited, edge.op))
    }
    let graph = instance.graph();
    let mut sources: Vec<OpId> = graph.op_ids().filter(|&op| graph.in_degree(op) == 0).collect();
    sources.sort_by(|&a, &b| operations_rank(instance, b).total_cmp(&operations_rank(instance, a)).then(a.cmp(&b)));
    let (mut state, mut visited) = (State::new(instance), vec![false; graph.op_count()]);
    sources.into_iter().try_for_each(|op| visit(&mut state, &mut visited, op))?;
    Ok(state.devices())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn batch_split_places_as_its_text_says(instance in instances(Limits::exact(10))) {
        assert_same(&BatchSplit, &instance, batch_split(&instance));
    }

    #[test]
    fn mite_places_as_its_equations_say(instance in instances(Limits::exact(10))) {
        assert_same(&Mite, &instance, mite(&instance));
    }

    #[test]
    fn dfs_places_as_its_equations_say(instance in instances(Limits::exact(10))) {
        assert_same(&Dfs, &instance, dfs(&instance));
    }
}
