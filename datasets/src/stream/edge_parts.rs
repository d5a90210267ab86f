//! Folders of parts of a graph, one after the other.

use std::fs;
use std::path::{Path, PathBuf};

use super::part::EdgeFormat;
use super::{EdgeFile, EdgeStream, TableEdges, TextEdges};
use crate::format::FormatError;
use crate::format::undirected::lines::{RENUMBER, check_vertex_count};

/// A stream from all files of edges in a folder, in the order of their names: `edges-00001-of-00016.parquet` and so on, as
/// `generate --stream` writes them, or any files of one format whose names begin with `edges`.
///
/// # Memory
/// That of one file's stream.
pub struct EdgeParts {
    parts: Vec<PathBuf>,
    format: EdgeFormat,
    vertices: usize,
    edges: u64,
    /// The part that is read, and its place among the parts.
    present: Box<dyn EdgeStream>,
    at: usize,
    /// Edges of that part that have not come.
    left: u64,
}

/// Opens a file of edges.
///
/// # Errors
/// If it cannot be read, is malformed, or has far more vertices than its edges can have ends: what streams them keeps
/// something of each.
pub fn open_edges(path: &Path, format: EdgeFormat) -> Result<Box<dyn EdgeStream>, FormatError> {
    let stream = open_part(path, format)?;
    check_vertices(path, stream.vertex_count(), stream.edge_count())?;
    Ok(stream)
}

fn check_vertices(path: &Path, vertices: usize, edges: u64) -> Result<(), FormatError> {
    let checked = check_vertex_count(vertices as u64, edges, "edge");
    checked.map(|_| ()).map_err(|message| FormatError::file(path, message).remedy(RENUMBER))
}

fn open_part(path: &Path, format: EdgeFormat) -> Result<Box<dyn EdgeStream>, FormatError> {
    Ok(match format {
        EdgeFormat::Parquet => Box::new(TableEdges::open(path)?),
        EdgeFormat::Binary => Box::new(EdgeFile::open(path)?),
        EdgeFormat::Text => Box::new(TextEdges::open(path, None)?),
    })
}

impl EdgeParts {
    /// Opens a folder. Reads the header of each part, or all of it if it has none.
    ///
    /// # Errors
    /// If the folder has no part, parts of several formats, or not all of those that the names number; if a part cannot be
    /// read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, FormatError> {
        let folder = folder.as_ref();
        let io = |error| FormatError::io(folder, error);
        let fault = |message: String| FormatError::file(folder, message);
        let mut parts = Vec::new();
        for entry in fs::read_dir(folder).map_err(io)? {
            let path = entry.map_err(io)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(format) = EdgeFormat::of_path(&path).filter(|_| name.starts_with("edges")) {
                parts.push((name, path, format));
            }
        }
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        let Some(&(_, _, format)) = parts.first() else {
            let fault = fault("has no file of edges".to_owned());
            return Err(fault.remedy("name a folder with edges*.parquet, edges*.pbedges or edges*.edges"));
        };
        if let Some((name, ..)) = parts.iter().find(|part| part.2 != format) {
            let fault = fault(format!("has parts of several formats: {} and {name}", parts[0].0));
            return Err(fault.remedy("leave one format in it"));
        }
        if let Some(count) = parts.iter().find_map(|part| part_count(&part.0)).filter(|&count| count != parts.len()) {
            let fault = fault(format!("has {} of {count} parts", parts.len()));
            return Err(fault.remedy("make the others, too"));
        }
        let parts: Vec<PathBuf> = parts.into_iter().map(|part| part.1).collect();
        let (mut vertices, mut edges) = (0, 0u64);
        for part in &parts {
            let stream = open_part(part, format)?;
            vertices = vertices.max(stream.vertex_count());
            edges = edges.saturating_add(stream.edge_count());
        }
        check_vertices(folder, vertices, edges)?;
        let present = open_part(&parts[0], format)?;
        Ok(Self { left: present.edge_count(), parts, format, vertices, edges, present, at: 0 })
    }

    fn start_part(&mut self) -> Result<(), FormatError> {
        self.present = open_part(&self.parts[self.at], self.format)?;
        self.left = self.present.edge_count();
        Ok(())
    }
}

/// The number of parts that a name says, as in `edges-00001-of-00016.parquet`.
fn part_count(name: &str) -> Option<usize> {
    name.rsplit_once("-of-")?.1.split('.').next()?.parse().ok()
}

