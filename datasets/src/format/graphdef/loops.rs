//! The loops of a file: which ops they hold, and which inputs come from the iteration before.

use std::collections::{HashMap, HashSet, VecDeque};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::fault::Fault;
use super::structure::{Op, Structure};
use crate::{GraphBuilder, OpId, OpSpec};

/// Whether an edge is one of those that close the loops of TensorFlow.
pub(super) fn closes_loop(source: &Op, target: &Op) -> bool {
    is(source, "NextIteration") && is(target, "Merge")
}

/// Whether an op is of a type, on values or on references.
pub(super) fn is(op: &Op, op_type: &str) -> bool {
    op.op_type.trim_start_matches("Ref") == op_type
}

/// An input: its op, and its place among the op's inputs.
type InputId = (u32, u32);

/// The loops of a file. A loop may lie in another.
///
/// A loop is a strongly connected component. The parts of a loop of TensorFlow are not always on one cycle: a variable that the
/// test does not look at is on a cycle of its own, and what is computed for it may be on none. They have a frame in common, which
/// `Enter` names and `Exit` leaves. So all that a frame holds counts as connected, where an edge from `NextIteration` into `Merge`
/// closes it.
#[derive(Debug)]
pub(super) struct Loops {
    /// The loop around each, and how many loops its ops are in.
    loops: Vec<(Option<u32>, u32)>,
    /// The innermost loop of each op.
    of_op: Vec<Option<u32>>,
    /// The inputs that come from the iteration before, and the loop whose.
    closing: HashMap<InputId, u32>,
}

impl Loops {
    /// Finds all loops, outer ones before those in them.
    ///
    /// Of a component, the inputs that close it are those from `NextIteration` into `Merge` of its outermost frame; without a frame,
    /// all of these; without one of these, what a search of the whole file drops (B §4.1). Without them, what is left of the
    /// component may hold further components, which are the loops in it. O(loops in each other · (ops + inputs)).
    pub(super) fn find(structure: &Structure) -> Result<Self, Fault> {
        let frames = Frames::of(structure);
        let op_count = structure.ops.len();
        let mut search = Search {
            structure,
            place: vec![OUTSIDE; op_count + frames.count()],
            frames,
            dropped: None,
            found: Self { loops: Vec::new(), of_op: vec![None; op_count], closing: HashMap::new() },
        };
        let hubs = (0..search.frames.count()).filter(|&frame| search.frames.loops[frame]);
        let all = (0..op_count).chain(hubs.map(|frame| op_count + frame)).map(|node| node as u32);
        let mut regions: Vec<(Vec<u32>, Option<u32>)> = vec![(all.collect(), None)];
        while let Some((region, around)) = regions.pop() {
            for component in search.components(&region) {
                regions.push(search.open(component, around)?);
            }
        }
        Ok(search.found)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.loops.len()
    }

    /// How many loops an op is in.
    pub(super) fn depth(&self, op: usize) -> u32 {
        self.of_op[op].map_or(0, |inner| self.loops[inner as usize].1)
    }

    /// How many loops two ops are in both.
    pub(super) fn shared_depth(&self, a: usize, b: usize) -> u32 {
        let (mut a, mut b) = (self.of_op[a], self.of_op[b]);
        let depth = |inner: Option<u32>| inner.map_or(0, |inner| self.loops[inner as usize].1);
        let around = |inner: Option<u32>| inner.and_then(|inner| self.loops[inner as usize].0);
        while a != b {
            // The deeper one first; both if they are equally deep.
            let (depth_a, depth_b) = (depth(a), depth(b));
            if depth_a >= depth_b {
                a = around(a);
            }
            if depth_b >= depth_a {
                b = around(b);
            }
        }
        depth(a)
    }

    /// How many loops the loop is in that an input closes, itself included.
    pub(super) fn closes(&self, op: usize, input: usize) -> Option<u32> {
        let closed = self.closing.get(&(op as u32, input as u32))?;
        Some(self.loops[*closed as usize].1)
    }
}

/// Which frames the ops are in. Frame 0 is outside of all.
struct Frames {
    /// The frame around each; that of frame 0 is itself.
    parents: Vec<u32>,
    depths: Vec<u32>,
    /// Whether an edge from `NextIteration` closes a loop in it.
    loops: Vec<bool>,
    /// That in which an op runs: `Enter` and `Exit` run once for all iterations.
    of_op: Vec<u32>,
}

