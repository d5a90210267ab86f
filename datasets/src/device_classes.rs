//! Devices on which an op's time is known without asking which of them it is.

use std::sync::Arc;

use crate::measured_times::time_at;
use crate::{Cluster, DataflowGraph, DeviceId, Kind, KindSet, OpId, Time};

/// Devices of one kind on which each op either takes the same given time or its operations divided by the speed of the device.
///
/// The devices of a cluster are of one such class a kind, unless a graph has measured times for some of them alone, or
/// rooflines ([`crate::Roofline`]) give them times that are no quotient of operations and speed.
#[derive(Clone, Debug)]
pub struct DeviceClass {
    /// Their kind.
    pub kind: Kind,
    /// The devices, ascending.
    pub devices: Vec<DeviceId>,
    /// By op, NaN where operations and speed tell the time. `None` if they tell it for every op.
    given: Option<Arc<[f64]>>,
}

impl DeviceClass {
    /// The time that an op takes on each of the devices, whatever their speed; without what they add to every op.
    #[inline]
    pub fn given_time(&self, op: OpId) -> Option<Time> {
        time_at(self.given.as_deref()?, op)
    }

    /// Whether some op has a given time.
    pub fn has_given_times(&self) -> bool {
        self.given.is_some()
    }
}

/// The devices of a cluster, sorted into classes for a graph.
#[derive(Clone, Debug)]
pub struct DeviceClasses {
    classes: Vec<DeviceClass>,
    /// By device.
    class_of: Vec<u32>,
}

/// What decides into which class a device comes, in the order of classes. Numbers of devices have no part in it.
type Nature<'a> = (Kind, &'a str, [u64; 3]);

impl DeviceClasses {
    /// The classes of a cluster's devices for a graph: by kind, then by the name of their class, then by speed.
    ///
    /// # Complexity
    /// O(devices · classes), and O(ops) for each class with a roofline.
    pub fn new(graph: &DataflowGraph, cluster: &Cluster) -> Self {
        let natures: Vec<Nature<'_>> = cluster.device_ids().map(|device| nature(graph, cluster, device)).collect();
        let mut kinds_of: Vec<Nature<'_>> = natures.clone();
        kinds_of.sort_unstable();
        kinds_of.dedup();
        let class_of: Vec<u32> =
            natures.iter().map(|nature| kinds_of.binary_search(nature).unwrap_or_default() as u32).collect();
        let class = |number: usize| {
            let members = cluster.device_ids().filter(|device| class_of[device.index()] as usize == number);
            let devices: Vec<DeviceId> = members.collect();
            DeviceClass { kind: kinds_of[number].0, given: given_times(graph, cluster, devices[0]), devices }
        };
        Self { classes: (0..kinds_of.len()).map(class).collect(), class_of }
    }

    /// Number of classes.
    #[inline]
    pub fn count(&self) -> usize {
        self.classes.len()
    }

    /// All classes, ascending by kind.
    pub fn all(&self) -> &[DeviceClass] {
        &self.classes
    }

    /// The classes of these kinds with their numbers, ascending.
    pub fn of_kinds(&self, kinds: KindSet) -> impl Iterator<Item = (usize, &DeviceClass)> + Clone {
        self.classes.iter().enumerate().filter(move |(_, class)| kinds.contains(class.kind))
    }

    /// The number of a device's class.
    #[inline]
    pub fn number(&self, device: DeviceId) -> usize {
        self.class_of[device.index()] as usize
    }

    /// The class of a device.
    #[inline]
    pub fn of(&self, device: DeviceId) -> &DeviceClass {
        &self.classes[self.number(device)]
    }

    /// Whether some op has a given time on some device.
    pub fn have_given_times(&self) -> bool {
        self.classes.iter().any(DeviceClass::has_given_times)
    }
}

fn nature<'a>(graph: &DataflowGraph, cluster: &'a Cluster, device: DeviceId) -> Nature<'a> {
    let kind = cluster.device(device).kind;
    let class = cluster.class(device);
    let name = if graph.measured_on(class).is_some() { class } else { "" };
    match limits(graph, cluster, device) {
        None => (kind, name, [0; 3]),
        Some(limits) => (kind, name, [limits.speed, limits.matrix_speed, limits.bandwidth].map(f64::to_bits)),
    }
}

/// The numbers of a device with a roofline.
struct Limits {
    speed: f64,
    matrix_speed: f64,
    /// Infinite if there is none, or the graph does not say what its ops move.
    bandwidth: f64,
}

