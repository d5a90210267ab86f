//! The edges into one level: uniformly drawn distinct pairs, in the order of the backward adjacency.

use rand_distr::Distribution as _;

use super::levels::{LevelShape, Levels};
use super::params::{Amount, Decay};
use crate::counts::binomial;
use crate::pairs::{self, Rows, key, merge, remove_sorted};
use crate::random::{Purpose, Stream, pair_below, stream, unit};

impl LevelShape {
    fn level_rectangle(&self) -> Rectangle {
        Rectangle { rows: self.ops, first_column: self.window_first, columns: self.first_op - self.window_first }
    }

    fn whole_rectangle(&self) -> Rectangle {
        Rectangle { rows: self.ops, first_column: 0, columns: self.first_op }
    }
}

/// Pairs of a target, counted from the first op of its level, with a source out of consecutive ops.
#[derive(Clone, Copy, Debug)]
struct Rectangle {
    rows: u32,
    first_column: u32,
    columns: u32,
}

impl Rectangle {
    fn pairs(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.columns)
    }

    #[inline]
    fn draw(&self, rng: &mut Stream) -> (u32, u32) {
        let (row, column) = pair_below(rng, self.rows, self.columns);
        (row, self.first_column + column)
    }

    /// All pairs, ascending.
    fn all(self) -> impl Iterator<Item = u64> {
        let columns = self.first_column..self.first_column + self.columns;
        (0..self.rows).flat_map(move |row| columns.clone().map(move |column| key(row, column)))
    }
}

/// Writes the sources of each op's in-edges, ascending, into `sources`, and the end of each op's edges, counted from
/// `start`, into `ends`.
pub(super) fn write_level(
    rows: &mut Rows,
    levels: &Levels,
    shape: &LevelShape,
    start: u32,
    ends: &mut [u32],
    sources: &mut [u32],
) {
    let sparse = |count: usize, pairs: u64| count as u64 <= pairs / 2;
    if levels.params.level_edges.decay == Decay::None
        && sparse(shape.level_edges, shape.level_pairs())
        && sparse(shape.random_edges, shape.all_pairs() - shape.level_edges as u64)
    {
        write_sparse(rows, levels.seed, shape, ends, sources);
        ends.iter_mut().for_each(|end| *end += start);
    } else {
        write_sorted(&level_pairs(levels, shape), start, ends, sources);
    }
}

/// Draws the level-based edges, then the random ones: of a pair that was drawn twice, a random edge is drawn again, not a
/// level-based one.
fn write_sparse(rows: &mut Rows, seed: u64, shape: &LevelShape, ends: &mut [u32], sources: &mut [u32]) {
    let (level, whole) = (shape.level_rectangle(), shape.whole_rectangle());
    let mut level_rng = stream(seed, Purpose::LevelEdges, shape.level as u64);
    let mut random_rng = stream(seed, Purpose::RandomEdges, shape.level as u64);
    let draw = |position| match position < shape.level_edges {
        true => level.draw(&mut level_rng),
        false => whole.draw(&mut random_rng),
    };
    rows.draw(draw, ends, sources);
}

/// Writes pairs that are sorted and different.
fn write_sorted(pairs: &[u64], start: u32, ends: &mut [u32], sources: &mut [u32]) {
    ends.fill(0);
    for (slot, &pair) in sources.iter_mut().zip(pairs) {
        *slot = pair as u32;
        ends[(pair >> 32) as usize] += 1;
    }
    let mut before = start;
    for end in ends {
        before += *end;
        *end = before;
    }
}

/// The pairs of a level, sorted. This path handles every case: repeated draws, dense levels, decays.
fn level_pairs(levels: &Levels, shape: &LevelShape) -> Vec<u64> {
    let level_edges = match (levels.params.level_edges.amount, levels.params.level_edges.decay) {
        (_, Decay::None) => {
            let rng = &mut stream(levels.seed, Purpose::LevelEdges, shape.level as u64);
            draw_distinct(rng, shape.level_rectangle(), shape.level_edges, &[])
        }
        (Amount::Probability(probability), _) => levels.decaying_edges(shape, probability),
        (Amount::Count(_), _) => levels.decaying_count(shape),
    };
    let rng = &mut stream(levels.seed, Purpose::RandomEdges, shape.level as u64);
    let random = draw_distinct(rng, shape.whole_rectangle(), shape.random_edges, &level_edges);
    merge(&level_edges, &random)
}

