//! Distinct pairs grouped by row with a counting sort.

use super::group_sort::{NETWORK, sort_group};

/// Buffers for drawing one set of pairs after another without allocating.
#[derive(Default)]
pub(crate) struct Rows {
    /// Row and column of each draw.
    pairs: Vec<(u32, u32)>,
    /// Their columns, grouped by row.
    grouped: Vec<u32>,
    repeated: Vec<(u32, u32)>,
}

impl Rows {
    /// Draws as many different pairs as `columns` has room for. Writes the columns of each row, ascending, into
    /// `columns`, and the end of each row into `ends`. `draw` makes the draw of a position.
    ///
    /// Sorts the draws by row with a counting sort, and the few columns of each row with a sorting network. If a pair
    /// was drawn more than once, all but the draw of the first position are made again, in the order of their
    /// positions, until all pairs differ.
    ///
    /// # Complexity
    /// O(pairs + rows) if the pairs are few among the possible.
    pub(crate) fn draw(&mut self, mut draw: impl FnMut(usize) -> (u32, u32), ends: &mut [u32], columns: &mut [u32]) {
        self.pairs.clear();
        self.pairs.extend((0..columns.len()).map(&mut draw));
        loop {
            self.group_by_row(ends);
            self.repeated.clear();
            let mut from = 0;
            for (row, &end) in (0..).zip(&*ends) {
                let group = from..end as usize;
                from = group.end;
                sort_group(&self.grouped, group, columns, |column| self.repeated.push((row, column)));
            }
            if self.repeated.is_empty() {
                return;
            }
            self.repeated.dedup();
            let mut kept = vec![false; self.repeated.len()];
            for (position, pair) in self.pairs.iter_mut().enumerate() {
                let Ok(found) = self.repeated.binary_search(pair) else { continue };
                if std::mem::replace(&mut kept[found], true) {
                    *pair = draw(position);
                }
            }
        }
    }

    /// Writes the columns of all pairs into `grouped`, and the end of each row's group into `ends`.
    fn group_by_row(&mut self, ends: &mut [u32]) {
        ends.fill(0);
        for &(row, _) in &self.pairs {
            ends[row as usize] += 1;
        }
        // From counts to starts. Each pair moves the start of its row on; after the last pair it is the end of the
        // group.
        let mut before = 0;
        for end in ends.iter_mut() {
            before += std::mem::replace(end, before);
        }
        self.grouped.resize(self.pairs.len() + NETWORK, 0);
        for &(row, column) in &self.pairs {
            let slot = &mut ends[row as usize];
            self.grouped[*slot as usize] = column;
            *slot += 1;
        }
    }
}
