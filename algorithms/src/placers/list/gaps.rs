//! The idle intervals of a device in time order, searched by length: a B-tree that knows the longest gap below each
//! child.
//!
//! Gaps only ever shrink or split, so entries are never removed: a gap that has become useless stays behind with no
//! room, and the search passes over it as over any gap that is too short. There are at most as many entries as
//! reservations.

use placebench_datasets::Time;

/// Entries in a node. 16 to 64 measured alike; 32 keeps a tree of 30,000 gaps at three levels.
const FANOUT: usize = 32;

/// Levels above the leaves. Splits leave at least half a node, but for the last, so 8 levels are more than 32-bit op ids can fill.
const MAX_HEIGHT: usize = 8;

/// The room of a gap that can take nothing any more.
const NO_ROOM: Time = f64::NEG_INFINITY;

/// An idle interval between two reservations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gap {
    pub(super) start: Time,
    pub(super) end: Time,
}

impl Gap {
    /// Whether something so long fits if it starts at or after `ready`: the one test that everything here agrees with.
    pub(super) fn fits(self, ready: Time, duration: Time) -> bool {
        self.start.max(ready) + duration <= self.end
    }

    /// The longest duration that fits, exactly: the largest float `d` with `start + d <= end` after rounding.
    ///
    /// `end - start` may be off by a rounding error in either direction. With that as a key the search would have to
    /// look at every gap that is too short by a hair. Graphs with equal costs have many of them.
    fn room(self) -> Time {
        // Bits of floats ≥ 0 order as the floats do. Twice the possible error lies between the two ends.
        let error = self.end * (2.0 * f64::EPSILON);
        let mut fits = (self.end - self.start - error).max(0.0).to_bits();
        let mut exceeds = (self.end - self.start + error).max(f64::MIN_POSITIVE).to_bits();
        while exceeds - fits > 1 {
            let middle = fits + (exceeds - fits) / 2;
            if self.start + f64::from_bits(middle) <= self.end {
                fits = middle;
            } else {
                exceeds = middle;
            }
        }
        f64::from_bits(fits)
    }
}

/// A node; `T` is the start of a gap in leaves and the number of a child elsewhere. Unused entries end never and have
/// no room, so that loops over all of a node need no length.
#[derive(Clone, Debug)]
struct Node<T> {
    len: usize,
    /// End of each gap, or of the last gap below each child; ascending.
    ends: [Time; FANOUT],
    /// Room of each gap, or the most room below each child.
    rooms: [Time; FANOUT],
    items: [T; FANOUT],
}

impl<T: Copy + Default> Node<T> {
    fn new() -> Self {
        Self { len: 0, ends: [f64::INFINITY; FANOUT], rooms: [NO_ROOM; FANOUT], items: [T::default(); FANOUT] }
    }

    /// The first entry that ends at or after `time`; `len` if none does.
    #[inline]
    fn first_ending_at(&self, time: Time) -> usize {
        self.ends.iter().map(|&end| usize::from(end < time)).sum()
    }

    /// The first entry at or after `from` with that much room.
    #[inline]
    fn first_with_room(&self, from: usize, duration: Time) -> Option<usize> {
        self.rooms[from..].iter().position(|&room| room >= duration).map(|step| from + step)
    }

    fn last_end(&self) -> Time {
        self.ends[self.len - 1]
    }

    fn most_room(&self) -> Time {
        self.rooms.iter().fold(NO_ROOM, |most, &room| if room > most { room } else { most })
    }

    /// Makes place for an entry at `at` and writes it; the node is not full.
    fn insert(&mut self, at: usize, end: Time, room: Time, item: T) {
        self.ends.copy_within(at..self.len, at + 1);
        self.rooms.copy_within(at..self.len, at + 1);
        self.items.copy_within(at..self.len, at + 1);
        self.len += 1;
        (self.ends[at], self.rooms[at], self.items[at]) = (end, room, item);
    }

    /// Moves the entries from `kept` on to a new node.
    fn split_at(&mut self, kept: usize) -> Self {
        let mut upper = Self::new();
        upper.len = self.len - kept;
        for (to, from) in (kept..self.len).enumerate() {
            (upper.ends[to], upper.rooms[to], upper.items[to]) = (self.ends[from], self.rooms[from], self.items[from]);
            (self.ends[from], self.rooms[from]) = (f64::INFINITY, NO_ROOM);
        }
        self.len = kept;
        upper
    }
}

/// Where a full node is split for a new entry: in the middle, or behind all entries if the new one comes there, since most gaps
/// are appended and nodes then stay full.
fn split_point(at: usize) -> usize {
    if at == FANOUT { FANOUT } else { FANOUT / 2 }
}

