//! What executes on the GPU: the kernel that stands for an op, the one that holds a step back, and matrix products of a given
//! size. Nothing here calls CUDA.

use placebench_datasets::{OpId, PlacedGraph, TensorId, splitmix64};

use crate::memory::MemoryPlan;
use crate::plan::arrivals;

/// The kernels `execute_op` and `hold_back` as PTX text, which the driver compiles for the GPU that is there: sm_60 (Pascal)
/// and later.
pub const PTX: &str = include_str!("kernels.ptx");

/// Threads of the one block that executes `execute_op`.
pub const THREADS: u32 = 32;

/// Largest side of a matrix in a product: larger ops are several products.
pub const LARGEST_SIDE: u32 = 4096;

/// Matrix products that take about as many floating-point operations as an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Products {
    /// Rows and columns of the result.
    pub side: u32,
    /// Length of the sums.
    pub depth: u32,
    /// How many products, one after another.
    pub count: u32,
}

impl Products {
    /// Products of `operations` floating-point operations, two for each multiplication and addition. `None` below one such
    /// pair. Their number of operations differs by less than 1/16 of it from 1,000 operations on.
    pub fn of(operations: f64) -> Option<Self> {
        let pairs = operations / 2.0;
        if pairs < 1.0 {
            return None;
        }
        let largest = f64::from(LARGEST_SIDE);
        let count = (pairs / largest.powi(3)).ceil().clamp(1.0, f64::from(u32::MAX));
        let each = pairs / count;
        let side = each.cbrt().floor().clamp(1.0, largest);
        let depth = (each / (side * side)).round().clamp(1.0, 2.0 * largest);
        Some(Self { side: side as u32, depth: depth as u32, count: count as u32 })
    }

    /// How many floating-point operations they take.
    pub fn operations(self) -> f64 {
        2.0 * f64::from(self.side).powi(2) * f64::from(self.depth) * f64::from(self.count)
    }
}

/// Eight bytes in the memory of a device, and what stands there when the tensor that holds them is complete: `mark` plus the
/// number of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Offset in the device's region of memory, in bytes.
    pub offset: u64,
    /// What is written there, less the number of the step.
    pub mark: u64,
}

/// What each op checks and writes, op by op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// What stands in the inputs of each op on its device.
    pub inputs: Vec<Vec<Mark>>,
    /// What each op writes into its outputs.
    pub outputs: Vec<Vec<Mark>>,
}

/// The first and last eight bytes of a tensor, aligned to eight. Tensors of less than eight bytes bear no mark.
fn marks_of(tensor: TensorId, offset: u64, bytes: u64) -> impl Iterator<Item = Mark> {
    let last = bytes.saturating_sub(8) & !7;
    let places = [(bytes >= 8).then_some(0), (last > 0).then_some(last)];
    places
        .into_iter()
        .flatten()
        .map(move |place| Mark { offset: offset + place, mark: splitmix64(splitmix64(u64::from(tensor.0)) ^ place) })
}

impl Marks {
    /// The marks of a placed graph whose tensors lie where `memory` says.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub fn new(placed: &PlacedGraph<'_>, memory: &MemoryPlan) -> Self {
        let graph = placed.instance().graph();
        let arrivals = arrivals(placed);
        let inputs = |op: OpId| {
            let local = graph.predecessors(op).filter(|edge| placed.device_of(edge.op) == placed.device_of(op));
            let mut local: Vec<TensorId> = local.filter_map(|edge| edge.tensor).collect();
            local.sort_unstable();
            local.dedup();
            let local = local
                .into_iter()
                .flat_map(|tensor| marks_of(tensor, memory.produced(tensor), graph.tensor_bytes(tensor)));
            let remote = arrivals[op.index()].iter().flat_map(|&id| {
                let transfer = placed.transfer(id);
                transfer
                    .tensor
                    .into_iter()
                    .flat_map(move |tensor| marks_of(tensor, memory.received(id), transfer.bytes))
            });
            local.chain(remote).collect()
        };
        let outputs = |op: OpId| {
            graph
                .outputs(op)
                .flat_map(|tensor| marks_of(tensor, memory.produced(tensor), graph.tensor_bytes(tensor)))
                .collect()
        };
        Self { inputs: graph.op_ids().map(inputs).collect(), outputs: graph.op_ids().map(outputs).collect() }
    }
}
