//! What a family of graphs is, and what its parameters describe.

use std::fmt;
use std::sync::Arc;

use placebench_base::Listed;
use placebench_base::params::{ParamSpec, Params};
use placebench_base::spec::{Spec, SpecError};
use placebench_datasets::{DataflowGraph, UndirectedGraph};

use crate::error::GeneratorError;
use crate::leveled::{LeveledParams, generate_leveled};
use crate::op_costs::{OpCosts, Source};
use crate::sketch::Sketch;
use crate::stream::StreamParams;
use crate::training_steps::{TrainingParams, generate_training};

/// Name of the family of leveled random graphs.
pub(crate) const LEVELED: &str = "leveled";
/// Name of the family of data-parallel training steps.
pub(crate) const TRAINING_STEPS: &str = "training_steps";

/// A family of dataflow graphs: its parameters and its structure. Public fields are the parameters.
pub trait GraphFamily: Sized + Send + Sync + 'static {
    /// Unique name.
    const NAME: &'static str;
    /// One plain sentence.
    const SUMMARY: &'static str;
    /// Where it comes from: a short citation.
    const SOURCE: &'static str;
    /// Where the costs of its ops come from.
    const COSTS: Source;

    /// Declares and reads all parameters, in the order in which they are to be listed.
    ///
    /// # Errors
    /// If a value is not what its parameter takes.
    fn new(params: &mut Params) -> Result<Self, SpecError>;

    /// Adds the ops and edges, each op after those whose outputs it takes.
    ///
    /// # Errors
    /// If the graph does not fit 32-bit ids or memory, or parameters do not go together.
    fn build(&self, sketch: &mut Sketch, seed: u64) -> Result<(), GeneratorError>;
}

/// A family of undirected graphs.
pub trait UndirectedFamily: Sized + Send + Sync + 'static {
    /// Unique name.
    const NAME: &'static str;
    /// One plain sentence.
    const SUMMARY: &'static str;
    /// Where it comes from: a short citation.
    const SOURCE: &'static str;

    /// Declares and reads all parameters, in the order in which they are to be listed.
    ///
    /// # Errors
    /// If a value is not what its parameter takes.
    fn new(params: &mut Params) -> Result<Self, SpecError>;

    /// Makes the graph.
    ///
    /// # Errors
    /// If the graph does not fit 32-bit ids or memory, or parameters do not go together.
    fn generate(&self, seed: u64) -> Result<UndirectedGraph, GeneratorError>;

    /// The parameters of the same graph made part by part, if the family can be.
    fn streamed(&self) -> Option<StreamParams> {
        None
    }
}

/// What the parameters of a family describe.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "few are made, and none in a loop")]
pub enum Described {
    /// A dataflow graph.
    Dataflow(GraphParams),
    /// An undirected graph.
    Undirected(UndirectedParams),
}

impl Described {
    /// The name of the family.
    pub fn family(&self) -> &str {
        match self {
            Self::Dataflow(params) => params.family(),
            Self::Undirected(params) => &params.values.name,
        }
    }
}

type Read = dyn Fn(&mut Params) -> Result<Described, SpecError> + Send + Sync;

/// A line of the table of families.
pub struct FamilyEntry {
    /// Unique name.
    pub name: &'static str,
    /// One plain sentence.
    pub summary: &'static str,
    /// Where it comes from: a short citation.
    pub source: &'static str,
    /// Whether its graphs are undirected.
    pub is_undirected: bool,
    read: Box<Read>,
}

impl Listed for FamilyEntry {
    const WHAT: &'static str = "family of graphs";
    const LIST: &'static str = "generators";

    fn name(&self) -> &str {
        self.name
    }

    fn summary(&self) -> &str {
        self.summary
    }
}

impl FamilyEntry {
    pub(crate) fn of<F: GraphFamily>() -> Self {
        let read = |params: &mut Params| {
            let family = F::new(params)?;
            let costs = OpCosts::new(params, F::COSTS)?;
            let make = move |seed| {
                let mut sketch = Sketch::default();
                family.build(&mut sketch, seed)?;
                costs.apply(sketch, seed)
            };
            let values = params.values(F::NAME);
            Ok(Described::Dataflow(GraphParams::Family(FamilyParams { values, make: Arc::new(make) })))
        };
        Self { name: F::NAME, summary: F::SUMMARY, source: F::SOURCE, is_undirected: false, read: Box::new(read) }
    }

