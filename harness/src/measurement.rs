//! What is known of a measured run besides its timeline: on what, how often, and what else went on.

use std::fs;
use std::thread;

use placebench_datasets::Time;

/// How a run was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// What it ran on: model of the processor, cores, GPUs with driver and clock.
    pub hardware: String,
    /// How it ran: kernel, transport, order, and what of that was refused.
    pub execution: String,
    /// Share of the machine's processor time that other processes used during the repetitions, from 0 to 1; `None` if the
    /// system does not report it.
    pub other_load: Option<f64>,
    /// Runs before the first that counts.
    pub warm_ups: u32,
    /// The makespan of each repetition in its order, in the instance's time unit. Not empty.
    pub makespans: Vec<Time>,
    /// Real seconds that one time unit of the instance took.
    pub time_scale: f64,
}

impl Measurement {
    /// The median of the makespans: of an even number, the mean of the two in the middle.
    pub fn median(&self) -> Time {
        median(self.makespans.iter().copied()).unwrap_or(0.0)
    }

    /// The medians over every other repetition, from the first and from the second on: how far they are apart says how
    /// noisy the measurement is. `None` of a single repetition.
    pub fn halves(&self) -> Option<[Time; 2]> {
        let half = |first| median(self.makespans.iter().skip(first).step_by(2).copied());
        Some([half(0)?, half(1)?])
    }

    /// The least makespan.
    pub fn least(&self) -> Time {
        self.sorted()[0]
    }

    /// The largest makespan.
    pub fn largest(&self) -> Time {
        self.sorted()[self.makespans.len() - 1]
    }

    /// The index of the repetition whose makespan is nearest to the median; the first of several.
    pub fn median_repetition(&self) -> usize {
        let median = self.median();
        let distance = |&index: &usize| (self.makespans[index] - median).abs();
        (0..self.makespans.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
    }

    fn sorted(&self) -> Vec<Time> {
        let mut sorted = self.makespans.clone();
        sorted.sort_by(Time::total_cmp);
        sorted
    }
}

fn median(times: impl Iterator<Item = Time>) -> Option<Time> {
    let mut sorted: Vec<Time> = times.collect();
    sorted.sort_by(Time::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some((sorted[last / 2] + sorted[sorted.len() / 2]) / 2.0)
}

/// The model of this machine's processor; its architecture where the system does not say more.
pub fn processor_model() -> String {
    let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    model.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// The name of this host; `unknown` if the system does not say.
pub fn host_name() -> String {
    let asked = || String::from_utf8(std::process::Command::new("hostname").output().ok()?.stdout).ok();
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(asked).unwrap_or_default();
    if name.trim().is_empty() { "unknown".to_owned() } else { name.trim().to_owned() }
}

/// The processor of this machine and its number of cores, in words.
pub fn processor() -> String {
    match cores() {
        1 => format!("{}, 1 core", processor_model()),
        cores => format!("{}, {cores} cores", processor_model()),
    }
}

/// Cores that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Cores of this machine, of which this process may use some; `None` where the system does not say it.
pub fn machine_cores() -> Option<usize> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let is_core =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    Some(text.lines().filter(is_core).count()).filter(|&cores| cores > 0)
}

/// Processor time used so far, in ticks of the system's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadMeter {
    /// All processor time that passed on this machine, idle time included.
    all: u64,
    /// What processes used.
    busy: u64,
    /// What this process used, its children that have ended, and the processes named.
    own: u64,
}

impl LoadMeter {
    /// Reads the counters, those of this process and of `others` that belong to it; `None` where there are none.
    pub fn now(others: &[u32]) -> Option<Self> {
        let (all, busy) = machine_ticks(&fs::read_to_string("/proc/stat").ok()?)?;
        let ids = std::iter::once("self".to_owned()).chain(others.iter().map(u32::to_string));
        let ticks = ids.map(|id| process_ticks(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?));
        Some(Self { all, busy, own: ticks.sum::<Option<u64>>()? })
    }

    /// The share of the machine's processor time that others used since `self` was read.
    pub fn others_until(&self, now: &Self) -> f64 {
        let all = now.all.saturating_sub(self.all);
        let own = now.own.saturating_sub(self.own);
        let others = now.busy.saturating_sub(self.busy).saturating_sub(own);
        if all == 0 { 0.0 } else { (others as f64 / all as f64).min(1.0) }
    }
}

/// All ticks and busy ticks in `/proc/stat`. Guests are counted in user time already.
fn machine_ticks(text: &str) -> Option<(u64, u64)> {
    let fields = text.lines().find(|line| line.starts_with("cpu "))?.split_whitespace().skip(1).take(8);
    let ticks = fields.map(|field| field.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let all = ticks.iter().sum();
    let idle: u64 = ticks.get(3)? + ticks.get(4)?;
    Some((all, all - idle))
}

/// User and system ticks of a process and of its children that were waited for, in `/proc/self/stat`. The name of the
/// program may hold spaces, and ends with the last parenthesis.
fn process_ticks(text: &str) -> Option<u64> {
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
    fields.try_fold(0, |sum, field| Some(sum + field.parse::<u64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(makespans: &[Time]) -> Measurement {
        Measurement {
            hardware: String::new(),
            execution: String::new(),
            other_load: None,
            warm_ups: 1,
            makespans: makespans.to_vec(),
            time_scale: 1.0,
        }
    }

    #[test]
    fn the_median_repetition_is_one_that_was_measured() {
        let odd = of(&[5.0, 1.0, 3.0]);
        assert_eq!((odd.least(), odd.median(), odd.largest(), odd.median_repetition()), (1.0, 3.0, 5.0, 2));
        let even = of(&[4.0, 1.0, 9.0, 3.0]);
        assert_eq!((even.median(), even.median_repetition()), (3.5, 0));
        assert_eq!((odd.halves(), even.halves()), (Some([4.0, 1.0]), Some([6.5, 2.0])));
        assert_eq!(of(&[1.0]).halves(), None);
    }

    #[test]
    fn ticks_are_read_from_what_linux_writes() {
        let stat = "cpu  100 5 20 800 30 1 2 3 7 7\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(machine_ticks(stat), Some((961, 131)));
        let own = "77 (a (b) c) S 1 77 77 0 -1 4194304 100 0 0 0 11 22 3 4 20 0 1 0 100 0 0";
        assert_eq!(process_ticks(own), Some(40));
        assert_eq!((machine_ticks("nonsense"), process_ticks("nonsense")), (None, None));
    }

    #[test]
    fn what_this_process_uses_is_not_the_load_of_others() {
        let before = LoadMeter { all: 1000, busy: 400, own: 100 };
        let after = LoadMeter { all: 1200, busy: 500, own: 160 };
        assert_eq!(before.others_until(&after), 0.2);
        assert_eq!(before.others_until(&before), 0.0);
    }
}
