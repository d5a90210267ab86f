//! Finds the format of a path in the table, and reads or writes the path in it.

use std::fs;
use std::io;
use std::mem::discriminant;
use std::path::Path;

use super::compressed::{self, without_compression};
use super::entry::{Format, GraphFile, Holds, Mark, strip_extension};
use super::native::{HEADER_FILE, read_native_header};
use super::options::{ReadOption, ReadOptions};
use super::table::FORMATS;
use super::{Detail, FormatError, GraphHeader, json};
use crate::{Cluster, DataflowGraph, Kinds};
use placebench_base::{check_file, did_you_mean, nearest};

/// What is about to happen with a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Read,
    Write,
}

/// Reads a graph in any format with the default options. A format without a header gives the graph the file's name.
///
/// # Errors
/// If the format is unknown, with the formats that are known; as the format's own reader.
pub fn read_graph(path: impl AsRef<Path>) -> Result<(GraphHeader, DataflowGraph), FormatError> {
    read_graph_with(path, &ReadOptions::default()).map(|file| (file.header, file.graph))
}

/// Reads a graph in any format.
///
/// # Errors
/// As [`read_graph`]; if the format does not take an option that is given, with the formats that do; if the graph is empty.
pub fn read_graph_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<GraphFile, FormatError> {
    let path = path.as_ref();
    let (format, read) = find(path, "graph", Purpose::Read, |format| match format.holds {
        Holds::Graph { read, .. } => read,
        _ => None,
    })?;
    check_options(path, format, options)?;
    let mut file = read(path, options)?;
    if file.header.name.is_empty() {
        file.header.name = graph_name(path);
    }
    match file.graph.op_count() {
        0 => Err(FormatError::file(path, "the graph has no op").remedy("a graph has at least one")),
        _ => Ok(file),
    }
}

/// Which kinds of devices the ops of a graph in any format may run on by its header. The graph itself is read only where the
/// header cannot be had without.
///
/// # Errors
/// As [`read_graph`].
pub fn read_kinds(path: impl AsRef<Path>) -> Result<Kinds, FormatError> {
    let path = path.as_ref();
    let (format, read) = find(path, "graph", Purpose::Read, |format| match format.holds {
        Holds::Graph { read, .. } => read,
        _ => None,
    })?;
    match format.mark {
        _ if format.lacks.contains(&Detail::KindRule) => Ok(Kinds::default()),
        Mark::Folder(HEADER_FILE) => Ok(read_native_header(path)?.kinds),
        _ => Ok(read(path, &ReadOptions::default())?.header.kinds),
    }
}

/// The name of a graph whose file says none: the file's, without its extensions.
fn graph_name(path: &Path) -> String {
    let long = FORMATS.iter().flat_map(|format| format.extensions()).filter(|extension| extension.contains('.'));
    long.into_iter()
        .find_map(|extension| strip_extension(path, extension))
        .unwrap_or_else(|| without_compression(path).file_stem().unwrap_or_default().to_string_lossy().into_owned())
}

/// Writes a graph in the format of the path's extension; a path without extension becomes a graph folder.
///
/// # Errors
/// If the format is unknown, with the formats that are known; as the format's own writer.
pub fn write_graph(path: impl AsRef<Path>, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let path = path.as_ref();
    let (_, write) = find(path, "graph", Purpose::Write, |format| match format.holds {
        Holds::Graph { write, .. } => write,
        _ => None,
    })?;
    write(path, header, graph)
}

/// The format in which [`write_graph`] writes a path.
///
/// # Errors
/// If the format is unknown, with the formats that are known.
pub fn graph_format(path: impl AsRef<Path>) -> Result<&'static Format, FormatError> {
    let write = |format: &Format| match format.holds {
        Holds::Graph { write, .. } => write,
        _ => None,
    };
    find(path.as_ref(), "graph", Purpose::Write, write).map(|(format, _)| format)
}

