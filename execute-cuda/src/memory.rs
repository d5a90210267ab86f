//! Where the tensors of a run lie in the memory of each device. Nothing here calls CUDA.

use std::collections::BTreeMap;

use placebench_algorithms::Task;
use placebench_datasets::{PlacedGraph, TensorId, TransferId};

/// Every buffer starts at a multiple of this many bytes, as `cuMemAlloc`'s do.
pub const ALIGNMENT: u64 = 256;

/// A place for each tensor: in one region of memory a device, as offsets in bytes.
///
/// The resident memory of ops, the tensors that a device receives and those that it sends have places of their own during
/// the whole step, since copies run beside the ops. A tensor that stays on its device gives its place to others after the
/// last op that reads it: ops of a device run one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    produced: Vec<u64>,
    received: Vec<u64>,
    device_bytes: Vec<u64>,
}

impl MemoryPlan {
    /// Finds places by first fit, in the order of execution. `order` is what [`CommandPlan::new`](crate::plan::CommandPlan::new) accepts.
    ///
    /// # Complexity
    /// O(ops + edges + transfers + tensors · gaps), with as many gaps as tensors at worst.
    pub fn new(placed: &PlacedGraph<'_>, order: &[Task]) -> Self {
        let graph = placed.instance().graph();
        let mut regions = vec![Region::default(); placed.instance().cluster().device_count()];
        for op in graph.op_ids() {
            regions[placed.device_of(op).index()].take_for_good(graph.memory_bytes(op));
        }
        let received = placed
            .transfers()
            .iter()
            .map(|transfer| regions[transfer.to.index()].take_for_good(transfer.bytes))
            .collect();
        let mut is_sent = vec![false; graph.tensor_count()];
        for transfer in placed.transfers() {
            if let Some(tensor) = transfer.tensor {
                is_sent[tensor.index()] = true;
            }
        }
        // How many local uses of each tensor, one an edge, are still to come.
        let mut uses = vec![0_u32; graph.tensor_count()];
        for (op, edge) in graph.edges() {
            if let Some(tensor) = edge.tensor
                && placed.device_of(op) == placed.device_of(edge.op)
            {
                uses[tensor.index()] += 1;
            }
        }
        let mut produced = vec![0; graph.tensor_count()];
        for &task in order {
            let Task::Op(op) = task else { continue };
            let region = &mut regions[placed.device_of(op).index()];
            for tensor in graph.outputs(op) {
                produced[tensor.index()] = region.take(graph.tensor_bytes(tensor));
            }
            // Outputs that nobody reads are dead when their op ends, as are inputs that it was the last to read.
            for tensor in graph.outputs(op) {
                if uses[tensor.index()] == 0 && !is_sent[tensor.index()] {
                    region.give_back(produced[tensor.index()], graph.tensor_bytes(tensor));
                }
            }
            for edge in graph.predecessors(op) {
                let Some(tensor) = edge.tensor else { continue };
                if placed.device_of(edge.op) == placed.device_of(op) {
                    uses[tensor.index()] -= 1;
                    if uses[tensor.index()] == 0 && !is_sent[tensor.index()] {
                        region.give_back(produced[tensor.index()], graph.tensor_bytes(tensor));
                    }
                }
            }
        }
        let device_bytes = regions.iter().map(|region| region.end).collect();
        Self { produced, received, device_bytes }
    }

    /// Where a tensor lies on the device that produces it.
    pub fn produced(&self, tensor: TensorId) -> u64 {
        self.produced[tensor.index()]
    }

    /// Where a received tensor lies on the receiver.
    pub fn received(&self, transfer: TransferId) -> u64 {
        self.received[transfer.index()]
    }

    /// How many bytes each device needs.
    pub fn device_bytes(&self) -> &[u64] {
        &self.device_bytes
    }
}

/// The memory of a device: `0..end`, with gaps that are free again.
#[derive(Clone, Debug, Default)]
struct Region {
    end: u64,
    /// Length of each gap by its offset. Neighbours are joined.
    gaps: BTreeMap<u64, u64>,
}

fn aligned(bytes: u64) -> u64 {
    bytes.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT)
}

impl Region {
    fn take_for_good(&mut self, bytes: u64) -> u64 {
        let offset = self.end;
        self.end = self.end.saturating_add(aligned(bytes));
        offset
    }

    fn take(&mut self, bytes: u64) -> u64 {
        let bytes = aligned(bytes);
        if bytes == 0 {
            return 0;
        }
        let Some((&offset, &length)) = self.gaps.iter().find(|&(_, &length)| length >= bytes) else {
            // The last gap may reach the end: grow it.
            if let Some((&offset, &length)) = self.gaps.last_key_value()
                && offset + length == self.end
            {
                self.gaps.remove(&offset);
                self.end = offset.saturating_add(bytes);
                return offset;
            }
            return self.take_for_good(bytes);
        };
        self.gaps.remove(&offset);
        if length > bytes {
            self.gaps.insert(offset + bytes, length - bytes);
        }
        offset
    }

    fn give_back(&mut self, offset: u64, bytes: u64) {
        let (mut offset, mut length) = (offset, aligned(bytes));
        if length == 0 {
            return;
        }
        if let Some((&before, &gap)) = self.gaps.range(..offset).next_back()
            && before + gap == offset
        {
            self.gaps.remove(&before);
            (offset, length) = (before, gap + length);
        }
        if let Some(gap) = self.gaps.remove(&(offset + length)) {
            length += gap;
        }
        self.gaps.insert(offset, length);
    }
}
