//! The table of results: what is filtered, grouped, joined and summarised with Polars' lazy expressions.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use placebench_algorithms::period::Goal;
use polars::prelude::*;

use super::frame::{ColumnValue, values};
use super::source::{GROUP_ROWS, Scan, Source};
use super::{CellKey, Codes, Column, Metric, Predictions, Row, Status, TableError};
use crate::execute::ExecutorName;
use crate::problem::Kinds;

/// The columns of a [`CellKey`], in its order.
pub const CELL: [&str; 11] = [
    "suite",
    "graph",
    "cluster",
    "kinds",
    "network",
    "executor",
    "placer",
    "scheduler",
    "repetition",
    "seed",
    "numbering",
];

/// Rows of a part of a table: the columns of a query over them take some ten MB.
const PART_ROWS: usize = 1 << 18;

/// Rows, in memory or in a Parquet file, from which queries read the columns that they need. The columns are those of
/// [`Row`], and three that follow from them:
///
/// - `row`: the number of the row, from 0; it stays the same when rows are filtered out;
/// - `placer_name`: the placer without its parameters, and without a name for print;
/// - `steps`: training steps of the graph, 1 unless [`Table::with_steps`] knows better.
///
/// Expressions over them: [`Metric::expr`](super::Metric::expr), [`Column::expr`], [`Filter::expr`](super::Filter::expr).
///
/// A table may be larger than memory. It has parts, each with all rows of some graphs on their clusters:
/// [`Table::by_part`] is how to ask what a graph and cluster alone answer, and [`Table::lazy`] is for small tables.
#[derive(Clone)]
pub struct Table {
    source: Arc<Source>,
    blocks: Vec<Block>,
    part_rows: usize,
    steps: Arc<BTreeMap<String, f64>>,
}

/// All rows of a graph on a cluster, in their order.
#[derive(Clone)]
struct Block {
    graph: String,
    cluster: String,
    rows: Vec<Range<u32>>,
}

impl Block {
    fn height(&self) -> usize {
        self.rows.iter().map(ExactSizeIterator::len).sum()
    }
}

impl Table {
    /// The table of some rows, in their order.
    ///
    /// # Errors
    /// If Polars refuses the columns.
    pub fn new(rows: &[Row]) -> PolarsResult<Self> {
        Self::of(Source::Frame(Row::to_frame(rows)?))
    }

