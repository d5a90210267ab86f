//! Which of the device kinds that an op has kernels for it may run on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{AssignmentUnits, Cluster, DataflowGraph, GraphError, Kind, KindSet};

/// Which of the device kinds that an op has kernels for it may run on. A graph has such a rule
/// ([`GraphHeader`](crate::format::GraphHeader)), which whoever places it may override. Makespans under different rules do not
/// compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kinds {
    /// On all of them, as the graph says: the rule of graphs that were not extracted from a framework.
    #[default]
    AsGiven,
    /// An op that can run on an accelerator of the cluster runs on no CPU, as TensorFlow, JAX and PyTorch place it by
    /// themselves: the rule of graphs extracted from them. What
    /// only CPUs can run stays there, and a colocation group moves as one: if no accelerator of the cluster suits all its
    /// members, it is left as the graph says.
    AcceleratorsOnly,
}

impl Kinds {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::AsGiven, Self::AcceleratorsOnly];

    /// The word for it in suites, tables and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsGiven => "as_given",
            Self::AcceleratorsOnly => "accelerators_only",
        }
    }

    /// The graph as it may run on a cluster: the constraints of its ops are narrowed, nothing else changes.
    ///
    /// # Errors
    /// None for a graph whose own constraints are consistent.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub fn narrow(self, graph: DataflowGraph, cluster: &Cluster) -> Result<DataflowGraph, GraphError> {
        let accelerators: KindSet =
            cluster.devices().iter().map(|device| device.kind).filter(|&kind| kind != Kind::Cpu).collect();
        if self == Self::AsGiven || accelerators.is_empty() {
            return Ok(graph);
        }
        let without_cpu: KindSet = Kind::ALL.into_iter().filter(|&kind| kind != Kind::Cpu).collect();
        let units = AssignmentUnits::new(&graph);
        let narrowed = |op| match units.kinds(units.unit_of(op)).intersection(accelerators).is_empty() {
            true => graph.kinds(op),
            false => graph.kinds(op).intersection(without_cpu),
        };
        graph.with_kinds(graph.op_ids().map(narrowed).collect())
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kinds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kinds = Self::ALL.into_iter().find(|kinds| kinds.name() == text);
        kinds.ok_or_else(|| format!("unknown choice of kinds '{text}': use as_given or accelerators_only"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, GraphBuilder, Instance, Link, OpSpec};

    const CPU: KindSet = KindSet::only(Kind::Cpu);
    const GPU: KindSet = KindSet::only(Kind::Gpu);
    const TPU: KindSet = KindSet::only(Kind::Tpu);

    fn cluster(kinds: &[Kind]) -> Cluster {
        let device = |(id, &kind)| Device { name: format!("d{id}"), kind, memory_bytes: None, speed: 1.0 };
        let link = Link { rate: 1.0, latency: 0.0 };
        Cluster::new(kinds.iter().enumerate().map(device).collect(), |_, _| link).unwrap()
    }

    fn graph(kinds: &[KindSet], colocated: &[(u32, u32)]) -> DataflowGraph {
        let mut builder = GraphBuilder::default();
        let ops: Vec<_> =
            kinds.iter().map(|&kinds| builder.add_op(OpSpec { kinds, ..OpSpec::cost(1.0) }, &[])).collect();
        for &(a, b) in colocated {
            builder.colocate(ops[a as usize], ops[b as usize]).unwrap();
        }
        builder.build().unwrap()
    }

    fn narrowed(kinds: &[KindSet], colocated: &[(u32, u32)], devices: &[Kind]) -> Vec<KindSet> {
        let cluster = cluster(devices);
        let graph = Kinds::AcceleratorsOnly.narrow(graph(kinds, colocated), &cluster).unwrap();
        let kinds = graph.op_ids().map(|op| graph.kinds(op)).collect();
        Instance::new(graph, cluster).unwrap();
        kinds
    }

    #[test]
    fn what_an_accelerator_of_the_cluster_can_run_leaves_the_cpus() {
        let both = CPU.union(GPU);
        let kinds = [KindSet::ALL, both, CPU, GPU];
        assert_eq!(narrowed(&kinds, &[], &[Kind::Cpu, Kind::Gpu]), [GPU.union(TPU), GPU, CPU, GPU]);
    }

    #[test]
    fn an_accelerator_that_the_cluster_lacks_narrows_nothing() {
        let (tpu_or_cpu, both) = (CPU.union(TPU), CPU.union(GPU));
        assert_eq!(narrowed(&[tpu_or_cpu, both], &[], &[Kind::Cpu, Kind::Gpu]), [tpu_or_cpu, GPU]);
        assert_eq!(narrowed(&[tpu_or_cpu, both], &[], &[Kind::Cpu, Kind::Cpu]), [tpu_or_cpu, both]);
    }

    #[test]
    fn a_group_narrows_as_one_and_stays_feasible() {
        // 0 could leave the CPU, but its partner 1 cannot: both stay. 2 and 3 leave together.
        let both = CPU.union(GPU);
        let kinds = [both, CPU, both, KindSet::ALL];
        let devices = [Kind::Cpu, Kind::Gpu];
        assert_eq!(narrowed(&kinds, &[(0, 1), (2, 3)], &devices), [both, CPU, GPU, GPU.union(TPU)]);
        // A GPU suits one member and a TPU the other: together they can run on a CPU only.
        let kinds = [both, CPU.union(TPU)];
        assert_eq!(narrowed(&kinds, &[(0, 1)], &[Kind::Cpu, Kind::Gpu, Kind::Tpu]), kinds);
    }

    #[test]
    fn kinds_as_given_change_nothing() {
        let graph = graph(&[KindSet::ALL, CPU.union(GPU)], &[]);
        assert_eq!(Kinds::AsGiven.narrow(graph.clone(), &cluster(&[Kind::Cpu, Kind::Gpu])).unwrap(), graph);
    }
}
