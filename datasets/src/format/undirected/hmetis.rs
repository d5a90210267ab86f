//! Hypergraphs as hMETIS reads them (hMETIS 1.5 manual, §4.1).

use std::io::Write;
use std::path::Path;

use super::lines::{Line, Lines, RENUMBER, check_vertex_count};
use super::narrow::Narrow;
use super::net_rows::{NetRows, VertexWeights};
use crate::Hypergraph;
use crate::format::atomic::write_file;
use crate::format::entry::{Format, Holds, Mark};
use crate::format::text::counted;
use crate::format::{Detail, FormatError};

/// The line of the table of formats.
pub(in crate::format) static FORMAT: Format = Format {
    name: "hmetis",
    mark: Mark::Extensions(&["hgr", "hmetis"]),
    title: "hMETIS, a row for each net",
    lacks: &[Detail::EmptyNets, Detail::WideWeights],
    options: &[],
    holds: Holds::Hypergraph {
        read: |path, unit_nets| {
            let read = read_hmetis(path)?;
            Ok(if unit_nets { read.without_net_weights() } else { read })
        },
        write: |path, hypergraph| write_hmetis(path, hypergraph),
    },
};

/// What the first line says.
struct Header {
    nets: u64,
    vertices: u32,
    net_weights: bool,
    vertex_weights: bool,
}

impl Header {
    fn parse(line: &Line<'_>) -> Result<Self, FormatError> {
        let words: Vec<&[u8]> = line.words().collect();
        if !(2..=3).contains(&words.len()) {
            let fault = line.fault(format!("the header has {}", counted(words.len() as u64, "number")));
            return Err(fault.remedy("write 'nets vertices [fmt]'"));
        }
        let nets = line.whole(words[0], "the number of nets")?;
        let vertices = line.whole(words[1], "the number of vertices")?;
        let vertices =
            check_vertex_count(vertices, nets, "net").map_err(|message| line.fault(message).remedy(RENUMBER))?;
        let (net_weights, vertex_weights) = match words.get(2).copied() {
            None | Some(b"0" | b"00") => (false, false),
            Some(b"1" | b"01") => (true, false),
            Some(b"10") => (false, true),
            Some(b"11") => (true, true),
            Some(other) => {
                let fault = line.fault(format!("fmt is '{}'", String::from_utf8_lossy(other)));
                return Err(fault.remedy("write 1 for net weights, 10 for vertex weights, 11 for both"));
            }
        };
        Ok(Self { nets, vertices: vertices as u32, net_weights, vertex_weights })
    }
}

/// Reads a hypergraph in the format of hMETIS.
///
/// # Errors
/// With the line of the fault.
///
/// # Complexity
/// O(bytes + pins · log largest net) time; the hypergraph and the longest line.
pub fn read_hmetis(path: impl AsRef<Path>) -> Result<Hypergraph, FormatError> {
    let path = path.as_ref();
    let mut lines = Lines::open(path)?;
    let header = match lines.next_content(b"%")? {
        Some(line) => Header::parse(&line)?,
        None => return Err(FormatError::file(path, "is empty").remedy("start with 'nets vertices'")),
    };
    let mut nets = NetRows::new(1, header.vertices, header.net_weights);
    while nets.len() < header.nets {
        let Some(line) = lines.next_row(b"%")? else {
            let message = format!("ends after {} of {}", counted(nets.len(), "net"), header.nets);
            return Err(FormatError::at_line(path, lines.number(), message).remedy("add the others, or correct line 1"));
        };
        nets.read(&line)?;
    }
    let mut vertices = VertexWeights::default();
    if header.vertex_weights {
        for vertex in 0..header.vertices {
            let Some(line) = lines.next_content(b"%")? else {
                let message = format!("ends after {} of {}", counted(vertex.into(), "vertex weight"), header.vertices);
                let fault = FormatError::at_line(path, lines.number(), message);
                return Err(fault.remedy("add the others, or write fmt without the 10"));
            };
            vertices.read(&line, line.text)?;
        }
    }
    if let Some(line) = lines.next_content(b"%")? {
        let what = if header.vertex_weights { "vertex weight" } else { "net" };
        return Err(line.fault(format!("is a {what} too many")).remedy("correct line 1, or remove it"));
    }
    let vertex_weights = header.vertex_weights.then_some(vertices.weights);
    let net_weights = nets.weights();
    Hypergraph::from_nets(header.vertices as usize, nets.offsets, nets.pins, net_weights, vertex_weights)
        .map_err(|error| FormatError::file(path, error))
}

/// Writes a hypergraph in the format of hMETIS, with the weights that it has. Tools add them up in 32 bits: if those of
/// the vertices come to 2³¹ or more, or those of the nets, each counted once for every pin but one, they are scaled
/// down to less. None becomes 0.
///
/// # Errors
/// If a net has no pins, which the format does not have; if the file cannot be written.
pub fn write_hmetis(path: impl AsRef<Path>, hypergraph: &Hypergraph) -> Result<(), FormatError> {
    let path = path.as_ref();
    if let Some(net) = (0..hypergraph.net_count()).find(|&net| hypergraph.pins(net).is_empty()) {
        return Err(FormatError::file(path, format!("net {net} has no pins, which hMETIS files cannot say")));
    }
    let (vertices, nets) = (Narrow::of_pins(hypergraph), Narrow::of_nets(hypergraph));
    let io = |error| FormatError::io(path, error);
    write_file(path, |out| {
        let format = match (hypergraph.net_weights().is_some(), hypergraph.vertex_weights().is_some()) {
            (false, false) => "",
            (true, false) => " 1",
            (false, true) => " 10",
            (true, true) => " 11",
        };
        writeln!(out, "{} {}{format}", hypergraph.net_count(), hypergraph.vertex_count()).map_err(io)?;
        for net in 0..hypergraph.net_count() {
            let mut separator = "";
            if hypergraph.net_weights().is_some() {
                write!(out, "{}", nets.weight(hypergraph.net_weight(net))).map_err(io)?;
                separator = " ";
            }
            for &pin in hypergraph.pins(net) {
                write!(out, "{separator}{}", u64::from(pin) + 1).map_err(io)?;
                separator = " ";
            }
            writeln!(out).map_err(io)?;
        }
        for &weight in hypergraph.vertex_weights().unwrap_or_default() {
            writeln!(out, "{}", vertices.weight(weight)).map_err(io)?;
        }
        Ok(())
    })
}
