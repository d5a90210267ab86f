//! What TensorFlow does without being told: the first GPU that supports an op.

use placebench_datasets::{DeviceId, Instance, Kind, UnitId};

use crate::fairness::{Assumption, Exception, Law};
use crate::{Algorithm, Assignment, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Puts each op on the first GPU that supports it, else on the first CPU; an op without inputs and with a single consumer
/// goes where that is.
///
/// # Reference
/// TensorFlow 2.15, `tensorflow/core/common_runtime/placer.cc`; M. Abadi et al., *TensorFlow: Large-Scale Machine Learning
/// on Heterogeneous Distributed Systems*, arXiv:1603.04467, 2016, §4.3 (colocation by union-find).
///
/// # Complexity
/// O(units · devices + edges).
///
/// # Ties
/// The lowest id among GPUs, then among CPUs, then among TPUs, which TensorFlow uses only when told.
///
/// # Deviations
/// - TensorFlow does not ask whether there is memory, and fails when a device runs out of it. Here a full device passes
///   ops on to the next in the same order.
/// - Only ops in no colocation group follow their consumer, which claims memory first; where they cannot, they go where they
///   would go otherwise. TensorFlow's rule for ops that only read metadata of their input is left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct TensorflowDefault;

impl Algorithm for TensorflowDefault {
    const NAME: &str = "tensorflow_default";
    const SUMMARY: &str = "the first GPU that supports an op, else the first CPU";
    const SOURCE: &str = "TensorFlow 2.15, B §6.1";
    const ASSUMES: &[Assumption] = &[Assumption::NoMemory];
    const EXCEPTIONS: &[Exception] =
        &[Exception::new(Law::RelabelledDevices, "it takes the first GPU that is listed, as TensorFlow does")];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for TensorflowDefault {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let (cluster, units) = (instance.cluster(), instance.units());
        let mut preferred: Vec<DeviceId> = Vec::with_capacity(cluster.device_count());
        for kind in [Kind::Gpu, Kind::Cpu, Kind::Tpu] {
            preferred.extend(cluster.device_ids().filter(|&device| cluster.device(device).kind == kind));
        }
        let mut assignment = Assignment::new(instance);
        let mut generators = Vec::new();
        for (position, unit) in units.ids().enumerate() {
            context.stop.check_at(position)?;
            match consumer_of_generator(instance, unit) {
                Some(consumer) => generators.push((unit, consumer)),
                None => assignment.assign_first(unit, preferred.iter().copied())?,
            }
        }
        for (position, (unit, consumer)) in generators.into_iter().enumerate() {
            context.stop.check_at(position)?;
            let home = assignment.device_of_unit(consumer);
            assignment.assign_first(unit, home.into_iter().chain(preferred.iter().copied()))?;
        }
        Ok(Decision::placement(assignment.finish()?))
    }
}

/// The unit of the only consumer of an op that is alone in its unit and has no inputs.
fn consumer_of_generator(instance: &Instance, unit: UnitId) -> Option<UnitId> {
    let (graph, units) = (instance.graph(), instance.units());
    let [op] = units.members(unit) else { return None };
    let (&consumer, others) = graph.successor_ops(*op).split_first()?;
    let single = graph.in_degree(*op) == 0 && others.iter().all(|&other| other == consumer);
    single.then(|| units.unit_of(consumer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;
    use placebench_datasets::{KindSet, OpSpec};

    fn place(instance: &Instance) -> Vec<u32> {
        example::devices(&TensorflowDefault.place(instance, &PlaceContext::default()).unwrap())
    }

    #[test]
    fn ops_go_to_the_first_gpu_else_to_the_first_cpu_and_generators_follow_their_consumer() {
        // 0 ▶ 1, where 1 needs a CPU; 2 ▶ 1 and 2 ▶ 3; 4 alone needs a TPU. 0 follows 1 to the CPU, 2 has two consumers.
        let any = OpSpec::cost(1.0);
        let only = |kind| OpSpec { kinds: KindSet::only(kind), ..OpSpec::cost(1.0) };
        let specs = [any.clone(), only(Kind::Cpu), any.clone(), any, only(Kind::Tpu)];
        let graph = example::graph_of(&specs, &[(0, 1, 1), (2, 1, 1), (2, 3, 1)], &[]);
        let devices = [(Kind::Tpu, 9.0), (Kind::Cpu, 1.0), (Kind::Gpu, 1.0), (Kind::Gpu, 5.0)];
        let instance = Instance::new(graph, example::cluster_of_kinds(&devices)).unwrap();
        assert_eq!(place(&instance), [1, 1, 2, 2, 0]);
    }

    #[test]
    fn a_generator_in_a_group_stays_with_its_group_and_one_that_may_not_follow_goes_to_a_gpu() {
        // 0 ▶ 1 on the CPU. 0 and 2 are a group on the GPU. 3 ▶ 1 needs a GPU.
        let any = OpSpec::cost(1.0);
        let only = |kind| OpSpec { kinds: KindSet::only(kind), ..OpSpec::cost(1.0) };
        let specs = [any.clone(), only(Kind::Cpu), any, only(Kind::Gpu)];
        let graph = example::graph_of(&specs, &[(0, 1, 1), (3, 1, 1)], &[(0, 2)]);
        let instance = Instance::new(graph, example::cluster_of_kinds(&[(Kind::Cpu, 1.0), (Kind::Gpu, 1.0)])).unwrap();
        assert_eq!(place(&instance), [1, 0, 1, 1]);
    }

    #[test]
    fn a_full_device_passes_ops_on() {
        let spec = OpSpec { memory_bytes: 10, ..OpSpec::cost(1.0) };
        let graph = example::graph_of(&[spec.clone(), spec.clone(), spec], &[], &[]);
        let cluster = example::cluster_with_memory(&[(1.0, Some(21)), (1.0, Some(21))], 1.0);
        assert_eq!(place(&Instance::new(graph, cluster).unwrap()), [0, 0, 1]);
    }
}
