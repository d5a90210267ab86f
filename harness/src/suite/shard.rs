//! A suite cut into shards, which different processes or machines run.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::{CellGroup, RunPlan};

/// One of the parts that a suite is cut into: `3/8` is the third of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// Which one, from 1.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// A text names no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no shard: write i/n with i from 1 to n, as in 3/8")]
pub struct ShardError(pub String);

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err(ShardError(text.to_owned())),
        }
    }
}

impl RunPlan {
    /// The shard of each group, from 1 to `count`; 0 for groups without cells.
    ///
    /// Groups are ordered by a hash of their graph, cluster, repetition and seed, then dealt in turn: the same suite gives
    /// the same shards on every machine, no shard has two groups more than another, and the graphs of one size, which stand
    /// side by side in a suite, are spread. A group is never cut: its graph is made once.
    ///
    /// # Complexity
    /// O(g log g) for g groups.
    pub fn shards_of_groups(&self, count: u32) -> Vec<u32> {
        let mut used = vec![false; self.groups.len()];
        self.cells.iter().for_each(|cell| used[cell.group] = true);
        let mut order: Vec<([u8; 32], usize)> =
            (0..self.groups.len()).filter(|&group| used[group]).map(|group| (self.hash(group), group)).collect();
        order.sort_unstable();
        let mut shards = vec![0; self.groups.len()];
        for (place, &(_, group)) in order.iter().enumerate() {
            shards[group] = (place % count as usize) as u32 + 1;
        }
        shards
    }

    /// Keeps the cells of a shard.
    pub fn keep_shard(&mut self, shard: Shard) {
        let shards = self.shards_of_groups(shard.count);
        self.cells.retain(|cell| shards[cell.group] == shard.index);
    }

    fn hash(&self, group: usize) -> [u8; 32] {
        let CellGroup { graph, cluster, repetition, seed } = self.groups[group];
        let (graph, cluster) = (self.suite.graphs[graph].label(), self.suite.clusters[cluster].label());
        Sha256::digest(format!("{graph}\0{cluster}\0{repetition}\0{seed}")).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Cell, Suite};

    fn plan() -> RunPlan {
        let text = r#"
            name = "s"
            repetitions = 5
            placers = ["heft", "cats"]
            schedulers = ["pct", "static"]
            where = "repetition=0,1,2,3"
            [[graph]]
            catalogue = "convnet"
            [[graph]]
            preset = "laich1"
            repetitions = 3
            [[cluster]]
            preset = "laich7"
            [[cluster]]
            preset = "tiny3"
        "#;
        RunPlan::new(Suite::parse(text, "s.toml").unwrap()).unwrap()
    }

    #[test]
    fn shards_share_out_the_cells_evenly_and_never_cut_a_group() {
        let whole = plan().cells;
        for count in [1, 2, 3, 7, 14, 20] {
            let mut cells: Vec<Cell> = Vec::new();
            let mut groups = Vec::new();
            for index in 1..=count {
                let mut part = plan();
                part.keep_shard(Shard { index, count });
                groups.push(part.used_groups().count());
                cells.extend(&part.cells);
            }
            let (least, most) = (groups.iter().min().unwrap(), groups.iter().max().unwrap());
            assert!(most - least <= 1, "{groups:?}");
            assert_eq!(groups.iter().sum::<usize>(), 14, "a group in two shards");
            cells.sort();
            assert_eq!(cells, whole, "{count} shards");
        }
    }

    #[test]
    fn the_shard_of_a_group_is_the_same_on_every_machine_and_in_every_version() {
        assert_eq!(plan().shards_of_groups(4), GOLDEN);
    }

    /// From Python's hashlib: the digests of "convnet\0laich7\00\00" and so on, sorted and dealt. Repetition 4 has no cells.
    const GOLDEN: [u32; 16] = [2, 3, 4, 4, 0, 2, 2, 4, 3, 0, 1, 1, 3, 1, 1, 2];

    #[test]
    fn a_shard_is_written_i_of_n() {
        assert_eq!("3/8".parse(), Ok(Shard { index: 3, count: 8 }));
        assert_eq!(Shard { index: 3, count: 8 }.to_string(), "3/8");
        for text in ["0/8", "9/8", "3", "3/", "/8", "-1/8", "a/b", "1/0"] {
            assert!(text.parse::<Shard>().unwrap_err().to_string().contains("write i/n"), "{text}");
        }
    }
}
