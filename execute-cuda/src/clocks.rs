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

/// Facts may contradict each other by this many seconds: events have a resolution of about 0.5 µs, and times that the driver
/// says are 32-bit numbers.
pub const RESOLUTION: f64 = 2e-6;

/// How far a clock may be from the right pace, as a share: crystals keep 50 ppm. Two clocks then drift apart by 1 ms in 10 s.
pub const DRIFT: f64 = 50e-6;

/// What to add to the times of each clock so that nothing happens before what it had to wait for. Clock 0 stays as it is.
///
/// Every fact bounds the distance of two clocks, and a fact in the other direction bounds it from the other side. Of the
/// possible offsets, the middle between the least and the greatest ones is taken: half of their distance is the error, at
/// worst.
///
/// Clocks drift. If no offsets fit all facts, each fact is relaxed by the same least time that makes them fit: offsets are
/// then a compromise, in which the largest contradiction is as small as possible. It may be [`RESOLUTION`], and [`DRIFT`] of
/// the time that the facts of a clock span: clocks that keep to these are never refused.
///
/// # Errors
/// [`CudaError::Clocks`] if the facts contradict each other by more, or do not tie a clock to the first one from both sides.
///
/// # Complexity
/// O(facts + clocks³).
///
/// # Reference
/// - Difference constraints solved by shortest paths: T. H. Cormen et al., Introduction to Algorithms, section "Difference
///   constraints and shortest paths".
/// - The least relaxation is the minimum mean weight of a cycle: R. M. Karp, A characterization of the minimum cycle mean in
///   a digraph, Discrete Mathematics 23 (1978).
pub fn offsets(clocks: usize, facts: &[Before]) -> Result<Vec<f64>, CudaError> {
    // least[a][b]: an upper bound of offset(a) − offset(b).
    let mut least = vec![vec![f64::INFINITY; clocks]; clocks];
    let mut spans = vec![(f64::INFINITY, f64::NEG_INFINITY); clocks];
    for &Before { earlier: (a, earlier), later: (b, later) } in facts {
        // earlier + offset(a) ≤ later + offset(b)
        least[a][b] = least[a][b].min(later - earlier);
        for (clock, at) in [(a, earlier), (b, later)] {
            spans[clock] = (spans[clock].0.min(at), spans[clock].1.max(at));
        }
    }
    let span = spans.iter().map(|(first, last)| last - first).fold(0.0, f64::max);
    let by = (-least_cycle_mean(&least)).max(0.0);
    if by > RESOLUTION + DRIFT * span {
        return Err(CudaError::Clocks(format!("what the GPUs measured is contradictory by {:.3} µs", by * 1e6)));
    }
    for (clock, row) in least.iter_mut().enumerate() {
        for bound in row.iter_mut() {
            *bound += by;
        }
        row[clock] = 0.0;
    }
    for via in 0..clocks {
        for a in 0..clocks {
            for b in 0..clocks {
                least[a][b] = least[a][b].min(least[a][via] + least[via][b]);
            }
        }
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

/// The least mean weight of a cycle, infinite if there is none. `weights[a][b]` is that of the edge from a to b.
fn least_cycle_mean(weights: &[Vec<f64>]) -> f64 {
    let count = weights.len();
    // walks[k][v]: the least weight of a walk of k edges that ends at v.
    let mut walks = vec![vec![0.0_f64; count]];
    for length in 0..count {
        let to = |v: usize| (0..count).map(|u| walks[length][u] + weights[u][v]).fold(f64::INFINITY, f64::min);
        let next = (0..count).map(to).collect();
        walks.push(next);
    }
    let mean = |v: usize| {
        let of = |k: usize| (walks[count][v] - walks[k][v]) / (count - k) as f64;
        let finite = (0..count).filter(|&k| walks[k][v].is_finite());
        finite.map(of).fold(f64::NEG_INFINITY, f64::max)
    };
    (0..count).filter(|&v| walks[count][v].is_finite()).map(mean).fold(f64::INFINITY, f64::min)
}
