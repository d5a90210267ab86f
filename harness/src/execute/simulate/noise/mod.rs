//! Costs that vary: what an op or a transfer takes is its cost times a random factor.

use std::fmt;
use std::str::FromStr;

use placebench_base::params::Params;
use placebench_base::spec::{ParamSpec, Spec, SpecError};
use placebench_datasets::{DeviceId, Instance, OpId, TensorId, Transfer, splitmix64};
use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::execute::OrderMode;

/// By how much costs vary between runs of one placement.
///
/// Each number is a coefficient of variation: the standard deviation of a factor whose mean is 1 and whose logarithm is normal.
/// The factors of an op multiply: its own, that of its type and that of its device. So do those of a transfer: its own and that
/// of its link. What a device does to send and to receive ([`Cluster::send_time`](placebench_datasets::Cluster::send_time)) has
/// the factors of the device and of the transfer. A device that straggles takes `slowdown` times as long for all that it does
/// in a draw; this alone makes the mean larger than 1.
///
/// Placers and schedulers know the costs, not the factors.
///
/// # Reference
/// Schedules are compared by their makespans under random costs of ops and transfers in L.-C. Canon, E. Jeannot, *Evaluation and
/// Optimization of the Robustness of DAG Schedules in Heterogeneous Environments*, IEEE TPDS 21(4), 2010,
/// doi:10.1109/TPDS.2009.84. Devices that straggle: J. Dean, L. A. Barroso, *The Tail at Scale*, CACM 56(2), 2013,
/// doi:10.1145/2408776.2408794.
///
/// # Example
/// ```
/// use placebench_harness::execute::simulate::Noise;
/// let noise: Noise = "op=0.1,straggler=0.01,draws=1000".parse().unwrap();
/// assert_eq!((noise.op, noise.transfer, noise.slowdown, noise.draws), (0.1, 0.0, 2.0, 1000));
/// // A number alone is for ops and transfers.
/// assert_eq!("0.1".parse::<Noise>(), "op=0.1,transfer=0.1".parse());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Of each op, in each draw.
    pub op: f64,
    /// Of all ops of one type, in each draw: what a model of costs has wrong.
    pub op_type: f64,
    /// Of all that a device does, in each draw: a draw is a step.
    pub device: f64,
    /// Of each transfer, in each draw.
    pub transfer: f64,
    /// Of all transfers from one device to another, in each draw.
    pub link: f64,
    /// The chance that a device straggles in a draw.
    pub straggler: f64,
    /// How many times as long a device that straggles takes.
    pub slowdown: f64,
    /// How many runs are drawn.
    pub draws: u32,
    /// Whether devices keep the order of the run without noise, or the scheduler decides anew in each draw. The scheduler
    /// `static` keeps its order in either case.
    pub order: OrderMode,
}

/// The largest coefficient of variation: beyond, a few draws decide the mean.
const MOST: f64 = 10.0;

impl Noise {
    /// The name of what executes under noise, in front of its parameters, in tables.
    const NAME: &str = "noise";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let mut variation = |name: &'static str, doc: &str| params.number(name, 0.0, 0.0..=MOST, doc);
        let noise = Self {
            op: variation("op", "variation of each op")?,
            op_type: variation("type", "variation of all ops of a type")?,
            device: variation("device", "variation of all that a device does in a draw")?,
            transfer: variation("transfer", "variation of each transfer")?,
            link: variation("link", "variation of all transfers from a device to another in a draw")?,
            straggler: params.number("straggler", 0.0, 0.0..=1.0, "chance that a device straggles in a draw")?,
            slowdown: params.number("slowdown", 2.0, 1.0..=1e6, "how many times as long it takes then")?,
            draws: params.number("draws", 100, 1..=1_000_000, "runs drawn")?,
            order: params.value(
                "order",
                OrderMode::Dynamic.name(),
                "dynamic or replay",
                "dynamic: the scheduler decides anew in each draw; replay: devices keep the order of the run without noise",
                |word| word.parse().ok(),
            )?,
        };
        let varies = [noise.op, noise.op_type, noise.device, noise.transfer, noise.link, noise.straggler];
        if varies.iter().all(|&variation| variation == 0.0) {
            return Err(
                params.refuse_together("nothing varies: give one of op, type, device, transfer, link, straggler")
            );
        }
        Ok(noise)
    }

    /// One draw of those of a seed. Draws of one seed are the same for all placements of a graph: an op has the same factors
    /// wherever it runs, but for that of the device.
    pub fn draw(&self, seed: u64, draw: u32) -> CostFactors {
        CostFactors { noise: *self, seed: splitmix64(splitmix64(seed) ^ u64::from(draw)) }
    }

    /// The parameters that users may give.
    pub fn params() -> Vec<ParamSpec> {
        let mut params = Params::none();
        // That nothing varies is no reason not to say what could.
        let _ = Self::new(&mut params);
        params.declared()
    }

    /// What executes under this noise, as tables name it.
    pub fn executor(&self) -> String {
        format!("{}({self})", Self::NAME)
    }
}

