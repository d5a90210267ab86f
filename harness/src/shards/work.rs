//! What the shards of a job do, as files show it.

use std::path::Path;

use super::LauncherError;
use crate::results::Status;
use crate::runner::Finished;
use crate::suite::RunPlan;

/// What the shards of a job do.
pub trait Work {
    /// How many items each shard has, the first shard first: cells, or parts.
    fn items(&self) -> Vec<usize>;

    /// Names each item that was finished since the last look: the place of its shard, from 0, and whether it ended well.
    ///
    /// # Errors
    /// If the files cannot be read, or are those of something else.
    fn look(&mut self, finished: &mut dyn FnMut(usize, bool)) -> Result<(), LauncherError>;
}

/// The cells of a run.
pub struct Cells<'a> {
    plan: &'a RunPlan,
    finished: Finished<'a>,
    /// By group.
    shards: Vec<u32>,
    count: u32,
}

impl<'a> Cells<'a> {
    /// The cells of the run in a folder, in `count` shards.
    ///
    /// # Errors
    /// If there is no run.
    pub fn new(folder: &Path, plan: &'a RunPlan, count: u32) -> Result<Self, LauncherError> {
        Ok(Self { finished: Finished::new(folder, plan)?, shards: plan.shards_of_groups(count), plan, count })
    }
}

impl Work for Cells<'_> {
    fn items(&self) -> Vec<usize> {
        let mut items = vec![0; self.count as usize];
        self.plan.cells.iter().for_each(|cell| items[self.shards[cell.group] as usize - 1] += 1);
        items
    }

    fn look(&mut self, finished: &mut dyn FnMut(usize, bool)) -> Result<(), LauncherError> {
        let shard = |cell: usize| self.shards[self.plan.cells[cell].group] as usize - 1;
        Ok(self.finished.update(None, |cell, status| finished(shard(cell), status == Some(Status::Ok)))?)
    }
}

/// Items that are each finished when their file is there: parts of a graph.
pub struct Items<F> {
    /// The shard of each item, from 1.
    shards: Vec<u32>,
    is_finished: F,
    known: Vec<bool>,
    count: u32,
}

impl<F: FnMut(usize) -> bool> Items<F> {
    /// Items that `count` shards make: the shard of each, from 1, and how to see that it is finished.
    pub fn new(shards: Vec<u32>, count: u32, is_finished: F) -> Self {
        Self { known: vec![false; shards.len()], shards, is_finished, count }
    }
}

impl<F: FnMut(usize) -> bool> Work for Items<F> {
    fn items(&self) -> Vec<usize> {
        let mut items = vec![0; self.count as usize];
        self.shards.iter().for_each(|&shard| items[shard as usize - 1] += 1);
        items
    }

    fn look(&mut self, finished: &mut dyn FnMut(usize, bool)) -> Result<(), LauncherError> {
        for (item, known) in self.known.iter_mut().enumerate() {
            if !*known && (self.is_finished)(item) {
                *known = true;
                finished(self.shards[item] as usize - 1, true);
            }
        }
        Ok(())
    }
}
