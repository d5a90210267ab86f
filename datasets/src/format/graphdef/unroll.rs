//! Unrolls loops: every op of a loop becomes as many ops as there are iterations.

use std::num::NonZeroU32;

use placebench_base::process::check_memory;

use super::fault::Fault;
use super::loops::{Loops, is};
use super::report::Unrolling;
use super::structure::{Input, Op, PORT_BYTES, Structure};
use crate::GraphError;

/// The ops of a file with its loops unrolled.
///
/// Runs of an op in a step are numbered from 0, those of the inner loop fastest. The copies of an op follow each other.
#[derive(Debug)]
pub(super) struct Unrolled {
    pub(super) ops: Vec<Op>,
    /// The op of the file that each is a copy of.
    pub(super) origins: Vec<u32>,
    /// Copies that must share a device, whatever the classes say.
    pub(super) together: Vec<(u32, u32)>,
    pub(super) report: Unrolling,
}

/// Unrolls all loops of a file; `None` if it has none.
///
/// O(loops in each other · (ops + inputs) + ops and inputs afterwards).
pub(super) fn unrolled(structure: &Structure, times: NonZeroU32) -> Result<Option<Unrolled>, Fault> {
    let loops = Loops::find(structure)?;
    if loops.count() == 0 {
        return Ok(None);
    }
    let copier = Copier { structure, loops: &loops, times: u64::from(times.get()), first: Vec::new() };
    copier.check_size()?;
    Ok(Some(copier.copied()))
}

struct Copier<'a> {
    structure: &'a Structure,
    loops: &'a Loops,
    times: u64,
    /// The first copy of each op.
    first: Vec<u32>,
}

/// Where the copies of an op take an input from.
struct Source {
    input: Input,
    /// The first copy of its maker.
    first: u32,
    /// How many loops the copies of both ends have in common.
    shared: u32,
    /// How often the consumer runs in an iteration of the innermost of these, and how often the maker does.
    runs: [u64; 2],
    /// Whether it comes from the iteration before.
    closes: bool,
}