impl fmt::Display for Noise {
    /// As users write it: what is not the default; a number alone if just ops and transfers vary, and equally.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alone = Self { op: self.op, transfer: self.op, ..NONE };
        if self.op > 0.0 && *self == alone {
            return f.pad(&self.op.to_string());
        }
        let mut parts = Vec::new();
        let mut add = |name: &str, value: &dyn fmt::Display, differs: bool| {
            if differs {
                parts.push(format!("{name}={value}"));
            }
        };
        add("op", &self.op, self.op > 0.0);
        add("type", &self.op_type, self.op_type > 0.0);
        add("device", &self.device, self.device > 0.0);
        add("transfer", &self.transfer, self.transfer > 0.0);
        add("link", &self.link, self.link > 0.0);
        add("straggler", &self.straggler, self.straggler > 0.0);
        add("slowdown", &self.slowdown, self.slowdown != NONE.slowdown);
        add("draws", &self.draws, self.draws != NONE.draws);
        add("order", &self.order, self.order != NONE.order);
        f.pad(&parts.join(","))
    }
}

/// The defaults.
const NONE: Noise = Noise {
    op: 0.0,
    op_type: 0.0,
    device: 0.0,
    transfer: 0.0,
    link: 0.0,
    straggler: 0.0,
    slowdown: 2.0,
    draws: 100,
    order: OrderMode::Dynamic,
};

impl FromStr for Noise {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let list = match text.trim().parse::<f64>() {
            Ok(number) => format!("op={number},transfer={number}"),
            Err(_) => text.to_owned(),
        };
        let spec: Spec = format!("{}({list})", Self::NAME).parse().map_err(|error| match error {
            SpecError::Syntax { .. } => {
                let ways = "a number, for ops and transfers, or parameter=value, …, as in op=0.1,device=0.05";
                SpecError::Together {
                    owner: Self::NAME.to_owned(),
                    reason: format!("'{text}' is no noise: write {ways}"),
                }
            }
            error => error,
        })?;
        spec.check_names(&Self::params())?;
        Self::new(&mut Params::of(&spec))
    }
}

impl Serialize for Noise {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Noise {
    /// A text as users write it, or a number alone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "give noise as a number, as in 0.1, or as a text, as in \"op=0.1,device=0.05\"")]
        enum Given {
            Number(f64),
            Text(String),
        }
        let text = match Given::deserialize(deserializer)? {
            Given::Number(number) => number.to_string(),
            Given::Text(text) => text,
        };
        text.parse().map_err(de::Error::custom)
    }
}

/// The factors of one draw. They follow from what varies, not from the order of the run.
#[derive(Clone, Copy, Debug)]
pub struct CostFactors {
    noise: Noise,
    seed: u64,
}

/// What has a factor: each kind draws from a stream of its own.
#[derive(Clone, Copy)]
enum Factor {
    Op = 1,
    Type,
    Device,
    Straggler,
    Transfer,
    Link,
}

impl CostFactors {
    /// How much longer an op takes on a device than it costs.
    pub fn op_factor(&self, instance: &Instance, op: OpId, device: DeviceId) -> f64 {
        let types = instance.graph().op_types().filter(|_| self.noise.op_type > 0.0);
        let of_type = types.and_then(|types| types.number(op.index()));
        let of_type = of_type.map_or(1.0, |number| self.factor(self.noise.op_type, Factor::Type, &[number as u64]));
        self.factor(self.noise.op, Factor::Op, &[op.0.into()]) * of_type * self.slowness(device)
    }

    /// How much longer all takes that a device does.
    pub fn slowness(&self, device: DeviceId) -> f64 {
        let straggles = self.noise.straggler > 0.0 && {
            // 53 bits, as fine as floats are.
            let uniform = (self.hash(Factor::Straggler, &[device.0.into()]) >> 11) as f64 / (1u64 << 53) as f64;
            uniform < self.noise.straggler
        };
        let slowdown = if straggles { self.noise.slowdown } else { 1.0 };
        slowdown * self.factor(self.noise.device, Factor::Device, &[device.0.into()])
    }

    /// How much longer a transfer takes. All that moves one tensor, or one op's control signal, to one device has the same factor.
    pub fn stretch(&self, transfer: &Transfer) -> f64 {
        let Transfer { source, tensor, from, to, .. } = *transfer;
        let what = tensor.map_or(u64::MAX - u64::from(source.0), |TensorId(tensor)| tensor.into());
        let link = self.factor(self.noise.link, Factor::Link, &[from.0.into(), to.0.into()]);
        self.factor(self.noise.transfer, Factor::Transfer, &[what, to.0.into()]) * link
    }

    fn factor(&self, variation: f64, kind: Factor, of: &[u64]) -> f64 {
        if variation == 0.0 {
            return 1.0;
        }
        // It exists: the mean is above 0, and the variation finite.
        let distribution = LogNormal::from_mean_cv(1.0, variation);
        distribution.map_or(1.0, |normal| normal.sample(&mut Pcg64Mcg::seed_from_u64(self.hash(kind, of))))
    }

    fn hash(&self, kind: Factor, of: &[u64]) -> u64 {
        of.iter().fold(splitmix64(self.seed ^ kind as u64), |hash, &part| splitmix64(hash ^ part))
    }
}
