//! What searches for slots have shown: for how long a device has no room for something of a duration.
//!
//! A list scheduler asks every device for every op, and most devices answer as they did before. Reservations only take room away,
//! so an answer stays a lower bound for good.

use std::cell::Cell;

use placebench_datasets::Time;

/// Bits of a positive float from here up are its class: eight classes an octave.
const CLASS_BITS: u32 = 49;

/// Classes that are kept, sixteen octaves: shorter durations are searched for each time.
const CLASSES: usize = 128;

/// For each class of durations, a stretch of time in which nothing of at least the least duration of the class can start.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    /// The class of the first stretch.
    first: u64,
    /// Beginning and end.
    stretches: Vec<Cell<(Time, Time)>>,
}

/// A class of durations of one device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class(usize);

impl Waits {
    /// Nothing known, about durations up to `longest`; longer ones count as if they were as long.
    pub(super) fn new(longest: Time) -> Self {
        let first = (longest.to_bits() >> CLASS_BITS).saturating_sub(CLASSES as u64 - 1);
        Self { first, stretches: vec![Cell::new((0.0, 0.0)); CLASSES] }
    }

    /// The class of a duration, if it is kept.
    #[inline]
    pub(super) fn class(&self, duration: Time) -> Option<Class> {
        let class = (duration.to_bits() >> CLASS_BITS).checked_sub(self.first)?;
        Some(Class((class as usize).min(CLASSES - 1)))
    }

    /// The least duration of a class.
    #[inline]
    pub(super) fn least(&self, class: Class) -> Time {
        f64::from_bits((self.first + class.0 as u64) << CLASS_BITS)
    }

    /// Nothing of the class starts from `ready` until then.
    #[inline]
    pub(super) fn known(&self, class: Class, ready: Time) -> Time {
        let (from, until) = self.stretches[class.0].get();
        if from <= ready && ready < until { until } else { ready }
    }

    /// Nothing of the class starts from `ready` until `start`.
    #[inline]
    pub(super) fn learn(&self, class: Class, ready: Time, start: Time) {
        let stretch = &self.stretches[class.0];
        let (from, until) = stretch.get();
        if ready <= until && start >= from {
            stretch.set((from.min(ready), until.max(start)));
        } else if ready < start {
            stretch.set((ready, start));
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.stretches.iter().for_each(|stretch| stretch.set((0.0, 0.0)));
    }
}
