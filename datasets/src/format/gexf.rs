//! GEXF 1.3, for Gephi.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use super::atomic::write_file;
use super::entry::{Format, Holds, Mark};
use super::values::{self, Value};
use super::{Detail, FormatError, GraphHeader, xml};
use crate::DataflowGraph;

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "gexf",
    mark: Mark::Extensions(&["gexf"]),
    title: "GEXF 1.3, for Gephi",
    lacks: &[Detail::Licence, Detail::Units, Detail::Provenance, Detail::KindRule],
    options: &[],
    holds: Holds::Graph { read: None, write: Some(write) },
};

fn write(path: &Path, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let io = |error| FormatError::io(path, error);
    let attributes = |values: Vec<(Cow<'_, str>, Value)>| -> Result<String, FormatError> {
        let one = |(name, value): (Cow<'_, str>, Value)| {
            Ok(format!("<attvalue for=\"{name}\" value=\"{}\"/>", xml::escaped(path, &value.text())?))
        };
        let values: String = values.into_iter().map(one).collect::<Result<_, FormatError>>()?;
        Ok(if values.is_empty() { values } else { format!("<attvalues>{values}</attvalues>") })
    };
    let (name, title) = (xml::escaped(path, &header.name)?, xml::escaped(path, &header.title)?);
    write_file(path, |out| {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>").map_err(io)?;
        writeln!(out, "<gexf xmlns=\"http://gexf.net/1.3\" version=\"1.3\">").map_err(io)?;
        writeln!(
            out,
            "<meta><creator>placebench</creator><title>{name}</title><description>{title}</description></meta>"
        )
        .map_err(io)?;
        writeln!(out, "<graph defaultedgetype=\"directed\" mode=\"static\">").map_err(io)?;
        for (of, types) in [("node", values::node_types(graph)), ("edge", values::edge_types())] {
            writeln!(out, "<attributes class=\"{of}\">").map_err(io)?;
            for (name, example) in types {
                let of_type = match example {
                    Value::Real(_) => "double",
                    Value::Whole(_) => "long",
                    Value::Text(_) => "string",
                };
                writeln!(out, "<attribute id=\"{name}\" title=\"{name}\" type=\"{of_type}\"/>").map_err(io)?;
            }
            writeln!(out, "</attributes>").map_err(io)?;
        }
        writeln!(out, "<nodes>").map_err(io)?;
        for op in graph.op_ids() {
            let label = graph.name(op).map_or_else(|| op.to_string(), str::to_owned);
            let (label, values) = (xml::escaped(path, &label)?, attributes(values::of_op(graph, op))?);
            writeln!(out, "<node id=\"{op}\" label=\"{label}\">{values}</node>").map_err(io)?;
        }
        writeln!(out, "</nodes>\n<edges>").map_err(io)?;
        for (id, (edge, target)) in values::edges_by_consumer(graph).enumerate() {
            let values = attributes(values::of_edge(graph, edge))?;
            writeln!(out, "<edge id=\"{id}\" source=\"{}\" target=\"{target}\">{values}</edge>", edge.op)
                .map_err(io)?;
        }
        writeln!(out, "</edges>\n</graph>\n</gexf>").map_err(io)
    })
}
