//! Scales a graph's tensors to a ratio of communication to computation.

use placebench_datasets::{Cluster, DataflowGraph, ccr};

use super::error::ProblemError;

/// How far the ratio may be off after sizes are rounded to whole bytes.
const TOLERANCE: f64 = 0.01;

/// The same graph with all tensors larger or smaller by one factor, so that its ratio of communication to computation on a
/// cluster, time over time as [`ccr`] defines it, is the one wanted. `name` is for messages.
///
/// Sizes are whole bytes, each rounded to the nearest; the ratio that results is checked to be within 1 % of the one
/// wanted. What sizes are before does not matter otherwise, so a graph whose costs are all a thousand times larger has the
/// same ratio with a thousandth of the error. Latencies and overheads stay, and so do times of ops and resident memory.
///
/// # Errors
/// If the graph has no edge that moves bytes, or its ops take no time; if latencies alone exceed the ratio; if whole bytes
/// are too coarse.
///
/// # Complexity
/// O(ops + edges + devices²).
pub fn scale_to_ccr(
    graph: &DataflowGraph,
    cluster: &Cluster,
    wanted: f64,
    name: &str,
) -> Result<DataflowGraph, ProblemError> {
    let refuse = |reason: String| ProblemError::Ccr { graph: name.to_owned(), wanted, reason };
    let scaled = |factor: f64| {
        let bytes = (0..graph.tensor_count() as u32).map(placebench_datasets::TensorId);
        let bytes = bytes.map(|tensor| (graph.tensor_bytes(tensor) as f64 * factor).round() as u64);
        graph.with_tensor_bytes(bytes.collect()).map_err(|error| refuse(error.to_string()))
    };
    let now = ccr(graph, cluster);
    let latencies = ccr(&scaled(0.0)?, cluster);
    let (Some(now), Some(latencies)) = (now, latencies) else {
        return Err(refuse("it has no edge, or its ops take no time".to_owned()));
    };
    if now <= latencies {
        return Err(refuse("none of its edges moves bytes, or there is one device only".to_owned()));
    }
    if wanted <= latencies {
        return Err(refuse(format!("latencies alone make it {latencies:.4}; want more, or lower the latencies")));
    }
    let result = scaled((wanted - latencies) / (now - latencies))?;
    let found = ccr(&result, cluster).unwrap_or(0.0);
    if (found - wanted).abs() > TOLERANCE * wanted {
        return Err(refuse(format!(
            "whole bytes make it {found:.4}: give ops larger costs, or the cluster higher rates"
        )));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{GraphBuilder, Kind, Link, OpId, OpSpec};

    use super::*;

    fn cluster(latency: f64) -> Cluster {
        Cluster::uniform(3, Kind::Cpu, 2.0, Link { rate: 7.0, latency }).unwrap()
    }

    fn chain(ops: f64, bytes: &[u64]) -> DataflowGraph {
        let mut builder = GraphBuilder::default();
        for &bytes in bytes {
            builder.add_op(OpSpec { times: &[("cpu", ops)], ..OpSpec::cost(1.0) }, &[bytes]);
        }
        for op in 1..bytes.len() as u32 {
            builder.add_edge(OpId(op - 1), 0, OpId(op)).unwrap();
        }
        builder.build().unwrap()
    }

    #[test]
    fn the_ratio_is_what_was_asked_for_and_the_sizes_keep_their_proportions() {
        let graph = chain(5000.0, &[100, 300, 50]);
        for (wanted, latency) in [(0.1, 0.0), (1.0, 0.0), (5.0, 300.0)] {
            let cluster = cluster(latency);
            let scaled = scale_to_ccr(&graph, &cluster, wanted, "g").unwrap();
            let found = ccr(&scaled, &cluster).unwrap();
            assert!((found / wanted - 1.0).abs() < 1e-3, "{found} instead of {wanted}");
            let bytes = |graph: &DataflowGraph, op| graph.tensor_bytes(graph.output(OpId(op), 0).unwrap()) as f64;
            assert!((bytes(&scaled, 1) / bytes(&scaled, 0) - 3.0).abs() < 0.01);
            // Measured times are kept.
            assert_eq!(scaled.measured_on("cpu").unwrap().of(OpId(0)), Some(5000.0));
        }
    }

    #[test]
    fn what_cannot_be_reached_is_refused_with_the_reason() {
        let reason = |graph: &DataflowGraph, cluster: &Cluster, wanted| {
            scale_to_ccr(graph, cluster, wanted, "g").unwrap_err().to_string()
        };
        assert!(reason(&chain(5.0, &[7]), &cluster(0.0), 1.0).contains("no edge"));
        assert!(reason(&chain(0.0, &[7, 7]), &cluster(0.0), 1.0).contains("take no time"));
        assert!(reason(&chain(5.0, &[0, 7]), &cluster(0.0), 1.0).contains("moves bytes"));
        assert!(reason(&chain(5.0, &[7, 7]), &cluster(50.0), 1.0).contains("latencies alone make it 10"));
        assert!(reason(&chain(0.2, &[7, 7, 7]), &cluster(0.0), 1.2).contains("whole bytes make it"));
    }
}
