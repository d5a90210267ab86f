//! Instances from the literature, and the plain-text instances under `tests/data`.

use placebench_datasets::{Cluster, Device, GraphBuilder, Instance, Kind, Link, OpId, OpSpec};

/// The processors of the published instances, and the classes that they are the only devices of.
const PROCESSORS: [&str; 3] = ["p1", "p2", "p3"];

/// Two published instances with ten ops on three unrelated processors: each is a CPU of a class of its own, so that the cost of
/// an op on a processor is its measured time on that class. Sizes equal times, since the rate is 1.
fn unrelated(times: [[f64; 3]; 10], edges: &[(u32, u32, u64)]) -> Instance {
    let mut builder = GraphBuilder::default();
    for (op, row) in times.iter().enumerate() {
        let outputs: Vec<u64> =
            edges.iter().filter(|edge| edge.0 as usize == op + 1).map(|&(_, _, bytes)| bytes).collect();
        let times: Vec<(&str, f64)> = PROCESSORS.into_iter().zip(*row).collect();
        // The sources have no layers: these are for placers that go by them.
        let layer = Some(["first", "second", "third"][op / 4]);
        builder.add_op(OpSpec { times: &times, layer, ..OpSpec::default() }, &outputs);
    }
    for (position, &(source, target, _)) in edges.iter().enumerate() {
        let port = edges[..position].iter().filter(|edge| edge.0 == source).count();
        builder.add_edge(OpId(source - 1), port, OpId(target - 1)).unwrap();
    }
    let device = |name: &str| Device { name: name.to_owned(), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
    let cluster = Cluster::new(PROCESSORS.map(device).into(), |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
    let cluster = cluster.with_classes(|device| PROCESSORS[device.index()]).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}

/// Topcuoglu, Hariri, Wu 2002, Figure 2.
pub fn topcuoglu() -> Instance {
    unrelated(
        [
            [14., 16., 9.],
            [13., 19., 18.],
            [11., 13., 19.],
            [13., 8., 17.],
            [12., 13., 10.],
            [13., 16., 9.],
            [7., 15., 11.],
            [5., 11., 14.],
            [18., 12., 20.],
            [21., 7., 16.],
        ],
        &[
            (1, 2, 18),
            (1, 3, 12),
            (1, 4, 9),
            (1, 5, 11),
            (1, 6, 14),
            (2, 8, 19),
            (2, 9, 16),
            (3, 7, 23),
            (4, 8, 27),
            (4, 9, 23),
            (5, 9, 13),
            (6, 8, 15),
            (7, 10, 17),
            (8, 10, 11),
            (9, 10, 13),
        ],
    )
}

/// Arabnejad, Barbosa 2014, Figure 1.
pub fn arabnejad() -> Instance {
    unrelated(
        [
            [22., 21., 36.],
            [22., 18., 18.],
            [32., 27., 43.],
            [7., 10., 4.],
            [29., 27., 35.],
            [26., 17., 24.],
            [14., 25., 30.],
            [29., 23., 36.],
            [15., 21., 8.],
            [13., 16., 33.],
        ],
        &[
            (1, 2, 17),
            (1, 3, 31),
            (1, 4, 29),
            (1, 5, 13),
            (1, 6, 7),
            (2, 8, 3),
            (2, 9, 30),
            (3, 7, 16),
            (4, 8, 11),
            (4, 9, 7),
            (5, 9, 57),
            (6, 8, 5),
            (7, 10, 9),
            (8, 10, 42),
            (9, 10, 7),
        ],
    )
}

/// An instance in the format of `tests/data/README.md`.
pub fn from_text(text: &str) -> Instance {
    let mut lines = text.lines();
    let mut numbers =
        || -> Vec<f64> { lines.next().unwrap().split_whitespace().map(|word| word.parse().unwrap()).collect() };
    let header = numbers();
    let (op_count, edge_count, device_count) = (header[0] as usize, header[1] as usize, header[2] as usize);
    let (costs, sizes) = (numbers(), numbers());
    assert_eq!((costs.len(), sizes.len()), (op_count, op_count));
    let mut builder = GraphBuilder::default();
    for (&ops, &bytes) in costs.iter().zip(&sizes) {
        builder.add_op(OpSpec::cost(ops), &[bytes as u64]);
    }
    for _ in 0..edge_count {
        let ends = numbers();
        builder.add_edge(OpId(ends[0] as u32), 0, OpId(ends[1] as u32)).unwrap();
    }
    let speeds = numbers();
    assert_eq!(speeds.len(), device_count);
    let rates: Vec<Vec<f64>> = (0..device_count).map(|_| numbers()).collect();
    let devices = speeds
        .iter()
        .enumerate()
        .map(|(id, &speed)| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes: None, speed })
        .collect();
    let cluster =
        Cluster::new(devices, |from, to| Link { rate: rates[from.index()][to.index()], latency: 0.0 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}
