//! Tensors that cross devices are shortened on the way.

use std::borrow::Cow;
use std::collections::HashMap;

use placebench_base::params::{Params, above};
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, DeviceId, KindSet, OpId, PlacedGraph, TensorId, TransferId};

use super::fuse::is_elementwise;
use crate::pass::{Kept, PassError};
use crate::placed_pass::{Changed, PlacedPass, PlacedRewrite};
use crate::rewrite::Draft;

/// Shortens the numbers of tensors that cross devices: an op behind the producer makes the short tensor, once for all devices that
/// receive it, and an op on each of these makes the long one again.
///
/// Both conversions read one of the tensors and write the other. They cost, for each byte that they read or write, what the
/// elementwise ops of the graph cost on the whole for theirs, in operations and in measured times; or what `cost` says. The
/// short and the long tensor are in memory together while a conversion runs. A tensor that would get no shorter goes as it is. An
/// input that an op takes twice counts twice.
///
/// A graph does not say what type its numbers have: all that cross are taken for `from` bits.
///
/// # Complexity
/// O(edges + transfers · log transfers).
///
/// # Reference
/// M. Abadi et al.: TensorFlow: large-scale machine learning on heterogeneous distributed systems, 2015, §5.5.
pub(super) struct Compress {
    bits: u32,
    from: u32,
    least: u64,
    cost: Option<f64>,
}

impl PlacedPass for Compress {
    const NAME: &'static str = "compress";
    const SUMMARY: &'static str = "shortens the numbers of tensors that cross devices, and makes them long again";
    const SOURCE: &'static str = "Abadi et al. 2015, §5.5";
    const KEEPS: &'static [Kept] = &[];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let pass = Self {
            bits: params.number("bits", 16, 1..=64, "bits of a number on the way")?,
            from: params.number("from", 32, 1..=64, "bits of a number before and after")?,
            least: params.number("least", 4096, 0.., "bytes of the smallest tensor that is worth it")?,
            cost: params.optional(
                "cost",
                above(0.0),
                "operations of a conversion for each byte that it reads or writes; by default as many as elementwise ops take",
            )?,
        };
        match pass.bits < pass.from {
            true => Ok(pass),
            false => Err(params.refuse("bits", pass.bits, format!("fewer than the {} of 'from'", pass.from))),
        }
    }

    fn apply(&self, placed: &PlacedGraph<'_>) -> Result<Changed, PassError> {
        let graph = placed.instance().graph();
        let is_worth = |bytes: u64| bytes > 0 && bytes >= self.least && self.short(bytes) < bytes;
        let carries = |id: &TransferId| placed.transfer(*id).tensor.is_some() && is_worth(placed.transfer(*id).bytes);
        // Where nothing is shortened, nobody asks what that costs.
        let price = match placed.transfer_ids().any(|id| carries(&id)) {
            true => self.price(graph)?,
            false => Price { ops: 0.0, times: Vec::new() },
        };
        let mut rewrite = PlacedRewrite::new(placed);
        let added = |name: Option<&str>, suffix: &str, tensors: [u64; 2]| -> Draft<'_> {
            let bytes = tensors[0] as f64 + tensors[1] as f64;
            Draft {
                ops: price.ops * bytes,
                memory_bytes: 0,
                bytes_moved: graph.has_bytes_moved().then_some(bytes),
                kinds: KindSet::ALL,
                times: price.times.iter().map(|&(class, rate)| (class, rate * bytes)).collect(),
                name: name.map(|name| Cow::Owned(format!("{name}/{suffix}"))),
                op_type: graph.op_types().map(|_| Cow::Borrowed("Cast")),
                layer: None,
                attributes: None,
                outputs: vec![tensors[1]],
                from: Vec::new(),
            }
        };
        let layer = |op: OpId| graph.layers().and_then(|layers| layers.get(op.index()));
        // The op that makes each tensor long again on each device that receives it.
        let mut long: HashMap<(TensorId, DeviceId), OpId> = HashMap::new();
        let (mut shortened, mut saved) = (0, 0u64);
        for op in graph.op_ids() {
            let mut short: Option<(TensorId, OpId)> = None;
            for transfer in placed.transfers_of(op).map(|id| placed.transfer(id)) {
                let Some(tensor) = transfer.tensor.filter(|_| is_worth(transfer.bytes)) else { continue };
                let (full, name) = (transfer.bytes, graph.name(op));
                let bytes = self.short(full);
                let source = match short {
                    Some((known, source)) if known == tensor => source,
                    _ => {
                        let draft = added(name, &format!("short_{}", graph.port(tensor)), [full, bytes]);
                        let source = rewrite.add(Draft { layer: layer(op), ..draft }, transfer.from);
                        let taken = rewrite.rewrite.builder.add_edge(op, graph.port(tensor), source);
                        taken.map_err(|source| PassError::Graph { pass: Self::NAME, source })?;
                        source
                    }
                };
                short = Some((tensor, source));
                let suffix = format!("long_{}_{}", graph.port(tensor), transfer.to.index());
                let draft = Draft { layer: layer(op), ..added(name, &suffix, [bytes, full]) };
                let target = rewrite.add(draft, transfer.to);
                let taken = rewrite.rewrite.builder.add_edge(source, 0, target);
                taken.map_err(|source| PassError::Graph { pass: Self::NAME, source })?;
                long.insert((tensor, transfer.to), target);
                shortened += 1;
                saved = saved.saturating_add(full - bytes);
            }
        }
        let made = rewrite.connect(|tensor, device| long.get(&(tensor, device)).copied());
        made.map_err(|source| PassError::Graph { pass: Self::NAME, source })?;
        let all = placed.transfers().iter().filter(|transfer| transfer.bytes > 0).count();
        rewrite.finish::<Self>(format!(
            "{shortened} of {all} transfers of data are shortened, {saved} of {} bytes less are sent",
            placed.traffic_bytes()
        ))
    }
}

