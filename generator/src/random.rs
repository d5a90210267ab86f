//! Random streams keyed by (seed, purpose, index), so that any part of a graph can be made alone and on any thread.

use placebench_datasets::splitmix64;
use rand::Rng;
use rand_pcg::Mcg128Xsl64;

/// The generator behind every stream: PCG's MCG-XSL-RR with 128 bits of state (O'Neill 2014).
pub(crate) type Stream = Mcg128Xsl64;

/// What a stream is drawn for. The numbers are part of every stream's key: changing one changes every graph.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Purpose {
    LevelSizes = 1,
    LevelEdgeCounts = 2,
    RandomEdgeCounts = 3,
    LevelEdges = 4,
    RandomEdges = 5,
    Ops = 6,
    TensorBytes = 7,
    MemoryBytes = 8,
    Kinds = 9,
    GroupSizes = 10,
    GroupMembers = 11,
    GroupKinds = 12,
    DeviceKinds = 13,
    DeviceSpeeds = 14,
    DeviceRates = 15,
    Points = 16,
    RmatEdges = 17,
    Structure = 40,
    Correlation = 41,
    MachineTimes = 42,
    BytesMoved = 43,
    RmatCounts = 18,
    GnmEdges = 19,
    GnmCounts = 20,
}

/// The stream of a (seed, purpose, index). Streams of different keys are unrelated.
pub(crate) fn stream(seed: u64, purpose: Purpose, index: u64) -> Stream {
    let half =
        |salt: u64| splitmix64(splitmix64(splitmix64(seed ^ salt).wrapping_add(purpose as u64)).wrapping_add(index));
    Stream::new(u128::from(half(0x9e37_79b9_7f4a_7c15)) << 64 | u128::from(half(0xd1b5_4a32_d192_ed03)))
}

/// A uniform integer in `0..bound`, without bias (Lemire 2019). `bound` must not be 0.
#[inline]
pub(crate) fn below(rng: &mut Stream, bound: u64) -> u64 {
    debug_assert!(bound > 0);
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(bound);
        let low = product as u64;
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

/// Writes a uniform integer in `0..bound` into each slot, without bias, four from a draw where they are small.
#[inline]
pub(crate) fn fill_below<T>(rng: &mut Stream, bound: u64, slots: &mut [T], convert: impl Fn(u64) -> T) {
    /// Up to this bound four digits fit a draw so well that a draw is hardly ever rejected.
    const SMALL: u64 = 1 << 12;
    if bound > SMALL {
        slots.iter_mut().for_each(|slot| *slot = convert(below(rng, bound)));
        return;
    }
    let all = bound * bound * bound * bound;
    for four in slots.chunks_mut(4) {
        loop {
            // As in `pair_below`: each digit is the high half of a product whose low half is uniform again.
            let mut rest = rng.next_u64();
            let digits = [(); 4].map(|()| {
                let product = u128::from(rest) * u128::from(bound);
                rest = product as u64;
                (product >> 64) as u64
            });
            if rest >= all || rest >= all.wrapping_neg() % all {
                four.iter_mut().zip(digits).for_each(|(slot, digit)| *slot = convert(digit));
                break;
            }
        }
    }
}

/// A uniform pair in `0..rows` × `0..columns`, without bias, from one draw. `rows · columns` must be in `1..2^64`.
///
/// The high half of `draw · rows` is the row; its low half is uniform again, and times `columns` gives the column. The
/// rest is the low half of `draw · rows · columns`, on which Lemire's rejection works as for a single number.
#[inline]
pub(crate) fn pair_below(rng: &mut Stream, rows: u32, columns: u32) -> (u32, u32) {
    let pairs = u64::from(rows) * u64::from(columns);
    debug_assert!(pairs > 0);
    loop {
        let by_row = u128::from(rng.next_u64()) * u128::from(rows);
        let by_column = u128::from(by_row as u64) * u128::from(columns);
        let low = by_column as u64;
        if low >= pairs || low >= pairs.wrapping_neg() % pairs {
            return ((by_row >> 64) as u32, (by_column >> 64) as u32);
        }
    }
}

/// A uniform number in [0, 1) with 53 bits.
#[inline]
pub(crate) fn unit(rng: &mut Stream) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_keys_differ_and_of_the_same_key_agree() {
        let draw = |seed, purpose, index| stream(seed, purpose, index).next_u64();
        assert_eq!(draw(1, Purpose::Ops, 2), draw(1, Purpose::Ops, 2));
        let keys =
            [draw(1, Purpose::Ops, 2), draw(2, Purpose::Ops, 2), draw(1, Purpose::Kinds, 2), draw(1, Purpose::Ops, 3)];
        for (position, key) in keys.iter().enumerate() {
            assert!(!keys[..position].contains(key));
        }
    }

    #[test]
    fn every_pair_of_a_small_rectangle_is_equally_likely() {
        let mut rng = stream(7, Purpose::RandomEdges, 0);
        let mut counts = [0u32; 15];
        for _ in 0..150_000 {
            let (row, column) = pair_below(&mut rng, 3, 5);
            counts[(row * 5 + column) as usize] += 1;
        }
        // 15 cells of 10,000 expected: chi-squared with 14 degrees of freedom exceeds 42.6 once in 10,000 seeds.
        let chi_squared: f64 = counts.iter().map(|&count| (f64::from(count) - 1e4).powi(2) / 1e4).sum();
        assert!(chi_squared < 42.6, "{counts:?}");
    }

    #[test]
    fn numbers_four_from_a_draw_are_uniform_and_independent() {
        let mut rng = stream(7, Purpose::Ops, 1);
        let mut digits = vec![0u8; 4 * 81_000 + 3];
        fill_below(&mut rng, 3, &mut digits, |digit| digit as u8);
        let mut counts = [0u32; 81];
        for four in digits.chunks_exact(4) {
            counts[four.iter().fold(0, |number, &digit| 3 * number + usize::from(digit))] += 1;
        }
        // 81 cells of 1000 expected: chi-squared with 80 degrees of freedom exceeds 136 once in 10,000 seeds.
        let chi_squared: f64 = counts.iter().map(|&count| (f64::from(count) - 1e3).powi(2) / 1e3).sum();
        assert!(chi_squared < 136.0, "{counts:?}");
        assert!(digits.iter().all(|&digit| digit < 3));
    }

    #[test]
    fn draws_stay_below_their_bound_even_at_the_edges() {
        let mut rng = stream(7, Purpose::Ops, 0);
        assert_eq!(below(&mut rng, 1), 0);
        for _ in 0..1000 {
            assert!(below(&mut rng, u64::MAX) < u64::MAX);
            assert!(below(&mut rng, 3) < 3);
            assert!((0.0..1.0).contains(&unit(&mut rng)));
        }
    }
}
