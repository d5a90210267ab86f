//! What a transfer costs the devices at its ends.

use crate::Time;

/// Time for which a transfer keeps its sender and its receiver from executing anything else: the overheads of the LogGP
/// model, whose latency and gap per byte are a link's latency and 1 / rate. All 0 by default.
///
/// # Reference
/// A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, *LogGP: Incorporating Long Messages into the LogP Model*,
/// SPAA 1995, doi:10.1145/215399.215427.
///
/// # Deviations
/// LogGP has one overhead for both ends, whatever the size. Who copies a message through sockets pays for each byte, and the
/// two ends do not pay alike.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransferOverheads {
    /// Time units that each transfer takes of its sender.
    pub send: Time,
    /// Time units that each byte takes of the sender.
    pub send_per_byte: Time,
    /// Time units that each transfer takes of its receiver.
    pub receive: Time,
    /// Time units that each byte takes of the receiver.
    pub receive_per_byte: Time,
}

impl TransferOverheads {
    /// Transfers that cost the devices nothing.
    pub const NONE: Self = Self { send: 0.0, send_per_byte: 0.0, receive: 0.0, receive_per_byte: 0.0 };

    /// Names in files and messages, in the order of [`TransferOverheads::values`].
    pub const NAMES: [&str; 4] =
        ["send_overhead", "send_overhead_per_byte", "receive_overhead", "receive_overhead_per_byte"];

    /// All four: what is sent, then what is received; each constant, then per byte.
    pub fn values(self) -> [Time; 4] {
        [self.send, self.send_per_byte, self.receive, self.receive_per_byte]
    }

    /// Overheads of these [`TransferOverheads::values`].
    pub fn from_values([send, send_per_byte, receive, receive_per_byte]: [Time; 4]) -> Self {
        Self { send, send_per_byte, receive, receive_per_byte }
    }

    /// Time that a transfer takes of its sender.
    #[inline]
    pub fn send_time(&self, bytes: u64) -> Time {
        self.send + bytes as f64 * self.send_per_byte
    }

    /// Time that a transfer takes of its receiver.
    #[inline]
    pub fn receive_time(&self, bytes: u64) -> Time {
        self.receive + bytes as f64 * self.receive_per_byte
    }
}
