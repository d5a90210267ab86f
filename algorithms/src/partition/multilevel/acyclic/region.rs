//! The vertices near the border of two blocks, and how to divide them anew.

use super::max_flow::{Arc, Network};

/// The free vertices of a pair as a network: those of the first block, the nearest to the border first, then those of the
/// second.
pub(crate) struct Region {
    pub(crate) vertices: Vec<u32>,
    /// How many of them are in the first block.
    pub(crate) before: usize,
    pub(crate) weights: Vec<i64>,
    pub(crate) arcs: Vec<Arc>,
    /// What is cut if the vertex comes to the second block.
    pub(crate) if_second: Vec<i64>,
    /// What is cut if the vertex comes to the first block.
    pub(crate) if_first: Vec<i64>,
}

impl Region {
    /// What a division cuts; `side` says who comes to the first block.
    pub(crate) fn cost(&self, side: &[bool]) -> i64 {
        let across = self.arcs.iter().filter(|arc| side[arc.ends[0] as usize] && !side[arc.ends[1] as usize]);
        let ends = side.iter().enumerate().map(
            |(node, &first)| {
                if first { self.if_first[node] } else { self.if_second[node] }
            },
        );
        across.map(|arc| arc.there).sum::<i64>() + ends.sum::<i64>()
    }

    fn weight(&self, side: &[bool]) -> i64 {
        self.weights.iter().zip(side).filter(|&(_, &first)| first).map(|(weight, _)| weight).sum()
    }

    /// A cut of little weight whose first side weighs from `least` to `most`.
    ///
    /// As long as the minimum cut's first side is too light, all of it is fixed, and so are others that make up for half of
    /// what it lacks; likewise if it is too heavy. They are chosen to agree with the present division while that is possible.
    ///
    /// # Reference
    /// M. Hamann, B. Strasser: Graph bisection with Pareto optimization. ACM Journal of Experimental Algorithmics 23 (2018),
    /// doi:10.1145/3173045: piercing, here many vertices at once.
    pub(crate) fn best_cut(&self, least: i64, most: i64) -> Option<(i64, Vec<bool>)> {
        let nodes = self.vertices.len();
        let terminal = self.if_second.iter().zip(&self.if_first).map(|(second, first)| second - first).collect();
        let mut network = Network::new(&self.arcs, terminal);
        let mut free = vec![true; nodes];
        let middle = least + (most - least) / 2;
        loop {
            network.maximise()?;
            let small = network.source_side();
            let large: Vec<bool> = network.sink_side().iter().map(|&inside| !inside).collect();
            let (light, heavy) = (self.weight(&small), self.weight(&large));
            let fits = |weight: &i64| (least..=most).contains(weight);
            let fitting = [(light, &small), (heavy, &large)].into_iter().filter(|(weight, _)| fits(weight));
            if let Some((_, side)) = fitting.min_by_key(|(weight, _)| weight.abs_diff(middle)) {
                return Some((self.cost(side), side.clone()));
            }
            // Between a side too light and one too heavy either may be fixed.
            let grow = heavy < least || (light < least && least - light <= heavy - most);
            let whole = if grow { heavy < least } else { light <= most };
            let (side, weight) = if whole { (large, heavy) } else { (small, light) };
            let mut missing = if grow { least - weight } else { weight - most };
            missing = (missing + 1) / 2;
            for node in (0..nodes).filter(|&node| side[node] == grow) {
                free[node] = false;
                network.fix(node as u32, grow);
            }
            let (before, behind) = (0..self.before, self.before..nodes);
            let order: Vec<usize> =
                if grow { before.rev().chain(behind).collect() } else { behind.rev().chain(before).collect() };
            let mut order = order.into_iter().filter(|&node| free[node]).collect::<Vec<_>>().into_iter();
            while missing > 0 {
                let node = order.next()?;
                free[node] = false;
                network.fix(node as u32, grow);
                missing -= self.weights[node];
            }
        }
    }
}
