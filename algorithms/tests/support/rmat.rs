//! Recursive-matrix graphs: power-law degrees, communities within communities.

#![allow(dead_code, unreachable_pub, reason = "each test uses its own part")]

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Probabilities of the quadrants (Chakrabarti, Zhan, Faloutsos 2004), in 65536ths: 0.57, 0.19, 0.19, and the rest.
const QUADRANTS: [u16; 3] = [37_356, 12_452, 12_452];

/// Random edges among 2^scale vertices, without end; loops and parallel edges are among them.
pub fn rmat(scale: u32, seed: u64) -> impl Iterator<Item = (u32, u32)> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let ab = QUADRANTS[0] + QUADRANTS[1];
    let abc = ab + QUADRANTS[2];
    std::iter::repeat_with(move || {
        let (mut row, mut column, mut bits) = (0u32, 0u32, 0u64);
        for level in 0..scale {
            if level % 4 == 0 {
                bits = rng.next_u64();
            }
            let draw = bits as u16;
            bits >>= 16;
            row = row << 1 | u32::from(draw >= ab);
            column = column << 1 | u32::from((QUADRANTS[0]..ab).contains(&draw) || draw >= abc);
        }
        (row, column)
    })
}

/// Distinct edges of such a graph without loops, the lower end first, sorted.
pub fn rmat_distinct(scale: u32, edges: usize, seed: u64) -> Vec<(u32, u32)> {
    let mut draws = rmat(scale, seed).filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b)));
    let mut distinct: Vec<(u32, u32)> = Vec::with_capacity(edges);
    while distinct.len() < edges {
        let missing = edges - distinct.len();
        distinct.extend(draws.by_ref().take(missing));
        distinct.sort_unstable();
        distinct.dedup();
    }
    distinct
}

/// The same with shuffled ids: in such a graph the order of the ids tells nothing of the degrees.
pub fn rmat_relabelled(scale: u32, edges: usize, seed: u64) -> Vec<(u32, u32)> {
    // Another seed than a partitioner gets for its random order, which would undo the shuffle.
    let ids = shuffled((0..1 << scale).collect(), !seed);
    let new = |id: u32| ids[id as usize];
    let mut relabelled: Vec<(u32, u32)> =
        rmat_distinct(scale, edges, seed).into_iter().map(|(a, b)| (new(a).min(new(b)), new(a).max(new(b)))).collect();
    relabelled.sort_unstable();
    relabelled
}

/// In an order drawn by the seed.
pub fn shuffled<T>(mut items: Vec<T>, seed: u64) -> Vec<T> {
    items.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
    items
}
