//! METIS, as it is: the outside reference.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use metis::option::{Seed, UFactor};
use placebench_datasets::UndirectedGraph;

use super::unstoppable::{self, Unfinished};
use super::{Partition, PartitionError, PartitionRequest, Partitioner};
use crate::{Algorithm, Named, Params, SpecError};

/// Which of METIS's two ways to k blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetisScheme {
    /// Multilevel k-way partitioning.
    Kway,
    /// Multilevel recursive bisection.
    Recursive,
}

impl Named for MetisScheme {
    const NAMES: &'static [(&'static str, Self)] = &[("kway", Self::Kway), ("recursive", Self::Recursive)];
}

/// METIS 5.2.1 through the crate `metis`, built from the source that comes with it.
///
/// # Reference
/// G. Karypis, V. Kumar: Multilevel k-way partitioning scheme for irregular graphs. Journal of Parallel and Distributed
/// Computing 48 (1998), 96–129, doi:10.1006/jpdc.1997.1404. Recursive: A fast and high quality multilevel scheme for
/// partitioning irregular graphs. SIAM Journal on Scientific Computing 20 (1998), 359–392,
/// doi:10.1137/S1064827595287997.
///
/// # Complexity
/// O(vertices + edges + k · log k), says the first paper.
///
/// # Ties
/// METIS's own. It draws from the C library's generator, which the whole process shares: calls wait for each other, so that
/// each is repeatable.
///
/// # Deviations
/// METIS may exceed the tolerated imbalance. It gets the imbalance in thousandths, at least 1, and weights that fit into 31
/// bits: larger ones are divided by a power of two and rounded up. Edges of weight 0, which METIS forbids, are left out.
/// METIS bisects again and again, also to begin with k blocks. Where one side of a bisection is left without vertices, it
/// writes to standard output. Three rules avoid that. A vertex that weighs more than a block should gets a block of its own,
/// and METIS partitions the others into the blocks left. All vertices of weight 0 together get the least weight of another.
/// Where a side could still be left empty, because it is to weigh less than ten mean vertices or than the heaviest one, each
/// bisection is a call of its own, and an empty side is not bisected. With no more vertices than blocks METIS is not asked
/// at all.
///
/// METIS cannot be stopped. Each call runs on a thread of its own. When it is time to stop, the partitioner answers at once,
/// and the call goes on until METIS ends; its result is dropped. Until then it keeps a core and its memory, and later calls
/// wait for it.
#[derive(Clone, Copy, Debug)]
pub struct Metis {
    /// Directly into k blocks, or by recursive bisection.
    pub scheme: MetisScheme,
}

impl Algorithm for Metis {
    const NAME: &str = "metis";
    const SUMMARY: &str = "METIS 5.2.1, the outside reference";
    const SOURCE: &str = "Karypis, Kumar 1998; METIS 5.2.1";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { scheme: params.word("scheme", MetisScheme::Kway, "kway, or recursive: by recursive bisection")? })
    }
}

/// METIS uses the generator of the C library, and that is one for the process.
static METIS: Mutex<()> = Mutex::new(());

/// Weights whose sum METIS can hold, halved as often as needed.
fn narrow(weights: impl Iterator<Item = u64> + Clone) -> Vec<i32> {
    let mut shift = 0;
    // The rounding up adds less than one to each.
    while weights.clone().map(|weight| u128::from(weight.div_ceil(1 << shift))).sum::<u128>() > 1 << 30 && shift < 63 {
        shift += 1;
    }
    weights.map(|weight| weight.div_ceil(1 << shift) as i32).collect()
}

/// Some vertices, and the blocks that they are to be divided among, both ascending.
struct Task {
    vertices: Vec<u32>,
    blocks: Vec<u32>,
}

impl Task {
    /// Sets vertices aside that weigh more than the largest block should, the heaviest first, each in a block of its own,
    /// those of the largest shares first. With no more vertices than blocks that is all of them; else a block is left.
    fn set_aside(&mut self, graph: &UndirectedGraph, request: &PartitionRequest, block_of: &mut [u32]) {
        let Self { vertices, blocks } = self;
        let heft = |vertex: &u32| Reverse((graph.vertex_weight(*vertex), Reverse(*vertex)));
        let mut heavy = vertices.clone();
        let is_all = vertices.len() <= blocks.len();
        let candidates = if is_all { heavy.len() } else { blocks.len() - 1 };
        if candidates < heavy.len() {
            heavy.select_nth_unstable_by_key(candidates, heft);
        }
        heavy.truncate(candidates);
        heavy.sort_unstable_by_key(heft);
        blocks.sort_by(|&a, &b| share(request, b).total_cmp(&share(request, a)));
        let mut shares_left: f64 = blocks.iter().map(|&block| share(request, block)).sum();
        let mut weight_left: u64 = vertices.iter().map(|&vertex| graph.vertex_weight(vertex)).sum();
        let mut taken = 0;
        for (&vertex, &block) in heavy.iter().zip(blocks.iter()) {
            let weight = graph.vertex_weight(vertex);
            let is_heavy = weight as f64 * shares_left > weight_left as f64 * share(request, block);
            if !is_heavy && !is_all {
                break;
            }
            block_of[vertex as usize] = block;
            (weight_left, shares_left) = (weight_left - weight, shares_left - share(request, block));
            taken += 1;
        }
        blocks.drain(..taken);
        blocks.sort_unstable();
        let mut gone = heavy[..taken].to_vec();
        gone.sort_unstable();
        vertices.retain(|vertex| gone.binary_search(vertex).is_err());
    }

