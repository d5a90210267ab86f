//! SimGrid, a simulator by others, must find the same times for every op, under every network model.
//!
//! Runs where SimGrid is installed (Debian: `libsimgrid-dev`, 3.32) with a C++ compiler; elsewhere it says why it does not.
//! SimGrid is run by a program, `simgrid/check.cpp`. It gets the problem, the placement, and for each device the order of
//! its ops. Under `one_port` it also gets the order in which transfers start. It starts each op and each transfer when all
//! that it waits for has ended. SimGrid finds when things end.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use placebench_algorithms::{PlaceContext, registry};
use placebench_datasets::{DeviceId, Instance, OpId, PlacedGraph, Time, catalogue};
use placebench_generator::cluster_preset;
use placebench_harness::execute::simulate::{NETWORK_MODELS, NetworkModel, simulate};
use placebench_harness::timeline::Timeline;

/// SimGrid's precision is absolute, so times are counted in units so small that even the shortest op takes many.
const UNITS_A_SECOND: f64 = 1e9;

#[test]
fn simgrid_finds_the_same_finish_of_every_op() {
    let folder = tempfile::tempdir().unwrap();
    let program = match compiled(folder.path()) {
        Ok(program) => program,
        Err(reason) => {
            println!("not compared with SimGrid: {reason}");
            assert!(std::env::var_os("PLACEBENCH_NEEDS_SIMGRID").is_none(), "{reason}");
            return;
        }
    };
    let cluster = cluster_preset("gtx1080x4", 0).unwrap().unwrap();
    let mut worst: f64 = 0.0;
    let mut cases = 0;
    for name in ["convnet", "dynamic_rnn", "lstm_lm", "nmt", "recurrent", "resnet50", "transformer"] {
        let (_, graph) = catalogue::load(name).unwrap();
        let instance = Instance::new(graph, cluster.clone()).unwrap();
        for placer in ["heft", "hashing", "expert"] {
            let placer_of = registry::placer(&placer.parse().unwrap()).unwrap();
            let placement = placer_of.place(&instance, &PlaceContext::default()).unwrap().placement;
            let placed = PlacedGraph::new(&instance, &placement);
            for scheduler in ["fifo", "pct"] {
                let order = registry::scheduler(&scheduler.parse().unwrap()).unwrap();
                // SimGrid has no model like LogGP.
                for network in NETWORK_MODELS.into_iter().filter(|network| network.name() != "loggp") {
                    let timeline = simulate(&placed, &*order, None, network).unwrap();
                    let input = folder.path().join("input.txt");
                    std::fs::write(&input, text(&placed, &timeline, network)).unwrap();
                    let case = format!("{name}, {placer}, {scheduler}, {network}");
                    let finishes = finishes(&program, &input, &case);
                    assert_eq!(finishes.len(), instance.graph().op_count(), "{case}: finishes from SimGrid");
                    worst = worst.max(difference(&finishes, &timeline, &case));
                    cases += 1;
                }
            }
        }
    }
    println!("largest relative difference from SimGrid in {cases} cases: {worst:.1e}");
}

