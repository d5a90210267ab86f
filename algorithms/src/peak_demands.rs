//! What assignment units demand of memory when tensors are freed.

use placebench_datasets::{Instance, OpId};

/// What each unit demands, by its id, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeakDemands {
    /// What it would hold at the instant when memory is shortest, if one device ran all ops in topological order: its resident
    /// memory, and those of its output tensors that are in memory then. A tensor is in memory from its producer to its last
    /// consumer.
    pub(crate) permanent: Vec<u64>,
    /// The most input bytes of one of its ops: copies of them may have come from other devices.
    pub(crate) temporary: Vec<u64>,
}

impl PeakDemands {
    /// The demands of all units.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub(crate) fn new(instance: &Instance) -> Self {
        let (graph, units) = (instance.graph(), instance.units());
        let position = graph.topological_positions();
        let mut change = vec![0i128; graph.op_count() + 1];
        for_each_tensor(instance, &position, |_, bytes, from, until| {
            change[from] += i128::from(bytes);
            change[until + 1] -= i128::from(bytes);
        });
        let (mut present, mut most, mut shortest) = (0i128, 0i128, 0);
        for (at, change) in change.iter().enumerate() {
            present += change;
            if present > most {
                (most, shortest) = (present, at);
            }
        }
        let resident = |op: &OpId| graph.memory_bytes(*op);
        let of_unit = |unit| units.members(unit).iter().map(resident).fold(0, u64::saturating_add);
        let mut permanent: Vec<u64> = units.ids().map(of_unit).collect();
        for_each_tensor(instance, &position, |unit, bytes, from, until| {
            if (from..=until).contains(&shortest) {
                permanent[unit] = permanent[unit].saturating_add(bytes);
            }
        });
        // What L counts for an op is its resident memory, its outputs and its inputs.
        let inputs = |op: &OpId| {
            let outputs = graph.outputs(*op).map(|tensor| graph.tensor_bytes(tensor)).fold(0, u64::saturating_add);
            graph.demand_bytes(*op).saturating_sub(graph.memory_bytes(*op).saturating_add(outputs))
        };
        let most_inputs = |unit| units.members(unit).iter().map(inputs).max().unwrap_or(0);
        Self { permanent, temporary: units.ids().map(most_inputs).collect() }
    }
}

/// Every tensor that takes memory of its own: its producer's unit, its bytes, and the positions of its producer and its last consumer.
fn for_each_tensor(instance: &Instance, position: &[u32], mut visit: impl FnMut(usize, u64, usize, usize)) {
    let graph = instance.graph();
    for op in graph.op_ids().filter(|&op| !graph.outputs_are_resident(op)) {
        let from = position[op.index()] as usize;
        // Edges ascend by tensor, control last.
        let mut edges = graph.successors(op).peekable();
        for tensor in graph.outputs(op) {
            let mut until = from;
            while let Some(edge) = edges.next_if(|edge| edge.tensor == Some(tensor)) {
                until = until.max(position[edge.op.index()] as usize);
            }
            visit(instance.units().unit_of(op).index(), graph.tensor_bytes(tensor), from, until);
        }
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, GraphBuilder, Kind, Link, OpId, OpSpec};

    use super::*;

    #[test]
    fn a_unit_demands_what_it_holds_when_memory_is_shortest() {
        // a -> b -> c -> d, and a -> d: a's 10 bytes stay. Present: 10, 10 + 5, 10 + 5 + 7, 10 + 7: shortest at c.
        let mut builder = GraphBuilder::default();
        for bytes in [10, 5, 7, 1] {
            builder.add_op(OpSpec { memory_bytes: 100, ..OpSpec::cost(1.0) }, &[bytes]);
        }
        for (from, to) in [(0, 1), (1, 2), (2, 3), (0, 3)] {
            builder.add_edge(OpId(from), 0, OpId(to)).unwrap();
        }
        let cluster = Cluster::uniform(1, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        let demands = PeakDemands::new(&instance);
        assert_eq!((demands.permanent, demands.temporary), (vec![110, 105, 107, 100], vec![0, 10, 5, 17]));
    }
}