/// Where an entry is: the node and the entry in it at each level, leaves first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    steps: [(u32, u32); MAX_HEIGHT + 1],
}

impl Position {
    fn node(&self, level: usize) -> usize {
        self.steps[level].0 as usize
    }

    fn entry(&self, level: usize) -> usize {
        self.steps[level].1 as usize
    }

    fn set(&mut self, level: usize, node: usize, entry: usize) {
        self.steps[level] = (node as u32, entry as u32);
    }
}

/// Disjoint gaps in time order.
#[derive(Clone, Debug)]
pub(super) struct GapTree {
    leaves: Vec<Node<Time>>,
    inner: Vec<Node<u32>>,
    root: usize,
    /// Levels above the leaves.
    height: usize,
}

impl GapTree {
    pub(super) fn new() -> Self {
        Self { leaves: vec![Node::new()], inner: Vec::new(), root: 0, height: 0 }
    }

    /// Removes all gaps.
    pub(super) fn clear(&mut self) {
        self.inner.clear();
        self.leaves.truncate(1);
        if let [leaf] = &mut self.leaves[..] {
            leaf.ends[..leaf.len].fill(f64::INFINITY);
            leaf.rooms[..leaf.len].fill(NO_ROOM);
            leaf.len = 0;
        }
        (self.root, self.height) = (0, 0);
    }

    /// The earliest gap in which something so long fits at or after `ready`.
    ///
    /// # Complexity
    /// O(log gaps).
    pub(super) fn find(&self, ready: Time, duration: Time) -> Option<Position> {
        let mut position = Position { steps: [(0, 0); MAX_HEIGHT + 1] };
        let mut node = self.root;
        for level in (1..=self.height).rev() {
            let entry = self.inner[node].first_ending_at(ready);
            if entry == self.inner[node].len {
                return None;
            }
            position.set(level, node, entry);
            node = self.inner[node].items[entry] as usize;
        }
        let leaf = &self.leaves[node];
        let entry = leaf.first_ending_at(ready);
        if entry == leaf.len {
            return None;
        }
        position.set(0, node, entry);
        // Only the first gap that ends late enough can begin before `ready`; for the others their room decides.
        if leaf.rooms[entry] >= duration && self.gap(&position).fits(ready, duration) {
            return Some(position);
        }
        if let Some(next) = leaf.first_with_room(entry + 1, duration) {
            position.set(0, node, next);
            return Some(position);
        }
        for level in 1..=self.height {
            let node = position.node(level);
            if let Some(next) = self.inner[node].first_with_room(position.entry(level) + 1, duration) {
                position.set(level, node, next);
                self.descend(&mut position, level, duration);
                return Some(position);
            }
        }
        None
    }

    /// Completes a position below `level` with the first gap that has the room, which is known to be there.
    fn descend(&self, position: &mut Position, level: usize, duration: Time) {
        for level in (0..level).rev() {
            let node = self.inner[position.node(level + 1)].items[position.entry(level + 1)] as usize;
            let entry = match level {
                0 => self.leaves[node].first_with_room(0, duration),
                _ => self.inner[node].first_with_room(0, duration),
            };
            position.set(level, node, entry.unwrap_or(0));
        }
    }

    pub(super) fn gap(&self, position: &Position) -> Gap {
        let leaf = &self.leaves[position.node(0)];
        Gap { start: leaf.items[position.entry(0)], end: leaf.ends[position.entry(0)] }
    }

    /// Replaces a gap by what is left of it before and after a reservation.
    ///
    /// # Complexity
    /// O(log gaps).
    pub(super) fn replace(&mut self, position: &Position, before: Option<Gap>, after: Option<Gap>) {
        let (node, entry) = (position.node(0), position.entry(0));
        let leaf = &mut self.leaves[node];
        match before.or(after) {
            Some(gap) => (leaf.items[entry], leaf.ends[entry], leaf.rooms[entry]) = (gap.start, gap.end, gap.room()),
            None => leaf.rooms[entry] = NO_ROOM,
        }
        match (before, after) {
            (Some(_), Some(after)) => self.insert_after(position, after),
            _ => self.refresh(position),
        }
    }

    /// Appends a gap after all others.
    ///
    /// # Complexity
    /// O(log gaps).
    pub(super) fn push(&mut self, gap: Gap) {
        let mut position = Position { steps: [(0, 0); MAX_HEIGHT + 1] };
        let mut node = self.root;
        for level in (1..=self.height).rev() {
            let last = self.inner[node].len - 1;
            position.set(level, node, last);
            node = self.inner[node].items[last] as usize;
        }
        if self.leaves[node].len == 0 {
            self.leaves[node].insert(0, gap.end, gap.room(), gap.start);
            return;
        }
        position.set(0, node, self.leaves[node].len - 1);
        self.insert_after(&position, gap);
    }

