//! The rule by which devices' memory limits a placement.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the memory of devices limits what may be placed on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRule {
    /// The demands of the ops on a device ([`DataflowGraph::demand_bytes`](crate::DataflowGraph::demand_bytes)) stay below
    /// its memory, as if no tensor were ever freed (L §4.1). Placers see the limit and keep it.
    Static,
    /// The bytes in use on a device at any one instant of the run, with tensors freed after their last use, stay within its
    /// memory. This is known only after the run: placers see unlimited memory, and a run that needs more is refused.
    #[default]
    Peak,
    /// Memory limits nothing.
    Unlimited,
}

impl MemoryRule {
    /// All of them, the strictest first.
    pub const ALL: [Self; 3] = [Self::Static, Self::Peak, Self::Unlimited];

    /// The word for it in suites, tables and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Peak => "peak",
            Self::Unlimited => "unlimited",
        }
    }
}

impl fmt::Display for MemoryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for MemoryRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = Self::ALL.into_iter().find(|rule| rule.name() == text);
        rule.ok_or_else(|| format!("unknown memory rule '{text}': use static, peak or unlimited"))
    }
}