    /// The table in a Parquet file, which stays open. Of its rows the graphs and clusters are read.
    ///
    /// # Errors
    /// If the file cannot be read, or a column is missing.
    ///
    /// # Complexity
    /// O(rows); memory for the graphs and clusters, and while they stand together in the file, as in the order of a suite.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let source = Source::open(path)?;
        Self::of(source).map_err(|source| TableError::Table { path: path.to_owned(), source })
    }

    /// The table of all rows of a source.
    pub(super) fn of(source: Source) -> PolarsResult<Self> {
        let blocks = blocks(&source)?;
        Ok(Self { source: Arc::new(source), blocks, part_rows: PART_ROWS, steps: Arc::default() })
    }

    fn with_blocks(&self, blocks: Vec<Block>) -> Self {
        Self { source: Arc::clone(&self.source), blocks, part_rows: self.part_rows, steps: Arc::clone(&self.steps) }
    }

    /// The table with the number of training steps in each graph that consists of them.
    #[must_use]
    pub fn with_steps(&self, steps: &BTreeMap<String, f64>) -> Self {
        Self { steps: Arc::new(steps.clone()), ..self.clone() }
    }

    /// The table with other parts: each of at least `rows` rows, but for the last.
    #[must_use]
    pub fn in_parts_of(&self, rows: usize) -> Self {
        Self { part_rows: rows, ..self.clone() }
    }

    /// A query over all rows at once: for tables that are known to be small, or the rows of a part.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn lazy(&self) -> PolarsResult<LazyFrame> {
        self.scan(self.ranges())
    }

    fn scan(&self, rows: Vec<Range<u32>>) -> PolarsResult<LazyFrame> {
        Scan { source: Arc::clone(&self.source), rows, steps: Arc::clone(&self.steps) }.lazy()
    }

    /// The rows, in their order.
    fn ranges(&self) -> Vec<Range<u32>> {
        let mut rows: Vec<Range<u32>> = self.blocks.iter().flat_map(|block| block.rows.iter().cloned()).collect();
        rows.sort_unstable_by_key(|range| range.start);
        rows.dedup_by(|next, before| {
            let follows = next.start == before.end;
            if follows {
                before.end = next.end;
            }
            follows
        });
        rows
    }

    /// The parts: no graph on a cluster is in two of them. In the order of the rows, if all rows of a graph on a cluster
    /// stand together.
    pub fn parts(&self) -> impl Iterator<Item = Self> + '_ {
        let mut rest = self.blocks.as_slice();
        std::iter::from_fn(move || {
            let mut height = 0;
            let enough = rest.iter().position(|block| {
                height += block.height();
                height >= self.part_rows
            });
            let (part, after) = rest.split_at(enough.map_or(rest.len(), |last| last + 1));
            rest = after;
            (!part.is_empty()).then(|| self.with_blocks(part.to_vec()))
        })
    }

    /// What a query answers of each part, one after the other. It is what the query answers of the whole table if no row
    /// of an answer depends on rows of two graphs, or of a graph on two clusters.
    ///
    /// # Errors
    /// If Polars refuses.
    ///
    /// # Complexity
    /// Memory for the answers, and for the columns of a part.
    pub fn by_part(&self, query: impl Fn(LazyFrame) -> PolarsResult<LazyFrame>) -> PolarsResult<DataFrame> {
        let mut all: Option<DataFrame> = None;
        for part in self.parts() {
            let answer = query(part.lazy()?)?.collect()?;
            match &mut all {
                Some(all) => drop(all.vstack_mut_owned(answer)?),
                None => all = Some(answer),
            }
        }
        match all {
            Some(mut all) => {
                all.rechunk_mut_par();
                Ok(all)
            }
            None => query(self.lazy()?)?.collect(),
        }
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.blocks.iter().map(Block::height).sum()
    }

    /// Whether its rows are read from a file when they are asked for.
    #[cfg(test)]
    pub(crate) fn is_in_file(&self) -> bool {
        matches!(*self.source, Source::File { .. })
    }

    /// The rows as structs, for code that handles one at a time: about a kilobyte each.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn rows(&self) -> PolarsResult<Vec<Row>> {
        Row::from_frame(&self.lazy()?.collect()?)
    }

    /// The columns of [`Row`], some rows at a time, in their order.
    pub(super) fn row_frames(&self) -> impl Iterator<Item = PolarsResult<DataFrame>> + '_ {
        let columns: Vec<Expr> = Row::COLUMNS.iter().map(|&name| col(name)).collect();
        let columns = [columns, Predictions::columns().into_iter().map(col).collect()].concat();
        let rows = self.ranges();
        let mut batches: Vec<Vec<Range<u32>>> = Vec::new();
        let mut height = usize::MAX;
        for range in rows {
            let mut rest = range;
            while !rest.is_empty() {
                if height >= GROUP_ROWS {
                    batches.push(Vec::new());
                    height = 0;
                }
                let count = rest.len().min(GROUP_ROWS - height);
                height += count;
                let end = rest.start + count as u32;
                if let Some(batch) = batches.last_mut() {
                    batch.push(rest.start..end);
                }
                rest.start = end;
            }
        }
        batches.into_iter().map(move |rows| self.scan(rows)?.select(columns.clone()).collect())
    }

    /// A column, in the order of the rows.
    ///
    /// # Errors
    /// If there is no such column, or it is of another type.
    pub fn column<T: ColumnValue>(&self, name: &str) -> PolarsResult<Vec<T>> {
        values(&self.lazy()?.select([col(name)]).collect()?, name)
    }

    /// The rows that pass, in their order.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn filter(&self, passes: Expr) -> PolarsResult<Self> {
        let mut kept = Vec::new();
        for part in self.parts() {
            let passing = part.lazy()?.filter(passes.clone()).select([col("row")]).collect()?;
            kept.extend(part.kept(&values::<u32>(&passing, "row")?));
        }
        Ok(self.with_blocks(kept))
    }

    /// The rows of these numbers, which ascend.
    #[must_use]
    pub fn only(&self, rows: &[u32]) -> Self {
        self.with_blocks(self.kept(rows))
    }

    /// The blocks of what is left of the table.
    fn kept(&self, passing: &[u32]) -> Vec<Block> {
        let mut kept = Vec::new();
        for block in &self.blocks {
            let mut rows: Vec<Range<u32>> = Vec::new();
            for range in &block.rows {
                let [from, to] = [range.start, range.end].map(|row| passing.partition_point(|&own| own < row));
                passing[from..to].iter().for_each(|&row| append(&mut rows, row));
            }
            if !rows.is_empty() {
                kept.push(Block { graph: block.graph.clone(), cluster: block.cluster.clone(), rows });
            }
        }
        kept
    }

    /// The distinct values of a column, in the order of the rows.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn distinct(&self, column: Column) -> PolarsResult<Vec<String>> {
        self.distinct_values(column.expr())
    }

    /// What makes rows such as no run makes, as [`Row::fault`] has it for one; `None` if a run may have made them.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn fault(&self) -> PolarsResult<Option<String>> {
        if let Some(unknown) = self.distinct_values(col("status"))?.iter().find(|name| Status::named(name).is_none()) {
            return Ok(Some(format!("there is no status '{unknown}'")));
        }
        let ok = || col("status").eq(lit(Status::Ok.name()));
        let holds = |column: &str, if_empty: bool| {
            col(column).gt_eq(lit(0.0)).and(col(column).is_finite()).fill_null(lit(if_empty))
        };
        let numbers = [("makespan", false), ("period", true)];
        let counts = numbers.map(|(column, if_empty)| ok().and(holds(column, if_empty).not()).sum().alias(column));
        let counts = self.by_part(|rows| Ok(rows.select(counts.clone())))?;
        for (column, _) in numbers {
            let rows: u32 = values::<u32>(&counts, column)?.into_iter().sum();
            if rows > 0 {
                return Ok(Some(format!("{rows} rows are ok, but their {column} is no number from 0 on")));
            }
        }
        Ok(None)
    }

    /// What the cells were placed for, and what they are judged by unless the user names another number: the period if all cells
    /// have the objective `period`, else the makespan.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn goal(&self) -> PolarsResult<Metric> {
        let objectives = self.distinct_values(col("objective").fill_null(lit(Goal::Makespan.to_string())))?;
        let is_period = !objectives.is_empty() && objectives.iter().all(|name| *name == Goal::Period.to_string());
        Ok(if is_period { Metric::Period } else { Metric::Makespan })
    }

    /// The distinct texts of an expression, in the order of the rows; nulls are none.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn distinct_values(&self, texts: Expr) -> PolarsResult<Vec<String>> {
        let mut distinct = Codes::default();
        for part in self.parts() {
            let frame = part.lazy()?.select([texts.clone().alias("value")]).collect()?;
            distinct.of_nullable(&frame, "value")?;
        }
        Ok(distinct.names().iter().map(|name| name.to_string()).collect())
    }

    /// The parts of several tables together, in the order of graphs and clusters, none in two parts. A part has a
    /// table for each, in the order of `tables`.
    pub fn aligned(tables: &[&Self]) -> Vec<Vec<Self>> {
        let mut blocks: BTreeMap<(&str, &str), Vec<Vec<&Block>>> = BTreeMap::new();
        for (number, table) in tables.iter().enumerate() {
            for block in &table.blocks {
                let of_tables = blocks.entry((&block.graph, &block.cluster));
                of_tables.or_insert_with(|| vec![Vec::new(); tables.len()])[number].push(block);
            }
        }
        let mut parts: Vec<Vec<Vec<Block>>> = Vec::new();
        let mut height = usize::MAX;
        for of_tables in blocks.into_values() {
            if tables.iter().any(|table| height >= table.part_rows) {
                parts.push(vec![Vec::new(); tables.len()]);
                height = 0;
            }
            height += of_tables.iter().flatten().map(|block| block.height()).sum::<usize>();
            for (part, own) in parts.last_mut().into_iter().flatten().zip(of_tables) {
                part.extend(own.into_iter().cloned());
            }
        }
        let of_part = |part: Vec<Vec<Block>>| {
            let own = |(blocks, table): (Vec<Block>, &&Self)| table.with_blocks(blocks);
            part.into_iter().zip(tables).map(own).collect()
        };
        parts.into_iter().map(of_part).collect()
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("height", &self.height()).finish_non_exhaustive()
    }
}