    /// Whether METIS will not be left with a side to bisect that has no vertices. It evens out two sides only if they are off
    /// by more than three mean vertices, and moves of refinement may add some. Its first partition into k blocks is of a graph
    /// that may have as few as 30·k vertices.
    fn is_safe(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> bool {
        let weights = || self.vertices.iter().map(|&vertex| graph.vertex_weight(vertex));
        let total = weights().map(u128::from).sum::<u128>() as f64;
        let mean = total / self.vertices.len().min(30 * self.blocks.len()) as f64;
        let least = (10.0 * mean).max(weights().max().unwrap_or(0) as f64);
        let all = shares(request, &self.blocks);
        let is_enough = |blocks: &[u32]| shares(request, blocks) / all * total >= least;
        // As METIS halves: the smaller number of blocks first.
        let mut sides = vec![&self.blocks[..]];
        while let Some(side) = sides.pop() {
            if side.len() > 1 {
                if !is_enough(side) {
                    return false;
                }
                let (low, high) = side.split_at(side.len() / 2);
                sides.extend([low, high]);
            }
        }
        true
    }
}

/// A block's share of the weight; 1 if all are equal.
fn share(request: &PartitionRequest, block: u32) -> f64 {
    request.shares.as_ref().map_or(1.0, |shares| shares[block as usize])
}

fn shares(request: &PartitionRequest, blocks: &[u32]) -> f64 {
    blocks.iter().map(|&block| share(request, block)).sum()
}

impl Partitioner for Metis {
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        request.check()?;
        let vertices = graph.vertex_count();
        if request.blocks > 1 && vertices > request.blocks as usize && graph.total_vertex_weight() == 0 {
            return Err(unsupported("needs a vertex that weighs something"));
        }
        if graph.all_neighbours().len() > i32::MAX as usize {
            return Err(unsupported("counts edges with 31 bits: this graph has too many"));
        }
        let mut block_of = vec![0; vertices];
        // METIS refuses shares of 0.
        let blocks = (0..request.blocks).filter(|&block| share(request, block) > 0.0).collect();
        let task = Task { vertices: graph.vertices().collect(), blocks };
        self.divide(graph, task, request, &mut block_of)?;
        Ok(Partition { blocks: request.blocks, block_of })
    }
}

impl Metis {
    /// Divides vertices among blocks, by one call if that is safe, else by one for each bisection.
    fn divide(
        &self,
        graph: &UndirectedGraph,
        mut task: Task,
        request: &PartitionRequest,
        block_of: &mut [u32],
    ) -> Result<(), PartitionError> {
        if task.blocks.len() > 1 {
            task.set_aside(graph, request, block_of);
        }
        let Task { vertices, blocks } = &task;
        if vertices.is_empty() {
            return Ok(());
        }
        if blocks.len() == 1 {
            vertices.iter().for_each(|&vertex| block_of[vertex as usize] = blocks[0]);
            return Ok(());
        }
        if blocks.len() == 2 || task.is_safe(graph, request) {
            let targets = request.shares.as_ref().map(|_| blocks.iter().map(|&block| share(request, block)).collect());
            let part = self.ask(graph, vertices, blocks.len(), targets, request)?;
            for (&vertex, part) in vertices.iter().zip(part) {
                block_of[vertex as usize] = blocks[part as usize];
            }
            return Ok(());
        }
        let (low, high) = blocks.split_at(blocks.len() / 2);
        let targets = vec![shares(request, low), shares(request, high)];
        let side_of = self.ask(graph, vertices, 2, Some(targets), request)?;
        for (side, blocks) in [low, high].into_iter().enumerate() {
            let mine = vertices.iter().zip(&side_of).filter(|&(_, &own)| own as usize == side);
            let vertices = mine.map(|(&vertex, _)| vertex).collect();
            self.divide(graph, Task { vertices, blocks: blocks.to_vec() }, request, block_of)?;
        }
        Ok(())
    }

