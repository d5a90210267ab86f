//! The costs of a family's ops, tensors and kinds: one model for all families, drawn or the family's own.

use placebench_base::params::{Params, above};
use placebench_base::spec::SpecError;
use placebench_datasets::{AssignmentUnits, DataflowGraph, KindSet, TensorId};

use crate::costs::{KindProbabilities, fill_blocks};
use crate::error::GeneratorError;
use crate::leveled::{ColocationParams, draw_groups};
use crate::random::{Purpose, stream};
use crate::sketch::Sketch;
use crate::unrelated::MachineTimes;
use crate::{Distribution, relation};

/// Where the costs of a family come from, unless a parameter says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From distributions.
    Drawn,
    /// From the family: flops and bytes that follow from what its ops do.
    Own,
}

/// The names of the parameters that all families of the table share; the last three where costs are drawn.
pub const COST_PARAMS: [&str; 15] = [
    "ops",
    "bytes",
    "memory",
    "moved",
    "times",
    "machines",
    "consistency",
    "correlation",
    "ccr",
    "cpu",
    "gpu",
    "tpu",
    "colocated",
    "group_exponent",
    "group_size",
];

/// The parameters that all families of the table share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpCosts {
    /// Cost of an op; `None` for the family's own.
    ops: Option<Distribution>,
    /// Size of a tensor; `None` for the family's own.
    bytes: Option<Distribution>,
    /// Resident memory of an op; `None` for the family's own.
    memory: Option<Distribution>,
    /// Bytes that an op reads from and writes to its device's memory; `None` for none.
    moved: Option<Distribution>,
    /// Times on unrelated machines.
    times: Option<MachineTimes>,
    /// Rank correlation of an op's cost with the size of its outputs.
    correlation: f64,
    /// Communication to computation.
    ccr: Option<f64>,
    kinds: KindProbabilities,
    colocation: ColocationParams,
}

impl OpCosts {
    pub(crate) fn new(params: &mut Params, source: Source) -> Result<Self, SpecError> {
        let ops = column(params, source, "ops", "cost of an op, in operations")?;
        let bytes = column(params, source, "bytes", "size of a tensor, in bytes")?;
        let memory = column(params, source, "memory", "resident memory of an op, in bytes")?;
        let doc = "bytes that an op reads from and writes to its device's memory: none, or a distribution";
        let parse = |text: &str| match text {
            "none" => Some(None),
            _ => text.parse().ok().map(Some),
        };
        let moved = params.value("moved", "none", "none or a distribution, such as uniform(1,100)", doc, parse)?;
        let times = MachineTimes::new(params)?;
        let doc = "Spearman's rank correlation of an op's cost with its tensors' sizes; sizes must be drawn";
        let correlation = params.number("correlation", 0.0, -1.0..=1.0, doc)?;
        if correlation != 0.0 {
            let varies = |law: &Option<Distribution>| law.is_some_and(|law| !law.is_constant());
            if !varies(&bytes) || ops.is_some_and(|law| law.is_constant()) {
                let expected = "0 unless 'bytes' and 'ops' vary and 'bytes' is a distribution";
                return Err(params.refuse("correlation", correlation, expected));
            }
        }
        let doc = "communication to computation: sizes are scaled until mean bytes an edge / mean cost an op is this, the \
                   ratio of times at 1 byte and 1 operation a time unit (with 'times', to the mean of those); none leaves \
                   sizes as they are";
        let ccr = params.optional("ccr", above(0.0), doc)?;
        let mut share = |kind, doc| params.number(kind, 0.0, 0.0..=1.0, doc);
        let kinds = KindProbabilities {
            cpu: share("cpu", "share of the ops that need a CPU")?,
            gpu: share("gpu", "share of the ops that need a GPU")?,
            tpu: share("tpu", "share of the ops that need a TPU")?,
        };
        if kinds.check().is_err() {
            let sum = kinds.cpu + kinds.gpu + kinds.tpu;
            return Err(params.refuse("cpu", kinds.cpu, format!("at most 1 together with gpu and tpu, not {sum}")));
        }
        let mut colocation = ColocationParams::default();
        if source == Source::Drawn {
            colocation = ColocationParams {
                nodes: params.number("colocated", 0, 0.., "ops in colocation groups")?,
                exponent: params.number("group_exponent", colocation.exponent, 0.0.., GROUPS)?,
                max_size: params.number("group_size", colocation.max_size, 2.., "largest colocation group")?,
            };
        }
        Ok(Self { ops, bytes, memory, moved, times, correlation, ccr, kinds, colocation })
    }

