//! Cluster files: what is written is read back, and files written by hand mean what they say.

use std::fs;

use placebench_datasets::format::{
    parse_cluster_toml, read_cluster_csv, read_cluster_toml, write_cluster_csv, write_cluster_toml,
};
use placebench_datasets::{Cluster, Device, DeviceId, Kind, Link, Roofline, Topology, TopologyLink, TransferOverheads};
use proptest::prelude::*;

const D0: DeviceId = DeviceId(0);
const D1: DeviceId = DeviceId(1);
const D2: DeviceId = DeviceId(2);

const BY_HAND: &str = r#"
send_ops = 10
op_overhead = "5 us"
send_overhead = "20 us"
receive_overhead_per_byte = "0.25 ns"

[[device]]
name = "cpu"
kind = "CPU"
speed = "500 Gops/s"
op_overhead = 0

[[device]]
name = "gpu"
count = 2
kind = "gpu"
memory = "16 GiB"
speed = "14 TFLOPS"

[link]
rate = "12 GB/s"
latency = "5 us"

[[pair]]
between = ["gpu", "gpu"]
rate = "200 Gbit/s"

[[pair]]
from = "gpu1"
to = "cpu"
rate = 6e9

[[overhead]]
between = ["gpu", "gpu"]
send_overhead = 0

[[overhead]]
from = "gpu1"
to = "cpu"
receive_overhead = "1 ms"
"#;

#[test]
fn a_file_written_by_hand_means_what_it_says() {
    let cluster = parse_cluster_toml("c.toml", BY_HAND).unwrap();
    let names: Vec<_> = cluster.devices().iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["cpu", "gpu0", "gpu1"]);
    let gpu = Device { name: "gpu1".to_owned(), kind: Kind::Gpu, memory_bytes: Some(16 << 30), speed: 14e12 };
    assert_eq!(*cluster.device(D2), gpu);
    assert_eq!(cluster.device(D0).memory_bytes, None);
    assert_eq!(cluster.link(D0, D1), Link { rate: 12e9, latency: 5e-6 });
    assert_eq!(cluster.link(D1, D2), Link { rate: 25e9, latency: 0.0 });
    assert_eq!(cluster.link(D2, D0), Link { rate: 6e9, latency: 0.0 });
    assert_eq!(cluster.link(D0, D2), Link { rate: 12e9, latency: 5e-6 });
    assert_eq!(cluster.send_ops(), 10.0);
    assert_eq!(cluster.op_overheads(), [0.0, 5e-6, 5e-6]);
    let all = TransferOverheads { send: 2e-5, receive_per_byte: 2.5e-10, ..TransferOverheads::NONE };
    assert_eq!(cluster.transfer_overheads(D0, D1), all);
    assert_eq!(cluster.transfer_overheads(D1, D2), TransferOverheads { send: 0.0, ..all });
    assert_eq!(cluster.transfer_overheads(D2, D1), TransferOverheads { send: 0.0, ..all });
    assert_eq!(cluster.transfer_overheads(D2, D0), TransferOverheads { receive: 1e-3, ..all });
}

/// A cluster of one line for devices, with what `keys` add to it.
fn of_line(keys: &str) -> Result<Cluster, String> {
    let text = format!(
        "[[device]]\nname = \"g\"\ncount = 2\nkind = \"GPU\"\nspeed = \"67 TFLOPS\"\n{keys}\n[link]\nrate = 1\n"
    );
    parse_cluster_toml("c.toml", &text).map_err(|error| error.to_string())
}

#[test]
fn a_line_of_devices_names_their_class_and_what_limits_ops_on_them() {
    let keys = "class = \"h100\"\nmatrix_speed = \"1000 TFLOPS\"\nmemory_bandwidth = \"3.2 TB/s\"\nreached = 0.5";
    let cluster = of_line(keys).unwrap();
    assert_eq!((cluster.class(D1), cluster.device(D1).speed), ("h100", 33.5e12));
    assert_eq!(cluster.roofline(D1), Roofline { matrix_speed: Some(5e14), memory_bandwidth: Some(1.6e12) });
    // As data sheets write it.
    let written = of_line(&keys.replace("1000 TFLOPS", "1000 TFLOP/s").replace("3.2 TB/s", "25.6 Tb/s")).unwrap();
    assert_eq!(written.roofline(D1), cluster.roofline(D1));
    let plain = of_line("").unwrap();
    assert_eq!((plain.class(D0), plain.roofline(D0)), ("gpu", Roofline::NONE));
    assert!(cluster.first_devices(1).is_ok_and(|first| first.class(D0) == "h100" && first.is_in_seconds()));
}

