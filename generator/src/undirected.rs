//! Undirected graphs on which partitioners are compared: grids and random geometric graphs.
//!
//! A grid resembles a mesh. A random geometric graph is a mesh with irregular degrees. Others are
//! G(n, m) and R-MAT ([`stream`](crate::stream)) and the undirected views of leveled graphs
//! ([`generate_leveled`](crate::generate_leveled)).

use placebench_base::process::check_memory;
use placebench_datasets::UndirectedGraph;
use rayon::prelude::*;

use crate::error::GeneratorError;
use crate::random::{Purpose, stream, unit};

/// Points drawn from one random stream.
const CHUNK: usize = 1 << 16;

/// Bytes a vertex and an edge while a graph is made from its edges, weights included.
const VERTEX_BYTES: u64 = 8;
const EDGE_BYTES: u64 = 16;

/// A square grid of `side` × `side` vertices, numbered row by row, each tied to its up to four neighbours.
///
/// # Errors
/// If `side` is 0, there are more vertices than 32-bit ids, or the graph does not fit into memory.
///
/// # Complexity
/// O(vertices).
///
/// # Example
/// ```
/// let graph = placebench_generator::grid(3).unwrap();
/// assert_eq!((graph.vertex_count(), graph.edge_count()), (9, 12));
/// ```
pub fn grid(side: u32) -> Result<UndirectedGraph, GeneratorError> {
    if !(1..1 << 16).contains(&side) {
        return Err(GeneratorError::bad("side", side, "from 1 to 65535"));
    }
    let vertices = side * side;
    let parts = [(u64::from(vertices), VERTEX_BYTES + 2 * EDGE_BYTES)];
    check_memory(&parts, || format!("a grid of {side} × {side} vertices"))?;
    let edges = (0..vertices).flat_map(move |vertex| {
        let right = ((vertex + 1) % side != 0).then_some((vertex, vertex + 1, 1));
        let below = (vertex < vertices - side).then(|| (vertex, vertex + side, 1));
        right.into_iter().chain(below)
    });
    Ok(UndirectedGraph::from_edges(vertices as usize, edges, None)?)
}

/// Uniform points in the unit square, an edge between any two nearer than the radius at which a point far from the
/// border has `degree` neighbours on average. Points are numbered cell by cell of a grid of that radius.
///
/// # Reference
/// M. Penrose: Random geometric graphs. Oxford University Press 2003, doi:10.1093/acprof:oso/9780198506263.001.0001.
///
/// # Errors
/// If there is no vertex, the degree is not positive and below the number of vertices, or the graph does not fit into memory.
///
/// # Complexity
/// O(vertices · (degree + log vertices)); parallel.
pub fn random_geometric(vertices: u32, degree: f64, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
    if vertices == 0 || vertices == u32::MAX {
        return Err(GeneratorError::bad("vertices", vertices, format!("from 1 to {}", u32::MAX - 1)));
    }
    if !(degree > 0.0 && degree < f64::from(vertices)) {
        return Err(GeneratorError::bad("degree", degree, format!("above 0 and below the {vertices} vertices")));
    }
    // Points twice, while they are gathered; edges as a list, then in the graph.
    let edges = (f64::from(vertices) * degree / 2.0) as u64;
    let parts = [(vertices.into(), VERTEX_BYTES + 2 * 16), (edges, EDGE_BYTES + 16)];
    check_memory(&parts, || format!("a random geometric graph of {vertices} vertices and {edges} edges"))?;
    let square = degree / (std::f64::consts::PI * f64::from(vertices));
    let cells = ((1.0 / square.sqrt()) as usize).clamp(1, 1 << 15);
    let at = |coordinate: f64| ((coordinate * cells as f64) as usize).min(cells - 1);
    let cell_of = |&(x, y): &(f64, f64)| at(y) * cells + at(x);
    let mut points = drawn(vertices as usize, |count, chunk| {
        let mut random = stream(seed, Purpose::Points, chunk);
        (0..count).map(|_| (unit(&mut random), unit(&mut random))).collect()
    });
    points.par_sort_unstable_by(|a, b| cell_of(a).cmp(&cell_of(b)).then(a.0.total_cmp(&b.0)).then(a.1.total_cmp(&b.1)));
    let mut starts = vec![0usize; cells * cells + 1];
    for point in &points {
        starts[cell_of(point) + 1] += 1;
    }
    for cell in 0..cells * cells {
        starts[cell + 1] += starts[cell];
    }
    let later_neighbours = |a: usize| {
        let (x, y) = points[a];
        let (row, columns) = (at(y), at(x).saturating_sub(1)..=(at(x) + 1).min(cells - 1));
        let mut edges = Vec::new();
        // Rows above have lower numbers.
        for row in row..=(row + 1).min(cells - 1) {
            let range = starts[row * cells + columns.start()]..starts[row * cells + columns.end() + 1];
            let near = |&b: &usize| b > a && (points[b].0 - x).powi(2) + (points[b].1 - y).powi(2) < square;
            edges.extend(range.filter(near).map(|b| (a as u32, b as u32, 1)));
        }
        edges
    };
    let edges: Vec<(u32, u32, u64)> = (0..points.len()).into_par_iter().flat_map_iter(later_neighbours).collect();
    Ok(UndirectedGraph::from_edges(points.len(), edges.into_iter(), None)?)
}

