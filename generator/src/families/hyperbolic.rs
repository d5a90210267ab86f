//! Random hyperbolic graphs.

use std::f64::consts::{PI, TAU};

use placebench_base::params::{Params, above};
use placebench_base::process::check_memory;
use placebench_base::spec::SpecError;
use placebench_datasets::UndirectedGraph;
use rayon::prelude::*;

use crate::random::{Purpose, stream, unit};
use crate::{GeneratorError, UndirectedFamily};

/// Points in a disk of the hyperbolic plane, tied to all within the disk's radius: hubs near the centre, communities by
/// angle, and degrees with a power-law tail.
///
/// Angles are uniform. Radii have the density α sinh(αr) / (cosh(αR) − 1) with α = (exponent − 1)/2. The radius R is
/// 2 ln(2nξ² / (πd)) with ξ = α/(α − ½), at which the mean degree tends to d. Vertices are numbered by angle within rings,
/// from the border inwards.
///
/// # Reference
/// D. Krioukov, F. Papadopoulos, M. Kitsak, A. Vahdat, M. Boguñá: Hyperbolic geometry of complex networks. Physical Review E
/// 82, 036106, 2010. Rings as in M. von Looz, H. Meyerhenke, R. Prutkin: Generating random hyperbolic graphs in
/// subquadratic time. ISAAC 2015, 467–478.
///
/// # Complexity
/// O(vertices log vertices + edges + candidates), with few more candidates than edges; parallel.
pub(super) struct Hyperbolic {
    vertices: u32,
    degree: f64,
    exponent: f64,
}

impl UndirectedFamily for Hyperbolic {
    const NAME: &'static str = "hyperbolic";
    const SUMMARY: &'static str = "points in a hyperbolic disk: power-law degrees and communities";
    const SOURCE: &'static str = "Krioukov et al. 2010";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let read = Self {
            vertices: params.number("vertices", 100_000, 1..u32::MAX, "number of vertices")?,
            degree: params.number("degree", 16.0, above(0.0), "mean degree that large graphs tend to")?,
            exponent: params.number("exponent", 2.8, above(2.0), "exponent of the power law of degrees")?,
        };
        let radius = read.radius();
        if !(radius.is_finite() && radius > 0.0) {
            let expected = format!("so small that the disk of {} vertices has a radius above 0", read.vertices);
            return Err(params.refuse("degree", read.degree, expected));
        }
        Ok(read)
    }

    fn generate(&self, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
        let edges = (f64::from(self.vertices) * self.degree / 2.0) as u64;
        check_memory(&[(self.vertices.into(), 80), (edges, 40)], || {
            format!("a hyperbolic graph of {} vertices and about {edges} edges", self.vertices)
        })?;
        let rings = Rings::new(self.points(seed), self.radius());
        let pairs: Vec<(u32, u32, u64)> =
            (0..rings.points.len()).into_par_iter().flat_map_iter(|point| rings.earlier(point)).collect();
        Ok(UndirectedGraph::from_edges(rings.points.len(), pairs.into_iter(), None)?)
    }
}

/// A point in polar coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    radius: f64,
    angle: f64,
    sinh: f64,
    cosh: f64,
}

impl Point {
    /// Whether the hyperbolic distance is below the one whose hyperbolic cosine is `cosh`.
    fn is_near(&self, other: &Self, cosh: f64) -> bool {
        self.cosh * other.cosh - self.sinh * other.sinh * libm::cos(self.angle - other.angle) < cosh
    }
}

impl Hyperbolic {
    fn alpha(&self) -> f64 {
        (self.exponent - 1.0) / 2.0
    }

    /// Radius of the disk.
    fn radius(&self) -> f64 {
        let xi = self.alpha() / (self.alpha() - 0.5);
        2.0 * libm::log(2.0 * f64::from(self.vertices) * xi * xi / (PI * self.degree))
    }

    /// The points in the order in which they are drawn.
    fn points(&self, seed: u64) -> Vec<Point> {
        /// Points drawn from one random stream.
        const CHUNK: usize = 1 << 14;
        let (count, alpha) = (self.vertices as usize, self.alpha());
        let range = libm::cosh(alpha * self.radius()) - 1.0;
        let chunk = |chunk: usize| {
            let mut rng = stream(seed, Purpose::Structure, chunk as u64);
            let point = |_| {
                let angle = TAU * unit(&mut rng);
                let radius = libm::acosh(1.0 + range * unit(&mut rng)) / alpha;
                Point { radius, angle, sinh: libm::sinh(radius), cosh: libm::cosh(radius) }
            };
            (0..CHUNK.min(count - chunk * CHUNK)).map(point).collect::<Vec<_>>()
        };
        (0..count.div_ceil(CHUNK)).into_par_iter().map(chunk).collect::<Vec<_>>().concat()
    }
}

