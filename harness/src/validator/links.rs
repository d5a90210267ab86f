//! Links carry no more than they can.

use placebench_datasets::{ROUNDING, Time};

use super::{Records, Run, Violation};

/// Bytes that moved over a link at some time within an interval.
#[derive(Clone, Copy)]
struct Load {
    link: u32,
    start: Time,
    end: Time,
    bytes: f64,
}

pub(super) fn check(run: &Run<'_>, records: &Records) -> Result<(), Violation> {
    let mut loads = loads(run, records);
    loads.sort_unstable_by(|a, b| a.link.cmp(&b.link).then(a.start.total_cmp(&b.start)).then(a.end.total_cmp(&b.end)));
    for of_link in loads.chunk_by_mut(|a, b| a.link == b.link) {
        let mut rest = of_link;
        while !rest.is_empty() {
            let mut end = rest[0].end;
            let is_later = |load: &Load| {
                let is_later = load.start >= end;
                end = end.max(load.end);
                is_later
            };
            let count = rest.iter().position(is_later).unwrap_or(rest.len()).max(1);
            let (period, later) = rest.split_at_mut(count);
            check_period(run, period)?;
            rest = later;
        }
    }
    Ok(())
}

fn loads(run: &Run<'_>, records: &Records) -> Vec<Load> {
    let mut loads = Vec::new();
    for record in &records.transfers {
        let (from, to) = (record.route.from, record.route.to);
        let bytes = record.route.tensor.map_or(0.0, |tensor| run.graph.tensor_bytes(tensor) as f64);
        let start = record.start + run.cluster.link(from, to).latency;
        let used = run.cluster.shared_links().route(from, to).iter();
        let used = used.filter(|&&link| bytes > 0.0 && run.cluster.shared_links().capacity(link as usize).is_finite());
        loads.extend(used.map(|&link| Load { link, start, end: record.end, bytes }));
    }
    loads
}

/// A stretch of time in which the link was never idle, with its loads by their starts.
fn check_period(run: &Run<'_>, period: &mut [Load]) -> Result<(), Violation> {
    let start = period[0].start;
    let end = period.iter().map(|load| load.end).fold(start, Time::max);
    let mut bytes = 0.0;
    for load in period.iter().rev() {
        bytes += load.bytes;
        check_stretch(run, load.link, load.start, end, bytes)?;
    }
    period.sort_unstable_by(|a, b| a.end.total_cmp(&b.end));
    bytes = 0.0;
    for load in period.iter() {
        bytes += load.bytes;
        check_stretch(run, load.link, start, load.end, bytes)?;
    }
    Ok(())
}

fn check_stretch(run: &Run<'_>, link: u32, start: Time, end: Time, bytes: f64) -> Result<(), Violation> {
    let shared = run.cluster.shared_links();
    // Both ends of the stretch may be off by rounding.
    let most = shared.capacity(link as usize) * (end - start + ROUNDING * end);
    if bytes > most * (1.0 + ROUNDING) {
        let link = shared.name(link as usize).to_owned();
        return Err(Violation::LinkOverload { link, start, end, bytes, most });
    }
    Ok(())
}