/// Adds a row behind those that are there.
fn append(rows: &mut Vec<Range<u32>>, row: u32) {
    match rows.last_mut() {
        Some(last) if last.end == row => last.end += 1,
        _ => rows.push(row..row + 1),
    }
}

/// The rows by graph and cluster, in the order of their first.
fn blocks(source: &Source) -> PolarsResult<Vec<Block>> {
    let names = ["graph", "cluster"].map(PlSmallStr::from_static);
    let mut number: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut blocks: Vec<Block> = Vec::new();
    let mut current: Option<usize> = None;
    let height = u32::try_from(source.height()).map_err(|_| polars_err!(ComputeError: "has more than 2³² rows"))?;
    for first in (0..height).step_by(GROUP_ROWS) {
        let group = first..height.min(first + GROUP_ROWS as u32);
        let frame = source.read(&names, std::slice::from_ref(&group))?;
        let (graphs, clusters) = (frame.column("graph")?.str()?, frame.column("cluster")?.str()?);
        for (row, (graph, cluster)) in (first..).zip(graphs.iter().zip(clusters.iter())) {
            let [graph, cluster] = [graph, cluster].map(|name| name.ok_or_else(no_name));
            let (graph, cluster) = (graph?, cluster?);
            let own = match current {
                Some(own) if blocks[own].graph == graph && blocks[own].cluster == cluster => own,
                _ => *number.entry((graph.to_owned(), cluster.to_owned())).or_insert_with(|| {
                    blocks.push(Block { graph: graph.to_owned(), cluster: cluster.to_owned(), rows: Vec::new() });
                    blocks.len() - 1
                }),
            };
            append(&mut blocks[own].rows, row);
            current = Some(own);
        }
    }
    Ok(blocks)
}