/// What a conversion costs for each byte that it reads or writes.
struct Price<'g> {
    ops: f64,
    /// By class of devices.
    times: Vec<(&'g str, f64)>,
}

impl Compress {
    /// The size of a shortened tensor.
    fn short(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * u128::from(self.bits)).div_ceil(u128::from(self.from)) as u64
    }

    fn price<'g>(&self, graph: &'g DataflowGraph) -> Result<Price<'g>, PassError> {
        if let Some(ops) = self.cost {
            return Ok(Price { ops, times: Vec::new() });
        }
        let moved = |op: OpId| {
            let read = graph.predecessors(op).filter_map(|edge| edge.tensor);
            read.chain(graph.outputs(op)).map(|tensor| graph.tensor_bytes(tensor) as f64).sum::<f64>()
        };
        let elementwise: Vec<OpId> =
            graph.op_ids().filter(|&op| is_elementwise(graph, op) && moved(op) > 0.0).collect();
        // Each class has times of some ops: what was not measured there counts nowhere.
        let rate = |cost: &dyn Fn(OpId) -> Option<f64>| {
            let known = elementwise.iter().filter_map(|&op| Some((cost(op)?, moved(op))));
            let (cost, bytes) = known.fold((0.0, 0.0), |(cost, bytes), (more, of)| (cost + more, bytes + of));
            (bytes > 0.0).then(|| cost / bytes)
        };
        let times = graph.measured_times().iter();
        let times = times.filter_map(|times| Some((times.class(), rate(&|op| times.of(op))?))).collect();
        match rate(&|op| Some(graph.ops(op))) {
            Some(ops) => Ok(Price { ops, times }),
            None => Err(PassError::Refused {
                pass: Self::NAME,
                reason: "the graph has no elementwise ops that would tell what a conversion costs: give the operations for each \
                         byte that it reads or writes, as in 'compress(bits=16,cost=0.25)'"
                    .to_owned(),
            }),
        }
    }
}
