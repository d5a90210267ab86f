//! The protobuf text format: `graph.pbtxt`.

use std::fmt::Write;

use miette::Diagnostic;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{DynamicMessage, Value};

use super::fault::{Fault, Located};
use super::proto::{AttrValue, NodeDef, descriptor};
use super::structure::Parsed;

/// How deep messages may nest; TensorFlow's own files nest 8 deep. The parser recurses, at up to 25 kB of stack a level when it is
/// not optimised, so this is checked before it runs.
const MAX_DEPTH: usize = 40;

/// Parses the nodes of a GraphDef in text format.
pub(super) fn parse(content: Vec<u8>) -> Result<Parsed, Located> {
    let text = String::from_utf8(content).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        Fault::NotUtf8.at(Some(line_of(error.as_bytes(), valid)))
    })?;
    if text.trim().is_empty() {
        return Err(Fault::Empty.into());
    }
    let lines = node_lines(text.as_bytes())?;
    let graph = DynamicMessage::parse_text_format(descriptor("GraphDef"), &text).map_err(|error| {
        let offset = error.labels().and_then(|mut labels| labels.next()).map_or(text.len(), |label| label.offset());
        Fault::Syntax(error.to_string()).at(Some(line_of(text.as_bytes(), offset)))
    })?;
    let field = graph.get_field_by_name("node");
    let mut nodes = Vec::with_capacity(lines.len());
    for node in field.as_deref().and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_message) {
        let line = lines.get(nodes.len()).copied();
        nodes.push(node.transcode_to::<NodeDef>().map_err(|error| Fault::Syntax(error.to_string()).at(line))?);
    }
    Ok(Parsed { nodes, lines })
}

/// Line number, from 1, of a byte of the content.
fn line_of(content: &[u8], offset: usize) -> u64 {
    let before = &content[..offset.min(content.len())];
    before.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1
}

/// The line on which each `node` of the file begins; refuses what nests too deep for the parser.
fn node_lines(text: &[u8]) -> Result<Vec<u64>, Located> {
    let (mut at, mut depth, mut line, mut lines) = (0, 0usize, 1, Vec::new());
    let mut field: &[u8] = &[];
    while let Some(&first) = text.get(at) {
        let rest = &text[at..];
        let mut length = 1;
        match first {
            b'\n' => line += 1,
            b'#' => length = length_until(rest, |byte| byte == b'\n'),
            b'"' | b'\'' => length = literal_length(rest),
            b'{' | b'<' => {
                if depth == 0 && field == b"node" {
                    lines.push(line);
                }
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(Fault::TooDeep(MAX_DEPTH).at(Some(line)));
                }
            }
            b'}' | b'>' => depth = depth.saturating_sub(1),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                length = length_until(rest, |byte| !(byte.is_ascii_alphanumeric() || byte == b'_'));
                if depth == 0 {
                    field = &rest[..length];
                }
            }
            _ => {}
        }
        at += length;
    }
    Ok(lines)
}

fn length_until(text: &[u8], end: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&byte| end(byte)).unwrap_or(text.len())
}

/// Length of the string literal that the text begins with; a literal ends with its line at the latest.
fn literal_length(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != b'\n' {
        if text[at] == text[0] {
            return at + 1;
        }
        let escape = text[at] == b'\\' && text.get(at + 1).is_some_and(|&byte| byte != b'\n');
        at += if escape { 2 } else { 1 };
    }
    at
}

/// Writes nodes in text format.
///
/// The nodes are laid out here because reflection writes maps in the order of a hash map; only the attributes' values, which hold
/// none, are left to it.
pub(super) fn format(nodes: &[NodeDef]) -> String {
    let mut text = String::new();
    for node in nodes {
        text.push_str("node {\n");
        field(&mut text, 2, "name", &node.name);
        field(&mut text, 2, "op", &node.op);
        for input in &node.input {
            field(&mut text, 2, "input", input);
        }
        if !node.device.is_empty() {
            field(&mut text, 2, "device", &node.device);
        }
        for (key, value) in &node.attr {
            text.push_str("  attr {\n");
            field(&mut text, 4, "key", key);
            text.push_str("    value {\n");
            for line in attribute(value).lines() {
                let _ = writeln!(text, "      {line}");
            }
            text.push_str("    }\n  }\n");
        }
        text.push_str("}\n");
    }
    text
}

fn attribute(value: &AttrValue) -> String {
    let mut message = DynamicMessage::new(descriptor("AttrValue"));
    message.transcode_from(value).expect("descriptor and type come from the same file");
    message.to_text_format_with_options(&FormatOptions::new().pretty(true))
}

fn field(text: &mut String, indent: usize, name: &str, value: &str) {
    let _ = write!(text, "{:indent$}{name}: \"", "");
    for byte in value.bytes() {
        let _ = match byte {
            b'"' | b'\\' => write!(text, "\\{}", char::from(byte)),
            b' '..=b'~' => write!(text, "{}", char::from(byte)),
            _ => write!(text, "\\{byte:03o}"),
        };
    }
    text.push_str("\"\n");
}
