//! The attributes in which this suite keeps what a GraphDef has no field for: costs, layers, digests of
//! attributes and sets of kinds.
//!
//! All are strings, and begin with an underscore, so TensorFlow carries them along unread. Numbers are written in decimal, since
//! the format's own floating-point attributes have 32 bits.

use prost::Message;
use sha2::{Digest, Sha256};

use super::attributes::value;
use super::fault::Fault;
use super::proto::{AttrValue, NodeDef, TensorProto, Value};
use super::sizes;
use crate::format::sha256::hex;
use crate::{DataflowGraph, KindSet, OpId};

/// The op type that stands for "none" in a file, where every node has one.
pub(super) const GENERIC_OP: &str = "Op";

const OPS: &str = "_placebench_ops";
const MEMORY: &str = "_placebench_memory_bytes";
const LAYER: &str = "_placebench_layer";
const ATTRIBUTES: &str = "_placebench_attributes";
const KINDS: &str = "_placebench_kinds";
const BYTES_MOVED: &str = "_placebench_bytes_moved";
/// Around the name of a class: the measured time on it, in seconds.
const TIME: (&str, &str) = ("_placebench_", "_time");

/// What a node costs, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs {
    pub(super) ops: Option<f64>,
    pub(super) memory_bytes: u64,
    pub(super) bytes_moved: Option<f64>,
    /// Measured times in seconds by class of devices.
    pub(super) times: Vec<(String, f64)>,
    pub(super) layer: Option<String>,
    /// Whether the time on the CPU, and with it the operations, are of a whole step, however often the node runs in it.
    pub(super) of_step: bool,
}

impl Costs {
    /// Makes the costs of a step those of one of so many runs.
    pub(super) fn divide(&mut self, runs: u64) {
        if self.of_step {
            let runs = runs as f64;
            self.ops = self.ops.map(|ops| ops / runs);
            self.times.iter_mut().filter(|(class, _)| class == "cpu").for_each(|(_, time)| *time /= runs);
        }
    }
}

/// The costs that a node carries.
pub(super) fn costs(node: &NodeDef) -> Result<Costs, Fault> {
    let mut times = Vec::new();
    let mut attributes: Vec<&String> = node.attr.keys().collect();
    attributes.sort_unstable();
    for attribute in attributes {
        let class = attribute.strip_prefix(TIME.0).and_then(|rest| rest.strip_suffix(TIME.1));
        if let Some(class) = class {
            times.extend(number(node, attribute)?.map(|time| (class.to_owned(), time)));
        }
    }
    let memory_bytes = parse(node, MEMORY, "a whole number of bytes")?.unwrap_or_else(|| sizes::resident_bytes(node));
    let layer = text(node, LAYER)?.map(str::to_owned);
    let (ops, bytes_moved) = (number(node, OPS)?, number(node, BYTES_MOVED)?);
    Ok(Costs { ops, memory_bytes, bytes_moved, times, layer, of_step: false })
}

/// The kinds that a node carries, where a device string cannot say them.
pub(super) fn kinds(node: &NodeDef) -> Result<Option<KindSet>, Fault> {
    parse(node, KINDS, "kinds like CPU|GPU")
}

/// Adds to a node what the graph knows of its op and the other fields do not say.
pub(super) fn annotate(node: &mut NodeDef, graph: &DataflowGraph, op: OpId, kinds_said: bool) {
    let mut set = |name: &str, value: String| {
        node.attr.insert(name.to_owned(), AttrValue { value: Some(Value::S(value.into_bytes())) });
    };
    set(OPS, graph.ops(op).to_string());
    set(MEMORY, graph.memory_bytes(op).to_string());
    if let Some(bytes) = graph.bytes_moved(op) {
        set(BYTES_MOVED, bytes.to_string());
    }
    for times in graph.measured_times() {
        if let Some(time) = times.of(op) {
            set(&format!("{}{}{}", TIME.0, times.class(), TIME.1), time.to_string());
        }
    }
    if let Some(layer) = graph.layers().and_then(|layers| layers.get(op.index())) {
        set(LAYER, layer.to_owned());
    }
    if let Some(attributes) = graph.attributes().and_then(|attributes| attributes.get(op.index())) {
        set(ATTRIBUTES, attributes.to_owned());
    }
    if !kinds_said {
        set(KINDS, graph.kinds(op).to_string());
    }
}

/// What says which nodes of one type compute the same function of their inputs: the text of the attribute for it, else 16 digits
/// of a digest of all public attributes, whatever their order. Names of private ones begin with an underscore; a node that has
/// no other says nothing.
pub(super) fn attributes(node: &NodeDef) -> Result<Option<String>, Fault> {
    if let Some(given) = text(node, ATTRIBUTES)? {
        return Ok(Some(given.to_owned()));
    }
    let mut public: Vec<(&String, &AttrValue)> = node.attr.iter().filter(|(name, _)| !name.starts_with('_')).collect();
    if public.is_empty() || public.iter().any(|(_, value)| lacks_content(value)) {
        return Ok(None);
    }
    public.sort_unstable_by_key(|&(name, _)| name);
    let mut digest = Sha256::new();
    for (name, value) in public {
        // Lengths first, so that no two lists of names and values give the same bytes. Maps are encoded by ascending keys.
        for part in [name.as_bytes(), &value.encode_to_vec()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
    }
    Ok(Some(hex(&digest.finalize()[..8])))
}

/// Whether a value is a tensor with elements but without their content, which tools leave out of large constants.
fn lacks_content(value: &AttrValue) -> bool {
    let Some(Value::Tensor(tensor)) = &value.value else { return false };
    let bare = TensorProto {
        dtype: tensor.dtype,
        tensor_shape: tensor.tensor_shape.clone(),
        version_number: tensor.version_number,
        ..TensorProto::default()
    };
    let has_elements = tensor.tensor_shape.iter().all(|shape| shape.dim.iter().all(|dim| dim.size != 0));
    has_elements && *tensor == bare
}

fn number(node: &NodeDef, attribute: &str) -> Result<Option<f64>, Fault> {
    let expected = "a number of at least 0";
    let number: Option<f64> = parse(node, attribute, expected)?;
    match number {
        Some(value) if !(value.is_finite() && value >= 0.0) => Err(bad(node, attribute, &value.to_string(), expected)),
        number => Ok(number),
    }
}

fn parse<T: std::str::FromStr>(node: &NodeDef, attribute: &str, expected: &'static str) -> Result<Option<T>, Fault> {
    let parsed = |text: &str| text.parse().map_err(|_| bad(node, attribute, text, expected));
    text(node, attribute)?.map(parsed).transpose()
}

fn text<'a>(node: &'a NodeDef, attribute: &str) -> Result<Option<&'a str>, Fault> {
    match value(node, attribute) {
        None => Ok(None),
        Some(Value::S(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(bad(node, attribute, &String::from_utf8_lossy(bytes), "text")),
        },
        Some(_) => Err(bad(node, attribute, "another type", "a string")),
    }
}

fn bad(node: &NodeDef, attribute: &str, value: &str, expected: &'static str) -> Fault {
    let attribute = attribute.to_owned();
    Fault::BadAttribute { node: node.name.clone(), attribute, value: value.escape_debug().to_string(), expected }
}
