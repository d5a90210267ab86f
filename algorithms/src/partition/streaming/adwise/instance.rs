//! One instance: a part of the stream, some of the blocks.

use std::ops::Range;

use placebench_datasets::format::FormatError;

use super::super::error::{StreamError, check};
use super::super::loads::BlockLoads;
use super::super::vertex_cut::AssignedEdge;
use super::reader::Reader;
use super::score::Shared;
use super::settings::{Adwise, Budget, Lambda, Window};
use super::window::{Slot, WindowEdges};
use crate::partition::PartitionRequest;

/// What the instances add up to.
pub(super) struct Totals {
    pub(super) edges_of_block: Vec<u64>,
    pub(super) evaluations: u64,
    /// The largest.
    pub(super) window_bytes: u64,
}

/// Assignments between two looks at the stop token.
const STOP_INTERVAL: u64 = 1 << 10;

/// [`Shared::work`] between two looks at the clock: many times what a look costs.
const CLOCK_INTERVAL: u64 = 1 << 8;

/// Between these λ adapts.
const LAMBDA: (f64, f64) = (0.4, 5.0);

pub(super) struct Instance<'a> {
    settings: &'a Adwise,
    shared: &'a mut Shared,
    loads: BlockLoads,
    window: WindowEdges,
    /// New edges, and edges of the rest one of whose ends got a replica.
    stale: Vec<u32>,
    size: usize,
    lambda: f64,
    /// Edges of this instance's part of the stream.
    edges: u64,
    /// Of these, those that have entered the window.
    entered: u64,
    assigned: u64,
    evaluations: u64,
    spending: Spending,
    /// Of the assignments since the size of the window was last considered.
    since: Since,
    clock: &'a Clock<'a>,
    /// Mean score of the assignments before those.
    mean_before: Option<f64>,
}

struct Since {
    assigned: usize,
    scores: f64,
    evaluations: u64,
    /// When that was, by the clock.
    time: f64,
    /// [`Shared::work`] at the last look at the clock.
    looked_at: u64,
}

/// Says how many seconds of processor time have passed since some moment. It is told [`Shared::work`], from which tests
/// derive a time that is the same on every machine.
pub(super) type Clock<'a> = dyn Fn(u64) -> f64 + 'a;

/// The budget of this instance.
enum Spending {
    None,
    Evaluations(f64),
    /// In seconds.
    Latency {
        limit: f64,
        start: f64,
    },
}

/// What an instance is responsible for.
pub(super) struct Part {
    pub(super) blocks: Range<u32>,
    /// Number of edges.
    pub(super) edges: u64,
    /// Number of edges of the whole stream.
    pub(super) of: u64,
}

impl<'a> Instance<'a> {
    pub(super) fn new(
        settings: &'a Adwise,
        request: &PartitionRequest,
        shared: &'a mut Shared,
        part: Part,
        clock: &'a Clock<'a>,
    ) -> Self {
        shared.forget_degrees();
        let work = shared.work;
        let now = clock(work);
        let spending = match settings.window {
            Window::Fixed(_) => Spending::None,
            Window::Adaptive { budget: Budget::Evaluations(each), .. } => {
                Spending::Evaluations(each * part.edges as f64)
            }
            Window::Adaptive { budget: Budget::Latency(limit), .. } => {
                let share = part.edges as f64 / part.of.max(1) as f64;
                Spending::Latency { limit: limit.as_secs_f64() * share, start: now }
            }
        };
        Self {
            settings,
            shared,
            loads: BlockLoads::within(request, part.blocks, part.of),
            window: WindowEdges::new(),
            stale: Vec::new(),
            size: if let Window::Fixed(size) = settings.window { size.max(1) } else { 1 },
            lambda: if let Lambda::Fixed(lambda) = settings.lambda { lambda } else { 1.0 },
            edges: part.edges,
            entered: 0,
            assigned: 0,
            evaluations: 0,
            spending,
            since: Since { assigned: 0, scores: 0.0, evaluations: 0, time: now, looked_at: work },
            clock,
            mean_before: None,
        }
    }

    /// Assigns the instance's part of the stream.
    pub(super) fn run(
        &mut self,
        reader: &mut Reader<'_>,
        request: &PartitionRequest,
        sink: &mut dyn FnMut(AssignedEdge) -> Result<(), FormatError>,
    ) -> Result<(), StreamError> {
        loop {
            if self.assigned.is_multiple_of(STOP_INTERVAL) {
                check(&request.stop)?;
            }
            self.fill(reader)?;
            if self.window.len() == 0 {
                return Ok(());
            }
            let slot = self.choose();
            sink(self.assign(slot))?;
            self.resize();
        }
    }

    /// Adds what the instance had to pay, and what it decided.
    pub(super) fn add_to(&self, totals: &mut Totals) {
        for (total, own) in totals.edges_of_block.iter_mut().zip(self.loads.loads()) {
            *total += own;
        }
        totals.evaluations += self.evaluations;
        let lists = self.stale.capacity() as u64 * 4;
        totals.window_bytes = totals.window_bytes.max(self.window.memory_bytes() + self.loads.memory_bytes() + lists);
    }

    fn fill(&mut self, reader: &mut Reader<'_>) -> Result<(), FormatError> {
        while self.window.len() < self.size && self.entered < self.edges {
            let Some(next) = reader.next()? else {
                // The stream is shorter than it said.
                self.edges = self.entered;
                break;
            };
            self.entered += 1;
            self.shared.count_edge(next.ends);
            self.stale.push(self.window.insert(next, &mut self.shared.heads));
        }
        Ok(())
    }

