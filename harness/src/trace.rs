//! Exports a timeline for trace viewers: `chrome://tracing`, or <https://ui.perfetto.dev>.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufWriter, Write};

use placebench_datasets::{DeviceId, OpId, PlacedGraph, TransferId};

use crate::timeline::{Interval, Timeline};

/// Microseconds, in which the format counts, of one time unit of the instance.
const MICROSECONDS: f64 = 1e6;

/// Writes a run in the Chrome trace event format (JSON object form): one process a device, in it one thread for what the
/// device executes and as many threads as needed for the transfers that it sends.
///
/// One time unit of the instance is shown as one second. Events of one thread may not overlap in that format, so each
/// transfer goes to the first thread that is free when it starts: under `one_port` there is one, under `contention_free`
/// as many as the device has transfers under way at once.
///
/// Events are written as they come, so that the file may be larger than memory.
///
/// # Errors
/// If writing fails.
///
/// # Complexity
/// O(ops + transfers log transfers) time; 4 bytes a transfer, and 16 for each that is under way at once.
///
/// # Reference
/// *Trace Event Format*, Google 2016: complete events (`X`) and metadata events (`M`).
pub fn write_chrome_trace(timeline: &Timeline, placed: &PlacedGraph<'_>, out: &mut impl Write) -> io::Result<()> {
    write_chrome_traces(&[("", timeline)], placed, out)
}

/// Writes several runs of one placed graph, each with a name, such as a measured one above the one that was predicted:
/// the runs of each device stand below each other, in the order given.
///
/// # Errors
/// If writing fails.
pub fn write_chrome_traces(
    timelines: &[(&str, &Timeline)],
    placed: &PlacedGraph<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut writer = Writer { out: BufWriter::new(out), placed, is_first: true, run: 0, runs: timelines.len() };
    writer.out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
    for (run, (name, timeline)) in timelines.iter().enumerate() {
        writer.run = run;
        writer.devices(name)?;
        for op in placed.instance().graph().op_ids() {
            writer.op(op, timeline.op(op))?;
        }
        for (id, interval) in timeline.sends() {
            writer.route(id, placed.transfer(id).from, 0, "send", interval)?;
        }
        for (id, interval) in timeline.receives() {
            writer.route(id, placed.transfer(id).to, 0, "receive", interval)?;
        }
        writer.transfers(timeline)?;
    }
    writer.out.write_all(b"\n]}\n")?;
    writer.out.flush()
}

struct Writer<'a, W: Write> {
    out: BufWriter<W>,
    placed: &'a PlacedGraph<'a>,
    is_first: bool,
    /// Which run is written, and how many there are.
    run: usize,
    runs: usize,
}