/// Reads a cluster in any format.
///
/// # Errors
/// If the format is unknown, with the formats that are known; as the format's own reader.
pub fn read_cluster(path: impl AsRef<Path>) -> Result<Cluster, FormatError> {
    let path = path.as_ref();
    let (_, read) = find(path, "cluster", Purpose::Read, |format| match format.holds {
        Holds::Cluster { read, .. } => Some(read),
        _ => None,
    })?;
    read(path)
}

/// Writes a cluster in the format of the path's extension.
///
/// # Errors
/// If the format is unknown, with the formats that are known; as the format's own writer.
pub fn write_cluster(path: impl AsRef<Path>, cluster: &Cluster) -> Result<(), FormatError> {
    let path = path.as_ref();
    let (_, write) = find(path, "cluster", Purpose::Write, |format| match format.holds {
        Holds::Cluster { write, .. } => write,
        _ => None,
    })?;
    write(path, cluster)
}

/// The format of undirected graphs or hypergraphs that the extension of a path says, if it says one.
pub fn undirected_format(path: impl AsRef<Path>) -> Option<&'static Format> {
    let path = path.as_ref();
    FORMATS.into_iter().find(|format| format.is_undirected() && is_of(format, path, Purpose::Read))
}

/// The format of undirected graphs or hypergraphs of a name.
///
/// # Errors
/// If there is none, with the nearest name.
pub fn undirected_format_named(name: &str) -> Result<&'static Format, String> {
    let known = || FORMATS.into_iter().filter(|format| format.is_undirected());
    known().find(|format| format.name == name).ok_or_else(|| {
        format!("unknown graph format '{name}': {}", did_you_mean(name, known().map(|format| format.name)))
    })
}

/// The formats that take an option, for messages: `graphdef (.pb), graphdef_text (.pbtxt, .prototxt)`.
pub fn formats_taking(option: ReadOption) -> String {
    let takers = FORMATS.into_iter().filter(|format| format.options.contains(&option));
    takers.map(|format| format!("{} ({})", format.name, format.mark)).collect::<Vec<_>>().join(", ")
}

/// Refuses options that a format does not take, and names the formats that do.
fn check_options(path: &Path, format: &Format, options: &ReadOptions) -> Result<(), FormatError> {
    match options.given().into_iter().find(|option| !format.options.contains(option)) {
        None => Ok(()),
        Some(option) => {
            let message = format!("the format '{}' takes no {option}", format.name);
            Err(FormatError::file(path, message).remedy(format!("{option} is for {}", formats_taking(option))))
        }
    }
}

fn is_of(format: &Format, path: &Path, purpose: Purpose) -> bool {
    match (&format.mark, purpose) {
        (Mark::Extensions(_), Purpose::Read) => format.has_extension_of(path) && !path.is_dir(),
        (Mark::Extensions(_), Purpose::Write) => format.has_extension_of(path),
        (Mark::Json(..), _) => format.has_extension_of(path),
        (Mark::Folder(sign), Purpose::Read) => path.join(sign).exists(),
        (Mark::Folder(_), Purpose::Write) => path.extension().is_none(),
        (Mark::Nothing, _) => false,
    }
}

/// The formats that a path shows, and that a file `.json` shows by its keys.
fn shown(path: &Path, purpose: Purpose) -> Result<Vec<&'static Format>, FormatError> {
    let mut shown: Vec<_> = FORMATS.into_iter().filter(|format| is_of(format, path, purpose)).collect();
    let is_json = without_compression(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if shown.is_empty() && is_json && purpose == Purpose::Read && !path.is_dir() {
        let found = json::top_keys(path, &compressed::read_text(path)?)?;
        let has = |format: &&Format| match format.mark {
            Mark::Json(_, keys) => keys.iter().all(|&key| found.iter().any(|found| found == key)),
            _ => false,
        };
        shown.extend(FORMATS.into_iter().filter(has));
    }
    Ok(shown)
}

