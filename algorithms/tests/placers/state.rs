//! The state that the literal implementations share: d(n) of each op, and everything else computed from it anew.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use placebench_algorithms::{PlaceError, Placer};
use placebench_datasets::{DeviceId, Instance, OpId, Roofline, is_equal};

/// What a literal implementation finds: the device of each op, or the smallest op of the unit that fits nowhere.
pub(crate) type Outcome = Result<Vec<DeviceId>, OpId>;

pub(crate) struct State<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) d: Vec<Option<DeviceId>>,
}

impl<'a> State<'a> {
    pub(crate) fn new(instance: &'a Instance) -> Self {
        Self { instance, d: vec![None; instance.graph().op_count()] }
    }

    pub(crate) fn d(&self, op: OpId) -> Option<DeviceId> {
        self.d[op.index()]
    }

    /// The assignment unit of an op, ascending.
    pub(crate) fn unit(&self, op: OpId) -> Vec<OpId> {
        let colocation = self.instance.graph().colocation();
        colocation.group_of(op).map_or_else(|| vec![op], |group| colocation.members(group).to_vec())
    }

    /// Groups by their smallest member, then the ops in none.
    pub(crate) fn units(&self) -> Vec<Vec<OpId>> {
        let all: Vec<Vec<OpId>> = self
            .instance
            .graph()
            .op_ids()
            .map(|op| (op, self.unit(op)))
            .filter(|(op, unit)| unit[0] == *op)
            .map(|(_, unit)| unit)
            .collect();
        let (groups, singles): (Vec<_>, Vec<_>) = all.into_iter().partition(|unit| unit.len() > 1);
        groups.into_iter().chain(singles).collect()
    }

    /// size_est: memory demand, output tensors, input tensors.
    pub(crate) fn size(&self, op: OpId) -> u64 {
        let graph = self.instance.graph();
        let inputs: BTreeSet<_> = graph.predecessors(op).filter_map(|edge| edge.tensor).collect();
        let tensors = graph.outputs(op).chain(inputs);
        graph.memory_bytes(op) + tensors.map(|tensor| graph.tensor_bytes(tensor)).sum::<u64>()
    }

    pub(crate) fn used(&self, device: DeviceId) -> u64 {
        self.on(device).into_iter().map(|op| self.size(op)).sum()
    }

    fn on(&self, device: DeviceId) -> Vec<OpId> {
        self.instance.graph().op_ids().filter(|&op| self.d(op) == Some(device)).collect()
    }

    /// Whether a device is of a kind that an op and all ops colocated with it may run on.
    pub(crate) fn is_allowed(&self, op: OpId, device: DeviceId) -> bool {
        let kind = self.instance.cluster().device(device).kind;
        self.unit(op).iter().all(|&mate| self.instance.graph().kinds(mate).contains(kind))
    }

    /// L §4.1, for ops that are to be placed together.
    pub(crate) fn is_feasible(&self, ops: &[OpId], device: DeviceId) -> bool {
        let (graph, target) = (self.instance.graph(), self.instance.cluster().device(device));
        let demand: u64 = ops.iter().map(|&op| self.size(op)).sum();
        ops.iter().all(|&op| graph.kinds(op).contains(target.kind))
            && target.memory_bytes.is_none_or(|memory| demand == 0 || self.used(device) + demand < memory)
    }

    pub(crate) fn feasible(&self, ops: &[OpId]) -> Vec<DeviceId> {
        self.instance.cluster().device_ids().filter(|&device| self.is_feasible(ops, device)).collect()
    }

