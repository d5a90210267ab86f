//! The network models by name.

use std::fmt;
use std::str::FromStr;

use placebench_datasets::nearest;

/// How transfers share the network. Makespans under different models do not compare, so every table names the model.
///
/// # Example
/// ```
/// use placebench_harness::simulator::NetworkModel;
/// assert_eq!("one_port".parse(), Ok(NetworkModel::OnePort));
/// assert!("oneport".parse::<NetworkModel>().unwrap_err().to_string().contains("did you mean 'one_port'?"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NetworkModel {
    /// A transfer starts at once and takes latency + bytes / rate, whatever else is under way (L §2.5).
    #[default]
    ContentionFree,
    /// A device sends one transfer at a time and receives one at a time; it may do both at once, and compute meanwhile.
    ///
    /// A transfer holds its sender's and its receiver's port from its start to its end. It starts as soon as both are
    /// free and no transfer that has waited longer could start instead on one of them: a transfer waits only for its own
    /// two ports, never behind another whose receiver is busy (no head-of-line blocking), so that no free pair of ports
    /// stays idle while a transfer waits for both. Transfers queue in the order in which they become ready to go: earlier
    /// instants first, and of those that become ready together the lowest id.
    ///
    /// # Reference
    /// The bidirectional one-port model: O. Beaumont, V. Boudet, Y. Robert, *A realistic model and an efficient heuristic
    /// for scheduling with heterogeneous processors*, HCW 2002. Contention of communication in list scheduling in
    /// general: O. Sinnen, L. A. Sousa, *Communication Contention in Task Scheduling*, IEEE TPDS 16(6), 2005,
    /// <https://doi.org/10.1109/TPDS.2005.64>. Both let the scheduler choose the order of transfers; here it is the order
    /// above.
    OnePort,
}

/// Why a text names no network model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkModelError {
    /// No model has that name.
    #[error("unknown network model '{name}'{}", suggestion(.nearest))]
    Unknown {
        /// The name given.
        name: String,
        /// The nearest name there is.
        nearest: Option<String>,
    },
    /// The model is planned, but not there.
    #[error("the network model '{0}' is not available: use contention_free or one_port")]
    NotAvailable(String),
}

fn suggestion(nearest: &Option<String>) -> String {
    match nearest {
        Some(nearest) => format!(": did you mean '{nearest}'?"),
        None => ": use contention_free or one_port".to_owned(),
    }
}

impl NetworkModel {
    /// All models, in the order in which tables list them.
    pub const ALL: [Self; 2] = [Self::ContentionFree, Self::OnePort];

    /// The name as suites and tables spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ContentionFree => "contention_free",
            Self::OnePort => "one_port",
        }
    }
}

impl fmt::Display for NetworkModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for NetworkModel {
    type Err = NetworkModelError;

    fn from_str(text: &str) -> Result<Self, NetworkModelError> {
        let name = text.trim();
        if name == "fair_share" {
            return Err(NetworkModelError::NotAvailable(name.to_owned()));
        }
        Self::ALL.into_iter().find(|model| model.name() == name).ok_or_else(|| NetworkModelError::Unknown {
            name: name.to_owned(),
            nearest: nearest(name, Self::ALL.map(Self::name)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_reads_back_as_it_is_written() {
        for model in NetworkModel::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
    }

    #[test]
    fn unknown_and_unavailable_models_say_what_to_use() {
        let error = |text: &str| text.parse::<NetworkModel>().unwrap_err().to_string();
        assert_eq!(
            error("contention-free"),
            "unknown network model 'contention-free': did you mean 'contention_free'?"
        );
        assert_eq!(error("token_ring"), "unknown network model 'token_ring': use contention_free or one_port");
        assert_eq!(
            error("fair_share"),
            "the network model 'fair_share' is not available: use contention_free or one_port"
        );
    }
}