impl Frames {
    /// Walks along the edges: behind an `Enter` is the frame that it names, behind an `Exit` that around its input's. An op whose
    /// inputs disagree is where the walk first meets it.
    fn of(structure: &Structure) -> Self {
        let ops = &structure.ops;
        let mut frames = Self { parents: vec![0], depths: vec![0], loops: vec![false], of_op: vec![0; ops.len()] };
        if ops.iter().all(|op| op.frame.is_none()) {
            return frames;
        }
        let (offsets, consumers) = consumers(ops);
        let mut numbers: HashMap<(u32, &str), u32> = HashMap::new();
        let mut met = vec![false; ops.len()];
        let mut queue = VecDeque::new();
        let sources = (0..ops.len()).filter(|&op| ops[op].inputs.is_empty());
        for root in sources.chain(0..ops.len()) {
            if !std::mem::replace(&mut met[root], true) {
                queue.push_back((root, 0));
            }
            while let Some((op, before)) = queue.pop_front() {
                let mut behind = before;
                if let Some(name) = &ops[op].frame {
                    behind = *numbers.entry((before, name)).or_insert_with(|| frames.add(before));
                } else if is(&ops[op], "Exit") {
                    behind = frames.parents[before as usize];
                }
                frames.of_op[op] = if is(&ops[op], "Exit") { behind } else { before };
                for &consumer in &consumers[offsets[op] as usize..offsets[op + 1] as usize] {
                    if !std::mem::replace(&mut met[consumer as usize], true) {
                        queue.push_back((consumer as usize, behind));
                    }
                }
            }
        }
        for (op, &frame) in ops.iter().zip(&frames.of_op) {
            let closed = op.inputs.iter().any(|input| closes_loop(&ops[input.source as usize], op));
            frames.loops[frame as usize] |= closed && frame != 0;
        }
        frames
    }

    fn add(&mut self, parent: u32) -> u32 {
        self.parents.push(parent);
        self.depths.push(self.depths[parent as usize] + 1);
        self.loops.push(false);
        (self.parents.len() - 1) as u32
    }

    fn count(&self) -> usize {
        self.parents.len()
    }

    /// The frame, or the next one around it, that is a loop.
    fn loop_at(&self, mut frame: u32) -> Option<usize> {
        while frame != 0 && !self.loops[frame as usize] {
            frame = self.parents[frame as usize];
        }
        (frame != 0).then_some(frame as usize)
    }
}

/// The ops that take from each op: where its row begins, and all rows.
fn consumers(ops: &[Op]) -> (Vec<u32>, Vec<u32>) {
    let mut offsets = vec![0u32; ops.len() + 1];
    for input in ops.iter().flat_map(|op| &op.inputs) {
        offsets[input.source as usize + 1] += 1;
    }
    for op in 0..ops.len() {
        offsets[op + 1] += offsets[op];
    }
    let mut cursor = offsets.clone();
    let mut consumers = vec![0; offsets[ops.len()] as usize];
    for (consumer, op) in ops.iter().enumerate() {
        for input in &op.inputs {
            let at = &mut cursor[input.source as usize];
            consumers[*at as usize] = consumer as u32;
            *at += 1;
        }
    }
    (offsets, consumers)
}

/// The place of a node that is not in the region.
const OUTSIDE: u32 = u32::MAX;

/// The state of the search. A node is an op, or a hub, which joins what a frame holds: hubs are numbered behind the ops.
struct Search<'a> {
    structure: &'a Structure,
    frames: Frames,
    /// The place of each node in the region that is looked at.
    place: Vec<u32>,
    /// The inputs that a search of the whole file drops, once they are wanted.
    dropped: Option<HashSet<InputId>>,
    found: Loops,
}

