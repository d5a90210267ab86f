//! Fan-in/fan-out graphs.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use crate::random::{Purpose, below, stream};
use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// A graph that grows from one op by fans, in and out with equal probability. A fan-out takes the op with the most room left for
/// edges out, the oldest of equals, and gives it a random number of new successors. A fan-in makes a new op that takes the
/// outputs of a random number of random ops that still have room.
///
/// # Reference
/// R. P. Dick, D. L. Rhodes, W. Wolf: TGFF: task graphs for free. CODES 1998, 97–101; as in D. Cordeiro et al.: Random graph
/// generation for scheduling simulations. SIMUTools 2010, and Canon, El Sayah, Héam, Euro-Par 2019.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FanInFanOut {
    /// Number of ops.
    nodes: u32,
    /// Most edges out of an op.
    most_out: u32,
    /// Most edges into an op.
    most_in: u32,
}

impl GraphFamily for FanInFanOut {
    const NAME: &'static str = "fan_in_fan_out";
    const SUMMARY: &'static str = "grows by ops with many successors and ops with many predecessors";
    const SOURCE: &'static str = "Dick et al. 1998; Cordeiro et al. 2010";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            nodes: params.number("nodes", 100, 1.., "number of ops")?,
            most_out: params.number("most_out", 4, 2..=1 << 16, "most edges out of an op")?,
            most_in: params.number("most_in", 3, 1..=1 << 16, "most edges into an op")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, seed: u64) -> Result<(), GeneratorError> {
        sketch.expect(f64::from(self.nodes), f64::from(self.nodes - 1))?;
        let mut rng = stream(seed, Purpose::Structure, 0);
        let most_out = self.most_out as usize;
        // The ops with room, by the room they have left, oldest first; a fan-out empties the fullest list first.
        let mut room: Vec<u32> = vec![self.most_out];
        let mut open: Vec<u32> = vec![0];
        // Where a search for each amount of room goes on: an op's room only shrinks.
        let mut oldest = vec![0usize; most_out + 1];
        sketch.task("Source", &[])?;
        while sketch.op_count() < self.nodes as usize {
            if below(&mut rng, 2) == 0 {
                let (parent, left) = roomiest(&room, &mut oldest);
                let fan = 1 + below(&mut rng, u64::from(left)) as usize;
                for _ in 0..fan.min(self.nodes as usize - sketch.op_count()) {
                    open.push(sketch.op_count() as u32);
                    room.push(self.most_out);
                    room[parent.index()] -= 1;
                    sketch.task("FanOut", &[parent])?;
                }
            } else {
                let fan = 1 + below(&mut rng, u64::from(self.most_in)) as usize;
                let mut parents = Vec::with_capacity(fan);
                while parents.len() < fan && !open.is_empty() {
                    let op = open.swap_remove(below(&mut rng, open.len() as u64) as usize);
                    // Fan-outs may have filled it.
                    if room[op as usize] > 0 {
                        parents.push(OpId(op));
                    }
                }
                parents.sort_unstable();
                for parent in &parents {
                    room[parent.index()] -= 1;
                    if room[parent.index()] > 0 {
                        open.push(parent.0);
                    }
                }
                open.push(sketch.op_count() as u32);
                room.push(self.most_out);
                sketch.task("FanIn", &parents)?;
            }
        }
        Ok(())
    }
}

/// The op with the most room, the oldest of equals, and its room. There always is one: the newest op has all of its room.
fn roomiest(room: &[u32], oldest: &mut [usize]) -> (OpId, u32) {
    for left in (1..oldest.len()).rev() {
        let from = oldest[left];
        let found = room[from..].iter().position(|&room| room as usize >= left);
        oldest[left] = found.map_or(room.len(), |skipped| from + skipped);
        if found.is_some() {
            let op = oldest[left];
            return (OpId(op as u32), room[op]);
        }
    }
    (OpId(0), room[0])
}