/// What `draw` makes, called with a number and the chunk's index, chunk by chunk in parallel.
fn drawn<T: Send>(count: usize, draw: impl Fn(usize, u64) -> Vec<T> + Sync) -> Vec<T> {
    let chunk = |at: usize| draw(CHUNK.min(count - at * CHUNK), at as u64);
    (0..count.div_ceil(CHUNK)).into_par_iter().map(chunk).collect::<Vec<_>>().into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    #[test]
    fn a_grid_has_four_neighbours_inside_three_at_borders_and_two_at_corners() {
        let graph = grid(5).unwrap();
        let degrees: Vec<usize> = graph.vertices().map(|vertex| graph.degree(vertex)).collect();
        assert_eq!([2, 3, 4].map(|degree| degrees.iter().filter(|&&d| d == degree).count()), [4, 12, 9]);
        assert_eq!(graph.neighbours(7), [2, 6, 8, 12]);
        assert_eq!(grid(1).unwrap().edge_count(), 0);
    }

    #[test]
    fn points_are_tied_to_all_within_the_radius_and_to_no_other() {
        // Drawn again without cells: the same number of near pairs.
        let (count, degree) = (3000u32, 12.0);
        let graph = random_geometric(count, degree, 5).unwrap();
        let mut random = stream(5, Purpose::Points, 0);
        let points: Vec<(f64, f64)> = (0..count).map(|_| (unit(&mut random), unit(&mut random))).collect();
        let square = degree / (std::f64::consts::PI * f64::from(count));
        let near = |&(a, b): &(usize, usize)| {
            (points[a].0 - points[b].0).powi(2) + (points[a].1 - points[b].1).powi(2) < square
        };
        let pairs = (0..points.len()).flat_map(|a| (0..a).map(move |b| (a, b))).filter(near).count();
        assert_eq!(graph.edge_count(), pairs);
        let mean = 2.0 * pairs as f64 / f64::from(count);
        assert!((11.0..12.2).contains(&mean), "the border lowers the mean degree a little: {mean}");
    }

    #[test]
    fn graphs_are_the_same_on_one_thread_and_on_many_and_differ_by_seed() {
        let all = |seed| random_geometric(150_000, 6.0, seed).unwrap();
        let alone = on_threads(1, || all(1));
        assert_eq!(alone, on_threads(7, || all(1)));
        assert_ne!(alone, on_threads(1, || all(2)));
    }

    #[test]
    fn parameters_without_sense_are_refused() {
        assert!(grid(0).is_err() && grid(1 << 16).is_err());
        assert!(random_geometric(0, 5.0, 1).is_err() && random_geometric(10, f64::NAN, 1).is_err());
    }
}
