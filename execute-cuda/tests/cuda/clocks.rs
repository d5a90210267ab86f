//! Clocks that are brought to one time.

use placebench_execute_cuda::CudaError;
use placebench_execute_cuda::clocks::{Before, DRIFT, RESOLUTION, offsets};
use proptest::prelude::*;

#[test]
fn a_message_each_way_puts_the_offset_in_the_middle() {
    // Clock 1 shows 10 less. A message leaves at 0 and arrives at 2; the answer leaves at 2 and arrives at 4.
    let facts = [Before { earlier: (0, 0.0), later: (1, -8.0) }, Before { earlier: (1, -8.0), later: (0, 4.0) }];
    assert_eq!(offsets(2, &facts), Ok(vec![0.0, 10.0]));
}

#[test]
fn contradictions_and_lone_clocks_are_refused() {
    let facts = [Before { earlier: (0, 1.0), later: (1, 0.0) }, Before { earlier: (1, 0.5), later: (0, 1.0) }];
    // Half a second for two facts, and 50 µs are allowed.
    let text = "what the GPUs measured is contradictory by 250000.000 µs";
    assert_eq!(offsets(2, &facts), Err(CudaError::Clocks(text.to_owned())));
    let text = "nothing ties the clock of GPU 1 to that of GPU 0";
    assert_eq!(offsets(2, &facts[..1]), Err(CudaError::Clocks(text.to_owned())));
}

/// Clocks that drift apart contradict each other by little: the offset is then between the two that the facts say.
#[test]
fn small_contradictions_are_shared_out() {
    let apart =
        |by: f64| [Before { earlier: (0, 0.0), later: (1, -by) }, Before { earlier: (1, 0.0), later: (0, -by) }];
    assert_eq!(offsets(2, &apart(1.5e-6)), Ok(vec![0.0, 0.0]));
    assert!(offsets(2, &apart(2.5e-6)).is_err());
    // Over a second, 50 µs more.
    let facts = [
        Before { earlier: (0, 0.0), later: (1, 0.0) },
        Before { earlier: (1, 0.0), later: (0, 1e-6) },
        Before { earlier: (0, 1.0), later: (1, 1.0 - 40e-6) },
    ];
    let found = offsets(2, &facts).unwrap();
    assert!((found[1] - 20.5e-6).abs() < 1e-9, "{found:?}");
}

proptest! {
    /// Clocks with other offsets that drift by up to 50 ppm are accepted in a step of up to 10 s, with messages at any time.
    /// What comes out errs by no more than the drift and the shortest messages.
    #[test]
    fn clocks_that_drift_are_accepted(
        truth in prop::collection::vec((-5.0..5.0_f64, -DRIFT..DRIFT), 2..5),
        seconds in 1e-3..10.0_f64,
        messages in prop::collection::vec((0_usize..5, 0_usize..5, 0.0..1.0_f64, 0.0..1e-3_f64), 0..60),
    ) {
        let clocks = truth.len();
        let shown = |clock: usize, time: f64| time * (1.0 + truth[clock].1) - truth[clock].0;
        let fact = |from: usize, to: usize, at: f64, took: f64| Before {
            earlier: (from, shown(from, at)),
            later: (to, shown(to, (at + took).min(seconds))),
        };
        let mut facts: Vec<Before> = (1..clocks).flat_map(|clock| [fact(0, clock, 0.0, 1e-5), fact(clock, 0, 1e-5, 1e-5)]).collect();
        facts.extend(messages.iter().filter(|m| m.0 < clocks && m.1 < clocks).map(|&(a, b, at, took)| fact(a, b, at * seconds, took)));
        let found = offsets(clocks, &facts).unwrap();
        // Of 5 clocks, the facts of 4 may be relaxed one after another.
        let drift = 2.0 * DRIFT * seconds;
        let bound = 2e-5 + RESOLUTION + 5.0 * drift;
        for clock in 0..clocks {
            let apart = found[clock] - (truth[clock].0 - truth[0].0);
            prop_assert!(apart.abs() <= bound, "{apart} of at most {bound}");
        }
        for Before { earlier: (a, before), later: (b, after) } in facts {
            prop_assert!(before + found[a] <= after + found[b] + RESOLUTION + drift);
        }
    }

    /// With true offsets and messages that take time, what comes out keeps every message in order, and errs by no more than
    /// the shortest messages there and back allow.
    #[test]
    fn messages_stay_in_order_on_the_common_clock(
        truth in prop::collection::vec(-5.0..5.0_f64, 1..5),
        messages in prop::collection::vec((0_usize..5, 0_usize..5, 0.0..10.0_f64, 1e-6..1e-3_f64), 0..40),
    ) {
        let clocks = truth.len();
        let shown = |clock: usize, time: f64| time - truth[clock] + truth[0];
        let fact = |from: usize, to: usize, at: f64, took: f64| Before {
            earlier: (from, shown(from, at)),
            later: (to, shown(to, at + took)),
        };
        let mut facts: Vec<Before> = (1..clocks).flat_map(|clock| [fact(0, clock, 0.0, 1e-3), fact(clock, 0, 0.0, 1e-3)]).collect();
        facts.extend(messages.iter().filter(|m| m.0 < clocks && m.1 < clocks).map(|&(a, b, at, took)| fact(a, b, at, took)));
        let found = offsets(clocks, &facts).unwrap();
        prop_assert_eq!(found[0], 0.0);
        for Before { earlier: (a, before), later: (b, after) } in facts {
            prop_assert!(before + found[a] <= after + found[b] + 1e-12);
        }
        for clock in 0..clocks {
            prop_assert!((found[clock] - (truth[clock] - truth[0])).abs() <= 1e-3 + 1e-12);
        }
    }
}
