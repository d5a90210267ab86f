//! Pipelines: contiguous parts of a model on devices, so that the busiest is busy as short as can be.

mod ideals;
mod loads;
mod stages;

use placebench_datasets::{DeviceId, Instance, Placement, Time};

use self::ideals::Ideals;
use self::loads::{Loads, Parts, Transfers};
use self::stages::Stages;
use super::{Repaired, repair};
use crate::fairness::{Assumption, Exception, Law};
use crate::{Algorithm, Decision, Named, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Splits a model into contiguous parts, at most one for each device, such that the part that keeps its device busy longest
/// does so as short as possible: the optimum of contiguous splits.
///
/// Samples then follow each other through the parts, and the largest load is the time between two of them. A part is
/// contiguous if it is the difference of two ideals (sets of vertices with all of their predecessors) of the graph of
/// forward ops. A dynamic program goes over all ideals: the least load with which an ideal can be split over some devices is the
/// least, over its sub-ideals and the devices that take the rest, of the larger of the two loads. Backward ops go with their
/// forward ops: which those are the names or types of ops say or, where they do not, what leads to nothing but updates of weights,
/// ops colocated with another op that has resident memory.
///
/// # Reference
/// J. Tarnawski, A. Phanishayee, N. R. Devanur, D. Mahajan, F. Nina Paravecino, *Efficient Algorithms for Device Placement of
/// DNN Graph Operators*, NeurIPS 2020, §5.1 and §5.3.
///
/// # Complexity
/// O(pairs of ideals · (readers of a vertex's tensors + sorts of devices · products of their numbers)). The number of ideals grows exponentially with the
/// width of the graph. If there are more than `ideals`, or as many as make 2·10⁸ values with the combinations, the vertices are taken in a topological order as a line instead, as
/// PipeDream does: the best split of that line is found.
///
/// # Ties
/// Of splits equally good up to rounding, that whose last part is on the first sort of devices, and is the smallest.
///
/// # Deviations
/// - Loads have times by class of devices, and one rate for each sort: that of its fastest link. `transfers` says how
///   transfers count. In the paper they take the time of accelerators, and none of CPUs.
/// - Where kinds or memory leave no contiguous split, the best split without them is repaired, as that of a placer that knows no
///   constraints.
/// - A line of more than 512 vertices is cut into 512 pieces of about equal work; into fewer, where devices are of many sorts.
/// - Under the memory rule `peak` a part has to hold its ops' resident memory; what activations take shows in the run.
/// - Devices that differ are tried in all numbers as long as these have at most 1,024 combinations, the fastest first; others
///   stay empty.
#[derive(Clone, Copy, Debug)]
pub struct PipelineDp {
    most_ideals: usize,
    transfers: Transfers,
}

/// [`PipelineDp`] on a line from the start, as PipeDream takes models: its layers in their order.
///
/// # Reference
/// D. Narayanan, A. Harlap, A. Phanishayee, V. Seshadri, N. R. Devanur, G. R. Ganger, P. B. Gibbons, M. Zaharia, *PipeDream:
/// Generalized Pipeline Parallelism for DNN Training*, SOSP 2019, §3.1.
///
/// # Complexity
/// O(vertices² · (sorts of devices · products of their numbers)), with at most 512 vertices, beside O(ops + edges).
///
/// # Ties
/// As of [`PipelineDp`].
///
/// # Deviations
/// No stage is replicated: a placement has one device for each op. The rest is as of [`PipelineDp`].
#[derive(Clone, Copy, Debug)]
pub struct Pipedream {
    transfers: Transfers,
}

/// What authors of pipelines take for granted.
const ASSUMES: &[Assumption] = &[Assumption::EqualLinks];

/// Laws that orders break.
const EXCEPTIONS: &[Exception] = &[Exception::new(
    Law::RelabelledOps,
    "of equally good splits one is taken, and a line is a topological order of many: both go by numbers",
)];

impl Named for Transfers {
    const NAMES: &'static [(&'static str, Self)] =
        &[("device", Self::Device), ("ports", Self::Ports), ("free", Self::Free)];
}

impl Transfers {
    fn param(params: &mut Params) -> Result<Self, SpecError> {
        let doc = "how transfers count: device (as time of accelerators, as in the paper), ports (beside the work, in and \
                   out, the longest of the three) or free";
        params.word("transfers", Self::Device, doc)
    }
}

impl Algorithm for PipelineDp {
    const NAME: &str = "pipeline_dp";
    const SUMMARY: &str = "the contiguous split of least period, by a dynamic program over ideals";
    const SOURCE: &str = "Tarnawski et al. 2020";
    const ASSUMES: &[Assumption] = ASSUMES;
    const EXCEPTIONS: &[Exception] = EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let ideals = "most ideals that are looked at; a graph with more is taken as a line";
        Ok(Self {
            most_ideals: params.number("ideals", 10_000, 1..=1_000_000, ideals)?,
            transfers: Transfers::param(params)?,
        })
    }
}

impl Algorithm for Pipedream {
    const NAME: &str = "pipedream";
    const SUMMARY: &str = "the contiguous split of least period of a line of layers";
    const SOURCE: &str = "Narayanan et al. 2019";
    const ASSUMES: &[Assumption] = ASSUMES;
    const EXCEPTIONS: &[Exception] = EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { transfers: Transfers::param(params)? })
    }
}

