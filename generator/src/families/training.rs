//! The family of data-parallel training steps by name: the parameters of [`TrainingParams`], declared one by one.

use placebench_base::params::{Named, Params};
use placebench_base::spec::{Spec, SpecError};

use super::Preset;
use crate::GraphParams;
use crate::family::FamilyEntry;
use crate::family::TRAINING_STEPS;
use crate::training_steps::{Compression, Detail, Mixing, Model, Sync, TrainingParams};

const SUMMARY: &str = "data-parallel training steps with their exchanges";

impl Named for Sync {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("parameter_server", Self::ParameterServer),
        ("ring_all_reduce", Self::RingAllReduce),
        ("recursive_doubling", Self::RecursiveDoubling),
        ("gossip", Self::Gossip),
        ("asynchronous", Self::Asynchronous),
        ("stale_synchronous", Self::StaleSynchronous),
    ];
}

impl Named for Mixing {
    const NAMES: &'static [(&'static str, Self)] =
        &[("partners", Self::Partners), ("ring", Self::Ring), ("complete", Self::Complete)];
}

impl Named for Compression {
    const NAMES: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("sparsification", Self::Sparsification), ("quantization", Self::Quantization)];
}

impl Named for Detail {
    const NAMES: &'static [(&'static str, Self)] = &[("step", Self::Step), ("layer", Self::Layer)];
}

impl Named for Model {
    const NAMES: &'static [(&'static str, Self)] =
        &[("cifar10_cnn", Self::Cifar10Cnn), ("cifar100_cnn", Self::Cifar100Cnn)];
}

/// The line of the table of families.
pub(super) fn entry() -> FamilyEntry {
    FamilyEntry::of_params([TRAINING_STEPS, SUMMARY, "T §3.3, §4"], |params| {
        Ok(GraphParams::TrainingSteps(read(params)?))
    })
}

fn read(params: &mut Params) -> Result<TrainingParams, SpecError> {
    let base = TrainingParams::default();
    let read = TrainingParams {
        workers: params.optional(
            "workers",
            1..,
            "workers; none: the devices of the cluster less the servers, else 16",
        )?,
        model: params.word(
            "model",
            base.model,
            "the model: cifar10_cnn or cifar100_cnn; a file may give layers instead",
        )?,
        batch: params.number("batch", base.batch, 1.., "examples that a worker handles in a step")?,
        steps: params.number("steps", base.steps, 1.., "steps")?,
        sync: params.word(
            "sync",
            base.sync,
            "parameter_server, ring_all_reduce, recursive_doubling, gossip, asynchronous or stale_synchronous",
        )?,
        servers: params.number(
            "servers",
            base.servers,
            1..,
            "parameter servers, where workers exchange through them",
        )?,
        staleness: params.number(
            "staleness",
            base.staleness,
            0..,
            "exchanges that a worker may be ahead of the slowest, for sync=stale_synchronous",
        )?,
        mixing: params.word(
            "mixing",
            base.mixing,
            "who sends to whom under gossip: partners, ring or complete; a file may give a matrix instead",
        )?,
        matrix: Vec::new(),
        split: params.number("split", base.split, 1.., "workers that share a model (model parallelism); 1: none do")?,
        straggler: params.number(
            "straggler",
            base.straggler,
            1.0..,
            "how many times as long step t takes worker t mod workers",
        )?,
        period: params.number("period", base.period, 1.., "steps from one exchange to the next: Local-SGD(period)")?,
        compression: params.word("compression", base.compression, "none, sparsification or quantization")?,
        keep: params.number("keep", base.keep, 0.0..=1.0, "share of the values that sparsification keeps")?,
        bits: params.number("bits", base.bits, 1..=32, "bits of a value under quantization")?,
        detail: params.word("detail", base.detail, "step: an op a step; layer: ops for each layer")?,
        reduce_ops: params.number("reduce_ops", base.reduce_ops, 0.0.., "operations to add one received value")?,
        layers: Vec::new(),
    };
    read.check().map_err(|error| params.refuse_together(error))?;
    Ok(read)
}

/// T's ten configurations: Local-SGD(1), (4), (16), each with all-reduce, gossip, gossip and sparsification, and
/// Local-SGD(32) with all-reduce (T §5).
///
/// All-reduce is on a ring; `sync=recursive_doubling` changes that. The number of steps is the period, for gossip 32
/// times the period, so that near and far partners occur.
pub(super) fn presets() -> Vec<Preset> {
    let names = TrainingParams::PRESETS.iter().filter(|name| **name != TRAINING_STEPS);
    let preset = |(number, &name): (usize, &&'static str)| {
        let period = [1, 4, 16, 32][number / 3];
        let (sync, compression, exchanges, what) = match number % 3 {
            0 => (Sync::RingAllReduce, Compression::None, 1, "ring all-reduce"),
            1 => (Sync::Gossip, Compression::None, 32, "gossip"),
            _ => (Sync::Gossip, Compression::Sparsification, 32, "gossip + sparsification"),
        };
        let params = [
            ("period", period.to_string()),
            ("steps", (period * exchanges).to_string()),
            ("sync", sync.name().to_owned()),
            ("compression", compression.name().to_owned()),
        ];
        let params = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let summary = format!("training steps, Local-SGD({period}) + {what} (T §5)");
        Preset { name, summary, values: Spec { name: TRAINING_STEPS.to_owned(), params } }
    };
    names.enumerate().map(preset).collect()
}
