//! Barabási–Albert graphs.

use placebench_base::params::Params;
use placebench_base::process::check_memory;
use placebench_base::spec::SpecError;
use placebench_datasets::UndirectedGraph;

use crate::random::{Purpose, below, stream};
use crate::{GeneratorError, UndirectedFamily};

/// Vertices that come one after another, each tied to `edges` different earlier ones, drawn in proportion to their degrees.
/// The first `edges` + 1 vertices are tied to each other.
///
/// With n vertices and m edges each there are (m + 1)m/2 + (n − m − 1)m edges. The share of vertices of degree k tends to
/// 2m(m + 1) / (k(k + 1)(k + 2)).
///
/// # Reference
/// A.-L. Barabási, R. Albert: Emergence of scaling in random networks. Science 286, 1999, 509–512. Drawn from the list of all ends
/// of edges, as in V. Batagelj, U. Brandes: Efficient generation of large random networks. Physical Review E 71, 036113, 2005.
///
/// # Complexity
/// O(edges · m): one after another, so on one thread.
pub(super) struct BarabasiAlbert {
    vertices: u32,
    edges: u32,
}

impl UndirectedFamily for BarabasiAlbert {
    const NAME: &'static str = "barabasi_albert";
    const SUMMARY: &'static str = "vertices tied to earlier ones in proportion to their degrees: hubs, tail k^-3";
    const SOURCE: &'static str = "Barabási, Albert 1999";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let read = Self {
            vertices: params.number("vertices", 100_000, 2..u32::MAX, "number of vertices")?,
            edges: params.number("edges", 8, 1..=1 << 16, "edges of a new vertex; about half the mean degree")?,
        };
        if read.edges >= read.vertices {
            return Err(params.refuse("edges", read.edges, format!("below vertices={}", read.vertices)));
        }
        Ok(read)
    }

    fn generate(&self, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
        let (vertices, fan) = (self.vertices, self.edges as usize);
        let count = fan * (fan + 1) / 2 + (vertices as usize - fan - 1) * fan;
        check_memory(&[(count as u64, 24), (vertices.into(), 8)], || {
            format!("a Barabási–Albert graph of {vertices} vertices and {count} edges")
        })?;
        let mut rng = stream(seed, Purpose::Structure, 0);
        // Both ends of every edge: a uniform element is a vertex drawn in proportion to its degree.
        let mut ends: Vec<u32> = Vec::with_capacity(2 * count);
        let first = self.edges + 1;
        ends.extend((0..first).flat_map(|a| (0..a).flat_map(move |b| [b, a])));
        for vertex in first..vertices {
            let begin = ends.len();
            let known = begin as u64;
            while ends.len() < begin + 2 * fan {
                let other = ends[below(&mut rng, known) as usize];
                if ends[begin..].iter().step_by(2).all(|&drawn| drawn != other) {
                    ends.extend([other, vertex]);
                }
            }
        }
        let edges = ends.chunks_exact(2).map(|pair| (pair[0], pair[1], 1));
        Ok(UndirectedGraph::from_edges(vertices as usize, edges, None)?)
    }
}
