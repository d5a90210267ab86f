//! The nodes of a GraphDef with all names resolved: inputs, colocation, devices.

use std::collections::HashMap;

use placebench_base::process::{NotEnoughMemory, check_memory};

use super::attributes;
use super::devices;
use super::fault::{Fault, Located};
use super::private::{self, Costs};
use super::proto::{NodeDef, Value};
use super::references;
use super::sizes;
use crate::KindSet;

/// The largest port number that is believed; TensorFlow's widest ops have a few thousand outputs.
const MAX_PORT: u32 = 65_535;

/// What is known of a port here, in a file of measured sizes, and in the graph.
pub(super) const PORT_BYTES: u64 = 16 + 1 + 12;

/// The nodes as a file holds them.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) nodes: Vec<NodeDef>,
    /// The line of each node; empty if the format has none.
    pub(super) lines: Vec<u64>,
}

/// An input: who makes it, at which port (`None`: a control input), and whether it is a reference or handle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub(super) source: u32,
    pub(super) port: Option<u32>,
    pub(super) reference: bool,
    /// Whether it closed a loop and is counted, but no edge.
    pub(super) dropped: bool,
}

/// A node, resolved.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) name: String,
    pub(super) op_type: String,
    pub(super) kinds: KindSet,
    pub(super) inputs: Vec<Input>,
    pub(super) colocated: Vec<u32>,
    /// The frame that an `Enter` names.
    pub(super) frame: Option<String>,
    /// The size of each output port, where known.
    pub(super) outputs: Vec<Option<u64>>,
    /// Whether the op has these outputs and no others.
    pub(super) outputs_known: bool,
    pub(super) costs: Costs,
    /// Equal for nodes of one type that compute the same function of their inputs, where known.
    pub(super) attributes: Option<String>,
}

/// All nodes of a file, resolved, and where each begins.
#[derive(Debug)]
pub(super) struct Structure {
    pub(super) ops: Vec<Op>,
    pub(super) lines: Vec<u64>,
    index: HashMap<String, u32>,
}

impl Structure {
    /// Resolves all names. O(nodes + inputs).
    pub(super) fn resolve(parsed: Parsed) -> Result<Self, Located> {
        let Parsed { nodes, lines } = parsed;
        if nodes.is_empty() {
            return Err(Fault::NoNode.into());
        }
        let line = |index: usize| lines.get(index).copied();
        let mut index = HashMap::with_capacity(nodes.len());
        for (position, node) in nodes.iter().enumerate() {
            let number = position + 1;
            if node.name.is_empty() || node.name.starts_with('^') || node.name.contains(':') {
                return Err(Fault::BadName { number, name: node.name.clone() }.at(line(position)));
            }
            if let Some(first) = index.insert(node.name.clone(), position as u32) {
                let fault = Fault::DuplicateName { name: node.name.clone(), first: first as usize + 1, second: number };
                return Err(fault.at(line(position)));
            }
        }
        let mut ops = Vec::with_capacity(nodes.len());
        for (position, node) in nodes.iter().enumerate() {
            ops.push(resolve_node(node, &nodes, &index).map_err(|fault| fault.at(line(position)))?);
        }
        let mut structure = Self { ops, lines, index };
        structure.widen_outputs()?;
        Ok(structure)
    }

    /// The node of a name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).map(|&index| index as usize)
    }

    /// The line on which a node begins, if the format has lines.
    pub(super) fn line(&self, op: usize) -> Option<u64> {
        self.lines.get(op).copied()
    }

    /// Gives every op the ports that others read.
    fn widen_outputs(&mut self) -> Result<(), Located> {
        let mut widest = vec![0u64; self.ops.len()];
        for input in self.ops.iter().flat_map(|op| &op.inputs) {
            let outputs = input.port.map_or(0, |port| u64::from(port.min(MAX_PORT)) + 1);
            widest[input.source as usize] = widest[input.source as usize].max(outputs);
        }
        check_ports(widest.iter().sum()).map_err(Fault::from)?;
        for consumer in 0..self.ops.len() {
            for position in 0..self.ops[consumer].inputs.len() {
                let Input { source, port: Some(port), .. } = self.ops[consumer].inputs[position] else { continue };
                if let Err(reason) = self.ops[source as usize].reach(port) {
                    let input = format!("{}:{port}", self.ops[source as usize].name);
                    let fault = Fault::BadInput { node: self.ops[consumer].name.clone(), input, reason };
                    return Err(fault.at(self.line(consumer)));
                }
            }
        }
        Ok(())
    }
}

