//! Solutions of the instances of collections that somebody found, and what they are worth: a table that others can beat.
//!
//! A row is made by judging a solution ([`CollectionInstance::judge`]), and every row can be made again: the solution is
//! kept beside the table, under its digest.

mod instance;
mod judge;
mod solution;

use std::io::{self, Read, Write};

use placebench_datasets::format::sha256;
use placebench_datasets::{Instance, is_less};
use serde::{Deserialize, Serialize};

pub use instance::{CollectionInstance, NoInstance};
pub use judge::Judged;
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

    /// What an instance is: names, seed and rules.
    fn instance(&self) -> (&str, &str, u64, &str, &str, &str) {
        (&self.graph, &self.cluster, self.seed, &self.network, &self.kinds, &self.memory)
    }

    /// Whether two rows are of the same instance.
    fn is_of(&self, other: &Self) -> bool {
        self.instance() == other.instance()
    }

    /// What no judgement says of a solution, if there is such.
    fn fault(&self) -> Option<&'static str> {
        match self {
            row if !(row.makespan.is_finite() && row.makespan >= 0.0) => {
                Some("the makespan is no number of at least 0")
            }
            row if row.lower_bound.is_some_and(|bound| is_less(row.makespan, bound)) => {
                Some("the makespan is below its lower bound")
            }
            row if row.sha256.len() != 64 || !row.sha256.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                Some("sha256 has not 64 hexadecimal digits")
            }
            _ => None,
        }
    }
}

impl Known {
    /// Those that this version of placebench knows.
    ///
    /// # Errors
    /// If the built-in table is wrong, which a test rules out.
    pub fn built_in(collection: &Collection) -> Result<Self, WrongTable> {
        match collection.known {
            "" => Ok(Self::default()),
            table => Self::read(table.as_bytes()),
        }
    }

    /// Reads the CSV that [`Known::write`] writes.
    ///
    /// # Errors
    /// If a column is missing or unknown, or a value is wrong, or a row is there twice.
    pub fn read(from: impl Read) -> Result<Self, WrongTable> {
        let mut csv = csv::Reader::from_reader(from);
        if !csv.headers().is_ok_and(|found| found.iter().eq(COLUMNS)) {
            return Err(WrongTable { line: 1, fault: format!("the columns are not {}", COLUMNS.join(",")) });
        }
        let mut rows: Vec<KnownRow> = Vec::new();
        let mut record = csv::StringRecord::new();
        loop {
            let line = csv.position().line();
            let wrong = |fault: String| WrongTable { line, fault };
            if !csv
                .read_record(&mut record)
                .map_err(|_| wrong("the line has not as many cells as the first".to_owned()))?
            {
                return Ok(Self { rows });
            }
            let row: KnownRow = record.deserialize(None).map_err(|error| wrong(cell_fault(&error)))?;
            if let Some(fault) = row.fault() {
                return Err(wrong(fault.to_owned()));
            }
            if rows.iter().any(|known| known.is_of(&row) && known.sha256 == row.sha256) {
                return Err(wrong("the same solution is there twice".to_owned()));
            }
            rows.push(row);
        }
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

    /// Adds a row: behind those of earlier instances, and behind those of its own that are as good. All others stay.
    pub fn add(&mut self, row: KnownRow, instances: &[CollectionInstance]) {
        let position = |row: &KnownRow| {
            let is_own = |known: &CollectionInstance| (&known.graph, &known.cluster) == (&row.graph, &row.cluster);
            instances.iter().position(is_own).unwrap_or(usize::MAX)
        };
        let own = position(&row);
        let is_behind = |known: &KnownRow| match position(known) {
            other if other == own => is_less(row.makespan, known.makespan),
            other => other > own,
        };
        let at = self.rows.iter().position(is_behind).unwrap_or(self.rows.len());
        self.rows.insert(at, row);
    }
}

/// The columns, in their order.
const COLUMNS: [&str; 15] = [
    "graph",
    "cluster",
    "seed",
    "network",
    "kinds",
    "memory",
    "makespan",
    "period",
    "time_unit",
    "placer",
    "lower_bound",
    "bound",
    "optimal",
    "author",
    "sha256",
];

/// What is wrong with a table of known solutions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct WrongTable {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub fault: String,
}

/// Which cell of a record cannot be read.
fn cell_fault(error: &csv::Error) -> String {
    let field = match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.field(),
        _ => None,
    };
    match field.and_then(|field| COLUMNS.get(field as usize)) {
        Some(column) => format!("'{column}' cannot be read"),
        None => "cannot be read".to_owned(),
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