impl EdgeStream for EdgeParts {
    fn vertex_count(&self) -> usize {
        self.vertices
    }

    fn edge_count(&self) -> u64 {
        self.edges
    }

    fn next_edges(&mut self) -> Result<Option<&[(u32, u32)]>, FormatError> {
        while self.left == 0 {
            if self.at + 1 == self.parts.len() {
                return Ok(None);
            }
            self.at += 1;
            self.start_part()?;
        }
        let batch = self.present.next_edges()?;
        self.left -= batch.map_or(self.left, |batch| batch.len() as u64);
        Ok(batch)
    }

    fn rewind(&mut self) -> Result<(), FormatError> {
        self.at = 0;
        self.start_part()
    }

    fn memory_bytes(&self) -> u64 {
        self.present.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Target, write_edge_part};

    const EDGES: [(u32, u32); 5] = [(0, 1), (3, 2), (7, 7), (1, 0), (4, 4_000_000)];

    fn write(folder: &Path, name: &str, edges: &[(u32, u32)]) -> PathBuf {
        let path = folder.join(name);
        let format = EdgeFormat::of_path(&path).unwrap();
        write_edge_part(&Target::File(&path), format, 5_000_000, edges.len() as u64, |sink| sink.push(edges)).unwrap();
        path
    }

    fn all(stream: &mut dyn EdgeStream) -> Vec<(u32, u32)> {
        let mut edges = Vec::new();
        while let Some(batch) = stream.next_edges().unwrap() {
            edges.extend_from_slice(batch);
        }
        edges
    }

    #[test]
    fn parts_come_one_after_the_other_as_often_as_asked() {
        for (_, name, extension) in EdgeFormat::ALL {
            let folder = tempfile::tempdir().unwrap();
            for (part, edges) in [(1, &EDGES[..2]), (2, &[]), (3, &EDGES[2..])] {
                write(folder.path(), &format!("edges-0000{part}-of-00003.{extension}"), edges);
            }
            let mut stream = EdgeParts::open(folder.path()).unwrap();
            assert_eq!(stream.edge_count(), 5);
            assert_eq!(stream.vertex_count(), 5_000_000, "{name}");
            for _ in 0..2 {
                assert_eq!(all(&mut stream), EDGES, "{name}");
                assert!(stream.next_edges().unwrap().is_none());
                stream.rewind().unwrap();
            }
        }
    }

    #[test]
    fn more_vertices_than_edges_can_have_are_refused_in_a_file_and_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.edges");
        fs::write(&path, "0 4294967294\n").unwrap();
        for refused in [open_edges(&path, EdgeFormat::Text).map(|_| ()), EdgeParts::open(folder.path()).map(|_| ())] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("4294967295 vertices for only 1 edge: number the vertices"), "{error}");
        }
        // A part may be small where the others are large.
        fs::write(&path, "0 30000000\n").unwrap();
        let others: Vec<(u32, u32)> = (1..300_000).map(|vertex| (0, vertex)).collect();
        write(folder.path(), "edges2.edges", &others);
        assert_eq!(EdgeParts::open(folder.path()).unwrap().edge_count(), 300_000);
        assert!(open_edges(&path, EdgeFormat::Text).is_err());
    }

    #[test]
    fn folders_that_are_not_whole_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = || EdgeParts::open(folder.path()).map(|_| ()).unwrap_err().to_string();
        assert!(refused().contains("has no file of edges"));
        write(folder.path(), "edges-00001-of-00002.pbedges", &EDGES);
        assert!(refused().ends_with("has 1 of 2 parts: make the others, too"));
        write(folder.path(), "edges-00002-of-00002.parquet", &EDGES);
        assert!(refused().contains("several formats"));
    }

    #[test]
    fn damaged_tables_of_edges_are_refused_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "edges.parquet", &EDGES);
        let whole = fs::read(&path).unwrap();
        for cut in [0, 3, 40, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            let error = TableEdges::open(&path).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("is no readable Parquet file") && error.lines().count() == 1, "{error}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            fs::write(&path, &bytes).unwrap();
            let read = || -> Result<(), FormatError> {
                let mut stream = TableEdges::open(&path)?;
                while stream.next_edges()?.is_some() {}
                Ok(())
            };
            if let Err(error) = read() {
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
            }
        }
    }
}
