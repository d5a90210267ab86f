//! Costs of families: distributions, correlation, ratio of communication to computation, kinds, groups.

use placebench_datasets::{Cluster, DataflowGraph, Kind, Link, TensorId, ccr, processor_class};
use placebench_generator::{FAMILIES, GraphParams, described};

use super::{graph, undirected};

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn every_family_makes_the_same_bytes_on_any_number_of_threads() {
    let large = [
        "erdos_renyi(nodes=20000,probability=0.001,correlation=0.5,ccr=2)",
        "layered(nodes=20000,layers=30,probability=0.001,ops=gamma(2,30),bytes=normal(500,100))",
        "stencil(side=30000,steps=4,colocated=5000,gpu=0.3,correlation=-0.5)",
        "leveled(levels=300,nodes_per_level=[80,90],level_edges.count=90000,correlation=0.5,ccr=2)",
    ];
    let small = FAMILIES.iter().filter(|entry| !entry.is_undirected).map(|entry| entry.name);
    for text in large.into_iter().chain(small) {
        let alone = on_threads(1, || graph(text, 3));
        assert_eq!(on_threads(4, || graph(text, 3)), alone, "{text}");
    }
    for text in [
        "hyperbolic(vertices=40000)",
        "barabasi_albert(vertices=20000)",
        "planted_partition(vertices=20000)",
        "random_geometric(vertices=70000,dimension=3,degree=9)",
    ] {
        let alone = on_threads(1, || undirected(text, 3));
        assert_eq!(on_threads(4, || undirected(text, 3)), alone, "{text}");
        assert_ne!(undirected(text, 4), alone, "{text}");
    }
}

/// Costs of the producers and sizes, tensor by tensor.
fn costs_and_sizes(graph: &DataflowGraph) -> (Vec<f64>, Vec<f64>) {
    let tensors = || (0..graph.tensor_count()).map(TensorId::new);
    let costs = tensors().map(|tensor| graph.ops(graph.producer(tensor))).collect();
    (costs, tensors().map(|tensor| graph.tensor_bytes(tensor) as f64).collect())
}

/// Spearman's coefficient with mean ranks of equal values.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut ranks = vec![0.0; values.len()];
        for run in order.chunk_by(|&a, &b| values[a] == values[b]) {
            let first = order.iter().position(|&item| item == run[0]).unwrap();
            run.iter().for_each(|&item| ranks[item] = first as f64 + run.len() as f64 / 2.0);
        }
        ranks
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (x, y) = (mean(&a), mean(&b));
    let covariance: f64 = a.iter().zip(&b).map(|(a, b)| (a - x) * (b - y)).sum();
    let spread = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    covariance / (spread(&a, x) * spread(&b, y)).sqrt()
}

#[test]
fn costs_and_sizes_correlate_as_asked_whatever_their_distributions() {
    for wanted in [-0.7, 0.0, 0.4, 0.9] {
        for laws in ["", ",ops=lognormal(3,2),bytes=pareto(10,1.1)", ",ops=geometric(0.01),bytes=1e6*beta(2,5)"] {
            let of_leveled = laws.replace("ops=", "costs.ops=").replace("bytes=", "costs.tensor_bytes=");
            for text in [
                format!("wavefront(rows=60,columns=60,correlation={wanted}{laws})"),
                format!("leveled(levels=60,nodes_per_level=[60,60],correlation={wanted}{of_leveled})"),
            ] {
                let (costs, sizes) = costs_and_sizes(&graph(&text, 5));
                let found = spearman(&costs, &sizes);
                assert!((found - wanted).abs() < 0.05, "{text}: {found}");
            }
        }
    }
    // Reordered, not drawn anew.
    let sorted = |text: &str| {
        let mut sizes = costs_and_sizes(&graph(text, 5)).1;
        sizes.sort_by(f64::total_cmp);
        sizes
    };
    assert_eq!(sorted("fft(points=64)"), sorted("fft(points=64,correlation=0.8)"));
    // Of a family that has its own costs, drawn sizes follow them.
    let (costs, sizes) = costs_and_sizes(&graph("cholesky(tiles=16,bytes=uniform(1,1000000),correlation=1)", 5));
    assert!(spearman(&costs, &sizes) > 0.75, "most ops are GEMMs of equal cost");
}

