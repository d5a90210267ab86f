//! When a device is free: slots are found by insertion, in time logarithmic in what is already there.

use placebench_datasets::Time;

use super::gaps::{Gap, GapTree, Position};
use super::waits::Waits;

/// The reservations of one device, kept as the gaps between them.
///
/// A slot may begin where another ends. A slot of no length may lie between any two others, never inside one, and no
/// slot may span it.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    gaps: GapTree,
    /// From here on nothing is reserved.
    tail: Time,
    /// No reservation will be shorter: gaps that cannot take even this are forgotten.
    shortest: Time,
    /// What searches have shown, if that is kept.
    waits: Option<Waits>,
}

impl Timeline {
    /// A device that is free from time 0 on, for reservations of at least `shortest`.
    pub(crate) fn new(shortest: Time) -> Self {
        Self { gaps: GapTree::new(), tail: 0.0, shortest, waits: None }
    }

    /// As [`Timeline::new`], for reservations that seldom take more than `longest`; keeps what searches show, 2 KiB.
    pub(crate) fn remembering(shortest: Time, longest: Time) -> Self {
        Self { waits: Some(Waits::new(longest)), ..Self::new(shortest) }
    }

    /// Forgets all reservations.
    ///
    /// # Complexity
    /// O(reservations), no allocation and no deallocation.
    pub(crate) fn clear(&mut self) {
        if self.tail > 0.0 {
            self.gaps.clear();
            self.tail = 0.0;
            self.waits.iter().for_each(Waits::clear);
        }
    }

    /// From when on nothing is reserved.
    pub(crate) fn tail(&self) -> Time {
        self.tail
    }

    /// The earliest time at or after `ready` at which the device is free for so long.
    ///
    /// # Complexity
    /// O(log reservations).
    pub(crate) fn earliest(&self, ready: Time, duration: Time) -> Time {
        if ready >= self.tail {
            return ready;
        }
        let Some((waits, class)) = self.waits.as_ref().and_then(|waits| Some((waits, waits.class(duration)?))) else {
            return self.start(self.gaps.find(ready, duration), ready);
        };
        // The least duration of the class first: what that finds bounds the whole class, and mostly fits already.
        let known = waits.known(class, ready);
        let found = self.gaps.find(known, waits.least(class));
        let start = self.start(found, known);
        waits.learn(class, ready, start);
        match found {
            Some(position) if !self.gaps.gap(&position).fits(start, duration) => {
                self.start(self.gaps.find(start, duration), start)
            }
            _ => start,
        }
    }

    /// A time before which [`Timeline::earliest`] cannot be, by what earlier searches have shown.
    ///
    /// # Complexity
    /// O(1).
    #[inline]
    pub(crate) fn earliest_known(&self, ready: Time, duration: Time) -> Time {
        let waits = self.waits.as_ref().filter(|_| ready < self.tail);
        waits.and_then(|waits| Some(waits.known(waits.class(duration)?, ready))).unwrap_or(ready)
    }

    /// The start in a gap that was found, or behind all reservations.
    #[inline]
    fn start(&self, found: Option<Position>, ready: Time) -> Time {
        found.map_or(self.tail, |position| self.gaps.gap(&position).start.max(ready))
    }

    /// Reserves the slot that [`Timeline::earliest`] finds, and returns its start.
    ///
    /// # Complexity
    /// O(log reservations).
    pub(crate) fn reserve(&mut self, ready: Time, duration: Time) -> Time {
        let found = if ready >= self.tail { None } else { self.gaps.find(ready, duration) };
        match found {
            None => {
                let start = self.tail.max(ready);
                let finish = start + duration;
                // A slot of no length at the edge of a gap changes nothing: there is room for more of them.
                if finish > self.tail {
                    if let Some(gap) = self.useful(self.tail, start) {
                        self.gaps.push(gap);
                    }
                    self.tail = finish;
                }
                start
            }
            Some(position) => {
                let gap = self.gaps.gap(&position);
                let start = gap.start.max(ready);
                let finish = start + duration;
                if start < finish || (gap.start < start && finish < gap.end) {
                    let (before, after) = (self.useful(gap.start, start), self.useful(finish, gap.end));
                    self.gaps.replace(&position, before, after);
                }
                start
            }
        }
    }

