//! When work should stop.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use placebench_base::processor::thread_time;

use crate::PlaceError;

/// Says whether work should stop: because it has taken the processor time that it may, because a deadline has passed, or
/// because someone asked.
///
/// # Limits
/// [`StopToken::within`] counts processor time: what a busy machine does beside the work is no reason to stop it. Each look at
/// the token ([`StopToken::is_stopped`], [`StopToken::check`]) counts what its thread has taken since its last look, unless it
/// has looked at a token of another limit meanwhile: so threads of a pool can work for several in turn, and what a thread does
/// before its first look counts for nobody. The clock on the wall remains as a backstop, [`StopToken::BACKSTOP`] times as long,
/// for work that waits.
#[derive(Clone, Debug, Default)]
pub struct StopToken {
    asked: Arc<AtomicBool>,
    deadline: Option<Instant>,
    limit: Option<Limit>,
}

/// A limit of processor time.
#[derive(Clone, Debug)]
struct Limit {
    /// What was counted, shared by all tokens that were made of the first one.
    spent: Arc<Spent>,
    /// Nanoseconds that may be.
    most: u64,
}

/// Processor time that was counted.
#[derive(Debug)]
struct Spent {
    /// No two have the same.
    id: u64,
    nanos: AtomicU64,
}

thread_local! {
    /// What this thread looked at last, when, and the processor time that it had taken.
    static LAST: Cell<Option<(u64, Instant, Duration)>> = const { Cell::new(None) };
}

/// Reading a thread's processor time is a call of the system: looks that follow each other more closely are not counted.
const STEP: Duration = Duration::from_millis(1);

impl Spent {
    fn new() -> Self {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Self { id: IDS.fetch_add(1, Ordering::Relaxed), nanos: AtomicU64::new(0) }
    }

    /// Counts what this thread has taken since it looked last, unless that was at something else or a moment ago.
    fn count(&self) {
        let now = Instant::now();
        let last = LAST.get().filter(|&(id, ..)| id == self.id);
        if last.is_some_and(|(_, then, _)| now.duration_since(then) < STEP) {
            return;
        }
        let time = thread_time();
        LAST.set(Some((self.id, now, time)));
        if let Some((.., before)) = last {
            self.add(time.saturating_sub(before));
        }
    }

