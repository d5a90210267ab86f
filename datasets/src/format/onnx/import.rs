//! From a model to a graph.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::call::{Call, Fault};
use super::content;
use super::dims::Dims;
use super::names;
use super::notes::Notes;
use super::operators::{self, Operators};
use super::proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
use super::tensor::{Element, Tensor};
use crate::format::entry::GraphFile;
use crate::format::options::ReadOptions;
use crate::format::{FormatError, GraphHeader};
use crate::{GraphBuilder, OpId, OpSpec};

/// The op type of an input of the graph.
const INPUT: &str = "Input";
/// The op type of an initializer. Its output is its resident memory: see [`crate::DataflowGraph::outputs_are_resident`].
const INITIALIZER: &str = "Initializer";

const DECLARE: &str = "run onnx.shape_inference.infer_shapes on it, or fold its constants";

/// Reads a model of any tool. O(nodes + values).
pub(super) fn read(path: &Path, model: &ModelProto, options: &ReadOptions) -> Result<GraphFile, FormatError> {
    let Some(graph) = &model.graph else {
        return Err(FormatError::file(path, "the model has no graph").remedy("export it again"));
    };
    check(path, model, graph)?;
    let mut import = Import {
        path,
        dims: Dims::new(&options.dims),
        declared: HashMap::new(),
        values: HashMap::new(),
        builder: GraphBuilder::default(),
        notes: Notes::default(),
    };
    let initialized: HashSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    // Until IR version 3, initializers were listed as inputs, too.
    let inputs: Vec<&ValueInfoProto> =
        graph.input.iter().filter(|info| !initialized.contains(info.name.as_str())).collect();
    let first: Vec<&str> = inputs.iter().map(|info| info.name.as_str()).collect();
    let first: Vec<&str> =
        first.into_iter().chain(graph.initializer.iter().map(|tensor| tensor.name.as_str())).collect();
    let names = names::of_graph(graph, &first);
    import.declare(graph);
    for (info, name) in inputs.iter().zip(&names) {
        import.input(info, name)?;
    }
    for (tensor, name) in graph.initializer.iter().zip(&names[inputs.len()..]) {
        let loaded = content::of_proto(tensor).map_err(|fault| {
            FormatError::item(path, format!("initializer '{}'", tensor.name), fault).remedy("export the model again")
        })?;
        import.initializer(&tensor.name, loaded, name)?;
    }
    for (node, name) in graph.node.iter().zip(&names[first.len()..]) {
        import.node(graph, node, name)?;
    }
    import.dims.check_used(path)?;
    let report = import.notes.report();
    let built = import.builder.build().map_err(|error| FormatError::file(path, error))?;
    let header = GraphHeader { name: graph.name.clone(), title: graph.doc_string.clone(), ..GraphHeader::default() };
    Ok(GraphFile { header, graph: built, report })
}

/// Refuses what is not modelled at all.
fn check(path: &Path, model: &ModelProto, graph: &GraphProto) -> Result<(), FormatError> {
    if !graph.sparse_initializer.is_empty() {
        return Err(FormatError::file(path, "the model has sparse initializers").remedy("make them dense"));
    }
    for node in &graph.node {
        let is_function = model
            .functions
            .iter()
            .any(|function| function.name == node.op_type && own_domain(&function.domain) == own_domain(&node.domain));
        if is_function {
            let fault = FormatError::item(path, item(node), "calls a function of the model");
            return Err(fault.remedy("replace calls by their bodies with onnx.inliner.inline_local_functions"));
        }
        if node.attribute.iter().any(|attribute| attribute.g.is_some()) {
            let fault = FormatError::item(path, item(node), "has a subgraph, which runs as often as data say");
            return Err(fault.remedy("export the model without control flow, or cut the part that matters"));
        }
    }
    Ok(())
}

/// The domain with its short name: ONNX's own has two.
fn own_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// How a node is named in messages.
fn item(node: &NodeProto) -> String {
    let first = node.output.first().map_or("", String::as_str);
    let name = if node.name.is_empty() { first } else { node.name.as_str() };
    format!("node '{name}' ({})", node.op_type)
}

