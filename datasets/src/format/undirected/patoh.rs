//! Hypergraphs as PaToH reads them (Ü. V. Çatalyürek, C. Aykanat: PaToH, Partitioning Tool for Hypergraphs, manual of
//! version 3.2, §3).

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
    name: "patoh",
    mark: Mark::Extensions(&["u", "patoh"]),
    title: "PaToH, a row for each net",
    lacks: &[Detail::EmptyNets, Detail::WideWeights],
    options: &[],
    holds: Holds::Hypergraph {
        read: |path, unit_nets| {
            let read = read_patoh(path)?;
            Ok(if unit_nets { read.without_net_weights() } else { read })
        },
        write: |path, hypergraph| write_patoh(path, hypergraph),
    },
};

/// What the first line says.
struct Header {
    /// The line that says it.
    line: u64,
    base: u64,
    cells: u32,
    nets: u64,
    pins: u64,
    cell_weights: bool,
    net_weights: bool,
}

impl Header {
    fn parse(line: &Line<'_>) -> Result<Self, FormatError> {
        let words: Vec<&[u8]> = line.words().collect();
        if !(4..=6).contains(&words.len()) {
            let fault = line.fault(format!("the header has {}", counted(words.len() as u64, "number")));
            return Err(fault.remedy("write 'base cells nets pins [weights]'"));
        }
        let base = line.whole(words[0], "the number of the first cell")?;
        if base > 1 {
            let fault = line.fault(format!("the first cell has the number {base}"));
            return Err(fault.remedy("begin with 0 or 1; cells, nets and pins follow"));
        }
        let cells = line.whole(words[1], "the number of cells")?;
        let nets = line.whole(words[2], "the number of nets")?;
        let pins = line.whole(words[3], "the number of pins")?;
        let cells = check_vertex_count(cells, nets, "net").map_err(|message| line.fault(message).remedy(RENUMBER))?;
        let (cell_weights, net_weights) = match words.get(4).copied() {
            None | Some(b"0") => (false, false),
            Some(b"1") => (true, false),
            Some(b"2") => (false, true),
            Some(b"3") => (true, true),
            Some(other) => {
                let fault = line.fault(format!("the weighting scheme is '{}'", String::from_utf8_lossy(other)));
                return Err(fault.remedy("write 1 for cell weights, 2 for net weights, 3 for both"));
            }
        };
        let constraints = words.get(5).map_or(Ok(1), |word| line.whole(word, "the number of constraints"))?;
        if constraints > 1 {
            let fault = line.fault(format!("there are {constraints} weights a cell (constraints)"));
            return Err(fault.remedy("keep one: blocks are balanced by one weight here"));
        }
        Ok(Self { line: line.number, base, cells: cells as u32, nets, pins, cell_weights, net_weights })
    }
}

/// Reads a hypergraph in the format of PaToH. The weights of cells may stand in any number of lines.
///
/// # Errors
/// With the line of the fault.
///
/// # Complexity
/// O(bytes + pins · log largest net) time; the hypergraph and the longest line.
pub fn read_patoh(path: impl AsRef<Path>) -> Result<Hypergraph, FormatError> {
    let path = path.as_ref();
    let mut lines = Lines::open(path)?;
    let header = match lines.next_content(b"%")? {
        Some(line) => Header::parse(&line)?,
        None => return Err(FormatError::file(path, "is empty").remedy("start with 'base cells nets pins'")),
    };
    let correct = format!("add the others, or correct line {}", header.line);
    let mut nets = NetRows::new(header.base, header.cells, header.net_weights);
    while nets.len() < header.nets {
        let Some(line) = lines.next_row(b"%")? else {
            let message = format!("ends after {} of {}", counted(nets.len(), "net"), header.nets);
            return Err(FormatError::at_line(path, lines.number(), message).remedy(correct));
        };
        nets.read(&line)?;
    }
    let pins = nets.pins.len() as u64;
    if pins != header.pins {
        let message = format!("the header says {}, but the nets have {pins}", counted(header.pins, "pin"));
        let remedy = "correct it; net weights stand in the rows only with the weighting scheme 2 or 3";
        return Err(FormatError::at_line(path, header.line, message).remedy(remedy));
    }
    let mut cells = VertexWeights::default();
    while let Some(line) = lines.next_content(b"%")? {
        if !header.cell_weights {
            let remedy = format!("remove it, or correct line {}; cell weights need the scheme 1 or 3", header.line);
            return Err(line.fault("is a line too many").remedy(remedy));
        }
        for word in line.words() {
            if cells.weights.len() == header.cells as usize {
                let message = format!("has more weights than there are cells, {}", header.cells);
                return Err(line.fault(message).remedy("remove the others"));
            }
            cells.read(&line, word)?;
        }
    }
    if header.cell_weights && cells.weights.len() < header.cells as usize {
        let message = format!("ends after {} of {}", counted(cells.weights.len() as u64, "cell weight"), header.cells);
        return Err(FormatError::at_line(path, lines.number(), message).remedy(correct));
    }
    let cell_weights = header.cell_weights.then_some(cells.weights);
    let net_weights = nets.weights();
    Hypergraph::from_nets(header.cells as usize, nets.offsets, nets.pins, net_weights, cell_weights)
        .map_err(|error| FormatError::file(path, error))
}

/// Writes a hypergraph in the format of PaToH, numbered from 1, with the weights that it has, a cell weight a line. They
/// are scaled as [`write_hmetis`](super::write_hmetis) does, since PaToH has 32 bits for them, too.
///
/// # Errors
/// If a net has no pins; if the file cannot be written.
pub fn write_patoh(path: impl AsRef<Path>, hypergraph: &Hypergraph) -> Result<(), FormatError> {
    let path = path.as_ref();
    if let Some(net) = (0..hypergraph.net_count()).find(|&net| hypergraph.pins(net).is_empty()) {
        return Err(FormatError::file(path, format!("net {net} has no pins, which PaToH files cannot say")));
    }
    let (cells, nets) = (Narrow::of_pins(hypergraph), Narrow::of_nets(hypergraph));
    let io = |error| FormatError::io(path, error);
    write_file(path, |out| {
        let scheme = match (hypergraph.vertex_weights().is_some(), hypergraph.net_weights().is_some()) {
            (false, false) => "",
            (true, false) => " 1",
            (false, true) => " 2",
            (true, true) => " 3",
        };
        let [vertices, rows, pins] = [hypergraph.vertex_count(), hypergraph.net_count(), hypergraph.pin_count()];
        writeln!(out, "1 {vertices} {rows} {pins}{scheme}").map_err(io)?;
        for net in 0..hypergraph.net_count() {
            let weight = hypergraph.net_weights().map(|_| nets.weight(hypergraph.net_weight(net)));
            let pins = hypergraph.pins(net).iter().map(|&pin| u64::from(pin) + 1);
            let words: Vec<String> = weight.into_iter().chain(pins).map(|number| number.to_string()).collect();
            writeln!(out, "{}", words.join(" ")).map_err(io)?;
        }
        for &weight in hypergraph.vertex_weights().unwrap_or_default() {
            writeln!(out, "{}", cells.weight(weight)).map_err(io)?;
        }
        Ok(())
    })
}
