//! What there is to say about a partition: a line for each figure.

use std::fmt::Write as _;
use std::path::PathBuf;

use placebench::algorithms::partition::{Partition, PartitionRequest, quality};
use placebench::base::process::peak_rss_bytes;
use placebench::base::significant::bytes_text;
use placebench::datasets::is_less;

use super::answer::Answer;
use super::input::{Input, Seen};
use crate::output::shown;

/// What there is to say about a partition besides its quality.
#[derive(Default)]
pub(super) struct Report {
    /// Who made the partition, or where it was read.
    pub(super) by: String,
    /// The algorithm with its parameters; `None` if the partition was read.
    pub(super) algorithm: Option<String>,
    /// Seconds of reading.
    pub(super) read: f64,
    /// Seconds, and seconds of processor time of all threads; `None` if the partition was read.
    pub(super) partitioned: Option<(f64, f64)>,
    /// Replicas of a vertex, if the partitioner divides the edges first.
    pub(super) replication: Option<f64>,
    /// Where the partition went, unless to standard output.
    pub(super) written: Option<PathBuf>,
}

impl Report {
    /// The report for programs.
    pub(super) fn answer(&self, input: &Input, partition: &Partition, request: &PartitionRequest) -> Answer {
        Answer {
            algorithm: self.algorithm.clone(),
            replication_factor: self.replication,
            read_seconds: Some(self.read),
            seconds: self.partitioned.map(|(seconds, _)| seconds),
            processor_seconds: self.partitioned.map(|(_, processor)| processor),
            files: self.written.iter().map(|path| shown(path)).collect(),
            ..Answer::of(input, partition, request)
        }
    }

    /// The report.
    pub(super) fn text(
        &self,
        input: &Input,
        partition: &Partition,
        request: &PartitionRequest,
    ) -> anyhow::Result<String> {
        let graph = input.graph();
        let amount = |value: u64| match input.bytes {
            true => format!("{value} ({})", bytes_text(value as f64)),
            false => value.to_string(),
        };
        let mut text = String::new();
        let mut line = |name: &str, value: String| writeln!(text, "{name:<15} {value}");
        line("graph", format!("{} ({})", input.name, input.what))?;
        line("vertices", graph.vertex_count().to_string())?;
        line("edges", graph.edge_count().to_string())?;
        if let (Some(nets), Seen::Undirected(_)) = (&input.nets, &input.seen) {
            line("nets", format!("{} with {} pins; edges are those of its graph", nets.net_count(), nets.pin_count()))?;
        }
        line(if self.partitioned.is_some() { "partitioned by" } else { "partition" }, self.by.clone())?;
        line("cut", format!("{} of {}", amount(quality::edge_cut(graph, partition)), graph.total_edge_weight()))?;
        line("volume", quality::communication_volume(graph, partition).to_string())?;
        if let Some(nets) = &input.nets {
            let connectivity = quality::connectivity(nets, partition);
            let (name, connectivity) = match &input.seen {
                Seen::Dataflow(..) => ("traffic", bytes_amount(connectivity)),
                Seen::Undirected(_) => ("connectivity", connectivity.to_string()),
            };
            line(name, connectivity)?;
            if let Seen::Undirected(_) = &input.seen {
                let cut_nets = quality::cut_nets(nets, partition);
                line("cut nets", cut_nets.to_string())?;
                line("SOED", quality::connectivity(nets, partition).saturating_add(cut_nets).to_string())?;
            }
        }
        if let Seen::Dataflow(dataflow, view) = &input.seen {
            let blocks = view.blocks_of_ops(&partition.block_of);
            let acyclic = quality::is_acyclic(dataflow, &blocks, partition.blocks);
            line("block graph", if acyclic { "acyclic" } else { "cyclic" }.to_owned())?;
        }
        if let Some(factor) = self.replication {
            line("replication", format!("{factor:.4}: blocks with edges of a vertex, before it goes to one of them"))?;
        }
        let weights = quality::block_weights(graph, partition);
        let (least, most) = (weights.iter().min().copied(), weights.iter().max().copied());
        line("block weights", format!("{} to {}", least.unwrap_or(0), most.unwrap_or(0)))?;
        let imbalance = quality::imbalance(graph, partition);
        line("imbalance", format!("{imbalance:.4}"))?;
        let total = graph.total_vertex_weight();
        let (blocks, epsilon, cap) = (partition.blocks, exact(request.epsilon), request.capacity(0, total));
        let heaviest = graph.vertices().map(|vertex| graph.vertex_weight(vertex)).max().unwrap_or(0);
        line(
            "cap",
            format!("{cap}: (1 + {epsilon}) · {total} / {blocks}, rounded up; the heaviest vertex weighs {heaviest}"),
        )?;
        let heavy = (0..blocks).zip(&weights).find(|&(_, &weight)| weight > cap);
        let feasible = match heavy {
            None if !is_less(1.0 + request.epsilon, 1.0 + imbalance) => format!("yes, within {epsilon}"),
            None => format!("yes, within the cap; the imbalance exceeds {epsilon} because the cap is rounded up"),
            Some((block, weight)) if heaviest > cap => format!(
                "no: block {block} weighs {weight}, more than the cap; no partition can be, since a vertex weighs more"
            ),
            Some((block, weight)) => format!("no: block {block} weighs {weight}, more than the cap"),
        };
        line("feasible", feasible)?;
        line("read in", format!("{:.3} s", self.read))?;
        if let Some((seconds, processor)) = self.partitioned {
            line("partitioned in", format!("{seconds:.3} s, {processor:.4} s of processor time"))?;
        }
        if let Some(bytes) = peak_rss_bytes() {
            line("peak memory", bytes_text(bytes as f64))?;
        }
        if let Some(path) = &self.written {
            line("written to", path.display().to_string())?;
        }
        Ok(text)
    }
}

/// A number as it was given, with a power of ten where it would take many zeros.
fn exact(value: f64) -> String {
    if value == 0.0 || (1e-4..1e15).contains(&value) { value.to_string() } else { format!("{value:e}") }
}

fn bytes_amount(bytes: u64) -> String {
    format!("{bytes} ({}), each tensor once to each block that needs it", bytes_text(bytes as f64))
}
