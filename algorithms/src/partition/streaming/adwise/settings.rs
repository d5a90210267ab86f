//! What the user says of ADWISE, and its parameters.

use std::str::FromStr;
use std::time::Duration;

use crate::{Algorithm, Params, SpecError};

/// Keeps a window of edges and assigns that with the best score first; the window grows while that pays and the budget
/// allows.
///
/// The score of block p for edge e = (u, v) is g(e, p) = λ · B(p) + R(e, p) + CS(e, p):
/// - balance B(p) = (max − |p|) / (max − min + 1);
/// - replicas R = Σ over x in {u, v} with a replica on p of 2 − deg(x) / (2 · largest degree);
/// - clustering CS = the share of the neighbours of u and v in the window, themselves left out, that have a replica on p.
///
/// λ adapts after each assignment, λ ← λ + ι − max(0, 1 − α) within \[0.4, 5\], where ι = (max − min) / max and α is the share
/// of the stream that is assigned: imbalance is tolerated early.
///
/// *Adaptive window*: it begins with one edge. After every w assignments, with w the size of the window, it doubles if the
/// mean score of these assignments did not fall below that of the w before and the budget holds, halves if the budget does
/// not hold, and else stays. The budget holds if the evaluations for each of these assignments were no more than what is left
/// for each edge to come.
///
/// *Lazy traversal*: edges whose score exceeds the mean of the window by more than ε are candidates, and scored again
/// before each assignment. The others are scored when they enter, when an end gets a replica, and when there are no
/// candidates.
///
/// *Spotlight*: z instances, each with a contiguous part of the stream and blocks of its own.
///
/// # Reference
/// C. Mayer, R. Mayer, M. A. Tariq, H. Geppert, L. Laich, L. Rieger, K. Rothermel: ADWISE: Adaptive window-based streaming edge
/// partitioning for high-speed graph processing. ICDCS 2018, doi:10.1109/ICDCS.2018.00072, arXiv:1712.08367. B §6.3.1.
///
/// # Complexity
/// O(evaluations · (neighbours in the window + 1) · replicas of each). 8 · ⌈blocks / 64⌉ + 12 bytes a vertex, 80 a block
/// and 80 an edge of the largest window.
///
/// # Ties
/// For an edge the least loaded block, then the lowest id; among edges the first in the stream.
///
/// # Deviations
/// The paper's budget is a time; here it is a number of evaluations g(e, ·), the same on every machine, unless
/// [`Budget::Latency`] is asked for. That is processor time, which does not pass while other programs run. A window that has
/// taken more than w edges may take is halved before w are assigned, and what waits beyond its size is not scored anew: by
/// the paper's rule one window at a hub can take longer than the limit for all edges. λ begins at 1, sizes are relative to
/// the blocks' shares, the constant that keeps B's denominator from 0 is 1, degrees are those of the edges that have entered the window. A full block, with
/// [`PartitionRequest::capacity`](crate::partition::PartitionRequest::capacity) of the edges, is passed over. The instances of a spotlight share no state, and run one after the other: what
/// they decide is what they would decide side by side. Their parts of the stream are in proportion to their blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adwise {
    /// Size of the window.
    pub window: Window,
    /// Weight of balance.
    pub lambda: Lambda,
    /// ε of the lazy traversal: by how much a candidate exceeds the mean score. −∞ makes all candidates, so that the best
    /// edge of the window is always found.
    pub threshold: f64,
    /// Instances z, at least 1 and at most the number of blocks.
    pub spotlight: u32,
}

impl Algorithm for Adwise {
    const NAME: &str = "adwise";
    const SUMMARY: &str = "vertex cut: of a window of edges the best first, the window as large as the budget allows";
    const SOURCE: &str = "Mayer et al. 2018, B §6.3.1";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let window = params.value(
            "window",
            "adaptive",
            "adaptive, or a whole number of at least 1",
            "edges that wait: adaptive, or a fixed number of at least 1",
            |text| word_or_number("adaptive", text, |&window| window >= 1),
        )?;
        let budget = "evaluations of the score an edge for an adaptive window";
        let evaluations = params.number("budget", 16.0, 1.0.., budget)?;
        let latency = params.value(
            "latency",
            "none",
            "none, or a number of seconds of at least 0",
            "seconds of processor time for the stream instead of the budget; the answer then depends on the machine",
            |text| word_or_number("none", text, |&seconds| Duration::try_from_secs_f64(seconds).is_ok()),
        )?;
        let max = params.number("max_window", 1024, 1.., "largest size of an adaptive window")?;
        let lambda = params.value(
            "lambda",
            "adaptive",
            "adaptive, or a number of at least 0",
            "weight of balance: adaptive, or a number of at least 0",
            |text| word_or_number("adaptive", text, |&lambda: &f64| lambda >= 0.0 && lambda.is_finite()),
        )?;
        let threshold = params.value(
            "threshold",
            "0.1",
            "a number, or -inf",
            "by how much a candidate's score exceeds the window's mean; -inf scores all edges anew each time",
            |text| text.parse().ok().filter(|&threshold| threshold < f64::INFINITY),
        )?;
        let spotlight = "instances, each with a part of the stream and of the blocks; at most as many as blocks";
        let budget = latency
            .map_or(Budget::Evaluations(evaluations), |seconds| Budget::Latency(Duration::from_secs_f64(seconds)));
        Ok(Self {
            window: window.map_or(Window::Adaptive { budget, max }, Window::Fixed),
            lambda: lambda.map_or(Lambda::Adaptive, Lambda::Fixed),
            threshold,
            spotlight: params.number("spotlight", 1, 1.., spotlight)?,
        })
    }
}

/// How many edges wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// Always this many edges, at least 1.
    Fixed(usize),
    /// The number adapts: edges are added while that pays and the budget allows.
    Adaptive {
        /// What may be spent.
        budget: Budget,
        /// Largest size, at least 1.
        max: usize,
    },
}

/// What an adaptive window may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// This many evaluations of the score per edge of the stream.
    Evaluations(f64),
    /// So much processor time of the thread for the whole stream; the paper's is the time that passes. The answer then
    /// depends on the machine. A window of the largest size may leave some of it unspent.
    Latency(Duration),
}

/// The weight of balance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lambda {
    /// As imbalance and progress require.
    Adaptive,
    /// Always the same, at least 0.
    Fixed(f64),
}

/// A number, or `None` for a word in place of one; `None` twice for anything else.
fn word_or_number<T: FromStr>(word: &str, text: &str, is_valid: impl Fn(&T) -> bool) -> Option<Option<T>> {
    if text == word { Some(None) } else { text.parse().ok().filter(is_valid).map(Some) }
}
