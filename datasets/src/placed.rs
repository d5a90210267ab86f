//! A graph after placement, with send/receive pairs inserted (L §2.4, §3.1.4).

use crate::{DeviceId, Instance, OpId, Placement, TensorId, Time, TransferId};

/// A send/receive pair: one for each (tensor, destination device), never for each edge. Control edges out of one op to
/// one device share a pair that moves no bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The op whose output is sent.
    pub source: OpId,
    /// What is sent; `None` for a control signal.
    pub tensor: Option<TensorId>,
    /// Sender.
    pub from: DeviceId,
    /// Receiver.
    pub to: DeviceId,
    /// Size in bytes.
    pub bytes: u64,
    /// Latency + bytes / rate between the two devices.
    pub time: Time,
}

/// An instance, a placement, and the transfers that follow.
///
/// Each op's out-edges are split into local consumers and, by tensor and destination, remote consumers. Parallel edges
/// stay: a consumer appears once for each edge.
#[derive(Clone, Debug)]
pub struct PlacedGraph<'a> {
    instance: &'a Instance,
    placement: &'a Placement,
    local_offsets: Vec<u32>,
    local: Vec<OpId>,
    transfer_offsets: Vec<u32>,
    transfers: Vec<Transfer>,
    remote_offsets: Vec<u32>,
    remote: Vec<OpId>,
}

impl<'a> PlacedGraph<'a> {
    /// Inserts the send/receive pairs. Pairs are ordered by source op, tensor (control last), destination device.
    ///
    /// The placement must have a device of the cluster for each op; it need not be feasible.
    ///
    /// # Panics
    /// If the placement has not one entry for each op, or names a device that does not exist. [`Placement::check`]
    /// finds that.
    ///
    /// # Complexity
    /// O(ops + edges · log destinations) time, 4 bytes an edge and 44 a transfer.
    pub fn new(instance: &'a Instance, placement: &'a Placement) -> Self {
        let (graph, cluster) = (instance.graph(), instance.cluster());
        assert_eq!(placement.devices().len(), graph.op_count(), "placement and graph differ in length");
        let n = graph.op_count();
        // Reserve one transfer for each cut edge, so that no list grows. A tensor with several remote consumers needs
        // fewer; the rest is freed at the end.
        let cut: usize = graph
            .op_ids()
            .map(|op| {
                let from = placement.device_of(op);
                graph.successor_ops(op).iter().filter(|&&to| placement.device_of(to) != from).count()
            })
            .sum();
        let mut placed = Self {
            instance,
            placement,
            local_offsets: Vec::with_capacity(n + 1),
            local: Vec::with_capacity(graph.edge_count() - cut),
            transfer_offsets: Vec::with_capacity(n + 1),
            transfers: Vec::with_capacity(cut),
            remote_offsets: Vec::with_capacity(cut + 1),
            remote: Vec::with_capacity(cut),
        };
        placed.remote_offsets.push(0);
        placed.local_offsets.push(0);
        placed.transfer_offsets.push(0);
        // (tensor with control last, destination, consumer): after sorting, the consumers of one transfer are adjacent.
        let mut away: Vec<(u32, DeviceId, OpId)> = Vec::new();
        for op in graph.op_ids() {
            let from = placement.device_of(op);
            away.clear();
            for edge in graph.successors(op) {
                let to = placement.device_of(edge.op);
                if to == from {
                    placed.local.push(edge.op);
                } else {
                    away.push((crate::graph::raw_tensor(edge.tensor), to, edge.op));
                }
            }
            away.sort_unstable();
            let mut previous = None;
            for &(raw, to, consumer) in &away {
                if previous != Some((raw, to)) {
                    if previous.is_some() {
                        placed.remote_offsets.push(placed.remote.len() as u32);
                    }
                    previous = Some((raw, to));
                    let tensor = (raw != u32::MAX).then_some(TensorId(raw));
                    let bytes = tensor.map_or(0, |tensor| graph.tensor_bytes(tensor));
                    let time = cluster.transfer_time(bytes, from, to);
                    placed.transfers.push(Transfer { source: op, tensor, from, to, bytes, time });
                }
                placed.remote.push(consumer);
            }
            if previous.is_some() {
                placed.remote_offsets.push(placed.remote.len() as u32);
            }
            placed.local_offsets.push(placed.local.len() as u32);
            placed.transfer_offsets.push(placed.transfers.len() as u32);
        }
        placed.transfers.shrink_to_fit();
        placed.remote_offsets.shrink_to_fit();
        placed
    }

    /// The instance.
    #[inline]
    pub fn instance(&self) -> &'a Instance {
        self.instance
    }

    /// The placement.
    #[inline]
    pub fn placement(&self) -> &'a Placement {
        self.placement
    }

    /// The device of an op.
    #[inline]
    pub fn device_of(&self, op: OpId) -> DeviceId {
        self.placement.device_of(op)
    }

    /// Consumers of an op on its own device, one entry an edge.
    #[inline]
    pub fn local_consumers(&self, op: OpId) -> &[OpId] {
        &self.local[self.local_offsets[op.index()] as usize..self.local_offsets[op.index() + 1] as usize]
    }

    /// The transfers that an op's outputs need.
    #[inline]
    pub fn transfers_of(&self, op: OpId) -> impl ExactSizeIterator<Item = TransferId> + use<> {
        (self.transfer_offsets[op.index()]..self.transfer_offsets[op.index() + 1]).map(TransferId)
    }

    /// A transfer.
    #[inline]
    pub fn transfer(&self, transfer: TransferId) -> &Transfer {
        &self.transfers[transfer.index()]
    }

    /// All transfers, in the order of their ids.
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// The ids of all transfers, ascending.
    pub fn transfer_ids(&self) -> impl ExactSizeIterator<Item = TransferId> + use<> {
        (0..self.transfer_count() as u32).map(TransferId)
    }

    /// Number of transfers.
    #[inline]
    pub fn transfer_count(&self) -> usize {
        self.transfers.len()
    }

    /// The ops that a transfer serves, one entry an edge, ascending.
    #[inline]
    pub fn remote_consumers(&self, transfer: TransferId) -> &[OpId] {
        &self.remote[self.remote_offsets[transfer.index()] as usize..self.remote_offsets[transfer.index() + 1] as usize]
    }

    /// Time that an op takes where it is placed.
    #[inline]
    pub fn exec_time(&self, op: OpId) -> Time {
        self.instance.exec_time(op, self.device_of(op))
    }

    /// Time that the send op of a transfer takes on its sender.
    #[inline]
    pub fn send_time(&self, transfer: TransferId) -> Time {
        let &Transfer { bytes, from, to, .. } = self.transfer(transfer);
        self.instance.cluster().send_time(bytes, from, to)
    }

    /// Time that the receive op of a transfer takes on its receiver.
    #[inline]
    pub fn receive_time(&self, transfer: TransferId) -> Time {
        let &Transfer { bytes, from, to, .. } = self.transfer(transfer);
        self.instance.cluster().receive_time(bytes, from, to)
    }

    /// Whether a transfer has a send op: where that would take no time, there is none.
    #[inline]
    pub fn has_send(&self, transfer: TransferId) -> bool {
        self.send_time(transfer) > 0.0
    }

    /// Whether a transfer has a receive op: where that would take no time, there is none.
    #[inline]
    pub fn has_receive(&self, transfer: TransferId) -> bool {
        self.receive_time(transfer) > 0.0
    }

    /// Bytes moved between devices (L Eq. 2.2 after send/receive insertion).
    pub fn traffic_bytes(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.bytes).sum()
    }
}
