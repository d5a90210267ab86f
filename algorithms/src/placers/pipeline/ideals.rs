//! The ideals of a graph: sets of vertices that hold all predecessors of their members.

use std::collections::HashMap;

use super::stages::Stages;
use crate::{PlaceError, StopToken};

/// All ideals, smaller ones first; the first is empty and the last is the whole graph.
pub(super) struct Ideals {
    sets: Vec<Box<[u64]>>,
    /// The ideals that lack one vertex of an ideal.
    covers: Vec<Vec<u32>>,
}

fn contains(set: &[u64], vertex: usize) -> bool {
    set[vertex / 64] >> (vertex % 64) & 1 == 1
}

impl Ideals {
    /// All ideals, or `None` if there are more than `most`.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`].
    ///
    /// # Complexity
    /// O(ideals · vertices · degree).
    pub(super) fn all(stages: &Stages, most: usize, stop: &StopToken) -> Result<Option<Self>, PlaceError> {
        // Even a line has one more than vertices.
        if stages.count() >= most {
            return Ok(None);
        }
        let words = stages.count().div_ceil(64);
        let mut ideals = Self { sets: vec![vec![0; words].into()], covers: vec![Vec::new()] };
        let mut number: HashMap<Box<[u64]>, u32> = HashMap::from([(ideals.sets[0].clone(), 0)]);
        let mut next = 0;
        // Breadth first: each ideal comes after all that are smaller.
        while next < ideals.sets.len() {
            stop.check_at(next)?;
            let set = ideals.sets[next].clone();
            for vertex in (0..stages.count()).filter(|&vertex| !contains(&set, vertex)) {
                if !stages.before(vertex).iter().all(|&before| contains(&set, before as usize)) {
                    continue;
                }
                let mut larger = set.clone();
                larger[vertex / 64] |= 1 << (vertex % 64);
                let found = *number.entry(larger).or_insert_with_key(|larger| {
                    ideals.sets.push(larger.clone());
                    ideals.covers.push(Vec::new());
                    ideals.sets.len() as u32 - 1
                });
                ideals.covers[found as usize].push(next as u32);
            }
            if ideals.sets.len() > most {
                return Ok(None);
            }
            next += 1;
        }
        Ok(Some(ideals))
    }

    /// The prefixes of a line.
    pub(super) fn of_line(stages: &Stages) -> Self {
        let words = stages.count().div_ceil(64);
        let mut set: Box<[u64]> = vec![0; words].into();
        let mut ideals = Self { sets: vec![set.clone()], covers: vec![Vec::new()] };
        for vertex in 0..stages.count() {
            set[vertex / 64] |= 1 << (vertex % 64);
            ideals.sets.push(set.clone());
            ideals.covers.push(vec![vertex as u32]);
        }
        ideals
    }

    pub(super) fn count(&self) -> usize {
        self.sets.len()
    }

    /// The vertices of a set, ascending.
    pub(super) fn members<'a>(&self, set: &'a [u64]) -> impl Iterator<Item = usize> + Clone + use<'a> {
        set.iter().enumerate().flat_map(|(word, &bits)| {
            std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)))
                .take_while(|&bits| bits != 0)
                .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
        })
    }

    /// What an ideal has beyond a smaller one.
    pub(super) fn difference(&self, larger: usize, smaller: usize) -> Vec<u64> {
        self.sets[larger].iter().zip(&self.sets[smaller]).map(|(larger, smaller)| larger & !smaller).collect()
    }

    /// Calls `take` with each ideal within another, the largest first, and what it lacks.
    pub(super) fn for_each_below(&self, ideal: usize, mut take: impl FnMut(usize, &[u64])) {
        let mut seen = vec![false; ideal];
        let mut queue: Vec<u32> = Vec::new();
        let mut visit = |from: usize, queue: &mut Vec<u32>| {
            for &cover in &self.covers[from] {
                if !std::mem::replace(&mut seen[cover as usize], true) {
                    queue.push(cover);
                }
            }
        };
        visit(ideal, &mut queue);
        let mut next = 0;
        while next < queue.len() {
            let smaller = queue[next] as usize;
            take(smaller, &self.difference(ideal, smaller));
            visit(smaller, &mut queue);
            next += 1;
        }
    }
}
