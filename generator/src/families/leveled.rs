//! The family of leveled random graphs by name: the parameters of [`LeveledParams`], declared one by one.

use placebench_base::params::{Params, above};
use placebench_base::spec::{Spec, SpecError};

use super::Preset;
use crate::Distribution;
use crate::costs::{Costs, KindProbabilities};
use crate::family::FamilyEntry;
use crate::family::LEVELED;
use crate::leveled::{Amount, ColocationParams, Decay, LevelEdges, LeveledParams};
use crate::unrelated::MachineTimes;

const SUMMARY: &str = "ops in levels; edges up to a number of levels apart, and long-range ones";

/// The line of the table of families.
pub(super) fn entry() -> FamilyEntry {
    FamilyEntry::of_params([LEVELED, SUMMARY, "L §6.2"], |params| Ok(crate::GraphParams::Leveled(read(params)?)))
}

fn read(params: &mut Params) -> Result<LeveledParams, SpecError> {
    let levels = params.number("levels", 50, 1.., "number of levels")?;
    let doc = "least and largest number of ops in a level";
    let nodes_per_level = params.value("nodes_per_level", "[10,30]", "[least,largest]", doc, range)?;
    let nodes = params.optional("nodes", 0.., "number of ops in all")?;
    let reach = "whether some level has the least and some the largest number of ops";
    let reach_bounds = params.word("reach_bounds", false, reach)?;
    let level_edges = LevelEdges {
        amount: amount(params, ["level_edges.probability", "level_edges.count"], "0.02", "level-based edges")?,
        limit: params.optional(
            "level_edges.limit",
            1..,
            "the edge level limit: most levels that such an edge spans",
        )?,
        decay: {
            let doc = "how likelihood falls with the levels spanned";
            params.value("level_edges.decay", "none", "none, exponential(scale) or power(exponent)", doc, |text| {
                text.parse::<Decay>().ok()
            })?
        },
    };
    let random_edges = amount(
        params,
        ["random_edges.probability", "random_edges.count"],
        "0.0005",
        "long-range edges between levels",
    )?;
    let mut law = |name, doc: &str| {
        params.value(name, "uniform(1,100)", "a distribution, such as uniform(1,100)", doc, |text| {
            text.parse::<Distribution>().ok()
        })
    };
    let costs = Costs {
        ops: law("costs.ops", "cost of an op, in operations")?,
        tensor_bytes: law("costs.tensor_bytes", "size of an op's output, in bytes")?,
        memory_bytes: law("costs.memory_bytes", "resident memory of an op, in bytes")?,
    };
    let doc = "Spearman's rank correlation of an op's cost with its output's size";
    let correlation = params.number("correlation", 0.0, -1.0..=1.0, doc)?;
    let doc = "communication to computation: sizes are scaled until mean bytes an edge / mean cost an op is this; none leaves \
               sizes as they are";
    let ccr = params.optional("ccr", above(0.0), doc)?;
    let times = MachineTimes::new(params)?;
    let mut share = |name, doc| params.number(name, 0.0, 0.0..=1.0, doc);
    let kinds = KindProbabilities {
        cpu: share("kinds.cpu", "share of the assignment units that need a CPU")?,
        gpu: share("kinds.gpu", "share of the assignment units that need a GPU")?,
        tpu: share("kinds.tpu", "share of the assignment units that need a TPU")?,
    };
    let groups = ColocationParams::default();
    let colocation = ColocationParams {
        nodes: params.number("colocation.nodes", 0, 0.., "ops in colocation groups")?,
        exponent: params.number("colocation.exponent", groups.exponent, 0.0.., "exponent of the power law of sizes")?,
        max_size: params.number("colocation.max_size", groups.max_size, 2.., "largest group")?,
    };
    let read = LeveledParams {
        levels,
        nodes_per_level,
        nodes,
        reach_bounds,
        level_edges,
        random_edges,
        costs,
        correlation,
        ccr,
        times,
        kinds,
        colocation,
    };
    read.check().map_err(|error| params.refuse_together(error))?;
    Ok(read)
}

/// `[least,largest]`.
fn range(text: &str) -> Option<(u32, u32)> {
    let (least, most) = text.strip_prefix('[')?.strip_suffix(']')?.split_once(',')?;
    Some((least.trim().parse().ok()?, most.trim().parse().ok()?))
}

