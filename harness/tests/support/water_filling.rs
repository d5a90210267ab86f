//! Max–min fair sharing as a textbook defines it: at every event all rates are computed anew, by raising them together.
//! Slow, and written for these tests alone.

use placebench_datasets::{Cluster, Time};
use placebench_harness::validator::RouteRecord;

#[derive(Clone, Copy)]
struct Flow {
    begin: Time,
    left: f64,
    end: Option<Time>,
}

/// When each transfer ends, if it starts when the record says and moves so many bytes.
pub(crate) fn ends(cluster: &Cluster, transfers: &[RouteRecord], bytes: &[f64]) -> Vec<Time> {
    let link = |transfer: usize| cluster.link(transfers[transfer].route.from, transfers[transfer].route.to);
    let begin = |transfer: usize| transfers[transfer].start + link(transfer).latency;
    let mut flows: Vec<Flow> =
        (0..transfers.len()).map(|t| Flow { begin: begin(t), left: bytes[t], end: None }).collect();
    // What takes no time once it has begun.
    for (transfer, flow) in flows.iter_mut().enumerate() {
        if flow.left == 0.0 || link(transfer).rate == f64::INFINITY {
            flow.end = Some(flow.begin);
        }
    }
    let mut now = 0.0;
    loop {
        let open: Vec<usize> = (0..flows.len()).filter(|&t| flows[t].end.is_none() && flows[t].begin <= now).collect();
        let rates = rates(cluster, transfers, &open);
        let next_begin = flows.iter().filter(|flow| flow.end.is_none() && flow.begin > now).map(|flow| flow.begin);
        let next_end = open.iter().zip(&rates).map(|(&t, rate)| now + flows[t].left / rate);
        let Some(next) = next_begin.chain(next_end).min_by(Time::total_cmp) else { break };
        for (&t, rate) in open.iter().zip(&rates) {
            let flow = &mut flows[t];
            let rest = flow.left - rate * (next - now);
            if now + flow.left / rate <= next || rest <= 1e-12 * bytes[t] {
                flow.end = Some(next);
            }
            flow.left = rest;
        }
        now = next;
    }
    flows.iter().map(|flow| flow.end.unwrap()).collect()
}

/// The rates of the open flows: all grow together, until a link is full or a pair's rate is reached.
fn rates(cluster: &Cluster, transfers: &[RouteRecord], open: &[usize]) -> Vec<f64> {
    let shared = cluster.shared_links();
    let route = |t: usize| shared.route(transfers[t].route.from, transfers[t].route.to);
    let most = |t: usize| cluster.link(transfers[t].route.from, transfers[t].route.to).rate;
    let mut rates: Vec<Option<f64>> = vec![None; open.len()];
    while rates.iter().any(Option::is_none) {
        // The level at which the first link is full or the first pair's rate is reached.
        let share = |link: u32| {
            let users = || open.iter().zip(&rates).filter(|&(&t, _)| route(t).contains(&link));
            let taken: f64 = users().filter_map(|(_, rate)| *rate).sum();
            let growing = users().filter(|(_, rate)| rate.is_none()).count();
            (growing > 0).then(|| (shared.capacity(link as usize) - taken) / growing as f64)
        };
        let shares: Vec<Option<f64>> = (0..shared.count() as u32).map(share).collect();
        let growing = || (0..open.len()).filter(|&index| rates[index].is_none());
        let level = shares.iter().flatten().copied().chain(growing().map(|index| most(open[index])));
        let level = level.fold(f64::INFINITY, f64::min);
        let is_full = |link: u32| shares[link as usize].is_some_and(|share| share <= level * (1.0 + 1e-13));
        let stops = |index: usize| most(open[index]) <= level || route(open[index]).iter().any(|&link| is_full(link));
        let stopped: Vec<usize> = growing().filter(|&index| stops(index)).collect();
        assert!(!stopped.is_empty());
        for index in stopped {
            rates[index] = Some(level);
        }
    }
    rates.into_iter().flatten().collect()
}
