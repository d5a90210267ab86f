//! Controls: what a placer that knows nothing would get. A claim that it passes may say nothing.

use placebench_algorithms::Spec;
use placebench_harness::results::{Column, Filter};
use polars::prelude::{Expr, col, lit};

use super::Claim;

/// The placers that stand in: everything on one device, and devices drawn.
pub const CONTROLS: [&str; 2] = ["single_device", "random"];

/// The columns by which filters name placers.
const PLACERS: [Column; 2] = [Column::Placer, Column::PlacerSpec];

/// The names of the placers that a filter names, without their parameters.
fn placers(filter: &Filter) -> Vec<String> {
    let values = PLACERS.iter().flat_map(|&column| filter.values(column));
    let name = |text: &String| text.parse::<Spec>().map_or_else(|_| text.clone(), |spec| spec.name);
    let mut names: Vec<String> = values.map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The filter with another placer.
fn with(filter: &Filter, placer: &str) -> Filter {
    filter.clone().without(&PLACERS).and_one(Column::Placer, placer)
}

impl Claim {
    /// The names of the placers that the claim names, without their parameters.
    pub(super) fn placer_names(&self) -> Vec<String> {
        let filters = [&self.only, &self.numerator, &self.denominator, &self.relative_to];
        filters.into_iter().flat_map(placers).collect()
    }

    /// Which cells count: controls do only if the claim names them.
    pub(super) fn spares_controls(&self) -> Expr {
        let named = self.placer_names();
        let spared = CONTROLS.into_iter().filter(|control| !named.iter().any(|name| name == control));
        spared.fold(lit(true), |spares, control| spares.and(col("placer_name").neq(lit(control))))
    }

    /// The claim about another placer: it takes the place of those that the claim is about. These are the placers of the
    /// numerator, on both sides if the denominator has the same; else those that the claim restricts itself to, or all.
    /// `None` if the claim cannot be tested, or compares no placements.
    pub(super) fn about(&self, placer: &str) -> Option<Self> {
        self.metric?;
        let mut claim = self.clone();
        let subject = placers(&self.numerator);
        if subject.is_empty() {
            claim.only = with(&self.only, placer);
        } else {
            claim.numerator = with(&self.numerator, placer);
            if placers(&self.denominator) == subject {
                claim.denominator = with(&self.denominator, placer);
            }
            // What the claim restricts itself to includes its subject.
            for column in PLACERS.into_iter().filter(|&column| !self.only.values(column).is_empty()) {
                claim.only = claim.only.and_one(column, placer);
            }
        }
        claim.paired = claim.paired && subject.is_empty();
        Some(claim)
    }
}
