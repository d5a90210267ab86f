//! Graphs by what a suite or a command line says of them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use placebench_base::nearest;
use placebench_datasets::format::{self, GraphHeader, Units};
use placebench_datasets::{DataflowGraph, Kinds, catalogue};
use placebench_generator::{
    Chained, Costs, GraphParams, KindProbabilities, LeveledParams, Passes, TrainingParams, redraw_costs,
};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use super::error::ProblemError;

/// L gives no probabilities of kind constraints; the presets of her synthetic graphs use the same.
const LAICH_KINDS: KindProbabilities = KindProbabilities { cpu: 0.1, gpu: 0.1, tpu: 0.0 };

/// A graph: exactly one of `catalogue`, `file`, `preset`, `leveled`, `training_steps` says where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphEntry {
    /// Name in tables; by default that of the catalogue entry, preset or file.
    #[serde(default)]
    pub name: Option<String>,
    /// A graph of the catalogue (`placebench list graphs`).
    #[serde(default)]
    pub catalogue: Option<String>,
    /// A file or folder in any format that `placebench convert` reads.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// A preset of the generator (`placebench list presets`).
    #[serde(default)]
    pub preset: Option<String>,
    /// Parameters of the leveled generator.
    #[serde(default)]
    pub leveled: Option<LeveledParams>,
    /// Parameters of data-parallel training steps, or of a preset of them. Without a number of workers, each device of
    /// the cell's cluster is a worker, except for the servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_steps: Option<TrainingParams>,
    /// Passes that change the graph, one after another, when its costs are drawn: `["prune", "microbatch(8)"]`. Its name in
    /// tables tells them.
    #[serde(default, skip_serializing_if = "Passes::is_empty")]
    pub passes: Passes,
    /// Draws new costs for the graph's structure.
    #[serde(default)]
    pub costs: Option<DrawnCosts>,
    /// What `costs` was called before: refused with its new name.
    #[serde(default, deserialize_with = "renamed_to_costs", skip_serializing)]
    pub weights: (),
    /// Which of the kinds of devices that an op has kernels for it may run on, unless the cluster's entry says; by default as
    /// the source of the graph says, or on all of them if costs are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Kinds>,
    /// Scales the sizes of all tensors so that the communication-to-computation ratio on the cell's cluster is this; see
    /// [`scale_to_ccr`](super::scale_to_ccr).
    #[serde(default)]
    pub ccr: Option<f64>,
    /// Names of the clusters that this graph runs on; by default all.
    #[serde(default)]
    pub clusters: Option<Vec<String>>,
    /// Repetitions for this graph; by default the suite's.
    #[serde(default)]
    pub repetitions: Option<u32>,
}

/// How costs are drawn for a graph that has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawnCosts {
    /// L §6.2: operations, tensor sizes and memory from U\[1, 100\], whatever the graph says.
    Laich,
}

fn renamed_to_costs<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(de::Error::custom("the key 'weights' is called 'costs' now: write costs = \"laich\""))
}

impl GraphEntry {
    /// The graph that a person names: a catalogue name first, then a preset, then a path; and any of them with passes, as in
    /// `convnet+prune+microbatch(8)`.
    ///
    /// # Errors
    /// If there is none, with the nearest name that there is; if there is no such pass.
    pub fn named(text: &str) -> Result<Self, ProblemError> {
        if is_there(Path::new(text)) {
            return Self::without_passes(text);
        }
        // Names of files may have a '+', too: the longest that names something is the graph.
        let parts = Passes::split(text);
        let of = |count: usize| -> Option<Result<Self, ProblemError>> {
            let graph = Self::without_passes(&parts[..count].join("+")).ok()?;
            let passes = Passes::new(&parts[count..]).map_err(ProblemError::Passes);
            Some(passes.map(|passes| Self { passes, ..graph }))
        };
        match (1..parts.len()).rev().find_map(of) {
            Some(found) => found,
            None => Self::without_passes(Passes::base_name(text)),
        }
    }

