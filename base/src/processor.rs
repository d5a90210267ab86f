//! Processor time: what work costs, however busy the machine is.

use std::path::PathBuf;
use std::time::Duration;

use cpu_time::{ProcessTime, ThreadTime};

/// The processor time that the calling thread has taken.
pub fn thread_time() -> Duration {
    ThreadTime::now().as_duration()
}

/// The processor time that all threads of this process have taken.
pub fn process_time() -> Duration {
    ProcessTime::now().as_duration()
}

/// Tells other threads how much processor time a thread has taken.
#[derive(Clone, Debug)]
pub struct ThreadClock {
    stat: PathBuf,
}

impl ThreadClock {
    /// That of the calling thread; `None` where the system does not tell it, which is anywhere but on Linux.
    pub fn of_this_thread() -> Option<Self> {
        // `/proc/thread-self` names the thread that reads it: the link says which one that is.
        let thread = std::fs::read_link("/proc/thread-self").ok()?;
        Some(Self { stat: PathBuf::from("/proc").join(thread).join("stat") })
    }

    /// What the thread has taken, in steps of 10 ms; `None` if it has ended.
    pub fn read(&self) -> Option<Duration> {
        ProcessStat::parse(&std::fs::read_to_string(&self.stat).ok()?).map(|stat| stat.time)
    }
}

/// What `/proc/ID/stat` says of a process or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Whether it has ended and only waits for its parent to ask how.
    pub has_ended: bool,
    /// The id of its parent.
    pub parent: u32,
    /// Processor time that it has taken, in steps of 10 ms.
    pub time: Duration,
    /// Processor time of its children that have ended and that it has asked about.
    pub children_time: Duration,
}

impl ProcessStat {
    /// That of a process; `None` if there is none of this id, or not on Linux.
    pub fn of(process: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    fn parse(stat: &str) -> Option<Self> {
        /// Programs see this many ticks a second, whatever the kernel counts in (USER_HZ; on Alpha and Itanium 1024).
        const TICKS: u64 = 100;
        // The program's name, in parentheses, may hold anything. The state, which follows, is the third field.
        let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
        let ticks = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let time = |a: usize, b: usize| Some(Duration::from_millis((ticks(a)? + ticks(b)?) * (1000 / TICKS)));
        Some(Self {
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            time: time(14, 15)?,
            children_time: time(16, 17)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = "7 (a ) b (c) S 3 7 7 0 -1 4194304 1 2 3 4 11 22 33 44 20 0 1 0";
        let expected = ProcessStat {
            has_ended: false,
            parent: 3,
            time: Duration::from_millis(330),
            children_time: Duration::from_millis(770),
        };
        assert_eq!(ProcessStat::parse(stat), Some(expected));
        assert!(ProcessStat::parse(&stat.replace(" S ", " Z ")).unwrap().has_ended);
        assert_eq!(ProcessStat::parse("7 (a) S 3"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_works_takes_time_and_others_see_it() {
        let clock = ThreadClock::of_this_thread().unwrap();
        while thread_time() < Duration::from_millis(60) {}
        let seen = std::thread::spawn({
            let clock = clock.clone();
            move || clock.read().unwrap()
        });
        // Ticks are rounded, each of the two kinds.
        assert!(seen.join().unwrap() >= Duration::from_millis(30));
        let ended = std::thread::spawn(|| ThreadClock::of_this_thread().unwrap()).join().unwrap();
        // A thread can be joined before the system has removed it.
        while ended.read().is_some() {
            std::thread::yield_now();
        }
        assert_ne!(ProcessStat::of(std::process::id()).unwrap().parent, 0);
    }
}
