//! The cluster: devices and what it costs to move bytes between them (L §2.2, §6.2).

use std::sync::Arc;

use placebench_base::process::{NotEnoughMemory, check_memory};

use crate::measured_times::{CLASS_NAMES, is_class_name};
use crate::{DeviceId, Kind, Link, SharedLinks, Time, Topology, TransferOverheads};

/// A processor that runs one op at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Unique name.
    pub name: String,
    /// Kind of processor.
    pub kind: Kind,
    /// Memory in bytes; `None` is unlimited.
    pub memory_bytes: Option<u64>,
    /// Operations per time unit.
    pub speed: f64,
}

/// What limits an op on a device beside [`Device::speed`], after the roofline model (Williams, Waterman and Patterson 2009,
/// Communications of the ACM 52(4)): matrix units, and the bandwidth of the device's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Roofline {
    /// Operations per time unit of ops that matrix units do (see [`crate::is_matrix_op`]); `None`: as all others.
    pub matrix_speed: Option<f64>,
    /// Bytes per time unit that the device reads from and writes to its own memory; `None`: no limit.
    pub memory_bandwidth: Option<f64>,
}

impl Roofline {
    /// No limit beside the speed.
    pub const NONE: Self = Self { matrix_speed: None, memory_bandwidth: None };
}

/// Why a cluster cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClusterError {
    /// There is no device.
    #[error("a cluster needs at least one device")]
    Empty,
    /// A device's speed is not a finite positive number.
    #[error("device '{device}' has speed {speed}: it must be a finite number > 0")]
    BadSpeed {
        /// The device.
        device: String,
        /// Its speed.
        speed: f64,
    },
    /// A limit of a device is not a finite positive number.
    #[error("device '{device}' has {name} {value}: it must be a finite number > 0")]
    BadRoofline {
        /// The device.
        device: String,
        /// Which number of [`Roofline`].
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// A class of devices has a name that cannot be part of a column's name, or that of another kind.
    #[error("device '{device}' is of class '{class}': {remedy}")]
    BadClass {
        /// The device.
        device: String,
        /// Its class.
        class: String,
        /// What to do.
        remedy: String,
    },
    /// Two devices share a name.
    #[error("two devices are named '{0}': give each its own name")]
    RepeatedName(String),
    /// A rate is not positive, or a latency negative or not finite.
    #[error(
        "the link from '{from}' to '{to}' has rate {rate} and latency {latency}: rates must be > 0, latencies finite and ≥ 0"
    )]
    BadLink {
        /// Sender.
        from: String,
        /// Receiver.
        to: String,
        /// Rate given.
        rate: f64,
        /// Latency given.
        latency: f64,
    },
    /// The cost of a send op is negative or not finite.
    #[error("send_ops is {0}: it must be a finite number ≥ 0")]
    BadSendOps(f64),
    /// What a device adds to each op is negative or not finite.
    #[error("device '{device}' has op_overhead {overhead}: it must be a finite number ≥ 0")]
    BadOpOverhead {
        /// The device.
        device: String,
        /// Its overhead.
        overhead: Time,
    },
    /// An overhead of transfers is negative or not finite.
    #[error("{name} from '{from}' to '{to}' is {value}: it must be a finite number ≥ 0")]
    BadTransferOverhead {
        /// Which of [`TransferOverheads::NAMES`].
        name: &'static str,
        /// Sender.
        from: String,
        /// Receiver.
        to: String,
        /// Its value.
        value: Time,
    },
    /// Its pairs of devices do not fit into memory.
    #[error(transparent)]
    Memory(#[from] NotEnoughMemory),
    /// A cluster's topology does not connect or describe its devices.
    #[error(transparent)]
    Topology(#[from] crate::TopologyError),
}

/// Devices, rate and latency for every ordered pair of them, and what ops and transfers cost devices beside.
///
/// # Memory
/// 16 bytes a pair of devices, 32 more where transfers have overheads, and [`SharedLinks`]: 280 kB for 100 devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    devices: Vec<Device>,
    /// By device: whose measured times it has.
    classes: Vec<Arc<str>>,
    /// By device.
    rooflines: Vec<Roofline>,
    /// Row-major by sender; infinite on the diagonal.
    rates: Vec<f64>,
    /// Row-major by sender; 0 on the diagonal.
    latencies: Vec<Time>,
    send_ops: f64,
    /// By device.
    op_overheads: Vec<Time>,
    /// Row-major by sender; `None` if all are 0.
    transfer_overheads: Option<Vec<TransferOverheads>>,
    topology: Option<Topology>,
    shared_links: SharedLinks,
    is_in_seconds: bool,
}

