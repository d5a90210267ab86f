//! Network models: how transfers share the network. One file each, and one line each in [`NETWORK_MODELS`].

mod contention_free;
mod fair_share;
mod loggp;
mod model;
mod one_port;

use placebench_datasets::nearest;

pub use contention_free::ContentionFree;
pub use fair_share::FairShare;
pub use loggp::LogGp;
pub use model::{Network, NetworkModel};
pub use one_port::OnePort;

/// All network models, in the order in which tables list them.
pub static NETWORK_MODELS: [&dyn NetworkModel; 4] = [&ContentionFree, &OnePort, &FairShare, &LogGp];

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
            "unknown network model 'token_ring': use contention_free, one_port, fair_share or loggp"
        );
    }
}