impl Search<'_> {
    /// The components of a region with a cycle, each ascending, by their first nodes.
    fn components(&mut self, region: &[u32]) -> Vec<Vec<u32>> {
        self.enter(region);
        let op_count = self.structure.ops.len();
        let mut graph: DiGraph<(), (), u32> = DiGraph::with_capacity(region.len(), 0);
        for _ in region {
            graph.add_node(());
        }
        let mut own_cycle = vec![false; region.len()];
        for (at, &node) in region.iter().enumerate() {
            let node = node as usize;
            let frame = match node.checked_sub(op_count) {
                None => self.frames.of_op[node],
                Some(frame) => self.frames.parents[frame],
            };
            let hub =
                self.frames.loop_at(frame).map(|frame| self.place[op_count + frame]).filter(|&place| place != OUTSIDE);
            if let Some(hub) = hub {
                graph.add_edge(NodeIndex::new(at), NodeIndex::new(hub as usize), ());
                graph.add_edge(NodeIndex::new(hub as usize), NodeIndex::new(at), ());
            }
            if node >= op_count {
                continue;
            }
            for (_, source) in self.inputs_inside(node) {
                let source = self.place[source] as usize;
                own_cycle[at] |= source == at;
                graph.add_edge(NodeIndex::new(source), NodeIndex::new(at), ());
            }
        }
        let mut components = Vec::new();
        for component in kosaraju_scc(&graph) {
            if component.len() > 1 || component.iter().any(|node| own_cycle[node.index()]) {
                let mut nodes: Vec<u32> = component.into_iter().map(|node| region[node.index()]).collect();
                nodes.sort_unstable();
                components.push(nodes);
            }
        }
        components.sort_unstable();
        self.leave(region);
        components
    }

    /// Makes a loop of a component: what is left of it when it is open, and the loop around that.
    fn open(&mut self, mut component: Vec<u32>, around: Option<u32>) -> Result<(Vec<u32>, Option<u32>), Fault> {
        let op_count = self.structure.ops.len();
        let outermost = component.iter().copied().filter(|&node| node as usize >= op_count);
        let outermost = outermost.min_by_key(|&hub| (self.frames.depths[hub as usize - op_count], hub));
        self.enter(&component);
        let ops = &self.structure.ops;
        let of_frame =
            |op: usize| outermost.is_none_or(|hub| self.frames.of_op[op] as usize + op_count == hub as usize);
        let mut closing: Vec<InputId> = Vec::new();
        for op in component.iter().map(|&node| node as usize).filter(|&op| op < op_count && of_frame(op)) {
            let inputs = self.inputs_inside(op).filter(|&(_, source)| closes_loop(&ops[source], &ops[op]));
            closing.extend(inputs.map(|(input, _)| (op as u32, input as u32)));
        }
        if closing.is_empty() && outermost.is_none() {
            if self.dropped.is_none() {
                self.dropped = Some(dropped(self.structure)?);
            }
            for op in component.iter().map(|&node| node as usize) {
                let inputs = self.inputs_inside(op).map(|(input, _)| (op as u32, input as u32));
                closing.extend(inputs.filter(|input| self.dropped.iter().any(|dropped| dropped.contains(input))));
            }
        }
        self.leave(&component);
        component.retain(|&node| Some(node) != outermost);
        if closing.is_empty() {
            return Ok((component, around));
        }
        let depth = around.map_or(0, |around| self.found.loops[around as usize].1) + 1;
        let made = self.found.loops.len() as u32;
        self.found.loops.push((around, depth));
        for &op in component.iter().filter(|&&node| (node as usize) < op_count) {
            self.found.of_op[op as usize] = Some(made);
        }
        self.found.closing.extend(closing.into_iter().map(|input| (input, made)));
        Ok((component, Some(made)))
    }

    /// The inputs of an op from within the region that close no loop so far, with who makes them.
    fn inputs_inside(&self, op: usize) -> impl Iterator<Item = (usize, usize)> {
        let inputs = self.structure.ops[op].inputs.iter().map(|input| input.source as usize).enumerate();
        inputs.filter(move |&(input, source)| {
            self.place[source] != OUTSIDE && !self.found.closing.contains_key(&(op as u32, input as u32))
        })
    }

    fn enter(&mut self, region: &[u32]) {
        for (at, &node) in region.iter().enumerate() {
            self.place[node as usize] = at as u32;
        }
    }

    fn leave(&mut self, region: &[u32]) {
        region.iter().for_each(|&node| self.place[node as usize] = OUTSIDE);
    }
}

/// The inputs that reading with [`LoopPolicy::Drop`](crate::format::LoopPolicy::Drop) drops.
fn dropped(structure: &Structure) -> Result<HashSet<InputId>, Fault> {
    let mut builder = GraphBuilder::default();
    for op in &structure.ops {
        builder.add_op(OpSpec::default(), &vec![0; op.outputs.len()]);
    }
    let mut inputs = Vec::new();
    for (consumer, op) in structure.ops.iter().enumerate() {
        for (position, input) in op.inputs.iter().enumerate() {
            inputs.push((consumer as u32, position as u32));
            match input.port {
                Some(port) => builder.add_edge(OpId(input.source), port as usize, OpId::new(consumer)),
                None => builder.add_control_edge(OpId(input.source), OpId::new(consumer)),
            }?;
        }
    }
    let closes = builder.closing_edges()?;
    Ok(inputs.into_iter().zip(closes).filter(|&(_, closes)| closes).map(|(input, _)| input).collect())
}