/// Asks for memory for output ports. A file of a few bytes can name the last port of every op.
pub(super) fn check_ports(ports: u64) -> Result<(), NotEnoughMemory> {
    check_memory(&[(ports, PORT_BYTES)], || format!("a graph of {ports} outputs"))
}

impl Op {
    /// Makes sure that the op has a port, or says why it cannot have.
    pub(super) fn reach(&mut self, port: u32) -> Result<(), &'static str> {
        if port > MAX_PORT {
            return Err("has a port number above 65535: no op has that many outputs");
        }
        if (port as usize) < self.outputs.len() {
            return Ok(());
        }
        if self.outputs_known {
            return Err("is an output that its producer does not have");
        }
        self.outputs.resize(port as usize + 1, None);
        Ok(())
    }
}

fn resolve_node(node: &NodeDef, nodes: &[NodeDef], index: &HashMap<String, u32>) -> Result<Op, Fault> {
    let by_reference = references::reference_inputs(&node.op);
    let forwards = references::forwards_handles(&node.op);
    let mut inputs = Vec::with_capacity(node.input.len());
    for (position, input) in node.input.iter().enumerate() {
        let (name, port) = split_input(input).map_err(|reason| Fault::BadInput {
            node: node.name.clone(),
            input: input.clone(),
            reason,
        })?;
        let source = *index.get(name).ok_or_else(|| Fault::UnknownInput {
            node: node.name.clone(),
            input: input.clone(),
            source_node: name.to_owned(),
        })?;
        let handle = |port| !forwards && references::is_handle(&nodes[source as usize], port);
        let reference = port.is_some_and(|port| position < by_reference || handle(port));
        inputs.push(Input { source, port, reference, dropped: false });
    }
    let colocated = colocated_with(node, index)?;
    let device = devices::kinds(&node.device).map_err(|fault| Fault::Device { node: node.name.clone(), fault })?;
    let kinds = match private::kinds(node)? {
        Some(kinds) => kinds,
        None if device == KindSet::ALL && devices::cpu_only(&node.op) => KindSet::only(crate::Kind::Cpu),
        None => device,
    };
    let (outputs, outputs_known) = sizes::outputs(node);
    let costs = private::costs(node)?;
    let attributes = private::attributes(node)?;
    Ok(Op {
        name: node.name.clone(),
        op_type: node.op.clone(),
        kinds,
        inputs,
        colocated,
        frame: frame(node),
        outputs,
        outputs_known,
        costs,
        attributes,
    })
}

/// The frame that an `Enter` names: that of a loop, or of a function's call.
fn frame(node: &NodeDef) -> Option<String> {
    match attributes::value(node, "frame_name") {
        Some(Value::S(name)) if node.op.trim_start_matches("Ref") == "Enter" => {
            Some(String::from_utf8_lossy(name).into_owned())
        }
        _ => None,
    }
}

/// The nodes of a node's `loc:@` classes. Other classes are ignored.
fn colocated_with(node: &NodeDef, index: &HashMap<String, u32>) -> Result<Vec<u32>, Fault> {
    let Some(Value::List(classes)) = attributes::value(node, "_class") else { return Ok(Vec::new()) };
    let targets = classes.s.iter().filter_map(|class| class.strip_prefix(b"loc:@"));
    targets
        .map(|target| {
            let target = String::from_utf8_lossy(target);
            index
                .get(target.as_ref())
                .copied()
                .ok_or_else(|| Fault::UnknownColocation { node: node.name.clone(), target: target.into_owned() })
        })
        .collect()
}

/// Splits `name`, `name:port` or `^name`.
fn split_input(input: &str) -> Result<(&str, Option<u32>), &'static str> {
    if let Some(name) = input.strip_prefix('^') {
        return match name {
            "" => Err("names no node after the '^'"),
            _ if name.starts_with('^') => Err("has more than one '^'"),
            _ if name.contains(':') => Err("is a control input with a port: write '^name'"),
            _ => Ok((name, None)),
        };
    }
    let (name, port) = input.rsplit_once(':').unwrap_or((input, "0"));
    if name.is_empty() {
        return Err("names no node");
    }
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if digits => Ok((name, Some(port))),
        _ => Err("has no port number after the ':'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_a_node_a_port_of_it_or_its_end() {
        assert_eq!(split_input("a/b"), Ok(("a/b", Some(0))));
        assert_eq!(split_input("a:12"), Ok(("a", Some(12))));
        assert_eq!(split_input("^a"), Ok(("a", None)));
        for wrong in ["", "^", "^^a", "^a:0", "a:", "a:-1", "a:+1", "a:x", ":0", "a:99999999999"] {
            assert!(split_input(wrong).is_err(), "{wrong}");
        }
    }
}
