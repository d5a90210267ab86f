//! The ideals of a graph: sets of vertices that hold all predecessors of their members.

use std::collections::HashMap;

use super::stages::Stages;
use crate::{PlaceError, StopToken};

/// All ideals, smaller ones first; the first is empty and the last is the whole graph.
pub(super) struct Ideals {
    sets: Vec<Box<[u64]>>,
    /// The ideals that lack one vertex of an ideal, with that vertex.
    covers: Vec<Vec<(u32, u32)>>,
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
                ideals.covers[found as usize].push((next as u32, vertex as u32));
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
            ideals.covers.push(vec![(vertex as u32, vertex as u32)]);
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

    /// Whether a vertex is in an ideal, but not in a smaller one.
    #[inline]
    pub(super) fn is_between(&self, vertex: u32, smaller: u32, larger: usize) -> bool {
        let vertex = vertex as usize;
        contains(&self.sets[larger], vertex) && !contains(&self.sets[smaller as usize], vertex)
    }

    /// The ideals within another, the largest first. A step leads to each from the ideal itself or from an earlier step.
    pub(super) fn below(&self, ideal: usize, seen: &mut Vec<bool>, steps: &mut Vec<Step>) {
        seen.clear();
        seen.resize(ideal, false);
        steps.clear();
        let mut next = None;
        loop {
            let from = next.map_or(ideal, |step: usize| steps[step].ideal as usize);
            for &(smaller, vertex) in &self.covers[from] {
                if !std::mem::replace(&mut seen[smaller as usize], true) {
                    steps.push(Step { ideal: smaller, vertex, before: next.map(|step| step as u32) });
                }
            }
            let following = next.map_or(0, |step| step + 1);
            if following == steps.len() {
                return;
            }
            next = Some(following);
        }
    }
}

/// From an ideal to one without one of its vertices.
pub(super) struct Step {
    pub(super) ideal: u32,
    pub(super) vertex: u32,
    /// The step that led to where this one begins; none at the ideal from which all begin.
    pub(super) before: Option<u32>,
}
