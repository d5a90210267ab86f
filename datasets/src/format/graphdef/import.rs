//! From resolved nodes to a graph.

use super::fault::{Fault, Located};
use super::loops::closes_loop;
use super::private::GENERIC_OP;
use super::report::{ImportReport, Unrolling};
use super::structure::{Input, Op, Structure};
use super::unroll::unrolled;
use crate::format::options::{LoopPolicy, ReadOptions};
use crate::{CyclePolicy, DataflowGraph, GraphBuilder, GraphError, Kind, KindSet, OpId, OpSpec};

/// Builds the graph.
pub(super) fn build(structure: &Structure, options: &ReadOptions) -> Result<(DataflowGraph, ImportReport), Located> {
    let mut report = ImportReport { nodes: structure.ops.len(), ..ImportReport::default() };
    let mut builder = GraphBuilder::default();
    if options.cycles == Some(LoopPolicy::Drop) {
        builder.cycle_policy(CyclePolicy::DropLastTraversed);
    }
    let mut copies = None;
    if let Some(LoopPolicy::Unroll(times)) = options.cycles {
        copies = unrolled(structure, times)?;
        let nothing = || Unrolling { times: times.get(), ..Unrolling::default() };
        report.unrolled = Some(copies.as_ref().map_or_else(nothing, |copies| copies.report));
    }
    let ops = copies.as_ref().map_or(&structure.ops, |copies| &copies.ops);
    for op in ops {
        add_op(&mut builder, op, &mut report);
    }
    add_edges(&mut builder, ops, options, &mut report).map_err(Fault::from)?;
    for &(a, b) in copies.iter().flat_map(|copies| &copies.together) {
        builder.colocate(OpId(a), OpId(b)).map_err(Fault::from)?;
    }
    let graph = builder.build().map_err(|error| {
        let origin = |op: OpId| copies.as_ref().map_or(op.index(), |copies| copies.origins[op.index()] as usize);
        let line = culprit(&error).and_then(|op| structure.line(origin(op)));
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
    ops: &[Op],
    options: &ReadOptions,
    report: &mut ImportReport,
) -> Result<(), GraphError> {
    let opens = options.cycles == Some(LoopPolicy::NextIteration);
    for (consumer, op) in ops.iter().enumerate() {
        let id = OpId::new(consumer);
        for &Input { source, port, reference, dropped } in &op.inputs {
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
            if dropped || opens && closes_loop(&ops[source as usize], op) {
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

/// The op that an error is about.
fn culprit(error: &GraphError) -> Option<OpId> {
    match error {
        GraphError::Cycle { op, .. } | GraphError::NoKind { op, .. } | GraphError::BadCost { op, .. } => Some(*op),
        GraphError::ContradictoryKinds { second, .. } => Some(*second),
        _ => None,
    }
}