#[test]
fn the_ratio_of_communication_to_computation_is_what_was_asked_for() {
    let unit = Cluster::uniform(3, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    for entry in FAMILIES.iter().filter(|entry| entry.params().iter().any(|param| param.name == "ccr")) {
        // Whole bytes have to come close to the ratio, so operations are counted in thousands.
        let names = if entry.name == "leveled" { ["costs.ops", "costs.tensor_bytes"] } else { ["ops", "bytes"] };
        let [ops, bytes] = names;
        let text = format!("{}({ops}=uniform(1000,100000),{bytes}=uniform(1,100),ccr=0.37)", entry.name);
        let found = ccr(&graph(&text, 5), &unit).unwrap();
        assert!((found / 0.37 - 1.0).abs() < 0.01, "{text}: {found}");
    }
    let refused = |text: &str| GraphParams::preset(text).unwrap().unwrap().generate(1).unwrap_err().to_string();
    assert!(refused("fft(points=1,ccr=2)").contains("`ccr` is 2, but must be none for a graph without edges"));
    assert!(refused("fft(bytes=constant(0),ccr=2)").contains("whose edges carry no bytes"));
    assert!(refused("fft(ops=constant(1),ccr=0.3)").contains("whole bytes come close"));
}

#[test]
fn kinds_and_groups_are_drawn_as_asked_and_agree() {
    let graph = graph("wavefront(rows=100,columns=100,colocated=3000,group_size=40,cpu=0.2,gpu=0.3)", 5);
    assert_eq!(graph.colocation().colocated_op_count(), 3000);
    let share = |kind: &str| {
        graph.op_ids().filter(|&op| graph.kinds(op).to_string() == kind).count() as f64 / graph.op_count() as f64
    };
    assert!(
        (share("CPU") - 0.2).abs() < 0.03 && (share("GPU") - 0.3).abs() < 0.03,
        "{} {}",
        share("CPU"),
        share("GPU")
    );
    for (_, members) in graph.colocation().groups() {
        assert!((2..=40).contains(&members.len()));
        assert!(members.iter().all(|&op| graph.kinds(op) == graph.kinds(members[0])));
    }
}

#[test]
fn each_wrong_parameter_is_one_clear_line() {
    for (text, part) in [
        ("fft(points=12)", "'fft': parameter 'points' is '12', but must be a power of two"),
        ("fft(point=16)", "'fft' has no parameter 'point': did you mean 'points'?"),
        ("fft(ops=own)", "parameter 'ops' is 'own', but must be a distribution"),
        ("fft(ops=normal(1))", "parameter 'ops' is 'normal(1)'"),
        ("fft(ccr=0)", "parameter 'ccr' is '0', but must be none or a number above 0"),
        ("fft(correlation=2)", "'correlation' is '2'"),
        ("fft(correlation=0.5,bytes=constant(3))", "but must be 0 unless 'bytes' and 'ops' vary"),
        ("leveled(ccr=0)", "parameter 'ccr' is '0', but must be none or a number above 0"),
        (
            "leveled(correlation=0.5,costs.ops=constant(3))",
            "must be 0 unless `costs.ops` and `costs.tensor_bytes` vary",
        ),
        ("cholesky(correlation=0.5)", "but must be 0 unless 'bytes' and 'ops' vary and 'bytes' is a distribution"),
        ("fft(cpu=0.6,gpu=0.6)", "'cpu' is '0.6', but must be at most 1 together with gpu and tpu"),
        ("cholesky(colocated=5)", "'cholesky' has no parameter 'colocated': use one of tiles, "),
        ("transformer(heads=3)", "'heads' is '3', but must be a divisor of model=512"),
        ("transformer(experts=2,top=3)", "'top' is '3', but must be at most experts=2"),
        ("cnn(blocks=2)", "'blocks' is '2', but must be numbers in brackets"),
        ("planted_partition(vertices=10,blocks=5,inside=3)", "'inside' is '3', but must be at most 1"),
        ("barabasi_albert(vertices=5,edges=5)", "'edges' is '5', but must be below vertices=5"),
        ("hyperbolic(vertices=10,degree=50)", "'degree' is '50', but must be so small"),
        ("hyperbolic(exponent=2)", "'exponent' is '2', but must be a number above 2"),
        ("cholesky(tiles=3", "is no name with parameters"),
    ] {
        let message = described(text).unwrap().unwrap_err();
        assert!(message.contains(part) && !message.contains('\n'), "{message}");
    }
    let too_many = GraphParams::preset("fft(points=2,colocated=50)").unwrap().unwrap().generate(1).unwrap_err();
    assert!(too_many.to_string().contains("at most the number of ops"), "{too_many}");
    assert_eq!(described("choleski"), None);
}

/// The times of each op on `p1`, `p2`, ….
fn matrix(graph: &DataflowGraph) -> Vec<Vec<f64>> {
    let machines = graph.measured_times().len();
    let columns: Vec<_> = (0..machines).map(|at| graph.measured_on(&processor_class(at)).unwrap()).collect();
    graph.op_ids().map(|op| columns.iter().map(|column| column.of(op).unwrap()).collect()).collect()
}

/// Mean and coefficient of variation.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt() / mean)
}

