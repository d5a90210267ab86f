//! Random clusters (L §6.2), the machine of B's experiments, and machines of today.

mod gtx1080;
mod today;
mod tolstobrov;

use placebench_base::{exactly_two, parse_toml};
use placebench_datasets::{Cluster, Device, DeviceId, Kind, Link, is_equal};
use serde::{Deserialize, Deserializer, Serialize};

pub use gtx1080::{gtx1080, gtx1080_one_cpu};
pub use today::{CLUSTER_FILES, ClusterFile};
pub use tolstobrov::{t_fast, t_slow};

use crate::Distribution;
use crate::error::{GeneratorError, check_probability};
use crate::random::{Purpose, below, stream, unit};

/// The parameters of a random cluster (L §6.2).
///
/// ```
/// use placebench_generator::{ClusterParams, generate_cluster};
///
/// let params = ClusterParams::from_toml("devices = 12\nkinds = { cpu = 0.5, gpu = 0.5 }\nlatency = 0.1").unwrap();
/// assert_eq!(generate_cluster(&params, 1).unwrap().device_count(), 12);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterParams {
    /// Number of devices.
    pub devices: u32,
    /// Probability of each kind of device; together 1.
    #[serde(default)]
    pub kinds: DeviceKinds,
    /// Whether the probabilities are shares that are met exactly, up to rounding, the kinds in random order.
    #[serde(default)]
    pub exact_kinds: bool,
    /// Speed of a device, in operations per time unit.
    #[serde(default = "default_speed")]
    pub speed: Distribution,
    /// Rate between each two devices, the same in both directions, in bytes per time unit.
    #[serde(default = "default_rate")]
    pub rate: Distribution,
    /// Memory of the cluster's fastest and of its slowest device, in bytes; in between it falls linearly with speed.
    /// Without, memory is unlimited.
    #[serde(default, deserialize_with = "memory_bounds", skip_serializing_if = "Option::is_none")]
    pub memory: Option<(u64, u64)>,
    /// Time until the first byte of a transfer arrives.
    #[serde(default)]
    pub latency: f64,
    /// What a send op costs its sender, in operations.
    #[serde(default)]
    pub send_ops: f64,
}

fn memory_bounds<'de, D: Deserializer<'de>>(input: D) -> Result<Option<(u64, u64)>, D::Error> {
    exactly_two(input).map(Some)
}

fn default_speed() -> Distribution {
    Distribution::Uniform { min: 10, max: 100 }
}

fn default_rate() -> Distribution {
    Distribution::Uniform { min: 10, max: 60 }
}

/// The probability of each kind of device. The default is L's: 60 % CPUs, 40 % GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceKinds {
    /// Probability of a CPU.
    #[serde(default)]
    pub cpu: f64,
    /// Probability of a GPU.
    #[serde(default)]
    pub gpu: f64,
    /// Probability of a TPU.
    #[serde(default)]
    pub tpu: f64,
}

impl Default for DeviceKinds {
    fn default() -> Self {
        Self { cpu: 0.6, gpu: 0.4, tpu: 0.0 }
    }
}

impl DeviceKinds {
    fn shares(&self) -> [f64; 3] {
        [self.cpu, self.gpu, self.tpu]
    }
}

impl ClusterParams {
    /// Names of the clusters that [`cluster_preset`] knows.
    pub const PRESETS: [&'static str; 29] = [
        "h100x8",
        "a100x8",
        "h100x8x4",
        "gb200_nvl72",
        "rtx4090x4",
        "tpu_v5e_4x4",
        "tpu_v5p_4x4x4",
        "mixed_generations",
        "edge",
        "laich100",
        "laich50",
        "laich7",
        "tiny3",
        "unrelated4",
        "unrelated8",
        "gtx1080x1",
        "gtx1080x2",
        "gtx1080x4",
        "gtx1080x8",
        "gpu2",
        "gpu4",
        "t_fast16",
        "t_fast32",
        "t_fast60",
        "t_fast210",
        "t_slow16",
        "t_slow32",
        "t_slow60",
        "t_slow210",
    ];

    /// `devices` devices as in L's evaluation, without memory limits.
    pub fn new(devices: u32) -> Self {
        Self {
            devices,
            kinds: DeviceKinds::default(),
            exact_kinds: false,
            speed: default_speed(),
            rate: default_rate(),
            memory: None,
            latency: 0.0,
            send_ops: 0.0,
        }
    }

