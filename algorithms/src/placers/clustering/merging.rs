//! Merges the two lightest clusters until the wanted number is left (B §4.4).

use std::ops::Range;

/// The merges of one trial, over leaves: isolated vertices first, then contracted supernodes, both by weight.
///
/// Sums of the two lightest never get lighter, so a queue of them stays sorted by itself, and no heap is needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Merging {
    /// The contracted supernodes by weight, then root.
    keys: Vec<u64>,
    roots: Vec<u32>,
    /// Weight of every node: leaves, then sums.
    weights: Vec<u32>,
    /// What each node was merged into: itself, if nothing.
    into: Vec<u32>,
    balance: f64,
}

impl Merging {
    /// Merges until at most `wanted` clusters are left.
    ///
    /// Of equal weights, leaves come before sums, isolated vertices before supernodes, and lower numbers first.
    ///
    /// # Complexity
    /// O(isolated + supernodes · log supernodes).
    pub(super) fn run(&mut self, isolated: &[u32], supernodes: impl Iterator<Item = (u32, u32)>, wanted: usize) {
        self.keys.clear();
        self.keys.extend(supernodes.map(|(weight, root)| u64::from(weight) << 32 | u64::from(root)));
        self.keys.sort_unstable();
        self.roots.clear();
        self.roots.extend(self.keys.iter().map(|&key| key as u32));
        self.weights.clear();
        self.weights.extend_from_slice(isolated);
        self.weights.extend(self.keys.iter().map(|&key| (key >> 32) as u32));
        let leaves = self.weights.len();
        self.into.clear();
        self.into.extend(0..leaves as u32);
        let mut queues = [0..isolated.len(), isolated.len()..leaves, leaves..leaves];
        for _ in wanted.max(1)..leaves {
            let (Some(first), Some(second)) = (self.lightest(&mut queues), self.lightest(&mut queues)) else { break };
            let sum = self.weights.len();
            self.weights.push(self.weights[first] + self.weights[second]);
            self.into.push(sum as u32);
            (self.into[first], self.into[second]) = (sum as u32, sum as u32);
            queues[2].end += 1;
        }
        let mut ends = queues.iter().filter(|queue| !queue.is_empty());
        let least = ends.clone().map(|queue| self.weights[queue.start]).min().unwrap_or(1);
        let most = ends.by_ref().map(|queue| self.weights[queue.end - 1]).max().unwrap_or(1);
        self.balance = f64::from(least) / f64::from(most);
        // Sums come after what they are sums of, so one pass backwards finds where everything ends up.
        for node in (0..self.into.len()).rev() {
            self.into[node] = self.into[self.into[node] as usize];
        }
    }

    /// Takes the lightest node out of its queue.
    fn lightest(&self, queues: &mut [Range<usize>; 3]) -> Option<usize> {
        let heads = queues.iter_mut().filter(|queue| queue.start < queue.end);
        heads.min_by_key(|queue| self.weights[queue.start])?.next()
    }

    /// The weight of the lightest cluster over that of the heaviest.
    pub(super) fn balance(&self) -> f64 {
        self.balance
    }

    /// The supernodes, in the order of their leaves.
    pub(super) fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// The cluster that a leaf ended up in, below [`Merging::node_count`].
    pub(super) fn cluster_of_leaf(&self, leaf: u32) -> u32 {
        self.into[leaf as usize]
    }

    /// How many numbers clusters can have.
    pub(super) fn node_count(&self) -> usize {
        self.into.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The weights of the clusters, by a search for the two lightest each time.
    fn searched(mut weights: Vec<u32>, wanted: usize) -> Vec<u32> {
        weights.sort_unstable();
        while weights.len() > wanted {
            let sum = weights[0] + weights[1];
            weights.drain(..2);
            weights.insert(weights.partition_point(|&weight| weight < sum), sum);
        }
        weights
    }

    proptest! {
        #[test]
        fn queues_merge_what_a_search_for_the_lightest_merges(
            mut isolated in proptest::collection::vec(1u32..20, 0..30),
            contracted in proptest::collection::vec(1u32..200, 1..30),
            wanted in 1usize..20,
        ) {
            isolated.sort_unstable();
            let mut merging = Merging::default();
            merging.run(&isolated, contracted.iter().copied().zip(0..), wanted);
            let mut sums = vec![0u32; merging.node_count()];
            let leaf_weights = isolated.iter().copied().chain(merging.roots().iter().map(|&root| contracted[root as usize]));
            for (leaf, weight) in (0..).zip(leaf_weights) {
                sums[merging.cluster_of_leaf(leaf) as usize] += weight;
            }
            sums.retain(|&sum| sum > 0);
            sums.sort_unstable();
            let expected = searched([isolated, contracted].concat(), wanted);
            prop_assert_eq!(merging.balance(), f64::from(expected[0]) / f64::from(expected[expected.len() - 1]));
            prop_assert_eq!(sums, expected);
        }
    }
}
