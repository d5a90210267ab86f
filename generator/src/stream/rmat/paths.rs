//! Paths through quarters of quarters, several levels from one random number.

use rand::Rng;

use crate::random::Stream;

/// Levels that one random number decides.
const LEVELS: u32 = 6;

/// Tables from which paths of 1 to [`LEVELS`] levels are drawn by Walker's method of aliases.
///
/// # Deviations
/// Shares of table entries are rounded to 2⁻³².
///
/// # Reference
/// A. J. Walker: An efficient method for generating discrete random variables with general distributions. ACM Trans. Math.
/// Softw. 3 (1977), 253–256, doi:10.1145/355744.355749.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// The table of each number of levels, from 1.
    tables: Vec<Vec<Entry>>,
}

/// One of 4^levels equally likely entries: a path, or its alias.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// How many of 2³² draws take the first path.
    first: u32,
    /// Rows and columns of the first path, then of the alias.
    rows: [u8; 2],
    columns: [u8; 2],
}

impl Paths {
    /// `quarters` are the probabilities of the quarters, row by row.
    pub(super) fn new(quarters: [f64; 4]) -> Self {
        Self { tables: (1..=LEVELS).map(|levels| table(quarters, levels)).collect() }
    }

    /// Draws a path of some levels: its row and column.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Stream, levels: u32) -> (u32, u32) {
        let (mut row, mut column) = (0, 0);
        let mut left = levels;
        while left > 0 {
            let here = left.min(LEVELS);
            left -= here;
            let draw = rng.next_u64();
            let entry = &self.tables[here as usize - 1][(draw >> (64 - 2 * here)) as usize];
            let which = usize::from(draw as u32 >= entry.first);
            row = row << here | u32::from(entry.rows[which]);
            column = column << here | u32::from(entry.columns[which]);
        }
        (row, column)
    }
}

fn table(quarters: [f64; 4], levels: u32) -> Vec<Entry> {
    let count = 1usize << (2 * levels);
    let digits = |path: usize| (0..levels).rev().map(move |level| path >> (2 * level) & 3);
    let row = |path: usize| digits(path).fold(0, |row, quarter| row << 1 | (quarter >> 1) as u8);
    let column = |path: usize| digits(path).fold(0, |column, quarter| column << 1 | (quarter & 1) as u8);
    // Shares of an entry: 1 on average.
    let mut shares: Vec<f64> =
        (0..count).map(|path| digits(path).map(|quarter| quarters[quarter]).product::<f64>() * count as f64).collect();
    let mut table: Vec<Entry> =
        (0..count).map(|path| Entry { first: u32::MAX, rows: [row(path); 2], columns: [column(path); 2] }).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..count).partition(|&path| shares[path] < 1.0);
    while let (Some(&little), Some(&much)) = (small.last(), large.last()) {
        small.pop();
        table[little].first = (shares[little] * (1u64 << 32) as f64) as u32;
        (table[little].rows[1], table[little].columns[1]) = (row(much), column(much));
        shares[much] -= 1.0 - shares[little];
        if shares[much] < 1.0 {
            large.pop();
            small.push(much);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn tables_give_each_path_the_product_of_its_quarters() {
        let quarters = [0.57, 0.19, 0.14, 0.1];
        let paths = Paths::new(quarters);
        for levels in 1..=LEVELS {
            let side = 1usize << levels;
            let mut found = vec![0.0; side * side];
            let table = &paths.tables[levels as usize - 1];
            for entry in table {
                let first = f64::from(entry.first) / 4_294_967_296.0;
                for (which, share) in [first, 1.0 - first].into_iter().enumerate() {
                    let place = usize::from(entry.rows[which]) * side + usize::from(entry.columns[which]);
                    found[place] += share / table.len() as f64;
                }
            }
            for (place, found) in found.into_iter().enumerate() {
                let (row, column) = (place / side, place % side);
                let quarter = |level: u32| quarters[(row >> level & 1) * 2 + (column >> level & 1)];
                let expected: f64 = (0..levels).map(quarter).product();
                assert!((found - expected).abs() < 1e-8, "{levels} levels, {row} {column}: {found} {expected}");
            }
        }
    }

    #[test]
    fn long_paths_are_independent_draws_of_short_ones() {
        // 8 levels take two draws; the quarters of levels 2 and 3 from the top are independent of those of the last two.
        let paths = Paths::new([0.4, 0.3, 0.2, 0.1]);
        let mut rng = stream(1, Purpose::RmatEdges, 0);
        let mut counts = vec![0.0f64; 256];
        for _ in 0..200_000 {
            let (row, column) = paths.draw(&mut rng, 8);
            let quarter = |level: u32| ((row >> level & 1) * 2 + (column >> level & 1)) as usize;
            counts[quarter(6) << 6 | quarter(5) << 4 | quarter(1) << 2 | quarter(0)] += 1.0;
        }
        let share = [0.4, 0.3, 0.2, 0.1];
        let expected = |bin: usize| 200_000.0 * (0..4).map(|at| share[bin >> (2 * at) & 3]).product::<f64>();
        // Chi-squared with 255 degrees of freedom exceeds 347 once in 10,000 seeds.
        let chi_squared: f64 =
            counts.iter().enumerate().map(|(bin, count)| (count - expected(bin)).powi(2) / expected(bin)).sum();
        assert!(chi_squared < 347.0, "{chi_squared}");
    }
}