    /// The parameters of a cluster of L's evaluation: `laich100` (L §7.1), `laich50` (L §7.2), `laich7` (L §7.3, three
    /// of seven devices GPUs); or `tiny3`, three devices with L's speeds and rates and unlimited memory, for graphs
    /// small enough to prove the optimum. `None` if there is no such preset.
    ///
    /// # Deviations
    /// L says that faster devices have less memory, but gives no sizes. Here the slowest device has three times the
    /// memory of the fastest, and the mean device has twice its share of what the largest of L's graphs, graph 6,
    /// claims (8.1 MB by L's size_est; see `DataflowGraph::demand_bytes`). So all of L's graphs fit: over six seeds
    /// graph 6 with a slack factor of 1.9 to 2.0 (1.5 to 2.2 on `laich7`), the others with 3.5 to 5.3 (2.8 to 5.6 on
    /// `laich7`).
    pub fn preset(name: &str) -> Option<Self> {
        /// Twice what graph 6 claims, in bytes.
        const TOTAL: u64 = 16_200_000;
        let (devices, kinds, exact_kinds) = match name {
            "laich100" => (100, DeviceKinds::default(), false),
            "laich50" => (50, DeviceKinds::default(), false),
            "laich7" => (7, DeviceKinds { cpu: 4.0 / 7.0, gpu: 3.0 / 7.0, tpu: 0.0 }, true),
            "tiny3" => return Some(Self::new(3)),
            _ => return None,
        };
        let mean = TOTAL / u64::from(devices);
        Some(Self { kinds, exact_kinds, memory: Some((mean / 2, mean / 2 * 3)), ..Self::new(devices) })
    }

    /// Reads and checks parameters in TOML.
    ///
    /// # Errors
    /// One line: the syntax error with its line, or the parameter that is wrong and what it must be.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let params: Self = parse_toml(text).map_err(|fault| fault.to_string())?;
        params.check().map_err(|error| error.to_string())?;
        Ok(params)
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is wrong, and what it must be.
    pub fn check(&self) -> Result<(), GeneratorError> {
        /// Rates and latencies take 16 bytes a pair: 4 GiB at this number.
        const MOST_DEVICES: u32 = 1 << 14;
        if !(1..=MOST_DEVICES).contains(&self.devices) {
            return Err(GeneratorError::bad("devices", self.devices, format!("in [1, {MOST_DEVICES}]")));
        }
        for (param, share) in ["kinds.cpu", "kinds.gpu", "kinds.tpu"].into_iter().zip(self.kinds.shares()) {
            check_probability(param, share)?;
        }
        let sum: f64 = self.kinds.shares().iter().sum();
        if !is_equal(sum, 1.0) {
            return Err(GeneratorError::bad("kinds", format!("{sum} in sum"), "probabilities that add up to 1"));
        }
        for (param, distribution) in [("speed", self.speed), ("rate", self.rate)] {
            let fault = distribution.check().err().or_else(|| {
                let zero = match distribution {
                    Distribution::Constant { value } => value == 0.0,
                    Distribution::Uniform { min, .. } => min == 0,
                    _ => false,
                };
                zero.then(|| "it can be 0".to_owned())
            });
            if let Some(fault) = fault {
                return Err(GeneratorError::bad(
                    param,
                    distribution,
                    format!("a distribution of numbers > 0 ({fault})"),
                ));
            }
        }
        if let Some((fastest, slowest)) = self.memory
            && fastest > slowest
        {
            let expected = "[of the fastest device, of the slowest], the first not larger: faster devices have less";
            return Err(GeneratorError::bad("memory", format!("[{fastest}, {slowest}]"), expected));
        }
        for (param, value) in [("latency", self.latency), ("send_ops", self.send_ops)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(GeneratorError::bad(param, value, "a finite number ≥ 0"));
            }
        }
        Ok(())
    }
}

/// Makes a random cluster. Devices are named by kind and number: `cpu0`, `gpu0`, `cpu1`, ….
///
/// Each kind with a probability > 0 gets at least one device, if there are enough devices: otherwise ops that need the
/// kind could not be placed.
///
/// # Errors
/// If a parameter makes no sense.
///
/// # Complexity
/// O(devices²).
pub fn generate_cluster(params: &ClusterParams, seed: u64) -> Result<Cluster, GeneratorError> {
    params.check()?;
    let count = params.devices as usize;
    let kinds = draw_kinds(params, seed);
    let mut speeds = vec![0.0f64; count];
    params.speed.fill(&mut stream(seed, Purpose::DeviceSpeeds, 0), &mut speeds);
    positive(&mut speeds);
    // Row a holds the rates to the devices before a, so that a larger cluster only adds rows.
    let rates: Vec<Vec<f64>> = (0..count)
        .map(|row| {
            let mut rates = vec![0.0f64; row];
            params.rate.fill(&mut stream(seed, Purpose::DeviceRates, row as u64), &mut rates);
            positive(&mut rates);
            rates
        })
        .collect();
    let mut numbers = [0; 3];
    let devices = kinds
        .iter()
        .zip(&speeds)
        .map(|(&kind, &speed)| {
            let number = &mut numbers[kind.index()];
            let name = format!("{}{number}", kind.name().to_ascii_lowercase());
            *number += 1;
            Device { name, kind, memory_bytes: memory_of(params.memory, speed, &speeds), speed }
        })
        .collect();
    let link = |from: DeviceId, to: DeviceId| {
        let (low, high) = (from.index().min(to.index()), from.index().max(to.index()));
        Link { rate: rates[high][low], latency: params.latency }
    };
    Ok(Cluster::new(devices, link)?.with_send_ops(params.send_ops)?)
}

