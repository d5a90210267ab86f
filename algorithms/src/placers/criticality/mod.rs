//! What cats, cpath and hybrid share: critical ops go to fast devices, the others to slow ones, when a device is idle.
//!
//! [`path`] recognises critical ops, [`queues`] holds the ready ones, [`speeds`] says which devices are fast.

mod path;
mod queues;
mod speeds;

use placebench_datasets::{DeviceId, Instance, OpId};

use crate::online::{OnlinePolicy, OnlineState};
use crate::{Named, Params, SpecError};
use path::CriticalPath;
use queues::Queues;
use speeds::Speeds;

/// Who may take what is meant for the other devices, when nothing of their own is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stealing {
    /// Fast devices take non-critical ops.
    Fast,
    /// Slow devices take critical ops, too.
    Both,
}

impl Named for Stealing {
    const NAMES: &'static [(&'static str, Self)] = &[("fast", Self::Fast), ("both", Self::Both)];
}

impl Stealing {
    /// The parameter `steal`.
    pub(super) fn param(params: &mut Params) -> Result<Self, SpecError> {
        let doc = "who takes what is meant for others when nothing else is left: fast devices (fast), or slow ones too (both)";
        params.word("steal", Self::Fast, doc)
    }
}

/// The policy: which ready op is critical, and who executes it.
pub(super) struct Criticality<'a> {
    instance: &'a Instance,
    stealing: Stealing,
    path: CriticalPath,
    queues: Queues<'a>,
    /// For units of each set of kinds, which devices are fast.
    is_fast: [Vec<bool>; 8],
    /// The order in which idle devices choose.
    order: Vec<DeviceId>,
}

impl<'a> Criticality<'a> {
    /// A policy that recognises critical ops by `level` and orders queues by `priority`; neither may be negative.
    pub(super) fn new(instance: &'a Instance, stealing: Stealing, level: Vec<f64>, priority: Vec<f64>) -> Self {
        let speeds = Speeds::new(instance);
        Self {
            instance,
            stealing,
            path: CriticalPath::new(level),
            queues: Queues::new(instance, priority),
            is_fast: std::array::from_fn(|bits| speeds.fast_devices(instance, bits)),
            order: speeds.fastest_first(instance),
        }
    }

    /// What an idle device takes: what only it may take, then what is meant for devices like it, then what it may steal.
    fn choice(&self, device: DeviceId, state: &dyn OnlineState) -> Option<OpId> {
        let is_fast = |bits: usize| self.is_fast[bits][device.index()];
        let own = || self.queues.first_free(device, state, |bits, is_critical| is_fast(bits) == is_critical);
        let stolen = || {
            self.queues.first_free(device, state, |bits, is_critical| match is_fast(bits) {
                true => !is_critical,
                false => is_critical && self.stealing == Stealing::Both,
            })
        };
        self.queues.first_bound(device).or_else(own).or_else(stolen)
    }
}

impl OnlinePolicy for Criticality<'_> {
    fn ready(&mut self, ops: &[OpId], state: &dyn OnlineState) {
        let mut ops = ops.to_vec();
        ops.sort_by(|&a, &b| self.path.level(b).total_cmp(&self.path.level(a)));
        for op in ops {
            let is_critical = self.path.extend(self.instance.graph(), op);
            self.queues.push(op, is_critical, state);
        }
    }

    fn next(&mut self, state: &dyn OnlineState) -> Option<(OpId, DeviceId)> {
        if self.queues.is_empty() {
            return None;
        }
        let idle = || self.order.iter().copied().filter(|&device| state.is_idle(device));
        let chosen = idle().find_map(|device| Some((self.choice(device, state)?, device))).or_else(|| {
            // Only memory can keep ops from the devices that they are meant for while all are idle: then any will do.
            let stuck = self.order.iter().all(|&device| state.is_idle(device));
            let any = |device| Some((self.queues.first_free(device, state, |_, _| true)?, device));
            stuck.then(|| idle().find_map(any))?
        });
        let (op, device) = chosen?;
        self.queues.take(op, device, state);
        Some((op, device))
    }
}
