//! A training step of one layer, with a summary that nothing needs, and a layer that is written twice: small enough to see what a
//! pass does.

use placebench_datasets::{DataflowGraph, GraphBuilder, GraphError, OpId, OpSpec};

/// y = max(x · w), w ← w − s · xᵀy, and the logarithm of y's mean.
pub(crate) fn step() -> Result<DataflowGraph, GraphError> {
    let mut builder = GraphBuilder::default();
    let mut op = |op_type: &str, bytes: u64, inputs: &[OpId]| {
        let id = builder.add_op(OpSpec { op_type: Some(op_type), ..OpSpec::cost(1.0) }, &[bytes]);
        inputs.iter().try_for_each(|&input| builder.add_edge(input, 0, id)).map(|()| id)
    };
    let x = op("input", 800, &[])?;
    let w = op("parameter", 400, &[])?;
    let product = op("dot_general", 1600, &[x, w])?;
    let y = op("max", 1600, &[product])?;
    let gradient = op("dot_general", 400, &[x, y])?;
    let scaled = op("mul", 400, &[gradient])?;
    let update = op("sub", 400, &[w, scaled])?;
    let mean = op("reduce_sum", 4, &[y])?;
    op("log", 4, &[mean])?;
    builder.colocate(w, update)?;
    builder.build()
}

/// Σ max(x · w) + log max(x · w), as a program says it that computes the layer once for each term.
pub(crate) fn written_twice() -> Result<DataflowGraph, GraphError> {
    let mut builder = GraphBuilder::default();
    let mut op = |op_type: &str, bytes: u64, inputs: &[OpId]| {
        let spec = OpSpec { op_type: Some(op_type), attributes: Some("f32"), ..OpSpec::cost(1.0) };
        let id = builder.add_op(spec, &[bytes]);
        inputs.iter().try_for_each(|&input| builder.add_edge(input, 0, id)).map(|()| id)
    };
    let x = op("input", 800, &[])?;
    let w = op("parameter", 400, &[])?;
    let mut terms = Vec::new();
    for last in ["reduce_sum", "log"] {
        let product = op("dot_general", 1600, &[x, w])?;
        let layer = op("max", 1600, &[product])?;
        terms.push(op(last, 4, &[layer])?);
    }
    op("add", 4, &terms)?;
    builder.build()
}
