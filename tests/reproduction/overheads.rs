//! The overheads in a reading of Bahnmüller 2018: fitted to the few numbers in the text of the thesis that say how long
//! ops and transfers take (its figures have no values), and shown in docs/REPRODUCTION.md.

use placebench::algorithms::{StopToken, registry};
use placebench::harness::evaluate::Evaluator;
use placebench::harness::execute::simulate::{ContentionFree, Simulator};
use placebench::harness::problem::{AddedOverheads, ClusterEntry, GraphEntry, Kinds, Problem};
use placebench::harness::suite::BuiltIn;

/// What the thesis prints: what, where, the value, and how people read it.
const PRINTED: [(&str, f64, Unit); 4] = [
    ("RNN, 2 GPUs: time of the expert / of one GPU (§5.7.1: 0.79 / 0.959)", 0.79 / 0.959, Unit::Ratio),
    ("NMT, 2 GPUs: time of the expert / of one GPU (§5.7.1: 1.284 / 0.876)", 1.284 / 0.876, Unit::Ratio),
    ("RNN: Scoring's worst alpha from 0.7 to 1.5 less its best (§5.4.1)", 0.025, Unit::Seconds),
    ("NMT: Scoring with alpha 0.7 less with 0.9, or the reverse (§5.4.3)", 0.5, Unit::Seconds),
];

#[derive(Clone, Copy)]
enum Unit {
    Ratio,
    Seconds,
}

/// B's machine with two GPUs, as the reading with overheads has it.
fn machine() -> ClusterEntry {
    let suite = BuiltIn::find("bahnmueller2018").unwrap().suite().unwrap();
    suite.clusters.into_iter().find(|cluster| cluster.label() == "gtx1080x2_overheads").unwrap()
}

/// Seconds of a training step under fifo.
fn seconds(problem: &Problem, placer: &str) -> f64 {
    let stop = StopToken::default();
    let evaluator = Evaluator { instance: &problem.instance, reference: None, seed: 0, stop: &stop };
    let placer = registry::placer(&placer.parse().unwrap()).unwrap();
    let fifo = registry::scheduler(&"fifo".parse().unwrap()).unwrap();
    let placed = evaluator.place(&*placer, &ContentionFree).unwrap();
    evaluator.execute(&placed, Some(&*fifo), &Simulator::new(&ContentionFree)).unwrap().metrics.makespan
}

/// Our values of what the thesis prints.
fn modelled(entry: &ClusterEntry) -> [f64; 4] {
    let problem = |graph| Problem::new(&GraphEntry::named(graph).unwrap(), entry, 0).unwrap();
    let (rnn, nmt) = (problem("lstm_lm"), problem("nmt"));
    let ratio = |problem| seconds(problem, "expert") / seconds(problem, "single_device");
    let scoring = |problem, tenths: u32| seconds(problem, &format!("scoring(alpha={})", f64::from(tenths) / 10.0));
    let sweep: Vec<f64> = (7..=15).map(|tenths| scoring(&rnn, tenths)).collect();
    let (least, most) =
        (sweep.iter().copied().fold(f64::INFINITY, f64::min), sweep.iter().copied().fold(0.0, f64::max));
    [ratio(&rnn), ratio(&nmt), most - least, (scoring(&nmt, 7) - scoring(&nmt, 9)).abs()]
}

/// How far off values are: the sum of squares of the logarithms of ours / theirs. Half and double are equally far off.
fn error(values: &[f64; 4]) -> f64 {
    values.iter().zip(PRINTED).map(|(ours, (_, theirs, _))| (ours / theirs).ln().powi(2)).sum()
}

/// The rows of the table in the documentation.
fn rows(values: &[f64; 4]) -> Vec<String> {
    let row = |(ours, (what, theirs, unit)): (&f64, (&str, f64, Unit))| {
        let shown = |value: f64| match unit {
            Unit::Ratio => format!("{value:.2}"),
            Unit::Seconds => format!("{value:.3} s"),
        };
        format!("| {what} | {} | {} | {:+.0} % |", shown(theirs), shown(*ours), (ours / theirs - 1.0) * 100.0)
    };
    values.iter().zip(PRINTED).map(row).collect()
}

#[test]
fn the_page_of_reproductions_shows_how_far_off_the_fitted_overheads_are() {
    let overheads = machine().overheads.unwrap();
    let page = super::documentation("REPRODUCTION.md");
    let fit = format!("{} µs an op and {} ms a transfer", overheads.op * 1e6, overheads.transfer * 1e3);
    let prose = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(prose.contains(&fit), "docs/REPRODUCTION.md lacks '{fit}'");
    let rows = rows(&modelled(&machine()));
    let lacks: Vec<&String> = rows.iter().filter(|row| !page.contains(*row)).collect();
    assert!(lacks.is_empty(), "docs/REPRODUCTION.md lacks\n{}", rows.join("\n"));
}

/// Fits anew. What a GPU can run does not run on a CPU here: an overhead that is the same on both would hide how much slower
/// the CPU is.
#[test]
#[ignore = "1,200 simulated steps: cargo test --release --workspace --test all fitted -- --ignored --nocapture"]
fn the_fitted_transfer_is_the_best_of_the_grid_and_ops_hardly_matter() {
    let machine = machine();
    let fitted = machine.overheads.unwrap();
    let mut tried = Vec::new();
    println!("µs an op  ms a transfer  error  values");
    for op in [0.0, 6.25e-6, 12.5e-6, 25e-6, 50e-6, 100e-6, 200e-6] {
        for transfer in [0.25e-3, 0.35e-3, 0.5e-3, 0.7e-3, 1e-3, 1.4e-3, 2e-3, 2.8e-3, 4e-3, 8e-3] {
            let overheads = AddedOverheads { op, transfer };
            let entry =
                ClusterEntry { overheads: Some(overheads), kinds: Some(Kinds::AcceleratorsOnly), ..machine.clone() };
            let values = modelled(&entry);
            println!("{:8.2}  {:13.2}  {:5.2}  {values:.3?}", op * 1e6, transfer * 1e3, error(&values));
            tried.push((error(&values), overheads));
        }
    }
    let least = |tried: &mut dyn Iterator<Item = &(f64, AddedOverheads)>| {
        tried.copied().min_by(|(a, _), (b, _)| a.total_cmp(b)).unwrap()
    };
    let without = least(&mut tried.iter().filter(|(_, overheads)| overheads.op == fitted.op));
    assert_eq!(without.1, fitted);
    assert!(least(&mut tried.iter()).0 > 0.97 * without.0, "an overhead of ops explains more");
}
