//! What a driver answers: JSON, one object a line.

use placebench_datasets::PlacedGraph;
use serde::Deserialize;

use crate::timeline::Interval;

/// Microseconds, in which drivers count, of a second.
const MICROSECONDS: f64 = 1e6;

/// A line of a driver.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    Ready {
        hardware: Hardware,
        #[serde(default)]
        software: String,
    },
    Step {
        #[serde(default)]
        problem: usize,
        load_others: Option<f64>,
        kind: String,
    },
    Result(Outcome),
    Error {
        kind: String,
        message: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct Hardware {
    model: String,
    cores: u64,
    #[serde(default)]
    gpus: Vec<Gpu>,
    /// Whether there are more devices on GPUs than GPUs.
    #[serde(default)]
    gpus_shared: bool,
    #[serde(default)]
    software: String,
    /// How tensors move, if the driver has a choice.
    #[serde(default)]
    transport: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Gpu {
    name: String,
    driver: Option<String>,
    clock_mhz: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Outcome {
    /// Which of the problems, from 0.
    #[serde(default)]
    problem: usize,
    makespans_us: Vec<f64>,
    ops: Vec<[f64; 2]>,
    transfers: Vec<[f64; 2]>,
    bytes: u64,
    /// How many of the steps that count ran while a core was slow.
    #[serde(default)]
    slow: u64,
    /// How many steps were run again since a core was slow.
    #[serde(default)]
    repeated: u64,
    #[serde(default)]
    checked: String,
}

/// What a driver measured; times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) hardware: String,
    pub(super) software: String,
    pub(super) transport: String,
    pub(super) checked: String,
    /// Bytes that moved between devices.
    pub(super) bytes: u64,
    /// Steps while a core was slow: of those that count, and those that were run again.
    pub(super) slow: [u64; 2],
    pub(super) other_load: Option<f64>,
    pub(super) makespans: Vec<f64>,
    pub(super) ops: Vec<Interval>,
    pub(super) transfers: Vec<Interval>,
}

/// Reads what a driver wrote, and checks that it fits what was asked: an answer for each placed graph.
///
/// # Errors
/// One line: the driver's own error, or what is wrong with which line.
pub(super) fn read(text: &str, placed: &[&PlacedGraph<'_>], repetitions: u32) -> Result<Vec<Answer>, String> {
    let mut hardware = None;
    let mut loads = vec![Vec::new(); placed.len()];
    let mut outcomes = vec![None; placed.len()];
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let event = serde_json::from_str(line)
            .map_err(|error| format!("line {} of the driver's output is no event: {error}", index + 1))?;
        let (problem, what) = match event {
            // Drivers say it in either place.
            Event::Ready { hardware: found, software } if found.software.is_empty() => {
                hardware = Some(Hardware { software, ..found });
                continue;
            }
            Event::Ready { hardware: found, .. } => {
                hardware = Some(found);
                continue;
            }
            Event::Error { kind, message } => return Err(format!("{kind}: {}", message.replace('\n', " "))),
            Event::Step { kind, .. } if kind != "measured" => continue,
            Event::Step { problem, load_others, .. } => {
                (problem, loads.get_mut(problem).map(|loads| loads.extend(load_others)))
            }
            Event::Result(found) => {
                (found.problem, outcomes.get_mut(found.problem).map(|outcome| *outcome = Some(found)))
            }
        };
        what.ok_or_else(|| {
            format!("line {} of the driver's output is of problem {problem}; there are {}", index + 1, placed.len())
        })?;
    }
    let hardware: Hardware = hardware.ok_or("the driver did not say on what it runs")?;
    let answer = |((outcome, loads), placed): ((Option<Outcome>, Vec<f64>), &&PlacedGraph<'_>)| {
        let outcome = outcome.ok_or("the driver ended without a result")?;
        check(&outcome, placed, repetitions)?;
        Ok(Answer {
            hardware: hardware.to_string(),
            software: hardware.software.clone(),
            transport: hardware.transport.clone(),
            checked: outcome.checked.replace('\n', " "),
            bytes: outcome.bytes,
            slow: [outcome.slow, outcome.repeated],
            other_load: (!loads.is_empty()).then(|| loads.iter().sum::<f64>() / loads.len() as f64),
            makespans: outcome.makespans_us.iter().map(|time| time / MICROSECONDS).collect(),
            ops: intervals(&outcome.ops),
            transfers: intervals(&outcome.transfers),
        })
    };
    outcomes.into_iter().zip(loads).zip(placed).map(answer).collect()
}

/// In seconds.
fn intervals(times: &[[f64; 2]]) -> Vec<Interval> {
    times.iter().map(|&[start, end]| Interval { start: start / MICROSECONDS, end: end / MICROSECONDS }).collect()
}

/// Whether a result fits what was asked.
fn check(outcome: &Outcome, placed: &PlacedGraph<'_>, repetitions: u32) -> Result<(), String> {
    let Outcome { makespans_us, ops, transfers, .. } = outcome;
    let moved = placed.transfer_count();
    for (what, found, expected) in [
        ("makespans", makespans_us.len(), repetitions as usize),
        ("ops", ops.len(), placed.instance().graph().op_count()),
        ("transfers", transfers.len(), moved),
    ] {
        if found != expected {
            return Err(format!("the driver's result has {found} {what}, not {expected}"));
        }
    }
    if let Some(time) = makespans_us.iter().find(|time| !(time.is_finite() && **time > 0.0)) {
        return Err(format!("the driver's result has a makespan of {time} µs"));
    }
    let is_wrong = |&&[start, end]: &&[f64; 2]| !(start.is_finite() && end.is_finite() && start >= 0.0 && end >= start);
    if let Some([start, end]) = ops.iter().chain(transfers).find(is_wrong) {
        return Err(format!("the driver's result has a time from {start} to {end} µs"));
    }
    Ok(())
}

impl std::fmt::Display for Hardware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} {}", self.model, self.cores, if self.cores == 1 { "core" } else { "cores" })?;
        for Gpu { name, driver, clock_mhz } in &self.gpus {
            write!(f, "; {name}")?;
            if let Some(driver) = driver {
                write!(f, ", driver {driver}")?;
            }
            if let Some(clock) = clock_mhz {
                write!(f, ", {clock} MHz")?;
            }
        }
        if self.gpus_shared {
            f.write_str("; GPU shared by devices")?;
        }
        Ok(())
    }
}
