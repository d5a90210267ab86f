//! Favourite children (Hanen, Munier 1995): the linear program that says which successor an op keeps on its device.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus};
use placebench_datasets::{Instance, OpId, Time};

use super::ready::positions;
use crate::ranks::{Average, AverageTransfer, average_exec_times, downward_ranks, upward_ranks};
use crate::{Params, PlaceError, SpecError, StopToken, above_to};

/// How the favourite child of each op is found.
///
/// On infinitely many devices, let x of an edge be 0 if its ends share a device and 1 if not, where an op shares its device with at
/// most one successor and one predecessor. With x relaxed to [0, 1], minimise w subject to, for each op i with time k and each edge
/// from i to j with average transfer c: start(i) + k(i) + c·x ≤ start(j), start(i) + k(i) ≤ w, and the sums of x over
/// the successors of an op and over its predecessors at least their number − 1. Edges with x below the threshold lead to
/// favourite children.
///
/// # Complexity
/// An interior-point iteration factorises a matrix whose fill on leveled random graphs grows with the cube of their size:
/// measured, 0.04 s for 800 edges, 5.8 s for 4,200. So the program is split into windows of the topological order with at most
/// that number of edges each. What lies before and after a window counts with the longest path through it that pays for every
/// transfer; edges between windows lead to no favourite child. A graph within one window has exactly the program above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FavouriteChildren {
    /// Below this x an edge leads to a favourite child; above 0, at most 0.5.
    pub threshold: f64,
    /// The most edges in one program.
    pub window: usize,
}

impl FavouriteChildren {
    /// The parameters `threshold` and `window`.
    pub(in crate::placers) fn params(params: &mut Params) -> Result<Self, SpecError> {
        let threshold = "below this x of the linear program an edge leads to a favourite child";
        let window = "most edges in one linear program; the time of one grows with the cube";
        Ok(Self {
            threshold: params.number("threshold", 0.1, above_to(0.0, 0.5), threshold)?,
            window: params.number("window", 500, 1.., window)?,
        })
    }
}

/// An edge that costs something to cut; parallel edges are one, with the largest transfer.
#[derive(Clone, Copy, Debug)]
struct Arc {
    from: u32,
    to: u32,
    transfer: Time,
}

impl FavouriteChildren {
    /// The favourite child of each op: no op is that of two.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`]; [`PlaceError::Unsupported`] if the solver fails, which only numbers of very different
    /// size can bring about.
    pub(super) fn find(
        &self,
        instance: &Instance,
        average: Average,
        stop: &StopToken,
    ) -> Result<Vec<Option<OpId>>, PlaceError> {
        let graph = instance.graph();
        let program = Program::new(instance, average);
        let mut child: Vec<Option<OpId>> = vec![None; graph.op_count()];
        let mut has_parent = vec![false; graph.op_count()];
        let mut first = 0;
        while first < program.order.len() {
            stop.check()?;
            let end = program.window_end(first, self.window);
            for (arc, _) in program.favourites(first, end, self.threshold, stop)? {
                let (from, to) = (program.order[arc.from as usize], program.order[arc.to as usize]);
                if child[from.index()].is_none() && !has_parent[to.index()] {
                    child[from.index()] = Some(to);
                    has_parent[to.index()] = true;
                }
            }
            first = end;
        }
        Ok(child)
    }
}

/// What the programs of all windows share.
struct Program<'a> {
    instance: &'a Instance,
    transfer: AverageTransfer,
    exec: Vec<Time>,
    /// Longest paths before and behind each op that pay for every transfer.
    before: Vec<Time>,
    behind: Vec<Time>,
    /// The topological order, in whose positions windows and arcs are given.
    order: Vec<OpId>,
    position: Vec<u32>,
}

/// What bounds the starts of a window's ops, by their place in it.
struct Earliest {
    /// When inputs from before the window are there.
    heads: Vec<Time>,
    /// How long it takes from the end of an op to the end of all that comes after the window.
    tails: Vec<Time>,
    starts: Vec<Time>,
    /// The least makespan.
    finish: Time,
}

/// An op of a window that an arc within the window touches.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// Number of its start among the variables.
    start: Option<usize>,
    /// Arcs within the window that cost something.
    paid_in: u32,
    paid_out: u32,
    /// Whether any arc within the window leads to it, and from it.
    entered: bool,
    left: bool,
}

impl<'a> Program<'a> {
    fn new(instance: &'a Instance, average: Average) -> Self {
        let graph = instance.graph();
        let exec = average_exec_times(instance, average);
        let transfer = AverageTransfer::new(instance, average);
        let order: Vec<OpId> = graph.topological_order().collect();
        Self {
            instance,
            transfer,
            before: downward_ranks(graph, &exec, transfer),
            behind: upward_ranks(graph, &exec, transfer),
            exec,
            position: positions(&order),
            order,
        }
    }

