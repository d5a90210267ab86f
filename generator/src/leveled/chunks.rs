//! A leveled graph as chunks of levels, for graphs larger than memory.

use std::ops::Range;

use placebench_base::process::check_memory;
use placebench_datasets::{GroupId, KindSet, OpId};

use super::edges::write_level;
use super::params::LeveledParams;
use super::plan::LeveledPlan;
use crate::costs::OpColumns;
use crate::error::GeneratorError;
use crate::stream::tally::Counter;
use crate::stream::{CHUNK, ChunkScratch, EdgeChunks, Sheet, Tally};

/// A leveled graph made chunk by chunk: a chunk is a run of levels with the edges into them. The graph is that of
/// [`generate_leveled`](crate::generate_leveled).
///
/// # Memory
/// The plan (20 bytes a level, and 4 an op and 4 a colocated op if there is colocation), 12 bytes a chunk, 1/16 byte an op;
/// while a chunk is made, 24 bytes for each of its edges: a level is never cut.
#[derive(Clone, Debug)]
pub struct LeveledChunks {
    plan: LeveledPlan,
    /// First level of each chunk, and the number of levels.
    first_level: Vec<u32>,
    first_edge: Vec<u64>,
    /// The level of every 64th op.
    level_of_block: Vec<u32>,
}

/// Ops that share an entry of the table of levels, as a binary logarithm.
const BLOCK: u32 = 6;

/// Ops before a chunk whose levels are listed while it is made: as many as stay in the processor's caches.
const MOST_NEAR: u32 = 1 << 16;

/// The columns of consecutive ops.
#[derive(Clone, Debug, Default)]
pub struct OpBatch {
    /// Id of the first op.
    pub first: u32,
    /// Cost, in operations.
    pub ops: Vec<f64>,
    /// Resident memory.
    pub memory_bytes: Vec<u64>,
    /// Size of the output.
    pub tensor_bytes: Vec<u64>,
    /// Kinds of devices that each may run on.
    pub kinds: Vec<KindSet>,
    /// Colocation group, if any.
    pub groups: Vec<Option<GroupId>>,
}

impl LeveledChunks {
    /// Draws the plan.
    ///
    /// # Errors
    /// If a parameter makes no sense or relates all ops with each other, more edges are asked for than there are pairs, or a
    /// plan or a level does not fit into memory.
    pub fn new(params: &LeveledParams, seed: u64) -> Result<Self, GeneratorError> {
        if let Some((name, value)) = params.whole_graph_only() {
            let expected = "left out where parts are made alone: it relates all ops with each other";
            return Err(GeneratorError::bad(name, value, expected));
        }
        if params.times.is_some() {
            let expected = "left out where parts are made alone: their tables have no measured times";
            return Err(GeneratorError::bad("times", "given", expected));
        }
        let ops = params.nodes.unwrap_or_default();
        let (levels, of_group) = (u64::from(params.levels), if params.colocation.nodes > 0 { 4 } else { 0 });
        check_memory(&[(levels, 20), (ops, of_group)], || format!("the plan of a graph of {ops} ops"))?;
        let plan = LeveledPlan::new(params, seed)?;
        let mut first_level = vec![0];
        let mut largest = 0;
        for level in 0..plan.level_count() {
            let from = first_level[first_level.len() - 1] as usize;
            let work = |level: usize| plan.first_edge[level] + u64::from(plan.levels.first_op[level]);
            largest = largest.max(work(level + 1) - work(level));
            if work(level + 1) - work(from) >= CHUNK || level + 1 == plan.level_count() {
                first_level.push(level as u32 + 1);
            }
        }
        check_memory(&[(largest, 24)], || format!("a level of {largest} ops and edges"))?;
        let first_edge = first_level.iter().map(|&level| plan.first_edge[level as usize]).collect();
        let level_of_block =
            (0..plan.op_count() as u32).step_by(1 << BLOCK).map(|op| plan.levels.level_of(op)).collect();
        Ok(Self { plan, first_level, first_edge, level_of_block })
    }

    /// The plan.
    pub fn plan(&self) -> &LeveledPlan {
        &self.plan
    }

    /// How many ops the levels have.
    pub fn level_sizes(&self) -> Tally {
        Tally::of((0..self.plan.level_count()).map(|level| self.plan.level_ops(level).len() as u64))
    }