impl Placer for PipelineDp {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let stages = Stages::new(instance);
        let most = self.most_ideals.min(most_ideals(instance, &stages, self.transfers));
        let ideals = Ideals::all(&stages, most, &context.stop)?;
        split(instance, stages, ideals, self.transfers, context)
    }
}

impl Placer for Pipedream {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        split(instance, Stages::new(instance), None, self.transfers, context)
    }
}

/// Most values that the dynamic program looks at: some seconds.
const MOST_VALUES: f64 = 2e8;

/// How many ideals there may be: for each pair of them, the program looks at each combination of numbers of devices.
fn most_ideals(instance: &Instance, stages: &Stages, transfers: Transfers) -> usize {
    let loads = Loads::new(instance, stages, transfers, true);
    (2.0 * MOST_VALUES / (loads.choices() * loads.sorts()) as f64).sqrt() as usize
}

/// The best split over these ideals, or over the prefixes of a line if there are none.
fn split(
    instance: &Instance,
    stages: Stages,
    ideals: Option<Ideals>,
    transfers: Transfers,
    context: &PlaceContext,
) -> Result<Decision, PlaceError> {
    let (stages, ideals) = match ideals {
        Some(ideals) => (stages, ideals),
        None => {
            let most = most_ideals(instance, &stages, transfers);
            let line = stages.in_line(instance, most);
            let ideals = Ideals::of_line(&line);
            (line, ideals)
        }
    };
    let units = instance.units();
    let split = |constrained: bool| -> Result<Option<Vec<DeviceId>>, PlaceError> {
        let loads = Loads::new(instance, &stages, transfers, constrained);
        let Some(program) = Program::solve(&loads, &ideals, context)? else { return Ok(None) };
        let mut devices = vec![DeviceId(0); units.count()];
        for (part, device) in program.parts(&loads, &ideals) {
            for vertex in ideals.members(&part) {
                stages.units(vertex).iter().for_each(|unit| devices[unit.index()] = device);
            }
        }
        Ok(Some(devices))
    };
    if let Some(devices) = split(true)? {
        let device = |op| devices[units.unit_of(op).index()];
        return Ok(Decision::placement(Placement::new(instance.graph().op_ids().map(device).collect())));
    }
    // Some part would have ops that no device may run together, or need too much memory.
    let Some(wanted) = split(false)? else { return Err(PlaceError::Stopped) };
    let Repaired { placement, moved } = repair(instance, &wanted, context)?;
    Ok(Decision { repaired: Some(moved), ..Decision::placement(placement) })
}

/// The least load with which each ideal can be split over each choice of devices.
struct Program {
    /// Row-major by choice of devices.
    best: Vec<Time>,
    /// The ideal before the last part, and the sort of its device; none for the empty ideal.
    before: Vec<Option<(u32, u32)>>,
    ideals: usize,
}

impl Program {
    /// `None` if no split can be.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`].
    fn solve(loads: &Loads<'_>, ideals: &Ideals, context: &PlaceContext) -> Result<Option<Self>, PlaceError> {
        let (choices, count) = (loads.choices(), ideals.count());
        let mut program =
            Self { best: vec![Time::INFINITY; choices * count], before: vec![None; choices * count], ideals: count };
        (0..choices).for_each(|choice| program.best[choice * count] = 0.0);
        let (mut seen, mut steps, mut parts) = (Vec::new(), Vec::new(), Parts::default());
        for ideal in 1..count {
            context.stop.check()?;
            ideals.below(ideal, &mut seen, &mut steps);
            loads.of_parts(ideals, ideal, &steps, &mut parts);
            for (step, by_sort) in steps.iter().zip(parts.loads.chunks_exact(loads.sorts())) {
                for choice in 0..choices {
                    let at = choice * count + ideal;
                    for (sort, &load) in by_sort.iter().enumerate() {
                        let Some(rest) = loads.without(choice, sort) else { continue };
                        let found = load.max(program.best[rest * count + step.ideal as usize]);
                        if crate::total::compare(found, program.best[at]).is_lt() {
                            program.best[at] = found;
                            program.before[at] = Some((step.ideal, sort as u32));
                        }
                    }
                }
            }
        }
        let all = choices * count - 1;
        Ok(program.best[all].is_finite().then_some(program))
    }

    /// The parts of the best split and their devices: along the pipeline, devices of a sort come by their ids.
    fn parts(&self, loads: &Loads<'_>, ideals: &Ideals) -> Vec<(Vec<u64>, DeviceId)> {
        let (mut choice, mut ideal) = (loads.choices() - 1, self.ideals - 1);
        let mut sorts = Vec::new();
        while let Some((smaller, sort)) = self.before[choice * self.ideals + ideal] {
            sorts.push((ideals.difference(ideal, smaller as usize), sort as usize));
            choice = loads.without(choice, sort as usize).unwrap_or(0);
            ideal = smaller as usize;
        }
        sorts.reverse();
        let mut taken = vec![0; loads.sorts()];
        let device = |(part, sort): (Vec<u64>, usize)| {
            taken[sort] += 1;
            (part, loads.devices(sort)[taken[sort] - 1])
        };
        sorts.into_iter().map(device).collect()
    }
}
