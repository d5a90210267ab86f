//! Network models: how transfers share the network. One file each, and one line each in [`NETWORK_MODELS`].

mod accelerator_io;
mod contention_free;
mod fair_share;
mod loggp;
mod model;
mod one_port;

use placebench_base::{Listed, UnknownName, find};

pub use accelerator_io::AcceleratorIo;
pub use contention_free::ContentionFree;
pub use fair_share::FairShare;
pub use loggp::LogGp;
pub use model::{Network, NetworkModel};
pub use one_port::OnePort;

/// All network models, in the order in which tables list them.
pub static NETWORK_MODELS: [&dyn NetworkModel; 5] = [&ContentionFree, &OnePort, &FairShare, &LogGp, &AcceleratorIo];

/// Those that predict what a measured run takes, each its own. The others differ in the period alone.
pub static PREDICTING_MODELS: [&dyn NetworkModel; 4] = [&ContentionFree, &OnePort, &FairShare, &LogGp];

impl Listed for dyn NetworkModel {
    const WHAT: &str = "network model";
    const LIST: &str = "networks";

    fn name(&self) -> &str {
        NetworkModel::name(self)
    }

    fn summary(&self) -> &str {
        self.doc()
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
pub fn network_model(name: &str) -> Result<&'static dyn NetworkModel, UnknownName> {
    find(NETWORK_MODELS, name)
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
        assert_eq!(error("token_ring"), "unknown network model 'token_ring': see 'placebench list networks'");
    }
}
