//! Contraction of a graph that stays simple: two supernodes share one edge, however many their vertices share.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::roots::find;

/// No edge, no end of one.
const NONE: u32 = u32::MAX;

/// The edges that are left in a contraction, and the ends that each supernode has of them.
///
/// Edge `e` has the ends `2e` and `2e + 1`.
#[derive(Clone, Debug, Default)]
pub(super) struct Incidence {
    /// The edges that are left, in no order.
    left: Vec<u32>,
    /// Where each edge is in `left`; [`NONE`] if it is gone.
    place: Vec<u32>,
    /// After each end, the next one of the same supernode.
    next: Vec<u32>,
    /// Of each supernode, by its root: its first and last end, and how many it has, those of edges that are gone included.
    first: Vec<u32>,
    last: Vec<u32>,
    count: Vec<u32>,
}

impl Incidence {
    /// Every vertex is a supernode.
    pub(super) fn reset(&mut self, vertices: usize, edges: &[[u32; 2]]) {
        self.left.clear();
        self.left.extend(0..edges.len() as u32);
        self.place.clone_from(&self.left);
        self.next.clear();
        self.next.resize(2 * edges.len(), NONE);
        for list in [&mut self.first, &mut self.last] {
            list.clear();
            list.resize(vertices, NONE);
        }
        self.count.clear();
        self.count.resize(vertices, 0);
        for (end, &vertex) in edges.iter().flatten().enumerate() {
            self.append(vertex as usize, end as u32, end as u32, 1);
        }
    }

    /// Draws a pair of supernodes that share an edge, each with equal chance: an edge that is left, and its ends' roots.
    ///
    /// An edge is drawn with equal chance, and accepted with that of one among its parallels; these go in any case. What is
    /// left then is drawn from anew, which gives every pair the same chance again.
    ///
    /// # Complexity
    /// O(ends of the smaller supernode) an attempt.
    pub(super) fn draw(
        &mut self,
        random: &mut Pcg64Mcg,
        edges: &[[u32; 2]],
        parents: &mut [u32],
    ) -> Option<(u32, [u32; 2])> {
        while !self.left.is_empty() {
            let edge = self.left[random.random_range(0..self.left.len() as u32) as usize];
            let [a, b] = edges[edge as usize].map(|vertex| find(parents, vertex));
            if a == b {
                self.remove(edge);
                continue;
            }
            let (small, large) = if self.count[a as usize] <= self.count[b as usize] { (a, b) } else { (b, a) };
            let parallels = self.keep_one(edge, small, large, edges, parents);
            if parallels == 1 || random.random_range(0..parallels) == 0 {
                return Some((edge, [a, b]));
            }
        }
        None
    }

    /// Removes the edges between two supernodes but one; returns how many there were.
    fn keep_one(&mut self, kept: u32, small: u32, large: u32, edges: &[[u32; 2]], parents: &mut [u32]) -> u32 {
        let (mut before, mut end, mut between) = (NONE, self.first[small as usize], 0);
        while end != NONE {
            let (edge, next) = (end / 2, self.next[end as usize]);
            if self.place[edge as usize] != NONE {
                let [from, to] = edges[edge as usize];
                let other = find(parents, if end % 2 == 0 { to } else { from });
                between += u32::from(other == large);
                if other == small || other == large && edge != kept {
                    self.remove(edge);
                }
            }
            if self.place[edge as usize] == NONE {
                match before {
                    NONE => self.first[small as usize] = next,
                    _ => self.next[before as usize] = next,
                }
                self.count[small as usize] -= 1;
            } else {
                before = end;
            }
            end = next;
        }
        self.last[small as usize] = before;
        between
    }

    /// Takes an edge out.
    pub(super) fn remove(&mut self, edge: u32) {
        let place = std::mem::replace(&mut self.place[edge as usize], NONE);
        self.left.swap_remove(place as usize);
        if let Some(&moved) = self.left.get(place as usize) {
            self.place[moved as usize] = place;
        }
    }

    /// Gives the ends of one supernode to another.
    pub(super) fn join(&mut self, root: u32, other: u32) {
        let other = other as usize;
        if self.first[other] != NONE {
            self.append(root as usize, self.first[other], self.last[other], self.count[other]);
        }
    }

    fn append(&mut self, root: usize, first: u32, last: u32, count: u32) {
        match self.last[root] {
            NONE => self.first[root] = first,
            end => self.next[end as usize] = first,
        }
        self.last[root] = last;
        self.count[root] += count;
    }
}
