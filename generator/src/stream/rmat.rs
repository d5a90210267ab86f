//! R-MAT: edges fall into quarters of the adjacency matrix, then into quarters of those, and so on.

mod paths;

use placebench_base::process::check_memory;
use placebench_datasets::UndirectedGraph;
use serde::{Deserialize, Serialize};

use super::{CHUNK, ChunkScratch, EdgeChunks, Sheet, all_edges, first_edges};
use crate::error::{GeneratorError, check_probability};
use crate::pairs::key;
use crate::random::{Purpose, Stream, stream, unit};
use crate::split::split_by_weight;
use paths::Paths;

/// Parameters of an R-MAT graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RmatParams {
    /// There are 2^scale vertices.
    pub scale: u32,
    /// Mean degree, isolated vertices counted: there are 2^scale · degree / 2 edges.
    pub degree: f64,
    /// Probabilities of the quarters of the adjacency matrix: upper left, upper right, lower left; the rest is lower
    /// right.
    pub quarters: [f64; 3],
    /// Whether vertices without an edge stay. If not, the others are numbered anew in the same order. Only for a graph in
    /// memory.
    pub isolated: bool,
    /// Whether edges have a direction; there may then be one each way between two vertices.
    pub directed: bool,
}

impl Default for RmatParams {
    /// 2^18 vertices of mean degree 16, with the probabilities 0.57, 0.19, 0.19 of the Graph 500 benchmark.
    fn default() -> Self {
        Self { scale: 18, degree: 16.0, quarters: [0.57, 0.19, 0.19], isolated: true, directed: false }
    }
}

impl RmatParams {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first that is wrong, and what it must be.
    pub fn check(&self) -> Result<(), GeneratorError> {
        if !(1..=31).contains(&self.scale) {
            return Err(GeneratorError::bad("scale", self.scale, "from 1 to 31"));
        }
        let vertices = 1u64 << self.scale;
        if !(self.degree > 0.0 && self.degree < vertices as f64) {
            return Err(GeneratorError::bad(
                "degree",
                self.degree,
                format!("above 0 and below the {vertices} vertices"),
            ));
        }
        self.quarters.iter().try_for_each(|&quarter| check_probability("quarters", quarter))?;
        if self.all_quarters().iter().any(|&quarter| quarter < 1e-6) {
            return Err(GeneratorError::bad(
                "quarters",
                format!("{:?}", self.quarters),
                "three probabilities above 0 that leave something for the fourth",
            ));
        }
        Ok(())
    }

    /// Number of edges.
    pub fn edges(&self) -> u64 {
        ((1u64 << self.scale) as f64 * self.degree / 2.0).round() as u64
    }

    /// The quarters, row by row.
    fn all_quarters(&self) -> [f64; 4] {
        let [a, b, c] = self.quarters;
        [a, b, c, 1.0 - (a + b + c)]
    }
}

/// A square of the adjacency matrix, and its mirror image if edges have no direction.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Its side is 2^levels vertices.
    levels: u32,
    /// Its place among the squares of its size; the row is not above the column if edges have no direction.
    row: u32,
    column: u32,
    /// Probability of the square, and of its mirror image where that is another square and counts too.
    upper: f64,
    lower: f64,
}

/// The plan of an R-MAT graph: cells with up to 2¹⁶ edges.
///
/// A cell is cut into its quarters as long as it has more. How many edges fall into each quarter is a multinomial draw.
/// Within a cell, edges are drawn one after the other, and those that are there already, or are self-loops, again.
///
/// # Deviations
/// An edge that repeats another is drawn again in its cell, not in the whole matrix: cells in which many repeat keep their
/// number of edges. No noise on the probabilities, and vertices are not shuffled: low numbers have high degrees.
///
/// # Memory
/// 48 bytes a chunk.
///
/// # Reference
/// D. Chakrabarti, Y. Zhan, C. Faloutsos: R-MAT: a recursive model for graph mining. SDM 2004, 442–446,
/// doi:10.1137/1.9781611972740.43. Several levels at once: L. Hübschle-Schneider, P. Sanders: Linear work generation of R-MAT
/// graphs. Network Science 8 (2020), 543–550, doi:10.1017/nws.2020.21.
#[derive(Clone, Debug)]
pub struct RmatChunks {
    params: RmatParams,
    seed: u64,
    cells: Vec<Cell>,
    first_edge: Vec<u64>,
    paths: Paths,
}

