//! How much of a step is issued before it begins.

use placebench_execute_cuda::gate::{MOST_QUEUES, QUEUE_COMMANDS, USUAL_QUEUES, held_back, queues};
use proptest::prelude::*;

#[test]
fn the_driver_has_as_many_queues_as_the_variable_says_from_1_to_32() {
    let cases = [(None, USUAL_QUEUES), (Some("32"), 32), (Some(" 4 "), 4), (Some("x"), USUAL_QUEUES), (Some("0"), 1)];
    for (variable, expected) in cases {
        assert_eq!(queues(variable), expected, "{variable:?}");
    }
    assert_eq!(queues(Some("100")), MOST_QUEUES);
}

#[test]
fn a_step_begins_before_a_queue_is_full() {
    // Two streams with a queue each, and the second is filled first.
    let commands = |count: usize| (0..count).flat_map(|_| [(0, 1), (1, 3)]);
    assert_eq!(held_back(commands(256), &[0, 0], 8), 512);
    assert_eq!(held_back(commands(257), &[0, 0], 8), 513);
    // Both share a queue; two GPUs have queues of their own.
    assert_eq!(held_back(commands(257), &[0, 0], 1), 257);
    assert_eq!(held_back(commands(257), &[0, 1], 1), 513);
    assert_eq!(held_back(std::iter::empty(), &[], 8), 0);
}

proptest! {
    /// Whatever is issued before a step begins fits into the queues, and one command more would not, or is none.
    #[test]
    fn what_is_held_back_fits_the_queues(
        commands in prop::collection::vec((0_usize..6, 1_usize..40), 0..400),
        gpu_of in prop::collection::vec(0_usize..3, 6),
        queues in 1_usize..=32,
    ) {
        let held = held_back(commands.iter().copied(), &gpu_of, queues);
        let fits = |count: usize| (0..6).all(|stream| {
            let sharing = gpu_of.iter().filter(|&&gpu| gpu == gpu_of[stream]).count().div_ceil(queues);
            let calls: usize = commands[..count].iter().filter(|command| command.0 == stream).map(|command| command.1).sum();
            calls <= QUEUE_COMMANDS / sharing
        });
        prop_assert!(fits(held));
        prop_assert!(held == commands.len() || !fits(held + 1));
    }
}
