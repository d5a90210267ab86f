//! Names of ops: in ONNX a node needs none, and two may share one.

use std::collections::HashSet;

use super::proto::GraphProto;

/// A name for each input, initializer and node, in this order. Inputs and initializers are called as their values.
///
/// Nodes keep their names if all have one and no name comes twice. Otherwise, each is called as the first value that it
/// makes, which is unique.
pub(super) fn of_graph(graph: &GraphProto, values: &[&str]) -> Vec<String> {
    let own: Vec<&str> = graph.node.iter().map(|node| node.name.as_str()).collect();
    let all: HashSet<&str> = values.iter().chain(&own).copied().collect();
    let unique = all.len() == values.len() + own.len() && !own.contains(&"");
    let nodes = graph.node.iter().enumerate().map(|(position, node)| {
        let first = node.output.iter().find(|output| !output.is_empty());
        match first {
            _ if unique => node.name.clone(),
            Some(first) => first.clone(),
            // A name that no value has: those that are made are all taken.
            None => format!("node {position}: {}", node.op_type),
        }
    });
    values.iter().map(|value| (*value).to_owned()).chain(nodes).collect()
}