/// The format of a path among those for which `select` finds a reader or writer, with that function.
fn find<F>(
    path: &Path,
    what: &str,
    purpose: Purpose,
    select: impl Fn(&Format) -> Option<F>,
) -> Result<(&'static Format, F), FormatError> {
    if purpose == Purpose::Read {
        check_access(path).map_err(|error| FormatError::io(path, error))?;
    }
    let shown = shown(path, purpose)?;
    shown.iter().find_map(|&format| Some((format, select(format)?))).ok_or_else(|| {
        // Commands write a dataflow graph also as an undirected graph, so those formats are among the remedies.
        let views = purpose == Purpose::Write && what == "graph";
        let is_known = |format: &&Format| select(format).is_some() || views && format.is_undirected();
        let known: Vec<_> = FORMATS.into_iter().filter(is_known).collect();
        refusal(path, what, purpose, &known, shown.first().copied())
    })
}

/// Whether there is something at a path that can be looked into: a folder that nobody may enter is no folder of another kind.
fn check_access(path: &Path) -> io::Result<()> {
    check_file(path)?;
    if fs::metadata(path)?.is_dir() {
        fs::read_dir(path)?;
        let signs = FORMATS.into_iter().filter_map(|format| match format.mark {
            Mark::Folder(sign) => Some(sign),
            _ => None,
        });
        for sign in signs {
            path.join(sign).try_exists()?;
        }
    }
    Ok(())
}

