//! The parameters of training steps.

use placebench_base::parse_toml;
use serde::{Deserialize, Serialize};

use super::model::{Layer, Model};
use crate::error::{GeneratorError, check_probability};

/// Bytes of a gradient or weight, single precision.
pub const VALUE_BYTES: u64 = 4;
/// Bytes of the index that goes with a value that sparsification keeps.
pub const INDEX_BYTES: u64 = 4;

/// The parameters of data-parallel training steps.
///
/// ```
/// use placebench_generator::training_steps::{Sync, TrainingParams};
///
/// let params = TrainingParams::preset("tolstobrov9(workers=60)").unwrap().unwrap();
/// assert_eq!((params.workers, params.sync, params.period), (Some(60), Sync::Gossip, 16));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingParams {
    /// Number of workers. Default: with a cluster, its number of devices less the servers; without one, 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// The model; `layers` replaces it.
    pub model: Model,
    /// Examples that a worker handles in a step.
    pub batch: u32,
    /// Steps.
    pub steps: u32,
    /// How workers exchange gradients.
    pub sync: Sync,
    /// Parameter servers, each with an equal share of the model and a device of its own; only for `parameter_server`.
    pub servers: u32,
    /// Number of steps from one exchange to the next: Local-SGD(period); 1 is synchronous training.
    pub period: u32,
    /// What is left out of messages.
    pub compression: Compression,
    /// Share of the values that sparsification keeps.
    pub keep: f64,
    /// Bits of a value under quantization.
    pub bits: u32,
    /// How finely a step is cut into ops.
    pub detail: Detail,
    /// Operations to add one received value. 0 leaves time to latencies and rates alone.
    pub reduce_ops: f64,
    /// Layers of another model, first to last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
}

impl Default for TrainingParams {
    /// A synchronous step of T's network on 16 workers with batches of 100, exchanged by ring all-reduce.
    fn default() -> Self {
        Self {
            workers: None,
            model: Model::default(),
            batch: 100,
            steps: 1,
            sync: Sync::RingAllReduce,
            servers: 1,
            period: 1,
            compression: Compression::None,
            keep: 0.05,
            bits: 4,
            detail: Detail::Step,
            reduce_ops: 0.0,
            layers: Vec::new(),
        }
    }
}

/// How workers exchange gradients or weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// Workers send to servers, which add and send the new weights back (T §3.3.2).
    ParameterServer,
    /// All-reduce on a ring: a reduce-scatter and an all-gather of P − 1 steps each, in which every worker sends one
    /// P-th to its neighbour (T §3.3.2, Fig. 7).
    RingAllReduce,
    /// All-reduce by recursive doubling: in round r each worker exchanges the whole message with the worker whose
    /// number differs in bit r. Workers beyond a power of two send theirs to a neighbour first and get the result at
    /// the end.
    RecursiveDoubling,
    /// Worker i exchanges with i + s and i − s; s grows from 1 to P/2 and begins again (T Algorithm 2).
    Gossip,
}

/// What is left out of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// No compression: 4 bytes a value.
    None,
    /// All but the largest share `keep` of the values; each goes with its index (T Algorithm 3).
    Sparsification,
    /// All but `bits` bits of each value; a scale of 4 bytes goes with each message (T §3.3.3).
    Quantization,
}

/// How finely a step is cut into ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// One op a step; the whole model is exchanged at once when the step ends, as T's program does.
    Step,
    /// An op for each layer's forward and backward pass; a layer is exchanged as soon as its gradient is there, while
    /// earlier layers still compute.
    Layer,
}

impl TrainingParams {
    /// Names that [`TrainingParams::preset`] knows: `training_steps`, which are the defaults, and T's ten
    /// configurations.
    pub const PRESETS: [&'static str; 11] = [
        "training_steps",
        "tolstobrov1",
        "tolstobrov2",
        "tolstobrov3",
        "tolstobrov4",
        "tolstobrov5",
        "tolstobrov6",
        "tolstobrov7",
        "tolstobrov8",
        "tolstobrov9",
        "tolstobrov10",
    ];

