//! Contraction of nets: each cluster becomes a vertex. Nets within a cluster vanish, and nets with the same pins become
//! one.

use rayon::prelude::*;

use super::contraction;
use crate::partition::multilevel::nets::Nets;
use crate::partition::multilevel::structure::Structure;

/// Nets that a thread takes at a time.
const STRETCH: usize = 2048;

/// Coarse nets in the making.
#[derive(Default)]
struct Made {
    /// Where each net's pins end.
    ends: Vec<u32>,
    pins: Vec<u32>,
    weights: Vec<i64>,
    hashes: Vec<u64>,
}

/// The nets of the clusters: `cluster_of` gives each vertex a cluster below `clusters`. Nets keep their order; of nets
/// with the same pins, the first has the weight of all.
///
/// # Complexity
/// O(vertices + pins · log largest net).
pub(crate) fn contract(nets: &Nets, cluster_of: &[u32], clusters: usize) -> Nets {
    let mut vertex_weights = vec![0; clusters];
    for (vertex, &cluster) in (0..).zip(cluster_of) {
        vertex_weights[cluster as usize] += nets.weight(vertex);
    }
    let firsts = (0..nets.net_count() as u32).into_par_iter().step_by(STRETCH).with_max_len(1);
    let made: Vec<Made> = firsts.map(|first| with_clusters_for_pins(nets, first, cluster_of)).collect();
    let (pin_offsets, pins, net_weights) = merged(&made);
    let order = nets.order().map(|order| contraction::contract(order, cluster_of, clusters));
    Nets::new(pin_offsets, pins, net_weights, vertex_weights, order)
}

/// Some nets with clusters for pins, ascending, as far as they have more than one.
fn with_clusters_for_pins(nets: &Nets, first: u32, cluster_of: &[u32]) -> Made {
    let mut made = Made::default();
    for net in first..(nets.net_count() as u32).min(first + STRETCH as u32) {
        let start = made.pins.len();
        made.pins.extend(nets.pins(net).iter().map(|&pin| cluster_of[pin as usize]));
        made.pins[start..].sort_unstable();
        let mut kept = start + 1;
        for at in start + 1..made.pins.len() {
            if made.pins[at] != made.pins[kept - 1] {
                made.pins[kept] = made.pins[at];
                kept += 1;
            }
        }
        if kept < start + 2 {
            made.pins.truncate(start);
            continue;
        }
        made.pins.truncate(kept);
        made.ends.push(kept as u32);
        made.weights.push(nets.net_weight(net));
        let mix = |hash: u64, &pin: &u32| (hash ^ u64::from(pin)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        made.hashes.push(made.pins[start..].iter().fold(0, mix));
    }
    made
}

/// All nets one after the other, those with the same pins as one: offsets, pins and weights.
fn merged(made: &[Made]) -> (Vec<u32>, Vec<u32>, Vec<i64>) {
    let count: usize = made.iter().map(|some| some.ends.len()).sum();
    let (mut offsets, mut pins, mut weights) = (Vec::with_capacity(count + 1), Vec::new(), Vec::with_capacity(count));
    offsets.push(0u32);
    // An open hash table: one more than the number of a net, 0 for a free slot. It only finds equal nets.
    let mut table = vec![0u32; (2 * count).next_power_of_two()];
    let mut hashes: Vec<u64> = Vec::with_capacity(count);
    for some in made {
        let mut start = 0;
        for ((&end, &weight), &hash) in some.ends.iter().zip(&some.weights).zip(&some.hashes) {
            let own = &some.pins[start..end as usize];
            start = end as usize;
            let mut slot = (hash >> 20) as usize & (table.len() - 1);
            loop {
                match table[slot] as usize {
                    0 => {
                        pins.extend_from_slice(own);
                        offsets.push(pins.len() as u32);
                        weights.push(weight);
                        hashes.push(hash);
                        table[slot] = weights.len() as u32;
                        break;
                    }
                    next if hashes[next - 1] == hash
                        && pins[offsets[next - 1] as usize..offsets[next] as usize] == *own =>
                    {
                        weights[next - 1] += weight;
                        break;
                    }
                    _ => slot = (slot + 1) & (table.len() - 1),
                }
            }
        }
    }
    (offsets, pins, weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_nets_become_one_and_nets_within_a_cluster_vanish() {
        // Clusters {0, 2}, {1}, {3, 4}.
        let offsets = vec![0, 2, 4, 7, 9, 12];
        let pins = vec![0, 1, 0, 2, 1, 2, 4, 1, 2, 0, 1, 3];
        let nets = Nets::new(offsets, pins, vec![5, 9, 7, 2, 1], vec![1, 2, 3, 4, 5], None);
        let coarse = contract(&nets, &[0, 1, 0, 2, 2], 3);
        assert_eq!([0, 1, 2].map(|vertex| coarse.weight(vertex)), [4, 2, 9]);
        assert_eq!((coarse.pins(0), coarse.pins(1), coarse.net_count()), (&[0, 1][..], &[0, 1, 2][..], 2));
        assert_eq!([0, 1].map(|net| coarse.net_weight(net)), [7, 8]);
        assert_eq!([0, 1, 2].map(|vertex| coarse.nets_of(vertex)), [&[0, 1][..], &[0, 1], &[1]]);
        assert_eq!(coarse.cut(&[0, 1, 1]), nets.cut(&[0, 1, 0, 1, 1]));
    }
}