/// The points in rings of width 1, each sorted by angle, from the border inwards.
struct Rings {
    points: Vec<Point>,
    /// First point of each ring, and the number of points.
    starts: Vec<usize>,
    /// Radius of the disk and its hyperbolic cosine.
    disk: f64,
    cosh: f64,
}

impl Rings {
    fn new(mut points: Vec<Point>, disk: f64) -> Self {
        let ring = |point: &Point| (disk - point.radius).max(0.0) as usize;
        points.par_sort_unstable_by(|a, b| {
            let by_angle = a.angle.total_cmp(&b.angle).then(a.radius.total_cmp(&b.radius));
            ring(a).cmp(&ring(b)).then(by_angle)
        });
        let rings = disk as usize + 1;
        let starts = (0..=rings).map(|number| points.partition_point(|point| ring(point) < number)).collect();
        Self { points, starts, disk, cosh: libm::cosh(disk) }
    }

    /// The edges of a point to points of a lower number.
    fn earlier(&self, number: usize) -> Vec<(u32, u32, u64)> {
        let point = self.points[number];
        let mut found = Vec::new();
        for (ring, range) in self.starts.windows(2).enumerate() {
            let (first, end) = (range[0], range[1].min(number));
            if first >= end {
                break;
            }
            // No point of the ring is nearer the centre than this; nearer ones reach further.
            let inner = (self.disk - ring as f64 - 1.0).max(0.0);
            let reach = self.reach(&point, inner);
            let candidates = &self.points[first..end];
            let mut look = |from: f64, to: f64| {
                let begin = candidates.partition_point(|other| other.angle < from);
                for (offset, other) in candidates[begin..].iter().enumerate().take_while(|(_, other)| other.angle <= to)
                {
                    if point.is_near(other, self.cosh) {
                        found.push(((first + begin + offset) as u32, number as u32, 1));
                    }
                }
            };
            if reach >= PI {
                look(0.0, TAU);
                continue;
            }
            let (from, to) = (point.angle - reach, point.angle + reach);
            look(from.max(0.0), to.min(TAU));
            if from < 0.0 {
                look(from + TAU, TAU);
            }
            if to > TAU {
                look(0.0, to - TAU);
            }
        }
        found
    }

    /// The largest difference of angles at which a point on a circle of radius `inner` can be near.
    fn reach(&self, point: &Point, inner: f64) -> f64 {
        let product = point.sinh * libm::sinh(inner);
        let cosine = (point.cosh * libm::cosh(inner) - self.cosh) / product;
        if product <= 0.0 || cosine <= -1.0 {
            return PI;
        }
        // Rounding must not lose an edge: the test of each pair decides.
        if cosine >= 1.0 { 1e-9 } else { libm::acos(cosine) + 1e-9 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_tied_to_all_within_the_disks_radius_and_to_no_other() {
        for (degree, exponent) in [(10.0, 2.2), (16.0, 2.8), (5.0, 4.5)] {
            let family = Hyperbolic { vertices: 1500, degree, exponent };
            let graph = family.generate(7).unwrap();
            let points = family.points(7);
            let cosh = libm::cosh(family.radius());
            let mut degrees = vec![0; points.len()];
            for a in 0..points.len() {
                for b in (0..a).filter(|&b| points[a].is_near(&points[b], cosh)) {
                    degrees[a] += 1;
                    degrees[b] += 1;
                }
            }
            let mut found: Vec<usize> = graph.vertices().map(|vertex| graph.degree(vertex)).collect();
            found.sort_unstable();
            degrees.sort_unstable();
            assert_eq!(found, degrees);
        }
    }

    #[test]
    fn degrees_have_the_mean_and_the_tail_that_theory_gives() {
        let graph = Hyperbolic { vertices: 60_000, degree: 12.0, exponent: 2.6 }.generate(3).unwrap();
        let mut degrees: Vec<f64> = graph.vertices().map(|vertex| graph.degree(vertex) as f64).collect();
        let mean = degrees.iter().sum::<f64>() / degrees.len() as f64;
        assert!((mean / 12.0 - 1.0).abs() < 0.15, "{mean}");
        // Hill's estimator over the 600 largest degrees.
        degrees.sort_by(|a, b| b.total_cmp(a));
        let tail = degrees[..600].iter().map(|degree| (degree / degrees[600]).ln()).sum::<f64>() / 600.0;
        assert!((1.0 + 1.0 / tail - 2.6).abs() < 0.25, "exponent {}", 1.0 + 1.0 / tail);
    }
}
