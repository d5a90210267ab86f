//! Clocks that are brought to one time.

use placebench_execute_cuda::CudaError;
use placebench_execute_cuda::clocks::{Before, offsets};
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
    let text = "what GPU 0 measured contradicts the others by 500000.000 µs";
    assert_eq!(offsets(2, &facts), Err(CudaError::Clocks(text.to_owned())));
    let text = "nothing ties the clock of GPU 1 to that of GPU 0";
    assert_eq!(offsets(2, &facts[..1]), Err(CudaError::Clocks(text.to_owned())));
}

proptest! {
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