/// `count` different pairs of a rectangle that are not in `excluded`, sorted. Every such set is equally likely.
fn draw_distinct(rng: &mut Stream, rectangle: Rectangle, count: usize, excluded: &[u64]) -> Vec<u64> {
    let draw = || {
        let (target, source) = rectangle.draw(rng);
        key(target, source)
    };
    pairs::draw_distinct(count, rectangle.pairs() - excluded.len() as u64, excluded, draw, || rectangle.all())
}

impl Levels {
    /// Edges of probability p · factor(distance), each pair independently; sorted.
    ///
    /// Distances are taken in ranges that double. In each, pairs are drawn with the probability of its nearest, and
    /// kept with the ratio of their own probability to that: thinning, which keeps the pairs independent.
    pub(super) fn decaying_edges(&self, shape: &LevelShape, probability: f64) -> Vec<u64> {
        let decay = self.params.level_edges.decay;
        let rng = &mut stream(self.seed, Purpose::LevelEdges, shape.level as u64);
        let reach = self.reach.min(shape.level as u32);
        let mut edges = Vec::new();
        let mut near = 1;
        while near <= reach {
            let far = reach.min(near.saturating_mul(2) - 1);
            let first_column = self.first_op[shape.level - far as usize];
            let columns = self.first_op[shape.level - near as usize + 1] - first_column;
            let rectangle = Rectangle { rows: shape.ops, first_column, columns };
            let upper = decay.factor(near);
            let count = binomial(rng, rectangle.pairs(), probability * upper);
            edges.extend(
                draw_distinct(rng, rectangle, count as usize, &[])
                    .into_iter()
                    .filter(|&pair| unit(rng) * upper < decay.factor(self.distance(shape, pair as u32))),
            );
            near = far + 1;
        }
        edges.sort_unstable();
        edges
    }

    /// The planned number of edges, drawn one after the other in proportion to the decay's factor; sorted.
    fn decaying_count(&self, shape: &LevelShape) -> Vec<u64> {
        let decay = self.params.level_edges.decay;
        let rng = &mut stream(self.seed, Purpose::LevelEdges, shape.level as u64);
        let reach = self.reach.min(shape.level as u32);
        let mut sum = 0.0;
        let cumulative: Vec<f64> = (1..=reach)
            .map(|distance| {
                sum += decay.factor(distance) * self.ops(shape.level - distance as usize).len() as f64;
                sum
            })
            .collect();
        draw_weighted(
            rng,
            shape,
            shape.level_edges,
            |rng| {
                let at = unit(rng) * sum;
                let distance = cumulative.partition_point(|&nearer| nearer <= at).min(cumulative.len() - 1) + 1;
                let level = self.ops(shape.level - distance);
                Rectangle { rows: shape.ops, first_column: level.start, columns: level.len() as u32 }.draw(rng)
            },
            |source| decay.factor(self.distance(shape, source)),
        )
    }

    /// How many levels an edge from `source` into the level spans.
    fn distance(&self, shape: &LevelShape, source: u32) -> u32 {
        (shape.level + 1 - self.first_op[..=shape.level].partition_point(|&first| first <= source)) as u32
    }
}

/// `count` different pairs, drawn one after the other in proportion to their weight. `draw` draws one pair so,
/// `weight` is that of a source.
fn draw_weighted(
    rng: &mut Stream,
    shape: &LevelShape,
    count: usize,
    draw: impl Fn(&mut Stream) -> (u32, u32),
    weight: impl Fn(u32) -> f64,
) -> Vec<u64> {
    /// Rounds of rejection before the rest is drawn by exponential keys.
    const ROUNDS: usize = 32;
    let mut drawn: Vec<u64> = Vec::new();
    for _ in 0..ROUNDS {
        if drawn.len() == count {
            return drawn;
        }
        let mut fresh: Vec<u64> = (drawn.len()..count)
            .map(|_| {
                let (target, source) = draw(rng);
                key(target, source)
            })
            .collect();
        fresh.sort_unstable();
        fresh.dedup();
        remove_sorted(&mut fresh, &drawn);
        drawn = merge(&drawn, &fresh);
    }
    // Nearly all heavy pairs are taken. The pairs with the smallest exponential variables of rate weight are
    // distributed as if drawn one after the other (Efraimidis, Spirakis 2006).
    let mut rest: Vec<u64> = shape.level_rectangle().all().collect();
    remove_sorted(&mut rest, &drawn);
    let mut keyed: Vec<(f64, u64)> = rest
        .into_iter()
        .map(|pair| {
            let exponential: f64 = rand_distr::Exp1.sample(rng);
            (exponential / weight(pair as u32), pair)
        })
        .collect();
    keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut last: Vec<u64> = keyed.into_iter().take(count - drawn.len()).map(|(_, pair)| pair).collect();
    last.sort_unstable();
    merge(&drawn, &last)
}