impl RmatChunks {
    /// Draws the number of edges of each cell.
    ///
    /// # Errors
    /// If a parameter makes no sense, or there are more edges than pairs.
    ///
    /// # Complexity
    /// O(√edges · log edges + cells · 2⁸).
    pub fn new(params: &RmatParams, seed: u64) -> Result<Self, GeneratorError> {
        params.check()?;
        let mut this = Self {
            params: *params,
            seed,
            cells: Vec::new(),
            first_edge: Vec::new(),
            paths: Paths::new(params.all_quarters()),
        };
        let all = Cell { levels: params.scale, row: 0, column: 0, upper: 1.0, lower: 0.0 };
        let (asked, possible) = (params.edges(), this.pairs(&all));
        if asked > possible {
            return Err(GeneratorError::TooManyEdges { param: "degree", asked, possible });
        }
        let rng = &mut stream(seed, Purpose::RmatCounts, 0);
        // Depth first, quarters in order.
        let (mut open, mut counts) = (vec![(all, asked)], Vec::new());
        while let Some((cell, count)) = open.pop() {
            if count <= CHUNK {
                this.cells.push(cell);
                counts.push(count);
            } else {
                open.extend(this.split(rng, &cell, count).into_iter().filter(|part| part.1 > 0).rev());
            }
        }
        this.first_edge = first_edges(counts);
        Ok(this)
    }

    fn is_diagonal(cell: &Cell) -> bool {
        cell.row == cell.column
    }

    /// Pairs of vertices that may get an edge in the cell.
    fn pairs(&self, cell: &Cell) -> u64 {
        let side = 1u64 << cell.levels;
        match (Self::is_diagonal(cell), self.params.directed) {
            (false, _) => side * side,
            (true, true) => side * (side - 1),
            (true, false) => side * (side - 1) / 2,
        }
    }

    /// Probability of an edge in the cell that is no self-loop.
    fn weight(&self, cell: &Cell) -> f64 {
        let [a, _, _, d] = self.params.all_quarters();
        match Self::is_diagonal(cell) {
            true => cell.upper * (1.0 - libm::pow(a + d, f64::from(cell.levels))),
            false => cell.upper + cell.lower,
        }
    }

    /// The quarters of a cell, with the number of edges that falls into each.
    fn split(&self, rng: &mut Stream, cell: &Cell, count: u64) -> Vec<(Cell, u64)> {
        let [a, b, c, d] = self.params.all_quarters();
        let quarter = |row: u32, column: u32| {
            let upper = cell.upper * [a, b, c, d][(2 * row + column) as usize];
            let mirrored = [a, b, c, d][(2 * column + row) as usize];
            let folded = Self::is_diagonal(cell) && !self.params.directed && row != column;
            let lower = if folded { cell.upper * mirrored } else { cell.lower * mirrored };
            Cell { levels: cell.levels - 1, row: 2 * cell.row + row, column: 2 * cell.column + column, upper, lower }
        };
        let quarters = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(row, column)| quarter(row, column));
        let counted = |quarter: &Cell| self.params.directed || quarter.row <= quarter.column;
        let quarters: Vec<Cell> = quarters.into_iter().filter(counted).collect();
        let pairs: Vec<u64> = quarters.iter().map(|quarter| self.pairs(quarter)).collect();
        let weights: Vec<f64> = quarters.iter().map(|quarter| self.weight(quarter)).collect();
        // A cell never has more edges than pairs, so that they fit into its quarters.
        let counts = split_by_weight(rng, "degree", count, &pairs, &weights).unwrap_or_default();
        quarters.into_iter().zip(counts).collect()
    }

    /// Appends `count` different edges of a cell.
    fn draw(&self, rng: &mut Stream, cell: &Cell, count: u64, taken: &mut Taken, edges: &mut Vec<(u32, u32)>) {
        /// With more draws an edge than this, the cell is nearly full where edges fall: its quarters are drawn alone.
        const MOST_DRAWS: u64 = 16;
        if count == 0 {
            return;
        }
        let (first, row, column) = (edges.len(), cell.row << cell.levels, cell.column << cell.levels);
        let folded = Self::is_diagonal(cell) && !self.params.directed;
        let upper = cell.upper / (cell.upper + cell.lower);
        taken.clear(count as usize);
        let mut left = count;
        for _ in 0..count * MOST_DRAWS {
            let (mut a, mut b) = self.paths.draw(rng, cell.levels);
            if cell.lower > 0.0 && unit(rng) >= upper {
                (a, b) = (b, a);
            }
            if folded && a > b {
                (a, b) = (b, a);
            }
            let edge = (row + a, column + b);
            if edge.0 != edge.1 && taken.insert(key(a, b)) {
                edges.push(edge);
                left -= 1;
                if left == 0 {
                    return;
                }
            }
        }
        edges.truncate(first);
        for (quarter, count) in self.split(rng, cell, count) {
            self.draw(rng, &quarter, count, taken, edges);
        }
    }
}

