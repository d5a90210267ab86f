//! Times of ops on unrelated machines, drawn around their costs.

use std::fmt;
use std::str::FromStr;

use placebench_base::params::{Named, Params};
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, OpId, processor_class, splitmix64};
use serde::{Deserialize, Serialize};

use crate::costs::fill_blocks;
use crate::error::GeneratorError;
use crate::random::{Purpose, Stream, unit};
use crate::{Distribution, DistributionError};

/// By what factor an op's time on a machine differs from its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Factor {
    /// `range(R)`: uniform in [1, R).
    Range(f64),
    /// `cvb(V)`: gamma-distributed with mean 1 and this coefficient of variation.
    Gamma(f64, Distribution),
    /// `share(β)`: uniform in [1 − β/2, 1 + β/2).
    Share(f64),
}

/// What [`Factor`] is written as.
const FACTORS: &str = "range(R) with R ≥ 1, cvb(V) with V in (0, 10], or share(β) with β in [0, 2)";

impl FromStr for Factor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (name, value) = text.strip_suffix(')').and_then(|text| text.split_once('(')).ok_or(())?;
        let value: f64 = value.trim().parse().map_err(drop)?;
        match name.trim() {
            "range" if value.is_finite() && value >= 1.0 => Ok(Self::Range(value)),
            "cvb" if value > 0.0 && value <= 10.0 => {
                let gamma = format!("gamma({},{})", 1.0 / (value * value), value * value);
                gamma.parse().map(|law| Self::Gamma(value, law)).map_err(|_: DistributionError| ())
            }
            "share" if (0.0..2.0).contains(&value) => Ok(Self::Share(value)),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(most) => write!(f, "range({most})"),
            Self::Gamma(variation, _) => write!(f, "cvb({variation})"),
            Self::Share(share) => write!(f, "share({share})"),
        }
    }
}

impl Factor {
    fn fill(&self, rng: &mut Stream, slots: &mut [f64]) {
        match self {
            Self::Range(most) => slots.iter_mut().for_each(|slot| *slot = 1.0 + unit(rng) * (most - 1.0)),
            Self::Gamma(_, gamma) => gamma.fill(rng, slots),
            Self::Share(share) => slots.iter_mut().for_each(|slot| *slot = 1.0 - share / 2.0 + unit(rng) * share),
        }
    }
}

/// Whether a machine that is faster for one op is faster for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consistency {
    /// For none in particular.
    Inconsistent,
    /// The machines `p1`, `p3`, `p5`, … are consistent among themselves.
    Semi,
    /// `p1` is the fastest for every op, then `p2`.
    Consistent,
}

impl Named for Consistency {
    const NAMES: &'static [(&'static str, Self)] =
        &[("inconsistent", Self::Inconsistent), ("semi", Self::Semi), ("consistent", Self::Consistent)];
}

/// The matrix of times, op by machine, that a family draws: nothing by default.
///
/// A time is the op's cost times a factor of its own. So the costs are what Ali et al. draw first, the heterogeneity of tasks:
/// `ops=uniform(1,3000)` with `times=range(1000)` is their range-based method with many different tasks and machines (theirs
/// draws broken numbers); `ops=gamma(2.78,360)` with `times=cvb(0.6)` their CVB method with mean 1000 and both coefficients
/// 0.6. `times=share(β)` is what Topcuoglu et al. draw: on average an op takes its cost.
///
/// # Reference
/// S. Ali, H. J. Siegel, M. Maheswaran, D. Hensgen, S. Ali: Task execution time modeling for heterogeneous computing systems.
/// HCW 2000, 185–199; T. D. Braun et al.: A comparison of eleven static heuristics for mapping a class of independent tasks
/// onto heterogeneous distributed computing systems. JPDC 61(6), 2001, 810–837 (semi-consistent matrices); H. Topcuoglu,
/// S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing. IEEE TPDS 13(3),
/// 2002, 260–274, §5.1 (range percentage β).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawTimes", into = "RawTimes")]
pub struct MachineTimes {
    factor: Factor,
    machines: u32,
    consistency: Consistency,
}

/// The machines of a matrix, unless the user says how many.
const MACHINES: u32 = 4;

/// More columns no table of a graph is made for.
const MOST_MACHINES: u32 = 1024;

/// [`MachineTimes`] as files spell them: `{ factor = "range(10)", machines = 8, consistency = "semi" }`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, such as { factor = \"cvb(0.6)\", machines = 8 }")]
struct RawTimes {
    factor: String,
    #[serde(default = "RawTimes::machines")]
    machines: u32,
    #[serde(default = "RawTimes::consistency")]
    consistency: String,
}

impl RawTimes {
    fn machines() -> u32 {
        MACHINES
    }

    fn consistency() -> String {
        Consistency::Inconsistent.name().to_owned()
    }
}

impl TryFrom<RawTimes> for MachineTimes {
    type Error = String;

