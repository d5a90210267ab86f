//! Solutions of the instances of collections that somebody found, and what they are worth: a table that others can beat.
//!
//! A row is made by judging a solution ([`CollectionInstance::judge`]), and every row can be made again: the solution is
//! kept beside the table, under its digest.

mod instance;
mod judge;
mod solution;

use std::cmp::Ordering;
use std::io::{self, Read, Write};

use placebench_datasets::format::sha256;
use placebench_datasets::{Instance, is_less};
use serde::{Deserialize, Serialize};

pub use instance::{CollectionInstance, NoInstance};
pub use judge::{GIVEN_ORDER, Judged};
pub use solution::{Solution, SolutionError};

use super::Collection;

/// A known solution: its instance, what it is worth, who found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownRow {
    /// The graph, as the collection names it.
    pub graph: String,
    /// The cluster, as the collection names it.
    pub cluster: String,
    /// The seed that both are made with.
    pub seed: u64,
    /// The network model.
    pub network: String,
    /// Which kinds of devices ops may run on.
    pub kinds: String,
    /// The rule of memory.
    pub memory: String,
    /// The makespan.
    pub makespan: f64,
    /// The least time between two samples that follow each other.
    pub period: Option<f64>,
    /// The unit of both.
    pub time_unit: String,
    /// What found it: a placer of placebench as `name(parameter=value)`, or a method of somebody's own.
    pub placer: String,
    /// What gives the order of ops: `given` by the solution, or a scheduler of placebench.
    pub scheduler: String,
    /// The largest lower bound on the makespan.
    pub lower_bound: Option<f64>,
    /// The name of that bound.
    pub bound: String,
    /// Whether the makespan is proven to be optimal, since it is no more than the bound.
    pub optimal: bool,
    /// Who found it.
    pub author: String,
    /// SHA-256 of the solution, as [`Solution::write`] writes it.
    pub sha256: String,
}

/// The known solutions of a collection, instances in its order, and the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    rows: Vec<KnownRow>,
}

impl KnownRow {
    /// The file of the solution, in the folder `solutions`.
    pub fn file(&self) -> String {
        let digest = self.sha256.get(..12).unwrap_or(&self.sha256);
        format!("{}-{}-{digest}.csv.gz", self.graph, self.cluster)
    }

    /// Makespan over lower bound; `None` if that is 0 or not known.
    pub fn gap(&self) -> Option<f64> {
        self.lower_bound.filter(|&bound| bound > 0.0).map(|bound| self.makespan / bound)
    }

    /// Whether two rows are of the same instance.
    fn is_of(&self, other: &Self) -> bool {
        (&self.graph, &self.cluster) == (&other.graph, &other.cluster)
    }
}

impl Known {
    /// Those that this version of placebench knows.
    ///
    /// # Errors
    /// If the built-in table is wrong, which a test rules out.
    pub fn built_in(collection: &Collection) -> Result<Self, csv::Error> {
        Self::read(collection.known.as_bytes())
    }

    /// Reads the CSV that [`Known::write`] writes.
    ///
    /// # Errors
    /// If a column is missing or unknown, or a value is wrong.
    pub fn read(from: impl Read) -> Result<Self, csv::Error> {
        Ok(Self { rows: csv::Reader::from_reader(from).into_deserialize().collect::<Result<_, _>>()? })
    }

    /// Writes CSV with a header, a row for each solution.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, to: impl Write) -> Result<(), csv::Error> {
        let mut csv = csv::Writer::from_writer(to);
        self.rows.iter().try_for_each(|row| csv.serialize(row))?;
        Ok(csv.flush()?)
    }

    /// All rows.
    pub fn rows(&self) -> &[KnownRow] {
        &self.rows
    }

    /// Those of the instance of a row, the best first.
    pub fn of_instance(&self, row: &KnownRow) -> impl Iterator<Item = &KnownRow> {
        self.rows.iter().filter(|known| known.is_of(row))
    }

    /// The rank that a row has or would have among those of its instance: 1 if none is better. Equal makespans share a rank.
    pub fn rank(&self, row: &KnownRow) -> usize {
        let better = |known: &&KnownRow| is_less(known.makespan, row.makespan);
        self.of_instance(row).filter(better).count() + 1
    }

    /// Whether the same solution is there.
    pub fn has(&self, row: &KnownRow) -> bool {
        self.of_instance(row).any(|known| known.sha256 == row.sha256)
    }

    /// Adds a row, behind those of its instance that are as good.
    pub fn add(&mut self, row: KnownRow, instances: &[CollectionInstance]) {
        self.rows.push(row);
        let position = |row: &KnownRow| {
            instances.iter().position(|known| (&known.graph, &known.cluster) == (&row.graph, &row.cluster))
        };
        let key = |row: &KnownRow| position(row).unwrap_or(usize::MAX);
        self.rows.sort_by(|a, b| match key(a).cmp(&key(b)) {
            Ordering::Equal => a.makespan.total_cmp(&b.makespan),
            other => other,
        });
    }
}

impl Solution {
    /// The digest of the solution, as rows have it.
    ///
    /// # Errors
    /// Never in practice: the text is made in memory.
    pub fn sha256(&self, instance: &Instance) -> io::Result<String> {
        let mut text = Vec::new();
        self.write(&mut text, instance)?;
        sha256(text.as_slice())
    }
}