#[test]
fn classes_and_limits_that_cannot_be_are_refused() {
    for (keys, expected) in [
        (
            "class = \"H100\"",
            "c.toml: device 'g0' is of class 'H100': a class has a name of lower-case letters, digits and '_'",
        ),
        (
            "class = \"cpu\"",
            "c.toml: device 'g0' is of class 'cpu': that is a class of CPUs, and this is a GPU: name another class",
        ),
        (
            "reached = 1.5",
            "c.toml:6: reached is 1.5: it is the share of the peak that ops reach: a number above 0 and at most 1",
        ),
        ("memory_bandwidth = 0", "c.toml:6: memory_bandwidth is 0: it must be a finite number > 0"),
        ("matrix_speed = -1", "c.toml:6: matrix_speed is -1: it must be a finite number > 0"),
    ] {
        assert_eq!(of_line(keys).unwrap_err(), expected);
    }
}

#[test]
fn a_pair_between_two_lines_of_devices_counts_both_ways() {
    let text = r#"
device = [
    { name = "cpu", count = 2, kind = "CPU", speed = 1 },
    { name = "gpu", count = 2, kind = "GPU", speed = 1 },
]
link = { rate = 1 }
pair = [{ between = ["gpu", "cpu"], rate = 2 }, { between = ["gpu1", "cpu0"], rate = 3 }]
"#;
    let cluster = parse_cluster_toml("c.toml", text).unwrap();
    let rates: Vec<_> = cluster.device_ids().map(|device| cluster.rates_from(device).to_vec()).collect();
    let home = f64::INFINITY;
    assert_eq!(rates, [[home, 1.0, 2.0, 3.0], [1.0, home, 2.0, 2.0], [2.0, 2.0, home, 1.0], [3.0, 2.0, 1.0, home]]);
}

#[test]
fn a_topology_links_each_device_of_a_line() {
    let text = r#"
[[device]]
name = "gpu"
count = 2
kind = "GPU"
speed = 1

[topology]
switches = ["host"]

[[topology.link]]
between = ["gpu", "host"]
rate = 16
latency = 1
"#;
    let cluster = parse_cluster_toml("c.toml", text).unwrap();
    assert_eq!(cluster.link(D0, D1), Link { rate: 16.0, latency: 2.0 });
    let topology = cluster.topology().unwrap();
    assert_eq!(topology.vertices, ["gpu0", "gpu1", "host"]);
    assert_eq!(topology.links.len(), 2);
}

#[test]
fn a_written_file_is_as_short_as_one_written_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.toml");
    write_cluster_toml(&path, &parse_cluster_toml("c.toml", BY_HAND).unwrap()).unwrap();
    let expected = r#"send_ops = 10
send_overhead = 2e-5
receive_overhead_per_byte = 2.5e-10

[[device]]
name = "cpu"
kind = "CPU"
speed = "500000000000 ops/s"

[[device]]
name = "gpu"
count = 2
kind = "GPU"
memory = "16 GiB"
speed = "14000000000000 ops/s"
op_overhead = 5e-6

[link]
rate = 12000000000
latency = 5e-6

[[pair]]
from = "gpu1"
to = "cpu"
rate = 6000000000

[[pair]]
between = ["gpu0", "gpu1"]
rate = 25000000000

[[overhead]]
between = ["gpu0", "gpu1"]
send_overhead = 0

[[overhead]]
from = "gpu1"
to = "cpu"
receive_overhead = 0.001
"#;
    assert_eq!(fs::read_to_string(path).unwrap(), expected);
}

