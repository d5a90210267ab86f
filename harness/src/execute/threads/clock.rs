//! A clock in nanoseconds, and waiting for its instants as precisely as the system can.

use std::sync::atomic::{AtomicBool, Ordering};

pub(super) use system::{be_precise, now, pin};

/// An instant or a length of time in nanoseconds. On Linux it is the system's monotonic clock, which all processes share.
pub(super) type Nanos = i64;

/// Nanoseconds of a second.
pub(super) const SECOND: f64 = 1e9;

/// The longest wait that does not look whether the run was given up.
const SLICE: Nanos = 50_000_000;

/// Waking up takes the system about this long: whoever waits sleeps until so much before the instant, and then looks at
/// the clock again and again.
const WAKE_UP: Nanos = 40_000;

/// The share of the cores' time that devices may spend on looking at the clock.
const LOOKING: f64 = 0.25;

/// How long before an instant a device looks at the clock, if its ops take so long and the devices share the cores.
pub(super) fn look_ahead(mean_op_seconds: f64, devices: usize, cores: usize) -> Nanos {
    let affordable = LOOKING * cores as f64 * mean_op_seconds * SECOND / devices.max(1) as f64;
    (affordable as Nanos).min(WAKE_UP)
}

/// Waits until an instant, the last `ahead` of it awake; false if the run was given up meanwhile.
pub(super) fn wait_until(instant: Nanos, ahead: Nanos, given_up: &AtomicBool) -> bool {
    loop {
        let left = instant - now();
        if left <= 0 {
            return true;
        }
        if given_up.load(Ordering::Relaxed) {
            return false;
        }
        if left <= ahead {
            std::hint::spin_loop();
        } else {
            system::sleep_until((instant - ahead).min(instant - left + SLICE));
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::num::NonZeroU64;

    use rustix::thread::{CpuSet, clock_nanosleep_absolute, sched_setaffinity, set_current_timer_slack};
    use rustix::time::{ClockId, Timespec, clock_gettime};
    use thread_priority::{
        RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };

    use super::Nanos;

    const SECOND: Nanos = 1_000_000_000;

    /// The present instant.
    pub(in super::super) fn now() -> Nanos {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
        tv_sec * SECOND + tv_nsec
    }

    /// Sleeps until about an instant. An absolute one, so that what happens before the call does not delay it.
    pub(super) fn sleep_until(instant: Nanos) {
        let instant = Timespec { tv_sec: instant / SECOND, tv_nsec: instant % SECOND };
        // A signal ends the sleep early; the caller looks at the clock.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &instant);
    }

    /// Lets this thread wake up when it wants to: first in, first out before all normal threads where that is permitted,
    /// which this answers, and without the slack that the system otherwise gives its timers.
    pub(in super::super) fn be_precise(priority: u8) -> bool {
        // Without it timers are some 50 µs later: no reason to fail.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
        let Ok(value) = priority.try_into() else { return false };
        set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy).is_ok()
    }

    /// Keeps this thread on one core.
    pub(in super::super) fn pin(core: usize) {
        let mut cores = CpuSet::new();
        cores.set(core);
        // A thread that moves is only less precise.
        let _ = sched_setaffinity(None, &cores);
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::sync::OnceLock;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::Nanos;

    fn origin() -> Instant {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        *ORIGIN.get_or_init(Instant::now)
    }

    pub(in super::super) fn now() -> Nanos {
        origin().elapsed().as_nanos() as Nanos + 1
    }

    pub(super) fn sleep_until(instant: Nanos) {
        thread::sleep(Duration::from_nanos((instant - now()).max(0) as u64));
    }

    /// There is no call for it here.
    pub(in super::super) fn be_precise(_: u8) -> bool {
        false
    }

    /// There is no call for it here.
    pub(in super::super) fn pin(_: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_up_early_and_few_devices_look_at_the_clock_longer_than_many() {
        let go = AtomicBool::new(false);
        for ahead in [0, WAKE_UP] {
            let instant = now() + 2_000_000;
            assert!(wait_until(instant, ahead, &go));
            assert!(now() >= instant);
        }
        assert!(wait_until(now() - 1, WAKE_UP, &go));
        assert!(!wait_until(now() + 3_600_000_000_000, WAKE_UP, &AtomicBool::new(true)));
        assert_eq!(look_ahead(0.003, 2, 2), WAKE_UP);
        assert_eq!(look_ahead(0.003, 150, 2), 10_000);
    }
}
