//! The parameters of a leveled graph, as suites give them.

use std::fmt;
use std::str::FromStr;

use placebench_base::{exactly_two, parse_toml};
use serde::{Deserialize, Serialize};

use crate::costs::{Costs, KindProbabilities};
use crate::distribution::{call, real};
use crate::error::{GeneratorError, check_probability};
use crate::unrelated::MachineTimes;

/// The parameters of a leveled graph (L §6.2); see [`crate::leveled`] for what they do.
///
/// ```
/// use placebench_generator::{Amount, LeveledParams};
///
/// let params: LeveledParams = LeveledParams::from_toml(
///     r#"
///     levels = 200
///     nodes_per_level = [20, 80]
///     nodes = 9899
///     level_edges = { count = 21387, limit = 10 }
///     random_edges = { probability = 0.0005 }
///     costs = { ops = "uniform(1,100)", tensor_bytes = "lognormal(10,2)" }
///     kinds = { gpu = 0.1 }
///     colocation = { nodes = 1945 }
///     "#,
/// )
/// .unwrap();
/// assert_eq!(params.level_edges.amount, Amount::Count(21387));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeveledParams {
    /// Number of levels, at least 1.
    pub levels: u32,
    /// Least and largest number of ops in a level; each number of the range is equally likely.
    #[serde(deserialize_with = "exactly_two")]
    pub nodes_per_level: (u32, u32),
    /// Exact number of ops in all: after the levels' sizes are drawn, single ops are added to or taken from random
    /// levels until the sum is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Whether some level has the least number of ops and some level the largest. A graph of a single level ignores it.
    #[serde(default)]
    pub reach_bounds: bool,
    /// The level-based edges.
    #[serde(default)]
    pub level_edges: LevelEdges,
    /// The random long-range edges: pairs of ops of different levels, drawn uniformly among the pairs that no
    /// level-based edge connects, directed to the higher level.
    #[serde(default)]
    pub random_edges: Amount,
    /// Distributions of the ops' weights.
    #[serde(default)]
    pub costs: Costs,
    /// Spearman's rank correlation of an op's cost with the size of its output, from -1 to 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub correlation: f64,
    /// Communication to computation: sizes are scaled until mean bytes an edge / mean cost an op is this. `None` leaves
    /// sizes as they are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ccr: Option<f64>,
    /// Times on unrelated machines; `None` leaves the cost alone to say what an op takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<MachineTimes>,
    /// Probabilities of kind constraints, drawn once an assignment unit: a colocation group has one for all members.
    #[serde(default)]
    pub kinds: KindProbabilities,
    /// Colocation groups.
    #[serde(default)]
    pub colocation: ColocationParams,
}

/// How many edges there are: of each pair that may have one, or in all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawLevelEdges", into = "RawLevelEdges")]
pub enum Amount {
    /// Each pair gets an edge with this probability, independently.
    Probability(f64),
    /// Exactly this number of edges.
    Count(u64),
}

impl Default for Amount {
    fn default() -> Self {
        Self::Count(0)
    }
}

/// Level-based edges: between ops of different levels, from the lower to the higher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawLevelEdges", into = "RawLevelEdges")]
pub struct LevelEdges {
    /// How many. With a [`Decay`], a probability is that of neighbouring levels.
    pub amount: Amount,
    /// The edge level limit: the largest number of levels that an edge spans; `None` is no limit.
    pub limit: Option<u32>,
    /// How likelihood falls with the number of levels that an edge spans.
    pub decay: Decay,
}

/// How the likelihood of a level-based edge falls with the number of levels `d` ≥ 1 that it spans, relative to `d` = 1.
///
/// Beyond the distance at which the factor falls below 10⁻¹² there are no edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Decay {
    /// `none`: not at all.
    #[default]
    None,
    /// `exponential(scale)`: factor e^(−(d − 1)/scale).
    Exponential {
        /// Number of levels in which the likelihood falls to 1/e.
        scale: f64,
    },
    /// `power(exponent)`: factor d^(−exponent).
    Power {
        /// The exponent, > 0.
        exponent: f64,
    },
}

/// Colocation groups with the heavy-tailed sizes of TensorFlow's graphs (L Fig. 6.1: many small groups, few large).
///
/// Sizes follow a power law: size s in 2..=`max_size` with probability in proportion to s^(−`exponent`). The default
/// exponent, 3.3, is the maximum-likelihood fit to the 666 groups of a dynamic RNN's graph extracted from TensorFlow
/// 2.15 (75 % pairs, the largest group 160 ops, which is the default `max_size`). Members are drawn uniformly over the
/// whole graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ColocationParams {
    /// Exact number of ops that are in some group.
    pub nodes: u64,
    /// Exponent of the power law, ≥ 0.
    pub exponent: f64,
    /// Largest size of a group, ≥ 2.
    pub max_size: u32,
}