    fn without_passes(text: &str) -> Result<Self, ProblemError> {
        let named = Self { name: Some(text.to_owned()), ..Self::default() };
        if catalogue::entries().iter().any(|entry| entry.name == text) {
            Ok(Self { catalogue: Some(text.to_owned()), ..named })
        } else if GraphParams::preset(text).is_some() {
            Ok(Self { preset: Some(text.to_owned()), ..named })
        } else if is_there(Path::new(text)) {
            Ok(Self { file: Some(text.into()), ..named })
        } else {
            let names = catalogue::entries().iter().map(|entry| entry.name).chain(GraphParams::presets());
            let list = "graphs' and 'placebench list presets";
            Err(ProblemError::Unknown { what: "graph", name: text.to_owned(), nearest: nearest(text, names), list })
        }
    }

    /// The graph with more passes behind its own.
    ///
    /// # Errors
    /// If they may not follow its own ([`Passes::then`]).
    pub fn with(self, passes: &Passes) -> Result<Self, ProblemError> {
        Ok(Self { passes: self.passes.then(passes).map_err(ProblemError::Passes)?, ..self })
    }

    /// The name in tables: that of the graph and its passes, as in `convnet+prune`. What a pass makes is another graph.
    pub fn label(&self) -> String {
        match self.passes.is_empty() {
            true => self.base(),
            false => format!("{}+{}", self.base(), self.passes),
        }
    }

    /// The name of the graph without its passes.
    pub fn base(&self) -> String {
        self.name
            .clone()
            .or_else(|| self.catalogue.clone())
            .or_else(|| self.preset.clone())
            .or_else(|| self.file.as_deref().map(stem))
            .unwrap_or_else(|| if self.training_steps.is_some() { "training_steps" } else { "leveled" }.to_owned())
    }