    pub(crate) fn of_undirected<F: UndirectedFamily>() -> Self {
        let read = |params: &mut Params| {
            let family = F::new(params)?;
            let (values, streamed) = (params.values(F::NAME), family.streamed());
            let make = Arc::new(move |seed| family.generate(seed));
            Ok(Described::Undirected(UndirectedParams { values, streamed, make }))
        };
        Self { name: F::NAME, summary: F::SUMMARY, source: F::SOURCE, is_undirected: true, read: Box::new(read) }
    }

    /// The line of a family whose parameters have a type of their own.
    pub(crate) fn of_params(
        [name, summary, source]: [&'static str; 3],
        read: impl Fn(&mut Params) -> Result<GraphParams, SpecError> + Send + Sync + 'static,
    ) -> Self {
        let read = move |params: &mut Params| read(params).map(Described::Dataflow);
        Self { name, summary, source, is_undirected: false, read: Box::new(read) }
    }

    /// The parameters with their defaults.
    pub fn params(&self) -> Vec<ParamSpec> {
        let mut params = Params::none();
        // Defaults are never refused: a test makes every family with them.
        let _ = (self.read)(&mut params);
        params.declared()
    }

    /// Reads parameters.
    ///
    /// # Errors
    /// If a parameter is unknown or its value is not what it takes.
    pub fn read(&self, spec: &Spec) -> Result<Described, SpecError> {
        spec.check_names(&self.params())?;
        (self.read)(&mut Params::of(spec))
    }
}

/// Makes a graph from a seed.
type Make<G> = Arc<dyn Fn(u64) -> Result<G, GeneratorError> + Send + Sync>;

/// The parameters of a graph of the table, all with their values.
#[derive(Clone)]
pub struct FamilyParams {
    values: Spec,
    make: Make<DataflowGraph>,
}

/// The parameters of an undirected graph, all with their values.
#[derive(Clone)]
pub struct UndirectedParams {
    values: Spec,
    streamed: Option<StreamParams>,
    make: Make<UndirectedGraph>,
}

impl UndirectedParams {
    /// The family and the value of each parameter.
    pub fn values(&self) -> &Spec {
        &self.values
    }

    /// The parameters of the same graph made part by part, if the family can be.
    pub fn streamed(&self) -> Option<&StreamParams> {
        self.streamed.as_ref()
    }

    /// Makes the graph.
    ///
    /// # Errors
    /// If parameters do not go together, or the graph does not fit 32-bit ids or memory.
    pub fn generate(&self, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
        (self.make)(seed)
    }
}

impl FamilyParams {
    /// The family and the value of each parameter.
    pub fn values(&self) -> &Spec {
        &self.values
    }
}

impl PartialEq for FamilyParams {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl fmt::Debug for FamilyParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.values)
    }
}

impl PartialEq for UndirectedParams {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl fmt::Debug for UndirectedParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.values)
    }
}

/// The parameters of a dataflow graph of some family.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "few are made, and none in a loop")]
pub enum GraphParams {
    /// A leveled random graph.
    Leveled(LeveledParams),
    /// Data-parallel training steps.
    TrainingSteps(TrainingParams),
    /// A graph of another family of [`FAMILIES`](crate::FAMILIES).
    Family(FamilyParams),
}

impl GraphParams {
    /// The name of the family.
    pub fn family(&self) -> &str {
        match self {
            Self::Leveled(_) => LEVELED,
            Self::TrainingSteps(_) => TRAINING_STEPS,
            Self::Family(params) => &params.values.name,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is wrong, and what it must be.
    pub fn check(&self) -> Result<(), GeneratorError> {
        match self {
            Self::Leveled(params) => params.check(),
            Self::TrainingSteps(params) => params.check(),
            Self::Family(_) => Ok(()),
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
            Self::Family(params) => (params.make)(seed)?,
        })
    }
}
