//! Network models: how transfers share the network. One file each, and one line each in [`NETWORK_MODELS`].

mod contention_free;
mod fair_share;
mod one_port;

use std::fmt;

use placebench_algorithms::nearest;
use placebench_datasets::{Cluster, Time, Transfer, TransferId};

pub use contention_free::ContentionFree;
pub use fair_share::FairShare;
pub use one_port::OnePort;

use crate::validator::{Demands, TransferLaw};

/// All network models, in the order in which tables list them.
pub static NETWORK_MODELS: [&dyn NetworkModel; 3] = [&ContentionFree, &OnePort, &FairShare];

/// How transfers share the network. Makespans under different models do not compare, so every table names the model.
///
/// This is all that the engine, timelines, the validator, suites and the command know of a model.
pub trait NetworkModel: Send + Sync {
    /// The name as suites and tables spell it.
    fn name(&self) -> &'static str;

    /// What the model says, in one line.
    fn doc(&self) -> &'static str;

    /// What the validator demands of the transfers of a run under this model.
    fn laws(&self) -> &'static [TransferLaw];

    /// The network at the beginning of a run; `None` if every transfer starts as soon as it is ready and takes
    /// latency + bytes / rate.
    fn start<'a>(&self, cluster: &'a Cluster) -> Option<Box<dyn Network + 'a>>;
}

/// The network during one run: when transfers start and end. Transfers are known by their ids, which are dense.
///
/// At an instant the engine calls [`end`](Network::end) until there is none, then [`ready`](Network::ready) for each
/// transfer that became ready, then [`start`](Network::start). It begins anew if something else happens at that instant.
pub trait Network {
    /// A transfer can go from now on; in ascending order of ids.
    fn ready(&mut self, id: TransferId, transfer: &Transfer);

    /// Starts what can start now, and appends it to `started`. What was started before may change its end.
    fn start(&mut self, now: Time, started: &mut Vec<TransferId>);

    /// A transfer that ends now, with everything that it held given back.
    fn end(&mut self, now: Time) -> Option<TransferId>;

    /// The bits of the time of what the network does next; `u64::MAX`, which is beyond any time, if it has nothing to do.
    /// That time may be an instant at which nothing starts or ends.
    fn next_bits(&self) -> u64;
}

impl dyn NetworkModel {
    /// What the validator demands of a simulated run under this model.
    pub fn demands(&self) -> Demands {
        Demands::Exact(self.laws())
    }
}

impl fmt::Display for dyn NetworkModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for dyn NetworkModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No network model has the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown network model '{name}': {}", remedy(.nearest))]
pub struct UnknownNetworkModel {
    /// The name given.
    pub name: String,
    /// The nearest name of a model.
    pub nearest: Option<String>,
}

fn remedy(nearest: &Option<String>) -> String {
    match nearest {
        Some(nearest) => format!("did you mean '{nearest}'?"),
        None => {
            let names = NETWORK_MODELS.map(|model| model.name());
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            format!("use {} or {last}", others.join(", "))
        }
    }
}

/// The network model of a name.
///
/// # Errors
/// If there is none.
///
/// # Example
/// ```
/// use placebench_harness::execute::simulate::network_model;
/// assert_eq!(network_model("one_port").unwrap().name(), "one_port");
/// assert!(network_model("oneport").unwrap_err().to_string().contains("did you mean 'one_port'?"));
/// ```
pub fn network_model(name: &str) -> Result<&'static dyn NetworkModel, UnknownNetworkModel> {
    let name = name.trim();
    NETWORK_MODELS.into_iter().find(|model| model.name() == name).ok_or_else(|| UnknownNetworkModel {
        name: name.to_owned(),
        nearest: nearest(name, NETWORK_MODELS.map(|model| model.name())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_found_by_its_name() {
        for model in NETWORK_MODELS {
            assert_eq!(network_model(&model.to_string()).unwrap().name(), model.name());
        }
    }

    #[test]
    fn unknown_models_say_what_to_use() {
        let error = |text: &str| network_model(text).unwrap_err().to_string();
        assert_eq!(
            error("contention-free"),
            "unknown network model 'contention-free': did you mean 'contention_free'?"
        );
        assert_eq!(
            error("token_ring"),
            "unknown network model 'token_ring': use contention_free, one_port or fair_share"
        );
    }
}
