//! What the makespan of a cell is under several numberings of ops and devices.

use anyhow::anyhow;
use placebench::algorithms::StopToken;
use placebench::base::significant::time_text;
use placebench::harness::evaluate::EvaluationError;
use placebench::harness::request::{CellRequest, Prepared};
use placebench::harness::results::{CellKey, Row, Status};
use serde::Serialize;

/// The makespans under several numberings, the given one among them.
#[derive(Serialize)]
pub(super) struct Numberings {
    /// How many there are.
    count: u32,
    /// Their mean.
    mean_makespan: f64,
    /// The least.
    least_makespan: f64,
    /// The largest.
    largest_makespan: f64,
}

impl Numberings {
    /// Places and executes the cell of a row under the drawn numberings, too.
    ///
    /// # Errors
    /// If one of them fails: the reason has its number.
    pub(super) fn of(
        count: u32,
        row: &Row,
        prepared: &Prepared,
        request: &CellRequest<'_>,
        stop: &StopToken,
    ) -> anyhow::Result<Self> {
        let mut makespans = vec![row.makespan.unwrap_or_default()];
        for numbering in 1..count {
            let request = CellRequest { key: CellKey { numbering, ..request.key.clone() }, ..request.clone() };
            let found = prepared.evaluate(&request, stop).evaluation;
            let failed = |error: EvaluationError| match error.status() {
                Status::TimedOut => anyhow!(
                    "numbering {numbering} of {count}: not done within the time limit, which is for all numberings \
                     together: give it more with --time-limit, or ask for fewer numberings"
                ),
                _ => anyhow!("numbering {numbering}: {error}"),
            };
            makespans.push(found.map_err(failed)?.metrics.makespan);
        }
        Ok(Self {
            count,
            mean_makespan: makespans.iter().sum::<f64>() / f64::from(count),
            least_makespan: makespans.iter().copied().fold(f64::INFINITY, f64::min),
            largest_makespan: makespans.iter().copied().fold(0.0, f64::max),
        })
    }

    /// The line of a terminal.
    pub(super) fn text(&self, unit: &str) -> String {
        let [mean, least, largest] =
            [self.mean_makespan, self.least_makespan, self.largest_makespan].map(|makespan| time_text(makespan, unit));
        format!("{}: makespan {mean} on the mean, from {least} to {largest}", self.count)
    }
}