    /// Builds the graph and puts costs, kinds and groups on it.
    pub(crate) fn apply(&self, mut sketch: Sketch, seed: u64) -> Result<DataflowGraph, GeneratorError> {
        self.colocation.check(sketch.op_count() as u64)?;
        for (_, members) in draw_groups(&self.colocation, sketch.op_count(), seed).groups() {
            for pair in members.windows(2) {
                sketch.builder.colocate(pair[0], pair[1])?;
            }
        }
        let mut graph = sketch.builder.build()?;
        drop(sketch);
        if self.ops.is_some() || self.bytes.is_some() || self.memory.is_some() {
            let mut ops: Vec<f64> = graph.op_ids().map(|op| graph.ops(op)).collect();
            if let Some(law) = self.ops {
                fill_blocks(&mut ops, |rng, slots| law.fill(rng, slots), seed, Purpose::Ops);
            }
            let mut memory: Vec<u64> = graph.op_ids().map(|op| graph.memory_bytes(op)).collect();
            if let Some(law) = self.memory {
                fill_blocks(&mut memory, |rng, slots| law.fill(rng, slots), seed, Purpose::MemoryBytes);
            }
            let mut bytes: Vec<u64> =
                (0..graph.tensor_count()).map(|tensor| graph.tensor_bytes(TensorId::new(tensor))).collect();
            if let Some(law) = self.bytes {
                fill_blocks(&mut bytes, |rng, slots| law.fill(rng, slots), seed, Purpose::TensorBytes);
            }
            if self.correlation != 0.0 {
                let costs: Vec<f64> =
                    (0..bytes.len()).map(|tensor| ops[graph.producer(TensorId::new(tensor)).index()]).collect();
                relation::correlate(&costs, &mut bytes, self.correlation, &mut stream(seed, Purpose::Correlation, 0));
            }
            graph = graph.with_costs(ops, memory, bytes)?;
        }
        if let Some(law) = self.moved {
            let mut moved = vec![0.0; graph.op_count()];
            fill_blocks(&mut moved, |rng, slots| law.fill(rng, slots), seed, Purpose::BytesMoved);
            graph = graph.with_bytes_moved(Some(moved))?;
        }
        if let Some(times) = &self.times {
            graph = times.draw(&graph, seed)?;
        }
        if let Some(ccr) = self.ccr {
            graph = relation::scale_to_ccr(&graph, ccr)?;
        }
        if self.kinds != KindProbabilities::default() {
            let units = AssignmentUnits::new(&graph);
            let mut kinds = vec![KindSet::ALL; units.count()];
            fill_blocks(&mut kinds, |rng, slots| self.kinds.fill(rng, slots), seed, Purpose::Kinds);
            graph = graph.with_kinds(graph.op_ids().map(|op| kinds[units.unit_of(op).index()]).collect())?;
        }
        Ok(graph)
    }
}

const GROUPS: &str = "exponent of the power law of the sizes of colocation groups";

/// The parameter of a column: a distribution, or `own`.
fn column(
    params: &mut Params,
    source: Source,
    name: &'static str,
    doc: &str,
) -> Result<Option<Distribution>, SpecError> {
    let (default, expected) = match source {
        Source::Drawn => ("uniform(1,100)", "a distribution, such as uniform(1,100)"),
        Source::Own => ("own", "own (what the family says) or a distribution, such as uniform(1,100)"),
    };
    let parse = |text: &str| match (text, source) {
        ("own", Source::Own) => Some(None),
        _ => text.parse().ok().map(Some),
    };
    params.value(name, default, expected, &format!("{doc}: {expected}"), parse)
}
