//! What is best where costs vary: of the plans that were found, the one that takes least on the mean.

use std::sync::Arc;

use placebench_datasets::Instance;
use rayon::prelude::*;

use super::judge::Judged;
use crate::period::Goal;
use crate::{Decision, Objective, PlaceContext, PlaceError, StopToken};

/// Most decisions whose draws are asked for.
const MOST: usize = 24;

/// The objective under noise.
pub(super) struct Robust {
    variation: f64,
    objective: Arc<dyn Objective>,
}

impl Robust {
    /// The objective of a context where each cost has this coefficient of variation; `None` if that is 0.
    ///
    /// # Errors
    /// If there is no objective that can draw costs, or it minimises the period.
    pub(super) fn new(variation: f64, context: &PlaceContext) -> Result<Option<Self>, PlaceError> {
        if variation == 0.0 {
            return Ok(None);
        }
        let makespan = context.objective.as_ref().filter(|objective| objective.goal() == Goal::Makespan);
        let objective = makespan.and_then(|objective| objective.under_noise(variation)).ok_or_else(|| {
            let remedy = "leave it out";
            PlaceError::Unsupported(format!(
                "robust={variation}: nothing here draws makespans of costs that vary: {remedy}"
            ))
        })?;
        Ok(Some(Self { variation, objective }))
    }

    /// How much longer transfers are taken to last in one more search: where some take longer, a plan with slack loses less.
    pub(super) fn slack(&self) -> f64 {
        1.0 + self.variation
    }

    /// The decision of the least mean, with the scheduler that gives it, of the first of these that differ; `None` if it was too
    /// late to judge one.
    pub(super) fn best(&self, instance: &Instance, stop: &StopToken, ranked: &[Judged]) -> Option<Decision> {
        let mut different: Vec<&Decision> = Vec::new();
        for (_, decision) in ranked {
            let is_known = |known: &&Decision| known.placement == decision.placement && known.plan == decision.plan;
            if different.len() < MOST && !different.iter().any(is_known) {
                different.push(decision);
            }
        }
        let judged = different.into_par_iter().map(|decision| {
            let decision = Decision { scheduler: None, ..decision.clone() };
            let judgement = self.objective.judge(instance, &decision, stop).ok()?;
            let scheduler = self.objective.schedulers().get(judgement.scheduler).cloned();
            Some((judgement, Decision { scheduler, ..decision }))
        });
        let judged: Vec<_> = judged.collect();
        // Of equals the first.
        let best =
            judged.into_iter().flatten().reduce(|best, next| if next.0.compare(&best.0).is_lt() { next } else { best });
        best.map(|(_, decision)| decision)
    }
}
