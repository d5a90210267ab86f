//! The cluster generator: ranges, kinds, memory, and that L's graphs fit L's clusters.

use placebench_datasets::{AssignmentUnits, Kind};
use placebench_generator::{
    CLUSTER_FILES, ClusterParams, DeviceKinds, Distribution, LeveledParams, cluster_preset, generate_cluster,
    generate_leveled,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_cluster_keeps_what_its_parameters_promise(
        devices in 1..30u32, seed: u64, cpu in 0.0..=1.0f64, exact: bool, low in 0..1000u64, more in 0..1000u64,
    ) {
        let mut params = ClusterParams::new(devices);
        params.kinds = DeviceKinds { cpu, gpu: 1.0 - cpu, tpu: 0.0 };
        params.exact_kinds = exact;
        params.memory = Some((low, low + more));
        params.latency = 0.25;
        params.send_ops = 3.0;
        let cluster = generate_cluster(&params, seed).unwrap();
        prop_assert_eq!(cluster.device_count(), devices as usize);
        prop_assert!(cluster.is_symmetric());
        prop_assert_eq!(cluster.send_ops(), 3.0);
        let count = |kind: Kind| cluster.devices().iter().filter(|device| device.kind == kind).count();
        if devices > 1 {
            prop_assert!(cpu == 0.0 || count(Kind::Cpu) > 0);
            prop_assert!(cpu == 1.0 || count(Kind::Gpu) > 0);
        }
        if exact {
            let expected = (f64::from(devices) * cpu).clamp(f64::from(cpu > 0.0), f64::from(devices));
            prop_assert!((count(Kind::Cpu) as f64 - expected).abs() <= 1.0);
        }
        for a in cluster.devices() {
            prop_assert!((10.0..=100.0).contains(&a.speed));
            prop_assert!((low..=low + more).contains(&a.memory_bytes.unwrap()));
            for b in cluster.devices() {
                prop_assert!(a.speed <= b.speed || a.memory_bytes <= b.memory_bytes, "faster devices have less");
            }
        }
        for from in cluster.device_ids() {
            for to in cluster.device_ids().filter(|&to| to != from) {
                let link = cluster.link(from, to);
                prop_assert!((10.0..=60.0).contains(&link.rate) && link.latency == 0.25);
            }
        }
    }
}

#[test]
fn speeds_rates_and_kinds_are_spread_as_l_says() {
    let cluster = generate_cluster(&ClusterParams::new(400), 3).unwrap();
    let gpus = cluster.devices().iter().filter(|device| device.kind == Kind::Gpu).count();
    assert!((130..=190).contains(&gpus), "{gpus} of 400 where 160 are expected");
    let speeds: f64 = cluster.devices().iter().map(|device| device.speed).sum();
    assert!((speeds / 400.0 - 55.0).abs() < 4.0);
    assert!((cluster.mean_rate() - 35.0).abs() < 0.5);
}

#[test]
fn every_preset_has_each_of_its_kinds_for_any_seed() {
    for name in ClusterParams::PRESETS {
        for seed in 0..50 {
            let cluster = cluster_preset(name, seed).unwrap().unwrap();
            // Cores of many-core nodes are of one kind.
            let kinds = match name {
                name if name.starts_with("t_") || name.starts_with("unrelated") => &[Kind::Cpu][..],
                name if name.starts_with("tpu_") => &[Kind::Cpu, Kind::Tpu],
                _ => &[Kind::Cpu, Kind::Gpu],
            };
            for &kind in kinds {
                assert!(cluster.devices().iter().any(|device| device.kind == kind), "{name} {seed} {kind}");
            }
        }
    }
    let laich7 = cluster_preset("laich7", 9).unwrap().unwrap();
    assert_eq!(laich7.devices().iter().filter(|device| device.kind == Kind::Gpu).count(), 3);
    assert_eq!(cluster_preset("laich100", 1).unwrap().unwrap().device_count(), 100);
    assert_eq!(cluster_preset("laich50", 1).unwrap().unwrap().device_count(), 50);
    let tiny3 = cluster_preset("tiny3", 1).unwrap().unwrap();
    assert_eq!(tiny3.device_count(), 3);
    assert!(tiny3.devices().iter().all(|device| device.memory_bytes.is_none()));
    assert_eq!(cluster_preset("gtx1080x3", 1).unwrap().unwrap().device_count(), 5);
    assert_eq!(cluster_preset("gpu2", 1).unwrap().unwrap().device_count(), 3);
    assert!(cluster_preset("gtx1080x9", 1).is_none() && cluster_preset("laich8", 1).is_none());
}

#[test]
fn the_machines_of_today_are_presets_in_seconds_with_routes_and_memory() {
    for file in &CLUSTER_FILES {
        assert!(ClusterParams::PRESETS.contains(&file.name));
        let cluster = file.cluster().unwrap();
        assert!(cluster.is_in_seconds() && cluster.topology().is_some(), "{}", file.name);
        for (id, device) in cluster.device_ids().zip(cluster.devices()) {
            assert!(device.memory_bytes.is_some() && cluster.roofline(id).memory_bandwidth.is_some(), "{}", file.name);
            assert_ne!(cluster.class(id), device.kind.class(), "{}", file.name);
            assert_eq!(cluster.roofline(id).matrix_speed.is_some(), device.kind != Kind::Cpu, "{}", file.name);
        }
        // Each file says where its numbers come from.
        assert!(file.text.starts_with("# ") && file.text.contains("# Ours: "), "{}", file.name);
    }
}

