//! The line through times over sizes.

use serde::Serialize;

/// A line `constant + per_unit · bytes` through measured times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// Time at 0 bytes, ≥ 0.
    pub constant: f64,
    /// Time a byte, or an operation, ≥ 0.
    pub per_unit: f64,
    /// Root mean square of (line − time) / time.
    pub residual: f64,
}

impl Line {
    /// The line of least squares of relative errors, neither number negative: a small transfer counts as much as a large
    /// one. Points without a positive time are left out; without points everything is 0.
    ///
    /// # Complexity
    /// O(points).
    ///
    /// # Reference
    /// A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman. "LogGP: Incorporating Long Messages into the LogP Model."
    /// SPAA 1995: overheads and gaps are lines over the size.
    pub fn through(points: &[(f64, f64)]) -> Self {
        // Divided by the time, each point asks for constant · (1 / time) + per_unit · (bytes / time) = 1.
        let points: Vec<(f64, f64)> =
            points.iter().filter(|point| point.1 > 0.0).map(|&(bytes, time)| (1.0 / time, bytes / time)).collect();
        if points.is_empty() {
            return Self::default();
        }
        let sum = |term: fn(f64, f64) -> f64| points.iter().map(|&(u, v)| term(u, v)).sum::<f64>();
        let (uu, uv, vv) = (sum(|u, _| u * u), sum(|u, v| u * v), sum(|_, v| v * v));
        let (u, v) = (sum(|u, _| u), sum(|_, v| v));
        let determinant = uu * vv - uv * uv;
        let both = ((u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant);
        let only_constant = (u / uu, 0.0);
        let only_per_unit = (0.0, if vv > 0.0 { v / vv } else { 0.0 });
        let residual = |(constant, per_unit): (f64, f64)| {
            let squares: f64 = points.iter().map(|&(u, v)| (constant * u + per_unit * v - 1.0).powi(2)).sum();
            (squares / points.len() as f64).sqrt()
        };
        // The least squares under the signs lie inside, or on one of the two edges.
        let inside = determinant > 1e-12 * uu * vv && both.0 >= 0.0 && both.1 >= 0.0;
        let (constant, per_unit) = if inside {
            both
        } else if residual(only_constant) <= residual(only_per_unit) {
            only_constant
        } else {
            only_per_unit
        };
        Self { constant, per_unit, residual: residual((constant, per_unit)) }
    }

    /// The time at a size.
    pub fn at(&self, bytes: f64) -> f64 {
        self.constant + self.per_unit * bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_give_the_line() {
        let points: Vec<(f64, f64)> = [1e3, 1e4, 1e6, 1e7].map(|bytes| (bytes, 37.0 + 0.25e-3 * bytes)).to_vec();
        let line = Line::through(&points);
        assert!((line.constant - 37.0).abs() < 1e-6 && (line.per_unit - 0.25e-3).abs() < 1e-12, "{line:?}");
        assert!(line.residual < 1e-9);
    }

    #[test]
    fn small_transfers_count_as_much_as_large_ones() {
        // An error of 10 % of the largest time would hide the constant from ordinary least squares.
        let line = Line::through(&[(0.0, 10.0), (1.0, 10.0), (1e6, 10_000.0), (2e6, 22_000.0)]);
        assert!((line.constant - 10.0).abs() < 0.2, "{line:?}");
        assert!((0.01..0.011).contains(&line.per_unit), "{line:?}");
        assert!(line.residual > 0.02);
    }

    #[test]
    fn neither_number_is_negative() {
        let falling = Line::through(&[(1.0, 10.0), (100.0, 5.0)]);
        assert!(falling.constant > 0.0 && falling.per_unit == 0.0, "{falling:?}");
        let steep = Line::through(&[(1.0, 0.5), (100.0, 100.0)]);
        assert!(steep.constant == 0.0 && steep.per_unit > 0.0, "{steep:?}");
    }

    #[test]
    fn few_points_give_what_they_say() {
        assert_eq!(Line::through(&[]), Line::default());
        assert_eq!(Line::through(&[(8.0, 0.0)]), Line::default());
        let one = Line::through(&[(0.0, 3.0)]);
        assert_eq!((one.constant, one.per_unit, one.residual), (3.0, 0.0, 0.0));
    }
}
