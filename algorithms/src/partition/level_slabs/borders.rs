//! The borders across which least weight of edges goes, by dynamic programming from block to block.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::line::Line;
use crate::StopToken;

impl Line {
    /// The borders of the best split, first and last included, within raised capacities if need be; `None` if stopped. If
    /// that would look at more than `most` places, those of blocks filled from the front.
    pub(crate) fn best(&self, capacities: &[u64], most: usize, stop: &StopToken) -> Option<Vec<usize>> {
        if stop.is_stopped() {
            return None;
        }
        let raised = || {
            let capacities = self.least_raised(capacities);
            self.split(&capacities, most).expect("capacities raised until a split keeps within them")
        };
        Some(self.split(capacities, most).unwrap_or_else(raised))
    }

    /// As [`Line::best`]; `None` if no split keeps within the capacities.
    fn split(&self, capacities: &[u64], most: usize) -> Option<Vec<usize>> {
        let furthest = self.furthest(capacities);
        if furthest.last() != Some(&self.vertices()) {
            return None;
        }
        let later_begins = self.earliest(capacities).into_iter().skip(1).chain([self.vertices()]);
        let ends: Vec<RangeInclusive<usize>> = later_begins.zip(&furthest).map(|(begin, &end)| begin..=end).collect();
        let places: usize = ends.iter().map(|ends| (ends.end() + 1).saturating_sub(*ends.start())).sum();
        match places > most {
            true => Some([0].into_iter().chain(furthest).collect()),
            false => Some(best_borders(self, capacities, &ends)),
        }
    }
}

/// The borders of the best split, first and last included. Block `i` may end at the places `ends[i]`; a split within the
/// capacities reaches each of them. Ties: the earliest border.
///
/// # Complexity
/// O(places), 4 bytes each.
fn best_borders(line: &Line, capacities: &[u64], ends: &[RangeInclusive<usize>]) -> Vec<usize> {
    let mut begins: Vec<Vec<u32>> = Vec::with_capacity(ends.len());
    let mut window = Window { first: 0, costs: vec![Some(0)] };
    for (ends, &capacity) in ends.iter().zip(capacities) {
        let (next, begins_of_block) = window.next(line, ends.clone(), capacity);
        begins.push(begins_of_block);
        window = next;
    }
    let mut borders = vec![line.vertices()];
    let mut end = line.vertices();
    for (ends, begins) in ends.iter().zip(&begins).rev() {
        end = begins[end - ends.start()] as usize;
        borders.push(end);
    }
    borders.reverse();
    debug_assert_eq!(borders[0], 0, "every place of a window can be reached");
    borders
}

/// The places where a border can lie, from `first` on: for each the least weight across it and the borders before it, `None`
/// where no split reaches it.
struct Window {
    first: usize,
    costs: Vec<Option<u64>>,
}

impl Window {
    fn cost(&self, place: usize) -> Option<u64> {
        *self.costs.get(place.checked_sub(self.first)?)?
    }

    /// The places where the next block can end, with where it begins then.
    fn next(&self, line: &Line, ends: RangeInclusive<usize>, capacity: u64) -> (Self, Vec<u32>) {
        let places = (ends.end() + 1).saturating_sub(*ends.start());
        let mut next = Self { first: *ends.start(), costs: Vec::with_capacity(places) };
        let mut begins = Vec::with_capacity(places);
        let (mut within_reach, mut entering) = (Begins::default(), self.first);
        for end in ends {
            while entering <= end && entering < self.first + self.costs.len() {
                if let Some(cost) = self.cost(entering) {
                    within_reach.enter(entering, cost);
                }
                entering += 1;
            }
            within_reach.leave_while(|begin| line.before[end] - line.before[begin] > capacity);
            let best = within_reach.best().map(|(begin, cost)| (cost.saturating_add(line.across[end]), begin));
            // An empty block adds no border.
            let empty = self.cost(end).map(|cost| (cost, end));
            let least = best.into_iter().chain(empty).min();
            next.costs.push(least.map(|(cost, _)| cost));
            begins.push(least.map_or(end, |(_, begin)| begin) as u32);
        }
        (next, begins)
    }
}

/// Where a block can begin, of ascending place and cost: the first is the best within reach.
#[derive(Default)]
struct Begins {
    queue: VecDeque<(usize, u64)>,
}

impl Begins {
    /// Adds a later place. Those before it that cost more will never be the best again.
    fn enter(&mut self, begin: usize, cost: u64) {
        while self.queue.back().is_some_and(|&(_, last)| last > cost) {
            self.queue.pop_back();
        }
        self.queue.push_back((begin, cost));
    }

    fn leave_while(&mut self, is_beyond: impl Fn(usize) -> bool) {
        while self.queue.front().is_some_and(|&(begin, _)| is_beyond(begin)) {
            self.queue.pop_front();
        }
    }

    fn best(&self) -> Option<(usize, u64)> {
        self.queue.front().copied()
    }
}
