//! HEFT on large instances with known results; those of the literature are in `placers/golden.rs`.

mod support;

use placebench_datasets::Instance;

use support::instances::{Devices, from_text, l10k};
use support::place;

fn makespan(spec: &str, instance: &Instance) -> f64 {
    place(spec, instance).unwrap().plan.unwrap().makespan
}

#[test]
fn the_makespans_of_an_independent_implementation_are_reproduced() {
    for (text, digits, expected) in [
        (include_str!("data/l1k-het.txt"), 2, "45.70"),
        (include_str!("data/l1k-uni.txt"), 2, "63.17"),
        (include_str!("data/l1k-hom.txt"), 1, "91.5"),
    ] {
        let found = makespan("heft", &from_text(text));
        assert_eq!(format!("{found:.digits$}"), expected);
    }
    for (cluster, digits, expected) in
        [(Devices::Heterogeneous, 2, "485.92"), (Devices::OneRate, 2, "664.17"), (Devices::Homogeneous, 1, "802.1")]
    {
        let found = makespan("heft", &l10k(cluster));
        assert_eq!(format!("{found:.digits$}"), expected);
    }
}