    fn try_from(raw: RawTimes) -> Result<Self, String> {
        let RawTimes { factor, machines, consistency } = raw;
        let factor = factor.parse().map_err(|()| format!("`factor` is '{factor}', but must be {FACTORS}"))?;
        if !(1..=MOST_MACHINES).contains(&machines) {
            return Err(format!("`machines` is {machines}, but must be in [1, {MOST_MACHINES}]"));
        }
        let word = Consistency::NAMES.iter().find(|(word, _)| *word == consistency);
        let (_, consistency) = *word.ok_or_else(|| {
            let words: Vec<&str> = Consistency::NAMES.iter().map(|(word, _)| *word).collect();
            format!("`consistency` is '{consistency}', but must be one of {}", words.join(", "))
        })?;
        Ok(Self { factor, machines, consistency })
    }
}

impl From<MachineTimes> for RawTimes {
    fn from(times: MachineTimes) -> Self {
        let MachineTimes { factor, machines, consistency } = times;
        Self { factor: factor.to_string(), machines, consistency: consistency.name().to_owned() }
    }
}

impl MachineTimes {
    /// Declares and reads the parameters; `None` where nothing is to be drawn.
    pub(crate) fn new(params: &mut Params) -> Result<Option<Self>, SpecError> {
        let doc = "times of ops on unrelated machines p1, p2, …, each the op's cost times a factor of its own: none, range(R) \
                   (uniform from 1 to R), cvb(V) (gamma, mean 1, coefficient of variation V), share(β) (uniform from 1 − β/2 \
                   to 1 + β/2)";
        let parse = |text: &str| match text {
            "none" => Some(None),
            _ => text.parse().ok().map(Some),
        };
        let factor = params.value("times", "none", &format!("none, {FACTORS}"), doc, parse)?;
        let machines = params.number("machines", MACHINES, 1..=MOST_MACHINES, "number of unrelated machines")?;
        let doc = "whether a machine that is faster for one op is faster for all: inconsistent, semi (p1, p3, p5, … are), \
                   consistent (p1 is the fastest)";
        let consistency = params.word("consistency", Consistency::Inconsistent, doc)?;
        let Some(factor) = factor else {
            if machines != MACHINES || consistency != Consistency::Inconsistent {
                let reason = "'machines' and 'consistency' say how 'times' are drawn: give 'times', too";
                return Err(params.refuse_together(reason));
            }
            return Ok(None);
        };
        Ok(Some(Self { factor, machines, consistency }))
    }

    /// Bytes an op while the matrix is drawn and kept.
    pub(crate) fn op_bytes(&self) -> u64 {
        32 * u64::from(self.machines)
    }

    /// Gives each op a time on each machine.
    ///
    /// # Complexity
    /// O(ops · machines · log machines); in parallel, with the same result on any number of threads.
    pub(crate) fn draw(&self, graph: &DataflowGraph, seed: u64) -> Result<DataflowGraph, GeneratorError> {
        let costs: Vec<f64> = graph.op_ids().map(|op| graph.ops(op)).collect();
        let mut columns: Vec<Vec<f64>> = Vec::with_capacity(self.machines as usize);
        for machine in 0..self.machines {
            let mut column = vec![0.0; costs.len()];
            let seed = splitmix64(seed.wrapping_add(u64::from(machine)));
            fill_blocks(&mut column, |rng, slots| self.factor.fill(rng, slots), seed, Purpose::MachineTimes);
            column.iter_mut().zip(&costs).for_each(|(time, cost)| *time *= cost);
            columns.push(column);
        }
        let sorted: Vec<usize> = match self.consistency {
            Consistency::Inconsistent => Vec::new(),
            Consistency::Semi => (0..columns.len()).step_by(2).collect(),
            Consistency::Consistent => (0..columns.len()).collect(),
        };
        let mut row = vec![0.0; sorted.len()];
        for op in graph.op_ids().map(OpId::index) {
            row.iter_mut().zip(&sorted).for_each(|(time, &machine)| *time = columns[machine][op]);
            row.sort_unstable_by(f64::total_cmp);
            sorted.iter().zip(&row).for_each(|(&machine, &time)| columns[machine][op] = time);
        }
        let mut graph = graph.clone();
        for (machine, column) in columns.into_iter().enumerate() {
            let times = column.into_iter().map(Some).collect();
            graph = graph.with_measured_times(&processor_class(machine), times)?;
        }
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_read_or_refused() {
        assert_eq!("range(10)".parse(), Ok(Factor::Range(10.0)));
        assert_eq!("share(0.5)".parse(), Ok(Factor::Share(0.5)));
        for text in ["range(10)", "cvb(0.3)", "share(0.5)"] {
            assert_eq!(text.parse::<Factor>().unwrap().to_string(), text);
        }
        for wrong in
            ["range(0.5)", "range(inf)", "cvb(0)", "cvb(nan)", "cvb(11)", "share(2)", "share(-1)", "range", "(3)"]
        {
            assert_eq!(wrong.parse::<Factor>(), Err(()), "{wrong}");
        }
    }
}
