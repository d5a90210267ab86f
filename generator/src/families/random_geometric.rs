//! Random geometric graphs in the plane and in space.

use placebench_base::params::{Params, above};
use placebench_base::process::check_memory;
use placebench_base::spec::SpecError;
use placebench_datasets::UndirectedGraph;
use rayon::prelude::*;

use crate::random::{Purpose, stream, unit};
use crate::{GeneratorError, UndirectedFamily, random_geometric};

/// Uniform points in the unit square or cube, an edge between any two nearer than the radius at which a point far from the
/// border has `degree` neighbours on average. Points are numbered cell by cell of a grid of that radius.
///
/// # Reference
/// M. Penrose: Random geometric graphs. Oxford University Press 2003, doi:10.1093/acprof:oso/9780198506263.001.0001.
///
/// # Complexity
/// O(vertices · (degree + log vertices)); parallel.
pub(super) struct RandomGeometric {
    vertices: u32,
    degree: f64,
    dimension: u32,
}

impl UndirectedFamily for RandomGeometric {
    const NAME: &'static str = "random_geometric";
    const SUMMARY: &'static str = "points in the unit square or cube, tied to all within a radius";
    const SOURCE: &'static str = "Penrose 2003";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            vertices: params.number("vertices", 1 << 18, 1..u32::MAX, "number of vertices")?,
            degree: params.number("degree", 15.0, above(0.0), "mean degree far from the border")?,
            dimension: params.number("dimension", 2, 2..=3, "2 for the square, 3 for the cube")?,
        })
    }

    fn generate(&self, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
        if self.dimension == 2 {
            return random_geometric(self.vertices, self.degree, seed);
        }
        in_the_cube(self.vertices, self.degree, seed)
    }
}

type Point = [f64; 3];

/// Points drawn from one random stream.
const CHUNK: usize = 1 << 16;

/// The points in the order in which they are drawn, chunk by chunk.
fn points(vertices: u32, seed: u64) -> Vec<Point> {
    let count = vertices as usize;
    let chunk = |chunk: usize| {
        let mut random = stream(seed, Purpose::Points, chunk as u64);
        (0..CHUNK.min(count - chunk * CHUNK)).map(|_| [(); 3].map(|()| unit(&mut random))).collect::<Vec<_>>()
    };
    (0..count.div_ceil(CHUNK)).into_par_iter().map(chunk).collect::<Vec<_>>().concat()
}

/// The square of the radius at which a ball holds `degree` of the points on average.
fn radius_squared(vertices: u32, degree: f64) -> f64 {
    libm::pow(3.0 * degree / (4.0 * std::f64::consts::PI * f64::from(vertices)), 2.0 / 3.0)
}

fn near(a: &Point, b: &Point, squared: f64) -> bool {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f64>() < squared
}

fn in_the_cube(vertices: u32, degree: f64, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
    if degree >= f64::from(vertices) {
        return Err(GeneratorError::bad("degree", degree, format!("above 0 and below the {vertices} vertices")));
    }
    let edges = (f64::from(vertices) * degree / 2.0) as u64;
    let parts = [(vertices.into(), 80), (edges, 32)];
    check_memory(&parts, || format!("a random geometric graph of {vertices} vertices and {edges} edges"))?;
    let squared = radius_squared(vertices, degree);
    let cells = ((1.0 / squared.sqrt()) as usize).clamp(1, 1 << 10);
    let at = |coordinate: f64| ((coordinate * cells as f64) as usize).min(cells - 1);
    let cell_of = |point: &Point| (at(point[2]) * cells + at(point[1])) * cells + at(point[0]);
    let mut points = points(vertices, seed);
    let order = |a: &Point, b: &Point| {
        let ties = || (0..3).map(|axis| a[axis].total_cmp(&b[axis])).find(|order| order.is_ne());
        cell_of(a).cmp(&cell_of(b)).then_with(|| ties().unwrap_or(std::cmp::Ordering::Equal))
    };
    points.par_sort_unstable_by(order);
    let mut starts = vec![0u32; cells * cells * cells + 1];
    points.iter().for_each(|point| starts[cell_of(point) + 1] += 1);
    for cell in 1..starts.len() {
        starts[cell] += starts[cell - 1];
    }
    let around = |coordinate: f64| at(coordinate).saturating_sub(1)..=(at(coordinate) + 1).min(cells - 1);
    let later_neighbours = |a: usize| {
        let [x, y, z] = points[a];
        let mut edges = Vec::new();
        for layer in at(z)..=(at(z) + 1).min(cells - 1) {
            for row in around(y) {
                let first = (layer * cells + row) * cells;
                let range = starts[first + around(x).start()]..starts[first + around(x).end() + 1];
                let later = |&b: &u32| b as usize > a && near(&points[a], &points[b as usize], squared);
                edges.extend(range.filter(later).map(|b| (a as u32, b, 1)));
            }
        }
        edges
    };
    let edges: Vec<(u32, u32, u64)> = (0..points.len()).into_par_iter().flat_map_iter(later_neighbours).collect();
    Ok(UndirectedGraph::from_edges(points.len(), edges.into_iter(), None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_the_cube_are_tied_to_all_within_the_radius_and_to_no_other() {
        let (count, degree) = (2500, 14.0);
        let graph = in_the_cube(count, degree, 5).unwrap();
        let (points, squared) = (points(count, 5), radius_squared(count, degree));
        let mut degrees = vec![0; points.len()];
        for a in 0..points.len() {
            for b in 0..a {
                if near(&points[a], &points[b], squared) {
                    degrees[a] += 1;
                    degrees[b] += 1;
                }
            }
        }
        let mut found: Vec<usize> = graph.vertices().map(|vertex| graph.degree(vertex)).collect();
        found.sort_unstable();
        degrees.sort_unstable();
        assert_eq!(found, degrees);
        let mean = degrees.iter().sum::<usize>() as f64 / f64::from(count);
        assert!((10.5..14.0).contains(&mean), "the border lowers the mean degree: {mean}");
    }
}
