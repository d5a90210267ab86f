//! What is reported of a model beside its graph.

use std::collections::BTreeMap;

use crate::format::text::counted;

/// What the reader noticed.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) initializers: u64,
    pub(super) weights: u64,
    /// Operators without a model of costs, with the number of their nodes.
    pub(super) unknown: BTreeMap<String, u64>,
    /// Values whose declared shape is another than the inferred one.
    pub(super) redeclared: u64,
}

impl Notes {
    /// One line, if there is something to report.
    pub(super) fn report(self) -> Option<String> {
        let mut notes = Vec::new();
        if self.initializers > 0 {
            notes.push(format!("{} of {} bytes", counted(self.initializers, "initializer"), self.weights));
        }
        if !self.unknown.is_empty() {
            let list: Vec<_> = self.unknown.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            let list = list.join(", ");
            notes.push(format!("operators without a cost model, at 1 operation an element written: {list}"));
        }
        if self.redeclared > 0 {
            notes.push(format!(
                "{} declared otherwise than inferred: the inferred shape counts",
                counted(self.redeclared, "shape")
            ));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}
