//! A placement and its timeline as files.

use std::io::Write;
use std::path::Path;

use placebench::datasets::PlacedGraph;
use placebench::harness::execute::simulate::simulate;
use placebench::harness::execute::{Replay, order_of};
use placebench::harness::results::CsvTexts;
use placebench::harness::timeline::Timeline;
use placebench::harness::trace::{write_chrome_trace, write_chrome_traces};

use super::Args;
use crate::output::write_file;

/// Writes the files that the arguments name: placement, timeline, trace.
pub(super) fn write_files(args: &Args, timeline: &Timeline, placed: &PlacedGraph<'_>) -> anyhow::Result<()> {
    if let Some(path) = &args.placement {
        write_file(path, |out| write_placement(out, placed, args.csv.texts()))?;
    }
    if let Some(path) = &args.timeline {
        write_file(path, |out| write_timeline(out, timeline, placed, args.csv.texts()))?;
    }
    if let Some(path) = &args.trace {
        write_trace(path, args, timeline, placed)?;
    }
    Ok(())
}

/// Writes the timeline for a trace viewer; a measured one above what was predicted for its order.
fn write_trace(path: &Path, args: &Args, timeline: &Timeline, placed: &PlacedGraph<'_>) -> anyhow::Result<()> {
    if timeline.measurement().is_none() {
        return write_file(path, |out| write_chrome_trace(timeline, placed, out));
    }
    let replay = Replay { order: order_of(placed, timeline) };
    let predicted = simulate(placed, &replay, None, args.network)?;
    let (measured, name) = ("measured", format!("predicted by {}", args.network));
    write_file(path, |out| write_chrome_traces(&[(measured, timeline), (&name, &predicted)], placed, out))
}

fn write_placement(out: &mut impl Write, placed: &PlacedGraph<'_>, texts: CsvTexts) -> std::io::Result<()> {
    let quoted = |text: &str| quoted(&texts.cell(text));
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    writeln!(out, "op,name,device")?;
    for op in graph.op_ids() {
        let device = &cluster.device(placed.device_of(op)).name;
        writeln!(out, "{op},{},{}", quoted(graph.name(op).unwrap_or_default()), quoted(device))?;
    }
    Ok(())
}

fn write_timeline(
    out: &mut impl Write,
    timeline: &Timeline,
    placed: &PlacedGraph<'_>,
    texts: CsvTexts,
) -> std::io::Result<()> {
    let quoted = |text: &str| quoted(&texts.cell(text));
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let name = |device| quoted(&cluster.device(device).name);
    writeln!(out, "what,op,name,device,to,bytes,start,finish")?;
    for op in graph.op_ids() {
        let (label, device) = (quoted(graph.name(op).unwrap_or_default()), name(placed.device_of(op)));
        writeln!(out, "op,{op},{label},{device},,,{},{}", timeline.start(op), timeline.finish(op))?;
    }
    for op in graph.op_ids() {
        for id in placed.transfers_of(op) {
            let transfer = placed.transfer(id);
            let label = quoted(graph.name(op).unwrap_or_default());
            let (from, to) = (name(transfer.from), name(transfer.to));
            if let Some(send) = timeline.send(id) {
                writeln!(out, "send,{op},{label},{from},{to},,{},{}", send.start, send.end)?;
            }
            let time = timeline.transfer(placed, id);
            writeln!(out, "transfer,{op},{label},{from},{to},{},{},{}", transfer.bytes, time.start, time.end)?;
            if let Some(receive) = timeline.receive(id) {
                writeln!(out, "receive,{op},{label},{to},,,{},{}", receive.start, receive.end)?;
            }
        }
    }
    Ok(())
}

/// A field of a CSV file, quoted where it must be.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
