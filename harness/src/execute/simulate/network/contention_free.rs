//! No contention: transfers neither wait for nor slow each other.

use placebench_algorithms::period::Occupancy;
use placebench_datasets::Cluster;

use super::model::{Network, NetworkModel, Nothing};
use crate::validator::TransferLaw;

/// A transfer starts as soon as it can and takes latency + bytes / rate, whatever else is under way.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017, §2.5.
#[derive(Clone, Copy, Debug)]
pub struct ContentionFree;

impl NetworkModel for ContentionFree {
    fn name(&self) -> &'static str {
        "contention_free"
    }

    fn doc(&self) -> &'static str {
        "a transfer takes latency + bytes / rate, whatever else is under way (L)"
    }

    fn source(&self) -> &'static str {
        "L §2.5"
    }

    fn laws(&self) -> &'static [TransferLaw] {
        &[TransferLaw::ExactTime]
    }

    fn start<'a>(&self, _: &'a Cluster) -> Option<Box<dyn Network + 'a>> {
        None
    }

    fn occupancy<'a>(&self, cluster: &'a Cluster) -> Box<dyn Occupancy + 'a> {
        Box::new(Nothing { devices: cluster.device_count() })
    }
}