/// A text as JSON: quoted and escaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl<W: Write> Writer<'_, W> {
    fn separate(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.is_first, false) {
            true => Ok(()),
            false => self.out.write_all(b",\n"),
        }
    }

    /// The process that shows a device in the run that is written.
    fn process(&self, device: usize) -> usize {
        device * self.runs + self.run
    }

    fn devices(&mut self, run: &str) -> io::Result<()> {
        let comma = if run.is_empty() { "" } else { ", " };
        for (index, device) in self.placed.instance().cluster().devices().iter().enumerate() {
            let name = quoted(&format!("{} ({}){comma}{run}", device.name, device.kind));
            let process = self.process(index);
            self.separate()?;
            write!(self.out, r#"{{"ph":"M","pid":{process},"name":"process_name","args":{{"name":{name}}}}}"#)?;
            self.separate()?;
            write!(
                self.out,
                r#"{{"ph":"M","pid":{process},"name":"process_sort_index","args":{{"sort_index":{process}}}}}"#
            )?;
            self.thread(index, 0, "compute")?;
        }
        Ok(())
    }

    fn thread(&mut self, device: usize, thread: usize, name: &str) -> io::Result<()> {
        let (name, device) = (quoted(name), self.process(device));
        self.separate()?;
        write!(
            self.out,
            r#"{{"ph":"M","pid":{device},"tid":{thread},"name":"thread_name","args":{{"name":{name}}}}}"#
        )?;
        self.separate()?;
        write!(
            self.out,
            r#"{{"ph":"M","pid":{device},"tid":{thread},"name":"thread_sort_index","args":{{"sort_index":{thread}}}}}"#
        )
    }

    /// The part of an event that all share.
    fn complete(&mut self, device: u32, thread: usize, what: &str, name: &str, at: Interval) -> io::Result<()> {
        let (start, length) = (at.start * MICROSECONDS, (at.end - at.start) * MICROSECONDS);
        self.separate()?;
        let (name, device) = (quoted(name), self.process(device as usize));
        write!(
            self.out,
            r#"{{"ph":"X","pid":{device},"tid":{thread},"ts":{start},"dur":{length},"cat":"{what}","name":{name}"#
        )
    }

    fn op(&mut self, op: OpId, at: Interval) -> io::Result<()> {
        let graph = self.placed.instance().graph();
        self.complete(self.placed.device_of(op).0, 0, "op", &name(self.placed, op), at)?;
        write!(self.out, r#","args":{{"op":{op},"ops":{}"#, graph.ops(op))?;
        if let Some(label) = graph.op_types().and_then(|types| types.get(op.index())) {
            write!(self.out, r#","type":{}"#, quoted(label))?;
        }
        if let Some(label) = graph.layers().and_then(|layers| layers.get(op.index())) {
            write!(self.out, r#","layer":{}"#, quoted(label))?;
        }
        self.out.write_all(b"}}")
    }

    fn route(&mut self, id: TransferId, on: DeviceId, thread: usize, what: &str, at: Interval) -> io::Result<()> {
        let transfer = self.placed.transfer(id);
        let to = &self.placed.instance().cluster().device(transfer.to).name;
        let source = name(self.placed, transfer.source);
        let content = match transfer.tensor {
            Some(tensor) => format!("{source}:{} → {to}", self.placed.instance().graph().port(tensor)),
            None => format!("{source} (control) → {to}"),
        };
        self.complete(on.0, thread, what, &content, at)?;
        let (bytes, to) = (transfer.bytes, quoted(to));
        write!(self.out, r#","args":{{"op":{},"bytes":{bytes},"to":{to}}}}}"#, transfer.source)
    }

    /// The transfers of each sender in turn, by start, dealt out to threads.
    fn transfers(&mut self, timeline: &Timeline) -> io::Result<()> {
        let placed = self.placed;
        let mut order: Vec<TransferId> = placed.transfer_ids().collect();
        // Of those that start together, the shorter first: one that takes no time leaves its thread free.
        let by_time = |a: Interval, b: Interval| a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end));
        order.sort_unstable_by(|&a, &b| {
            let senders = placed.transfer(a).from.cmp(&placed.transfer(b).from);
            senders.then(by_time(timeline.transfer(placed, a), timeline.transfer(placed, b))).then(a.cmp(&b))
        });
        for of_sender in order.chunk_by(|&a, &b| placed.transfer(a).from == placed.transfer(b).from) {
            let mut lanes = Lanes::default();
            for &id in of_sender {
                let at = timeline.transfer(placed, id);
                let lane = lanes.take(at);
                self.route(id, placed.transfer(id).from, lane + 1, "transfer", at)?;
            }
            for lane in 0..lanes.count {
                let sender = placed.transfer(of_sender[0]).from.index();
                self.thread(sender, lane + 1, &format!("transfers {}", lane + 1))?;
            }
        }
        Ok(())
    }
}

fn name(placed: &PlacedGraph<'_>, op: OpId) -> String {
    let graph = placed.instance().graph();
    graph.name(op).map_or_else(|| format!("op {op}"), str::to_owned)
}

/// Deals intervals, given by ascending start and then end, out to as few lanes as possible.
#[derive(Default)]
struct Lanes {
    count: usize,
    free: BinaryHeap<Reverse<usize>>,
    /// Lanes in use, by the bits of the end of what is in them.
    taken: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Lanes {
    fn take(&mut self, at: Interval) -> usize {
        while let Some(&Reverse((end, lane))) = self.taken.peek()
            && end <= at.start.to_bits()
        {
            self.taken.pop();
            self.free.push(Reverse(lane));
        }
        let lane = self.free.pop().map_or(self.count, |lane| lane.0);
        self.count = self.count.max(lane + 1);
        self.taken.push(Reverse((at.end.to_bits(), lane)));
        lane
    }
}
