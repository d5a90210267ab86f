//! What can be wrong with a run.

use placebench_base::significant::excess_texts;
use placebench_datasets::{Kind, KindSet, Time};

/// The first rule that a run breaks, in one line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Violation {
    /// The placement has entries for another number of ops.
    #[error("the placement has {found} entries, but the graph has {expected} ops")]
    WrongLength {
        /// Entries found.
        found: usize,
        /// Ops of the graph.
        expected: usize,
    },
    /// A record names something that does not exist.
    #[error("a record names {what}, which does not exist")]
    Unknown {
        /// The id named.
        what: String,
    },
    /// An op was not executed.
    #[error("{op} was never executed")]
    NotExecuted {
        /// The op.
        op: String,
    },
    /// An op was executed more than once.
    #[error("{op} was executed twice, at {first} and at {second}")]
    ExecutedTwice {
        /// The op.
        op: String,
        /// Start of one execution.
        first: Time,
        /// Start of the other.
        second: Time,
    },
    /// An op was executed elsewhere than placed.
    #[error("{op} is placed on '{placed}', but was executed on '{device}' at {start}")]
    WrongDevice {
        /// The op.
        op: String,
        /// Where it is placed.
        placed: String,
        /// Where it was executed.
        device: String,
        /// When.
        start: Time,
    },
    /// A time is not finite, before 0, or an end before its start.
    #[error("{what} lasts from {start} to {end}: times must be finite, not negative, and in order")]
    BadTime {
        /// Op, send or transfer.
        what: String,
        /// Start.
        start: Time,
        /// End.
        end: Time,
    },
    /// An op, send op, transfer or receive op took another time than the cluster says.
    #[error("{what} at {start} took {took} instead of {expected}")]
    WrongDuration {
        /// Op with device, send or transfer.
        what: String,
        /// Start.
        start: Time,
        /// Time that it took.
        took: Time,
        /// Time that it takes.
        expected: Time,
    },
    /// An op was executed on a device of a kind that it may not run on.
    #[error("{op} may run only on {kinds}, but was executed on '{device}', a {kind}")]
    WrongKind {
        /// The op.
        op: String,
        /// What it may run on.
        kinds: KindSet,
        /// The device.
        device: String,
        /// Its kind.
        kind: Kind,
    },
    /// Colocated ops were executed on different devices.
    #[error("{first} and {second} are colocated, but were executed on '{first_device}' and '{second_device}'")]
    Separated {
        /// One op.
        first: String,
        /// The other.
        second: String,
        /// Device of the first.
        first_device: String,
        /// Device of the second.
        second_device: String,
    },
    /// A send or transfer that contradicts itself or the placement.
    #[error("{what} at {start} is impossible: {reason}")]
    Impossible {
        /// The send or transfer.
        what: String,
        /// Start.
        start: Time,
        /// Why.
        reason: &'static str,
    },
    /// Transfers moved more over a link than it carries.
    #[error("from {start} to {end} {link} carried {bytes} bytes, but it can carry only {most}")]
    LinkOverload {
        /// The link.
        link: String,
        /// From when.
        start: Time,
        /// Until when.
        end: Time,
        /// Bytes moved by transfers within that time.
        bytes: f64,
        /// Bytes that the link can carry in that time.
        most: f64,
    },
    /// A tensor was moved to a device more than once.
    #[error(
        "{what} happened twice, at {first} and at {second}: one send/receive pair serves all consumers on a device"
    )]
    MovedTwice {
        /// The send or transfer.
        what: String,
        /// Start of one.
        first: Time,
        /// Start of the other.
        second: Time,
    },
    /// An input of an op was never moved to its device.
    #[error("{consumer} on '{device}' started at {start} without {what}")]
    NeverMoved {
        /// The op.
        consumer: String,
        /// Its device.
        device: String,
        /// When it started.
        start: Time,
        /// The transfer that is missing.
        what: String,
    },
    /// Nothing on the receiving device consumes what was moved.
    #[error("{what} at {start} serves no consumer")]
    Superfluous {
        /// The transfer.
        what: String,
        /// Start.
        start: Time,
    },
    /// A transfer has no send or receive op, or one too many, or there is one where it would take no time.
    #[error("{what}: {reason}")]
    UnmatchedTask {
        /// The transfer.
        what: String,
        /// Why.
        reason: String,
    },
    /// A send, transfer or receive started before what it moves was there.
    #[error("{what} started at {start}, but {after} ended only at {ready}")]
    MovedTooEarly {
        /// The send, transfer or receive.
        what: String,
        /// When it started.
        start: Time,
        /// The op, send op or transfer before it.
        after: String,
        /// When that ended.
        ready: Time,
    },
    /// An op started before one of its inputs was on its device.
    #[error("{consumer} on '{device}' started at {start}, but its input from {producer} was there only at {available}")]
    StartedTooEarly {
        /// The op.
        consumer: String,
        /// Its device.
        device: String,
        /// When it started.
        start: Time,
        /// Where the input comes from.
        producer: String,
        /// When it was there.
        available: Time,
    },
    /// A device executed two tasks at once.
    #[error("at {time} device '{device}' executed {first} and {second} at once")]
    Overlap {
        /// When.
        time: Time,
        /// The device.
        device: String,
        /// One task.
        first: String,
        /// The other.
        second: String,
    },
    /// Under `one_port` or `loggp`, a device sent or received two transfers at once.
    #[error("at {time} device '{device}' {direction} two transfers at once: {first} and {second}")]
    PortOverlap {
        /// When.
        time: Time,
        /// The device.
        device: String,
        /// `sent` or `received`.
        direction: &'static str,
        /// One transfer.
        first: String,
        /// The other.
        second: String,
    },
    /// A device's memory was exceeded during the run.
    #[error(
        "at time {time} device '{device}' held {}, more than its memory of {}: the memory rule static refuses the run",
        excess_texts(*.bytes, *.memory_bytes).0,
        excess_texts(*.bytes, *.memory_bytes).1
    )]
    OutOfMemory {
        /// When.
        time: Time,
        /// The device.
        device: String,
        /// Bytes in use.
        bytes: u64,
        /// Its memory.
        memory_bytes: u64,
    },
    /// The static demands on a device are not below its memory (L §4.1).
    #[error(
        "the ops on device '{device}' demand {}, not below its memory of {}: the memory rule static counts every tensor as if it \
         were never freed",
        excess_texts(*.demand_bytes, *.memory_bytes).0,
        excess_texts(*.demand_bytes, *.memory_bytes).1
    )]
    DemandTooLarge {
        /// The device.
        device: String,
        /// Sum of the demands.
        demand_bytes: u64,
        /// Its memory.
        memory_bytes: u64,
    },
}
