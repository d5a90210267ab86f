//! Builds the graph of a pass op by op, and keeps from which old ops each comes.

use std::borrow::Cow;
use std::collections::HashSet;

use placebench_datasets::{Categories, DataflowGraph, GraphBuilder, GraphError, KindSet, OpId, OpSpec};

use crate::pass::{Origin, Pass, PassError, Passed};

/// An op that a pass is about to add: at first what an old one is.
#[derive(Clone, Debug)]
pub(crate) struct Draft<'g> {
    /// Cost in operations.
    pub(crate) ops: f64,
    /// Resident memory in bytes.
    pub(crate) memory_bytes: u64,
    /// Bytes moved, if the graph says.
    pub(crate) bytes_moved: Option<f64>,
    /// Kinds that it may run on.
    pub(crate) kinds: KindSet,
    /// Measured times by class of devices, ascending by class.
    pub(crate) times: Vec<(&'g str, f64)>,
    /// Its name, if ops have names.
    pub(crate) name: Option<Cow<'g, str>>,
    /// Its type, if it has one.
    pub(crate) op_type: Option<Cow<'g, str>>,
    /// Its layer, if it has one.
    pub(crate) layer: Option<&'g str>,
    /// Its attributes, if they are known.
    pub(crate) attributes: Option<&'g str>,
    /// Size of each output in bytes.
    pub(crate) outputs: Vec<u64>,
    /// The old ops that it comes from.
    pub(crate) from: Vec<OpId>,
}

impl<'g> Draft<'g> {
    /// An old op as it is.
    pub(crate) fn of(graph: &'g DataflowGraph, op: OpId) -> Self {
        let label = |labels: Option<&'g Categories>| labels.and_then(|labels| labels.get(op.index()));
        Self {
            ops: graph.ops(op),
            memory_bytes: graph.memory_bytes(op),
            bytes_moved: graph.bytes_moved(op),
            kinds: graph.kinds(op),
            times: graph.measured_times().iter().filter_map(|times| Some((times.class(), times.of(op)?))).collect(),
            name: graph.name(op).map(Cow::Borrowed),
            op_type: label(graph.op_types()).map(Cow::Borrowed),
            layer: label(graph.layers()),
            attributes: label(graph.attributes()),
            outputs: graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).collect(),
            from: vec![op],
        }
    }

    /// The op with its work times a factor: operations, times and bytes moved.
    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        self.ops *= factor;
        self.bytes_moved = self.bytes_moved.map(|bytes| bytes * factor);
        self.times.iter_mut().for_each(|(_, time)| *time *= factor);
        self
    }

    /// The op for one of `parts` parts of its batch: a part of its work, and of the bytes of its outputs but for those that are
    /// `undivided`, by tensor; none is if there is no such list. Its attributes are not known: which part of a range of numbers an op
    /// makes, say, its inputs do not tell.
    pub(crate) fn part_of(graph: &'g DataflowGraph, op: OpId, parts: usize, undivided: &[bool]) -> Self {
        let mut draft = Self::of(graph, op).scaled(1.0 / parts as f64);
        draft.memory_bytes = draft.memory_bytes.div_ceil(parts as u64);
        draft.attributes = draft.attributes.filter(|_| parts == 1);
        for (bytes, tensor) in draft.outputs.iter_mut().zip(graph.outputs(op)) {
            if !undivided.get(tensor.index()).copied().unwrap_or(false) {
                *bytes = bytes.div_ceil(parts as u64);
            }
        }
        draft
    }

    /// The op with something behind its name.
    pub(crate) fn suffixed(mut self, suffix: &str) -> Self {
        self.name = self.name.map(|name| Cow::Owned(format!("{name}/{suffix}")));
        self
    }
}

/// A graph under construction beside the one that it comes from.
pub(crate) struct Rewrite<'g> {
    old: &'g DataflowGraph,
    pub(crate) builder: GraphBuilder,
    origin: Origin,
    /// Names given so far.
    names: HashSet<String>,
}

impl<'g> Rewrite<'g> {
    pub(crate) fn new(old: &'g DataflowGraph) -> Self {
        Self { old, builder: GraphBuilder::default(), origin: Origin::default(), names: HashSet::new() }
    }

    /// Adds an op, without its edges and its group.
    pub(crate) fn add(&mut self, draft: Draft<'_>) -> OpId {
        let Draft { ops, memory_bytes, bytes_moved, kinds, times, name, op_type, layer, attributes, outputs, from } =
            draft;
        let name = name.map(|name| self.unused(name.into_owned()));
        let (name, op_type) = (name.as_deref(), op_type.as_deref());
        self.origin.push(from);
        let spec = OpSpec { ops, memory_bytes, bytes_moved, kinds, times: &times, name, op_type, layer, attributes };
        self.builder.add_op(spec, &outputs)
    }

    /// A name that no op has yet: with a number where a pass is applied again.
    fn unused(&mut self, name: String) -> String {
        let numbered = |number: u32| if number > 1 { format!("{name}_{number}") } else { name.clone() };
        let unused = (1..).map(numbered).find(|name| !self.names.contains(name)).unwrap_or_default();
        self.names.insert(unused.clone());
        unused
    }

    /// Adds the edges into an old op to the new one that stands for it, in the order of its inputs. `of` names the op that stands
    /// for a producer, and the port that stands for its port; where it names none, the edge is left out.
    ///
    /// # Errors
    /// If a new op lacks a port.
    pub(crate) fn connect(
        &mut self,
        old: OpId,
        new: OpId,
        mut of: impl FnMut(OpId, usize) -> Option<(OpId, usize)>,
    ) -> Result<(), GraphError> {
        for edge in self.old.predecessors(old) {
            let port = edge.tensor.map(|tensor| self.old.port(tensor));
            match (of(edge.op, port.unwrap_or(0)), port) {
                (Some((producer, port)), Some(_)) => self.builder.add_edge(producer, port, new)?,
                (Some((producer, _)), None) => self.builder.add_control_edge(producer, new)?,
                (None, _) => {}
            }
        }
        Ok(())
    }

    /// Colocates the new ops of each old group; `of` names those that stand for an old op.
    ///
    /// # Errors
    /// If a new op does not exist.
    pub(crate) fn colocate<I: IntoIterator<Item = OpId>>(&mut self, of: impl Fn(OpId) -> I) -> Result<(), GraphError> {
        for (_, members) in self.old.colocation().groups() {
            let mut first = None;
            for new in members.iter().flat_map(|&member| of(member)) {
                self.builder.colocate(*first.get_or_insert(new), new)?;
            }
        }
        Ok(())
    }

    /// The answer of a pass.
    ///
    /// # Errors
    /// If the new graph is refused.
    pub(crate) fn finish(mut self, line: String) -> Result<Passed, GraphError> {
        Ok(Passed { graph: self.builder.build()?, origin: self.origin, line })
    }
}

/// The error of a pass whose new graph is refused.
pub(crate) fn refused_by<P: Pass>(source: GraphError) -> PassError {
    PassError::Graph { pass: P::NAME, source }
}