    /// Reads and checks parameters in TOML.
    ///
    /// # Errors
    /// One line: the syntax error with its line, or the parameter that is wrong and what it must be.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let params: Self = parse_toml(text).map_err(|fault| fault.to_string())?;
        params.check().map_err(|error| error.to_string())?;
        Ok(params)
    }

    /// The layers of the model.
    pub fn model_layers(&self) -> Vec<Layer> {
        if self.layers.is_empty() { self.model.layers() } else { self.layers.clone() }
    }

    /// Weights and biases of the model.
    pub fn values(&self) -> u64 {
        self.model_layers().iter().map(|layer| layer.values).sum()
    }

    /// Number of workers.
    pub fn worker_count(&self) -> u32 {
        self.workers.unwrap_or(16)
    }

    /// Number of servers: none but under `parameter_server`.
    pub fn server_count(&self) -> u32 {
        if self.sync == Sync::ParameterServer { self.servers } else { 0 }
    }

    /// Devices that workers and servers take.
    pub fn device_count(&self) -> u32 {
        self.worker_count().saturating_add(self.server_count())
    }

    /// Sets the number of workers for a cluster of `devices` devices, if it is left open; at least one.
    pub fn for_devices(&self, devices: usize) -> Self {
        let devices = u32::try_from(devices).unwrap_or(u32::MAX);
        let workers = self.workers.unwrap_or_else(|| devices.saturating_sub(self.server_count()).max(1));
        Self { workers: Some(workers), ..self.clone() }
    }

    /// Bytes of a message of `values` values.
    pub fn message_bytes(&self, values: u64) -> u64 {
        match self.compression {
            Compression::None => values * VALUE_BYTES,
            Compression::Sparsification => (self.keep * values as f64).ceil() as u64 * (VALUE_BYTES + INDEX_BYTES),
            Compression::Quantization => (values * u64::from(self.bits)).div_ceil(8) + VALUE_BYTES,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is wrong, and what it must be.
    pub fn check(&self) -> Result<(), GeneratorError> {
        /// The rates and latencies of a cluster of this number of devices take 4 GiB.
        const MOST_WORKERS: u32 = 1 << 14;
        let counts = [
            ("workers", self.worker_count(), MOST_WORKERS),
            ("servers", self.servers, MOST_WORKERS),
            ("batch", self.batch, u32::MAX),
            ("steps", self.steps, u32::MAX),
            ("period", self.period, u32::MAX),
            ("bits", self.bits, 32),
        ];
        for (param, value, most) in counts {
            if !(1..=most).contains(&value) {
                return Err(GeneratorError::bad(param, value, format!("in [1, {most}]")));
            }
        }
        check_probability("keep", self.keep)?;
        if !(self.reduce_ops.is_finite() && self.reduce_ops >= 0.0) {
            return Err(GeneratorError::bad("reduce_ops", self.reduce_ops, "a finite number ≥ 0"));
        }
        let all_reduce = matches!(self.sync, Sync::RingAllReduce | Sync::RecursiveDoubling);
        if all_reduce && self.compression == Compression::Sparsification {
            let expected = "none or quantization with all-reduce: every worker keeps other values, so that sums have no \
                            fixed size; use gossip or parameter_server";
            return Err(GeneratorError::bad("compression", "sparsification", expected));
        }
        for layer in &self.layers {
            let costs = [layer.forward_ops, layer.backward()];
            if layer.name.is_empty() || costs.iter().any(|cost| !(cost.is_finite() && *cost >= 0.0)) {
                let value = format!("'{}' with {} and {} operations", layer.name, costs[0], costs[1]);
                return Err(GeneratorError::bad("layers", value, "layers with names and finite operations ≥ 0"));
            }
        }
        let mut names: Vec<&str> = self.layers.iter().map(|layer| layer.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(GeneratorError::bad("layers", format!("'{}' twice", pair[0]), "layers of different names"));
        }
        // Messages are counted in 64 bits, and so is their sum.
        if self
            .model_layers()
            .iter()
            .try_fold(0u64, |sum, layer| sum.checked_add(layer.values))
            .is_none_or(|values| values > 1 << 40)
        {
            return Err(GeneratorError::bad("layers", "more than 2^40 values", "a model of at most 2^40 values"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ten_configurations_are_those_of_the_source() {
        let all: Vec<_> = (1..=10)
            .map(|number| TrainingParams::preset(&format!("tolstobrov{number}")).unwrap().unwrap())
            .map(|params| {
                (params.period, params.sync == Sync::Gossip, params.compression == Compression::Sparsification)
            })
            .collect();
        let family = |period| [(period, false, false), (period, true, false), (period, true, true)];
        let expected: Vec<_> = [1, 4, 16].into_iter().flat_map(family).chain([(32, false, false)]).collect();
        assert_eq!(all, expected);
        assert!(TrainingParams::preset("tolstobrov11").is_none());
    }

    #[test]
    fn parameters_can_follow_the_name_and_mistakes_are_one_line() {
        let params = TrainingParams::preset("training_steps(workers=32, sync=gossip, keep=1, reduce_ops = 0.5)");
        let params = params.unwrap().unwrap();
        assert_eq!((params.workers, params.sync, params.keep, params.reduce_ops), (Some(32), Sync::Gossip, 1.0, 0.5));
        assert_eq!(TrainingParams::from_toml(&toml::to_string(&params).unwrap()).unwrap(), params);
        for (text, expected) in [
            ("training_steps(worker=3)", "'training_steps' has no parameter 'worker': did you mean 'workers'?"),
            ("training_steps(workers=0)", "'workers' is '0', but must be none or a whole number of at least 1"),
            ("training_steps(workers=20000)", "`workers` is 20000, but must be in [1, 16384]"),
            ("training_steps(workers=-1)", "'workers' is '-1'"),
            ("training_steps(sync=ring)", "'sync' is 'ring', but must be parameter_server, ring_all_reduce, "),
            ("training_steps(workers=3", "'training_steps(workers=3' is no name with parameters"),
            ("training_steps(workers)", "is no name with parameters"),
            ("training_steps(keep=2)", "'keep' is '2', but must be a number of at least 0 and at most 1"),
            ("training_steps(bits=33)", "'bits' is '33'"),
            ("training_steps(reduce_ops=-1)", "'reduce_ops' is '-1'"),
            ("tolstobrov1(compression=sparsification)", "`compression` is sparsification, but must be none or"),
        ] {
            let message = TrainingParams::preset(text).unwrap().unwrap_err();
            assert!(message.contains(expected) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_message_is_as_long_as_its_compression_leaves_it() {
        let params = |text| TrainingParams::preset(text).unwrap().unwrap();
        assert_eq!(params("training_steps").message_bytes(1000), 4000);
        let sparse = params("training_steps(sync=gossip, compression=sparsification)");
        assert_eq!(sparse.message_bytes(1000), 400);
        assert_eq!(params("training_steps(compression=quantization)").message_bytes(1001), 501 + 4);
    }
}