/// The rate and the links of the route between two devices of a machine.
fn route(name: &str, from: &str, to: &str) -> (f64, usize) {
    let cluster = cluster_preset(name, 0).unwrap().unwrap();
    let id = |name: &str| cluster.device_ids().find(|&id| cluster.device(id).name == name).unwrap();
    let links = cluster.shared_links().route(id(from), id(to)).len();
    ((cluster.link(id(from), id(to)).rate / 1e9 * 100.0).round() / 100.0, links)
}

#[test]
fn data_take_the_way_that_the_machine_has() {
    assert_eq!(route("h100x8", "gpu0", "gpu7"), (450.0, 2));
    assert_eq!(route("h100x8", "cpu0", "gpu3"), (63.0, 2));
    // Within a host over NVLink, between hosts over the ports of both.
    assert_eq!(route("h100x8x4", "gpu8", "gpu15"), (450.0, 2));
    assert_eq!(route("h100x8x4", "gpu7", "gpu8"), (50.0, 4));
    assert_eq!(route("gb200_nvl72", "gpu0", "gpu71"), (900.0, 2));
    assert_eq!(route("gb200_nvl72", "cpu1", "gpu3"), (225.0, 1));
    assert_eq!(route("rtx4090x4", "gpu0", "gpu3"), (31.5, 2));
    // The longest way around a ring of four is two links, in each dimension.
    assert_eq!(route("tpu_v5e_4x4", "tpu0", "tpu3"), (50.0, 1));
    assert_eq!(route("tpu_v5e_4x4", "tpu0", "tpu10"), (50.0, 4));
    assert_eq!(route("tpu_v5p_4x4x4", "tpu0", "tpu42"), (100.0, 6));
    assert_eq!(route("mixed_generations", "v100_0", "h100_3"), (25.0, 4));
    assert_eq!(route("edge", "jetson", "pi1"), (0.04, 2));
}

#[test]
fn every_graph_of_l_fits_every_cluster_of_l() {
    for graph_name in LeveledParams::PRESETS {
        let params = LeveledParams::preset(graph_name).unwrap();
        for seed in 0..3 {
            let graph = generate_leveled(&params, seed).unwrap().graph;
            let units = AssignmentUnits::new(&graph);
            let total: u64 = units.ids().map(|unit| units.demand_bytes(unit)).sum();
            for cluster_name in ["laich100", "laich50", "laich7"] {
                let cluster = cluster_preset(cluster_name, seed).unwrap().unwrap();
                let memory: u64 = cluster.devices().iter().filter_map(|device| device.memory_bytes).sum();
                let slack = memory as f64 / total as f64;
                assert!((1.3..8.0).contains(&slack), "{graph_name} on {cluster_name}, seed {seed}: slack {slack}");
                // As L's hashing: round robin, and on to the next device where a unit does not fit.
                let mut left: Vec<u64> = cluster.devices().iter().map(|device| device.memory_bytes.unwrap()).collect();
                for unit in units.ids() {
                    let place =
                        cluster.device_ids().cycle().skip(unit.index() % left.len()).take(left.len()).find(|&device| {
                            units.kind_allows(unit, &cluster, device)
                                && left[device.index()] >= units.demand_bytes(unit)
                        });
                    let device = place.unwrap_or_else(|| panic!("{graph_name} on {cluster_name}, seed {seed}: {unit}"));
                    left[device.index()] -= units.demand_bytes(unit);
                }
            }
        }
    }
}

#[test]
fn a_larger_cluster_begins_with_the_rates_and_speeds_of_a_smaller() {
    let [small, large] = [5, 9].map(|devices| generate_cluster(&ClusterParams::new(devices), 7).unwrap());
    for from in small.device_ids() {
        assert_eq!(small.device(from).speed, large.device(from).speed);
        for to in small.device_ids() {
            assert_eq!(small.link(from, to), large.link(from, to));
        }
    }
}

#[test]
fn each_wrong_parameter_is_one_clear_line() {
    for (text, expected) in [
        ("devices = 0", "`devices` is 0, but must be in [1, 16384]"),
        ("devices = 3\nkinds = { cpu = 0.5 }", "`kinds` is 0.5 in sum, but must be probabilities that add up to 1"),
        ("devices = 3\nkinds = { cpu = 1.5 }", "`kinds.cpu` is 1.5"),
        ("devices = 3\nkinds = { cpu = nan, gpu = 1 }", "`kinds.cpu` is NaN"),
        ("devices = 3\nspeed = \"uniform(0,5)\"", "`speed` is uniform(0,5), but must be a distribution of numbers > 0"),
        ("devices = 3\nspeed = \"uniform(9,5)\"", "line 2: 'uniform(9,5)': the minimum 9 is above the maximum 5"),
        ("devices = 3\nrate = \"constant(0)\"", "`rate` is constant(0)"),
        ("devices = 3\nmemory = [9, 5]", "`memory` is [9, 5]"),
        ("devices = 3\nlatency = -1.0", "`latency` is -1"),
        ("devices = 3\nsend_ops = inf", "`send_ops` is inf"),
        ("devices = 3\nspeeds = 4", "line 2: unknown field `speeds`"),
        ("kinds = { cpu = 1.0 }", "missing field `devices`"),
    ] {
        let message = ClusterParams::from_toml(text).unwrap_err();
        assert!(message.contains(expected), "{text}: {message}");
        assert!(!message.contains('\n'));
    }
    let mut params = ClusterParams::new(2);
    params.speed = Distribution::LogNormal { mu: -700.0, sigma: 30.0 };
    assert!(generate_cluster(&params, 1).is_ok(), "speeds that underflow are still above 0");
}
