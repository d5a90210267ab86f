//! Colocation groups: sets of ops that must share a device (L §2.2, §3.1.2).

use petgraph::unionfind::UnionFind;

use crate::{GroupId, OpId};

/// The groups of two or more ops that must share a device.
///
/// Memory: none without groups; otherwise 4 bytes an op and 4 a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Colocation {
    /// Group number plus one for each op, 0 for an op in no group; empty if there is no group at all.
    group_of: Vec<u32>,
    offsets: Vec<u32>,
    members: Vec<OpId>,
}

impl Colocation {
    /// The transitive closure of `pairs` over `op_count` ops. A pair of an op with itself makes no group.
    ///
    /// Groups are numbered by their smallest member, and members ascend, whatever the order of the pairs.
    ///
    /// # Complexity
    /// O(ops + pairs · α).
    pub fn from_pairs(op_count: usize, pairs: impl IntoIterator<Item = (OpId, OpId)>) -> Self {
        let mut forest: Option<UnionFind<u32>> = None;
        for (a, b) in pairs {
            if a != b {
                forest.get_or_insert_with(|| UnionFind::new(op_count)).union(a.0, b.0);
            }
        }
        let Some(forest) = forest else { return Self::default() };
        Self::from_labels(forest.into_labeling().into_iter().map(|root| root + 1).collect())
    }

    /// Groups by label, for generators: all ops with the same label above 0 are a group, if there are two or more.
    ///
    /// Groups are numbered by their smallest member, as always, whatever the labels.
    ///
    /// # Complexity
    /// O(ops + largest label).
    pub fn from_labels(mut labels: Vec<u32>) -> Self {
        let label_count = labels.iter().max().map_or(1, |&label| label as usize + 1);
        let mut sizes = vec![0u32; label_count];
        for &label in &labels {
            sizes[label as usize] += 1;
        }
        sizes[0] = 0;
        // Group number plus one of each label seen, and where its next member goes.
        let mut groups = vec![(0u32, 0u32); label_count];
        let mut offsets = vec![0u32];
        let mut members = vec![OpId(0); sizes.iter().filter(|&&size| size > 1).sum::<u32>() as usize];
        for (op, label) in labels.iter_mut().enumerate() {
            let raw = *label as usize;
            if raw == 0 {
                continue;
            }
            let (number, next) = &mut groups[raw];
            if *number == 0 && sizes[raw] > 1 {
                *number = offsets.len() as u32;
                *next = offsets[offsets.len() - 1];
                offsets.push(*next + sizes[raw]);
            }
            *label = *number;
            if *number > 0 {
                members[*next as usize] = OpId(op as u32);
                *next += 1;
            }
        }
        if members.is_empty() {
            return Self::default();
        }
        Self { group_of: labels, offsets, members }
    }

    /// Bytes that the groups occupy.
    pub(crate) fn heap_bytes(&self) -> usize {
        (self.group_of.len() + self.offsets.len() + self.members.len()) * 4
    }

    /// How many groups there are.
    pub fn group_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// How many ops are in a group.
    pub fn colocated_op_count(&self) -> usize {
        self.members.len()
    }

    /// The group of an op, if it is in one.
    #[inline]
    pub fn group_of(&self, op: OpId) -> Option<GroupId> {
        self.group_of.get(op.index()).and_then(|&code| code.checked_sub(1)).map(GroupId)
    }

    /// The ops of a group, ascending.
    #[inline]
    pub fn members(&self, group: GroupId) -> &[OpId] {
        &self.members[self.offsets[group.index()] as usize..self.offsets[group.index() + 1] as usize]
    }

    /// All groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, &[OpId])> {
        (0..self.group_count()).map(|group| (GroupId::new(group), self.members(GroupId::new(group))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(raw: &[(u32, u32)]) -> Vec<(OpId, OpId)> {
        raw.iter().map(|&(a, b)| (OpId(a), OpId(b))).collect()
    }

    #[test]
    fn pairs_close_transitively_and_groups_are_numbered_by_their_smallest_member() {
        let groups = Colocation::from_pairs(8, pairs(&[(5, 7), (1, 6), (6, 3), (4, 4)]));
        assert_eq!(groups.group_count(), 2);
        assert_eq!(groups.members(GroupId(0)), [OpId(1), OpId(3), OpId(6)]);
        assert_eq!(groups.members(GroupId(1)), [OpId(5), OpId(7)]);
        assert_eq!(groups.group_of(OpId(4)), None);
        assert_eq!(groups.group_of(OpId(7)), Some(GroupId(1)));
    }

    #[test]
    fn labels_make_the_same_groups_as_pairs() {
        let by_label = Colocation::from_labels(vec![0, 9, 4, 9, 3, 7, 9, 7]);
        assert_eq!(by_label, Colocation::from_pairs(8, pairs(&[(5, 7), (1, 6), (6, 3)])));
        assert_eq!(Colocation::from_labels(vec![0, 2, 1]), Colocation::default());
        assert_eq!(Colocation::from_labels(vec![]), Colocation::default());
    }

    #[test]
    fn without_pairs_nothing_is_stored() {
        let groups = Colocation::from_pairs(1000, []);
        assert_eq!((groups.group_count(), groups.colocated_op_count()), (0, 0));
        assert_eq!(groups.group_of(OpId(999)), None);
    }
}
