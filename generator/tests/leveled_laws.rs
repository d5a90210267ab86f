//! Laws of the leveled generator, on random parameters.

use placebench_datasets::{Kind, KindSet, OpId};
use placebench_generator::{
    Amount, ColocationParams, Decay, KindProbabilities, LevelEdges, LeveledParams, LeveledPlan, generate_leveled,
    level_edges,
};
use proptest::prelude::*;

fn amounts(count: u64) -> impl Strategy<Value = Amount> {
    prop_oneof![(0..=count).prop_map(Amount::Count), (0.0..=1.0).prop_map(Amount::Probability)]
}

fn decays() -> impl Strategy<Value = Decay> {
    prop_oneof![
        3 => Just(Decay::None),
        1 => (0.1..8.0).prop_map(|scale| Decay::Exponential { scale }),
        1 => (0.5..6.0).prop_map(|exponent| Decay::Power { exponent }),
    ]
}

prop_compose! {
    fn any_params()(
        levels in 1..12u32,
        least in 0..6u32,
        more in 0..12u32,
        level_amount in amounts(60),
        limit in prop::option::of(1..6u32),
        decay in decays(),
        random_edges in amounts(60),
        reach_bounds: bool,
        colocated in 0..8u64,
        max_size in 3..6u32,
    ) -> LeveledParams {
        let mut params = LeveledParams::new(levels, (least, (least + more).max(1)));
        params.level_edges = LevelEdges { amount: level_amount, limit, decay };
        params.random_edges = random_edges;
        params.reach_bounds = reach_bounds;
        params.kinds = KindProbabilities { cpu: 0.3, gpu: 0.3, tpu: 0.1 };
        let nodes = colocated.min(u64::from(levels * least));
        params.colocation = ColocationParams { nodes: if nodes == 1 { 0 } else { nodes }, max_size, exponent: 1.5 };
        params
    }
}

