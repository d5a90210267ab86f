//! What passes bring when graphs are placed and executed.

use placebench_algorithms::{Placer, StopToken, registry};
use placebench_datasets::MemoryRule;
use placebench_harness::evaluate::Evaluator;
use placebench_harness::execute::simulate::{Simulator, network_model};
use placebench_harness::metrics::Metrics;
use placebench_harness::problem::{ClusterEntry, GraphEntry, Problem};

/// A graph with its passes on the first devices of a cluster, by a placer and a scheduler.
fn metrics(graph: &str, (cluster, devices): (&str, usize), placer: &str, scheduler: &str) -> Metrics {
    let entry =
        ClusterEntry { devices: Some(devices), memory: MemoryRule::Unlimited, ..ClusterEntry::named(cluster).unwrap() };
    let instance = Problem::new(&GraphEntry::named(graph).unwrap(), &entry, 0).unwrap().instance;
    let stop = StopToken::default();
    let evaluator = Evaluator { instance: &instance, reference: None, seed: 0, stop: &stop };
    let network = network_model("contention_free").unwrap();
    let placer: Box<dyn Placer> = registry::placer(&placer.parse().unwrap()).unwrap();
    let scheduler = registry::scheduler(&scheduler.parse().unwrap()).unwrap();
    let placed = evaluator.place(&*placer, network).unwrap();
    evaluator.execute(&placed, Some(&*scheduler), &Simulator::new(network)).unwrap().metrics
}

/// A step whose p stages follow each other takes p stages' time; in m micro-batches (m + p − 1) / m of a stage's: the known bubble
/// (Huang et al. 2019). What is left are transfers, overheads and the sum of gradients.
#[test]
fn a_divided_batch_on_stages_takes_as_long_as_its_bubble_says() {
    let step = "pipeline(stages=4,micro_batches=1,schedule=free,model=4096,sequence=8192)";
    let whole = metrics(step, ("h100x8", 4), "expert", "pct").makespan;
    for m in [2, 4, 8, 32] {
        let makespan = metrics(&format!("{step}+microbatch({m})"), ("h100x8", 4), "expert", "pct").makespan;
        let expected = f64::from(m + 3) / f64::from(m) / 4.0;
        assert!((makespan / whole / expected - 1.0).abs() < 0.02, "{m}: {} against {expected}", makespan / whole);
    }
}

/// On one device, in the order in which ops become ready. (By priorities weight gradients come last, and hold all activations, made again
/// or not.)
#[test]
fn activations_that_are_made_again_leave_less_in_memory() {
    for (graph, share) in [("gpt2", 0.75), ("vit_l", 0.4), ("resnet50", 0.55)] {
        let cluster = if graph == "vit_l" { ("h100x8", 1) } else { ("gtx1080x4", 1) };
        let kept = metrics(graph, cluster, "single_device", "fifo");
        let again = metrics(&format!("{graph}+recompute"), cluster, "single_device", "fifo");
        let ratio = again.peak_memory_bytes as f64 / kept.peak_memory_bytes as f64;
        assert!(ratio < share, "{graph}: {ratio}");
        // A step is a forward pass and twice as much backward: all of it again would be four thirds.
        let time = again.makespan / kept.makespan;
        assert!((1.0..1.36).contains(&time), "{graph}: {time}");
    }
}
