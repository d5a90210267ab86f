//! Sets of blocks as words of 64 bits.

/// The words that a set of blocks takes.
pub(super) fn words(blocks: u32) -> usize {
    blocks.div_ceil(64) as usize
}

/// The blocks in one word of a set, ascending.
#[inline]
pub(super) fn blocks_in(word: u64, index: usize) -> impl Iterator<Item = usize> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let bit = rest.trailing_zeros() as usize;
        (rest != 0).then(|| {
            rest &= rest - 1;
            index * 64 + bit
        })
    })
}

/// The blocks of a set, ascending.
#[inline]
pub(super) fn blocks_of(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(index, &word)| blocks_in(word, index))
}
