//! Colocation groups: sets of ops that must share a device (L §2.2, §3.1.2).

use petgraph::unionfind::UnionFind;

use crate::{GroupId, OpId};

/// The groups of two or more ops that must share a device.
///
/// Memory: nothing without groups; otherwise 4 bytes an op and 4 a member.
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
        let roots = forest.into_labeling();
        let mut sizes = vec![0u32; op_count];
        for &root in &roots {
            sizes[root as usize] += 1;
        }
        let mut number_of_root = vec![0u32; op_count];
        let mut group_of = vec![0u32; op_count];
        let mut offsets = vec![0u32];
        for (op, &root) in roots.iter().enumerate() {
            let root = root as usize;
            if sizes[root] < 2 {
                continue;
            }
            if number_of_root[root] == 0 {
                number_of_root[root] = offsets.len() as u32;
                offsets.push(offsets[offsets.len() - 1] + sizes[root]);
            }
            group_of[op] = number_of_root[root];
        }
        let mut cursor = offsets.clone();
        let mut members = vec![OpId(0); offsets[offsets.len() - 1] as usize];
        for (op, &code) in group_of.iter().enumerate() {
            if code > 0 {
                let slot = &mut cursor[code as usize - 1];
                members[*slot as usize] = OpId::new(op);
                *slot += 1;
            }
        }
        Self { group_of, offsets, members }
    }

    /// Groups given as such: for generators, whose groups are made rather than found.
    ///
    /// Every group has two or more members, ascending; groups share no member and ascend by their first.
    ///
    /// # Errors
    /// What is wrong and with which group, if that does not hold or a member is not below `op_count`.
    ///
    /// # Complexity
    /// O(ops + members).
    pub fn from_groups(op_count: usize, groups: &[&[OpId]]) -> Result<Self, String> {
        if groups.is_empty() {
            return Ok(Self::default());
        }
        let mut group_of = vec![0u32; op_count];
        let mut offsets = vec![0u32];
        let mut members = Vec::with_capacity(groups.iter().map(|group| group.len()).sum());
        for (number, &group) in groups.iter().enumerate() {
            let ordered = group.windows(2).all(|pair| pair[0] < pair[1]);
            let after_previous = number == 0 || groups[number - 1][0] < group[0];
            if group.len() < 2 || !ordered || !after_previous {
                return Err(format!("colocation group {number} is too small or out of order"));
            }
            for &op in group {
                match group_of.get_mut(op.index()) {
                    Some(slot) if *slot == 0 => *slot = number as u32 + 1,
                    Some(slot) => return Err(format!("op {op} is in the colocation groups {} and {number}", *slot - 1)),
                    None => return Err(format!("colocation group {number} has op {op}, but there are {op_count} ops")),
                }
            }
            members.extend_from_slice(group);
            offsets.push(members.len() as u32);
        }
        Ok(Self { group_of, offsets, members })
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
    fn without_pairs_nothing_is_stored() {
        let groups = Colocation::from_pairs(1000, []);
        assert_eq!((groups.group_count(), groups.colocated_op_count()), (0, 0));
        assert_eq!(groups.group_of(OpId(999)), None);
    }
}