#[test]
fn the_matrix_of_a_cluster_in_csv_is_upper_triangular() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.csv");
    let device = |name: &str| Device { name: name.to_owned(), kind: Kind::Cpu, memory_bytes: Some(64), speed: 10.0 };
    let devices = ["a", "b", "c"].map(device).to_vec();
    let cluster = Cluster::new(devices, |a, b| Link { rate: f64::from(a.0 + b.0) * 10.0, latency: 0.0 }).unwrap();
    write_cluster_csv(&path, &cluster).unwrap();
    assert_eq!(
        fs::read_to_string(path).unwrap(),
        "id,name,kind,memory_bytes,speed,rate_0,rate_1,rate_2\n\
         0,a,CPU,64,10,,10,20\n1,b,CPU,64,10,,,30\n2,c,CPU,64,10,,,\n"
    );
}

#[test]
fn a_column_of_overheads_is_there_if_a_device_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.csv");
    let cluster = Cluster::uniform(2, Kind::Cpu, 10.0, Link { rate: 5.0, latency: 0.0 }).unwrap();
    let cluster = cluster.with_op_overheads(|device| [0.0, 0.25][device.index()]).unwrap();
    write_cluster_csv(&path, &cluster).unwrap();
    let text = "id,name,kind,memory_bytes,speed,op_overhead,rate_0,rate_1\n0,d0,CPU,,10,0,,5\n1,d1,CPU,,10,0.25,,\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    fs::write(&path, text.replace("10,0,,5", "10,,,5")).unwrap();
    assert_eq!(read_cluster_csv(&path).unwrap(), cluster);
}

#[test]
fn what_cluster_csv_cannot_say_is_refused_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.csv");
    let link = Link { rate: 1.0, latency: 0.0 };
    let symmetric = || Cluster::uniform(2, Kind::Cpu, 1.0, link).unwrap();
    let one_way =
        Cluster::new(symmetric().devices().to_vec(), |from, _| Link { rate: f64::from(from.0 + 1), latency: 0.0 });
    let vertices = ["d0", "d1"].map(String::from).to_vec();
    let topology = Topology { vertices, links: vec![TopologyLink { a: 0, b: 1, link }] };
    let roofline = Roofline { memory_bandwidth: Some(2.0), ..Roofline::NONE };
    let cases = [
        (one_way.unwrap(), "links that differ by direction"),
        (Cluster::from_topology(symmetric().devices().to_vec(), topology).unwrap(), "a topology"),
        (symmetric().with_send_ops(1.0).unwrap(), "a cost of send ops"),
        (symmetric().with_classes(|_| "epyc").unwrap(), "classes of devices"),
        (symmetric().with_rooflines(|_| roofline).unwrap(), "rooflines of devices"),
        (
            symmetric().with_transfer_overheads(|_, _| TransferOverheads::from_values([0.0, 1e-9, 0.0, 0.0])).unwrap(),
            "overheads of transfers",
        ),
    ];
    for (cluster, beyond) in cases {
        let error = write_cluster_csv(&path, &cluster).unwrap_err().to_string();
        let expected =
            format!("{}: the cluster has {beyond}, which cluster CSV cannot say: write it as .toml", path.display());
        assert_eq!(error, expected);
        assert!(!path.exists());
    }
}

fn rate() -> impl Strategy<Value = f64> {
    prop_oneof![Just(30.0), Just(f64::INFINITY), 1e-9..1e15, (1u32..100).prop_map(f64::from)]
}

fn link() -> impl Strategy<Value = Link> {
    (rate(), prop_oneof![Just(0.0), Just(0.5), 0.0..1e3]).prop_map(|(rate, latency)| Link { rate, latency })
}

prop_compose! {
    fn devices()(
        template in proptest::collection::vec(
            (prop_oneof!["gpu", "[a-z0 \",\n\\PC]{0,4}"], 0usize..3, proptest::option::of(prop_oneof![Just(8 << 30), any::<u64>()]), 1e-9..1e15),
            1..4,
        ),
        counts in proptest::array::uniform4(1usize..4),
    ) -> Vec<Device> {
        let mut devices: Vec<Device> = Vec::new();
        for ((name, kind, memory_bytes, speed), count) in template.into_iter().zip(counts) {
            for number in 0..count {
                // Prefixes of numbered names as single names too.
                let name = if number == 2 { name.clone() } else { format!("{name}{number}") };
                if !name.is_empty() && devices.iter().all(|device| device.name != name) {
                    devices.push(Device { name, kind: Kind::ALL[kind], memory_bytes, speed });
                }
            }
        }
        devices
    }
}