/// A value that an op makes.
struct Made {
    op: OpId,
    port: usize,
    tensor: Tensor,
}

struct Import<'a> {
    path: &'a Path,
    dims: Dims,
    /// The shapes that the file declares, or the name of a dimension of unknown size.
    declared: HashMap<&'a str, Result<Tensor, String>>,
    values: HashMap<&'a str, Made>,
    builder: GraphBuilder,
    notes: Notes,
}

impl<'a> Import<'a> {
    fn declare(&mut self, graph: &'a GraphProto) {
        for info in graph.input.iter().chain(&graph.value_info).chain(&graph.output) {
            if let Some(tensor) = self.dims.declared(info) {
                self.declared.insert(&info.name, tensor);
            }
        }
    }

    fn input(&mut self, info: &'a ValueInfoProto, name: &str) -> Result<(), FormatError> {
        let item = || format!("input '{}'", info.name);
        let tensor = match self.declared.get(info.name.as_str()) {
            Some(Ok(tensor)) => tensor.clone(),
            Some(Err(dim)) => {
                let fault = FormatError::item(self.path, item(), format!("the size of dimension '{dim}' is not known"));
                return Err(fault.remedy(format!("say it, as in 'placebench convert --dim {dim}=1'")));
            }
            None => {
                let fault = FormatError::item(self.path, item(), "has no shape, or is no tensor");
                return Err(fault.remedy("declare a tensor with a shape"));
            }
        };
        let bytes = self.bytes(&tensor, item())?;
        let op = self.builder.add_op(OpSpec { name: Some(name), op_type: Some(INPUT), ..OpSpec::default() }, &[bytes]);
        self.define(&info.name, Made { op, port: 0, tensor }, item())
    }

    fn initializer(&mut self, value: &'a str, tensor: Tensor, name: &str) -> Result<(), FormatError> {
        let item = || format!("initializer '{value}'");
        let bytes = self.bytes(&tensor, item())?;
        self.notes.initializers += 1;
        self.notes.weights = self.notes.weights.saturating_add(bytes);
        let spec = OpSpec { name: Some(name), op_type: Some(INITIALIZER), memory_bytes: bytes, ..OpSpec::default() };
        let op = self.builder.add_op(spec, &[bytes]);
        self.define(value, Made { op, port: 0, tensor }, item())
    }

    fn node(&mut self, graph: &GraphProto, node: &'a NodeProto, name: &str) -> Result<(), FormatError> {
        let mut sources = Vec::with_capacity(node.input.len());
        for value in node.input.iter().filter(|value| !value.is_empty()) {
            let made = self.values.get(value.as_str()).ok_or_else(|| self.missing(graph, node, value))?;
            sources.push((made.op, made.port));
        }
        let tensor = |value: &String| self.values.get(value.as_str()).map(|made| &made.tensor);
        let call = Call { node, inputs: node.input.iter().map(tensor).collect() };
        let known = if own_domain(&node.domain).is_empty() { operators::find(&node.op_type) } else { None };
        let outputs = self.outputs(&call, known)?;
        let cost = match known {
            Some(operators) => operators.cost.of(&call, &outputs.tensors),
            None => outputs.tensors.iter().map(|tensor| tensor.elements().unwrap_or(0) as f64).sum(),
        };
        let sizes =
            outputs.tensors.iter().map(|tensor| self.bytes(tensor, item(node))).collect::<Result<Vec<_>, _>>()?;
        if known.is_none() {
            *self.notes.unknown.entry(node.op_type.clone()).or_default() += 1;
        }
        self.notes.redeclared += outputs.redeclared;
        let spec = OpSpec { name: Some(name), op_type: Some(&node.op_type), ..OpSpec::cost(cost) };
        let op = self.builder.add_op(spec, &sizes);
        for (source, port) in sources {
            self.builder.add_edge(source, port, op).map_err(|error| FormatError::item(self.path, item(node), error))?;
        }
        for (port, (value, tensor)) in node.output.iter().zip(outputs.tensors).enumerate() {
            if !value.is_empty() {
                self.define(value, Made { op, port, tensor }, item(node))?;
            }
        }
        Ok(())
    }

