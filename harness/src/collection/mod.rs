//! Named collections of graphs: whole, with an index, best known makespans, digests and metadata, for other tools and papers.
//!
//! ```text
//! DIR/graphs/…                     the graphs
//! DIR/clusters/…                   the clusters that makespans are for
//! DIR/index.csv, index.parquet     a row for each graph: file, family, parameters, properties, digest
//! DIR/best.csv, best.parquet       the best known makespan on each cluster, and the placer that found it
//! DIR/README.md, LICENSE, CITATION.cff, croissant.json
//! DIR/SHA256SUMS                   a digest for each file; it is written last: a collection with it is complete
//! ```
//!
//! A collection is a suite under `harness/collections`: its graphs and clusters are the content, its placers look for the best
//! makespans. The collection `scale` has graphs made part by part instead, and no makespans.

mod best;
mod describe;
mod index;
mod known;
mod scale;
mod sums;

use placebench_base::{Listed, UnknownName, find};

pub use best::best_known;
pub use describe::{CollectionFacts, citation, croissant, licence, readme};
pub use index::{IndexRow, index_frame, item_name};
pub use known::{CollectionInstance, Judged, Known, KnownRow, NoInstance, Solution, SolutionError, WrongTable};
pub use scale::{ScaleItem, scale_items};
pub use sums::{CollectionCheck, SUMS, file_digests, verify, write_sums};

use crate::suite::{Suite, SuiteError};

/// A named collection.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// The suite that it is made from; `None` for graphs made part by part.
    text: Option<&'static str>,
    /// Known solutions, as CSV.
    known: &'static str,
}

/// All collections.
pub const COLLECTIONS: [Collection; 9] = [
    Collection {
        name: "laich2017",
        title: "the six synthetic graphs of Laich 2017 on 100 and 7 devices",
        text: Some(include_str!("../../collections/laich2017.toml")),
        known: include_str!("../../best-known/laich2017.csv"),
    },
    Collection {
        name: "tensorflow",
        title: "ten graphs extracted from TensorFlow, with measured costs",
        text: Some(include_str!("../../collections/tensorflow.toml")),
        known: include_str!("../../best-known/tensorflow.csv"),
    },
    Collection {
        name: "jax",
        title: "six small graphs of today's models, extracted from JAX, with measured costs",
        text: Some(include_str!("../../collections/jax.toml")),
        known: include_str!("../../best-known/jax.csv"),
    },
    Collection {
        name: "pytorch",
        title: "three training steps extracted from PyTorch, with measured costs",
        text: Some(include_str!("../../collections/pytorch.toml")),
        known: include_str!("../../best-known/pytorch.csv"),
    },
    Collection {
        name: "today",
        title: "seven models of today at published sizes, extracted from JAX",
        text: Some(include_str!("../../collections/today.toml")),
        known: "",
    },
    Collection {
        name: "training-steps",
        title: "data-parallel training steps with ten ways to exchange gradients",
        text: Some(include_str!("../../collections/training-steps.toml")),
        known: include_str!("../../best-known/training-steps.csv"),
    },
    Collection {
        name: "optimality",
        title: "small random graphs with proven optima",
        text: Some(include_str!("../../collections/optimality.toml")),
        known: "",
    },
    Collection {
        name: "dense-to-sparse",
        title: "leveled graphs of 5,000 ops with 64 edges an op down to 1",
        text: Some(include_str!("../../collections/dense-to-sparse.toml")),
        known: "",
    },
    Collection {
        name: "scale",
        title: "leveled, G(n, m) and R-MAT graphs of 10^4 to 10^9 edges",
        text: None,
        known: "",
    },
];

impl Listed for Collection {
    const WHAT: &'static str = "collection";
    const LIST: &'static str = "collections";

    fn name(&self) -> &str {
        self.name
    }

    fn summary(&self) -> &str {
        self.title
    }
}

impl Collection {
    /// The collection of a name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<&'static Self, UnknownName> {
        find(&COLLECTIONS, name)
    }

    /// The suite, if it is made from one.
    ///
    /// # Errors
    /// If the text is no valid suite, which a test rules out.
    pub fn suite(&self) -> Option<Result<Suite, SuiteError>> {
        self.text.map(|text| Suite::parse(text, &format!("collection {}", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::RunPlan;

    #[test]
    fn every_collection_is_a_valid_suite_of_its_name() {
        for collection in &COLLECTIONS {
            assert_eq!(Collection::named(collection.name).unwrap().title, collection.title);
            if let Some(suite) = collection.suite() {
                let suite = suite.unwrap();
                assert_eq!(suite.name, collection.name);
                // A limit by the clock would leave a slow machine with fewer makespans.
                assert_eq!(suite.time_limit_seconds, None, "{}", collection.name);
                RunPlan::new(suite).unwrap();
            }
        }
        assert!(Collection::named("laich").unwrap_err().to_string().contains("did you mean 'laich2017'"));
    }
}