impl Default for ColocationParams {
    fn default() -> Self {
        Self { nodes: 0, exponent: 3.3, max_size: 160 }
    }
}

impl LeveledParams {
    /// Levels without edges, weights L's; the rest is set field by field.
    pub fn new(levels: u32, nodes_per_level: (u32, u32)) -> Self {
        Self {
            levels,
            nodes_per_level,
            nodes: None,
            reach_bounds: false,
            level_edges: LevelEdges::default(),
            random_edges: Amount::default(),
            costs: Costs::default(),
            correlation: 0.0,
            ccr: None,
            times: None,
            kinds: KindProbabilities::default(),
            colocation: ColocationParams::default(),
        }
    }

    /// Reads and checks parameters in TOML.
    ///
    /// # Errors
    /// One line: the syntax error with its line, or the parameter that is wrong and what it must be.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let params: Self = parse_toml(text).map_err(|fault| fault.to_string())?;
        params.check().map_err(|error| error.to_string())?;
        Ok(params)
    }

    /// Checks the parameters as far as possible before the level sizes are drawn.
    ///
    /// # Errors
    /// The first parameter that is wrong, and what it must be.
    pub fn check(&self) -> Result<(), GeneratorError> {
        let (min, max) = self.nodes_per_level;
        if self.levels == 0 {
            return Err(GeneratorError::bad("levels", 0, "at least 1"));
        }
        if min > max || max == 0 {
            let value = format!("[{min}, {max}]");
            return Err(GeneratorError::bad(
                "nodes_per_level",
                value,
                "[least, largest] with least ≤ largest, largest > 0",
            ));
        }
        let (least, most) = (u64::from(min) * u64::from(self.levels), u64::from(max) * u64::from(self.levels));
        if most >= u64::from(u32::MAX) && self.nodes.is_none_or(|nodes| nodes >= u64::from(u32::MAX)) {
            return Err(GeneratorError::TooLarge { ops: self.nodes.unwrap_or(most), edges: 0 });
        }
        self.check_total(least, most)?;
        self.level_edges.check()?;
        check_amount("random_edges.probability", self.random_edges)?;
        self.costs.check()?;
        self.check_relations()?;
        self.kinds.check()?;
        self.colocation.check(self.nodes.unwrap_or(most))
    }

    fn check_relations(&self) -> Result<(), GeneratorError> {
        if !(-1.0..=1.0).contains(&self.correlation) {
            return Err(GeneratorError::bad("correlation", self.correlation, "a number in [-1, 1]"));
        }
        if self.correlation != 0.0 && (self.costs.ops.is_constant() || self.costs.tensor_bytes.is_constant()) {
            let expected = "0 unless `costs.ops` and `costs.tensor_bytes` vary";
            return Err(GeneratorError::bad("correlation", self.correlation, expected));
        }
        match self.ccr {
            Some(ccr) if !(ccr.is_finite() && ccr > 0.0) => Err(GeneratorError::bad("ccr", ccr, "a finite number > 0")),
            _ => Ok(()),
        }
    }

    /// The first parameter that relates all ops with each other, so that no part of the graph can be made alone.
    pub(crate) fn whole_graph_only(&self) -> Option<(&'static str, f64)> {
        match self.ccr {
            Some(ccr) => Some(("ccr", ccr)),
            None => (self.correlation != 0.0).then_some(("correlation", self.correlation)),
        }
    }

    fn check_total(&self, least: u64, most: u64) -> Result<(), GeneratorError> {
        let Some(nodes) = self.nodes else { return Ok(()) };
        let (min, max) = self.nodes_per_level;
        // With reached bounds one level is fixed at each end.
        let free = u64::from(self.levels.saturating_sub(2));
        let (least, most) = if self.reach_bounds && self.levels > 1 {
            let ends = u64::from(min) + u64::from(max);
            (ends + free * u64::from(min), ends + free * u64::from(max))
        } else {
            (least, most)
        };
        if (least..=most).contains(&nodes) {
            return Ok(());
        }
        let expected = format!("in [{least}, {most}], which {} levels of {min} to {max} ops can have", self.levels);
        Err(GeneratorError::bad("nodes", nodes, expected))
    }
}

impl LevelEdges {
    fn check(&self) -> Result<(), GeneratorError> {
        check_amount("level_edges.probability", self.amount)?;
        if self.limit == Some(0) {
            return Err(GeneratorError::bad("level_edges.limit", 0, "at least 1: an edge spans at least one level"));
        }
        self.decay.check().map_err(|fault| GeneratorError::bad("level_edges.decay", self.decay, fault))
    }

    /// The largest number of levels that an edge can span, in a graph of `levels` levels.
    pub(crate) fn reach(&self, levels: u32) -> u32 {
        let far = match self.decay {
            Decay::None => f64::INFINITY,
            Decay::Exponential { scale } => 1.0 - scale * libm::log(Decay::NEGLIGIBLE),
            Decay::Power { exponent } => libm::pow(Decay::NEGLIGIBLE, -1.0 / exponent),
        };
        let limit = self.limit.unwrap_or(u32::MAX).min(levels.saturating_sub(1));
        // The cast saturates.
        limit.min(far as u32).max(1)
    }
}

