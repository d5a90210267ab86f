//! A priority queue of vertices whose keys change.

/// A max-heap of vertices with a place for each, so that keys can be changed. Equal keys: last changed first.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    entries: Vec<Entry>,
    /// One more than the vertex's place in `entries`, 0 if it is not there.
    place: Vec<u32>,
    clock: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: i64,
    stamp: u32,
    vertex: u32,
}

impl Entry {
    /// By key, then stamp, then vertex, in one number: comparing it takes no branches.
    #[inline]
    fn rank(self) -> i128 {
        i128::from(self.key) << 64 | i128::from(self.stamp) << 32 | i128::from(self.vertex)
    }
}

impl Heap {
    pub(crate) fn new(vertices: usize) -> Self {
        Self { entries: Vec::new(), place: vec![0; vertices], clock: 0 }
    }

    pub(crate) fn clear(&mut self) {
        for entry in self.entries.drain(..) {
            self.place[entry.vertex as usize] = 0;
        }
        self.clock = 0;
    }

    /// Gives a vertex a key, whether it is there or not.
    #[inline]
    pub(crate) fn set(&mut self, vertex: u32, key: i64) {
        self.clock = self.clock.wrapping_add(1);
        let entry = Entry { key, stamp: self.clock, vertex };
        if self.place.len() <= vertex as usize {
            self.place.resize(vertex as usize + 1, 0);
        }
        match self.place[vertex as usize] {
            0 => {
                self.entries.push(entry);
                self.rise(self.entries.len() - 1, entry);
            }
            place => {
                let at = place as usize - 1;
                let old = self.entries[at];
                if old.key == key {
                    return;
                }
                if key > old.key { self.rise(at, entry) } else { self.sink(at, entry) }
            }
        }
    }

    /// The key of a vertex, if it is there.
    #[inline]
    pub(crate) fn key(&self, vertex: u32) -> Option<i64> {
        match self.place.get(vertex as usize) {
            None | Some(0) => None,
            Some(&place) => Some(self.entries[place as usize - 1].key),
        }
    }

    /// Takes a vertex out, if it is there.
    #[inline]
    pub(crate) fn remove(&mut self, vertex: u32) {
        let place = self.place.get_mut(vertex as usize).map_or(0, std::mem::take);
        if place == 0 {
            return;
        }
        let at = place as usize - 1;
        let Some(last) = self.entries.pop() else { return };
        if at < self.entries.len() {
            let old = self.entries[at];
            if last.rank() > old.rank() { self.rise(at, last) } else { self.sink(at, last) }
        }
    }

    /// The vertex of the largest key.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u32, i64)> {
        let top = *self.entries.first()?;
        self.remove(top.vertex);
        Some((top.vertex, top.key))
    }

    fn put(&mut self, at: usize, entry: Entry) {
        self.entries[at] = entry;
        self.place[entry.vertex as usize] = at as u32 + 1;
    }

    fn rise(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / 4;
            let above = self.entries[parent];
            if above.rank() >= entry.rank() {
                break;
            }
            self.put(at, above);
            at = parent;
        }
        self.put(at, entry);
    }

    fn sink(&mut self, mut at: usize, entry: Entry) {
        loop {
            let first = 4 * at + 1;
            let end = (first + 4).min(self.entries.len());
            let children = self.entries.get(first..end).unwrap_or_default().iter();
            let Some((child, &below)) = (first..).zip(children).max_by_key(|(_, below)| below.rank()) else { break };
            if below.rank() <= entry.rank() {
                break;
            }
            self.put(at, below);
            at = child;
        }
        self.put(at, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_leave_by_their_latest_key() {
        let mut heap = Heap::new(6);
        for (vertex, key) in [(0, 5), (1, 7), (2, -1), (3, 9), (4, 7), (5, 0)] {
            heap.set(vertex, key);
        }
        heap.set(3, 1);
        heap.set(2, 8);
        heap.remove(0);
        let order: Vec<(u32, i64)> = std::iter::from_fn(|| heap.pop()).collect();
        assert_eq!(order, [(2, 8), (4, 7), (1, 7), (3, 1), (5, 0)]);
        heap.set(0, 3);
        heap.clear();
        assert_eq!(heap.pop(), None);
    }
}