/// The largest relative difference of the finish of an op, which must be small.
fn difference(finishes: &[f64], timeline: &Timeline, case: &str) -> f64 {
    let mut worst: f64 = 0.0;
    for (op, found) in finishes.iter().enumerate() {
        let expected = timeline.finish(OpId::new(op)) * UNITS_A_SECOND;
        let error = (found - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
        assert!(error <= 1e-9, "{case}: op {op} ends at {found} in SimGrid, at {expected} here");
        worst = worst.max(error);
    }
    worst
}

/// The program that runs SimGrid, or why there is none.
fn compiled(folder: &Path) -> Result<PathBuf, String> {
    let found = Command::new("pkg-config").args(["--exists", "simgrid"]).status().is_ok_and(|status| status.success());
    if !found && !Path::new("/usr/include/simgrid/s4u.hpp").exists() {
        return Err("it is not installed (Debian: apt-get install libsimgrid-dev)".to_owned());
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simgrid/check.cpp");
    let program = folder.join("check");
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-O1"]).arg(source).arg("-lsimgrid").arg("-o").arg(&program);
    let output = command.output().map_err(|error| format!("there is no C++ compiler: {error}"))?;
    match output.status.success() {
        true => Ok(program),
        false => Err(format!("the program does not compile: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn finishes(program: &Path, input: &Path, case: &str) -> Vec<f64> {
    let output = Command::new(program).arg(input).output().unwrap();
    assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

/// The input of the program; its format is described there.
fn text(placed: &PlacedGraph<'_>, timeline: &Timeline, network: &'static dyn NetworkModel) -> String {
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let (shared, n) = (cluster.shared_links(), cluster.device_count());
    let mut out = format!("{network}\n{n} {} {} ", shared.count(), graph.op_count());
    writeln!(out, "{} {}", graph.edge_count(), placed.transfer_count()).unwrap();
    for from in cluster.device_ids() {
        for to in cluster.device_ids() {
            let (link, route) = (cluster.link(from, to), shared.route(from, to));
            let rate = if from == to { 1.0 } else { link.rate / UNITS_A_SECOND };
            write!(out, "{rate:?} {:?} {}", link.latency * UNITS_A_SECOND, route.len()).unwrap();
            route.iter().for_each(|link| write!(out, " {link}").unwrap());
            out.push('\n');
        }
    }
    for link in 0..shared.count() {
        writeln!(out, "{:?}", shared.capacity(link) / UNITS_A_SECOND).unwrap();
    }
    for op in graph.op_ids() {
        writeln!(out, "{} {:?}", placed.device_of(op), placed.exec_time(op) * UNITS_A_SECOND).unwrap();
    }
    for device in cluster.device_ids() {
        let order = order_on(placed, timeline, device);
        write!(out, "{}", order.len()).unwrap();
        order.iter().for_each(|op| write!(out, " {op}").unwrap());
        out.push('\n');
    }
    for (source, edge) in graph.edges() {
        let tensor = edge.tensor.map_or("-1".to_owned(), |tensor| tensor.to_string());
        writeln!(out, "{source} {} {tensor} {}", edge.op, graph.edge_bytes(edge)).unwrap();
    }
    let mut transfers: Vec<_> = placed.transfer_ids().map(|id| (timeline.transfer(placed, id), id)).collect();
    transfers
        .sort_by(|(a, id), (b, other)| a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end)).then(id.cmp(other)));
    for (_, id) in transfers {
        let transfer = placed.transfer(id);
        let tensor = transfer.tensor.map_or("-1".to_owned(), |tensor| tensor.to_string());
        writeln!(out, "{} {tensor} {}", transfer.source, transfer.to).unwrap();
    }
    out
}

/// The ops of a device in the order in which it executed them. An op that takes no time comes after those that it needs,
/// which the schedulers guarantee by topological depth here.
fn order_on(placed: &PlacedGraph<'_>, timeline: &Timeline, device: DeviceId) -> Vec<OpId> {
    let mut depth = vec![0usize; placed.instance().graph().op_count()];
    for (place, op) in placed.instance().graph().topological_order().enumerate() {
        depth[op.index()] = place;
    }
    let mut ops: Vec<OpId> = placed.instance().graph().op_ids().filter(|&op| placed.device_of(op) == device).collect();
    let times = |op: OpId| -> (Time, Time) { (timeline.start(op), timeline.finish(op)) };
    ops.sort_by(|&a, &b| {
        let ((a_start, a_end), (b_start, b_end)) = (times(a), times(b));
        let depths = depth[a.index()].cmp(&depth[b.index()]);
        a_start.total_cmp(&b_start).then(a_end.total_cmp(&b_end)).then(depths)
    });
    ops
}
