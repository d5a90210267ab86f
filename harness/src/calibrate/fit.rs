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
        let rows: Vec<([f64; 2], f64)> = points
            .iter()
            .filter(|point| point.1 > 0.0)
            .map(|&(bytes, time)| ([1.0 / time, bytes / time], 1.0))
            .collect();
        if rows.is_empty() {
            return Self::default();
        }
        let [constant, per_unit] = non_negative_least_squares(&rows);
        let squares: f64 = rows.iter().map(|([u, v], one)| (constant * u + per_unit * v - one).powi(2)).sum();
        Self { constant, per_unit, residual: (squares / rows.len() as f64).sqrt() }
    }

    /// The time at a size.
    pub fn at(&self, bytes: f64) -> f64 {
        self.constant + self.per_unit * bytes
    }
}

/// The `x` ≥ 0 for which the sum over the rows of (coefficients · x − value)² is least. A column that is a multiple of others
/// gets 0.
///
/// The least squares under the signs are those of some set of columns without the signs, so all sets are tried.
///
/// # Complexity
/// O(N² · rows + 2^N · N³).
pub(super) fn non_negative_least_squares<const N: usize>(rows: &[([f64; N], f64)]) -> [f64; N] {
    // The normal equations, with columns of length 1, so that bytes weigh no more than counts.
    let length = |column: usize| rows.iter().map(|(row, _)| row[column] * row[column]).sum::<f64>().sqrt();
    let scale: [f64; N] = std::array::from_fn(|column| if length(column) > 0.0 { 1.0 / length(column) } else { 0.0 });
    let product = |a: usize, b: usize| rows.iter().map(|(row, _)| row[a] * row[b]).sum::<f64>() * scale[a] * scale[b];
    let matrix: [[f64; N]; N] = std::array::from_fn(|a| std::array::from_fn(|b| product(a, b)));
    let right: [f64; N] =
        std::array::from_fn(|a| rows.iter().map(|(row, value)| row[a] * value).sum::<f64>() * scale[a]);
    let mut best = ([0.0; N], 0.0);
    for set in 1_u32..1 << N {
        let columns: Vec<usize> = (0..N).filter(|column| set >> column & 1 == 1).collect();
        let Some(found) = solve(&matrix, &right, &columns).filter(|x| x.iter().all(|&x| x >= 0.0)) else { continue };
        // At such a solution the squares are those of the values less right · x.
        let less: f64 = (0..N).map(|column| right[column] * found[column]).sum();
        if less > best.1 {
            best = (found, less);
        }
    }
    std::array::from_fn(|column| best.0[column] * scale[column])
}

/// Solves the equations of some columns by Gaussian elimination; the others get 0. `None` if columns depend on each other.
fn solve<const N: usize>(matrix: &[[f64; N]; N], right: &[f64; N], columns: &[usize]) -> Option<[f64; N]> {
    let mut rows: Vec<(Vec<f64>, f64)> =
        columns.iter().map(|&a| (columns.iter().map(|&b| matrix[a][b]).collect(), right[a])).collect();
    for at in 0..columns.len() {
        // The matrix is positive definite, or nearly singular: the diagonal needs no pivots.
        if rows[at].0[at] < 1e-12 {
            return None;
        }
        for below in at + 1..columns.len() {
            let factor = rows[below].0[at] / rows[at].0[at];
            for column in at..columns.len() {
                rows[below].0[column] -= factor * rows[at].0[column];
            }
            rows[below].1 -= factor * rows[at].1;
        }
    }
    let mut found = [0.0; N];
    for at in (0..columns.len()).rev() {
        let known: f64 = (at + 1..columns.len()).map(|after| rows[at].0[after] * found[columns[after]]).sum();
        found[columns[at]] = (rows[at].1 - known) / rows[at].0[at];
    }
    Some(found)
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

    /// The least sum of squares that a fine grid over [0, 2]³ finds.
    fn least_on_a_grid(rows: &[([f64; 3], f64)]) -> f64 {
        let axis = || (0..=40).map(|step| f64::from(step) * 0.05);
        let all = axis().flat_map(|x| axis().flat_map(move |y| axis().map(move |z| [x, y, z])));
        all.map(|x| squares(rows, x)).fold(f64::INFINITY, f64::min)
    }

    fn squares(rows: &[([f64; 3], f64)], x: [f64; 3]) -> f64 {
        rows.iter().map(|(row, value)| (row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>() - value).powi(2)).sum()
    }

    proptest::proptest! {
        #[test]
        fn nothing_on_a_grid_is_nearer(rows in proptest::collection::vec((proptest::array::uniform3(-1.0..1.0_f64), -1.0..1.0_f64), 1..8)) {
            let found = non_negative_least_squares(&rows);
            proptest::prop_assert!(found.iter().all(|&x| x >= 0.0));
            proptest::prop_assert!(squares(&rows, found) <= least_on_a_grid(&rows) + 1e-9);
        }
    }

    #[test]
    fn numbers_that_made_the_rows_are_found_again() {
        let rows: Vec<([f64; 4], f64)> = (0..20)
            .map(f64::from)
            .map(|k| [k % 5.0, 1e6 * (k % 3.0), k % 7.0, 1e5 * (k % 4.0)])
            .map(|row| (row, 3.0 * row[0] + 2e-6 * row[1] + 7.0 * row[2]))
            .collect();
        let found = non_negative_least_squares(&rows);
        for (found, made) in found.into_iter().zip([3.0, 2e-6, 7.0, 0.0]) {
            assert!((found - made).abs() < 1e-9, "{found} is not {made}");
        }
        // The same column twice: one of them has it all.
        let twice: Vec<([f64; 2], f64)> = (1..5).map(|k| ([f64::from(k); 2], 2.0 * f64::from(k))).collect();
        assert!((non_negative_least_squares(&twice).iter().sum::<f64>() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn few_points_give_what_they_say() {
        assert_eq!(Line::through(&[]), Line::default());
        assert_eq!(Line::through(&[(8.0, 0.0)]), Line::default());
        let one = Line::through(&[(0.0, 3.0)]);
        assert_eq!((one.constant, one.per_unit, one.residual), (3.0, 0.0, 0.0));
    }
}