/// A probability of each pair, or a number of edges.
fn amount(
    params: &mut Params,
    [probability, count]: [&'static str; 2],
    default: &str,
    what: &str,
) -> Result<Amount, SpecError> {
    if params.is_given(probability) && params.is_given(count) {
        return Err(params.refuse_together(format!("give either '{probability}' or '{count}'")));
    }
    let parse = |text: &str| text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    let doc = format!("{what}: probability of a pair, unless '{count}' is given");
    let share = params.value(probability, default, "a probability in [0, 1]", &doc, parse)?;
    let number = params.optional(count, 0.., &format!("{what}: exact number"))?;
    Ok(number.map_or(Amount::Probability(share), Amount::Count))
}

/// L's six graphs.
pub(super) fn presets() -> Vec<Preset> {
    let preset = |name| {
        let params = LeveledParams::preset(name)?;
        let (least, most) = params.nodes_per_level;
        let summary = format!("leveled DAG of {} levels of {least} to {most} ops (L Table 7.1)", params.levels);
        Some(Preset { name, summary, values: values(&params) })
    };
    LeveledParams::PRESETS.into_iter().filter_map(preset).collect()
}

/// The parameters by name, as [`read`] takes them.
fn values(params: &LeveledParams) -> Spec {
    let LeveledParams { levels, nodes_per_level: (least, most), nodes, reach_bounds, .. } = params;
    let LeveledParams { level_edges, random_edges, costs, correlation, ccr, kinds, colocation, .. } = params;
    let mut list: Vec<(&str, String)> =
        vec![("levels", levels.to_string()), ("nodes_per_level", format!("[{least},{most}]"))];
    list.extend(nodes.map(|nodes| ("nodes", nodes.to_string())));
    list.push(("reach_bounds", reach_bounds.to_string()));
    list.push(match level_edges.amount {
        Amount::Probability(share) => ("level_edges.probability", share.to_string()),
        Amount::Count(count) => ("level_edges.count", count.to_string()),
    });
    list.extend(level_edges.limit.map(|limit| ("level_edges.limit", limit.to_string())));
    list.push(("level_edges.decay", level_edges.decay.to_string()));
    list.push(match random_edges {
        Amount::Probability(share) => ("random_edges.probability", share.to_string()),
        Amount::Count(count) => ("random_edges.count", count.to_string()),
    });
    list.extend([
        ("costs.ops", costs.ops.to_string()),
        ("costs.tensor_bytes", costs.tensor_bytes.to_string()),
        ("costs.memory_bytes", costs.memory_bytes.to_string()),
        ("correlation", correlation.to_string()),
    ]);
    list.extend(ccr.map(|ccr| ("ccr", ccr.to_string())));
    list.extend([
        ("kinds.cpu", kinds.cpu.to_string()),
        ("kinds.gpu", kinds.gpu.to_string()),
        ("kinds.tpu", kinds.tpu.to_string()),
        ("colocation.nodes", colocation.nodes.to_string()),
        ("colocation.exponent", colocation.exponent.to_string()),
        ("colocation.max_size", colocation.max_size.to_string()),
    ]);
    Spec { name: LEVELED.to_owned(), params: list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphParams;

    #[test]
    fn presets_by_name_are_the_presets_of_the_parameters() {
        for name in LeveledParams::PRESETS {
            let expected = GraphParams::Leveled(LeveledParams::preset(name).unwrap());
            assert_eq!(GraphParams::preset(name), Some(Ok(expected)));
        }
    }

    #[test]
    fn a_probability_and_a_count_are_refused_together_and_presets_take_parameters() {
        let read = |text: &str| GraphParams::preset(text).unwrap();
        let error = read("leveled(level_edges.count=5,level_edges.probability=0.1)").unwrap_err();
        assert_eq!(error, "'leveled': give either 'level_edges.probability' or 'level_edges.count'");
        let error = read("leveled(levels=3,nodes_per_level=[1,2],nodes=9)").unwrap_err();
        assert!(error.starts_with("'leveled': `nodes` is 9, but must be in [3, 6]"), "{error}");
        let Ok(GraphParams::Leveled(params)) = read("laich3(level_edges.decay=power(2), nodes_per_level=[4,11])")
        else {
            panic!("not leveled")
        };
        assert_eq!((params.nodes, params.nodes_per_level), (Some(7475), (4, 11)));
        assert_eq!(params.level_edges.decay, Decay::Power { exponent: 2.0 });
    }
}
