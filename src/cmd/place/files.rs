//! A placement, its timeline and a picture as files.

use std::io::Write;
use std::path::Path;

use placebench::algorithms::Named;
use placebench::algorithms::period::Goal;
use placebench::datasets::PlacedGraph;
use placebench::harness::execute::simulate::simulate;
use placebench::harness::execute::{Replay, order_of};
use placebench::harness::results::{CsvTexts, Row};
use placebench::harness::timeline::Timeline;
use placebench::harness::trace::{write_chrome_trace, write_chrome_traces};
use placebench::reports::figure::{Figure, Style, gantt, load};

use super::Args;
use crate::cmd::figure::Format;
use crate::output::write_file;

/// Writes the files that the arguments name: placement, timeline, trace, figure.
pub(super) fn write_files(args: &Args, row: &Row, timeline: &Timeline, placed: &PlacedGraph<'_>) -> anyhow::Result<()> {
    if let Some(path) = &args.placement {
        write_file(path, |out| write_placement(out, placed, args.csv.texts()))?;
    }
    if let Some(path) = &args.timeline {
        write_file(path, |out| write_timeline(out, timeline, placed, args.csv.texts()))?;
    }
    if let Some(path) = &args.trace {
        write_trace(path, args, timeline, placed)?;
    }
    if let Some(path) = &args.figure {
        let drawing = picture(args, row, timeline, placed).draw(&Style::double_column());
        let bytes = Format::of(path)?.bytes(&drawing, None, false)?;
        write_file(path, |out| out.write_all(&bytes))?;
    }
    Ok(())
}

/// What says most of a placement: the load of the devices if samples follow each other, or else what each does when.
fn picture(args: &Args, row: &Row, timeline: &Timeline, placed: &PlacedGraph<'_>) -> Box<dyn Figure> {
    let Row { graph, cluster, placer, time_unit, .. } = row;
    let scheduler = row.chosen_scheduler.as_ref().unwrap_or(&row.scheduler);
    let title = format!("{graph} on {cluster}, placed by {placer}, scheduled by {scheduler}, {}", row.network);
    match row.objective.as_deref() == Some(Goal::Period.name()) && timeline.measurement().is_none() {
        true => Box::new(load(placed, timeline, args.network, time_unit, title)),
        false => Box::new(gantt(placed, &[("", timeline)], time_unit, title)),
    }
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