    /// The edge to assign next, by lazy traversal of the window.
    fn choose(&mut self) -> u32 {
        if self.window.len() > self.size && matches!(self.spending, Spending::Latency { .. }) {
            // The window was too large for the time. What waits beyond its new size has no time to be scored anew.
            self.stale.clear();
            let slot = self.best_waiting();
            self.evaluate(slot);
            return slot;
        }
        let stale = std::mem::take(&mut self.stale);
        stale.iter().for_each(|&slot| self.evaluate(slot));
        for at in 0..self.window.candidates.len() {
            self.evaluate(self.window.candidates[at]);
        }
        let threshold = self.window.mean() + self.settings.threshold;
        // Backwards, since what is taken out of the list is replaced by its last.
        for at in (0..self.window.candidates.len()).rev() {
            self.classify(self.window.candidates[at], threshold);
        }
        stale.iter().for_each(|&slot| self.classify(slot, threshold));
        self.stale = stale;
        self.stale.clear();
        if self.window.candidates.is_empty() {
            for at in 0..self.window.rest.len() {
                self.evaluate(self.window.rest[at]);
            }
            self.window.sum_anew();
            let threshold = self.window.mean() + self.settings.threshold;
            for at in (0..self.window.rest.len()).rev() {
                self.classify(self.window.rest[at], threshold);
            }
        }
        self.best_waiting()
    }

    /// Of the candidates, or else of the rest, the edge with the best score when last evaluated.
    fn best_waiting(&self) -> u32 {
        let list = if self.window.candidates.is_empty() { &self.window.rest } else { &self.window.candidates };
        let before = |a: u32, b: u32| {
            let (a, b) = (self.window.slot(a), self.window.slot(b));
            a.score > b.score || (a.score == b.score && a.edge < b.edge)
        };
        list.iter().copied().reduce(|best, slot| if before(slot, best) { slot } else { best }).unwrap_or(0)
    }

    /// Scores an edge, unless it has been since the last assignment.
    fn evaluate(&mut self, slot: u32) {
        let step = self.assigned + 1;
        let Slot { ends, evaluated, .. } = *self.window.slot(slot);
        if evaluated == step {
            return;
        }
        let (score, block) = self.shared.evaluate(ends, &self.window, &self.loads, self.lambda);
        self.window.set_score(slot, score, block, step);
        self.evaluations += 1;
    }

    fn classify(&mut self, slot: u32, threshold: f64) {
        let candidate = self.window.slot(slot).score > threshold;
        self.window.set_candidate(slot, candidate);
    }

    fn assign(&mut self, slot: u32) -> AssignedEdge {
        let Slot { edge, ends, score, block, .. } = self.window.remove(slot, &mut self.shared.heads);
        for vertex in [ends.0, ends.1] {
            if self.shared.replicas.insert(vertex, block as usize) {
                let touched = self.window.at(vertex, &self.shared.heads).map(|(slot, _)| slot);
                self.stale.extend(touched);
            }
        }
        self.loads.add(block as usize, 1);
        self.assigned += 1;
        self.since.assigned += 1;
        self.since.scores += score;
        if self.settings.lambda == Lambda::Adaptive {
            let most = self.loads.most();
            let imbalance = (most - self.loads.relative(self.loads.least())) / most;
            let tolerated = 1.0 - self.assigned as f64 / self.edges as f64;
            self.lambda = (self.lambda + imbalance - tolerated.max(0.0)).clamp(LAMBDA.0, LAMBDA.1);
        }
        AssignedEdge { edge, ends, block }
    }

    /// Adapts the size of the window once as many edges were assigned as fit in it. If they have taken more time than all
    /// these may take, it is halved at once: at a vertex with many edges, a window can take a hundred times as long as
    /// the one before.
    fn resize(&mut self) {
        let Window::Adaptive { max, .. } = self.settings.window else { return };
        let is_due = self.since.assigned >= self.size;
        let (spent, left) = match self.spending {
            Spending::None => return,
            Spending::Evaluations(_) if !is_due => return,
            Spending::Evaluations(budget) => {
                ((self.evaluations - self.since.evaluations) as f64, budget - self.evaluations as f64)
            }
            Spending::Latency { .. } if self.shared.work - self.since.looked_at < CLOCK_INTERVAL => return,
            Spending::Latency { limit, start } => {
                self.since.looked_at = self.shared.work;
                let now = (self.clock)(self.shared.work);
                (now - self.since.time, limit - (now - start))
            }
        };
        // Whether so many assignments may cost what was spent, by what is left for each edge to come.
        let to_come = (self.edges - self.assigned) as f64;
        let may_cost = |assignments: usize| spent * to_come <= left * assignments as f64;
        if !is_due && may_cost(self.size) {
            return;
        }
        let mean = self.since.scores / self.since.assigned as f64;
        let rises = self.mean_before.is_none_or(|before| mean >= before);
        match (may_cost(self.since.assigned), rises) {
            (true, true) => self.size = (self.size * 2).min(max.max(1)),
            (true, false) => {}
            (false, _) => self.size = (self.size / 2).max(1),
        }
        self.mean_before = Some(mean);
        let time = self.since.time + if let Spending::Latency { .. } = self.spending { spent } else { 0.0 };
        self.since =
            Since { assigned: 0, scores: 0.0, evaluations: self.evaluations, time, looked_at: self.since.looked_at };
    }
}
