//! Distinct pairs (row, column), drawn uniformly: in rows, by counting ([`Rows`]), or as sorted lists.

mod group_sort;
mod rows;

pub(crate) use rows::Rows;

/// A pair as one number that sorts by row, then column.
#[inline]
pub(crate) fn key(row: u32, column: u32) -> u64 {
    u64::from(row) << 32 | u64::from(column)
}

/// Draws until there are `count` different pairs that are not in `excluded`: sequential drawing with rejection, in
/// rounds that draw as many as are missing. Sorted.
pub(crate) fn draw_new(count: usize, excluded: &[u64], mut draw: impl FnMut() -> u64) -> Vec<u64> {
    let mut drawn: Vec<u64> = Vec::new();
    while drawn.len() < count {
        let mut fresh: Vec<u64> = (drawn.len()..count).map(|_| draw()).collect();
        fresh.sort_unstable();
        fresh.dedup();
        remove_sorted(&mut fresh, excluded);
        remove_sorted(&mut fresh, &drawn);
        drawn = merge(&drawn, &fresh);
    }
    drawn
}

/// `count` different pairs out of `available` ones that are not in `excluded`, sorted. Every such set is equally likely.
/// `draw` draws any pair uniformly, `all` lists all pairs, ascending.
pub(crate) fn draw_distinct<I: Iterator<Item = u64>>(
    count: usize,
    available: u64,
    excluded: &[u64],
    draw: impl FnMut() -> u64,
    all: impl FnOnce() -> I,
) -> Vec<u64> {
    if count as u64 <= available / 2 {
        return draw_new(count, excluded, draw);
    }
    // Fewer pairs are left out than taken, so draw those that are left out.
    let left_out = draw_new((available - count as u64) as usize, excluded, draw);
    let mut left_out = merge(excluded, &left_out).into_iter().peekable();
    all().filter(|pair| left_out.next_if_eq(pair).is_none()).collect()
}

/// Removes the pairs of one sorted list from another.
pub(crate) fn remove_sorted(list: &mut Vec<u64>, others: &[u64]) {
    // For a short list, searching the long one is faster than walking through it.
    if list.len() * 16 < others.len() {
        list.retain(|pair| others.binary_search(pair).is_err());
        return;
    }
    let mut others = others.iter().peekable();
    list.retain(|pair| {
        while others.next_if(|&other| other < pair).is_some() {}
        others.next_if_eq(&pair).is_none()
    });
}

/// Merges two sorted lists that have no pair in common.
pub(crate) fn merge(a: &[u64], b: &[u64]) -> Vec<u64> {
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    let mut merged = Vec::with_capacity(a.len() + b.len());
    while let (Some(&x), Some(&y)) = (a.peek(), b.peek()) {
        merged.extend(if x < y { a.next() } else { b.next() });
    }
    merged.extend(a);
    merged.extend(b);
    merged
}
