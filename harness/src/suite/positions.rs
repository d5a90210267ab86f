//! Where the row of a cell stands in the table of a run.

use std::collections::HashMap;

use placebench_algorithms::ONLINE;

use super::{Cell, RunPlan};
use crate::request::CHOSEN;
use crate::results::CellKey;

/// Finds the cells of a plan by what rows call them. It needs memory for the names and groups, not for the cells.
pub struct Positions<'a> {
    plan: &'a RunPlan,
    graphs: HashMap<String, usize>,
    clusters: HashMap<String, usize>,
    placers: HashMap<&'a str, usize>,
    schedulers: HashMap<&'a str, usize>,
    networks: HashMap<&'a str, usize>,
    executors: HashMap<&'a str, usize>,
    /// Graph, cluster, repetition → group.
    groups: HashMap<(usize, usize, u32), usize>,
}

impl<'a> Positions<'a> {
    /// Of a plan, or of what is left of it after [`RunPlan::keep_shard`].
    ///
    /// # Complexity
    /// O(names + groups).
    pub fn new(plan: &'a RunPlan) -> Self {
        fn numbered<T: std::hash::Hash + Eq>(names: impl Iterator<Item = T>) -> HashMap<T, usize> {
            names.enumerate().map(|(index, name)| (name, index)).collect()
        }
        let group =
            |(index, group): (usize, &super::CellGroup)| ((group.graph, group.cluster, group.repetition), index);
        Self {
            plan,
            graphs: numbered(plan.suite.graphs.iter().map(|graph| graph.label())),
            clusters: numbered(plan.suite.clusters.iter().map(|cluster| cluster.label())),
            placers: numbered(plan.placers.iter().map(|(name, _)| name.as_str())),
            schedulers: numbered(plan.schedulers.iter().map(|scheduler| &*scheduler.name)),
            networks: numbered(plan.networks.iter().map(|(name, _)| name.as_str())),
            executors: numbered(plan.executors.iter().map(|executor| executor.name.as_str())),
            groups: plan.groups.iter().enumerate().map(group).collect(),
        }
    }

    /// The index of the cell with this key in [`RunPlan::cells`]; `None` if the plan has no such cell.
    ///
    /// # Complexity
    /// O(log cells).
    pub fn of(&self, key: &CellKey) -> Option<usize> {
        let scheduler = match &*key.scheduler {
            ONLINE | CHOSEN => None,
            scheduler => Some(*self.schedulers.get(scheduler)?),
        };
        let group = (*self.graphs.get(&*key.graph)?, *self.clusters.get(&*key.cluster)?, key.repetition);
        let cell = Cell {
            group: *self.groups.get(&group)?,
            placer: *self.placers.get(&*key.placer)?,
            numbering: key.numbering,
            network: *self.networks.get(&*key.network)?,
            scheduler,
            executor: *self.executors.get(key.executor.as_str())?,
        };
        let same = self.plan.suite.name == key.suite && self.plan.groups[cell.group].seed == key.seed;
        // Cells are listed in their order, and filters and shards keep it.
        let same = same && *key.scheduler == *self.plan.scheduler_name(cell);
        same.then(|| self.plan.cells.binary_search(&cell).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Row;
    use crate::suite::{Shard, Suite};

    #[test]
    fn each_row_finds_its_cell_and_no_other_does() {
        let text = r#"
            name = "s"
            repetitions = 3
            numberings = 2
            seed = 5
            networks = ["one_port", "contention_free"]
            placers = ["heft", "cats", "random"]
            schedulers = ["static", "pct", "fifo"]
            where = "placer=heft,cats"
            [[graph]]
            preset = "laich1"
            [[graph]]
            catalogue = "convnet"
            repetitions = 1
            [[cluster]]
            preset = "laich7"
            [[cluster]]
            preset = "tiny3"
        "#;
        for shard in [None, Some(Shard { index: 2, count: 3 })] {
            let mut plan = RunPlan::new(Suite::parse(text, "s.toml").unwrap()).unwrap();
            shard.into_iter().for_each(|shard| plan.keep_shard(shard));
            let positions = Positions::new(&plan);
            let place = |line: &str| positions.of(&serde_json::from_str::<Row>(line).unwrap().key());
            for (index, &cell) in plan.cells.iter().enumerate() {
                let line = serde_json::to_string(&plan.request(cell).blank_row()).unwrap();
                assert_eq!(place(&line), Some(index), "{line}");
                for (from, to) in [
                    ("\"suite\":\"s\"", "\"suite\":\"t\""),
                    ("\"seed\":", "\"seed\":1"),
                    ("\"repetition\":", "\"repetition\":9"),
                    ("\"numbering\":", "\"numbering\":9"),
                    ("\"executor\":\"simulate\"", "\"executor\":\"threads\""),
                    ("\"placer\":\"heft\"", "\"placer\":\"random\""),
                ] {
                    assert!(!line.contains(from) || place(&line.replace(from, to)).is_none(), "{from} → {to}");
                }
            }
        }
    }
}
