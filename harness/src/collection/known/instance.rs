//! The instances of collections: a graph of one on a cluster.

use std::rc::Rc;

use placebench_base::did_you_mean;

use crate::collection::{COLLECTIONS, Collection, item_name};
use crate::problem::{Problem, ProblemError};
use crate::suite::{CellGroup, PlanError, RunPlan, SuiteError};

/// An instance of a collection, by its names.
#[derive(Clone)]
pub struct CollectionInstance {
    /// The collection.
    pub collection: &'static Collection,
    /// The name of the graph in the collection.
    pub graph: String,
    /// The name of the cluster in the collection.
    pub cluster: String,
    pub(super) plan: Rc<RunPlan>,
    pub(super) group: CellGroup,
}

/// Why there is no such instance.
#[derive(Debug, thiserror::Error)]
pub enum NoInstance {
    /// No collection has such a graph, or the one that is named has not.
    #[error("{} '{graph}': {remedy}", nowhere(*.collection))]
    Graph {
        /// The collection that is named, if one is.
        collection: Option<&'static str>,
        /// The name.
        graph: String,
        /// What to do.
        remedy: String,
    },
    /// The graph is on other clusters.
    #[error("'{graph}' is on no cluster '{cluster}': {remedy}")]
    Cluster {
        /// The graph.
        graph: String,
        /// The name of the cluster.
        cluster: String,
        /// What to do.
        remedy: String,
    },
    /// There are several.
    #[error("'{graph}' is in {count} instances: choose one by --cluster or --collection: {choices}")]
    Several {
        /// The graph.
        graph: String,
        /// How many there are.
        count: usize,
        /// The first clusters and their collections.
        choices: String,
    },
    /// The suite of a collection is wrong, which a test rules out.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// As above.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Where there is no graph of a name.
fn nowhere(collection: Option<&str>) -> String {
    match collection {
        Some(name) => format!("collection {name} has no graph"),
        None => "no collection of graphs with known makespans has a graph".to_owned(),
    }
}

/// Names of more choices than this are left out.
const MOST_CHOICES: usize = 6;

impl CollectionInstance {
    /// All instances of a collection, in its order; none of one whose graphs are made part by part.
    ///
    /// # Errors
    /// If its suite is wrong, which a test rules out.
    pub fn all(collection: &'static Collection) -> Result<Vec<Self>, NoInstance> {
        let Some(suite) = collection.suite() else { return Ok(Vec::new()) };
        let plan = Rc::new(RunPlan::new(suite?)?);
        let named = |group: &CellGroup| {
            let (graph, cluster) = item_name(&plan.suite, group);
            Self { collection, graph, cluster, plan: plan.clone(), group: group.clone() }
        };
        Ok(plan.used_groups().map(named).collect())
    }

    /// The one instance of a graph's name, on the cluster and in the collection that are named, if they are.
    ///
    /// # Errors
    /// If there is none, or there are several.
    pub fn named(
        collection: Option<&'static Collection>,
        graph: &str,
        cluster: Option<&str>,
    ) -> Result<Self, NoInstance> {
        let mut all = Vec::new();
        for candidate in collection.map_or_else(|| COLLECTIONS.iter().collect(), |one| vec![one]) {
            all.extend(Self::all(candidate)?);
        }
        let of_graph: Vec<&Self> = all.iter().filter(|instance| instance.graph == graph).collect();
        if of_graph.is_empty() {
            let mut names: Vec<&str> = all.iter().map(|instance| instance.graph.as_str()).collect();
            // A graph has an instance for each of its clusters.
            names.dedup();
            let remedy = did_you_mean(graph, names);
            let collection = collection.map(|collection| collection.name);
            return Err(NoInstance::Graph { collection, graph: graph.to_owned(), remedy });
        }
        let wanted = |instance: &&&Self| cluster.is_none_or(|cluster| instance.cluster == cluster);
        let found: Vec<&Self> = of_graph.iter().filter(wanted).copied().collect();
        match (found.as_slice(), cluster) {
            (&[one], _) => Ok(one.clone()),
            ([], cluster) => {
                let cluster = cluster.unwrap_or_default().to_owned();
                let remedy = did_you_mean(&cluster, of_graph.iter().map(|instance| instance.cluster.as_str()));
                Err(NoInstance::Cluster { graph: graph.to_owned(), cluster, remedy })
            }
            (several, _) => {
                let text = |instance: &&Self| format!("{} of {}", instance.cluster, instance.collection.name);
                let choices: Vec<String> = several.iter().take(MOST_CHOICES).map(text).collect();
                let more = if several.len() > MOST_CHOICES { ", …" } else { "" };
                let choices = choices.join(", ") + more;
                Err(NoInstance::Several { graph: graph.to_owned(), count: several.len(), choices })
            }
        }
    }

    /// Makes the instance.
    ///
    /// # Errors
    /// If its graph cannot be made.
    pub fn problem(&self) -> Result<Problem, ProblemError> {
        self.plan.problem(&self.group)
    }
}
