//! A partitioner as a placer: blocks of the undirected view, mapped to devices, repaired.

mod mapping;
mod shares;

use std::sync::Arc;

use placebench_datasets::{DeviceId, EdgeWeight, Instance, VertexWeight, Vertices, View, ViewOptions};

use self::mapping::{Blocks, map_blocks};
use self::shares::targets;
use super::repair;
use crate::fairness::{Assumption, Exception, Law};
use crate::partition::{NetWeight, PartitionError, PartitionRequest, Partitioner};
use crate::period::Goal;
use crate::{Decision, Params, PlaceContext, PlaceError, Placer, RegistryEntry, SpecError};

/// Places by partitioning: one block a device, as heavy as what the device can do in the same time as the others.
///
/// The view has the assignment units as vertices, in topological order. Every partitioner of
/// [`PARTITIONERS`](crate::partition::registry::PARTITIONERS) becomes a placer like that, in three steps:
/// 1. Shares: see `shares.rs`. Devices that no unit may run on, or that are busy enough with what only they may run, get no
///    block. A partitioner does not know kinds, so that any unit may come into any block.
/// 2. Mapping: blocks made for devices with equal shares change places, so that, in this order, the least weight is on
///    devices of a kind that may not run it, the fewest bytes exceed memories, and transfers between blocks take least
///    time. All orders are tried up to 8!; beyond, swaps improve the first order until none helps; more than 1024 blocks
///    stay as they are.
/// 3. Repair: [`repair()`] moves units that may not be where they are; [`Decision::repaired`] says how many.
///
/// # Complexity
/// That of the partitioner; O(ops · kinds + edges · log degree + units · log units) for the view and the repair; up to
/// 2 · 10⁸ steps for the mapping.
///
/// # Ties
/// Devices come by falling share, then by id. Equal orders: the first. The repair: see [`repair()`].
///
/// # Deviations
/// What the partitioner's authors say about placing ops, if anything, is in the partitioner's own documentation.
pub struct Partitioned {
    /// Makes the blocks.
    pub partitioner: Box<dyn Partitioner>,
    /// Tolerated imbalance, at least 0; `None` for [`EPSILON`](Self::EPSILON), or for [`EPSILON_OF_PERIOD`](Self::EPSILON_OF_PERIOD)
    /// where the period is minimised.
    pub epsilon: Option<f64>,
    /// What a unit weighs.
    pub vertex_weight: VertexWeight,
    /// What an edge between units weighs.
    pub edge_weight: EdgeWeight,
}

impl Partitioned {
    /// By how much a block may exceed its share by default. A makespan is no sum of loads: a looser balance lets a partitioner
    /// keep together what would wait for transfers. Chosen with the suite `docs/suites/partition-defaults.toml`, on graphs
    /// that the suites `default`, `mixed` and `algorithms` do not have.
    pub const EPSILON: f64 = 0.3;
    /// The same where the period is minimised, which is the largest load.
    pub const EPSILON_OF_PERIOD: f64 = 0.03;
    /// What the authors of all partitioners take for granted.
    pub const ASSUMES: &'static [Assumption] =
        &[Assumption::EqualProcessors, Assumption::EqualLinks, Assumption::NoKinds, Assumption::NoMemory];
    /// The laws that partitioners do not keep as placers.
    pub const EXCEPTIONS: &'static [Exception] = &[
        Exception::new(Law::RelabelledOps, "partitioners take vertices by number or in an order drawn from the seed"),
        Exception::new(Law::IsolatedOp, "one more vertex changes the order drawn from the seed"),
    ];

    /// Declares and reads the parameters of a partitioner and those that all of them have as placers.
    ///
    /// # Errors
    /// If a value is not what its parameter takes.
    pub fn new(partitioner: &RegistryEntry<dyn Partitioner>, params: &mut Params) -> Result<Self, SpecError> {
        let parse = |text: &str| match text {
            "auto" => Some(None),
            _ => text.parse().ok().filter(|epsilon: &f64| epsilon.is_finite() && *epsilon >= 0.0).map(Some),
        };
        let epsilon =
            "by how much a block may exceed its device's share; auto: 0.3, or 0.03 where the period is minimised";
        let vertex_weight = "what a unit weighs: work, count (of ops) or memory";
        let edge_weight = "what an edge weighs: bytes, time or count";
        Ok(Self {
            partitioner: (partitioner.new)(params)?,
            epsilon: params.value("epsilon", "auto", "auto or a number of at least 0", epsilon, parse)?,
            vertex_weight: params.word("vertex_weight", VertexWeight::Work, vertex_weight)?,
            edge_weight: params.word("edge_weight", EdgeWeight::Time, edge_weight)?,
        })
    }

    fn tolerance(&self, context: &PlaceContext) -> f64 {
        let goal = context.objective.as_ref().map(|objective| objective.goal()).unwrap_or_default();
        self.epsilon.unwrap_or(match goal {
            Goal::Makespan => Self::EPSILON,
            Goal::Period => Self::EPSILON_OF_PERIOD,
        })
    }
}

