//! `names`: what there is to name.

use placebench::algorithms::partition::registry::PARTITIONERS;
use placebench::algorithms::registry::{SCHEDULERS, placer_names};
use placebench::base::did_you_mean;
use placebench::datasets::catalogue;
use placebench::generator::{ClusterParams, GraphParams};
use placebench::harness::execute::simulate::NETWORK_MODELS;
use placebench::harness::suite::BUILT_IN;
use placebench::reports::FigureKind;
use pyo3::prelude::*;

use crate::fault::fault;

/// The names that there are of 'graphs', 'presets', 'clusters', 'placers', 'partitioners', 'schedulers', 'networks', 'suites'
/// or 'figures'. `placebench list` says what each is.
#[pyfunction]
#[pyo3(signature = (what, /))]
pub(crate) fn names(what: &str) -> PyResult<Vec<String>> {
    fn owned<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
        names.map(str::to_owned).collect()
    }
    Ok(match what {
        "graphs" => owned(catalogue::entries().iter().map(|entry| entry.name)),
        "presets" => owned(GraphParams::presets()),
        "clusters" => owned(ClusterParams::PRESETS.into_iter()),
        "placers" => placer_names(),
        "partitioners" => owned(PARTITIONERS.iter().map(|entry| entry.name.as_str())),
        "schedulers" => owned(SCHEDULERS.iter().map(|entry| entry.name.as_str())),
        "networks" => owned(NETWORK_MODELS.iter().map(|model| model.name())),
        "suites" => owned(BUILT_IN.iter().map(|suite| suite.name)),
        "figures" => owned(FigureKind::all().map(FigureKind::name)),
        other => {
            let all = [
                "graphs",
                "presets",
                "clusters",
                "placers",
                "partitioners",
                "schedulers",
                "networks",
                "suites",
                "figures",
            ];
            return Err(fault(format!("there is no list of '{other}': {}", did_you_mean(other, all))));
        }
    })
}
