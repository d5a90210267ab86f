//! Colocation groups with heavy-tailed sizes.

use placebench_datasets::{Colocation, OpId};

use super::params::ColocationParams;
use crate::random::{Purpose, Stream, below, stream, unit};

/// Draws groups whose sizes add up to exactly `params.nodes`, out of `op_count` ops.
///
/// # Complexity
/// O(colocated ops); O(ops) if more than half of them are colocated, and for the table of groups.
pub(crate) fn draw_groups(params: &ColocationParams, op_count: usize, seed: u64) -> Colocation {
    let sizes = draw_sizes(params, &mut stream(seed, Purpose::GroupSizes, 0));
    let mut members = draw_distinct(params.nodes as usize, op_count, &mut stream(seed, Purpose::GroupMembers, 0));
    if members.is_empty() {
        return Colocation::default();
    }
    let mut labels = vec![0; op_count];
    for (label, size) in (1..).zip(sizes) {
        for op in members.drain(members.len() - size as usize..) {
            labels[op.index()] = label;
        }
    }
    Colocation::from_labels(labels)
}

/// Sizes that follow the power law, the last ones bent so that the sum is exact and none is 1.
fn draw_sizes(params: &ColocationParams, rng: &mut Stream) -> Vec<u32> {
    let largest = u64::from(params.max_size).min(params.nodes.max(2));
    let mut sum = 0.0;
    let cumulative: Vec<f64> = (2..=largest)
        .map(|size| {
            sum += libm::pow(size as f64, -params.exponent);
            sum
        })
        .collect();
    let mut sizes = Vec::new();
    let mut left = params.nodes;
    while left > 0 {
        let at = unit(rng) * sum;
        let drawn = cumulative.partition_point(|&below| below <= at).min(cumulative.len() - 1) as u64 + 2;
        let size = if left <= drawn {
            left
        } else if left - drawn > 1 {
            drawn
        } else if drawn < largest {
            // One op would be left over: it joins this group, or if that is full, this group leaves two.
            drawn + 1
        } else {
            drawn - 1
        };
        sizes.push(size as u32);
        left -= size;
    }
    sizes
}

/// `count` different ops in random order.
fn draw_distinct(count: usize, op_count: usize, rng: &mut Stream) -> Vec<OpId> {
    if count > op_count / 2 {
        let mut ops: Vec<OpId> = (0..op_count as u32).map(OpId).collect();
        for position in 0..count {
            ops.swap(position, position + below(rng, (op_count - position) as u64) as usize);
        }
        ops.truncate(count);
        return ops;
    }
    let mut taken = vec![0u64; op_count.div_ceil(64)];
    let mut ops = Vec::with_capacity(count);
    while ops.len() < count {
        let op = below(rng, op_count as u64) as usize;
        let bit = 1 << (op % 64);
        if taken[op / 64] & bit == 0 {
            taken[op / 64] |= bit;
            ops.push(OpId(op as u32));
        }
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(nodes: u64, exponent: f64, max_size: u32) -> Vec<u32> {
        draw_sizes(&ColocationParams { nodes, exponent, max_size }, &mut stream(1, Purpose::GroupSizes, 0))
    }

    #[test]
    fn sizes_add_up_and_stay_between_two_and_the_largest() {
        for nodes in (2..200).chain([5200]) {
            for max_size in [3, 4, 160] {
                let sizes = sizes(nodes, 1.0, max_size);
                assert_eq!(sizes.iter().map(|&size| u64::from(size)).sum::<u64>(), nodes);
                assert!(sizes.iter().all(|size| (2..=max_size).contains(size)), "{nodes} {max_size}: {sizes:?}");
            }
        }
        assert_eq!(sizes(6, 3.0, 2), [2, 2, 2]);
    }

    #[test]
    fn most_groups_are_pairs_and_few_are_large_as_in_tensorflow() {
        let sizes = sizes(100_000, ColocationParams::default().exponent, ColocationParams::default().max_size);
        let share = |from: u32| sizes.iter().filter(|&&size| size >= from).count() as f64 / sizes.len() as f64;
        // The law's own shares: 32.9 % above 2, 1.6 % from 10 on.
        assert!((share(3) - 0.329).abs() < 0.01 && (share(10) - 0.016).abs() < 0.003, "{} {}", share(3), share(10));
        assert!(sizes.iter().any(|&size| size > 50));
    }

    #[test]
    fn drawn_ops_are_different_however_many_are_drawn() {
        for count in [0, 1, 49, 50, 51, 100] {
            let mut ops = draw_distinct(count, 100, &mut stream(2, Purpose::GroupMembers, 0));
            ops.sort_unstable();
            ops.dedup();
            assert_eq!(ops.len(), count);
        }
    }
}