    /// The end of the longest window from `first` on with at most `limit` edges, and at least one op.
    fn window_end(&self, first: usize, limit: usize) -> usize {
        let (mut end, mut edges) = (first, 0);
        while end < self.order.len() {
            let inputs = self.instance.graph().predecessor_ops(self.order[end]);
            edges += inputs.iter().filter(|before| self.position[before.index()] as usize >= first).count();
            if edges > limit && end > first {
                break;
            }
            end += 1;
        }
        end
    }

    /// The arcs within a window, by source and then by target.
    fn arcs(&self, first: usize, end: usize) -> Vec<Arc> {
        let graph = self.instance.graph();
        let mut arcs: Vec<Arc> = Vec::new();
        for from in first..end {
            let start = arcs.len();
            for edge in graph.successors(self.order[from]) {
                let to = self.position[edge.op.index()];
                if (to as usize) < end {
                    let transfer = self.transfer.time(graph.edge_bytes(edge));
                    arcs.push(Arc { from: from as u32, to, transfer });
                }
            }
            arcs[start..].sort_unstable_by(|a, b| a.to.cmp(&b.to).then(b.transfer.total_cmp(&a.transfer)));
        }
        arcs.dedup_by_key(|arc| (arc.from, arc.to));
        arcs
    }

    /// The arcs to favourite children in a window with their x, the least first.
    fn favourites(
        &self,
        first: usize,
        end: usize,
        threshold: f64,
        stop: &StopToken,
    ) -> Result<Vec<(Arc, f64)>, PlaceError> {
        let arcs = self.arcs(first, end);
        let mut members = vec![Member::default(); end - first];
        let mut starts = 0;
        for arc in &arcs {
            let (from, to) = (arc.from as usize - first, arc.to as usize - first);
            for member in [from, to] {
                members[member].start.get_or_insert_with(|| {
                    starts += 1;
                    starts - 1
                });
            }
            (members[from].left, members[to].entered) = (true, true);
            if arc.transfer > 0.0 {
                members[from].paid_out += 1;
                members[to].paid_in += 1;
            }
        }
        // The only successor of an op that is its only predecessor shares the device at no one's expense.
        let (free, forced): (Vec<Arc>, Vec<Arc>) = arcs.iter().filter(|arc| arc.transfer > 0.0).partition(|arc| {
            members[arc.from as usize - first].paid_out > 1 || members[arc.to as usize - first].paid_in > 1
        });
        let mut favourites: Vec<(Arc, f64)> = forced.into_iter().map(|arc| (arc, 0.0)).collect();
        if !free.is_empty() {
            let rows = self.rows(first, end, &arcs, &free, &members, starts);
            let transfers: Time = free.iter().map(|arc| arc.transfer).sum();
            let x = rows.minimise(free.len() + starts, free.len(), transfers / free.len() as Time, stop)?;
            favourites.extend(free.into_iter().zip(x).filter(|&(_, x)| x < threshold));
            favourites.sort_by(|a, b| a.1.total_cmp(&b.1));
        }
        Ok(favourites)
    }

    /// When the ops of a window start at the earliest if transfers within it take no time.
    fn earliest(&self, first: usize, end: usize, arcs: &[Arc]) -> Earliest {
        let graph = self.instance.graph();
        let outside = |other: OpId| !(first..end).contains(&(self.position[other.index()] as usize));
        let head = |op: OpId| {
            let inputs = graph.predecessors(op).filter(|edge| outside(edge.op)).map(|edge| {
                self.before[edge.op.index()] + self.exec[edge.op.index()] + self.transfer.time(graph.edge_bytes(edge))
            });
            inputs.fold(0.0, f64::max)
        };
        let tail = |op: OpId| {
            let outputs = graph.successors(op).filter(|edge| outside(edge.op));
            let times = outputs.map(|edge| self.transfer.time(graph.edge_bytes(edge)) + self.behind[edge.op.index()]);
            times.fold(0.0, f64::max)
        };
        let ops = &self.order[first..end];
        let heads: Vec<Time> = ops.iter().map(|&op| head(op)).collect();
        let tails: Vec<Time> = ops.iter().map(|&op| tail(op)).collect();
        let (mut starts, mut finish) = (heads.clone(), 0.0f64);
        // Arcs ascend by their source, and sources come before targets.
        let mut arcs = arcs.iter().peekable();
        for (at, &op) in ops.iter().enumerate() {
            let ends = starts[at] + self.exec[op.index()];
            while let Some(arc) = arcs.next_if(|arc| arc.from as usize == first + at) {
                let to = arc.to as usize - first;
                starts[to] = starts[to].max(ends);
            }
            finish = finish.max(ends + tails[at]);
        }
        Earliest { heads, tails, starts, finish }
    }

