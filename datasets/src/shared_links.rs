//! The links of a cluster's network that transfers share.

use crate::DeviceId;

/// Links with their capacities, and the links that each ordered pair of devices uses.
///
/// They are the links of the cluster's [`Topology`](crate::Topology), one for each direction: PCIe, NVLink and switched
/// Ethernet are full duplex. A cluster without a topology has two links a device, its port out and its port in, each as
/// fast as the fastest pair that uses it. That is where the transfers of a device meet; between the ports the network is
/// as fast as each pair's rate says. In an [`Instance`](crate::Instance) pairs with a device that no op may run on do not
/// count: nothing uses them.
///
/// # Memory
/// 4 bytes a pair of devices and 4 a link of its route: 120 kB for 100 devices without a topology.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedLinks {
    names: Vec<String>,
    capacities: Vec<f64>,
    /// Where the route of each pair begins in `routes`, row-major by sender.
    offsets: Vec<u32>,
    routes: Vec<u32>,
    devices: usize,
}

impl SharedLinks {
    /// Links of these names and capacities, and for each ordered pair of devices, row-major by sender, its links.
    pub(crate) fn new(
        names: Vec<String>,
        capacities: Vec<f64>,
        devices: usize,
        offsets: Vec<u32>,
        routes: Vec<u32>,
    ) -> Self {
        debug_assert_eq!((names.len(), offsets.len()), (capacities.len(), devices * devices + 1));
        Self { names, capacities, offsets, routes, devices }
    }

    /// The ports of devices with these names. `rates` are those of all ordered pairs, row-major by sender; a port of a device
    /// `in_use` is as fast as its fastest pair with another one in use.
    pub(crate) fn ports(names: &[&str], rates: &[f64], in_use: impl Fn(usize) -> bool) -> Self {
        let n = names.len();
        let mut capacities = vec![0.0f64; 2 * n];
        let mut offsets = vec![0];
        let mut routes = Vec::with_capacity(2 * n * n);
        for from in 0..n {
            for to in 0..n {
                if from != to {
                    let rate = rates[from * n + to];
                    if in_use(to) || !in_use(from) {
                        capacities[from] = capacities[from].max(rate);
                    }
                    if in_use(from) || !in_use(to) {
                        capacities[n + to] = capacities[n + to].max(rate);
                    }
                    routes.extend([from as u32, (n + to) as u32]);
                }
                offsets.push(routes.len() as u32);
            }
        }
        let directions = ["the port out of", "the port into"].into_iter();
        let names = directions.flat_map(|port| names.iter().map(move |name| format!("{port} '{name}'"))).collect();
        Self::new(names, capacities, n, offsets, routes)
    }

    /// The same links between devices that are numbered otherwise: the first is the one that was `order[0]`.
    pub(crate) fn renumbered(&self, order: &[DeviceId]) -> Self {
        let (mut offsets, mut routes) = (vec![0], Vec::with_capacity(self.routes.len()));
        for &from in order {
            for &to in order {
                routes.extend_from_slice(self.route(from, to));
                offsets.push(routes.len() as u32);
            }
        }
        Self { offsets, routes, ..self.clone() }
    }

    /// Number of links.
    pub fn count(&self) -> usize {
        self.capacities.len()
    }

    /// Bytes per time unit that a link carries.
    #[inline]
    pub fn capacity(&self, link: usize) -> f64 {
        self.capacities[link]
    }

    /// What a link is called in messages.
    pub fn name(&self, link: usize) -> &str {
        &self.names[link]
    }

    /// The links that transfers from one device to another use, in no particular order; none from a device to itself.
    #[inline]
    pub fn route(&self, from: DeviceId, to: DeviceId) -> &[u32] {
        let pair = from.index() * self.devices + to.index();
        &self.routes[self.offsets[pair] as usize..self.offsets[pair + 1] as usize]
    }
}
