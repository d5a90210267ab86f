//! No contention: transfers neither wait for nor slow each other.

use placebench_datasets::{Cluster, PlacedGraph, Time};

use super::model::{Network, NetworkModel};
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

    fn laws(&self) -> &'static [TransferLaw] {
        &[TransferLaw::ExactTime]
    }

    fn start<'a>(&self, _: &'a Cluster) -> Option<Box<dyn Network + 'a>> {
        None
    }

    fn busiest(&self, _: &PlacedGraph<'_>) -> Time {
        0.0
    }
}
