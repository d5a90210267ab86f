//! Maximum flows and minimum cuts. An arc that must not be cut has unlimited capacity.

/// Cannot be used up, and so cannot be cut. Finite capacities must add up to less.
pub(crate) const UNLIMITED: i64 = i64::MAX / 4;

/// An arc, with what it carries one way and the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arc {
    pub(crate) ends: [u32; 2],
    pub(crate) there: i64,
    pub(crate) back: i64,
}

/// A network. Each node may have an arc from the source or to the sink.
///
/// # Reference
/// E. A. Dinic: Algorithm for solution of a problem of maximum flow in networks with power estimation. Soviet Mathematics
/// Doklady 11 (1970), 1277–1280.
///
/// # Complexity
/// O(nodes² · arcs) at worst; a few dozen searches of the network in practice.
pub(crate) struct Network {
    /// Where each node's arcs begin.
    starts: Vec<u32>,
    heads: Vec<u32>,
    /// The same arc in the row of its other end.
    mates: Vec<u32>,
    /// What may still flow from the row's node to the head.
    residual: Vec<i64>,
    /// What the source may still send to the node; below 0, what the sink may still take from it.
    terminal: Vec<i64>,
    /// For each node that reaches the sink, the number of arcs to it.
    distance: Vec<u32>,
    current: Vec<u32>,
    queue: Vec<u32>,
    /// Steps that may still be done.
    budget: u64,
}

/// Steps for each node and arc of a network, at most. A flow that needs more takes longer than the better cut is worth: half a
/// million ops in ten thousands of levels, for example.
const STEPS: u64 = 400;

/// The node does not reach the sink.
const FAR: u32 = u32::MAX;

