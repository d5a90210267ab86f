//! The passes, one file each; the table is [`PASSES`].

mod additions;
mod coarsen;
mod compress;
mod contraction;
mod copies;
mod cse;
mod delay_receives;
mod fuse;
mod microbatch;
mod parts;
mod prune;
mod recompute;
mod replicate;
mod shard_state;
mod tensor_parallel;
mod training_step;

use std::sync::LazyLock;

use crate::pass::PassEntry;

/// The passes, in the order in which tables list them.
pub static PASSES: LazyLock<Vec<PassEntry>> = LazyLock::new(|| {
    vec![
        PassEntry::of::<prune::Prune>(),
        PassEntry::of::<cse::Cse>(),
        PassEntry::of::<coarsen::Coarsen>(),
        PassEntry::of::<fuse::Fuse>(),
        PassEntry::of::<microbatch::Microbatch>(),
        PassEntry::of::<replicate::Replicate>(),
        PassEntry::of::<shard_state::ShardState>(),
        PassEntry::of::<tensor_parallel::TensorParallel>(),
        PassEntry::of::<recompute::Recompute>(),
        PassEntry::of_placed::<compress::Compress>(),
        PassEntry::of_placed::<delay_receives::DelayReceives>(),
    ]
});