/// Of all pairs, mostly the same.
fn transfer_overheads() -> impl Strategy<Value = Vec<TransferOverheads>> {
    let value = || prop_oneof![2 => Just(0.0), 1 => Just(0.5), 1 => 0.0..1e3];
    let one = move || [value(), value(), value(), value()].prop_map(TransferOverheads::from_values);
    let others = (one(), proptest::collection::vec((0usize..144, one()), 0..4));
    prop_oneof![
        Just(vec![TransferOverheads::NONE; 144]),
        others.prop_map(|(common, others)| {
            let mut all = vec![common; 144];
            others.into_iter().for_each(|(at, other)| all[at] = other);
            all
        })
    ]
}

/// Classes and rooflines of devices, mostly the same.
fn natures() -> impl Strategy<Value = Vec<(u8, Roofline)>> {
    let limit = || prop_oneof![2 => Just(None), 1 => Just(Some(30.0)), 1 => (1e-9..1e15).prop_map(Some)];
    let roofline =
        (limit(), limit()).prop_map(|(matrix_speed, memory_bandwidth)| Roofline { matrix_speed, memory_bandwidth });
    let nature = prop_oneof![3 => Just((0, Roofline::NONE)), 1 => (0u8..3, roofline)];
    proptest::collection::vec(nature, 12)
}

prop_compose! {
    fn cluster(symmetric: bool)(
        devices in devices(),
        links in proptest::collection::vec(prop_oneof![3 => Just(Link { rate: 30.0, latency: 0.0 }), 1 => link()], 144),
        send_ops in prop_oneof![Just(0.0), 0.0..100.0],
        overheads in proptest::collection::vec(prop_oneof![Just(0.0), Just(0.5), 0.0..1e3], 12),
        of_transfers in transfer_overheads(),
        natures in natures(),
    ) -> Cluster {
        let link = |a: DeviceId, b: DeviceId| match symmetric {
            true => links[a.min(b).index() * 12 + a.max(b).index()],
            false => links[a.index() * 12 + b.index()],
        };
        let cluster = Cluster::new(devices, link).unwrap();
        let cluster = cluster.with_op_overheads(|device| overheads[device.index()]).unwrap();
        if symmetric {
            return cluster;
        }
        let of_pair = |from: DeviceId, to: DeviceId| of_transfers[from.index() * 12 + to.index()];
        // A class has devices of one kind.
        let kinds: Vec<Kind> = cluster.devices().iter().map(|device| device.kind).collect();
        let classes: Vec<String> = natures
            .iter()
            .zip(&kinds)
            .map(|((class, _), kind)| match class {
                0 => kind.class().to_owned(),
                number => format!("{}_{number}", kind.class()),
            })
            .collect();
        let cluster = cluster.with_classes(|device| &classes[device.index()]).unwrap();
        let cluster = cluster.with_rooflines(|device| natures[device.index()].1).unwrap();
        cluster.with_send_ops(send_ops).unwrap().with_transfer_overheads(of_pair).unwrap()
    }
}

prop_compose! {
    /// A random tree over devices and switches, and a few links more.
    fn with_topology()(
        devices in devices(),
        switches in 1usize..4,
        parents in proptest::collection::vec(any::<prop::sample::Index>(), 16),
        more in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..4),
        links in proptest::collection::vec(link(), 20),
        of_transfers in transfer_overheads(),
    ) -> Cluster {
        let mut vertices: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
        vertices.extend((0..switches).map(|switch| format!("switch number {switch}")));
        let tree = (1..vertices.len()).map(|vertex| (vertex, parents[vertex].index(vertex)));
        let more = more.into_iter().map(|(a, b)| (a.index(vertices.len()), b.index(vertices.len())));
        let links = tree.chain(more).zip(links).map(|((a, b), link)| TopologyLink { a, b, link }).collect();
        let cluster = Cluster::from_topology(devices, Topology { vertices, links }).unwrap();
        cluster.with_transfer_overheads(|from, to| of_transfers[from.index() * 12 + to.index()]).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_cluster_is_read_back_equal_from_toml(cluster in prop_oneof![cluster(false), cluster(true), with_topology()]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        write_cluster_toml(&path, &cluster).unwrap();
        prop_assert_eq!(read_cluster_toml(&path).unwrap(), cluster);
    }

    #[test]
    fn any_symmetric_cluster_is_read_back_equal_from_csv(cluster in cluster(true)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.csv");
        write_cluster_csv(&path, &cluster).unwrap();
        prop_assert_eq!(read_cluster_csv(&path).unwrap(), cluster);
    }
}