/// Level of each op.
fn levels_of(offsets: &[u32]) -> Vec<usize> {
    offsets.windows(2).enumerate().flat_map(|(level, ends)| (ends[0]..ends[1]).map(move |_| level)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_graph_keeps_what_its_parameters_promise(params in any_params(), seed: u64) {
        let made = match generate_leveled(&params, seed) {
            Ok(made) => made,
            Err(error) => {
                // The only thing that can be wrong with these parameters is that there are not enough pairs.
                prop_assert!(error.to_string().contains("pairs of ops"), "{error}");
                return Ok(());
            }
        };
        let (graph, stats, level) = (&made.graph, &made.stats, levels_of(&made.level_offsets));
        let (least, most) = params.nodes_per_level;

        prop_assert_eq!(made.level_offsets.len(), params.levels as usize + 1);
        for sizes in made.level_offsets.windows(2) {
            prop_assert!((least..=most).contains(&(sizes[1] - sizes[0])));
        }
        if params.reach_bounds && params.levels > 1 {
            prop_assert_eq!((stats.least_nodes_per_level, stats.most_nodes_per_level), (u64::from(least), u64::from(most)));
        }
        prop_assert_eq!((stats.nodes, stats.edges), (graph.op_count() as u64, graph.edge_count() as u64));
        prop_assert_eq!(stats.level_edges + stats.random_edges, stats.edges);
        for (amount, made) in [(params.level_edges.amount, stats.level_edges), (params.random_edges, stats.random_edges)] {
            if let Amount::Count(count) = amount {
                prop_assert_eq!(made, count);
            }
        }

        let mut beyond_limit = 0;
        for op in graph.op_ids() {
            let sources = graph.predecessor_ops(op);
            prop_assert!(sources.is_sorted_by(|a, b| a < b), "sources ascend, so no edge is there twice");
            for source in sources {
                prop_assert!(level[source.index()] < level[op.index()]);
                let span = (level[op.index()] - level[source.index()]) as u32;
                beyond_limit += u64::from(params.level_edges.limit.is_some_and(|limit| span > limit));
            }
            let weights = [graph.ops(op) as u64, graph.memory_bytes(op), graph.edge_bytes(graph.successors(op).next()
                .unwrap_or(placebench_datasets::Edge { op, tensor: graph.output(op, 0) }))];
            prop_assert!(weights.iter().all(|weight| (1..=100).contains(weight)), "{weights:?}");
        }
        prop_assert!(beyond_limit <= stats.random_edges);

        prop_assert_eq!(stats.colocated_nodes, params.colocation.nodes);
        for (_, members) in graph.colocation().groups() {
            prop_assert!((2..=params.colocation.max_size as usize).contains(&members.len()));
            let common = members.iter().fold(KindSet::ALL, |set, &op| set.intersection(graph.kinds(op)));
            prop_assert!(!common.is_empty());
        }
    }

    #[test]
    fn a_level_made_alone_is_the_level_of_the_whole_graph(params in any_params(), seed: u64, pick: prop::sample::Index) {
        let Ok(made) = generate_leveled(&params, seed) else { return Ok(()) };
        let level = pick.index(params.levels as usize);
        let alone = level_edges(&params, seed, level).unwrap();
        let targets = made.level_offsets[level]..made.level_offsets[level + 1];
        let whole: Vec<(OpId, OpId)> = targets
            .map(OpId)
            .flat_map(|op| made.graph.predecessor_ops(op).iter().map(move |&source| (source, op)))
            .collect();
        prop_assert_eq!(alone, whole);
    }

    #[test]
    fn random_edges_never_repeat_level_edges_however_dense(levels in 2..5u32, nodes in 1..5u32, seed: u64, part in 0.0..=1.0) {
        let mut params = LeveledParams::new(levels, (nodes, nodes));
        let neighbours = u64::from((levels - 1) * nodes * nodes);
        let all = u64::from(levels * (levels - 1) / 2 * nodes * nodes);
        let by_level = (neighbours as f64 * part) as u64;
        params.level_edges = LevelEdges { amount: Amount::Count(by_level), limit: Some(1), decay: Decay::None };
        params.random_edges = Amount::Count(all - by_level);
        let made = generate_leveled(&params, seed).unwrap();
        prop_assert_eq!(made.graph.edge_count() as u64, all);
    }
}

#[test]
fn probability_one_connects_all_pairs_within_the_limit_and_probability_zero_none() {
    let mut params = LeveledParams::new(5, (3, 3));
    params.level_edges = LevelEdges { amount: Amount::Probability(1.0), limit: Some(2), decay: Decay::None };
    assert_eq!(generate_leveled(&params, 1).unwrap().stats.edges, (4 + 3) * 9);
    params.level_edges.amount = Amount::Probability(0.0);
    assert_eq!(generate_leveled(&params, 1).unwrap().stats.edges, 0);
}

#[test]
fn every_pair_within_the_limit_is_equally_likely_whether_by_probability_or_by_count() {
    for amount in [Amount::Probability(0.3), Amount::Count(10)] {
        let mut params = LeveledParams::new(3, (3, 3));
        params.level_edges = LevelEdges { amount, limit: Some(2), decay: Decay::None };
        let mut counts = vec![0f64; 81];
        for seed in 0..20_000 {
            let plan = LeveledPlan::new(&params, seed).unwrap();
            for (source, target) in (0..3).flat_map(|level| plan.edges_into(level)) {
                counts[source.index() * 9 + target.index()] += 1.0;
            }
        }
        let used: Vec<f64> = counts.into_iter().filter(|&count| count > 0.0).collect();
        assert_eq!(used.len(), 27);
        let mean = used.iter().sum::<f64>() / 27.0;
        // Chi-squared with 26 degrees of freedom (fewer with a fixed count, which lowers the variance).
        let chi_squared: f64 = used.iter().map(|count| (count - mean).powi(2) / mean).sum();
        assert!(chi_squared < 62.0, "{amount:?}: {chi_squared}");
    }
}

#[test]
fn a_decay_thins_edges_out_as_its_factor_says() {
    for decay in [Decay::Exponential { scale: 2.0 }, Decay::Power { exponent: 1.5 }] {
        for amount in [Amount::Probability(0.02), Amount::Count(20_000)] {
            let mut params = LeveledParams::new(60, (30, 30));
            params.level_edges = LevelEdges { amount, limit: None, decay };
            let made = generate_leveled(&params, 3).unwrap();
            let mut by_span = [0f64; 60];
            for (source, edge) in made.graph.edges() {
                by_span[((edge.op.0 / 30) - (source.0 / 30)) as usize] += 1.0;
            }
            for span in [2usize, 3, 5, 8] {
                let pairs = (60 - span) as f64 / 59.0;
                let expected = by_span[1] * pairs * decay.factor(span as u32);
                let tolerance = 5.0 * expected.sqrt() + 0.05 * expected;
                assert!((by_span[span] - expected).abs() < tolerance, "{decay} {amount:?} {span}: {by_span:?}");
            }
        }
    }
}

#[test]
fn a_decaying_count_that_takes_nearly_every_pair_still_ends() {
    let mut params = LeveledParams::new(12, (10, 10));
    params.level_edges =
        LevelEdges { amount: Amount::Count(6_590), limit: None, decay: Decay::Exponential { scale: 0.5 } };
    assert_eq!(generate_leveled(&params, 3).unwrap().stats.edges, 6_590);
}

#[test]
fn kind_constraints_come_as_often_as_their_probabilities_say() {
    let mut params = LeveledParams::new(100, (500, 500));
    params.kinds = KindProbabilities { cpu: 0.1, gpu: 0.25, tpu: 0.05 };
    params.colocation.nodes = 20_000;
    let graph = generate_leveled(&params, 5).unwrap().graph;
    let share = |set: KindSet| graph.op_ids().filter(|&op| graph.kinds(op) == set).count() as f64 / 50_000.0;
    for (kind, expected) in [(Kind::Cpu, 0.1), (Kind::Gpu, 0.25), (Kind::Tpu, 0.05)] {
        assert!((share(KindSet::only(kind)) - expected).abs() < 0.01, "{kind}: {}", share(KindSet::only(kind)));
    }
}

#[test]
fn each_wrong_parameter_is_one_clear_line() {
    let base = "levels = 10\nnodes_per_level = [5, 9]\n";
    for (text, expected) in [
        ("levels = 0\nnodes_per_level = [1, 2]", "`levels` is 0, but must be at least 1"),
        ("levels = 2\nnodes_per_level = [3, 2]", "`nodes_per_level` is [3, 2], but must be [least, largest]"),
        ("levels = 2\nnodes_per_level = [0, 0]", "`nodes_per_level` is [0, 0]"),
        ("levels = -2\nnodes_per_level = [0, 1]", "line 1: invalid value: integer `-2`"),
        ("levels = 4000000000\nnodes_per_level = [5, 9]", "the graph would have 36000000000 ops"),
        (&format!("{base}nodes = 49"), "`nodes` is 49, but must be in [50, 90]"),
        (&format!("{base}nodes = 50\nreach_bounds = true"), "`nodes` is 50, but must be in [54, 86]"),
        (&format!("{base}level_edges = {{ probability = 1.5 }}"), "`level_edges.probability` is 1.5"),
        (&format!("{base}level_edges = {{ probability = nan }}"), "`level_edges.probability` is NaN"),
        (&format!("{base}level_edges = {{ probability = 0.5, count = 3 }}"), "line 3: give either"),
        (&format!("{base}level_edges = {{ count = -3 }}"), "line 3: invalid value: integer `-3`"),
        (&format!("{base}level_edges = {{ count = 3, limit = 0 }}"), "`level_edges.limit` is 0"),
        (&format!("{base}level_edges = {{ count = 3, decay = \"exponential(-1)\" }}"), "given a finite number > 0"),
        (&format!("{base}level_edges = {{ count = 3, decay = \"cubic(1)\" }}"), "'cubic(1)' is no decay"),
        (&format!("{base}random_edges = {{ probability = -0.1 }}"), "`random_edges.probability` is -0.1"),
        (&format!("{base}random_edges = {{ count = 1, limit = 2 }}"), "random edges have no `limit`"),
        (&format!("{base}colocation = {{ nodes = 91 }}"), "`colocation.nodes` is 91, but must be at most"),
        (&format!("{base}colocation = {{ nodes = 1 }}"), "`colocation.nodes` is 1"),
        (&format!("{base}colocation = {{ nodes = 5, max_size = 2 }}"), "`colocation.nodes` is 5"),
        (&format!("{base}colocation = {{ nodes = 5, max_size = 1 }}"), "`colocation.max_size` is 1"),
        (&format!("{base}colocation = {{ nodes = 5, exponent = nan }}"), "`colocation.exponent` is NaN"),
        (&format!("{base}kinds = {{ cpu = 0.6, gpu = 0.6 }}"), "`kinds` is 1.2 in sum"),
        (&format!("{base}kinds = {{ cpu = nan }}"), "`kinds.cpu` is NaN"),
        (&format!("{base}costs = {{ ops = \"uniform(9,1)\" }}"), "the minimum 9 is above the maximum 1"),
        (&format!("{base}edges = 4"), "line 3: unknown field `edges`"),
    ] {
        let message = LeveledParams::from_toml(text).unwrap_err();
        assert!(message.contains(expected), "{text}: {message}");
        assert!(!message.contains('\n'));
    }
}

#[test]
fn more_edges_than_pairs_and_more_colocated_nodes_than_drawn_are_refused_when_the_sizes_are_known() {
    let mut params = LeveledParams::new(3, (2, 2));
    params.level_edges = LevelEdges { amount: Amount::Count(9), limit: Some(1), decay: Decay::None };
    let message = generate_leveled(&params, 1).unwrap_err().to_string();
    assert!(message.starts_with("`level_edges.count` asks for 9 edges, but there are only 8 pairs"), "{message}");
    params.level_edges.amount = Amount::Count(8);
    params.random_edges = Amount::Count(5);
    let message = generate_leveled(&params, 1).unwrap_err().to_string();
    assert!(message.starts_with("`random_edges.count` asks for 5 edges, but there are only 4 pairs"), "{message}");
    params.random_edges = Amount::Count(4);
    params.level_edges.decay = Decay::Power { exponent: 1.0 };
    assert_eq!(generate_leveled(&params, 1).unwrap().stats.edges, 12);
    params.level_edges.amount = Amount::Count(9);
    assert!(generate_leveled(&params, 1).unwrap_err().to_string().contains("only 8 pairs"));
    let mut params = LeveledParams::new(1, (2, 1000));
    params.colocation.nodes = 999;
    assert!(generate_leveled(&params, 1).unwrap_err().to_string().contains("`colocation.nodes` is 999"));
}

#[test]
fn parameters_survive_a_round_trip_through_toml() {
    let mut params = LeveledParams::preset("laich4").unwrap();
    params.level_edges = LevelEdges { decay: Decay::Power { exponent: 2.5 }, ..params.level_edges };
    params.random_edges = Amount::Probability(0.25);
    assert_eq!(LeveledParams::from_toml(&toml::to_string(&params).unwrap()), Ok(params));
}
