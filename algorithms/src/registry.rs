//! All placers and schedulers by name, one line each.

use std::sync::LazyLock;

use crate::algorithm::{Algorithm, RegistryEntry, Role, make};
use crate::partition::Partitioner;
use crate::partition::registry::PARTITIONERS;
use crate::placers::{
    BatchSplit, Cats, ClusterCap, ClusterComm, ClusterLoad, Cola, Cpath, Cpop, CriticalPath, CrossEntropy, Dfs, Dheft,
    Dls, Etf, Expert, Hashing, Heft, Hybrid, Improve, IteratedCriticalPath, ListScheduling, Lookahead, MEtf, MSct,
    MTopo, Mcp, Mite, Optimal, Partitioned, Peft, Pipedream, PipelineDp, Random, Reinforce, Scoring,
    SimulatedAnnealing, SingleDevice, Sweep, TaskParallel, TensorflowDefault, WhitepaperGreedy,
};
use crate::schedulers::{Fifo, Msr, Pct, Static};
use crate::{Placer, Scheduler, Spec, SpecError};

/// The placers, in the order in which tables list them. Every partitioner is a placer too: see [`BLOCK_PLACERS`].
pub static PLACERS: LazyLock<Vec<RegistryEntry<dyn Placer>>> = LazyLock::new(|| {
    vec![
        placer_entry::<Optimal>(),
        placer_entry::<SingleDevice>(),
        placer_entry::<Random>(),
        placer_entry::<Hashing>(),
        placer_entry::<BatchSplit>(),
        placer_entry::<IteratedCriticalPath>(),
        placer_entry::<CriticalPath>(),
        placer_entry::<Dfs>(),
        placer_entry::<Mite>(),
        placer_entry::<Heft>(),
        placer_entry::<Cpop>(),
        placer_entry::<Peft>(),
        placer_entry::<Lookahead>(),
        placer_entry::<Etf>(),
        placer_entry::<Dls>(),
        placer_entry::<Mcp>(),
        placer_entry::<MTopo>(),
        placer_entry::<MEtf>(),
        placer_entry::<MSct>(),
        placer_entry::<ListScheduling>(),
        placer_entry::<Expert>(),
        placer_entry::<PipelineDp>(),
        placer_entry::<Pipedream>(),
        placer_entry::<TaskParallel>(),
        placer_entry::<Scoring>(),
        placer_entry::<ClusterLoad>(),
        placer_entry::<ClusterComm>(),
        placer_entry::<ClusterCap>(),
        placer_entry::<Cola>(),
        placer_entry::<WhitepaperGreedy>(),
        placer_entry::<TensorflowDefault>(),
        placer_entry::<Reinforce>(),
        placer_entry::<CrossEntropy>(),
        placer_entry::<SimulatedAnnealing>(),
        placer_entry::<Sweep>(),
        placer_entry::<Improve>(),
        placer_entry::<Cats>(),
        placer_entry::<Cpath>(),
        placer_entry::<Hybrid>(),
        placer_entry::<Dheft>(),
    ]
});

/// The schedulers, in the order in which tables list them.
pub static SCHEDULERS: LazyLock<Vec<RegistryEntry<dyn Scheduler>>> = LazyLock::new(|| {
    vec![scheduler_entry::<Fifo>(), scheduler_entry::<Pct>(), scheduler_entry::<Msr>(), scheduler_entry::<Static>()]
});

/// The partitioners as placers, in the order of [`PARTITIONERS`]. Each has its partitioner's name, with `_blocks` after it
/// where one of [`PLACERS`] has that name already.
pub static BLOCK_PLACERS: LazyLock<Vec<RegistryEntry<dyn Placer>>> =
    LazyLock::new(|| PARTITIONERS.iter().map(block_placer_entry).collect());

impl Role for dyn Placer {
    const WHAT: &str = "placer";
    const LIST: &str = "placers";
}

impl Role for dyn Scheduler {
    const WHAT: &str = "scheduler";
    const LIST: &str = "schedulers";
}

fn placer_entry<A: Algorithm + Placer + 'static>() -> RegistryEntry<dyn Placer> {
    RegistryEntry::of::<A>(|placer| Box::new(placer))
}

fn scheduler_entry<A: Algorithm + Scheduler + 'static>() -> RegistryEntry<dyn Scheduler> {
    RegistryEntry::of::<A>(|scheduler| Box::new(scheduler))
}

fn block_placer_entry(partitioner: &'static RegistryEntry<dyn Partitioner>) -> RegistryEntry<dyn Placer> {
    let is_taken = PLACERS.iter().any(|placer| placer.name == partitioner.name);
    RegistryEntry {
        name: format!("{}{}", partitioner.name, if is_taken { "_blocks" } else { "" }),
        summary: format!("blocks mapped to devices and repaired: {}", partitioner.summary),
        source: partitioner.source,
        assumes: Partitioned::ASSUMES,
        exceptions: Partitioned::EXCEPTIONS,
        new: Box::new(|params| Ok(Box::new(Partitioned::new(partitioner, params)?))),
    }
}

/// All placers: [`PLACERS`], then [`BLOCK_PLACERS`].
pub fn placers() -> impl Iterator<Item = &'static RegistryEntry<dyn Placer>> + Clone {
    PLACERS.iter().chain(BLOCK_PLACERS.iter())
}

/// The names of all placers, in the order of [`placers`].
pub fn placer_names() -> Vec<String> {
    placers().map(|entry| entry.name.clone()).collect()
}

/// Makes the placer that a spec names.
///
/// # Errors
/// If no placer has that name, or a parameter is unknown or out of range.
pub fn placer(spec: &Spec) -> Result<Box<dyn Placer>, SpecError> {
    make(spec, placers())
}

/// Makes the scheduler that a spec names.
///
/// # Errors
/// If no scheduler has that name, or a parameter is unknown or out of range.
pub fn scheduler(spec: &Spec) -> Result<Box<dyn Scheduler>, SpecError> {
    make(spec, SCHEDULERS.iter())
}