/// The links of a topology of eight devices, as pairs of names.
fn wired(keys: &str) -> Result<Vec<(String, String)>, String> {
    let devices = "[[device]]\nname = \"t\"\ncount = 8\nkind = \"TPU\"\nspeed = 1\n";
    let text = format!("{devices}[topology]\n{keys}");
    let cluster = parse_cluster_toml("c.toml", &text).map_err(|error| error.to_string())?;
    let topology = cluster.topology().unwrap();
    let name = |vertex: usize| topology.vertices[vertex].clone();
    Ok(topology.links.iter().map(|link| (name(link.a), name(link.b))).collect())
}

#[test]
fn a_torus_links_each_device_with_the_next_of_each_dimension_once() {
    let links = wired("[[topology.torus]]\nof = \"t\"\nshape = [2, 4]\nrate = 1\n").unwrap();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let expected = [
        pair("t0", "t4"),
        pair("t0", "t1"),
        pair("t1", "t5"),
        pair("t1", "t2"),
        pair("t2", "t6"),
        pair("t2", "t3"),
        pair("t3", "t7"),
        pair("t0", "t3"),
        pair("t4", "t5"),
        pair("t5", "t6"),
        pair("t6", "t7"),
        pair("t4", "t7"),
    ];
    assert_eq!(links, expected);
    // A ring of eight has eight links, a cube of 2 x 2 x 2 twelve.
    let count =
        |shape: &str| wired(&format!("[[topology.torus]]\nof = \"t\"\nshape = {shape}\nrate = 1\n")).unwrap().len();
    assert_eq!((count("[8]"), count("[2, 2, 2]"), count("[1, 8]")), (8, 12, 8));
    assert_eq!(
        wired("[[topology.torus]]\nof = \"t\"\nshape = [3, 3]\nrate = 1\n").unwrap_err(),
        "c.toml:9: a torus of 3 x 3 has not 8 members: write a size for each dimension"
    );
    assert_eq!(
        wired("[[topology.torus]]\nof = \"t\"\nshape = []\nrate = 1\n").unwrap_err(),
        "c.toml:9: a torus without dimensions: write a size for each dimension"
    );
}

#[test]
fn links_that_are_spread_connect_equal_parts() {
    let switches =
        "[[topology.switch]]\nname = \"s\"\ncount = 2\n[[topology.link]]\nbetween = [\"s\", \"s\"]\nrate = 1\n";
    let spread =
        |name: &str| format!("{switches}[[topology.link]]\nbetween = [\"t\", \"{name}\"]\nspread = true\nrate = 1\n");
    let links = wired(&spread("s")).unwrap();
    let ends: Vec<String> = links.iter().map(|(a, b)| format!("{a}{b}")).collect();
    assert_eq!(ends, ["s0s1", "t0s0", "t1s0", "t2s0", "t3s0", "t4s1", "t5s1", "t6s1", "t7s1"]);
    let three = spread("s").replace("count = 2", "count = 3");
    assert_eq!(
        wired(&three).unwrap_err(),
        "c.toml:14: 8 and 3 do not go into each other evenly: leave out 'spread', or name equal parts"
    );
    assert_eq!(
        wired(&spread("t")).unwrap_err(),
        "c.toml:14: 'spread' is about two groups, and this is one: leave out 'spread': each two of the group have a link then"
    );
    // A name more or less is no pair.
    for (names, count) in [(r#"["t", "s", "s"]"#, 3), (r#"["t"]"#, 1)] {
        let error = wired(&switches.replace(r#"["s", "s"]"#, names)).unwrap_err();
        assert!(error.contains(&format!("'between' takes two names, and here are {count}")), "{error}");
    }
    let none = switches.replace("count = 2", "count = 0");
    assert_eq!(wired(&none).unwrap_err(), "c.toml:9: 0 switches named 's': a cluster has 1 to 10000 switches");
}