fn no_name() -> PolarsError {
    polars_err!(ComputeError: "column 'graph' or 'cluster' has an empty value")
}

/// The cells of a data frame that has the columns [`CELL`], one a row.
///
/// # Errors
/// If a column is missing.
pub fn cell_keys(frame: &DataFrame) -> PolarsResult<Vec<CellKey>> {
    let text = |name: &str| values::<String>(frame, name);
    let (suites, graphs, clusters, kinds) =
        (text("suite")?, text("graph")?, text("cluster")?, values::<Kinds>(frame, "kinds")?);
    let (networks, executors) = (text("network")?, values::<ExecutorName>(frame, "executor")?);
    let (placers, schedulers) = (text("placer")?, text("scheduler")?);
    let (repetitions, seeds) = (values::<u32>(frame, "repetition")?, values::<u64>(frame, "seed")?);
    let instances = suites.into_iter().zip(graphs).zip(clusters).zip(kinds).zip(networks).zip(executors);
    let candidates = placers.into_iter().zip(schedulers);
    let draws = repetitions.into_iter().zip(seeds).zip(values::<u32>(frame, "numbering")?);
    let key = |((instance, (placer, scheduler)), ((repetition, seed), numbering))| {
        let (((((suite, graph), cluster), kinds), network), executor) = instance;
        CellKey { suite, graph, cluster, kinds, network, executor, placer, scheduler, repetition, seed, numbering }
    };
    Ok(instances.zip(candidates).zip(draws).map(key).collect())
}
