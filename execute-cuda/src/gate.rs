//! How much of a step the host can issue before it has to let the step begin. Nothing here calls CUDA.
//!
//! A step whose commands are launched one by one is held back until all of them are issued. Otherwise short ops would wait
//! for the host, and their times would be the host's. But a GPU takes in only so many commands that it has not begun: the
//! host then waits inside of the driver. A step with more commands begins when that point is near.

use std::time::Duration;

/// Commands that a hardware queue takes in: of the 1,024 that are known from measurements, three quarters, since nothing of it
/// is documented.
pub const QUEUE_COMMANDS: usize = 768;

/// Hardware queues of a GPU, unless `CUDA_DEVICE_MAX_CONNECTIONS` says another number.
pub const USUAL_QUEUES: usize = 8;

/// The most hardware queues that `CUDA_DEVICE_MAX_CONNECTIONS` can give.
pub const MOST_QUEUES: usize = 32;

/// A step that was held back for so long begins by itself, and the row says so.
pub const LIMIT: Duration = Duration::from_secs(2);

/// The hardware queues that the driver uses, from the text of `CUDA_DEVICE_MAX_CONNECTIONS`.
pub fn queues(variable: Option<&str>) -> usize {
    let number = variable.and_then(|text| text.trim().parse().ok());
    number.unwrap_or(USUAL_QUEUES).clamp(1, MOST_QUEUES)
}

/// How many commands the host issues before the step begins: all, unless a queue would be full.
///
/// `commands` has the stream of each command, in the order of issue, and how many calls it takes. `gpu_of` has the GPU of each
/// stream. Streams of a GPU take its queues in turn, so each may use an equal share of [`QUEUE_COMMANDS`].
///
/// # Complexity
/// O(commands + streams + GPUs).
pub fn held_back(commands: impl Iterator<Item = (usize, usize)>, gpu_of: &[usize], queues: usize) -> usize {
    let mut streams_of = vec![0_usize; gpu_of.iter().max().map_or(0, |&last| last + 1)];
    for &gpu in gpu_of {
        streams_of[gpu] += 1;
    }
    let mut room: Vec<usize> =
        gpu_of.iter().map(|&gpu| QUEUE_COMMANDS / streams_of[gpu].div_ceil(queues.max(1))).collect();
    let mut issued = 0;
    for (stream, calls) in commands {
        match room[stream].checked_sub(calls) {
            Some(left) => room[stream] = left,
            None => break,
        }
        issued += 1;
    }
    issued
}
