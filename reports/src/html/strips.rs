//! A timeline in little space: how busy each device was in each of some 240 bins of a span of time.

use placebench_datasets::{OpId, PlacedGraph, TransferId};
use placebench_harness::timeline::{Interval, Timeline};
use serde_json::{Value, json};

use super::columns::number_text;

/// Most bins of a strip.
const MOST_BINS: usize = 240;
/// Most devices that are drawn; of more, the busiest.
const MOST_DEVICES: usize = 48;
/// Bins of all strips together: clusters of many devices get coarser ones.
const ALL_BINS: usize = 3_600;
/// How many of the ops that took longest are named.
const TOP_OPS: usize = 8;
/// Levels between idle and busy: the letters of the alphabet.
const LEVELS: f64 = 25.0;

/// The strips of a run from 0 to `span`, mostly its makespan, as JSON for the page to draw:
///
/// ```text
/// {"bins": 240, "of": devices, "devices": [[name, kind, busy share, ops, strip], …], "moving": [most at once, strip],
///  "top": [[op, type, device, start, time], …]}
/// ```
///
/// A strip is run-length coded: a letter from `a` (idle) to `z` (all the time), then how many bins, if more than one.
///
/// # Complexity
/// O(ops + transfers) time.
pub(super) fn strips(placed: &PlacedGraph<'_>, timeline: &Timeline, span: f64) -> Value {
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let devices = cluster.device_count();
    let busy = timeline.busy_times(placed);
    let mut shown: Vec<usize> = (0..devices).collect();
    shown.sort_by(|&a, &b| busy[b].total_cmp(&busy[a]).then(a.cmp(&b)));
    shown.truncate(MOST_DEVICES);
    shown.sort_unstable();
    let bins = (ALL_BINS / shown.len().max(1)).clamp(60, MOST_BINS);

    let mut computing = vec![Coverage::new(bins, span); devices];
    let mut counts = vec![0u64; devices];
    for op in graph.op_ids() {
        let device = placed.device_of(op).index();
        computing[device].add(timeline.op(op));
        counts[device] += 1;
    }
    for (id, interval) in timeline.sends() {
        computing[placed.transfer(id).from.index()].add(interval);
    }
    for (id, interval) in timeline.receives() {
        computing[placed.transfer(id).to.index()].add(interval);
    }
    let mut moving = Coverage::new(bins, span);
    for id in (0..placed.transfer_count()).map(TransferId::new) {
        moving.add(timeline.transfer(placed, id));
    }
    let moving = moving.means();
    let most = moving.iter().copied().fold(0.0, f64::max);
    let moving: Vec<f64> = moving.iter().map(|mean| if most > 0.0 { mean / most } else { 0.0 }).collect();

    let number = |value: f64, digits| number_text(value, digits).parse::<f64>().unwrap_or_default();
    let device = |&index: &usize| {
        let device = &cluster.devices()[index];
        let share = if timeline.makespan() > 0.0 { busy[index] / timeline.makespan() } else { 0.0 };
        json!([device.name, device.kind.name(), number(share, 3), counts[index], coded(&computing[index].means())])
    };
    let top = longest(placed, timeline).into_iter().map(|op| {
        let kind = graph.op_types().and_then(|types| types.get(op.index())).unwrap_or_default();
        let name = graph.name(op).map_or_else(|| format!("op {op}"), str::to_owned);
        let on = &cluster.device(placed.device_of(op)).name;
        json!([name, kind, on, number(timeline.start(op), 4), number(timeline.op_time(placed, op), 4)])
    });
    json!({
        "bins": bins,
        "of": devices,
        "devices": shown.iter().map(device).collect::<Vec<_>>(),
        "moving": [number(most, 3), coded(&moving)],
        "top": top.collect::<Vec<_>>(),
    })
}

/// The ops that took longest, longest first; the first id among equals.
fn longest(placed: &PlacedGraph<'_>, timeline: &Timeline) -> Vec<OpId> {
    let mut top: Vec<(f64, OpId)> = Vec::with_capacity(TOP_OPS + 1);
    for op in placed.instance().graph().op_ids() {
        let time = timeline.op_time(placed, op);
        if top.len() == TOP_OPS && top.last().is_some_and(|last| last.0 >= time) {
            continue;
        }
        let at = top.partition_point(|&(known, _)| known >= time);
        top.insert(at, (time, op));
        top.truncate(TOP_OPS);
    }
    top.into_iter().map(|(_, op)| op).collect()
}

/// How many things go on at once, averaged over each bin. Whole bins are added as differences, so that an interval costs
/// the same however many bins it spans.
#[derive(Clone, Debug)]
struct Coverage {
    width: f64,
    partial: Vec<f64>,
    steps: Vec<f64>,
}

impl Coverage {
    fn new(bins: usize, makespan: f64) -> Self {
        Self { width: makespan / bins as f64, partial: vec![0.0; bins], steps: vec![0.0; bins + 1] }
    }

    fn add(&mut self, Interval { start, end }: Interval) {
        // Transfers may outlast the makespan, which is that of computing.
        let bins = self.partial.len();
        if self.width <= 0.0 || start >= self.width * bins as f64 {
            return;
        }
        let (from, to) = (start / self.width, (end / self.width).min(bins as f64));
        let (first, last) = ((from as usize).min(bins - 1), (to as usize).min(bins - 1));
        if first == last {
            self.partial[first] += to - from;
            return;
        }
        self.partial[first] += (first + 1) as f64 - from;
        self.partial[last] += to - last as f64;
        self.steps[first + 1] += 1.0;
        self.steps[last] -= 1.0;
    }

    fn means(&self) -> Vec<f64> {
        let mut whole = 0.0;
        let mean = |(partial, step): (&f64, &f64)| {
            whole += step;
            partial + whole
        };
        self.partial.iter().zip(&self.steps).map(mean).collect()
    }
}

fn coded(shares: &[f64]) -> String {
    // What is not idle must not look idle, and what is not busy all the time must not look so.
    let level = |&share: &f64| match share {
        share if share < 1e-9 => 0,
        share if share > 1.0 - 1e-6 => LEVELS as u8,
        share => (share * LEVELS).round().clamp(1.0, LEVELS - 1.0) as u8,
    };
    let levels: Vec<u8> = shares.iter().map(level).collect();
    let mut text = String::new();
    for run in levels.chunk_by(|a, b| a == b) {
        text.push(char::from(b'a' + run[0]));
        if run.len() > 1 {
            text.push_str(&run.len().to_string());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_what_overlaps_them() {
        let mut coverage = Coverage::new(4, 8.0);
        coverage.add(Interval { start: 1.0, end: 5.0 });
        coverage.add(Interval { start: 6.5, end: 7.0 });
        coverage.add(Interval { start: 7.0, end: 90.0 });
        assert_eq!(coverage.means(), [0.5, 1.0, 0.5, 0.75]);
        coverage.add(Interval { start: 8.0, end: 9.0 });
        coverage.add(Interval { start: 0.0, end: 8.0 });
        assert_eq!(coverage.means(), [1.5, 2.0, 1.5, 1.75]);
    }

    #[test]
    fn a_little_work_never_looks_idle_nor_a_little_rest_busy() {
        assert_eq!(coded(&[0.0, 0.0, 0.001, 0.999, 1.0, 1.0, 0.5]), "a2byz2n");
    }
}
