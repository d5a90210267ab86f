//! What a pass over a placed graph is: a step between placement and execution.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::{
    DataflowGraph, DeviceId, GraphError, Instance, KindSet, OpId, PlacedGraph, Placement, TensorId,
};

use crate::pass::{Kept, PassError};
use crate::rewrite::{Draft, Rewrite};

/// A pass over graphs that are placed. Its fields are its parameters.
///
/// It adds ops where tensors cross devices, and gives each its device. The ops that were there keep their numbers, their costs
/// and their devices.
pub trait PlacedPass: Sized + Send + Sync + 'static {
    /// Unique name.
    const NAME: &'static str;
    /// One plain sentence.
    const SUMMARY: &'static str;
    /// Where it comes from: a short citation.
    const SOURCE: &'static str;
    /// What it leaves as it was.
    const KEEPS: &'static [Kept];

    /// Declares and reads all parameters, in the order in which they are to be listed. The first may be given without its name.
    ///
    /// # Errors
    /// If a value is not what its parameter takes.
    fn new(params: &mut Params) -> Result<Self, SpecError>;

    /// Makes the new placed graph.
    ///
    /// # Errors
    /// One line, if the graph is none that the pass is for.
    fn apply(&self, placed: &PlacedGraph<'_>) -> Result<Changed, PassError>;
}

/// What a pass over a placed graph answers.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The new graph on the old cluster. Its first ops are the old ones; behind them are those that the pass added.
    pub instance: Instance,
    /// The device of each op.
    pub placement: Placement,
    /// One line of what was done.
    pub line: String,
}

/// A placed graph to which a pass adds ops.
pub(crate) struct PlacedRewrite<'g> {
    graph: &'g DataflowGraph,
    placed: &'g PlacedGraph<'g>,
    pub(crate) rewrite: Rewrite<'g>,
    devices: Vec<DeviceId>,
}

impl<'g> PlacedRewrite<'g> {
    /// All old ops, without their edges.
    pub(crate) fn new(placed: &'g PlacedGraph<'g>) -> Self {
        let graph = placed.instance().graph();
        let mut rewrite = Rewrite::new(graph);
        for op in graph.op_ids() {
            rewrite.add(Draft::of(graph, op));
        }
        Self { graph, placed, rewrite, devices: placed.placement().devices().to_vec() }
    }

    /// Adds an op on a device.
    pub(crate) fn add(&mut self, draft: Draft<'_>, device: DeviceId) -> OpId {
        let kind = self.placed.instance().cluster().device(device).kind;
        self.devices.push(device);
        self.rewrite.add(Draft { kinds: KindSet::only(kind), ..draft })
    }

    /// Adds the old edges, in the order of each op's inputs. `of` names the op whose first output stands for a tensor on a device other
    /// than its producer's, if one does. Control edges stay.
    ///
    /// # Errors
    /// If a new op has no output.
    pub(crate) fn connect(&mut self, of: impl Fn(TensorId, DeviceId) -> Option<OpId>) -> Result<(), GraphError> {
        for op in self.graph.op_ids() {
            let to = self.placed.device_of(op);
            for edge in self.graph.predecessors(op) {
                let Some(tensor) = edge.tensor else {
                    self.rewrite.builder.add_control_edge(edge.op, op)?;
                    continue;
                };
                let crosses = self.placed.device_of(edge.op) != to;
                let (source, port) = match of(tensor, to).filter(|_| crosses) {
                    Some(stands) => (stands, 0),
                    None => (edge.op, self.graph.port(tensor)),
                };
                self.rewrite.builder.add_edge(source, port, op)?;
            }
        }
        self.rewrite.colocate(|op| [op])
    }

    pub(crate) fn finish<P: PlacedPass>(self, line: String) -> Result<Changed, PassError> {
        let passed = self.rewrite.finish(line).map_err(|source| PassError::Graph { pass: P::NAME, source })?;
        let instance = self.placed.instance().with_graph(passed.graph);
        let instance = instance.map_err(|source| PassError::Instance { pass: P::NAME, source })?;
        Ok(Changed { instance, placement: Placement::new(self.devices), line: passed.line })
    }
}
