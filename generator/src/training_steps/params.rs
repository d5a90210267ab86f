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
    /// Number of workers. Default: as many as the mixing matrix has rows, for each of a split; without a matrix the devices of
    /// the cluster less the servers, or 16 without a cluster, in whole groups.
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
    /// Parameter servers, each with an equal share of the model and a device of its own; for `parameter_server`,
    /// `asynchronous` and `stale_synchronous`.
    pub servers: u32,
    /// Exchanges that a worker may be ahead of the slowest; for `stale_synchronous`.
    pub staleness: u32,
    /// Who sends to whom under `gossip`; `matrix` replaces it.
    pub mixing: Mixing,
    /// The mixing matrix K of `gossip`, row by row: worker i adds K\[i\]\[j\] of worker j's gradient, and j sends it nothing
    /// if that is 0. Every row adds up to 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matrix: Vec<Vec<f64>>,
    /// Workers that share a model, `P_r`: each has as many of each layer's neurons (model parallelism). The `P_c` = workers /
    /// split groups of them exchange gradients (data parallelism). 1: every worker has the whole model.
    pub split: u32,
    /// How many times as long step t takes the straggler, worker t mod workers, its local update included. 1: nobody.
    pub straggler: f64,
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
            staleness: 1,
            mixing: Mixing::Partners,
            matrix: Vec::new(),
            split: 1,
            straggler: 1.0,
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
    /// Each worker sends its gradient to some of the others: see [`Mixing`] (T §3.3.2).
    Gossip,
    /// Each worker exchanges with servers on its own and waits for nobody (T §3.3.1).
    Asynchronous,
    /// As `asynchronous`, but servers answer a worker only when the others are at most `staleness` exchanges behind it: a
    /// staleness of 0 is `parameter_server`, one of all exchanges is `asynchronous` (T §3.3.1; Q. Ho et al., *More Effective
    /// Distributed ML via a Stale Synchronous Parallel Parameter Server*, NIPS 2013).
    StaleSynchronous,
}

impl Sync {
    /// Whether workers exchange through servers.
    pub fn has_servers(self) -> bool {
        matches!(self, Self::ParameterServer | Self::Asynchronous | Self::StaleSynchronous)
    }
}

