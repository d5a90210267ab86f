//! What identifies an instance.

use std::fmt;

use crate::execute::ExecutorName;
use crate::problem::Kinds;
use crate::results::CellKey;

/// A problem and the rules under which placements of it are judged: makespans on one instance compare. Repetitions are draws
/// within it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceKey {
    /// Name of the suite, whose names these are.
    pub suite: String,
    /// Name of the graph.
    pub graph: String,
    /// Name of the cluster.
    pub cluster: String,
    /// Which kinds of devices ops may run on.
    pub kinds: Kinds,
    /// How memory limits placements; empty if the table does not say.
    pub memory: String,
    /// Name of the network model.
    pub network: String,
    /// Name of the executor.
    pub executor: ExecutorName,
}

impl InstanceKey {
    /// The same but for the graph: under what a placement of it is judged.
    pub fn setting(&self) -> Self {
        Self { graph: String::new(), ..self.clone() }
    }

    /// What a mark of a figure stands for: see [`CellKey::mark`].
    pub fn mark(&self, placer: &str, scheduler: &str) -> String {
        let Self { graph, cluster, network, executor, .. } = self.clone();
        let (placer, scheduler) = (placer.to_owned(), scheduler.to_owned());
        CellKey { graph, cluster, network, executor, placer, scheduler, ..CellKey::default() }.mark()
    }
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.graph, self.cluster, self.network)?;
        if self.executor.is_simulator() { Ok(()) } else { write!(f, "/{}", self.executor) }
    }
}

/// What instances are called: the graph, and whatever else differs among them.
pub fn labels<'a>(instances: impl Iterator<Item = &'a InstanceKey> + Clone) -> Vec<String> {
    let Some(first) = instances.clone().next() else { return Vec::new() };
    let differs = |same: fn(&InstanceKey, &InstanceKey) -> bool| instances.clone().any(|own| !same(own, first));
    let suites = differs(|a, b| a.suite == b.suite);
    let clusters = differs(|a, b| a.cluster == b.cluster);
    let kinds = differs(|a, b| a.kinds == b.kinds);
    let memory = differs(|a, b| a.memory == b.memory);
    let networks = differs(|a, b| a.network == b.network);
    let executors = differs(|a, b| a.executor == b.executor);
    let label = |own: &InstanceKey| {
        let mut label = if suites { format!("{}:{}", own.suite, own.graph) } else { own.graph.clone() };
        let mut add = |wanted: bool, sign: char, name: &dyn fmt::Display| {
            if wanted {
                label = format!("{label}{sign}{name}");
            }
        };
        add(clusters, '@', &own.cluster);
        add(networks, '/', &own.network);
        add(executors, '/', &own.executor);
        add(kinds, ',', &own.kinds);
        add(memory, ',', &own.memory);
        label
    };
    instances.map(label).collect()
}
