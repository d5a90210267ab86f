//! What a run is held to besides the laws of order.

/// What the validator demands of a run besides the laws of order (each op once, on its device, after its inputs, one at a
/// time, each transfer once), which every run obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demands {
    /// Simulated: ops, sends and receives take exactly the time that the cluster says, and transfers obey these laws.
    Exact(&'static [TransferLaw]),
    /// Measured by clocks: nothing more, since what takes how long is what the measurement is for. Send and receive ops need
    /// not be recorded.
    Order,
}

/// A law for the transfers of a simulated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferLaw {
    /// A transfer takes latency + bytes / rate.
    ExactTime,
    /// A transfer takes latency + bytes / rate or longer.
    LeastTime,
    /// A device sends one transfer at a time and receives one at a time.
    OneAtATime,
    /// A device's interface injects one transfer at a time, which keeps it busy for bytes / rate from the transfer's start,
    /// and takes in one at a time, which keeps it busy for bytes / rate until the transfer's end.
    GapPerByte,
    /// The transfers that use a link of [`Cluster::shared_links`](placebench_datasets::Cluster::shared_links) move no more
    /// bytes in any stretch of time than the link carries. What a transfer moves when is not recorded, so that the bytes of
    /// those that happened within a stretch count, their latencies left out. Stretches are looked at that begin with a busy
    /// period of the link and end with a transfer, or begin with a transfer and end with the period.
    LinkCapacity,
}

impl Demands {
    /// Whether ops, sends and receives take exactly the time that the cluster says.
    pub(super) fn exact_tasks(self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Whether transfers obey a law.
    pub(super) fn has(self, law: TransferLaw) -> bool {
        matches!(self, Self::Exact(laws) if laws.contains(&law))
    }
}