/// Who sends to whom under gossip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mixing {
    /// Worker i exchanges with i + s and i − s; s grows from 1 to P/2 and begins again (T Algorithm 2).
    Partners,
    /// Worker i exchanges with i + 1 and i − 1: the matrix that T §3.3.2 prints.
    Ring,
    /// All with all: one exchange makes all models the same.
    Complete,
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
        self.workers.unwrap_or_else(|| self.open_workers(16))
    }

    /// Workers where their number is left open and `room` would do: as many as the matrix says, else whole groups.
    fn open_workers(&self, room: u32) -> u32 {
        let split = self.split.max(1);
        match self.matrix.len() {
            0 => (room / split).max(1).saturating_mul(split),
            groups => u32::try_from(groups).unwrap_or(u32::MAX).saturating_mul(split),
        }
    }

    /// Number of servers: none where workers exchange among themselves.
    pub fn server_count(&self) -> u32 {
        if self.sync.has_servers() { self.servers } else { 0 }
    }

    /// Groups of workers that have a model together, `P_c`; they exchange gradients.
    pub fn group_count(&self) -> u32 {
        self.worker_count() / self.split
    }

    /// Devices that workers and servers take.
    pub fn device_count(&self) -> u32 {
        self.worker_count().saturating_add(self.server_count())
    }

    /// Sets the number of workers for a cluster of `devices` devices, if it is left open; at least one.
    pub fn for_devices(&self, devices: usize) -> Self {
        let devices = u32::try_from(devices).unwrap_or(u32::MAX);
        let room = devices.saturating_sub(self.server_count());
        let workers = self.workers.unwrap_or_else(|| self.open_workers(room));
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
            ("split", self.split, self.worker_count()),
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
        if !(self.straggler.is_finite() && self.straggler >= 1.0) {
            return Err(GeneratorError::bad("straggler", self.straggler, "a finite number ≥ 1"));
        }
        let unused = [
            ("staleness", self.staleness != 1 && self.sync != Sync::StaleSynchronous, "`sync` stale_synchronous"),
            ("mixing", self.mixing != Mixing::Partners && self.sync != Sync::Gossip, "`sync` gossip"),
        ];
        if let Some((param, _, needs)) = unused.into_iter().find(|(_, is_unused, _)| *is_unused) {
            return Err(GeneratorError::bad(param, "given", format!("left out, or {needs}")));
        }
        self.check_split()?;
        self.check_matrix()?;
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

impl TrainingParams {
    /// Checks what a model that several workers share needs.
    fn check_split(&self) -> Result<(), GeneratorError> {
        if self.split == 1 {
            return Ok(());
        }
        if !self.worker_count().is_multiple_of(self.split) {
            let expected = format!("a divisor of the number of workers, {}", self.worker_count());
            return Err(GeneratorError::bad("split", self.split, expected));
        }
        if self.detail != Detail::Layer {
            return Err(GeneratorError::bad("detail", "step", "layer with a split: workers share each layer"));
        }
        // All messages of a layer together must be counted in 64 bits.
        let most = (1u64 << 40) / u64::from(self.batch).max(1);
        if let Some(layer) = self.model_layers().iter().find(|layer| layer.outputs > most) {
            let value = format!("'{}' with {} outputs for each of {} examples", layer.name, layer.outputs, self.batch);
            return Err(GeneratorError::bad("layers", value, "layers of at most 2^40 outputs in a batch"));
        }
        if let Some(layer) = self.model_layers().iter().find(|layer| layer.outputs == 0) {
            let value = format!("'{}' without outputs", layer.name);
            return Err(GeneratorError::bad("layers", value, "layers with outputs: workers that share one send them"));
        }
        Ok(())
    }

    /// Checks the mixing matrix.
    fn check_matrix(&self) -> Result<(), GeneratorError> {
        /// What sums of rounded numbers may differ by.
        const TOLERANCE: f64 = 1e-9;
        if self.matrix.is_empty() {
            return Ok(());
        }
        let groups = self.group_count() as usize;
        if self.sync != Sync::Gossip {
            return Err(GeneratorError::bad("matrix", "given", "left out, or `sync` gossip"));
        }
        if self.mixing != Mixing::Partners {
            return Err(GeneratorError::bad(
                "mixing",
                "given beside `matrix`",
                "left out: the matrix says who sends to whom",
            ));
        }
        let expected = format!("{groups} rows of {groups} numbers, as many as exchange");
        if self.matrix.len() != groups {
            return Err(GeneratorError::bad("matrix", format!("a matrix of {} rows", self.matrix.len()), expected));
        }
        if let Some((number, row)) = (1..).zip(&self.matrix).find(|(_, row)| row.len() != groups) {
            let value = format!("a matrix whose row {number} has {} numbers", row.len());
            return Err(GeneratorError::bad("matrix", value, expected));
        }
        for (number, row) in (1..).zip(&self.matrix) {
            let sum: f64 = row.iter().sum();
            if row.iter().any(|weight| !(weight.is_finite() && *weight >= 0.0)) || (sum - 1.0).abs() > TOLERANCE {
                let value = format!("row {number} with a sum of {sum}");
                return Err(GeneratorError::bad("matrix", value, "rows of finite numbers ≥ 0 that add up to 1"));
            }
        }
        Ok(())
    }

    /// The mixing matrix K of gossip at an exchange, from 0: row i has the weights with which worker i adds the gradients of
    /// all (T §3.3.2). With a split, rows are of groups.
    ///
    /// # Complexity
    /// O(P²) with P workers.
    ///
    /// # Example
    /// ```
    /// use placebench_generator::training_steps::{Mixing, Sync, TrainingParams};
    ///
    /// let params = TrainingParams { workers: Some(4), sync: Sync::Gossip, mixing: Mixing::Ring, ..Default::default() };
    /// let third = 1.0 / 3.0;
    /// assert_eq!(params.mixing_matrix(0)[0], [third, third, 0.0, third]);
    /// ```
    pub fn mixing_matrix(&self, exchange: u32) -> Vec<Vec<f64>> {
        if !self.matrix.is_empty() {
            return self.matrix.clone();
        }
        let count = self.group_count() as usize;
        let row = |worker: usize| {
            let mut row = vec![0.0; count];
            match self.mixing {
                Mixing::Complete => row.fill(1.0 / count as f64),
                Mixing::Partners | Mixing::Ring => {
                    // Two partners that are one worker count twice.
                    for partner in [
                        worker,
                        partner(worker, count, self.distance(exchange), false),
                        partner(worker, count, self.distance(exchange), true),
                    ] {
                        row[partner] += 1.0 / 3.0;
                    }
                }
            }
            row
        };
        (0..count).map(row).collect()
    }

    /// How far away the two partners of gossip are.
    pub(super) fn distance(&self, exchange: u32) -> usize {
        match self.mixing {
            Mixing::Ring | Mixing::Complete => 1,
            Mixing::Partners => exchange as usize % (self.group_count() as usize / 2).max(1) + 1,
        }
    }
}

/// The worker that is `distance` before or after another on a circle of `count`.
pub(super) fn partner(worker: usize, count: usize, distance: usize, after: bool) -> usize {
    let distance = distance % count;
    if after { (worker + distance) % count } else { (worker + count - distance) % count }
}

/// The longest period of Local-SGD for which convergence is proven: T^(1/4) / N^(3/4) with T iterations in all and N
/// workers (T §3.3.1, after H. Yu, S. Yang, S. Zhu, *Parallel Restarted SGD with Faster Convergence and Less Communication*,
/// AAAI 2019). Below 1 not even an exchange after every iteration is covered.
///
/// # Example
/// ```
/// use placebench_generator::training_steps::longest_period;
///
/// // A million iterations on 16 workers.
/// assert!((longest_period(1_000_000, 16) - 3.953).abs() < 1e-3);
/// ```
pub fn longest_period(iterations: u64, workers: u32) -> f64 {
    (iterations as f64).powf(0.25) / f64::from(workers).powf(0.75)
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
            ("training_steps(workers=16, split=3)", "`split` is 3, but must be a divisor of the number of workers, 16"),
            ("training_steps(workers=16, split=32)", "`split` is 32, but must be in [1, 16]"),
            ("training_steps(split=4)", "`detail` is step, but must be layer with a split"),
            ("training_steps(straggler=0.5)", "'straggler' is '0.5', but must be"),
            ("training_steps(mixing=rings)", "'mixing' is 'rings', but must be partners, ring or complete"),
            ("tolstobrov1(compression=sparsification)", "`compression` is sparsification, but must be none or"),
        ] {
            let message = TrainingParams::preset(text).unwrap().unwrap_err();
            assert!(message.contains(expected) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_matrix_or_a_layer_that_makes_no_sense_is_one_line() {
        let said = |text: &str| TrainingParams::from_toml(text).unwrap_err();
        let gossip = "workers = 2\nsync = 'gossip'\n";
        assert!(TrainingParams::from_toml(&format!("{gossip}matrix = [[0.5, 0.5], [0, 1]]")).is_ok());
        for (matrix, expected) in [
            ("[[1.0]]", "`matrix` is a matrix of 1 rows, but must be 2 rows of 2 numbers, as many as exchange"),
            ("[[1.0, 0], [1]]", "`matrix` is a matrix whose row 2 has 1 numbers, but must be 2 rows of 2 numbers"),
            ("[[1, 0], [0, 1]]\nmixing = 'ring'", "`mixing` is given beside `matrix`, but must be left out"),
            ("[[0.5, 0.5], [0.5, 0.6]]", "`matrix` is row 2 with a sum of 1.1, but must be rows of finite numbers ≥ 0"),
            ("[[0.5, 0.5], [-1, 2]]", "`matrix` is row 2 with a sum of 1, but must be"),
            ("[[0.5, 0.5], [nan, 1]]", "`matrix` is row 2 with a sum of NaN, but must be"),
        ] {
            assert!(
                said(&format!("{gossip}matrix = {matrix}")).contains(expected),
                "{}",
                said(&format!("{gossip}matrix = {matrix}"))
            );
        }
        let other = said("workers = 1\nmatrix = [[1.0]]");
        assert!(other.contains("`matrix` is given, but must be left out, or `sync` gossip"), "{other}");
        let layers =
            "workers = 2\nsplit = 2\ndetail = 'layer'\nlayers = [{ name = 'a', values = 1, forward_ops = 1.0 }]";
        assert!(said(layers).contains("'a' without outputs"), "{}", said(layers));
        let many = layers.replace("values = 1", "values = 1, outputs = 9223372036854775807");
        assert!(said(&many).contains("layers of at most 2^40 outputs in a batch"), "{}", said(&many));
        assert!(
            said("staleness = 3").contains("`staleness` is given, but must be left out, or `sync` stale_synchronous")
        );
        assert!(said("mixing = 'ring'").contains("`mixing` is given, but must be left out, or `sync` gossip"));
    }

    #[test]
    fn an_open_number_of_workers_fits_the_matrix_and_the_split() {
        let params = |text: &str| TrainingParams::from_toml(text).unwrap();
        let matrix = params("sync = 'gossip'\nmatrix = [[0.5, 0.5], [0.5, 0.5]]");
        assert_eq!((matrix.worker_count(), matrix.for_devices(9).worker_count()), (2, 2));
        let split = params("split = 3\ndetail = 'layer'");
        let on = |devices| split.for_devices(devices).worker_count();
        assert_eq!((split.worker_count(), on(6), on(7), on(2)), (15, 6, 6, 3));
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
