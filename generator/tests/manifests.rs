//! Same parameters and seed, same bytes: on any number of threads, and against accidental change.

use placebench_generator::{
    Amount, Costs, Decay, Distribution, KindProbabilities, LevelEdges, LeveledChunks, LeveledParams, Manifest,
    ManifestError, generate_leveled, graph_sha256, redraw_costs,
};

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// A graph of several spans of work, with a decay.
fn decaying() -> LeveledParams {
    let mut params = LeveledParams::new(300, (100, 200));
    params.level_edges =
        LevelEdges { amount: Amount::Probability(0.02), limit: None, decay: Decay::Exponential { scale: 2.0 } };
    params.random_edges = Amount::Probability(0.0001);
    params.costs.ops = Distribution::LogNormal { mu: 3.0, sigma: 1.0 };
    params.colocation.nodes = 5000;
    params
}

#[test]
fn the_same_bytes_come_out_on_any_number_of_threads() {
    for params in [LeveledParams::preset("laich6").unwrap().scaled(4.0), decaying()] {
        let made = on_threads(1, || generate_leveled(&params, 11).unwrap());
        for threads in [2, 5] {
            assert_eq!(on_threads(threads, || generate_leveled(&params, 11).unwrap()), made);
        }
        assert_ne!(on_threads(2, || generate_leveled(&params, 12).unwrap()), made);
        let costs = Costs { tensor_bytes: Distribution::Pareto { scale: 3.0, shape: 2.0 }, ..Costs::default() };
        let kinds = KindProbabilities { cpu: 0.2, gpu: 0.2, tpu: 0.0 };
        let redraw = || redraw_costs(&made.graph, 5, &costs, Some(&kinds)).unwrap();
        assert_eq!(on_threads(5, redraw), on_threads(1, redraw));
    }
}

/// Changes here change every graph that users have made: raise the version and say so in the change log.
#[test]
fn the_presets_are_what_they_have_always_been() {
    let golden = [
        ("laich3", "597d984bf7888e906c75e813bc92895ee4e398bb091f3ecdec147b124ce8dda0"),
        ("laich6", "faf3eea64dac0b8b7584c00453f686df22b923983332ea08eff89630c2a9559a"),
    ];
    for (preset, sha256) in golden {
        let made = generate_leveled(&LeveledParams::preset(preset).unwrap(), 42).unwrap();
        assert_eq!(graph_sha256(&made.graph), sha256, "{preset}");
    }
}

