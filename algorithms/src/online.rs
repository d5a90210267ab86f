//! What an online placer is: it chooses an op's device during the run, once all predecessors of the op have finished.

use placebench_datasets::{DeviceId, Instance, OpId, Time};

use crate::Assignment;

/// Name that takes the scheduler's place where an online placer decides: it orders the ops itself.
pub const ONLINE: &str = "online";

/// Makes an [`OnlinePolicy`] for an instance.
pub trait OnlinePlacer: Send + Sync {
    /// Prepares a run: levels and costs that follow from the instance are computed here, once.
    fn start<'a>(&self, instance: &'a Instance) -> Box<dyn OnlinePolicy + 'a>;
}

/// Decides during one run. The executor promises: each op becomes ready exactly once, when its last predecessor
/// has finished; all that become ready at an instant are announced together before any decision at that instant; then it
/// asks until the answer is `None`. Ops that take no time give their instant another round of the same form.
pub trait OnlinePolicy {
    /// These ops, ascending, became ready.
    fn ready(&mut self, ops: &[OpId], state: &dyn OnlineState);

    /// The next op to be given to a device now, or `None` to wait for something to happen.
    ///
    /// The op must be ready and not given to a device yet. The device must be feasible for the op's unit, and the one that
    /// another op of the unit was given to, if there is one. Inputs that are elsewhere are sent from then on. A device
    /// executes what it is given in the order in which it is given.
    fn next(&mut self, state: &dyn OnlineState) -> Option<(OpId, DeviceId)>;
}

/// What an online policy may look at when it decides.
pub trait OnlineState {
    /// The present instant.
    fn now(&self) -> Time;

    /// The devices of all units that have one (a unit gets its device with its first op), and the memory that they claim.
    fn assignment(&self) -> &Assignment<'_>;

    /// Whether a device has nothing to do: it executes nothing, and all that it was given is done.
    fn is_idle(&self, device: DeviceId) -> bool;

    /// When a device will have executed all that it was given; exact where transfers do not wait and sends cost nothing, else
    /// an estimate. Not before now.
    fn free_at(&self, device: DeviceId) -> Time;

    /// When the inputs of a ready op would be there if it were given to each device now; exact where transfers do not wait and
    /// sends cost nothing, else an estimate. `times` has an entry a device.
    fn arrivals(&self, op: OpId, times: &mut [Time]);
}
