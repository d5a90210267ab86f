//! A training step of one layer, with a summary that nothing needs, and a layer that is written twice: small enough to see what a
//! pass does.

use std::error::Error;

use placebench_datasets::{
    Cluster, DataflowGraph, DeviceId, GraphBuilder, GraphError, Instance, Kind, Link, OpId, OpSpec, Placement,
};

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

/// Two chains on two devices, whose types say where they are. The second takes tensors of the first, at its end and at its middle.
pub(crate) fn placed() -> Result<(Instance, Placement), Box<dyn Error>> {
    let mut builder = GraphBuilder::default();
    let mut devices = Vec::new();
    let mut chains = Vec::new();
    for (device, name) in ["device 1", "device 2"].into_iter().enumerate() {
        let mut chain: Vec<OpId> = Vec::new();
        for place in 0..6 {
            // What the first ops make is large, so that there is no room for what is needed later.
            let bytes = if place < 2 && device == 1 { 4_000 } else { 1_000 };
            let op = builder.add_op(OpSpec { op_type: Some(name), ..OpSpec::cost(100.0) }, &[bytes]);
            chain.last().map_or(Ok(()), |&before| builder.add_edge(before, 0, op))?;
            chain.push(op);
            devices.push(DeviceId::new(device));
        }
        chains.push(chain);
    }
    for (source, taker) in [(0, 3), (0, 5), (2, 5)] {
        builder.add_edge(chains[0][source], 0, chains[1][taker])?;
    }
    let cluster = Cluster::uniform(2, Kind::Cpu, 10.0, Link { rate: 500.0, latency: 0.1 })?;
    Ok((Instance::new(builder.build()?, cluster)?, Placement::new(devices)))
}