/// The matrix does not depend on threads, changes nothing else, is part of the content that a manifest checks, and comes back from
/// a parameter file; parts made alone have no columns for it.
#[test]
fn leveled_graphs_have_drawn_times() {
    let text = "levels = 200\nnodes_per_level = [20, 80]\nlevel_edges = { probability = 0.01, limit = 3 }\n";
    let times = "times = { factor = \"cvb(0.5)\", machines = 3, consistency = \"consistent\" }\n";
    let [plain, params] =
        [text.to_owned(), format!("{text}{times}")].map(|text| LeveledParams::from_toml(&text).unwrap());
    let [one, many] = [1, 3].map(|threads| on_threads(threads, || generate_leveled(&params, 7).unwrap()));
    assert_eq!(one, many);
    let matrix = one.graph.measured_times();
    assert_eq!(matrix.len(), 3);
    let rows = one.graph.op_ids().map(|op| matrix.iter().map(|times| times.of(op).unwrap()).collect::<Vec<_>>());
    assert!(rows.into_iter().all(|row| row.is_sorted() && row[0] > 0.0 && row[0] < row[2]));
    let bare = generate_leveled(&plain, 7).unwrap();
    assert_eq!((bare.stats, bare.level_offsets), (one.stats.clone(), one.level_offsets.clone()));
    assert_ne!(graph_sha256(&one.graph), graph_sha256(&bare.graph));

    let manifest = Manifest::new(&params, 7, &one);
    let read = Manifest::from_toml(&manifest.to_toml()).unwrap();
    assert_eq!((&read, read.check()), (&manifest, Ok(())));
    let refused = LeveledChunks::new(&params, 7).unwrap_err().to_string();
    assert!(refused.contains("their tables have no measured times"), "{refused}");
    for (wrong, said) in [
        ("cvb(0)\", machines = 3", "`factor` is 'cvb(0)', but must be range(R)"),
        ("cvb(1)\", machines = 0", "`machines` is 0, but must be in [1, 1024]"),
        (
            "cvb(1)\", consistency = \"half\"",
            "`consistency` is 'half', but must be one of inconsistent, semi, consistent",
        ),
    ] {
        let error = LeveledParams::from_toml(&format!("{text}times = {{ factor = \"{wrong} }}\n")).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let error = LeveledParams::from_toml(&format!("{text}times = \"cvb(0.6)\"\n")).unwrap_err();
    assert!(error.contains("expected a table, such as { factor = "), "{error}");
}

#[test]
fn a_manifest_notices_other_counts_and_other_content() {
    let params = LeveledParams::preset("laich4").unwrap();
    let manifest = Manifest::new(&params, 3, &generate_leveled(&params, 3).unwrap());
    let read = Manifest::from_toml(&manifest.to_toml()).unwrap();
    assert_eq!(read, manifest);
    assert_eq!(read.check(), Ok(()));

    let mut other = manifest.clone();
    other.seed = 4;
    assert!(matches!(other.check(), Err(ManifestError::Count { .. } | ManifestError::Content { .. })));
    let mut other = manifest.clone();
    other.parameters.costs.ops = Distribution::Uniform { min: 1, max: 101 };
    let message = other.check().unwrap_err().to_string();
    assert!(message.starts_with("the graph's content has SHA-256 ") && message.contains(&manifest.sha256), "{message}");
    let mut other = manifest.clone();
    other.counts.edges += 1;
    let message = other.check().unwrap_err().to_string();
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!("the graph has 42486 edges, but its manifest (version {version}) says 42487");
    assert!(message.starts_with(&expected), "{message}");
    let mut other = manifest.clone();
    other.parameters.levels = 1;
    assert!(matches!(other.check(), Err(ManifestError::Generator(_))));

    let graph = generate_leveled(&params, 3).unwrap().graph;
    assert_eq!(manifest.check_graph(&graph), Ok(()));
    let redrawn = redraw_costs(&graph, 1, &Costs::default(), None).unwrap();
    assert!(manifest.check_graph(&redrawn).is_err());
}

#[test]
fn every_seed_fits_a_manifest() {
    let params = LeveledParams::new(2, (2, 2));
    for seed in [0, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        let manifest = Manifest::new(&params, seed, &generate_leveled(&params, seed).unwrap());
        assert_eq!(Manifest::from_toml(&manifest.to_toml()), Ok(manifest));
    }
    let text = Manifest::new(&params, 1, &generate_leveled(&params, 1).unwrap()).to_toml();
    let message = Manifest::from_toml(&text.replace("seed = 1", "seed = -1")).unwrap_err();
    assert!(message.contains("the seed is -1"), "{message}");
}

#[test]
fn a_manifest_that_cannot_be_read_says_where() {
    let params = LeveledParams::preset("laich3").unwrap();
    let text = Manifest::new(&params, 3, &generate_leveled(&params, 3).unwrap()).to_toml();
    let message = Manifest::from_toml(&text.replace("\"leveled\"", "\"layered\"")).unwrap_err();
    assert!(message.starts_with("line 1: unknown variant `layered`"), "{message}");
    let message = Manifest::from_toml(&text.replace("levels = 1000\n", "levels = 0\n")).unwrap_err();
    assert!(message.contains("`levels` is 0"), "{message}");
}

#[test]
fn redrawn_weights_leave_the_structure_and_keep_groups_consistent() {
    let params = LeveledParams::preset("laich5").unwrap();
    let graph = generate_leveled(&params, 3).unwrap().graph;
    let costs = Costs { ops: Distribution::Constant { value: 7.0 }, ..Costs::default() };
    let redrawn = redraw_costs(&graph, 9, &costs, None).unwrap();
    for op in graph.op_ids() {
        assert_eq!(redrawn.predecessor_ops(op), graph.predecessor_ops(op));
        assert_eq!((redrawn.ops(op), redrawn.kinds(op)), (7.0, graph.kinds(op)));
        assert!((1..=100).contains(&redrawn.memory_bytes(op)));
    }
    assert!(graph.op_ids().any(|op| redrawn.memory_bytes(op) != graph.memory_bytes(op)));
    let all_gpu = KindProbabilities { gpu: 1.0, ..KindProbabilities::default() };
    let redrawn = redraw_costs(&graph, 9, &costs, Some(&all_gpu)).unwrap();
    assert!(redrawn.op_ids().all(|op| redrawn.kinds(op).to_string() == "GPU"));
    let half = KindProbabilities { cpu: 0.5, gpu: 0.5, tpu: 0.0 };
    let redrawn = redraw_costs(&graph, 9, &costs, Some(&half)).unwrap();
    for (_, members) in redrawn.colocation().groups() {
        assert!(members.iter().all(|&op| redrawn.kinds(op) == redrawn.kinds(members[0])));
    }
    let wrong = Costs { ops: Distribution::Uniform { min: 2, max: 1 }, ..Costs::default() };
    assert!(redraw_costs(&graph, 9, &wrong, None).unwrap_err().to_string().starts_with("`costs.ops` is uniform(2,1)"));
}
