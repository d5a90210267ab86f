//! Random placement, within the constraints.

use placebench_datasets::Instance;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::fairness::{Exception, Law};
use crate::{Algorithm, Assignment, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Puts each unit on a device drawn uniformly from those that are feasible for it at that moment.
///
/// # Reference
/// None: a control, which any strategy has to beat.
///
/// # Complexity
/// O(units · devices).
///
/// # Ties
/// None. Units draw in their order (groups first), one number each from PCG-64-MCG seeded with the context's seed.
///
/// # Deviations
/// None.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random;

impl Algorithm for Random {
    const NAME: &str = "random";
    const SUMMARY: &str = "each unit to a feasible device drawn at random";
    const SOURCE: &str = "control";
    const EXCEPTIONS: &[Exception] = &[
        Exception::new(
            Law::RelabelledDevices,
            "it draws devices for ops or groups by their numbers: other numbers, other draws",
        ),
        Exception::new(
            Law::RelabelledOps,
            "it draws devices for ops or groups by their numbers: other numbers, other draws",
        ),
    ];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for Random {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let mut rng = Pcg64Mcg::seed_from_u64(context.seed);
        let mut assignment = Assignment::new(instance);
        let mut feasible = Vec::with_capacity(instance.cluster().device_count());
        for (position, unit) in instance.units().ids().enumerate() {
            context.stop.check_at(position)?;
            feasible.clear();
            feasible.extend(assignment.feasible_devices(unit));
            if feasible.is_empty() {
                return Err(assignment.infeasible(unit));
            }
            // Drawn as 32 bits, so that the outcome is the same on every platform.
            let draw = rng.random_range(0..feasible.len() as u32);
            assignment.assign(unit, feasible[draw as usize]);
        }
        Ok(Decision::placement(assignment.finish()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;
    use placebench_datasets::{Kind, KindSet, OpSpec};

    #[test]
    fn the_seed_decides_and_all_devices_get_their_share() {
        let graph = example::graph(&[1.0; 3000], &[], &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 2.0, 3.0], 1.0)).unwrap();
        let place = |seed| example::devices(&Random.place(&instance, &PlaceContext::with_seed(seed)).unwrap());
        assert_eq!(place(7), place(7));
        assert_ne!(place(7), place(8));
        // 3000 draws from three: a standard deviation is 26, so 130 is five of them.
        for device in 0..3 {
            let count = place(7).iter().filter(|&&found| found == device).count();
            assert!(count.abs_diff(1000) < 130, "device {device} got {count} of 3000");
        }
    }

    #[test]
    fn a_single_feasible_device_leaves_no_choice() {
        let gpu_only = OpSpec { kinds: KindSet::only(Kind::Gpu), ..OpSpec::cost(1.0) };
        let cpu_only = OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(1.0) };
        let graph = example::graph_of(&[gpu_only, cpu_only], &[], &[]);
        let instance = Instance::new(graph, example::cluster_of_kinds(&[(Kind::Cpu, 1.0), (Kind::Gpu, 1.0)])).unwrap();
        for seed in 0..20 {
            let decision = Random.place(&instance, &PlaceContext::with_seed(seed)).unwrap();
            assert_eq!(example::devices(&decision), [1, 0]);
        }
    }
}