    /// The outputs of a node: as inferred, else as the file declares them.
    fn outputs(&self, call: &Call<'_>, known: Option<&Operators>) -> Result<Outputs, FormatError> {
        let node = call.node;
        let fault = |message: String, remedy: &str| FormatError::item(self.path, item(node), message).remedy(remedy);
        let (mut inferred, reason) = match known.map(|operators| (operators.infer)(call)) {
            Some(Ok(outputs)) => (outputs, "this output is optional, and not modelled".to_owned()),
            Some(Err(Fault::Wrong(message))) => return Err(fault(message, "check the model with onnx.checker")),
            Some(Err(Fault::Unknown(reason))) => (Vec::new(), reason),
            None => (Vec::new(), format!("the operator is not known in the domain '{}'", node.domain)),
        };
        inferred.truncate(node.output.len());
        let mut redeclared = 0;
        for (port, value) in node.output.iter().enumerate() {
            let declared = self.declared.get(value.as_str());
            if value.is_empty() {
                // An optional output that nobody asks for.
                let none = Tensor::new(Element::UINT8, vec![0]);
                if port < inferred.len() {
                    inferred[port] = none
                } else {
                    inferred.push(none)
                }
                continue;
            }
            if let Some(tensor) = inferred.get(port) {
                let differs = |declared: &Tensor| declared.shape != tensor.shape || declared.element != tensor.element;
                redeclared += u64::from(declared.is_some_and(|declared| declared.as_ref().is_ok_and(differs)));
                continue;
            }
            inferred.push(match declared {
                Some(Ok(tensor)) => tensor.clone(),
                Some(Err(dim)) => {
                    let message = format!(
                        "the shape of '{value}' cannot be inferred: {reason}; its dimension '{dim}' has no size"
                    );
                    return Err(fault(message, &format!("say it, as in 'placebench convert --dim {dim}=1'")));
                }
                None => return Err(fault(format!("the shape of '{value}' cannot be inferred: {reason}"), DECLARE)),
            });
        }
        Ok(Outputs { tensors: inferred, redeclared })
    }

    fn bytes(&self, tensor: &Tensor, item: String) -> Result<u64, FormatError> {
        tensor.bytes().ok_or_else(|| match tensor.element.bits() {
            None => FormatError::item(
                self.path,
                item,
                format!("has elements of type {}, whose size is unknown", tensor.element.0),
            )
            .remedy("only numbers and truth values have one; cut what handles text"),
            Some(_) => {
                FormatError::item(self.path, item, format!("has the shape {:?}: 2^64 bytes or more", tensor.shape))
                    .remedy("check the sizes of its dimensions")
            }
        })
    }

    /// Takes note of a value, which must be the only one of its name.
    fn define(&mut self, value: &'a str, made: Made, item: String) -> Result<(), FormatError> {
        match self.values.insert(value, made) {
            None => Ok(()),
            Some(_) => {
                let fault =
                    FormatError::item(self.path, item, format!("makes the value '{value}', which is there already"));
                Err(fault.remedy("give every value a name of its own"))
            }
        }
    }

    fn missing(&self, graph: &GraphProto, node: &NodeProto, value: &str) -> FormatError {
        let later = graph.node.iter().find(|other| other.output.iter().any(|output| output == value));
        let fault = |message: String| FormatError::item(self.path, item(node), message);
        match later {
            Some(later) => fault(format!("reads '{value}', which {} makes later", item(later)))
                .remedy("sort the nodes; if that is impossible, the graph has a cycle"),
            None => fault(format!("reads '{value}', which no node, initializer or input makes"))
                .remedy("keep it when you cut the model"),
        }
    }
}

/// The outputs of a node.
struct Outputs {
    tensors: Vec<Tensor>,
    redeclared: u64,
}