/// What limits ops on a device; `None` if it is the speed alone, for every op of the graph.
fn limits(graph: &DataflowGraph, cluster: &Cluster, device: DeviceId) -> Option<Limits> {
    let (speed, roofline) = (cluster.device(device).speed, cluster.roofline(device));
    let matrix_speed = roofline.matrix_speed.filter(|_| graph.op_types().is_some());
    let bandwidth = roofline.memory_bandwidth.filter(|_| graph.has_bytes_moved());
    if matrix_speed.is_none() && bandwidth.is_none() {
        return None;
    }
    let (matrix_speed, bandwidth) = (matrix_speed.unwrap_or(speed), bandwidth.unwrap_or(f64::INFINITY));
    Some(Limits { speed, matrix_speed, bandwidth })
}

fn given_times(graph: &DataflowGraph, cluster: &Cluster, device: DeviceId) -> Option<Arc<[f64]>> {
    let measured = graph.measured_on(cluster.class(device));
    let Some(limits) = limits(graph, cluster, device) else {
        return measured.map(|times| Arc::clone(times.shared()));
    };
    let is_matrix: Vec<bool> = graph
        .op_types()
        .map_or_else(Vec::new, |types| types.labels().iter().map(|label| is_matrix_op(label)).collect());
    let time = |op: OpId| {
        if let Some(time) = measured.and_then(|times| times.of(op)) {
            return time;
        }
        let label = graph.op_types().and_then(|types| types.number(op.index()));
        let rate = if label.is_some_and(|label| is_matrix[label]) { limits.matrix_speed } else { limits.speed };
        (graph.ops(op) / rate).max(graph.bytes_moved(op).unwrap_or(0.0) / limits.bandwidth)
    };
    Some(graph.op_ids().map(time).collect())
}

/// Whether ops of a type are what matrix units do: products of matrices, convolutions, attention and recurrent cells, by the
/// names that TensorFlow, JAX, PyTorch, ONNX and the generator have for them. A namespace (`aten::`), an overload
/// (`.default`), capitals and `_` make no difference. Convolutions of single channels (`DepthwiseConv2d`) are none: they move
/// more than they compute.
/// Of an op that a pass made of several (`MatMul+BiasAdd`) one of them has to be such.
pub fn is_matrix_op(op_type: &str) -> bool {
    op_type.split('+').any(is_one_matrix_op)
}

fn is_one_matrix_op(op_type: &str) -> bool {
    const NAMES: [&str; 20] = [
        "mm",
        "bmm",
        "addmm",
        "addbmm",
        "baddbmm",
        "linear",
        "dense",
        "syrk",
        "trsm",
        "lstm",
        "gru",
        "cell",
        "xladotv2",
        // Of the generator's families.
        "project",
        "projection",
        "scores",
        "context",
        "expand",
        "forward",
        "backward",
    ];
    const PARTS: [&str; 8] =
        ["matmul", "gemm", "einsum", "dotgeneral", "raggeddot", "attention", "attend", "feedforward"];
    let name = op_type.rsplit("::").next().unwrap_or_default();
    let name = name.strip_prefix("aten.").unwrap_or(name);
    let name = name.split('.').next().unwrap_or_default();
    let name: String = name.chars().filter(|&character| character != '_').collect::<String>().to_lowercase();
    let bare = ["fused", "qlinear"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    let is_convolution = bare.starts_with("conv") && !bare.starts_with("convert");
    is_convolution || NAMES.contains(&bare) || PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_multiplies_matrices_is_known_by_the_names_of_all_frameworks() {
        for op_type in [
            "MatMul",
            "BatchMatMulV2",
            "dot_general",
            "conv_general_dilated",
            "Conv",
            "Conv2DBackpropFilter",
            "_FusedConv2D",
            "_FusedMatMul",
            "BiasAdd+MatMul+Relu",
            "FeedForwardGradient",
            "aten::mm",
            "aten.mm.default",
            "aten::addmm",
            "aten::linear",
            "aten::conv2d",
            "aten.convolution.default",
            "aten::_scaled_dot_product_flash_attention",
            "Gemm",
            "GEMM",
            "Einsum",
            "XlaEinsum",
            "XlaDotV2",
            "QLinearMatMul",
            "QLinearConv",
            "ConvTranspose",
            "Attention",
            "fused_attend",
            "fused_attend_grouped_backward",
            "ragged_dot",
            "LSTM",
            "SYRK",
            "TRSM",
            "Cell",
            "Project",
            "Projection",
            "Scores",
            "Context",
            "Expand",
            "Forward",
            "Backward",
            "linear",
        ] {
            assert!(is_matrix_op(op_type), "{op_type}");
        }
        for op_type in [
            "Add",
            "add",
            "Softmax",
            "convert_element_type",
            "Const",
            "Convert",
            "DepthwiseConv2dNative",
            "ReLU",
            "aten::add.Tensor",
            "fused_adam",
            "fused_gelu",
            "Norm",
            "reduce_sum",
            "mul",
            "aten.mul.Tensor",
            "gather",
            "POTRF",
            "",
        ] {
            assert!(!is_matrix_op(op_type), "{op_type}");
        }
    }
}