/// Asks for memory for something of each ordered pair of devices.
pub(crate) fn check_pairs(devices: usize, bytes: usize) -> Result<(), NotEnoughMemory> {
    let pairs = (devices as u64).saturating_mul(devices as u64);
    check_memory(&[(pairs, bytes as u64)], || format!("a cluster of {devices} devices"))
}

/// The class of the processor at a position, from 0, in a matrix of times, task by processor: `p1`, `p2`, ….
pub fn processor_class(position: usize) -> String {
    format!("p{}", position + 1)
}

impl Cluster {
    /// A cluster in which `link` gives rate and latency for each ordered pair of different devices.
    ///
    /// # Errors
    /// No device, repeated names, a speed or rate that is not positive, a negative latency, more pairs than fit into memory.
    pub fn new(devices: Vec<Device>, mut link: impl FnMut(DeviceId, DeviceId) -> Link) -> Result<Self, ClusterError> {
        let n = devices.len();
        if n == 0 {
            return Err(ClusterError::Empty);
        }
        for device in &devices {
            if !(device.speed.is_finite() && device.speed > 0.0) {
                return Err(ClusterError::BadSpeed { device: device.name.clone(), speed: device.speed });
            }
        }
        let mut names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ClusterError::RepeatedName(pair[0].to_owned()));
        }
        check_pairs(n, 16)?;
        let mut rates = vec![f64::INFINITY; n * n];
        let mut latencies = vec![0.0; n * n];
        for from in 0..n {
            for to in (0..n).filter(|&to| to != from) {
                let Link { rate, latency } = link(DeviceId::new(from), DeviceId::new(to));
                if rate.is_nan() || rate <= 0.0 || !latency.is_finite() || latency < 0.0 {
                    let (from, to) = (devices[from].name.clone(), devices[to].name.clone());
                    return Err(ClusterError::BadLink { from, to, rate, latency });
                }
                rates[from * n + to] = rate;
                latencies[from * n + to] = latency;
            }
        }
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        let shared_links = SharedLinks::ports(&names, &rates, |_| true);
        Ok(Self {
            classes: devices.iter().map(|device| device.kind.class().into()).collect(),
            rooflines: vec![Roofline::NONE; n],
            devices,
            rates,
            latencies,
            send_ops: 0.0,
            op_overheads: vec![0.0; n],
            transfer_overheads: None,
            topology: None,
            shared_links,
            is_in_seconds: false,
        })
    }

    /// A cluster whose pair rates follow from a topology: the least rate and the sum of latencies along each route.
    ///
    /// # Errors
    /// As [`Cluster::new`]; also if two devices are not connected, or the topology counts other devices.
    pub fn from_topology(devices: Vec<Device>, topology: Topology) -> Result<Self, ClusterError> {
        let n = devices.len();
        check_pairs(n, size_of::<Link>())?;
        let (links, shared_links) = topology.routes(n)?;
        let mut cluster = Self::new(devices, |from, to| links[from.index() * n + to.index()])?;
        (cluster.topology, cluster.shared_links) = (Some(topology), shared_links);
        Ok(cluster)
    }

    /// `count` equal devices with equal links: `d0`, `d1`, ….
    ///
    /// # Errors
    /// As [`Cluster::new`].
    pub fn uniform(count: usize, kind: Kind, speed: f64, link: Link) -> Result<Self, ClusterError> {
        let devices =
            (0..count).map(|device| Device { name: format!("d{device}"), kind, memory_bytes: None, speed }).collect();
        Self::new(devices, |_, _| link)
    }

    /// `count` processors `p1`, `p2`, … of speed 1 with equal links, each of a class of its own ([`processor_class`]): for
    /// graphs that give each op a time on each (unrelated machines).
    ///
    /// # Errors
    /// As [`Cluster::new`].
    pub fn unrelated(count: usize, link: Link) -> Result<Self, ClusterError> {
        let classes: Vec<String> = (0..count).map(processor_class).collect();
        let device = |name: &String| Device { name: name.clone(), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
        let cluster = Self::new(classes.iter().map(device).collect(), |_, _| link)?;
        cluster.with_classes(|device| &classes[device.index()])
    }

    /// Names the class of each device, by which graphs give measured times ([`crate::DataflowGraph::measured_times`]).
    /// By default it is `cpu`, `gpu` or `tpu`, as the kind.
    ///
    /// # Errors
    /// If a name is not made of lower-case letters, digits and `_`, or one class has devices of two kinds.
    pub fn with_classes<'a>(mut self, class: impl Fn(DeviceId) -> &'a str) -> Result<Self, ClusterError> {
        self.classes = self.device_ids().map(|device| class(device).into()).collect();
        for (device, class) in self.devices.iter().zip(&self.classes) {
            let refuse = |remedy: &str| ClusterError::BadClass {
                device: device.name.clone(),
                class: class.to_string(),
                remedy: remedy.to_owned(),
            };
            if !is_class_name(class) {
                return Err(refuse(CLASS_NAMES));
            }
            let named_for = Kind::ALL.into_iter().find(|&kind| kind.class() == &**class);
            let of_class = self.devices.iter().zip(&self.classes).find(|(_, other)| *other == class);
            let kind = named_for.or(of_class.map(|(first, _)| first.kind)).unwrap_or(device.kind);
            if kind != device.kind {
                let remedy = format!("that is a class of {kind}s, and this is a {}: name another class", device.kind);
                return Err(refuse(&remedy));
            }
        }
        Ok(self)
    }

    /// Sets what limits ops on each device beside its speed. Nothing by default.
    ///
    /// # Errors
    /// If a number is not finite and > 0.
    pub fn with_rooflines(mut self, roofline: impl Fn(DeviceId) -> Roofline) -> Result<Self, ClusterError> {
        self.rooflines = self.device_ids().map(roofline).collect();
        for (device, roofline) in self.devices.iter().zip(&self.rooflines) {
            let named = [("matrix_speed", roofline.matrix_speed), ("memory_bandwidth", roofline.memory_bandwidth)];
            let is_bad = |value: f64| !(value.is_finite() && value > 0.0);
            if let Some((name, Some(value))) = named.into_iter().find(|(_, value)| value.is_some_and(is_bad)) {
                return Err(ClusterError::BadRoofline { device: device.name.clone(), name, value });
            }
        }
        Ok(self)
    }

    /// Sets what a send op costs its sender, in operations (L Fig. 2.3: 10). With 0, the default, sends cost nothing.
    ///
    /// # Errors
    /// If it is negative or not finite.
    pub fn with_send_ops(mut self, send_ops: f64) -> Result<Self, ClusterError> {
        if !(send_ops.is_finite() && send_ops >= 0.0) {
            return Err(ClusterError::BadSendOps(send_ops));
        }
        self.send_ops = send_ops;
        Ok(self)
    }

    /// Sets the time that each device adds to every op that it executes, one of no cost or with a measured time included:
    /// what launching it costs. 0 by default.
    ///
    /// # Errors
    /// If it is negative or not finite.
    pub fn with_op_overheads(mut self, overhead: impl FnMut(DeviceId) -> Time) -> Result<Self, ClusterError> {
        self.op_overheads = self.device_ids().map(overhead).collect();
        let is_bad = |&(_, &overhead): &(&Device, &Time)| !(overhead.is_finite() && overhead >= 0.0);
        match self.devices.iter().zip(&self.op_overheads).find(is_bad) {
            Some((device, &overhead)) => Err(ClusterError::BadOpOverhead { device: device.name.clone(), overhead }),
            None => Ok(self),
        }
    }

    /// Sets what each transfer between two different devices takes of their time. Nothing by default.
    ///
    /// # Errors
    /// If a number is negative or not finite, or the pairs do not fit into memory.
    pub fn with_transfer_overheads(
        mut self,
        mut overheads: impl FnMut(DeviceId, DeviceId) -> TransferOverheads,
    ) -> Result<Self, ClusterError> {
        check_pairs(self.devices.len(), size_of::<TransferOverheads>())?;
        let mut all = Vec::with_capacity(self.devices.len() * self.devices.len());
        for from in self.device_ids() {
            for to in self.device_ids() {
                let pair = if from == to { TransferOverheads::NONE } else { overheads(from, to) };
                let mut named = TransferOverheads::NAMES.into_iter().zip(pair.values());
                if let Some((name, value)) = named.find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
                    let [from, to] = [from, to].map(|device| self.device(device).name.clone());
                    return Err(ClusterError::BadTransferOverhead { name, from, to, value });
                }
                all.push(pair);
            }
        }
        self.transfer_overheads = all.iter().any(|pair| *pair != TransferOverheads::NONE).then_some(all);
        Ok(self)
    }

    /// Takes over from another cluster what is not said by devices and links: classes, rooflines, the overheads of ops, sends
    /// and receives, and whether it is in seconds. These devices are its first.
    ///
    /// # Panics
    /// If the other cluster has fewer devices.
    pub fn with_costs_of(mut self, other: &Self) -> Self {
        self.send_ops = other.send_ops;
        self.is_in_seconds |= other.is_in_seconds;
        let count = self.devices.len();
        self.classes = other.classes[..count].to_vec();
        self.rooflines = other.rooflines[..count].to_vec();
        self.op_overheads = other.op_overheads[..count].to_vec();
        self.transfer_overheads = other.transfer_overheads.as_ref().and_then(|_| {
            let rows = other.device_ids().take(count).filter_map(|from| other.transfer_overheads_from(from));
            let all: Vec<TransferOverheads> = rows.flat_map(|row| &row[..count]).copied().collect();
            all.iter().any(|pair| *pair != TransferOverheads::NONE).then_some(all)
        });
        self
    }

    /// The same devices, between which every transfer takes so much longer; the topology is not kept.
    ///
    /// # Errors
    /// If a latency comes out negative or not finite.
    pub fn with_added_latency(&self, added: Time) -> Result<Self, ClusterError> {
        let link = |from, to| {
            let Link { rate, latency } = self.link(from, to);
            Link { rate, latency: latency + added }
        };
        Ok(Self::new(self.devices.clone(), link)?.with_costs_of(self))
    }

    /// The first `count` devices, with the links between them; the topology is not kept.
    ///
    /// # Errors
    /// If `count` is 0 or more than there are.
    pub fn first_devices(&self, count: usize) -> Result<Self, ClusterError> {
        let devices = self.devices.get(..count).ok_or(ClusterError::Empty)?.to_vec();
        Ok(Self::new(devices, |from, to| self.link(from, to))?.with_costs_of(self))
    }

    /// The same cluster where only some devices are in use: without a topology, ports are as fast as the pairs in use.
    pub(crate) fn in_use(mut self, in_use: impl Fn(&Device) -> bool) -> Self {
        if self.topology.is_none() {
            let names: Vec<&str> = self.devices.iter().map(|device| device.name.as_str()).collect();
            self.shared_links = SharedLinks::ports(&names, &self.rates, |device| in_use(&self.devices[device]));
        }
        self
    }

    /// The same cluster with its devices in another order: the first is the one that was `order[0]`. Every device has to be
    /// in `order` once.
    ///
    /// # Complexity
    /// O(devices²).
    pub(crate) fn renumbered(&self, order: &[DeviceId]) -> Self {
        let n = self.devices.len();
        let pairs = || order.iter().flat_map(move |from| order.iter().map(move |to| from.index() * n + to.index()));
        let topology = self.topology.clone().map(|mut topology| {
            let names: Vec<String> = order.iter().map(|old| topology.vertices[old.index()].clone()).collect();
            topology.vertices[..n].clone_from_slice(&names);
            let mut new: Vec<usize> = (0..topology.vertices.len()).collect();
            order.iter().enumerate().for_each(|(at, old)| new[old.index()] = at);
            topology.links.iter_mut().for_each(|link| (link.a, link.b) = (new[link.a], new[link.b]));
            topology
        });
        Self {
            devices: order.iter().map(|&old| self.device(old).clone()).collect(),
            classes: order.iter().map(|old| Arc::clone(&self.classes[old.index()])).collect(),
            rooflines: order.iter().map(|&old| self.roofline(old)).collect(),
            rates: pairs().map(|pair| self.rates[pair]).collect(),
            latencies: pairs().map(|pair| self.latencies[pair]).collect(),
            send_ops: self.send_ops,
            op_overheads: order.iter().map(|&old| self.op_overhead(old)).collect(),
            transfer_overheads: self.transfer_overheads.as_ref().map(|all| pairs().map(|pair| all[pair]).collect()),
            topology,
            shared_links: self.shared_links.renumbered(order),
            is_in_seconds: self.is_in_seconds,
        }
    }

    /// The same cluster, whose speeds, rates and latencies are known to be per second and in seconds.
    pub fn in_seconds(mut self) -> Self {
        self.is_in_seconds = true;
        self
    }

    /// Whether the time unit is known to be the second. Otherwise nothing says what it is.
    pub fn is_in_seconds(&self) -> bool {
        self.is_in_seconds
    }

    /// The same cluster with unlimited memory everywhere.
    pub fn without_memory_limits(mut self) -> Self {
        for device in &mut self.devices {
            device.memory_bytes = None;
        }
        self
    }

    /// Number of devices.
    #[inline]
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// All device ids, ascending.
    pub fn device_ids(&self) -> impl DoubleEndedIterator<Item = DeviceId> + ExactSizeIterator + Clone + use<> {
        (0..self.device_count() as u32).map(DeviceId)
    }

    /// All devices, in the order of their ids.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// A device.
    #[inline]
    pub fn device(&self, device: DeviceId) -> &Device {
        &self.devices[device.index()]
    }

    /// Time that a device adds to every op that it executes.
    #[inline]
    pub fn op_overhead(&self, device: DeviceId) -> Time {
        self.op_overheads[device.index()]
    }

    /// The overheads of all devices, in the order of their ids.
    #[inline]
    pub fn op_overheads(&self) -> &[Time] {
        &self.op_overheads
    }

    /// The class of a device: graphs give measured times by class.
    #[inline]
    pub fn class(&self, device: DeviceId) -> &str {
        &self.classes[device.index()]
    }

    /// What limits ops on a device beside its speed.
    #[inline]
    pub fn roofline(&self, device: DeviceId) -> Roofline {
        self.rooflines[device.index()]
    }

    /// Rate and latency from one device to another: infinite and 0 from a device to itself.
    pub fn link(&self, from: DeviceId, to: DeviceId) -> Link {
        let pair = from.index() * self.devices.len() + to.index();
        Link { rate: self.rates[pair], latency: self.latencies[pair] }
    }

    /// Time for a transfer: `latency + bytes / rate`, 0 on the same device.
    #[inline]
    pub fn transfer_time(&self, bytes: u64, from: DeviceId, to: DeviceId) -> Time {
        let pair = from.index() * self.devices.len() + to.index();
        self.latencies[pair] + bytes as f64 / self.rates[pair]
    }

    /// The rates from a device to each device, for loops over all destinations.
    #[inline]
    pub fn rates_from(&self, from: DeviceId) -> &[f64] {
        &self.rates[from.index() * self.devices.len()..][..self.devices.len()]
    }

    /// The latencies from a device to each device.
    #[inline]
    pub fn latencies_from(&self, from: DeviceId) -> &[Time] {
        &self.latencies[from.index() * self.devices.len()..][..self.devices.len()]
    }

    /// What a send op costs its sender, in operations.
    #[inline]
    pub fn send_ops(&self) -> f64 {
        self.send_ops
    }

    /// What a transfer from one device to another takes of their time.
    #[inline]
    pub fn transfer_overheads(&self, from: DeviceId, to: DeviceId) -> TransferOverheads {
        self.transfer_overheads_from(from).map_or(TransferOverheads::NONE, |row| row[to.index()])
    }

    /// What transfers from a device to each device take of their time; `None` if no transfer of the cluster takes any.
    #[inline]
    pub fn transfer_overheads_from(&self, from: DeviceId) -> Option<&[TransferOverheads]> {
        let all = self.transfer_overheads.as_ref()?;
        Some(&all[from.index() * self.devices.len()..][..self.devices.len()])
    }

    /// The part of the time of a device's send ops that is `send_ops / speed`.
    #[inline]
    pub fn send_ops_time(&self, device: DeviceId) -> Time {
        self.send_ops / self.device(device).speed
    }

    /// Time that the send op of a transfer takes on its sender: `send_ops / speed`, and the sender's overhead.
    #[inline]
    pub fn send_time(&self, bytes: u64, from: DeviceId, to: DeviceId) -> Time {
        let operations = self.send_ops_time(from);
        match self.transfer_overheads_from(from) {
            None => operations,
            Some(row) => operations + row[to.index()].send_time(bytes),
        }
    }

    /// Time that the receive op of a transfer takes on its receiver: the receiver's overhead.
    #[inline]
    pub fn receive_time(&self, bytes: u64, from: DeviceId, to: DeviceId) -> Time {
        self.transfer_overheads_from(from).map_or(0.0, |row| row[to.index()].receive_time(bytes))
    }

    /// Whether some transfer has overheads.
    pub fn has_transfer_overheads(&self) -> bool {
        self.transfer_overheads.is_some()
    }

    /// Whether some transfer has a send op that takes time.
    pub fn sends_cost(&self) -> bool {
        let costs = |pair: &TransferOverheads| pair.send > 0.0 || pair.send_per_byte > 0.0;
        self.send_ops > 0.0 || self.transfer_overheads.iter().flatten().any(costs)
    }

    /// Whether some transfer has a receive op that takes time.
    pub fn receives_cost(&self) -> bool {
        let costs = |pair: &TransferOverheads| pair.receive > 0.0 || pair.receive_per_byte > 0.0;
        self.transfer_overheads.iter().flatten().any(costs)
    }

    /// Time from the end of a producer until a tensor can be used on another device, if nothing has to wait: the overheads at
    /// both ends, and the transfer between; 0 on the same device. `send_ops` does not count.
    #[inline]
    pub fn communication_time(&self, bytes: u64, from: DeviceId, to: DeviceId) -> Time {
        let transfer = self.transfer_time(bytes, from, to);
        match self.transfer_overheads_from(from) {
            None => transfer,
            Some(row) => transfer + (row[to.index()].send_time(bytes) + row[to.index()].receive_time(bytes)),
        }
    }

    /// Raises the time of each device to the one at which bytes that a device has at `sent` can be used there, by
    /// [`Cluster::communication_time`].
    #[inline]
    pub fn raise_to_arrivals(&self, sent: Time, from: DeviceId, bytes: u64, times: &mut [Time]) {
        let raise = |time: &mut Time, arrival: Time| *time = if arrival > *time { arrival } else { *time };
        let size = bytes as f64;
        let links = self.rates_from(from).iter().zip(self.latencies_from(from));
        // Divided, not multiplied by an inverse: the simulator must arrive at the same floats.
        match self.transfer_overheads_from(from) {
            None => times
                .iter_mut()
                .zip(links)
                .for_each(|(time, (&rate, &latency))| raise(time, sent + (latency + size / rate))),
            Some(row) => {
                for ((time, (&rate, &latency)), pair) in times.iter_mut().zip(links).zip(row) {
                    let overheads = pair.send_time(bytes) + pair.receive_time(bytes);
                    raise(time, sent + ((latency + size / rate) + overheads));
                }
            }
        }
    }

    /// Mean, over ordered pairs of different devices, of the overheads at both ends together: of a transfer, and of a byte.
    pub fn mean_transfer_overheads(&self) -> (Time, Time) {
        let Some(all) = &self.transfer_overheads else { return (0.0, 0.0) };
        let pairs = (self.devices.len() * (self.devices.len() - 1)) as f64;
        let mean = |value: &dyn Fn(&TransferOverheads) -> Time| all.iter().map(value).sum::<Time>() / pairs;
        (mean(&|pair| pair.send + pair.receive), mean(&|pair| pair.send_per_byte + pair.receive_per_byte))
    }

    /// Hosts, switches and links, if the pair rates follow from them.
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref()
    }

    /// The links that transfers share: those of the topology, or else the ports of the devices.
    pub fn shared_links(&self) -> &SharedLinks {
        &self.shared_links
    }

    /// Mean rate over ordered pairs of different devices; infinite for a single device.
    pub fn mean_rate(&self) -> f64 {
        self.mean_over_pairs(|rate, _| rate).unwrap_or(f64::INFINITY)
    }

    /// Mean of 1/rate over ordered pairs of different devices; 0 for a single device.
    pub fn mean_inverse_rate(&self) -> f64 {
        self.mean_over_pairs(|rate, _| 1.0 / rate).unwrap_or(0.0)
    }

    /// Mean latency over ordered pairs of different devices; 0 for a single device.
    pub fn mean_latency(&self) -> Time {
        self.mean_over_pairs(|_, latency| latency).unwrap_or(0.0)
    }

    /// Whether each pair costs the same in both directions.
    pub fn is_symmetric(&self) -> bool {
        self.device_ids().all(|a| self.device_ids().all(|b| self.link(a, b) == self.link(b, a)))
    }

    fn mean_over_pairs(&self, value: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let n = self.devices.len();
        let pairs = (0..n * n).filter(|pair| pair / n != pair % n);
        let sum: f64 = pairs.map(|pair| value(self.rates[pair], self.latencies[pair])).sum();
        (n > 1).then(|| sum / (n * (n - 1)) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_takes_latency_plus_size_over_rate_and_nothing_at_home() {
        let cluster = Cluster::uniform(2, Kind::Cpu, 10.0, Link { rate: 25.0, latency: 0.5 }).unwrap();
        assert_eq!(cluster.transfer_time(50, DeviceId(0), DeviceId(1)), 2.5);
        assert_eq!(cluster.transfer_time(50, DeviceId(1), DeviceId(1)), 0.0);
        assert_eq!((cluster.mean_rate(), cluster.mean_latency()), (25.0, 0.5));
    }

    #[test]
    fn a_transfer_takes_time_of_both_ends_and_the_first_devices_keep_their_overheads() {
        let cluster = Cluster::uniform(3, Kind::Cpu, 10.0, Link { rate: 25.0, latency: 0.5 }).unwrap();
        let overheads = |from: DeviceId, to: DeviceId| TransferOverheads {
            send: f64::from(from.0),
            send_per_byte: 0.01,
            receive: f64::from(to.0) * 0.25,
            receive_per_byte: 0.0,
        };
        let cluster = cluster.with_transfer_overheads(overheads).unwrap().with_send_ops(20.0).unwrap();
        let (a, b) = (DeviceId(1), DeviceId(2));
        assert_eq!((cluster.send_time(50, a, b), cluster.receive_time(50, a, b)), (2.0 + 1.5, 0.5));
        assert_eq!(cluster.communication_time(50, a, b), 2.5 + 2.0);
        assert_eq!(cluster.communication_time(50, a, a), 0.0);
        let mut times = [9.0, 0.0, 0.0];
        cluster.raise_to_arrivals(1.0, a, 50, &mut times);
        assert_eq!(times, [9.0, 1.0, 5.5]);
        assert_eq!(cluster.mean_transfer_overheads(), (1.25, 0.01));
        assert!(cluster.sends_cost() && cluster.receives_cost());
        let part = cluster.first_devices(2).unwrap();
        assert_eq!(part.transfer_overheads(a, DeviceId(0)), overheads(a, DeviceId(0)));
        // Overheads of 0 are none.
        let free = part.clone().with_transfer_overheads(|_, _| TransferOverheads::NONE).unwrap();
        assert_eq!(
            free,
            Cluster::uniform(2, Kind::Cpu, 10.0, Link { rate: 25.0, latency: 0.5 })
                .unwrap()
                .with_send_ops(20.0)
                .unwrap()
        );
        let bad = part.with_transfer_overheads(|_, _| TransferOverheads { receive: -1.0, ..TransferOverheads::NONE });
        let expected = "receive_overhead from 'd0' to 'd1' is -1: it must be a finite number ≥ 0";
        assert_eq!(bad.unwrap_err().to_string(), expected);
    }

    #[test]
    fn nonsense_is_refused_with_the_name_of_the_culprit() {
        let link = Link { rate: 1.0, latency: 0.0 };
        assert_eq!(Cluster::uniform(0, Kind::Cpu, 1.0, link), Err(ClusterError::Empty));
        assert!(Cluster::uniform(1, Kind::Cpu, 0.0, link).unwrap_err().to_string().contains("'d0'"));
        let bad = Link { rate: -1.0, latency: 0.0 };
        assert!(Cluster::uniform(2, Kind::Cpu, 1.0, bad).unwrap_err().to_string().contains("'d0' to 'd1'"));
        let bad = Link { rate: 1.0, latency: f64::NAN };
        assert!(Cluster::uniform(2, Kind::Cpu, 1.0, bad).is_err());
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, link).unwrap();
            let error = cluster.with_op_overheads(|device| if device == DeviceId(1) { bad } else { 0.0 }).unwrap_err();
            assert_eq!(error.to_string(), format!("device 'd1' has op_overhead {bad}: it must be a finite number ≥ 0"));
        }
    }
}
