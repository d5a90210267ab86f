//! METIS, as it is: the outside reference.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use metis::option::{Seed, UFactor};
use placebench_datasets::UndirectedGraph;

use super::{Partition, PartitionError, Partitioner, Request};
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
/// METIS divides by bisection, warns on standard output where it is to bisect nothing, and leaves blocks empty then. That is
/// so where a vertex weighs more than a block should, or nothing. Therefore the former get blocks of their own and METIS
/// partitions the others into the blocks left; the latter get a weight of which all of them together come to a least weight.
/// With no more vertices than blocks METIS is not asked at all.
#[derive(Clone, Copy, Debug)]
pub struct Metis {
    /// Directly into k blocks, or by recursive bisection.
    pub scheme: MetisScheme,
}

impl Algorithm for Metis {
    const NAME: &str = "metis";
    const SUMMARY: &str = "METIS 5.2.1, the outside reference";
    const SOURCE: &str = "Karypis, Kumar 1998";

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

/// What METIS is not asked about.
struct Aside {
    /// The blocks of the vertices set aside.
    block_of: Vec<Option<u32>>,
    /// The blocks of all other vertices, ascending.
    blocks: Vec<u32>,
}

/// Sets vertices aside that weigh more than the largest block should, the heaviest first, each in a block of its own, those of
/// the largest shares first. With no more vertices than blocks that is all of them.
fn set_aside(graph: &UndirectedGraph, request: &Request) -> Aside {
    let heft = |vertex: &u32| Reverse((graph.vertex_weight(*vertex), Reverse(*vertex)));
    let mut heavy: Vec<u32> = graph.vertices().collect();
    let candidates = (request.blocks as usize).min(heavy.len());
    if candidates < heavy.len() {
        heavy.select_nth_unstable_by_key(candidates, heft);
    }
    heavy.truncate(candidates);
    heavy.sort_unstable_by_key(heft);
    let share = |block: u32| request.shares.as_ref().map_or(1.0, |shares| shares[block as usize]);
    let mut blocks: Vec<u32> = (0..request.blocks).collect();
    blocks.sort_by(|&a, &b| share(b).total_cmp(&share(a)));
    let mut shares_left: f64 = blocks.iter().map(|&block| share(block)).sum();
    let mut weight_left = graph.total_vertex_weight();
    let mut block_of = vec![None; graph.vertex_count()];
    let mut taken = 0;
    for (&vertex, &block) in heavy.iter().zip(&blocks) {
        let weight = graph.vertex_weight(vertex);
        let is_heavy = weight as f64 * shares_left > weight_left as f64 * share(block);
        if !is_heavy && graph.vertex_count() > blocks.len() {
            break;
        }
        block_of[vertex as usize] = Some(block);
        (weight_left, shares_left) = (weight_left - weight, shares_left - share(block));
        taken += 1;
    }
    blocks.drain(..taken);
    blocks.sort_unstable();
    Aside { block_of, blocks }
}

impl Partitioner for Metis {
    fn partition(&self, graph: &UndirectedGraph, request: &Request) -> Result<Partition, PartitionError> {
        request.check()?;
        let unsupported = |what: &str| PartitionError::Unsupported(format!("METIS {what}"));
        let vertices = graph.vertex_count();
        let answer = |block_of| Ok(Partition { blocks: request.blocks, block_of });
        if request.blocks == 1 || vertices == 0 {
            return answer(vec![0; vertices]);
        }
        if vertices > request.blocks as usize && graph.total_vertex_weight() == 0 {
            return Err(unsupported("needs a vertex that weighs something"));
        }
        if graph.all_neighbours().len() > i32::MAX as usize {
            return Err(unsupported("counts edges with 31 bits: this graph has too many"));
        }
        let Aside { block_of, blocks } = set_aside(graph, request);
        let asked: Vec<u32> = graph.vertices().filter(|&vertex| block_of[vertex as usize].is_none()).collect();
        let mut complete: Vec<u32> =
            block_of.iter().map(|block| block.or(blocks.first().copied()).unwrap_or(0)).collect();
        if blocks.len() > 1 && !asked.is_empty() {
            let part = self.ask(graph, &asked, &blocks, request).map_err(|error| unsupported(&error))?;
            for (&vertex, part) in asked.iter().zip(part) {
                complete[vertex as usize] = blocks[part as usize];
            }
        }
        answer(complete)
    }
}

impl Metis {
    /// Calls METIS for some of the vertices and blocks. Answers positions in `blocks`.
    fn ask(
        &self,
        graph: &UndirectedGraph,
        asked: &[u32],
        blocks: &[u32],
        request: &Request,
    ) -> Result<Vec<i32>, String> {
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
        let shares = request.shares.as_ref().map(|shares| {
            let kept = || blocks.iter().map(|&block| shares[block as usize]);
            let total: f64 = kept().sum();
            kept().map(|share| (share / total) as f32).collect::<Vec<f32>>()
        });
        let refuse = |error: &dyn std::fmt::Display| format!("refused the graph: {error}");
        let mut part = vec![0i32; asked.len()];
        let guard = METIS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut call = metis::Graph::new(1, blocks.len() as i32, &rows, &neighbours)
            .map_err(|error| refuse(&error))?
            .set_option(Seed((request.seed & 0x7FFF_FFFF) as i32))
            .set_option(UFactor((request.epsilon * 1000.0).round().clamp(1.0, 1e6) as i32));
        if !edge_weights.is_empty() {
            call = call.set_adjwgt(&edge_weights);
        }
        if let Some(weights) = &vertex_weights {
            call = call.set_vwgt(weights);
        }
        if let Some(shares) = &shares {
            call = call.set_tpwgts(shares);
        }
        let outcome = match self.scheme {
            MetisScheme::Kway => call.part_kway(&mut part),
            MetisScheme::Recursive => call.part_recursive(&mut part),
        };
        drop(guard);
        outcome.map_err(|error| refuse(&error))?;
        Ok(part)
    }
}
