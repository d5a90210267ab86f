//! Brings the clocks of several GPUs to one time, by what must have happened before what. Nothing here calls CUDA.

use crate::CudaError;

/// Something on one clock that happened no later than something on another: times in seconds, each on its own clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Before {
    /// Clock of the earlier one, and its time.
    pub earlier: (usize, f64),
    /// Clock of the later one, and its time.
    pub later: (usize, f64),
}

/// What to add to the times of each clock so that nothing happens before what it had to wait for. Clock 0 stays as it is.
///
/// Every fact bounds the distance of two clocks, and a fact in the other direction bounds it from the other side. Of the
/// possible offsets, the middle between the least and the greatest ones is taken: half of their distance is the error, at
/// worst. Clocks run equally fast as far as this knows: a step takes milliseconds, in which a drift of 1 ppm is 1 ns a
/// millisecond.
///
/// # Errors
/// [`CudaError::Clocks`] if the facts contradict each other, or do not tie a clock to the first one from both sides.
///
/// # Complexity
/// O(facts + clocks³).
///
/// # Reference
/// Difference constraints solved by shortest paths: T. H. Cormen et al., Introduction to Algorithms, section "Difference
/// constraints and shortest paths".
pub fn offsets(clocks: usize, facts: &[Before]) -> Result<Vec<f64>, CudaError> {
    // least[a][b]: an upper bound of offset(a) − offset(b).
    let mut least = vec![vec![f64::INFINITY; clocks]; clocks];
    for (clock, row) in least.iter_mut().enumerate() {
        row[clock] = 0.0;
    }
    for &Before { earlier: (a, earlier), later: (b, later) } in facts {
        // earlier + offset(a) ≤ later + offset(b)
        least[a][b] = least[a][b].min(later - earlier);
    }
    for via in 0..clocks {
        for a in 0..clocks {
            for b in 0..clocks {
                least[a][b] = least[a][b].min(least[a][via] + least[via][b]);
            }
        }
    }
    if let Some(clock) = (0..clocks).find(|&clock| least[clock][clock] < 0.0) {
        let by = -least[clock][clock] * 1e6;
        return Err(CudaError::Clocks(format!("what GPU {clock} measured contradicts the others by {by:.3} µs")));
    }
    (0..clocks)
        .map(|clock| {
            let (most, least) = (least[clock][0], -least[0][clock]);
            if most.is_finite() && least.is_finite() {
                Ok(0.5 * (most + least))
            } else {
                Err(CudaError::Clocks(format!("nothing ties the clock of GPU {clock} to that of GPU 0")))
            }
        })
        .collect()
}