    /// How many ops the colocation groups have.
    pub fn group_sizes(&self) -> Tally {
        Tally::of(self.plan.colocation.groups().map(|(_, members)| members.len() as u64))
    }

    /// The ops of a chunk.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn draw_ops(&self, chunk: usize, batch: &mut OpBatch) {
        let levels = self.levels(chunk);
        let (first, end) = (self.plan.levels.first_op[levels.start], self.plan.levels.first_op[levels.end]);
        let count = (end - first) as usize;
        batch.first = first;
        batch.ops.resize(count, 0.0);
        batch.memory_bytes.resize(count, 0);
        batch.tensor_bytes.resize(count, 0);
        batch.kinds.resize(count, KindSet::ALL);
        let mut columns = OpColumns {
            ops: &mut batch.ops,
            memory_bytes: &mut batch.memory_bytes,
            tensor_bytes: &mut batch.tensor_bytes,
            kinds: &mut batch.kinds,
        };
        let params = &self.plan.levels.params;
        for level in levels {
            let ops = self.plan.level_ops(level);
            let range = (ops.start - first) as usize..(ops.end - first) as usize;
            columns.part(range).draw(&params.costs, &params.kinds, self.plan.levels.seed, level as u64);
        }
        batch.groups.clear();
        batch.groups.extend((first..end).map(|op| self.plan.colocation.group_of(OpId(op))));
        for (kinds, group) in batch.kinds.iter_mut().zip(&batch.groups) {
            if let Some(group) = group {
                *kinds = self.plan.group_kinds[group.index()];
            }
        }
    }

    fn levels(&self, chunk: usize) -> Range<usize> {
        self.first_level[chunk] as usize..self.first_level[chunk + 1] as usize
    }

    /// Lists the level of each op from which most edges of a chunk come: those within reach, and of the chunk itself.
    /// Returns the first of these ops.
    fn list_levels(&self, chunk: usize, list: &mut Vec<u32>) -> u32 {
        let (levels, all) = (self.levels(chunk), &self.plan.levels);
        let within_reach = all.first_op[levels.start.saturating_sub(all.reach as usize)];
        let first = within_reach.max(all.first_op[levels.start].saturating_sub(MOST_NEAR));
        let first_level = all.level_of(first) as usize;
        list.clear();
        for level in first_level..levels.end {
            list.resize((all.first_op[level + 1] - first) as usize, level as u32);
        }
        first
    }

    #[inline]
    fn level_of(&self, op: u32) -> usize {
        let mut level = self.level_of_block[(op >> BLOCK) as usize] as usize;
        while self.plan.levels.first_op[level + 1] <= op {
            level += 1;
        }
        level
    }
}

impl EdgeChunks for LeveledChunks {
    fn vertex_count(&self) -> u32 {
        self.plan.op_count() as u32
    }

    fn first_edges(&self) -> &[u64] {
        &self.first_edge
    }

    fn append(&self, chunk: usize, scratch: &mut ChunkScratch, edges: &mut Vec<(u32, u32)>, sheet: &mut Sheet) {
        let (mut degrees, mut spans) = (Counter::new(), Counter::new());
        let first_near = self.list_levels(chunk, &mut scratch.levels);
        let near = &scratch.levels;
        for level in self.levels(chunk) {
            let shape = self.plan.shape(level);
            scratch.ends.resize(shape.ops as usize, 0);
            scratch.columns.resize(shape.edge_count(), 0);
            let (ends, sources) = (&mut scratch.ends, &mut scratch.columns);
            write_level(&mut scratch.rows, &self.plan.levels, &shape, 0, ends, sources);
            let mut from = 0;
            for (target, &end) in (shape.first_op..).zip(&*ends) {
                let sources = &sources[from..end as usize];
                edges.extend(sources.iter().map(|&source| (source, target)));
                for &source in sources {
                    // Wraps around for a source before the table, and then is in no table.
                    let from = match near.get(source.wrapping_sub(first_near) as usize) {
                        Some(&level) => level as usize,
                        None => self.level_of(source),
                    };
                    spans.count((level - from) as u64);
                }
                degrees.count(sources.len() as u64);
                from = end as usize;
            }
        }
        sheet.degrees.add(&degrees.tally());
        sheet.spans.add(&spans.tally());
    }
}