    /// Whether the catalogue's graph or the preset exists, and the generator's parameters make sense.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self) -> Result<(), ProblemError> {
        if let Some(name) = &self.catalogue {
            catalogue::find(name).map_err(catalogue::CatalogueError::from)?;
        }
        if let Some(params) = self.params()? {
            params.check()?;
        }
        Ok(())
    }

    /// The graph for a seed, with its header.
    ///
    /// # Errors
    /// If it does not exist, cannot be read, or its parameters make no sense.
    pub fn load(&self, seed: u64) -> Result<(GraphHeader, DataflowGraph), ProblemError> {
        self.passed(seed).map(|(header, chained)| (header, chained.graph))
    }

    /// The graph for a seed, with its header, with what its passes did, and with where its ops come from.
    ///
    /// # Errors
    /// As [`GraphEntry::load`].
    pub fn passed(&self, seed: u64) -> Result<(GraphHeader, Chained), ProblemError> {
        self.passed_by(&self.passes, seed)
    }

    /// As [`GraphEntry::passed`], without what is done when the graph is placed; the header tells that, too.
    ///
    /// # Errors
    /// As [`GraphEntry::load`].
    pub fn passed_before_placement(&self, seed: u64) -> Result<(GraphHeader, Chained), ProblemError> {
        self.passed_by(&self.passes.before_placement(), seed)
    }

    fn passed_by(&self, passes: &Passes, seed: u64) -> Result<(GraphHeader, Chained), ProblemError> {
        let (header, graph) = self.made(seed)?;
        let header = passed_header(header, &self.passes);
        let chained = passes.apply(graph);
        Ok((header, chained.map_err(|error| ProblemError::Pass { graph: self.base(), error })?))
    }

    /// The graph before its passes.
    fn made(&self, seed: u64) -> Result<(GraphHeader, DataflowGraph), ProblemError> {
        let (mut header, graph) = if let Some(name) = &self.catalogue {
            catalogue::load(name)?
        } else if let Some(path) = &self.file {
            format::read_graph(path)?
        } else {
            let params = self.params()?.ok_or_else(|| ProblemError::NoSource { graph: self.label() })?;
            (GraphHeader::named(self.base()), params.generate(seed)?)
        };
        header.kinds = self.said_kinds().unwrap_or(header.kinds);
        if self.costs.is_some() {
            header.units.ops = Units::default().ops;
        }
        Ok(match self.costs {
            None => (header, graph),
            Some(DrawnCosts::Laich) => (header, redraw_costs(&graph, seed, &Costs::default(), Some(&LAICH_KINDS))?),
        })
    }

    /// Which kinds of devices the graph's ops may run on: what the header of [`GraphEntry::load`] says, without the graph where
    /// its format permits.
    ///
    /// # Errors
    /// If the graph does not exist or its file cannot be read.
    pub fn kinds(&self) -> Result<Kinds, ProblemError> {
        Ok(match (self.said_kinds(), &self.catalogue, &self.file) {
            (Some(kinds), _, _) => kinds,
            (None, Some(name), _) => catalogue::find(name).map_err(catalogue::CatalogueError::from)?.header()?.kinds,
            (None, None, Some(path)) => format::read_kinds(path)?,
            (None, None, None) => Kinds::default(),
        })
    }

    /// What the entry says of kinds. Drawn costs come with drawn kinds, which no framework knows.
    fn said_kinds(&self) -> Option<Kinds> {
        self.kinds.or(self.costs.map(|_| Kinds::AsGiven))
    }

    /// The parameters of the graph, if a preset or a table gives them.
    ///
    /// # Errors
    /// If the preset does not exist, or its own parameters make no sense.
    pub fn params(&self) -> Result<Option<GraphParams>, ProblemError> {
        Ok(match (&self.preset, &self.leveled, &self.training_steps) {
            (Some(name), _, _) => Some(preset(name)?),
            (_, Some(params), _) => Some(GraphParams::Leveled(params.clone())),
            (_, _, Some(params)) => Some(GraphParams::TrainingSteps(params.clone())),
            (None, None, None) => None,
        })
    }

    /// The entry for a cluster with this number of devices: it fixes the number of workers of training steps that leave
    /// it open.
    ///
    /// # Errors
    /// If its parameters make no sense.
    pub fn for_devices(&self, devices: usize) -> Result<Self, ProblemError> {
        Ok(match self.params()? {
            Some(GraphParams::TrainingSteps(params)) => {
                let training_steps = Some(params.for_devices(devices));
                Self { name: Some(self.base()), preset: None, training_steps, ..self.clone() }
            }
            _ => self.clone(),
        })
    }
}

/// The entry of a header that names the passes that changed the graph.
const PASSES: &str = "passes";

/// The header of a graph that passes have changed: its name and its provenance tell them.
pub fn passed_header(mut header: GraphHeader, passes: &Passes) -> GraphHeader {
    if !passes.is_empty() {
        let before = passes_of(&header);
        let all = if before.is_empty() { passes.to_string() } else { format!("{before}+{passes}") };
        header.name = format!("{}+{passes}", header.name);
        header.provenance.insert(PASSES.to_owned(), all.into());
    }
    header
}

/// The passes that changed the graph of a header.
pub(super) fn passes_of(header: &GraphHeader) -> Passes {
    let text = header.provenance.get(PASSES).and_then(toml::Value::as_str).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// The parameters of a graph preset.
fn preset(name: &str) -> Result<GraphParams, ProblemError> {
    match GraphParams::preset(name) {
        Some(params) => params.map_err(ProblemError::PresetParams),
        None => Err(ProblemError::UnknownPreset {
            what: "graph",
            name: name.to_owned(),
            nearest: nearest(name, GraphParams::presets()),
        }),
    }
}

/// Whether a path names something, though perhaps something that may not be read: its reader says why then.
pub(super) fn is_there(path: &Path) -> bool {
    match path.try_exists() {
        Ok(there) => there,
        Err(error) => matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotADirectory),
    }
}

/// The name of a file or folder without its extension.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
