//! Distinct pairs grouped by row with a counting sort.

use std::ops::Range;

use super::group_sort::{NETWORK, sort_group};

/// Buffers for drawing one set of pairs after another without allocating.
#[derive(Default)]
pub(crate) struct Rows {
    /// Row and column of each draw.
    pairs: Vec<(u32, u32)>,
    /// Their columns, grouped by row.
    grouped: Vec<u32>,
    repeated: Vec<(u32, u32)>,
    /// What was drawn again.
    fresh: Vec<(u32, u32)>,
}

/// Up to this many pairs that were drawn more than once are exchanged one by one, which moves what stands between the
/// old place and the new one; sorting everything again costs as much as about a hundred exchanges.
const FEW: usize = 32;

impl Rows {
    /// Draws as many different pairs as `columns` has room for. Writes the columns of each row, ascending, into
    /// `columns`, and the end of each row into `ends`. `draw` makes the draw of a position.
    ///
    /// Sorts the draws by row with a counting sort, and the few columns of each row with a sorting network. If a pair
    /// was drawn more than once, all but the draw of the first position are made again, in the order of their
    /// positions, until all pairs differ. A few of them change places in the rows; after many, all is sorted again.
    ///
    /// # Complexity
    /// O(pairs + rows) if the pairs are few among the possible.
    pub(crate) fn draw(&mut self, mut draw: impl FnMut(usize) -> (u32, u32), ends: &mut [u32], columns: &mut [u32]) {
        self.pairs.clear();
        self.pairs.extend((0..columns.len()).map(&mut draw));
        self.sort_rows(ends, columns);
        while !self.repeated.is_empty() {
            let few = self.repeated.len() <= FEW;
            self.fresh.clear();
            let mut kept = vec![false; self.repeated.len()];
            for (position, pair) in self.pairs.iter_mut().enumerate() {
                let Ok(found) = self.repeated.binary_search(pair) else { continue };
                if std::mem::replace(&mut kept[found], true) {
                    let old = std::mem::replace(pair, draw(position));
                    self.fresh.push(*pair);
                    if few {
                        exchange(old, *pair, ends, columns);
                    }
                }
            }
            if few {
                self.repeated.clear();
                self.repeated.extend(self.fresh.iter().filter(|&&pair| is_twice(pair, ends, columns)));
                self.repeated.sort_unstable();
                self.repeated.dedup();
            } else {
                self.sort_rows(ends, columns);
            }
        }
    }

    /// Sorts all pairs into rows, and lists those that are there more than once, ascending.
    fn sort_rows(&mut self, ends: &mut [u32], columns: &mut [u32]) {
        self.group_by_row(ends);
        self.repeated.clear();
        let mut from = 0;
        for (row, &end) in (0..).zip(&*ends) {
            let group = from..end as usize;
            from = group.end;
            sort_group(&self.grouped, group, columns, |column| self.repeated.push((row, column)));
        }
        self.repeated.dedup();
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

/// The places of a row.
fn places(row: u32, ends: &[u32]) -> Range<usize> {
    let start = row.checked_sub(1).map_or(0, |before| ends[before as usize]);
    start as usize..ends[row as usize] as usize
}

/// Takes one pair out of the sorted rows, and puts another one in.
fn exchange(old: (u32, u32), new: (u32, u32), ends: &mut [u32], columns: &mut [u32]) {
    let place = |(row, column): (u32, u32)| {
        let places = places(row, ends);
        places.start + columns[places].partition_point(|&other| other < column)
    };
    let (from, to) = (place(old), place(new));
    if from < to {
        columns[from..to].rotate_left(1);
        columns[to - 1] = new.1;
    } else {
        columns[to..=from].rotate_right(1);
        columns[to] = new.1;
    }
    if old.0 < new.0 {
        ends[old.0 as usize..new.0 as usize].iter_mut().for_each(|end| *end -= 1);
    } else {
        ends[new.0 as usize..old.0 as usize].iter_mut().for_each(|end| *end += 1);
    }
}

/// Whether a pair of the sorted rows is there more than once.
fn is_twice((row, column): (u32, u32), ends: &[u32], columns: &[u32]) -> bool {
    let row = &columns[places(row, ends)];
    let at = row.partition_point(|&other| other < column);
    row.get(at + 1) == Some(&column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, pair_below, stream};

    /// Draws again until all pairs differ, by comparing each with all others.
    fn naive(count: usize, mut draw: impl FnMut(usize) -> (u32, u32)) -> Vec<(u32, u32)> {
        let mut pairs: Vec<_> = (0..count).map(&mut draw).collect();
        loop {
            let before = pairs.clone();
            let again: Vec<usize> = (0..count).filter(|&at| before[..at].contains(&before[at])).collect();
            if again.is_empty() {
                pairs.sort_unstable();
                return pairs;
            }
            again.into_iter().for_each(|at| pairs[at] = draw(at));
        }
    }

    #[test]
    fn rows_have_the_pairs_of_drawing_again_whether_few_or_many_are_repeated() {
        let mut rows = Rows::default();
        for (seed, (height, width, count)) in
            (0..).zip([(1, 4, 2), (7, 40, 20), (7, 40, 140), (100, 300, 700), (60, 60, 1800), (3, 2000, 900)])
        {
            let expected = {
                let mut rng = stream(seed, Purpose::LevelEdges, 0);
                naive(count, |_| pair_below(&mut rng, height, width))
            };
            let mut rng = stream(seed, Purpose::LevelEdges, 0);
            let (mut ends, mut columns) = (vec![0; height as usize], vec![0; count]);
            rows.draw(|_| pair_below(&mut rng, height, width), &mut ends, &mut columns);
            let found: Vec<(u32, u32)> = (0..height)
                .flat_map(|row| columns[places(row, &ends)].iter().map(move |&column| (row, column)))
                .collect();
            assert!(found == expected, "{height} x {width}: {count}");
        }
    }
}