    /// The program of a window. The x of the free arcs come first, then the starts, then the makespan.
    fn rows(&self, first: usize, end: usize, arcs: &[Arc], free: &[Arc], members: &[Member], starts: usize) -> Rows {
        let mut rows = Rows::default();
        let start = |at: usize| members[at - first].start.map(|start| free.len() + start);
        let transfers: Time = free.iter().map(|arc| arc.transfer).sum();
        let Earliest { heads, tails, starts: earliest, finish } = self.earliest(first, end, arcs);
        // Starts count from the earliest ones without any transfer, which only transfers delay: by at most all of them together,
        // so that no greater slack matters. Then however long ops are, all numbers are of the size of transfers.
        let slack = |time: Time| time.min(transfers);
        let makespan = free.len() + starts;
        let mut next_free = 0;
        let (mut out_sums, mut in_sums) = (vec![Vec::new(); end - first], vec![Vec::new(); end - first]);
        for arc in arcs {
            let (from, to) = (arc.from as usize, arc.to as usize);
            let (Some(i), Some(j)) = (start(from), start(to)) else { continue };
            let mut terms = vec![(i, 1.0), (j, -1.0)];
            let is_free = free.get(next_free).is_some_and(|next| (next.from, next.to) == (arc.from, arc.to));
            if is_free {
                terms.push((next_free, arc.transfer));
                out_sums[from - first].push((next_free, -1.0));
                in_sums[to - first].push((next_free, -1.0));
                next_free += 1;
            }
            let end = earliest[from - first] + self.exec[self.order[from].index()];
            rows.push(&terms, slack(earliest[to - first] - end));
        }
        for sum in out_sums.iter().chain(&in_sums).filter(|sum| sum.len() > 1) {
            rows.push(sum, 1.0 - sum.len() as f64);
        }
        for x in 0..free.len() {
            rows.push(&[(x, -1.0)], 0.0);
            rows.push(&[(x, 1.0)], 1.0);
        }
        for at in first..end {
            let Some(variable) = start(at) else { continue };
            let (at, exec) = (at - first, self.exec[self.order[at].index()]);
            if !members[at].entered || heads[at] > 0.0 {
                rows.push(&[(variable, -1.0)], slack(earliest[at] - heads[at]));
            }
            if !members[at].left || tails[at] > 0.0 {
                let end = earliest[at] + exec + tails[at];
                rows.push(&[(variable, 1.0), (makespan, -1.0)], slack(finish - end));
            }
        }
        rows
    }
}

/// Inequalities `terms · variables ≤ bound`.
#[derive(Default)]
struct Rows {
    row: Vec<usize>,
    column: Vec<usize>,
    factor: Vec<f64>,
    bound: Vec<f64>,
}

impl Rows {
    fn push(&mut self, terms: &[(usize, f64)], bound: f64) {
        for &(column, factor) in terms {
            self.row.push(self.bound.len());
            self.column.push(column);
            self.factor.push(factor);
        }
        self.bound.push(bound);
    }

    /// The first `wanted` variables where the last variable, `objective`, is least. Times are divided by `unit`.
    fn minimise(
        mut self,
        objective: usize,
        wanted: usize,
        unit: Time,
        stop: &StopToken,
    ) -> Result<Vec<f64>, PlaceError> {
        // Rows of times have a start in them; rows of x alone have no unit.
        let mut has_time = vec![false; self.bound.len()];
        for (&row, &column) in self.row.iter().zip(&self.column) {
            has_time[row] |= column >= wanted;
        }
        for ((&row, &column), factor) in self.row.iter().zip(&self.column).zip(&mut self.factor) {
            if has_time[row] && column < wanted {
                *factor /= unit;
            }
        }
        for (bound, _) in self.bound.iter_mut().zip(&has_time).filter(|(_, has_time)| **has_time) {
            *bound /= unit;
        }
        let (count, variables) = (self.bound.len(), objective + 1);
        let matrix = CscMatrix::new_from_triplets(count, variables, self.row, self.column, self.factor);
        let mut costs = vec![0.0; variables];
        costs[objective] = 1.0;
        let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
        let failed = |reason: String| {
            PlaceError::Unsupported(format!("the linear program for favourite children has no solution: {reason}"))
        };
        let quadratic = CscMatrix::zeros((variables, variables));
        let mut solver =
            DefaultSolver::new(&quadratic, &costs, &matrix, &self.bound, &[NonnegativeConeT(count)], settings)
                .map_err(|error| failed(error.to_string()))?;
        let stop = stop.clone();
        solver.set_termination_callback(move |_| stop.is_stopped());
        solver.solve();
        match solver.solution.status {
            SolverStatus::Solved | SolverStatus::AlmostSolved => Ok(solver.solution.x[..wanted].to_vec()),
            SolverStatus::CallbackTerminated => Err(PlaceError::Stopped),
            status => Err(failed(format!("{status:?}"))),
        }
    }
}
