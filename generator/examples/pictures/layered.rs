//! Draws a dataflow graph level by level, from top to bottom, or from left to right if there are many levels.

use placebench_datasets::{DataflowGraph, OpId, Placement};

use crate::svg::Picture;

/// Distance of neighbours on a level, and of levels.
const ACROSS: f64 = 24.0;
const DOWN: f64 = 34.0;

/// A graph that is placed on two devices: ops of the second are squares.
pub(crate) fn draw_placed(graph: &DataflowGraph, placement: &Placement, known: &mut Vec<String>) -> String {
    drawn(graph, known, graph.op_ids().filter(|&op| placement.device_of(op).index() == 1).map(OpId::index).collect())
}

/// A graph that is not placed. `known` are types of ops that have their colours already; those of the graph are added.
pub(crate) fn draw(graph: &DataflowGraph, known: &mut Vec<String>) -> String {
    drawn(graph, known, Vec::new())
}

/// An op's level is the number of edges of the longest path to it; on a level, ops are ordered by the mean place of
/// their neighbours. Control edges are dashed.
fn drawn(graph: &DataflowGraph, known: &mut Vec<String>, squares: Vec<usize>) -> String {
    let mut level = vec![0usize; graph.op_count()];
    for op in graph.topological_order() {
        level[op.index()] = graph.predecessor_ops(op).iter().map(|op| level[op.index()] + 1).max().unwrap_or(0);
    }
    // Sources stand just above the first op that needs them.
    for op in graph.op_ids().filter(|&op| graph.in_degree(op) == 0) {
        let first = graph.successor_ops(op).iter().map(|op| level[op.index()]).min();
        level[op.index()] = first.map_or(0, |first| first - 1);
    }
    let count = level.iter().max().map_or(0, |most| most + 1);
    let mut levels: Vec<Vec<OpId>> = vec![Vec::new(); count];
    graph.op_ids().for_each(|op| levels[level[op.index()]].push(op));
    let widest = levels.iter().map(Vec::len).max().unwrap_or(1) as f64;
    let mut x = vec![0.0; graph.op_count()];
    let spread = |ops: &[OpId], x: &mut [f64]| {
        let first = (widest - ops.len() as f64) / 2.0;
        ops.iter().enumerate().for_each(|(place, op)| x[op.index()] = (first + place as f64) * ACROSS);
    };
    levels.iter().for_each(|ops| spread(ops, &mut x));
    for sweep in 0..12 {
        let order: Vec<usize> = if sweep % 2 == 0 { (0..count).collect() } else { (0..count).rev().collect() };
        for at in order {
            let mean = |op: OpId| {
                let near = if sweep % 2 == 0 { graph.predecessor_ops(op) } else { graph.successor_ops(op) };
                let sum: f64 = near.iter().map(|op| x[op.index()]).sum();
                if near.is_empty() { x[op.index()] } else { sum / near.len() as f64 }
            };
            let mut ops: Vec<(f64, OpId)> = levels[at].iter().map(|&op| (mean(op), op)).collect();
            ops.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            levels[at] = ops.into_iter().map(|(_, op)| op).collect();
            spread(&levels[at], &mut x);
        }
    }
    let types = graph.op_types();
    let mut colours: Vec<usize> = Vec::new();
    for label in types.map_or(&[][..], |types| types.labels()) {
        let colour = known.iter().position(|name| name == label);
        colours.push(colour.unwrap_or_else(|| {
            known.push(label.clone());
            known.len() - 1
        }));
    }
    let kind = |op: OpId| types.and_then(|types| types.number(op.index())).map_or(0, |number| colours[number]);
    // Long edges lean a little, so that they do not hide behind the ops between.
    let points =
        graph.op_ids().map(|op| (x[op.index()] + lean(level[op.index()]), DOWN * level[op.index()] as f64, kind(op)));
    let least = graph.op_ids().map(|op| x[op.index()] + lean(level[op.index()])).fold(f64::INFINITY, f64::min);
    // Deep and narrow graphs lie on their side.
    let lies = count as f64 > 1.5 * widest;
    let points = points.map(|(x, y, kind)| if lies { (y, x - least, kind) } else { (x - least, y, kind) }).collect();
    let lines = graph.edges().map(|(source, edge)| (source.index(), edge.op.index())).collect();
    let dashed =
        graph.edges().enumerate().filter(|(_, (_, edge))| edge.tensor.is_none()).map(|(line, _)| line).collect();
    let mut kinds: Vec<(usize, &str)> = Vec::new();
    kinds.extend(colours.iter().map(|&colour| (colour, known[colour].as_str())));
    Picture { points, squares, lines, dashed, kinds, arrows: true, radius: 4.5 }.svg()
}

fn lean(level: usize) -> f64 {
    [0.0, 5.0, -4.0, 3.0][level % 4]
}