/// A cluster by name, see [`ClusterParams::PRESETS`]: one of [`CLUSTER_FILES`]; L's clusters drawn with `seed`, or B's machine, which is the same
/// for every seed; `gtx1080x1` to `gtx1080x8` have its first GPUs; `unrelated4` or with any other number up to 1024 has
/// processors `p1`, `p2`, … of speed 1 and links of rate 1, for graphs that give each op a time on each; or the clusters for T, `t_fast16`, `t_slow60` or
/// with any other number of workers. `None` if there is no such preset.
///
/// # Errors
/// None for the presets there are; the type is that of the generator.
pub fn cluster_preset(name: &str, seed: u64) -> Option<Result<Cluster, GeneratorError>> {
    match name {
        "gpu2" => return Some(gtx1080_one_cpu(2)),
        "gpu4" => return Some(gtx1080_one_cpu(4)),
        _ => {}
    }
    if let Some(count) = name.strip_prefix("unrelated") {
        let count: usize = count.parse().ok().filter(|count| (1..=MOST_UNRELATED).contains(count))?;
        return Some(Ok(Cluster::unrelated(count, Link { rate: 1.0, latency: 0.0 }).ok()?));
    }
    if let Some(gpus) = name.strip_prefix("gtx1080x") {
        let gpus: u32 = gpus.parse().ok().filter(|gpus| (1..=8).contains(gpus))?;
        return Some(gtx1080(gpus));
    }
    if let Some(file) = CLUSTER_FILES.iter().find(|file| file.name == name) {
        return Some(file.cluster());
    }
    if let Some(cluster) = tolstobrov::named(name) {
        return Some(cluster);
    }
    ClusterParams::preset(name).map(|params| generate_cluster(&params, seed))
}

/// The most processors of a cluster `unrelated…`.
const MOST_UNRELATED: usize = 1024;

/// Rounding can make a sample 0, which a speed or rate must not be.
fn positive(values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value = value.max(f64::MIN_POSITIVE));
}

fn memory_of(memory: Option<(u64, u64)>, speed: f64, speeds: &[f64]) -> Option<u64> {
    let (of_fastest, of_slowest) = memory?;
    let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    let fastest = speeds.iter().copied().fold(0.0, f64::max);
    let slowness = if fastest > slowest { (fastest - speed) / (fastest - slowest) } else { 0.5 };
    Some(of_fastest + ((of_slowest - of_fastest) as f64 * slowness).round() as u64)
}

fn draw_kinds(params: &ClusterParams, seed: u64) -> Vec<Kind> {
    let rng = &mut stream(seed, Purpose::DeviceKinds, 0);
    let count = params.devices as usize;
    let shares = params.kinds.shares();
    let mut kinds: Vec<Kind> = if params.exact_kinds {
        let mut kinds = exact_kinds(&shares, count);
        for position in (1..count).rev() {
            kinds.swap(position, below(rng, position as u64 + 1) as usize);
        }
        kinds
    } else {
        (0..count)
            .map(|_| {
                let at = unit(rng);
                if at < shares[0] {
                    Kind::Cpu
                } else if at < shares[0] + shares[1] || shares[2] == 0.0 {
                    Kind::Gpu
                } else {
                    Kind::Tpu
                }
            })
            .collect()
    };
    let wanted: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| shares[kind.index()] > 0.0).collect();
    for &missing in &wanted {
        if count < wanted.len() || kinds.contains(&missing) {
            continue;
        }
        // It replaces a device of the commonest kind.
        let commonest = Kind::ALL.into_iter().max_by_key(|kind| kinds.iter().filter(|&other| other == kind).count());
        let places: Vec<usize> = (0..count).filter(|&device| Some(kinds[device]) == commonest).collect();
        kinds[places[below(rng, places.len() as u64) as usize]] = missing;
    }
    kinds
}

/// How many devices each kind gets by its share. Shares are rounded down; the largest remainders get what is left.
fn exact_kinds(shares: &[f64; 3], count: usize) -> Vec<Kind> {
    let exact = shares.map(|share| share * count as f64);
    let mut counts = exact.map(|number| (number + 1e-9) as usize);
    let mut by_remainder = Kind::ALL;
    let remainder = |kind: Kind| exact[kind.index()] - exact[kind.index()].floor();
    by_remainder.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)));
    let left = count.saturating_sub(counts.iter().sum());
    for kind in by_remainder.into_iter().filter(|kind| shares[kind.index()] > 0.0).cycle().take(left) {
        counts[kind.index()] += 1;
    }
    Kind::ALL.into_iter().flat_map(|kind| std::iter::repeat_n(kind, counts[kind.index()])).collect()
}