impl EdgeChunks for RmatChunks {
    fn vertex_count(&self) -> u32 {
        1 << self.params.scale
    }

    fn first_edges(&self) -> &[u64] {
        &self.first_edge
    }

    fn append(&self, chunk: usize, scratch: &mut ChunkScratch, edges: &mut Vec<(u32, u32)>, _: &mut Sheet) {
        let count = self.first_edge[chunk + 1] - self.first_edge[chunk];
        let rng = &mut stream(self.seed, Purpose::RmatEdges, chunk as u64);
        self.draw(rng, &self.cells[chunk], count, &mut scratch.taken, edges);
    }
}

/// A set of pairs: a hash table with open addressing, at most half full. A slot holds a pair plus one, or 0.
#[derive(Default)]
pub(super) struct Taken {
    slots: Vec<u64>,
    /// 64 less the binary logarithm of the number of slots.
    shift: u32,
}

impl Taken {
    /// Makes the set empty, with room for `count` pairs.
    fn clear(&mut self, count: usize) {
        let slots = (2 * count).next_power_of_two().max(64);
        self.slots.clear();
        self.slots.resize(slots, 0);
        self.shift = 64 - slots.ilog2();
    }

    /// Adds a pair; `false` if it is there already.
    #[inline]
    fn insert(&mut self, pair: u64) -> bool {
        let mask = self.slots.len() - 1;
        // The golden ratio spreads neighbours (Knuth, The Art of Computer Programming 3, 6.4).
        let mut at = (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            match self.slots[at] {
                0 => {
                    self.slots[at] = pair + 1;
                    return true;
                }
                slot if slot == pair + 1 => return false,
                _ => at = (at + 1) & mask,
            }
        }
    }
}