impl Placer for Partitioned {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        context.stop.check()?;
        let units = instance.units();
        let Self { vertex_weight, edge_weight, .. } = *self;
        let view = View::of_instance(instance, ViewOptions { vertices: Vertices::Units, vertex_weight, edge_weight })
            .map_err(|error| PlaceError::Unsupported(error.to_string()))?;
        let vertices: Vec<u32> = units.ids().map(|unit| view.vertex_of(units.members(unit)[0])).collect();
        let weight_of = |unit: usize| view.graph().vertex_weight(vertices[unit]);
        let targets = targets(instance, |unit| weight_of(unit.index()));
        let blocks = targets.devices.len();
        let wanted: Vec<DeviceId> = if blocks < 2 {
            targets.devices.iter().copied().cycle().take(units.count()).collect()
        } else {
            let nets = self.partitioner.counts_nets().map(|weight| match weight {
                NetWeight::Edge => view.nets(instance.graph()).map(Arc::new),
                NetWeight::Bytes => view.hypergraph(instance.graph()).map(Arc::new),
            });
            let request = PartitionRequest {
                shares: Some(targets.shares.clone()),
                nets: nets.transpose().map_err(|error| PlaceError::Unsupported(error.to_string()))?,
                stop: context.stop.clone(),
                ..PartitionRequest::new(blocks as u32, self.tolerance(context), context.seed)
            };
            let partition = self.partitioner.partition(view.graph(), &request).map_err(|error| match error {
                PartitionError::Stopped => PlaceError::Stopped,
                PartitionError::Unsupported(reason) => PlaceError::Unsupported(reason),
            })?;
            let block_of: Vec<u32> = vertices.iter().map(|&vertex| partition.block_of[vertex as usize]).collect();
            let devices =
                map_blocks(instance, &Blocks::new(instance, blocks, &block_of, weight_of), &targets, context)?;
            block_of.iter().map(|&block| devices[block as usize]).collect()
        };
        let repaired = repair(instance, &wanted, context)?;
        Ok(Decision { repaired: Some(repaired.moved), ..Decision::placement(repaired.placement) })
    }

    fn minimises(&self, asked: Goal) -> Option<Goal> {
        self.epsilon.is_none().then_some(asked)
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Kind, KindSet, OpSpec};

    use super::*;
    use crate::partition::{Hashing, Partition};
    use crate::placers::example;
    use crate::{Judgement, Objective, StopToken, registry};
    use placebench_datasets::UndirectedGraph;

    /// Equal ranges of the natural order, by shares.
    struct Ranges;

    impl Partitioner for Ranges {
        fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
            let shares = request.shares.clone().unwrap();
            let total = graph.total_vertex_weight() as f64;
            let (mut block, mut filled) = (0, 0.0);
            let block_of = graph.vertices().map(|vertex| {
                if filled >= shares[block] * total - 1e-6 && block + 1 < shares.len() {
                    (block, filled) = (block + 1, 0.0);
                }
                filled += graph.vertex_weight(vertex) as f64;
                block as u32
            });
            Ok(Partition { blocks: request.blocks, block_of: block_of.collect() })
        }
    }

    fn placer(partitioner: impl Partitioner + 'static) -> Partitioned {
        let (vertex_weight, edge_weight) = (VertexWeight::Work, EdgeWeight::Bytes);
        Partitioned { partitioner: Box::new(partitioner), epsilon: Some(0.03), vertex_weight, edge_weight }
    }

    #[test]
    fn blocks_follow_speeds_and_the_topological_order() {
        // A chain of six equal ops with falling ids; d1 is twice as fast as d0.
        let graph = example::graph(&[2.0; 6], &[(5, 4, 1), (4, 3, 1), (3, 2, 1), (2, 1, 1), (1, 0, 1)], &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 2.0], 1.0)).unwrap();
        let decision = placer(Ranges).place(&instance, &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [0, 0, 1, 1, 1, 1]);
        assert_eq!(decision.repaired, Some(0));
    }

    #[test]
    fn what_a_block_cannot_run_is_repaired_and_counted() {
        // Six equal ops in a chain, the second for the CPU only. Mean times: 2 for that, 1.5 for the others, 9.5 in all. All
        // end at 4: 6 of the weight for the GPU, so the first four ops, and 3.5 for the CPU.
        let cpu = OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(2.0) };
        let mut specs = vec![OpSpec::cost(2.0); 6];
        specs[1] = cpu;
        let edges: Vec<(u32, u32, u64)> = (0..5).map(|op| (op, op + 1, 1)).collect();
        let graph = example::graph_of(&specs, &edges, &[]);
        let cluster = example::cluster_of_kinds(&[(Kind::Cpu, 1.0), (Kind::Gpu, 2.0)]);
        let instance = Instance::new(graph, cluster).unwrap();
        let decision = placer(Ranges).place(&instance, &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [1, 0, 1, 1, 0, 0]);
        assert_eq!(decision.repaired, Some(1));
        assert_eq!(decision.placement.check(&instance), Ok(()));
    }

    /// Judges nothing, and says what is minimised.
    #[derive(Debug)]
    struct For(Goal);

    impl Objective for For {
        fn judge(&self, _: &Instance, _: &Decision, _: &StopToken) -> Result<Judgement, PlaceError> {
            Err(PlaceError::Stopped)
        }

        fn goal(&self) -> Goal {
            self.0
        }
    }

    #[test]
    fn loads_are_balanced_tightly_where_they_are_what_counts_unless_it_is_said_how() {
        // A chain of 21 equal ops, with one light edge behind the eighth.
        let edges: Vec<(u32, u32, u64)> = (0..20).map(|op| (op, op + 1, if op == 7 { 1 } else { 1000 })).collect();
        let instance =
            Instance::new(example::graph(&[1.0; 21], &edges, &[]), example::cluster(&[1.0; 2], 1.0)).unwrap();
        let largest = |spec: &str, goal: Goal| {
            let context = PlaceContext { objective: Some(Arc::new(For(goal))), ..PlaceContext::default() };
            let placer = registry::placer(&spec.parse().unwrap()).unwrap();
            let devices = example::devices(&placer.place(&instance, &context).unwrap());
            let here = devices.iter().filter(|&&device| device == 0).count();
            here.max(devices.len() - here)
        };
        let loads = |spec: &str| [Goal::Makespan, Goal::Period].map(|goal| largest(spec, goal));
        assert_eq!(loads("multilevel"), [13, 11]);
        assert_eq!(loads("multilevel(epsilon=0.3)"), [13, 13]);
        assert_eq!(loads("multilevel(epsilon=0.03)"), [11, 11]);
    }

    #[test]
    fn one_device_needs_no_partitioner_and_no_ops_need_no_device() {
        let instance = Instance::new(example::graph(&[1.0; 3], &[], &[]), example::cluster(&[1.0], 1.0)).unwrap();
        let decision = placer(Hashing).place(&instance, &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [0, 0, 0]);
        let empty = Instance::new(example::graph(&[], &[], &[]), example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        let decision = placer(Hashing).place(&empty, &PlaceContext::default()).unwrap();
        assert_eq!((example::devices(&decision), decision.repaired), (vec![], Some(0)));
    }
}
