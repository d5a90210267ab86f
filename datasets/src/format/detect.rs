//! Which reader a path is for.

use std::io;
use std::path::Path;

use super::graphdef::{self, ReadOptions};
use super::native::HEADER_FILE;
use super::{FormatError, GraphHeader, read_cluster_csv, read_cluster_toml, read_csv, read_native};
use crate::{Cluster, DataflowGraph};

type Graph = (GraphHeader, DataflowGraph);

/// A kind of file that holds a graph.
struct GraphFile {
    extensions: &'static [&'static str],
    read: fn(&Path) -> Result<Graph, FormatError>,
}

const GRAPH_FILES: &[GraphFile] = &[
    GraphFile { extensions: &["csv"], read: |path| Ok((named(path), read_csv(path)?)) },
    GraphFile { extensions: &["pb", "pbtxt", "prototxt"], read: read_graph_def },
];

/// A kind of folder that holds a graph, told by a file in it.
struct GraphFolder {
    sign: &'static str,
    read: fn(&Path) -> Result<Graph, FormatError>,
}

const GRAPH_FOLDERS: &[GraphFolder] = &[
    GraphFolder { sign: HEADER_FILE, read: |path| read_native(path) },
    GraphFolder { sign: "graph.pb", read: read_extraction },
];

/// A kind of file that holds a cluster.
struct ClusterFile {
    extension: &'static str,
    read: fn(&Path) -> Result<Cluster, FormatError>,
}

const CLUSTER_FILES: &[ClusterFile] = &[
    ClusterFile { extension: "toml", read: |path| read_cluster_toml(path) },
    ClusterFile { extension: "csv", read: |path| read_cluster_csv(path) },
];

/// Reads a graph in any format, by what the path is: a graph folder or one of the TensorFlow extractor by the files in it,
/// anything else by its extension. A format without a header gives the graph the file's name. GraphDefs are read with the
/// default [`ReadOptions`].
///
/// # Errors
/// If the format is unknown, with those that are; as the format's own reader.
pub fn read_graph(path: impl AsRef<Path>) -> Result<(GraphHeader, DataflowGraph), FormatError> {
    let path = path.as_ref();
    check_exists(path)?;
    if path.is_dir() {
        return match GRAPH_FOLDERS.iter().find(|folder| path.join(folder.sign).exists()) {
            Some(folder) => (folder.read)(path),
            None => {
                let signs: Vec<_> = GRAPH_FOLDERS.iter().map(|folder| folder.sign).collect();
                let message = format!("is no graph folder, which has one of {}", signs.join(", "));
                Err(FormatError::file(path, message).remedy("name a folder that 'placebench convert' wrote"))
            }
        };
    }
    let file = GRAPH_FILES.iter().find(|file| file.extensions.iter().any(|known| has_extension(path, known)));
    match file {
        Some(file) => (file.read)(path),
        None => {
            let known = GRAPH_FILES.iter().flat_map(|file| file.extensions).copied();
            Err(unknown(path, "graph", known, " or a graph folder"))
        }
    }
}

/// Reads a cluster, by the extension of the path.
///
/// # Errors
/// If the format is unknown, with those that are; as the format's own reader.
pub fn read_cluster(path: impl AsRef<Path>) -> Result<Cluster, FormatError> {
    let path = path.as_ref();
    check_exists(path)?;
    match CLUSTER_FILES.iter().find(|file| has_extension(path, file.extension)) {
        Some(file) => (file.read)(path),
        None => Err(unknown(path, "cluster", CLUSTER_FILES.iter().map(|file| file.extension), "")),
    }
}

fn check_exists(path: &Path) -> Result<(), FormatError> {
    match path.exists() {
        true => Ok(()),
        false => Err(FormatError::io(path, io::ErrorKind::NotFound.into())),
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

fn unknown<'a>(path: &Path, what: &str, known: impl Iterator<Item = &'a str>, more: &str) -> FormatError {
    let message = match path.extension() {
        Some(extension) => format!("unknown {what} format '.{}'", extension.to_string_lossy()),
        None => format!("unknown {what} format"),
    };
    let known: Vec<_> = known.map(|extension| format!(".{extension}")).collect();
    FormatError::file(path, message).remedy(format!("use {}{more}", known.join(", ")))
}

fn named(path: &Path) -> GraphHeader {
    GraphHeader::named(path.file_stem().unwrap_or_default().to_string_lossy())
}

fn read_graph_def(path: &Path) -> Result<Graph, FormatError> {
    let (graph, _) = graphdef::read_graph_def(path, &ReadOptions::default())?;
    Ok((named(path), graph))
}

fn read_extraction(path: &Path) -> Result<Graph, FormatError> {
    let extraction = graphdef::read_extraction(path, &ReadOptions::default())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let header = GraphHeader { provenance: extraction.provenance, ..GraphHeader::named(name) };
    Ok((header, extraction.graph))
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
        assert_eq!(fault("gone.csv"), "gone.csv: no such file or directory");
        fs::write(folder.path().join("g.json"), "{}").unwrap();
        assert_eq!(
            fault("g.json"),
            "g.json: unknown graph format '.json': use .csv, .pb, .pbtxt, .prototxt or a graph folder"
        );
        fs::create_dir(folder.path().join("empty")).unwrap();
        assert_eq!(
            fault("empty"),
            "empty: is no graph folder, which has one of graph.toml, graph.pb: name a folder that 'placebench convert' wrote"
        );
    }

    #[test]
    fn clusters_are_told_by_their_extension() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = Cluster::uniform(2, crate::Kind::Gpu, 3.0, crate::Link { rate: 4.0, latency: 0.0 }).unwrap();
        let (toml, csv) = (folder.path().join("c.toml"), folder.path().join("c.csv"));
        super::super::write_cluster_toml(&toml, &cluster).unwrap();
        super::super::write_cluster_csv(&csv, &cluster).unwrap();
        for path in [toml, csv] {
            assert_eq!(read_cluster(&path).unwrap(), cluster);
        }
        fs::write(folder.path().join("c.yaml"), "").unwrap();
        let message = read_cluster(folder.path().join("c.yaml")).unwrap_err().to_string();
        assert!(message.ends_with("c.yaml: unknown cluster format '.yaml': use .toml, .csv"), "{message}");
    }
}