#[test]
fn times_on_unrelated_machines_have_the_law_that_is_asked_for() {
    // 200,000 factors: means are within 1 % but once in millions of seeds, and so are coefficients of variation.
    for (factor, mean, variation) in [
        ("range(9)", 5.0, 8.0 / 12.0_f64.sqrt() / 5.0),
        ("cvb(0.3)", 1.0, 0.3),
        ("cvb(1)", 1.0, 1.0),
        ("share(1.5)", 1.0, 1.5 / 12.0_f64.sqrt()),
    ] {
        let graph = graph(&format!("erdos_renyi(nodes=50000,probability=0.00001,times={factor},machines=4)"), 5);
        let factors = graph.op_ids().zip(matrix(&graph)).flat_map(|(op, row)| row.into_iter().map(move |t| (op, t)));
        let factors: Vec<f64> = factors.map(|(op, time)| time / graph.ops(op)).collect();
        let found = moments(&factors);
        assert!((found.0 / mean - 1.0).abs() < 0.01 && (found.1 / variation - 1.0).abs() < 0.01, "{factor}: {found:?}");
        // The machines have nothing to do with each other, nor with the next op.
        let rows: Vec<&[f64]> = factors.chunks(4).collect();
        let column = |at: usize| rows.iter().map(|row| row[at]).collect::<Vec<_>>();
        for (a, b) in [(column(0), column(1)), (column(2)[1..].to_vec(), column(3)[..49_999].to_vec())] {
            assert!(spearman(&a, &b).abs() < 0.02, "{factor}");
        }
    }
}

#[test]
fn consistent_matrices_are_the_inconsistent_ones_in_order() {
    let of = |consistency: &str| {
        let text = format!("layered(nodes=300,times=cvb(0.5),machines=5,consistency={consistency},moved=uniform(1,9))");
        graph(&text, 8)
    };
    let (plain, semi, consistent) = (of("inconsistent"), of("semi"), of("consistent"));
    assert!(plain.op_ids().all(|op| plain.bytes_moved(op).is_some_and(|bytes| (1.0..=9.0).contains(&bytes))));
    assert!(matrix(&plain).iter().any(|row| !row.is_sorted()));
    for ((mut row, semi), consistent) in matrix(&plain).into_iter().zip(matrix(&semi)).zip(matrix(&consistent)) {
        let mut even = [row[0], row[2], row[4]];
        even.sort_by(f64::total_cmp);
        assert_eq!(semi, [even[0], row[1], even[1], row[3], even[2]]);
        row.sort_by(f64::total_cmp);
        assert_eq!(consistent, row);
    }
}

#[test]
fn the_ratio_of_communication_counts_the_times_that_are_drawn() {
    for family in ["layered(nodes=200,ops=uniform(1000,9000)", "leveled(costs.ops=uniform(1000,9000)"] {
        let graph = graph(&format!("{family},times=range(21),machines=3,ccr=0.5)"), 2);
        let computation = matrix(&graph).iter().flatten().sum::<f64>() / (3 * graph.op_count()) as f64;
        let bytes: f64 = graph.edges().map(|(_, edge)| graph.edge_bytes(edge) as f64).sum();
        let found = bytes / graph.edge_count() as f64 / computation;
        assert!((found / 0.5 - 1.0).abs() < 0.01, "{family} {found}");
    }
}

#[test]
fn what_says_how_times_are_drawn_needs_times() {
    for (text, message) in [
        ("layered(machines=8)", "'machines' and 'consistency' say how 'times' are drawn: give 'times', too"),
        ("layered(times=cvb(0))", "none, range(R) with R ≥ 1, cvb(V) with V in (0, 10], or share(β) with β in [0, 2)"),
        ("layered(times=cvb(0.5),machines=0)", "a whole number of at least 1 and at most 1024"),
        ("layered(times=cvb(0.5),consistency=half)", "inconsistent, semi or consistent"),
        ("leveled(consistency=semi)", "'machines' and 'consistency' say how 'times' are drawn: give 'times', too"),
    ] {
        let said = described(text).unwrap().unwrap_err();
        assert!(said.contains(message), "{said}");
    }
}
