//! Transfers take the time of accelerators: the rule by which dnn-partitioning judges pipelines.

use placebench_algorithms::period::Occupancy;
use placebench_datasets::{Cluster, DeviceId, Kind, Time};

use super::model::{Network, NetworkModel};
use crate::validator::TransferLaw;

/// A run is as under `contention_free`. In its period, an accelerator is busy with what it sends and with what it takes in, too:
/// each output that leaves it once, however many devices it goes to, and each foreign output that it reads once, for bytes / the
/// rate of its fastest link. CPUs have no part in transfers.
///
/// # Reference
/// J. Tarnawski et al., *Efficient Algorithms for Device Placement of DNN Graph Operators*, NeurIPS 2020, §3 and §5: accelerators
/// exchange data through the memory of the host.
#[derive(Clone, Copy, Debug)]
pub struct AcceleratorIo;

impl NetworkModel for AcceleratorIo {
    fn name(&self) -> &'static str {
        "accelerator_io"
    }

    fn doc(&self) -> &'static str {
        "as contention_free; in the period, accelerators spend time on what they send and take in (Tarnawski et al.)"
    }

    fn source(&self) -> &'static str {
        "Tarnawski et al. 2020, §3"
    }

    fn laws(&self) -> &'static [TransferLaw] {
        &[TransferLaw::ExactTime]
    }

    fn start<'a>(&self, _: &'a Cluster) -> Option<Box<dyn Network + 'a>> {
        None
    }

    fn occupancy<'a>(&self, cluster: &'a Cluster) -> Box<dyn Occupancy + 'a> {
        let fastest = |device: DeviceId| {
            let others = cluster.device_ids().filter(|&other| other != device);
            let rate = others.map(|other| cluster.link(device, other).rate).fold(0.0, f64::max);
            (cluster.device(device).kind != Kind::Cpu && rate > 0.0).then_some(rate)
        };
        Box::new(BusyAccelerators { rates: cluster.device_ids().map(fastest).collect() })
    }
}

/// By device: bytes each time unit, if transfers keep it busy.
struct BusyAccelerators {
    rates: Vec<Option<f64>>,
}

impl BusyAccelerators {
    fn take(&self, device: DeviceId, bytes: u64, take: &mut dyn FnMut(usize, Time)) {
        if let Some(rate) = self.rates[device.index()] {
            take(device.index(), bytes as f64 / rate);
        }
    }
}

impl Occupancy for BusyAccelerators {
    fn parts(&self) -> usize {
        self.rates.len()
    }

    fn output(&self, from: DeviceId, bytes: u64, take: &mut dyn FnMut(usize, Time)) {
        self.take(from, bytes, take);
    }

    fn transfer(&self, _: DeviceId, to: DeviceId, bytes: u64, take: &mut dyn FnMut(usize, Time)) {
        self.take(to, bytes, take);
    }
}