    fn add(&self, time: Duration) {
        self.nanos.fetch_add(nanos(time), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.nanos.load(Ordering::Relaxed)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl StopToken {
    /// How many times as long as its limit work may take by the clock, whatever processor time it took.
    pub const BACKSTOP: u32 = 10;

    /// A token that stops at `deadline` by the clock, or when asked.
    pub fn with_deadline(deadline: Instant) -> Self {
        Self::default().until(deadline)
    }

    /// A token that stops when this one does, and at `deadline` by the clock at the latest.
    pub fn until(&self, deadline: Instant) -> Self {
        let deadline = self.deadline.map_or(deadline, |own| own.min(deadline));
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// A token that stops when this one does, and when work has taken `limit` of processor time more.
    pub fn within(&self, limit: Duration) -> Self {
        let (spent, own) = match &self.limit {
            Some(Limit { spent, most }) => (Arc::clone(spent), *most),
            None => (Arc::new(Spent::new()), u64::MAX),
        };
        spent.count();
        let most = spent.get().saturating_add(nanos(limit)).min(own);
        let backstop = Instant::now().checked_add(limit.saturating_mul(Self::BACKSTOP));
        let token = backstop.map_or_else(|| self.clone(), |deadline| self.until(deadline));
        Self { limit: Some(Limit { spent, most }), ..token }
    }

    /// A token that stops when this one does, and when this share of what is left of its limits is gone.
    pub fn share(&self, share: f64) -> Self {
        let now = Instant::now();
        let deadline = self.deadline.map(|end| now + end.saturating_duration_since(now).mul_f64(share));
        let limit = self.limit.as_ref().map(|Limit { spent, most }| {
            let before = spent.get();
            let left = most.saturating_sub(before) as f64 * share;
            Limit { spent: Arc::clone(spent), most: before.saturating_add(left as u64) }
        });
        Self { asked: Arc::clone(&self.asked), deadline, limit }
    }

    /// Asks all holders of clones of this token to stop.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether someone asked to stop.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// When this token stops by itself by the clock, if it does.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The processor time that was counted; none where there is no limit of it.
    pub fn spent(&self) -> Duration {
        self.limit.as_ref().map_or(Duration::ZERO, |limit| Duration::from_nanos(limit.spent.get()))
    }

    /// The processor time that is left; `None` if there is no limit.
    pub fn left(&self) -> Option<Duration> {
        let limit = self.limit.as_ref()?;
        Some(Duration::from_nanos(limit.most.saturating_sub(limit.spent.get())))
    }

    /// Counts processor time of work that does not look at the token itself, such as another process.
    pub fn spend(&self, time: Duration) {
        if let Some(limit) = &self.limit {
            limit.spent.add(time);
        }
    }

    /// Whether a limit is reached, given that `spent` was taken in all if that is more than what was counted: for who watches
    /// work that does not look by itself. Counts nothing.
    pub fn is_late(&self, spent: Duration) -> bool {
        self.limit.as_ref().is_some_and(|limit| nanos(spent.max(self.spent())) >= limit.most)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether to stop now. Reads the clock if there is a limit: call it every few thousand steps, not every step.
    pub fn is_stopped(&self) -> bool {
        if let Some(limit) = &self.limit {
            limit.spent.count();
        }
        self.is_asked() || self.is_late(Duration::ZERO)
    }

    /// An error if it is time to stop, looked at in every 1024th step only: for loops of many short steps.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`].
    pub fn check_at(&self, step: usize) -> Result<(), PlaceError> {
        if step.is_multiple_of(1024) { self.check() } else { Ok(()) }
    }

    /// An error if it is time to stop.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`].
    pub fn check(&self) -> Result<(), PlaceError> {
        if self.is_stopped() { Err(PlaceError::Stopped) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    /// Works until the token says stop.
    fn work(stop: &StopToken) {
        while !stop.is_stopped() {}
    }

    #[test]
    fn waiting_costs_nothing_and_work_counts_on_every_thread() {
        let stop = StopToken::default().within(Duration::from_millis(80));
        thread::sleep(Duration::from_millis(160));
        assert!(!stop.is_stopped(), "a thread that sleeps was counted");
        let taken: Vec<Duration> = thread::scope(|scope| {
            let worker = || {
                work(&stop);
                thread_time()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let taken: Duration = taken.into_iter().sum();
        assert!(stop.spent() >= Duration::from_millis(80) && stop.spent() <= taken, "{taken:?}: {:?}", stop.spent());
        assert_eq!((stop.left(), stop.is_asked()), (Some(Duration::ZERO), false));
    }

    #[test]
    fn what_a_thread_did_before_is_not_counted() {
        let [long, short] = [LONG, Duration::from_millis(30)].map(|limit| StopToken::default().within(limit));
        work(&short);
        assert!(!long.is_stopped());
        assert_eq!(long.spent(), Duration::ZERO, "what was done for another token is none of this one's");
    }

    #[test]
    fn a_token_within_another_shares_what_is_spent() {
        let outer = StopToken::default().within(LONG);
        let inner = outer.within(Duration::from_millis(20));
        work(&inner);
        assert!(!outer.is_stopped() && outer.spent() >= Duration::from_millis(20));
        assert!(outer.within(2 * LONG).left() <= Some(LONG), "no longer than the outer one");
        let half = outer.share(0.5).left().unwrap();
        assert!(half <= LONG / 2 && half > LONG / 3);
        outer.spend(LONG);
        assert!(outer.is_stopped() && inner.is_stopped());
    }

    #[test]
    fn what_others_take_makes_late_before_it_is_counted() {
        let stop = StopToken::default().within(LONG);
        assert!(stop.is_late(LONG) && !stop.is_late(LONG / 2) && !stop.is_stopped());
        assert!(StopToken::with_deadline(Instant::now()).is_stopped());
        assert!(!StopToken::default().is_late(LONG));
        stop.stop();
        assert!(stop.is_stopped() && !stop.is_late(Duration::ZERO));
    }
}
