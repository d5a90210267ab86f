//! What every placer of the registry keeps, whatever the instance.

use placebench_algorithms::{PlaceContext, PlaceError, Spec, registry};
use placebench_datasets::Instance;
use proptest::prelude::*;

use crate::instances::instance;

fn for_each_placer(check: impl Fn(&str, &dyn Fn(&Instance, &PlaceContext) -> Result<Vec<u32>, PlaceError>)) {
    for entry in registry::PLACERS {
        let spec = Spec { name: entry.name.to_owned(), params: Vec::new() };
        let placer = registry::placer(&spec).expect("the defaults are valid");
        check(entry.name, &|instance, context| {
            let decision = placer.place(instance, context)?;
            decision.placement.check(instance).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            Ok(decision.placement.devices().iter().map(|device| device.0).collect())
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_placement_keeps_kinds_groups_and_memory_or_the_error_is_infeasible(instance in instance(12)) {
        for_each_placer(|name, place| {
            if let Err(error) = place(&instance, &PlaceContext::default()) {
                assert!(matches!(error, PlaceError::Infeasible { .. }), "{name}: {error}");
                let limited = instance.cluster().devices().iter().any(|device| device.memory_bytes.is_some());
                assert!(limited, "{name} fails though memory is unlimited: {error}");
            }
        });
    }

    #[test]
    fn the_same_seed_gives_the_same_placement(instance in instance(12), seed in any::<u64>()) {
        for_each_placer(|name, place| {
            let (first, second) = (PlaceContext::with_seed(seed), PlaceContext::with_seed(seed));
            assert_eq!(place(&instance, &first), place(&instance, &second), "{name}");
        });
    }
}
