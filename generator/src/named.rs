//! The table of families, and what is found in it by name: parameters, help, parameter files and checks follow from it.

use std::sync::LazyLock;

use placebench_base::spec::{Spec, SpecError};
use placebench_base::{UnknownName, find};

use crate::families;
use crate::family::{Described, FamilyEntry, GraphParams};
use crate::training_steps::TrainingParams;

/// The families, in the order in which tables list them.
pub static FAMILIES: LazyLock<Vec<FamilyEntry>> = LazyLock::new(families::all);

/// What a family or preset with parameters describes: `cholesky`, `cholesky(tiles=12)`, `laich1`, `resnet34(batch=8)`; `None`
/// if there is neither a family nor a preset of that name.
///
/// # Errors
/// One line, if a parameter does not exist or its value makes no sense.
pub fn described(text: &str) -> Option<Result<Described, String>> {
    let name = text.split_once('(').map_or(text, |(name, _)| name).trim();
    let preset = families::presets().into_iter().find(|preset| preset.name == name);
    let family = preset.as_ref().map_or(name, |preset| preset.values.name.as_str());
    let entry = FAMILIES.iter().find(|entry| entry.name == family)?;
    let read = || {
        let mut spec: Spec = text.parse().map_err(|error: SpecError| error.to_string())?;
        for (param, value) in preset.iter().flat_map(|preset| &preset.values.params) {
            if !spec.params.iter().any(|(given, _)| given == param) {
                spec.params.push((param.clone(), value.clone()));
            }
        }
        entry.read(&spec).map_err(|error| error.to_string())
    };
    Some(read())
}

/// Names of all families and presets, family by family.
pub fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|entry| entry.name).chain(families::presets().into_iter().map(|preset| preset.name))
}

impl GraphParams {
    /// The parameters of a dataflow graph by the name of a family or preset: `laich1`, `cholesky(tiles=12)`,
    /// `training_steps(workers=32, sync=gossip)`; `None` if there is none of that name or its graphs are undirected.
    ///
    /// # Errors
    /// One line, if a parameter after the name does not exist or its value makes no sense.
    pub fn preset(text: &str) -> Option<Result<Self, String>> {
        match described(text)? {
            Ok(Described::Dataflow(params)) => Some(Ok(params)),
            Ok(Described::Undirected(_)) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// The names of all families and presets of dataflow graphs.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        names().filter(|name| FAMILIES.iter().all(|entry| entry.name != *name || !entry.is_undirected))
    }
}

impl TrainingParams {
    /// Parameters from a preset's name, as it is or with parameters: `tolstobrov1` or
    /// `training_steps(workers=32, sync=gossip, period=4)`. `None` if there is no such preset.
    ///
    /// # Errors
    /// One line, if a parameter does not exist or its value makes no sense.
    pub fn preset(text: &str) -> Option<Result<Self, String>> {
        let name = text.split_once('(').map_or(text, |(name, _)| name).trim();
        Self::PRESETS.iter().find(|preset| **preset == name)?;
        match GraphParams::preset(text)? {
            Ok(GraphParams::TrainingSteps(params)) => Some(Ok(params)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// The line of a family.
///
/// # Errors
/// If there is none.
pub fn family(name: &str) -> Result<&'static FamilyEntry, UnknownName> {
    find(FAMILIES.iter(), name)
}