/// Why a path has none of the known formats, and what to do.
fn refusal(
    path: &Path,
    what: &str,
    purpose: Purpose,
    known: &[&Format],
    shown: Option<&'static Format>,
) -> FormatError {
    let has_folders = known.iter().any(|format| matches!(format.mark, Mark::Folder(_)));
    if purpose == Purpose::Read && path.is_dir() {
        let signs = known.iter().filter_map(|format| match format.mark {
            Mark::Folder(sign) => Some(sign),
            _ => None,
        });
        let signs: Vec<_> = signs.collect();
        return match has_folders {
            true => FormatError::file(path, format!("is no graph folder, which has one of {}", signs.join(", ")))
                .remedy("name a folder that 'placebench convert' wrote"),
            false => FormatError::file(path, format!("is a folder, not a {what}")).remedy("name a file in it"),
        };
    }
    let extensions = || known.iter().flat_map(|format| format.extensions());
    let use_known = || {
        let dotted: Vec<_> = extensions().map(|extension| format!(".{extension}")).collect();
        let folder = match purpose {
            _ if !has_folders => "",
            Purpose::Read => " or a graph folder",
            Purpose::Write => ", or no extension for a folder",
        };
        format!("use {}{folder}", dotted.join(", "))
    };
    if let Some(format) = shown {
        let wanted = &known[0].holds;
        let message = match (discriminant(wanted) == discriminant(&format.holds), purpose) {
            (true, Purpose::Read) => format!("the format '{}' is only written", format.name),
            (true, Purpose::Write) => format!("the format '{}' is only read", format.name),
            (false, _) => format!("the format '{}' holds {}s, not {wanted}s", format.name, format.holds),
        };
        return FormatError::file(path, message).remedy(use_known());
    }
    let plain = without_compression(path);
    let Some(extension) = plain.extension().map(|extension| extension.to_string_lossy()) else {
        return FormatError::file(path, format!("unknown {what} format")).remedy(use_known());
    };
    let remedy = match nearest(&extension, extensions().copied()) {
        Some(near) => format!("did you mean '.{near}'?"),
        None => use_known(),
    };
    FormatError::file(path, format!("unknown {what} format '.{extension}'")).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_finds_its_reader_or_the_list_of_formats() {
        let folder = tempfile::tempdir().unwrap();
        let fault = |name: &str| {
            let path = folder.path().join(name);
            let error = read_graph(&path).map(|_| ()).and_then(|()| read_cluster(&path).map(|_| ())).unwrap_err();
            error.to_string().replace(&format!("{}/", folder.path().display()), "")
        };
        fs::write(folder.path().join("g.CSV"), "id,inputs,colocated,tensor_bytes,ops\n0,,,,1\n").unwrap();
        let (header, graph) = read_graph(folder.path().join("g.CSV")).unwrap();
        assert_eq!((header.name.as_str(), graph.op_count()), ("g", 1));
        let known = ".csv, .arrow, .feather, .ipc, .pb, .pbtxt, .prototxt, .onnx, .wf.json, .saga.json, .dnn.json, .nx.json, .graphml, .dot, .gv, .stg, .dag, .hdag, .hyperdag, .dax or a graph folder";
        assert_eq!(fault("gone.csv"), "gone.csv: no such file or directory");
        for (name, expected) in [
            ("g.json", "g.json:1: EOF while parsing a value: write valid JSON"),
            ("g.pbtx", "g.pbtx: unknown graph format '.pbtx': did you mean '.pbtxt'?"),
            ("g.PBTXX", "g.PBTXX: unknown graph format '.PBTXX': did you mean '.pbtxt'?"),
            ("g", &format!("g: unknown graph format: use {known}")),
            ("g.gexf", &format!("g.gexf: the format 'gexf' is only written: use {known}")),
            (
                "g.graph",
                &format!("g.graph: the format 'metis' holds undirected graphs, not dataflow graphs: use {known}"),
            ),
        ] {
            fs::write(folder.path().join(name), "").unwrap();
            assert_eq!(fault(name), expected);
        }
        fs::create_dir(folder.path().join("empty")).unwrap();
        assert_eq!(
            fault("empty"),
            "empty: is no graph folder, which has one of graph.toml, graph.pb: name a folder that 'placebench convert' wrote"
        );
    }

    #[test]
    fn a_graph_without_ops_is_refused_in_every_format() {
        let folder = tempfile::tempdir().unwrap();
        let empty = crate::GraphBuilder::default().build().unwrap();
        for (name, expected) in [
            ("g", "g: the graph has no op: a graph has at least one"),
            ("g.csv", "g.csv:1: no row follows the header: add a row for each op"),
            ("g.pb", "g.pb: the file is empty: expected a GraphDef"),
            ("g.pbtxt", "g.pbtxt: the file is empty: expected a GraphDef"),
        ] {
            let path = folder.path().join(name);
            write_graph(&path, &GraphHeader::named("g"), &empty).unwrap();
            let error = read_graph(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn clusters_are_told_by_their_extension() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = Cluster::uniform(2, crate::Kind::Gpu, 3.0, crate::Link { rate: 4.0, latency: 0.0 }).unwrap();
        for name in ["c.toml", "c.csv", "d.TOML", "d.CSV"] {
            let path = folder.path().join(name);
            write_cluster(&path, &cluster).unwrap();
            assert_eq!(read_cluster(&path).unwrap(), cluster);
        }
        for (name, expected) in [
            ("c.yaml", "c.yaml: unknown cluster format '.yaml': use .toml, .csv, .saga.json, .dnn.json, .dag"),
            ("c.tmol", "c.tmol: unknown cluster format '.tmol': did you mean '.toml'?"),
            (
                "c.pb",
                "c.pb: the format 'graphdef' holds dataflow graphs, not clusters: use .toml, .csv, .saga.json, .dnn.json, .dag",
            ),
        ] {
            fs::write(folder.path().join(name), "").unwrap();
            let message = read_cluster(folder.path().join(name)).unwrap_err().to_string();
            assert!(message.ends_with(expected), "{message}");
        }
        let message = read_cluster(folder.path()).unwrap_err().to_string();
        assert!(message.ends_with("is a folder, not a cluster: name a file in it"), "{message}");
    }
}
