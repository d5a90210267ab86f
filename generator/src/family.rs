//! Graphs of any family by the name of a preset.

use placebench_datasets::DataflowGraph;

use crate::error::GeneratorError;
use crate::leveled::{LeveledParams, generate_leveled};
use crate::training_steps::{TrainingParams, generate_training};

/// The parameters of a graph of some family.
#[derive(Clone, Debug, PartialEq)]
pub enum GraphParams {
    /// A leveled random graph.
    Leveled(LeveledParams),
    /// Data-parallel training steps.
    TrainingSteps(TrainingParams),
}

impl GraphParams {
    /// The parameters of a preset of any family: `laich1`, `tolstobrov1`, `training_steps(workers=32, sync=gossip)`; `None`
    /// if there is no such preset.
    ///
    /// # Errors
    /// One line, if a parameter after the name does not exist or its value makes no sense.
    pub fn preset(text: &str) -> Option<Result<Self, String>> {
        if let Some(params) = LeveledParams::preset(text) {
            return Some(Ok(Self::Leveled(params)));
        }
        Some(TrainingParams::preset(text)?.map(Self::TrainingSteps))
    }

    /// The names of all presets, family by family.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        LeveledParams::PRESETS.into_iter().chain(TrainingParams::PRESETS)
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is wrong, and what it must be.
    pub fn check(&self) -> Result<(), GeneratorError> {
        match self {
            Self::Leveled(params) => params.check(),
            Self::TrainingSteps(params) => params.check(),
        }
    }

    /// Makes the graph; training steps are the same for every seed.
    ///
    /// # Errors
    /// If a parameter makes no sense, or the graph does not fit 32-bit ids.
    pub fn generate(&self, seed: u64) -> Result<DataflowGraph, GeneratorError> {
        Ok(match self {
            Self::Leveled(params) => generate_leveled(params, seed)?.graph,
            Self::TrainingSteps(params) => generate_training(params)?.graph,
        })
    }
}
