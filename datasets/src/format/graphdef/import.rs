//! From resolved nodes to a graph.

use super::fault::{Fault, Located};
use super::private::GENERIC_OP;
use super::report::ImportReport;
use super::structure::{Input, Op, Structure};
use crate::format::options::{LoopPolicy, ReadOptions};
use crate::{CyclePolicy, DataflowGraph, GraphBuilder, GraphError, Kind, KindSet, OpId, OpSpec};

/// Builds the graph.
pub(super) fn build(structure: &Structure, options: &ReadOptions) -> Result<(DataflowGraph, ImportReport), Located> {
    let mut report = ImportReport { nodes: structure.ops.len(), ..ImportReport::default() };
    let mut builder = GraphBuilder::default();
    if options.cycles == Some(LoopPolicy::Drop) {
        builder.cycle_policy(CyclePolicy::DropLastTraversed);
    }
    for op in &structure.ops {
        add_op(&mut builder, op, &mut report);
    }
    add_edges(&mut builder, structure, options, &mut report).map_err(Fault::from)?;
    let graph = builder.build().map_err(|error| {
        let line = culprit(&error).and_then(|op| structure.line(op.index()));
        Fault::from(error).at(line)
    })?;
    report.dropped_edges += builder.dropped_edges();
    Ok((graph, report))
}

fn add_op(builder: &mut GraphBuilder, op: &Op, report: &mut ImportReport) {
    report.class_colocated += usize::from(!op.colocated.is_empty());
    report.cpu_only += usize::from(op.kinds == KindSet::only(Kind::Cpu));
    report.unknown_costs += usize::from(op.costs.ops.is_none());
    report.unknown_sizes += op.outputs.iter().filter(|size| size.is_none()).count();
    let sizes: Vec<u64> = op.outputs.iter().map(|size| size.unwrap_or(0)).collect();
    let times: Vec<(&str, f64)> = op.costs.times.iter().map(|(class, time)| (class.as_str(), *time)).collect();
    let spec = OpSpec {
        ops: op.costs.ops.unwrap_or(0.0),
        memory_bytes: op.costs.memory_bytes,
        kinds: op.kinds,
        bytes_moved: op.costs.bytes_moved,
        times: &times,
        name: Some(&op.name),
        op_type: Some(op.op_type.as_str()).filter(|&name| !name.is_empty() && name != GENERIC_OP),
        layer: op.costs.layer.as_deref(),
        attributes: op.attributes.as_deref(),
    };
    builder.add_op(spec, &sizes);
}

fn add_edges(
    builder: &mut GraphBuilder,
    structure: &Structure,
    options: &ReadOptions,
    report: &mut ImportReport,
) -> Result<(), GraphError> {
    for (consumer, op) in structure.ops.iter().enumerate() {
        let id = OpId::new(consumer);
        for &Input { source, port, reference } in &op.inputs {
            match port {
                Some(_) => report.data_edges += 1,
                None => report.control_edges += 1,
            }
            if reference {
                report.reference_edges += 1;
                if !options.no_references {
                    builder.colocate(OpId(source), id)?;
                }
            }
            if options.cycles == Some(LoopPolicy::NextIteration) && closes_loop(&structure.ops[source as usize], op) {
                report.dropped_edges += 1;
                continue;
            }
            match port {
                Some(port) => builder.add_edge(OpId(source), port as usize, id)?,
                None => builder.add_control_edge(OpId(source), id)?,
            }
        }
        for &other in &op.colocated {
            builder.colocate(OpId(other), id)?;
        }
    }
    Ok(())
}

/// Whether an edge is one of those that close the loops of TensorFlow.
fn closes_loop(source: &Op, target: &Op) -> bool {
    source.op_type.trim_start_matches("Ref") == "NextIteration" && target.op_type.trim_start_matches("Ref") == "Merge"
}

/// The op that an error is about.
fn culprit(error: &GraphError) -> Option<OpId> {
    match error {
        GraphError::Cycle { op, .. } | GraphError::NoKind { op, .. } | GraphError::BadCost { op, .. } => Some(*op),
        GraphError::ContradictoryKinds { second, .. } => Some(*second),
        _ => None,
    }
}
