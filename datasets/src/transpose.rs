//! From in-edges to out-edges, block by block, so that random accesses stay in cache.

use crate::OpId;

/// An edge whose source is not smaller than its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAscending {
    pub(crate) source: OpId,
    pub(crate) target: OpId,
}

/// The out-edges of a graph given by its in-edges: `out_offsets` and `out_targets`, each op's targets ascending.
///
/// `in_offsets` must ascend from 0 to `in_sources.len()`.
///
/// Writing each edge straight to the row of its source would miss the cache once for each edge of a large graph. So
/// edges are first dealt to blocks of consecutive sources, which writes to a few hundred places in sequence. Then each
/// block is counted and written within the cache.
///
/// # Complexity
/// O(ops + edges); 2 bytes an edge, and 4 bytes an edge of the largest block, of scratch space.
pub(crate) fn out_edges(in_offsets: &[u32], in_sources: &[OpId]) -> Result<(Vec<u32>, Vec<OpId>), NotAscending> {
    let op_count = in_offsets.len() - 1;
    // About 512 blocks. At most 2^16 sources each, to index them with 16 bits; small ones would cost more than they
    // save.
    let block_bits = op_count.max(1).ilog2().saturating_sub(9).clamp(12, 16);
    let Some(mut block_ends) = block_starts(in_sources, op_count, block_bits) else {
        return Err(first_fault(in_offsets, in_sources));
    };
    let mut targets = vec![0u32; in_sources.len()];
    let mut within_block = vec![0u16; in_sources.len()];
    let mask = (1 << block_bits) - 1;
    let mut ascending = true;
    for (target, range) in in_offsets.windows(2).enumerate() {
        for source in &in_sources[range[0] as usize..range[1] as usize] {
            ascending &= source.index() < target;
            // Each edge moves the start of its block on. After the last edge it is the end of the block.
            let slot = &mut block_ends[(source.0 >> block_bits) as usize];
            targets[*slot as usize] = target as u32;
            within_block[*slot as usize] = (source.0 & mask) as u16;
            *slot += 1;
        }
    }
    if !ascending {
        return Err(first_fault(in_offsets, in_sources));
    }
    let mut out_offsets = Vec::with_capacity(op_count + 1);
    out_offsets.push(0);
    let mut dealt = Vec::new();
    let mut cursor = vec![0u32; 1 << block_bits];
    let mut block_start = 0;
    for (block, &end) in block_ends.iter().enumerate() {
        let edges = block_start as usize..end as usize;
        let ops = (op_count - (block << block_bits)).min(1 << block_bits);
        let sources = &within_block[edges.clone()];
        let cursor = &mut cursor[..ops];
        cursor.fill(0);
        for &source in sources {
            cursor[source as usize] += 1;
        }
        let mut before = 0;
        for count in cursor.iter_mut() {
            before += std::mem::replace(count, before);
            out_offsets.push(block_start + before);
        }
        let window = &mut targets[edges];
        dealt.clear();
        dealt.extend_from_slice(window);
        for (&source, &target) in sources.iter().zip(&dealt) {
            let slot = &mut cursor[source as usize];
            window[*slot as usize] = target;
            *slot += 1;
        }
        block_start = end;
    }
    Ok((out_offsets, targets.into_iter().map(OpId).collect()))
}

/// The first edge of each block of sources; `None` if a source is no op.
fn block_starts(in_sources: &[OpId], op_count: usize, block_bits: u32) -> Option<Vec<u32>> {
    // Neighbouring edges often fall into the same block. Separate counters avoid waiting for the last write.
    let mut counts = vec![[0u32; 4]; op_count.div_ceil(1 << block_bits)];
    let mut fours = in_sources.chunks_exact(4);
    for four in &mut fours {
        for (lane, source) in four.iter().enumerate() {
            counts.get_mut((source.0 >> block_bits) as usize)?[lane] += 1;
        }
    }
    for source in fours.remainder() {
        counts.get_mut((source.0 >> block_bits) as usize)?[0] += 1;
    }
    let mut before = 0;
    Some(
        counts
            .iter()
            .map(|lanes| {
                let start = before;
                before += lanes.iter().sum::<u32>();
                start
            })
            .collect(),
    )
}

fn first_fault(in_offsets: &[u32], in_sources: &[OpId]) -> NotAscending {
    let mut edges = in_offsets.windows(2).enumerate().flat_map(|(target, range)| {
        let target = OpId(target as u32);
        in_sources[range[0] as usize..range[1] as usize].iter().map(move |&source| NotAscending { source, target })
    });
    edges.find(|edge| edge.source >= edge.target).expect("called when an edge does not ascend")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_of_sources_leave_the_same_edges_in_the_same_order(
            op_count in 1..20_000u32,
            raw in prop::collection::vec((any::<u32>(), any::<u32>()), 0..300),
        ) {
            let mut edges: Vec<(u32, u32)> = raw
                .into_iter()
                .filter(|_| op_count > 1)
                .map(|(a, b)| {
                    let target = 1 + a % (op_count - 1).max(1);
                    (target, b % target)
                })
                .collect();
            edges.sort_unstable();
            let in_offsets: Vec<u32> =
                (0..=op_count).map(|op| edges.partition_point(|&(target, _)| target < op) as u32).collect();
            let in_sources: Vec<OpId> = edges.iter().map(|&(_, source)| OpId(source)).collect();
            let (offsets, targets) = out_edges(&in_offsets, &in_sources).unwrap();
            let mut forward: Vec<(u32, u32)> = edges.iter().map(|&(target, source)| (source, target)).collect();
            forward.sort_unstable();
            prop_assert_eq!(targets, forward.iter().map(|&(_, target)| OpId(target)).collect::<Vec<_>>());
            for op in 0..=op_count {
                prop_assert_eq!(offsets[op as usize] as usize, forward.partition_point(|&(source, _)| source < op));
            }
        }
    }

    #[test]
    fn the_first_edge_that_does_not_ascend_is_named() {
        let fault = NotAscending { source: OpId(1), target: OpId(1) };
        assert_eq!(out_edges(&[0, 0, 1, 2], &[OpId(1), OpId(0)]), Err(fault));
        let fault = NotAscending { source: OpId(9_000_000), target: OpId(2) };
        assert_eq!(out_edges(&[0, 0, 1, 2], &[OpId(0), OpId(9_000_000)]), Err(fault));
        assert_eq!(out_edges(&[0], &[]), Ok((vec![0], vec![])));
    }
}
