//! MapReduce jobs.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;

use crate::{GeneratorError, GraphFamily, Op, Output, Sketch, Source};

/// Rounds of map ops with an output for each reduce op of their round. The maps of the first round take parts
/// of one input, those of later rounds share the results of the round before in turn; a last op takes all results.
///
/// With m maps, r reduces and R rounds there are R(m + r) + 2 ops and m + (R − 1) · max(m, r) + Rmr + r edges.
///
/// # Reference
/// J. Dean, S. Ghemawat: MapReduce: simplified data processing on large clusters. OSDI 2004, 137–150.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapReduce {
    maps: usize,
    reduces: usize,
    rounds: u32,
}

impl GraphFamily for MapReduce {
    const NAME: &'static str = "map_reduce";
    const SUMMARY: &'static str = "rounds of maps, each with a tensor for every reduce";
    const SOURCE: &'static str = "Dean, Ghemawat 2004";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            maps: params.number("maps", 12, 1..=1 << 24, "map ops of a round")?,
            reduces: params.number("reduces", 4, 1..=1 << 24, "reduce ops of a round")?,
            rounds: params.number("rounds", 1, 1.., "rounds")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let parts = vec![0; self.maps];
        let split = sketch.op(&Op { class: "Split", outputs: &parts, ..Op::default() }, &[])?;
        let mut inputs: Vec<Vec<Output>> = (0..self.maps).map(|part| vec![(split, part)]).collect();
        let mut results: Vec<Output> = Vec::new();
        let keys = vec![0; self.reduces];
        for round in 0..self.rounds {
            if round > 0 {
                // Every map takes a result, and every result goes to a map.
                inputs = vec![Vec::new(); self.maps];
                (0..self.maps.max(self.reduces))
                    .for_each(|turn| inputs[turn % self.maps].push(results[turn % self.reduces]));
            }
            let mut maps = Vec::with_capacity(self.maps);
            for inputs in &inputs {
                maps.push(sketch.op(&Op { class: "Map", outputs: &keys, ..Op::default() }, inputs)?);
            }
            results.clear();
            for reduce in 0..self.reduces {
                let inputs: Vec<Output> = maps.iter().map(|&map| (map, reduce)).collect();
                results.push((sketch.op(&Op { class: "Reduce", outputs: &[0], ..Op::default() }, &inputs)?, 0));
            }
        }
        sketch.op(&Op { class: "Collect", outputs: &[0], ..Op::default() }, &results)?;
        Ok(())
    }
}