impl Decay {
    /// The factor below which there are no edges.
    pub(crate) const NEGLIGIBLE: f64 = 1e-12;

    /// The factor for an edge that spans `distance` levels; 1 for neighbours.
    pub fn factor(&self, distance: u32) -> f64 {
        match *self {
            Self::None => 1.0,
            Self::Exponential { scale } => libm::exp(-(f64::from(distance) - 1.0) / scale),
            Self::Power { exponent } => libm::pow(f64::from(distance), -exponent),
        }
    }

    fn check(&self) -> Result<(), String> {
        match *self {
            Self::None => Ok(()),
            Self::Exponential { scale: value } | Self::Power { exponent: value } => {
                if value.is_finite() && value > 0.0 { Ok(()) } else { Err("given a finite number > 0".to_owned()) }
            }
        }
    }
}

impl ColocationParams {
    pub(crate) fn check(&self, graph_nodes: u64) -> Result<(), GeneratorError> {
        if !(self.exponent.is_finite() && self.exponent >= 0.0) {
            return Err(GeneratorError::bad("colocation.exponent", self.exponent, "a finite number ≥ 0"));
        }
        if self.max_size < 2 {
            return Err(GeneratorError::bad(
                "colocation.max_size",
                self.max_size,
                "at least 2: a group has two members",
            ));
        }
        if self.nodes > graph_nodes {
            let expected = format!("at most the number of ops in the graph, {graph_nodes}");
            return Err(GeneratorError::bad("colocation.nodes", self.nodes, expected));
        }
        if self.nodes == 1 || (self.max_size == 2 && self.nodes % 2 == 1) {
            let expected = "a number that groups of 2 to `colocation.max_size` ops can add up to";
            return Err(GeneratorError::bad("colocation.nodes", self.nodes, expected));
        }
        Ok(())
    }
}

fn check_amount(param: &'static str, amount: Amount) -> Result<(), GeneratorError> {
    match amount {
        Amount::Probability(probability) => check_probability(param, probability),
        Amount::Count(_) => Ok(()),
    }
}

impl fmt::Display for Decay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("none"),
            Self::Exponential { scale } => write!(f, "exponential({scale})"),
            Self::Power { exponent } => write!(f, "power({exponent})"),
        }
    }
}

impl FromStr for Decay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Self::None);
        }
        let unknown = || format!("'{text}' is no decay: there are none, exponential(scale) and power(exponent)");
        let (name, arguments) = call(text).filter(|(_, arguments)| arguments.len() == 1).ok_or_else(unknown)?;
        let value = real(&arguments, 0)?;
        let decay = match name {
            "exponential" => Self::Exponential { scale: value },
            "power" => Self::Power { exponent: value },
            _ => return Err(unknown()),
        };
        decay.check().map_err(|fault| format!("'{text}' must be {fault}"))?;
        Ok(decay)
    }
}

impl TryFrom<String> for Decay {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Decay> for String {
    fn from(decay: Decay) -> Self {
        decay.to_string()
    }
}

/// [`Amount`] and [`LevelEdges`] as files spell them: `{ count = 10, limit = 3 }`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLevelEdges {
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[serde(default, skip_serializing_if = "is_none")]
    decay: Decay,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn is_none(decay: &Decay) -> bool {
    *decay == Decay::None
}

impl TryFrom<RawLevelEdges> for LevelEdges {
    type Error = String;

    fn try_from(raw: RawLevelEdges) -> Result<Self, String> {
        let amount = match (raw.probability, raw.count) {
            (Some(probability), None) => Amount::Probability(probability),
            (None, Some(count)) => Amount::Count(count),
            _ => return Err("give either `probability` or `count`".to_owned()),
        };
        Ok(Self { amount, limit: raw.limit, decay: raw.decay })
    }
}

impl From<LevelEdges> for RawLevelEdges {
    fn from(edges: LevelEdges) -> Self {
        let LevelEdges { amount, limit, decay } = edges;
        match amount {
            Amount::Probability(probability) => Self { probability: Some(probability), count: None, limit, decay },
            Amount::Count(count) => Self { probability: None, count: Some(count), limit, decay },
        }
    }
}

impl TryFrom<RawLevelEdges> for Amount {
    type Error = String;

    fn try_from(raw: RawLevelEdges) -> Result<Self, String> {
        if raw.limit.is_some() || raw.decay != Decay::None {
            return Err("random edges have no `limit` and no `decay`".to_owned());
        }
        LevelEdges::try_from(raw).map(|edges| edges.amount)
    }
}

impl From<Amount> for RawLevelEdges {
    fn from(amount: Amount) -> Self {
        LevelEdges { amount, ..LevelEdges::default() }.into()
    }
}