    fn insert_after(&mut self, position: &Position, gap: Gap) {
        let node = position.node(0);
        let mut sibling = None;
        if self.leaves[node].len == FANOUT {
            let upper = self.leaves[node].split_at(split_point(position.entry(0) + 1));
            let kept = self.leaves[node].len;
            self.leaves.push(upper);
            sibling = Some(self.leaves.len() - 1);
            let at = position.entry(0) + 1;
            let (target, at) =
                if at <= kept && kept < FANOUT { (node, at) } else { (self.leaves.len() - 1, at - kept) };
            self.leaves[target].insert(at, gap.end, gap.room(), gap.start);
        } else {
            self.leaves[node].insert(position.entry(0) + 1, gap.end, gap.room(), gap.start);
        }
        for level in 1..=self.height {
            self.summarise(position, level);
            sibling = sibling.and_then(|sibling| self.add_child(position, level, sibling));
        }
        if let Some(sibling) = sibling {
            self.grow(sibling);
        }
    }

    /// Writes end and room of the node below into its parent's entry.
    fn summarise(&mut self, position: &Position, level: usize) {
        let (end, room) = self.summary(level - 1, position.node(level - 1));
        let parent = &mut self.inner[position.node(level)];
        (parent.ends[position.entry(level)], parent.rooms[position.entry(level)]) = (end, room);
    }

    fn summary(&self, level: usize, node: usize) -> (Time, Time) {
        match level {
            0 => (self.leaves[node].last_end(), self.leaves[node].most_room()),
            _ => (self.inner[node].last_end(), self.inner[node].most_room()),
        }
    }

    /// Adds a new child of `level` after the entry of `position`; returns the new node if this one had to be split.
    fn add_child(&mut self, position: &Position, level: usize, child: usize) -> Option<usize> {
        let (end, room) = self.summary(level - 1, child);
        let (node, at) = (position.node(level), position.entry(level) + 1);
        if self.inner[node].len < FANOUT {
            self.inner[node].insert(at, end, room, child as u32);
            return None;
        }
        let mut upper = self.inner[node].split_at(split_point(at));
        let kept = self.inner[node].len;
        if at <= kept && kept < FANOUT {
            self.inner[node].insert(at, end, room, child as u32);
        } else {
            upper.insert(at - kept, end, room, child as u32);
        }
        self.inner.push(upper);
        Some(self.inner.len() - 1)
    }

    /// A new root over the old one and its new sibling.
    fn grow(&mut self, sibling: usize) {
        let mut root = Node::new();
        for (at, child) in [self.root, sibling].into_iter().enumerate() {
            let (end, room) = self.summary(self.height, child);
            root.insert(at, end, room, child as u32);
        }
        self.inner.push(root);
        self.root = self.inner.len() - 1;
        self.height += 1;
    }

    fn refresh(&mut self, position: &Position) {
        for level in 1..=self.height {
            self.summarise(position, level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_a_gap_is_the_longest_duration_that_still_ends_in_time() {
        let cases = [(0.0, 1.0), (0.1, 0.3), (1e6 / 3.0, 1e6 / 3.0 + 0.7), (5.0, 5.0), (0.0, 0.0), (1e-300, 1.0)];
        for (start, end) in cases {
            let gap = Gap { start, end };
            let room = gap.room();
            assert!(gap.fits(start, room), "{gap:?}");
            assert!(!gap.fits(start, room.next_up()), "{gap:?}: {room}");
        }
    }

    #[test]
    fn many_gaps_are_found_by_time_and_by_length() {
        let mut tree = GapTree::new();
        // Gap i is [10 i, 10 i + 1 + i mod 7].
        for i in 0..5000 {
            let start = 10.0 * f64::from(i);
            tree.push(Gap { start, end: start + 1.0 + f64::from(i % 7) });
        }
        assert!(tree.height >= 2);
        for i in 0..5000u32 {
            let ready = 10.0 * f64::from(i) + 0.5;
            let wanted = (i..5000).find(|j| if *j == i { i % 7 >= 4 } else { j % 7 >= 3 });
            let found = tree.find(ready, 4.0).map(|position| tree.gap(&position).start);
            assert_eq!(found, wanted.map(|j| 10.0 * f64::from(j)));
        }
        assert!(tree.find(0.0, 7.5).is_none());
        assert!(tree.find(1e6, 0.0).is_none());
    }
}