/// An undirected R-MAT graph in memory: the graph of [`RmatChunks`].
///
/// # Errors
/// If a parameter makes no sense, edges have directions, there are more edges than pairs, or the graph does not fit into
/// memory.
///
/// # Complexity
/// O(edges · scale); parallel.
///
/// # Example
/// ```
/// use placebench_generator::{RmatParams, rmat};
///
/// let graph = rmat(&RmatParams { scale: 10, ..RmatParams::default() }, 1).unwrap();
/// assert_eq!((graph.vertex_count(), graph.edge_count()), (1024, 8192));
/// ```
pub fn rmat(params: &RmatParams, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
    params.check()?;
    if params.directed {
        return Err(GeneratorError::bad("directed", true, "false, or the graph made with --stream"));
    }
    let (mut vertices, wanted) = (1usize << params.scale, params.edges());
    let parts = [(vertices as u64, 8 + 4), (wanted, 16 + 16)];
    check_memory(&parts, || format!("an R-MAT graph of {vertices} vertices and {wanted} edges"))?;
    let mut edges = all_edges(&RmatChunks::new(params, seed)?);
    if !params.isolated {
        let mut kept = vec![false; vertices];
        for &(a, b) in &edges {
            (kept[a as usize], kept[b as usize]) = (true, true);
        }
        let mut number = vec![0; vertices];
        vertices = 0;
        for (number, _) in number.iter_mut().zip(kept).filter(|&(_, kept)| kept) {
            *number = vertices as u32;
            vertices += 1;
        }
        for (a, b) in &mut edges {
            (*a, *b) = (number[*a as usize], number[*b as usize]);
        }
    }
    Ok(UndirectedGraph::from_edges(vertices, edges.into_iter().map(|(a, b)| (a, b, 1)), None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: RmatParams =
        RmatParams { scale: 3, degree: 1.0, quarters: [0.5, 0.3, 0.05], isolated: true, directed: false };

    /// Probability of an edge between two vertices, from the definition.
    fn probability(params: &RmatParams, a: u32, b: u32) -> f64 {
        let one_way = |a: u32, b: u32| -> f64 {
            let quarter = |level: u32| params.all_quarters()[((a >> level & 1) * 2 + (b >> level & 1)) as usize];
            (0..params.scale).map(quarter).product()
        };
        let loops: f64 = (0..1 << params.scale).map(|vertex| one_way(vertex, vertex)).sum();
        (one_way(a, b) + if params.directed { 0.0 } else { one_way(b, a) }) / (1.0 - loops)
    }

    /// Chi-squared of 100,000 single edges against their probabilities.
    fn chi_squared(params: &RmatParams, mut edge: impl FnMut(&RmatChunks, &mut Stream) -> (u32, u32)) -> f64 {
        let (chunks, side) = (RmatChunks::new(params, 1).unwrap(), 1u32 << params.scale);
        let rng = &mut stream(1, Purpose::RmatEdges, 0);
        let mut counts = vec![0.0f64; (side * side) as usize];
        for _ in 0..100_000 {
            let (a, b) = edge(&chunks, rng);
            counts[(a * side + b) as usize] += 1.0;
        }
        let pairs = (0..side).flat_map(|a| (0..side).map(move |b| (a, b)));
        let legal = pairs.filter(|&(a, b)| if params.directed { a != b } else { a < b });
        let mut sum = 0.0;
        legal.for_each(|(a, b)| {
            let (found, expected) = (counts[(a * side + b) as usize], 1e5 * probability(params, a, b));
            counts[(a * side + b) as usize] = 0.0;
            sum += (found - expected).powi(2) / expected;
        });
        assert!(counts.iter().all(|&count| count == 0.0), "an edge that may not be");
        sum
    }

    #[test]
    fn edges_of_a_cell_and_of_its_quarters_follow_the_definition() {
        let all = Cell { levels: 3, row: 0, column: 0, upper: 1.0, lower: 0.0 };
        // 28 and 56 pairs: chi-squared with 27 and 55 degrees of freedom exceeds 64 and 103 once in 10,000 seeds.
        for (directed, limit) in [(false, 64.0), (true, 103.0)] {
            let params = RmatParams { directed, ..PARAMS };
            let drawn = chi_squared(&params, |chunks, rng| {
                let mut edges = Vec::new();
                chunks.draw(rng, &all, 1, &mut Taken::default(), &mut edges);
                edges[0]
            });
            let split = chi_squared(&params, |chunks, rng| {
                let mut cell = all;
                while cell.levels > 0 {
                    cell = chunks.split(rng, &cell, 1).into_iter().find(|part| part.1 == 1).unwrap().0;
                }
                (cell.row, cell.column)
            });
            // One quarter by splitting, the rest by drawing.
            let both = chi_squared(&params, |chunks, rng| {
                let cell = chunks.split(rng, &all, 1).into_iter().find(|part| part.1 == 1).unwrap().0;
                let mut edges = Vec::new();
                chunks.draw(rng, &cell, 1, &mut Taken::default(), &mut edges);
                edges[0]
            });
            assert!(drawn < limit && split < limit && both < limit, "{directed}: {drawn} {split} {both}");
        }
    }

    #[test]
    fn a_set_knows_what_it_took() {
        let mut taken = Taken::default();
        for round in 0..3 {
            taken.clear(1000);
            for pair in (0..1000).map(|number| key(number % 7, number)) {
                assert!(taken.insert(pair) && !taken.insert(pair), "{round}");
            }
        }
    }
}
