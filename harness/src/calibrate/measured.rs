//! What a driver measured of the devices that it runs steps on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::execute::simulate::Noise;

/// What `python3 -m placebench_extract calibrate NAME` answers, and what is measured of `threads`. All times are seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The devices, in the order of their ids.
    pub devices: Vec<MeasuredDevice>,
    /// Each distinct equation of the graphs, or kernel and size.
    pub equations: Vec<Equation>,
    /// The graphs.
    pub graphs: Vec<MeasuredGraph>,
    /// What a tensor takes from one device to another, one entry an ordered pair and size.
    pub transfers: Vec<MeasuredTransfer>,
    /// What processors did in steps of random graphs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<MeasuredStep>,
    /// Several pairs of devices that send at once, without pause.
    pub flows: Vec<Flow>,
    /// By how much times vary from run to run, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<MeasuredNoise>,
}

/// A machine's own noise, as coefficients of variation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredNoise {
    /// Of each op.
    pub op: f64,
    /// Of all that a device does in a step.
    pub device: f64,
    /// Of each transfer.
    pub transfer: f64,
}

impl MeasuredNoise {
    /// What simulates it, in thousandths; `None` if nothing varies.
    pub fn simulated(&self) -> Option<Noise> {
        let Self { op, device, transfer } = *self;
        format!("op={op:.3},device={device:.3},transfer={transfer:.3}").parse().ok()
    }
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDevice {
    /// Its name.
    pub name: String,
    /// Its kind: `cpu`, `gpu` or `tpu`.
    pub kind: String,
    /// Its memory, if it is known.
    pub memory_bytes: Option<u64>,
    /// What an op takes beside its kernel, where no step of a graph says it.
    #[serde(default)]
    pub op_overhead_seconds: Option<f64>,
}

/// An equation: what ops compute that have the same type, shapes and parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Equation {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The operations that it counts.
    pub operations: f64,
    /// By device name, its median time within a step that runs on this device alone.
    pub step_seconds: BTreeMap<String, f64>,
}

/// A graph whose step was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredGraph {
    /// A name of the catalogue, or a folder of the extractor.
    pub graph: String,
    /// The equation of each op; `None` for an argument, which takes no time.
    pub ops: Vec<Option<usize>>,
    /// By device name, what a step takes there beyond its equations, for each op. Noise can make it negative.
    pub op_overhead_seconds: BTreeMap<String, f64>,
}

/// Tensors of one size from one device to another, sent one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredTransfer {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// The size.
    pub bytes: u64,
    /// Time that a tensor takes of the sender's processor.
    pub sender_seconds: f64,
    /// Time that a tensor takes of the receiver's processor.
    pub receiver_seconds: f64,
    /// Least and median time from the end of the op that made a tensor until an op can read it.
    pub one_way_seconds: [f64; 2],
}

/// What a device did in one step of a random graph, placed at random on it and one peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredStep {
    /// The device.
    pub device: usize,
    /// The other one.
    pub peer: usize,
    /// Tensors that the device sent to its peer.
    pub sends: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Tensors that it received.
    pub receives: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Processor time of the device.
    pub busy_seconds: f64,
    /// What its ops took of that. The rest was for transfers.
    pub op_seconds: f64,
}

/// Pairs that send at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Sender and receiver of each.
    pub pairs: Vec<[usize; 2]>,
    /// Size of a tensor.
    pub bytes: u64,
    /// Time of a tensor, while all pairs send.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_noise_is_what_simulations_take_in_thousandths() {
        let noise = MeasuredNoise { op: 0.0342, device: 0.0, transfer: 0.2108 };
        assert_eq!(noise.simulated().unwrap().to_string(), "op=0.034,transfer=0.211");
        assert_eq!(MeasuredNoise { op: 0.0, device: 0.0004, transfer: 0.0 }.simulated(), None);
    }
}