    /// Calls METIS for some of the vertices, to be divided into `parts` of these target shares; of equal ones if there are none.
    fn ask(
        &self,
        graph: &UndirectedGraph,
        asked: &[u32],
        parts: usize,
        targets: Option<Vec<f64>>,
        request: &PartitionRequest,
    ) -> Result<Vec<i32>, PartitionError> {
        let mut number = vec![None; graph.vertex_count()];
        for (new, &vertex) in asked.iter().enumerate() {
            number[vertex as usize] = Some(new as i32);
        }
        let mut rows = vec![0i32];
        let row = |vertex: u32| {
            let edges = graph.edges_of(vertex).filter(|&(_, weight)| weight > 0);
            edges.filter_map(|(neighbour, weight)| Some((number[neighbour as usize]?, weight)))
        };
        let mut neighbours: Vec<i32> = Vec::with_capacity(graph.all_neighbours().len());
        for &vertex in asked {
            neighbours.extend(row(vertex).map(|(neighbour, _)| neighbour));
            rows.push(neighbours.len() as i32);
        }
        let edge_weights = match graph.edge_weights() {
            Some(_) => narrow(asked.iter().flat_map(|&vertex| row(vertex)).map(|(_, weight)| weight)),
            None => Vec::new(),
        };
        drop(number);
        let vertex_weights = graph.vertex_weights().map(|weights| {
            let of_asked = || asked.iter().map(|&vertex| weights.at(vertex as usize));
            // METIS leaves blocks without a vertex where many weigh nothing: all of these together get the least weight of another.
            let weightless = of_asked().filter(|&weight| weight == 0).count() as u64;
            let factor = if weightless > 0 { weightless + 1 } else { 1 };
            narrow(of_asked().map(|weight| weight.saturating_mul(factor).max(1)).collect::<Vec<_>>().iter().copied())
        });
        let shares = targets.map(|targets| {
            let total: f64 = targets.iter().sum();
            targets.iter().map(|target| (target / total) as f32).collect::<Vec<f32>>()
        });
        let call = Call {
            scheme: self.scheme,
            parts: parts as i32,
            vertices: asked.len(),
            rows,
            neighbours,
            edge_weights,
            vertex_weights,
            shares,
            seed: Seed((request.seed & 0x7FFF_FFFF) as i32),
            imbalance: UFactor((request.epsilon * 1000.0).round().clamp(1.0, 1e6) as i32),
        };
        let stop = request.stop.clone();
        let outcome = unstoppable::run(&request.stop, move || {
            let _guard = METIS.lock().unwrap_or_else(PoisonError::into_inner);
            // Nobody waits for the result of a call that is stopped while it waits for another.
            if stop.is_stopped() { Ok(Vec::new()) } else { call.run() }
        });
        match outcome {
            Ok(part) => part.map_err(|error| unsupported(&format!("refused the graph: {error}"))),
            Err(Unfinished::Stopped) => Err(PartitionError::Stopped),
            Err(Unfinished::Failed(reason)) => Err(unsupported(&reason)),
        }
    }
}

fn unsupported(what: &str) -> PartitionError {
    PartitionError::Unsupported(format!("METIS {what}"))
}

/// What METIS is given.
struct Call {
    scheme: MetisScheme,
    parts: i32,
    vertices: usize,
    rows: Vec<i32>,
    neighbours: Vec<i32>,
    /// Empty if all are equal.
    edge_weights: Vec<i32>,
    vertex_weights: Option<Vec<i32>>,
    /// Each part's share of the weight; `None` if all are equal.
    shares: Option<Vec<f32>>,
    seed: Seed,
    imbalance: UFactor,
}

impl Call {
    /// The part of each vertex, or why METIS gives none.
    fn run(self) -> Result<Vec<i32>, String> {
        let mut call = metis::Graph::new(1, self.parts, &self.rows, &self.neighbours)
            .map_err(|error| error.to_string())?
            .set_option(self.seed)
            .set_option(self.imbalance);
        if !self.edge_weights.is_empty() {
            call = call.set_adjwgt(&self.edge_weights);
        }
        if let Some(weights) = &self.vertex_weights {
            call = call.set_vwgt(weights);
        }
        if let Some(shares) = &self.shares {
            call = call.set_tpwgts(shares);
        }
        let mut part = vec![0i32; self.vertices];
        match self.scheme {
            MetisScheme::Kway => call.part_kway(&mut part),
            MetisScheme::Recursive => call.part_recursive(&mut part),
        }
        .map_err(|error| error.to_string())?;
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use placebench_datasets::UndirectedGraph;

    use super::*;
    use crate::StopToken;

    #[test]
    fn a_deadline_ends_the_wait_for_metis() {
        let edges = (0..99u32).map(|vertex| (vertex, vertex + 1, 1));
        let graph = UndirectedGraph::from_edges(100, edges, None).unwrap();
        let deadline = Instant::now() + Duration::from_millis(50);
        let request =
            PartitionRequest { stop: StopToken::with_deadline(deadline), ..PartitionRequest::new(4, 0.03, 0) };
        let _busy = METIS.lock().unwrap_or_else(PoisonError::into_inner);
        let metis = Metis { scheme: MetisScheme::Kway };
        assert_eq!(metis.partition(&graph, &request), Err(PartitionError::Stopped));
    }
}