impl Copier<'_> {
    /// How often something in so many loops runs.
    fn runs(&self, depth: u32) -> u64 {
        self.times.saturating_pow(depth)
    }

    /// Asks for memory, and for numbers.
    fn check_size(&self) -> Result<(), Fault> {
        // Beside the op itself, its columns in the graph; an input here, and an edge in both directions.
        const OP_BYTES: u64 = size_of::<Op>() as u64 + 80;
        const INPUT_BYTES: u64 = size_of::<Input>() as u64 + 28;
        let [mut ops, mut inputs, mut ports, mut text] = [0u64; 4];
        for (position, op) in self.structure.ops.iter().enumerate() {
            let runs = self.runs(self.loops.depth(position));
            let texts = [Some(&op.name), Some(&op.op_type), op.costs.layer.as_ref(), op.attributes.as_ref()];
            let characters = texts.into_iter().flatten().map(|text| text.len() as u64).sum::<u64>();
            ops = ops.saturating_add(runs);
            inputs = inputs.saturating_add(runs.saturating_mul(op.inputs.len() as u64));
            ports = ports.saturating_add(runs.saturating_mul(op.outputs.len() as u64));
            text = text.saturating_add(runs.saturating_mul(characters + "/iteration_99999".len() as u64));
        }
        check_memory(&[(ops, OP_BYTES), (inputs, INPUT_BYTES), (ports, PORT_BYTES), (text, 2)], || {
            format!("a graph of {ops} ops, with loops unrolled {} times,", self.times)
        })?;
        // Outputs are numbered as edges are.
        let edges = inputs.max(ports);
        match ops.max(edges) >= u64::from(u32::MAX) {
            true => Err(Fault::Graph(GraphError::TooLarge { ops: ops as usize, edges: edges as usize })),
            false => Ok(()),
        }
    }

    fn copied(mut self) -> Unrolled {
        let depths = || (0..self.structure.ops.len()).map(|op| self.loops.depth(op));
        let mut count = 0;
        let mut first = Vec::with_capacity(self.structure.ops.len());
        for depth in depths() {
            first.push(count as u32);
            count += self.runs(depth);
        }
        let in_loops = depths().filter(|&depth| depth > 0);
        let report = Unrolling {
            loops: self.loops.count(),
            times: self.times as u32,
            ops: in_loops.clone().count(),
            copies: in_loops.map(|depth| self.runs(depth) as usize).sum(),
        };
        self.first = first;
        let count = count as usize;
        let (mut ops, mut origins) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for op in 0..self.structure.ops.len() {
            self.copy(op, &mut ops);
            origins.resize(ops.len(), op as u32);
        }
        Unrolled { ops, origins, together: self.together(), report }
    }

    /// Adds all copies of an op.
    fn copy(&self, op: usize, copies: &mut Vec<Op>) {
        let (original, depth) = (&self.structure.ops[op], self.loops.depth(op));
        let sources: Vec<Source> = (0..original.inputs.len()).map(|input| self.source(op, input)).collect();
        // The loops that begin here, each with how often the op runs in an iteration. A `Merge` takes one of its inputs: what
        // enters the loop, and then what comes back.
        let begins = sources.iter().filter(|source| source.closes && is(original, "Merge"));
        let begins: Vec<(u32, u64)> = begins.map(|source| (source.shared, source.runs[0])).collect();
        let runs = self.runs(depth);
        for run in 0..runs {
            let taken = sources.iter().filter(|source| {
                !begins.iter().any(|&(begun, inner)| source.shared < begun && !(run / inner).is_multiple_of(self.times))
            });
            let mut copy = Op {
                name: self.name(&original.name, run),
                inputs: taken.map(|source| self.input(source, run)).collect(),
                colocated: original.colocated.iter().map(|&other| self.colocated(op, run, other)).collect(),
                ..original.clone()
            };
            if run > 0 {
                copy.costs.memory_bytes = 0;
            }
            copy.costs.divide(runs);
            copies.push(copy);
        }
    }

    /// `a`, `a/iteration_1`, … unless the file has an op of that name.
    fn name(&self, name: &str, run: u64) -> String {
        let mut name = match run {
            0 => return name.to_owned(),
            _ => format!("{name}/iteration_{run}"),
        };
        while self.structure.find(&name).is_some() {
            name.push('_');
        }
        name
    }

    fn source(&self, op: usize, position: usize) -> Source {
        let input = self.structure.ops[op].inputs[position];
        let source = input.source as usize;
        let closed = self.loops.closes(op, position);
        let shared = closed.unwrap_or_else(|| self.loops.shared_depth(op, source));
        let runs = [op, source].map(|end| self.runs(self.loops.depth(end) - shared));
        Source { input, first: self.first[source], shared, runs, closes: closed.is_some() }
    }

    /// The input of a copy: of the same iteration, or of the one before; from the last iteration of loops that it leaves.
    fn input(&self, source: &Source, run: u64) -> Input {
        let [consumer_runs, maker_runs] = source.runs;
        let iteration = run / consumer_runs;
        let is_first = source.closes && iteration.is_multiple_of(self.times);
        let from = match (source.closes, is_first) {
            (false, _) => iteration,
            (true, false) => iteration - 1,
            // As where loops are only opened: the end of the last iteration is what is dropped.
            (true, true) => iteration + (self.times - 1),
        };
        let maker = u64::from(source.first) + from * maker_runs + (maker_runs - 1);
        Input { source: maker as u32, dropped: is_first, ..source.input }
    }

    /// The copy of another op that is colocated with a copy: of the same iteration, and the first of further loops.
    fn colocated(&self, op: usize, run: u64, other: u32) -> u32 {
        let shared = self.loops.shared_depth(op, other as usize);
        let [runs, others] = [op, other as usize].map(|end| self.runs(self.loops.depth(end) - shared));
        (u64::from(self.first[other as usize]) + run / runs * others) as u32
    }

    /// Pairs of copies of one op that share a device: all copies of what occupies memory from step to step; and of an op with which
    /// one outside of its loop is colocated.
    fn together(&self) -> Vec<(u32, u32)> {
        let ops = &self.structure.ops;
        let mut shared: Vec<u32> = (0..ops.len()).map(|op| self.loops.depth(op)).collect();
        for (op, original) in ops.iter().enumerate() {
            if original.costs.memory_bytes > 0 {
                shared[op] = 0;
            }
            for &other in &original.colocated {
                let of_both = self.loops.shared_depth(op, other as usize);
                shared[other as usize] = shared[other as usize].min(of_both);
            }
        }
        let mut pairs = Vec::new();
        for (op, &shared) in shared.iter().enumerate() {
            let depth = self.loops.depth(op);
            let (runs, inner) = (self.runs(depth), self.runs(depth - shared));
            let copies = (0..runs).filter(|run| !run.is_multiple_of(inner));
            pairs
                .extend(copies.map(|run| (self.first[op] + (run / inner * inner) as u32, self.first[op] + run as u32)));
        }
        pairs
    }
}