impl Network {
    /// A network of arcs between nodes below `terminal.len()`; `terminal` is what the source can send to each node, or, below
    /// 0, what the sink takes from it.
    pub(crate) fn new(arcs: &[Arc], terminal: Vec<i64>) -> Self {
        let nodes = terminal.len();
        let mut starts = vec![0u32; nodes + 1];
        for end in arcs.iter().flat_map(|arc| arc.ends) {
            starts[end as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut cursor = starts.clone();
        let (mut heads, mut mates) = (vec![0; 2 * arcs.len()], vec![0; 2 * arcs.len()]);
        let mut residual = vec![0; 2 * arcs.len()];
        for arc in arcs {
            let [a, b] = arc.ends;
            let at = cursor[a as usize];
            cursor[a as usize] += 1;
            let mate = cursor[b as usize];
            cursor[b as usize] += 1;
            (heads[at as usize], heads[mate as usize]) = (b, a);
            (mates[at as usize], mates[mate as usize]) = (mate, at);
            (residual[at as usize], residual[mate as usize]) = (arc.there, arc.back);
        }
        let (distance, current) = (vec![FAR; nodes], vec![0; nodes]);
        let queue = Vec::with_capacity(nodes);
        let budget = STEPS * (nodes + arcs.len()) as u64;
        Self { starts, heads, mates, residual, terminal, distance, current, queue, budget }
    }

    fn row(&self, node: u32) -> std::ops::Range<u32> {
        self.starts[node as usize]..self.starts[node as usize + 1]
    }

    /// Sends as much as possible from source to sink. Returns by how much the flow has grown, which all in all is the weight of the
    /// minimum cut; `None` if it is unlimited or takes too long.
    pub(crate) fn maximise(&mut self) -> Option<i64> {
        let mut flow = 0;
        while self.measure() {
            self.spend(self.queue.len())?;
            self.current.copy_from_slice(&self.starts[..self.terminal.len()]);
            for source in 0..self.terminal.len() as u32 {
                if self.terminal[source as usize] > 0 && self.distance[source as usize] != FAR {
                    flow += self.send_from(source)?;
                }
            }
        }
        Some(flow)
    }

    /// Puts a node on the side of the source, or else of the sink, for good.
    pub(crate) fn fix(&mut self, node: u32, to_source: bool) {
        self.terminal[node as usize] = if to_source { UNLIMITED } else { -UNLIMITED };
    }

    fn spend(&mut self, steps: usize) -> Option<()> {
        self.budget = self.budget.checked_sub(steps as u64)?;
        Some(())
    }

    /// Measures how far each node is from the sink, as far as the nearest that the source sends to needs to know. Returns
    /// whether there is such a node.
    fn measure(&mut self) -> bool {
        self.distance.fill(FAR);
        self.queue.clear();
        for node in 0..self.terminal.len() as u32 {
            if self.terminal[node as usize] < 0 {
                self.distance[node as usize] = 0;
                self.queue.push(node);
            }
        }
        let (mut next, mut limit) = (0, FAR);
        while let Some(&node) = self.queue.get(next) {
            next += 1;
            let distance = self.distance[node as usize];
            if distance >= limit {
                break;
            }
            for at in self.row(node) {
                let tail = self.heads[at as usize];
                if self.distance[tail as usize] == FAR && self.residual[self.mates[at as usize] as usize] > 0 {
                    self.distance[tail as usize] = distance + 1;
                    self.queue.push(tail);
                    if self.terminal[tail as usize] > 0 {
                        limit = distance + 1;
                    }
                }
            }
        }
        limit != FAR
    }

    /// Sends what one node gets along shortest paths. `None` if that is unlimited or takes too long.
    fn send_from(&mut self, source: u32) -> Option<i64> {
        let mut sent = 0;
        let mut path: Vec<u32> = Vec::new();
        let mut node = source;
        loop {
            if self.terminal[node as usize] < 0 {
                let least = path.iter().map(|&at| self.residual[at as usize]).min().unwrap_or(UNLIMITED);
                let amount = least.min(self.terminal[source as usize]).min(-self.terminal[node as usize]);
                if amount >= UNLIMITED {
                    return None;
                }
                self.spend(path.len())?;
                sent += amount;
                lower(&mut self.terminal[source as usize], amount);
                if self.terminal[node as usize] > -UNLIMITED {
                    self.terminal[node as usize] += amount;
                }
                let mut full = path.len();
                for (step, &at) in path.iter().enumerate().rev() {
                    lower(&mut self.residual[at as usize], amount);
                    let back = &mut self.residual[self.mates[at as usize] as usize];
                    if *back < UNLIMITED {
                        *back += amount;
                    }
                    if self.residual[at as usize] == 0 {
                        full = step;
                    }
                }
                if self.terminal[source as usize] == 0 {
                    return Some(sent);
                }
                if full < path.len() {
                    node = self.heads[self.mates[path[full] as usize] as usize];
                    path.truncate(full);
                    continue;
                }
            }
            let end = self.starts[node as usize + 1];
            let wanted = self.distance[node as usize].wrapping_sub(1);
            let mut at = self.current[node as usize];
            while at < end
                && (self.residual[at as usize] == 0
                    || self.distance[self.heads[at as usize] as usize] != wanted
                    || wanted == FAR)
            {
                at += 1;
            }
            self.current[node as usize] = at;
            if at < end {
                path.push(at);
                node = self.heads[at as usize];
            } else {
                self.distance[node as usize] = FAR;
                let Some(last) = path.pop() else { return Some(sent) };
                node = self.heads[self.mates[last as usize] as usize];
            }
        }
    }

    /// After [`Network::maximise`]: the least set of nodes on the source's side of a minimum cut.
    pub(crate) fn source_side(&self) -> Vec<bool> {
        let reaches = |at: u32| self.residual[at as usize] > 0;
        self.closure(|terminal| terminal > 0, reaches)
    }

    /// After [`Network::maximise`]: the least set of nodes on the sink's side of a minimum cut.
    pub(crate) fn sink_side(&self) -> Vec<bool> {
        let reached = |at: u32| self.residual[self.mates[at as usize] as usize] > 0;
        self.closure(|terminal| terminal < 0, reached)
    }

    fn closure(&self, begins: impl Fn(i64) -> bool, leads: impl Fn(u32) -> bool) -> Vec<bool> {
        let mut inside: Vec<bool> = self.terminal.iter().map(|&terminal| begins(terminal)).collect();
        let mut stack: Vec<u32> = (0..inside.len() as u32).filter(|&node| inside[node as usize]).collect();
        while let Some(node) = stack.pop() {
            for at in self.row(node).filter(|&at| leads(at)) {
                let head = self.heads[at as usize];
                if !std::mem::replace(&mut inside[head as usize], true) {
                    stack.push(head);
                }
            }
        }
        inside
    }
}

fn lower(residual: &mut i64, amount: i64) {
    if *residual < UNLIMITED {
        *residual -= amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::multilevel::random::Random;

    /// The least that any division costs, by trying them all.
    fn least(arcs: &[Arc], terminal: &[i64]) -> i64 {
        let cost = |sides: u32| {
            let first = |node: u32| sides >> node & 1 == 1;
            let across = arcs.iter().map(|arc| match arc.ends.map(first) {
                [true, false] => arc.there,
                [false, true] => arc.back,
                _ => 0,
            });
            let ends = (0..).zip(terminal).map(
                |(node, &terminal)| {
                    if first(node) { (-terminal).max(0) } else { terminal.max(0) }
                },
            );
            across.fold(0i64, i64::saturating_add).saturating_add(ends.fold(0i64, i64::saturating_add))
        };
        (0..1 << terminal.len()).map(cost).min().unwrap_or(0)
    }

    #[test]
    fn the_flow_is_the_least_cut_and_both_sides_have_it() {
        let mut unlimited = 0;
        for seed in 0..400 {
            let mut random = Random::new(seed, 0);
            let nodes = 2 + random.below(9);
            let mut weight = |most: usize| if random.below(5) == 0 { UNLIMITED } else { random.below(most) as i64 };
            let terminal: Vec<i64> = (0..nodes).map(|at| if at % 2 == 0 { weight(9) } else { -weight(9) }).collect();
            let arcs: Vec<Arc> = (0..2 * nodes)
                .filter_map(|at| {
                    let ends = [at % nodes, (at * 7 + at / nodes * 3 + 1) % nodes].map(|end| end as u32);
                    (ends[0] != ends[1]).then(|| Arc { ends, there: weight(9), back: weight(5) })
                })
                .collect();
            let expected = least(&arcs, &terminal);
            let mut network = Network::new(&arcs, terminal.clone());
            let Some(flow) = network.maximise() else {
                assert!(expected >= UNLIMITED, "seed {seed}: {expected}");
                unlimited += 1;
                continue;
            };
            assert_eq!(flow, expected, "seed {seed}");
            let behind: Vec<bool> = network.sink_side().into_iter().map(|inside| !inside).collect();
            let before = network.source_side();
            assert!(before.iter().zip(&behind).all(|(small, large)| large | !small), "seed {seed}");
            for side in [before, behind] {
                let fixed: Vec<i64> = side.iter().map(|&first| if first { UNLIMITED } else { -UNLIMITED }).collect();
                let across = arcs.iter().map(|arc| match arc.ends.map(|end| fixed[end as usize] > 0) {
                    [true, false] => arc.there,
                    [false, true] => arc.back,
                    _ => 0,
                });
                let ends = side.iter().zip(&terminal).map(|(&first, &t)| if first { -t } else { t }.max(0));
                assert_eq!(across.sum::<i64>() + ends.sum::<i64>(), expected, "seed {seed}");
            }
        }
        assert!((10..390).contains(&unlimited));
    }

    #[test]
    fn more_nodes_may_be_fixed_when_a_flow_is_known() {
        // 0 → 1 → 2 → 3 for 5, 2 and 4; then the first two arcs may not be cut.
        let arc = |a: u32, there: i64| Arc { ends: [a, a + 1], there, back: UNLIMITED };
        let mut network = Network::new(&[arc(0, 5), arc(1, 2), arc(2, 4)], vec![UNLIMITED, 0, 0, -UNLIMITED]);
        assert_eq!(network.maximise(), Some(2));
        assert_eq!(network.source_side(), [true, true, false, false]);
        network.fix(2, true);
        assert_eq!(network.maximise(), Some(2));
        assert_eq!(network.source_side(), [true, true, true, false]);
    }
}