    fn useful(&self, start: Time, end: Time) -> Option<Gap> {
        (start + self.shortest <= end).then_some(Gap { start, end })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    #[test]
    fn a_slot_goes_into_the_earliest_gap_that_is_long_enough() {
        let mut timeline = Timeline::new(1.0);
        assert_eq!(timeline.reserve(10.0, 5.0), 10.0);
        assert_eq!(timeline.reserve(0.0, 4.0), 0.0);
        assert_eq!(timeline.reserve(3.0, 7.0), 15.0);
        assert_eq!(timeline.reserve(0.0, 6.0), 4.0);
        assert_eq!(timeline.reserve(0.0, 1.0), 22.0);
    }

    #[test]
    fn a_cleared_timeline_is_as_new() {
        let mut timeline = Timeline::new(0.0);
        for slot in 0..100 {
            timeline.reserve(f64::from(2 * slot + 1), 1.0);
        }
        timeline.clear();
        assert_eq!(timeline.reserve(3.0, 5.0), 3.0);
        assert_eq!(timeline.reserve(0.0, 3.0), 0.0);
        assert_eq!(timeline.reserve(0.0, 1.0), 8.0);
    }

    #[test]
    fn with_an_endless_shortest_slot_nothing_is_inserted() {
        let mut timeline = Timeline::new(f64::INFINITY);
        assert_eq!(timeline.reserve(5.0, 1.0), 5.0);
        assert_eq!(timeline.reserve(0.0, 1.0), 6.0);
        assert_eq!(timeline.earliest(0.0, 0.0), 7.0);
    }

    #[test]
    fn slots_of_no_length_lie_between_others_and_are_not_spanned() {
        let mut timeline = Timeline::new(0.0);
        timeline.reserve(0.0, 4.0);
        timeline.reserve(4.0, 4.0);
        assert_eq!(timeline.reserve(0.0, 0.0), 0.0);
        assert_eq!(timeline.reserve(1.0, 0.0), 4.0);
        assert_eq!(timeline.reserve(4.0, 0.0), 4.0);
        assert_eq!(timeline.reserve(20.0, 0.0), 20.0);
        assert_eq!(timeline.earliest(8.0, 13.0), 20.0);
        assert_eq!(timeline.earliest(8.0, 12.0), 8.0);
    }

    /// Reserves by looking at one slot after the other.
    fn reserve_slowly(slots: &mut Vec<(Time, Time)>, ready: Time, duration: Time) -> Time {
        let mut free_from: Time = 0.0;
        let mut at = slots.len();
        for (index, &(start, finish)) in slots.iter().enumerate() {
            if free_from.max(ready) + duration <= start {
                at = index;
                break;
            }
            free_from = finish;
        }
        let start = free_from.max(ready);
        slots.insert(at, (start, start + duration));
        start
    }

    fn agrees(requests: &[(Time, Time)], shortest: Time) -> Result<(), TestCaseError> {
        // Of durations up to 90 all are remembered, with 1e-5 none but those that count as longer.
        let mut timelines =
            [Timeline::new(shortest), Timeline::remembering(shortest, 90.0), Timeline::remembering(shortest, 1e-5)];
        let mut slots = Vec::new();
        for (at, &(ready, duration)) in requests.iter().enumerate() {
            // What does not become a reservation leaves traces, too.
            let (other, longer) = requests[requests.len() - 1 - at];
            let there: Vec<Time> = timelines.iter().map(|timeline| timeline.earliest(other, longer)).collect();
            prop_assert!(there.windows(2).all(|pair| pair[0] == pair[1]));
            let expected = reserve_slowly(&mut slots, ready, duration);
            for timeline in &mut timelines {
                prop_assert!(timeline.earliest_known(ready, duration) <= expected);
                prop_assert_eq!(timeline.earliest(ready, duration), expected);
                prop_assert_eq!(timeline.earliest(ready, duration), expected);
                prop_assert_eq!(timeline.reserve(ready, duration), expected);
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

        #[test]
        fn thousands_of_slots_are_found_as_by_a_linear_search(
            requests in vec((0.0..1e5, select(vec![0.1, 0.3, 1.0, 1.0, 7.0, 20.0, 90.0])), 4000)
        ) {
            agrees(&requests, 0.1)?;
        }

        #[test]
        fn slots_that_touch_and_slots_of_no_length_are_found_as_by_a_linear_search(
            requests in vec(((0..5000u32).prop_map(f64::from), select(vec![0.0, 0.0, 1.0, 1.0, 2.0, 5.0])), 4000)
        ) {
            agrees(&requests, 0.0)?;
        }
    }
}