    /// exec_min (Eq. 4.5) of a device with further ops on it (Eq. 4.12).
    pub(crate) fn exec_min(&self, device: DeviceId, further: &[OpId]) -> f64 {
        let (graph, target) = (self.instance.graph(), self.instance.cluster().device(device));
        let (mut ops, mut measured) = (0.0, 0.0);
        let overhead = self.instance.cluster().op_overhead(device);
        for op in self.on(device).into_iter().chain(further.iter().copied()) {
            let cluster = self.instance.cluster();
            let times = graph.measured_on(cluster.class(device));
            let Roofline { matrix_speed, memory_bandwidth } = cluster.roofline(device);
            match (times.and_then(|times| times.of(op)), matrix_speed.zip(memory_bandwidth)) {
                (Some(time), _) => measured += time,
                (None, None) => ops += graph.ops(op),
                (None, Some((matrix_speed, bandwidth))) => {
                    let is_matrix = graph.op_types().and_then(|types| types.get(op.index())) == Some("MatMul");
                    let rate = if is_matrix { matrix_speed } else { target.speed };
                    measured += (graph.ops(op) / rate).max(graph.bytes_moved(op).unwrap_or(0.0) / bandwidth);
                }
            }
        }
        let count = self.on(device).len() + further.len();
        ops / target.speed + measured + count as f64 * overhead
    }

    pub(crate) fn place(&mut self, ops: &[OpId], device: DeviceId) {
        for &op in ops {
            assert_eq!(self.d[op.index()].replace(device), None, "placed twice");
        }
    }

    /// Places ops together where exec_min so far is least, then where it is least with them, if anywhere.
    pub(crate) fn place_least_loaded(&mut self, ops: &[OpId]) -> Result<(), OpId> {
        let by_load = |&a: &DeviceId, &b: &DeviceId| {
            let after = order(self.exec_min(a, ops), self.exec_min(b, ops));
            order(self.exec_min(a, &[]), self.exec_min(b, &[])).then(after).then(a.cmp(&b))
        };
        let device = self.feasible(ops).into_iter().min_by(by_load).ok_or(ops[0])?;
        self.place(ops, device);
        Ok(())
    }

    /// Units that are not placed, one by one.
    pub(crate) fn place_rest(&mut self) -> Result<(), OpId> {
        self.units()
            .into_iter()
            .filter(|unit| self.d(unit[0]).is_none())
            .collect::<Vec<_>>()
            .iter()
            .try_for_each(|unit| self.place_least_loaded(unit))
    }

    pub(crate) fn devices(self) -> Vec<DeviceId> {
        self.d.into_iter().map(|device| device.expect("every op is placed")).collect()
    }
}

/// The order of two sums; those that are equal up to rounding are ties.
pub(crate) fn order(a: f64, b: f64) -> Ordering {
    if is_equal(a, b) { Ordering::Equal } else { a.total_cmp(&b) }
}

/// #ops source and sink rank by their recursive definitions (Eq. 4.3 and 4.4).
pub(crate) fn operations_rank(instance: &Instance, op: OpId) -> f64 {
    fn source(instance: &Instance, op: OpId) -> f64 {
        let graph = instance.graph();
        graph.predecessors(op).map(|edge| source(instance, edge.op) + graph.ops(edge.op)).fold(0.0, f64::max)
    }
    fn sink(instance: &Instance, op: OpId) -> f64 {
        let graph = instance.graph();
        graph.successors(op).map(|edge| sink(instance, edge.op)).fold(0.0, f64::max) + graph.ops(op)
    }
    source(instance, op) + sink(instance, op)
}

/// Runs a placer and checks that it finds what the literal implementation found, the unit that fits nowhere included.
pub(crate) fn assert_same(placer: &dyn Placer, instance: &Instance, literal: Outcome) {
    let found = placer.place(instance, &Default::default());
    match (found, literal) {
        (Ok(decision), Ok(devices)) => assert_eq!(decision.placement.devices(), devices),
        (Err(PlaceError::Infeasible { unit, .. }), Err(op)) => {
            let label = instance.graph().label(op);
            assert!(unit == label || unit.ends_with(&format!(" with {label}")), "{unit} instead of {label}");
        }
        (found, literal) => panic!("found {found:?}, expected {literal:?}"),
    }
}
