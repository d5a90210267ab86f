//! Sorts many short lists that are adjacent in memory, without branches that the processor cannot predict.

use std::ops::Range;

/// Copies a group of sources from `grouped` to the same place in `sources`, sorted; reports sources that are there more
/// than once. May overwrite what comes after the group in `sources`; `grouped` must be longer than `sources` by
/// [`NETWORK`].
#[inline]
pub(crate) fn sort_group(grouped: &[u32], group: Range<usize>, sources: &mut [u32], mut report: impl FnMut(u32)) {
    let len = group.len();
    if len == 0 {
        return;
    }
    if let Some(slots) = sources.get_mut(group.start..group.start + NETWORK)
        && len <= NETWORK
    {
        // Pad the group with numbers larger than any source, so that one network sorts groups of all lengths.
        let padding = &PADDING[len];
        let window = &grouped[group.start..group.start + NETWORK];
        let sorted = sort_network(std::array::from_fn(|at| window[at] | padding[at]));
        slots.copy_from_slice(&sorted);
        let equal = sorted.windows(2).map(|pair| usize::from(pair[0] == pair[1])).sum::<usize>();
        if equal == (NETWORK - 1).saturating_sub(len) {
            return;
        }
    }
    let slots = &mut sources[group.clone()];
    slots.copy_from_slice(&grouped[group]);
    slots.sort_unstable();
    slots.windows(2).filter(|pair| pair[0] == pair[1]).for_each(|pair| report(pair[0]));
}

/// Size of the sorting network: most groups are smaller in graphs with a few edges an op.
pub(crate) const NETWORK: usize = 8;

/// For each length up to the network's, ones in the places behind it.
const PADDING: [[u32; NETWORK]; NETWORK + 1] = {
    let mut padding = [[0; NETWORK]; NETWORK + 1];
    let mut len = 0;
    while len <= NETWORK {
        let mut at = len;
        while at < NETWORK {
            padding[len][at] = u32::MAX;
            at += 1;
        }
        len += 1;
    }
    padding
};

/// Sorts eight numbers by 19 exchanges without a branch (Knuth, The Art of Computer Programming 3, 5.3.4). Written out
/// because the compiler does not unroll a loop over a table of exchanges, which costs as much as it saves.
#[inline]
fn sort_network(numbers: [u32; NETWORK]) -> [u32; NETWORK] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = numbers;
    (a, c) = (a.min(c), a.max(c));
    (b, d) = (b.min(d), b.max(d));
    (e, g) = (e.min(g), e.max(g));
    (f, h) = (f.min(h), f.max(h));
    (a, e) = (a.min(e), a.max(e));
    (b, f) = (b.min(f), b.max(f));
    (c, g) = (c.min(g), c.max(g));
    (d, h) = (d.min(h), d.max(h));
    (a, b) = (a.min(b), a.max(b));
    (c, d) = (c.min(d), c.max(d));
    (e, f) = (e.min(f), e.max(f));
    (g, h) = (g.min(h), g.max(h));
    (c, e) = (c.min(e), c.max(e));
    (d, f) = (d.min(f), d.max(f));
    (b, e) = (b.min(e), b.max(e));
    (d, g) = (d.min(g), d.max(g));
    (b, c) = (b.min(c), b.max(c));
    (d, e) = (d.min(e), d.max(e));
    (f, g) = (f.min(g), f.max(g));
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_sorts_every_pattern_of_zeros_and_ones_and_so_everything() {
        for pattern in 0..256u32 {
            let bits: [u32; 8] = std::array::from_fn(|at| pattern >> at & 1);
            assert!(sort_network(bits).is_sorted(), "{pattern:08b}");
        }
    }

    #[test]
    fn a_group_is_sorted_whatever_its_size_and_its_repeats_are_reported() {
        for len in 0..20usize {
            let mut grouped: Vec<u32> = (0..len as u32).map(|at| (at * 7 + 3) % 19).collect();
            let expected: Vec<u32> = (0..19).filter(|number| grouped.contains(number)).collect();
            grouped.extend([0; NETWORK]);
            for room in [len, len + NETWORK] {
                let mut sources = vec![0; room];
                let mut repeats = Vec::new();
                sort_group(&grouped[..room + NETWORK - (room - len).min(NETWORK)], 0..len, &mut sources, |source| {
                    repeats.push(source);
                });
                let mut found = sources[..len].to_vec();
                assert!(found.is_sorted());
                found.dedup();
                assert_eq!((found.clone(), repeats.len()), (expected.clone(), len - expected.len()), "{len} {found:?}");
            }
        }
    }
}
