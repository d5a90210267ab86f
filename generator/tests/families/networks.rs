//! Networks have the weights and flops that their sources report, and gradients for each op that learns.

use placebench_datasets::DataflowGraph;

use super::{class, counts, graph, ops_of};

/// Weights of all variables.
fn weights(graph: &DataflowGraph) -> u64 {
    graph.op_ids().filter(|&op| class(graph, op) == "Variable").map(|op| graph.memory_bytes(op) / 4).sum()
}

#[test]
fn residual_networks_have_the_weights_and_multiplications_that_are_published() {
    for (preset, published, multiplications) in
        [("resnet18", 11_689_512, 1_814_073_344.0), ("resnet34", 21_797_672, 3_663_761_408.0)]
    {
        let network = graph(&format!("{preset}(batch=1)"), 0);
        assert_eq!(weights(&network), published, "{preset}");
        assert_eq!(ops_of(&network, &["Conv", "Dense"]) / 2.0, multiplications, "{preset}");
        let batch = graph(&format!("{preset}(batch=8)"), 0);
        assert_eq!(ops_of(&batch, &["Conv", "Dense"]), 16.0 * multiplications);
        assert_eq!(weights(&batch), published);
    }
    assert_eq!(counts("resnet18").0, 54);
}

#[test]
fn transformers_have_the_weights_and_flops_of_their_formulas() {
    // BERT base: 12 layers of 12d² + 13d, and the embedding.
    let bert = graph("bert_base(batch=2)", 0);
    assert_eq!(weights(&bert), 85_054_464 + 30_522 * 768);
    let products = ["Project", "Scores", "Context", "Combine", "Expand", "Contract"];
    // 24bsd²(1 + s/6d) a layer (Narayanan et al. 2021).
    let (b, s, d) = (2.0, 512.0, 768.0);
    assert_eq!(ops_of(&bert, &products), 12.0 * 24.0 * b * s * d * d * (1.0 + s / (6.0 * d)));
    for (layers, heads) in [(1, 1), (2, 4), (3, 8)] {
        let ops = counts(&format!("transformer(layers={layers},heads={heads})")).0;
        assert_eq!(ops, layers * (5 * heads + 12) + 4);
    }
    // Each token costs as much with one of eight experts as without, but for the router.
    let one = graph("switch_base8(experts=0)", 0);
    let eight = graph("switch_base8", 0);
    assert_eq!(ops_of(&eight, &["Expert"]), ops_of(&one, &["Expand", "Contract"]));
    assert_eq!(ops_of(&graph("switch_base8(top=2)", 0), &["Expert"]), 2.0 * ops_of(&eight, &["Expert"]));
    let feed_forward = 12 * (2 * 768 * 3072 + 3072 + 768);
    assert_eq!(weights(&eight), weights(&one) + 7 * feed_forward + 12 * 768 * 8);
}

#[test]
fn a_decoders_cache_grows_by_a_token_a_step_and_stays_on_its_device() {
    let (layers, steps, prompt, d) = (3usize, 5usize, 64u64, 512u64);
    let graph = graph(&format!("decoder(layers={layers},steps={steps},prompt={prompt})"), 0);
    assert_eq!(graph.op_count(), 3 + 4 * layers + steps * (2 + 5 * layers));
    let caches: Vec<_> = graph.op_ids().filter(|&op| class(&graph, op) == "Cache").collect();
    let bytes: Vec<u64> = caches.iter().map(|&op| graph.tensor_bytes(graph.output(op, 0).unwrap())).collect();
    let expected: Vec<u64> = (0..(layers * steps) as u64).map(|at| 4 * 2 * d * (prompt + at / layers as u64)).collect();
    assert_eq!(bytes, expected);
    assert_eq!(graph.colocation().group_count(), layers);
    let groups: Vec<_> = caches.iter().map(|&op| graph.colocation().group_of(op)).collect();
    assert!(groups.windows(layers + 1).all(|window| window[0].is_some() && window[0] == window[layers]));
    // Weights: 12d² + 13d a layer, and the embedding.
    assert_eq!(weights(&graph), 3 * (12 * d * d + 13 * d) + 32_000 * d);
    // One token after c others costs 2 flops for each weight of the products, and 4cd a layer for attention.
    let flops = ops_of(&graph, &["Project", "Attend", "Combine", "FeedForward"]);
    let (d, prompt) = (d as f64, prompt as f64);
    let expected: f64 = (0..steps)
        .map(|step| {
            let tokens = if step == 0 { prompt } else { 1.0 };
            3.0 * tokens * (24.0 * d * d + 4.0 * d * (prompt + step as f64))
        })
        .sum();
    assert_eq!(flops, expected);
}

#[test]
fn recurrent_networks_are_unrolled_with_shared_weights() {
    for (cell, gates, states) in [("lstm", 4, 2), ("gru", 3, 1), ("plain", 1, 1)] {
        let (layers, steps) = (3, 5);
        let text = format!("rnn(layers={layers},steps={steps},hidden=100,batch=7,cell={cell})");
        let graph = graph(&text, 0);
        // An input, a variable a layer, the cells, an output.
        assert_eq!(graph.op_count(), layers * steps + layers + 2);
        assert_eq!(graph.edge_count(), 2 * layers * steps + states * layers * (steps - 1) + steps);
        assert_eq!(weights(&graph), layers as u64 * gates * (200 * 100 + 100));
        assert_eq!(ops_of(&graph, &["Cell"]), (layers * steps) as f64 * 2.0 * gates as f64 * 7.0 * 200.0 * 100.0);
    }
    let (l, s, t) = (2, 6, 4);
    assert_eq!(counts(&format!("seq2seq(layers={l},source={s},target={t})")).0, 7 + 2 * l + (s + t) * (l + 1) + 2 * t);
}

/// Training adds an op for each one on a path from weights and an update for each variable, and costs three times the
/// forward pass and the updates.
#[test]
fn gradients_follow_from_the_forward_pass() {
    for text in ["rnn", "seq2seq", "cnn", "transformer", "transformer(experts=4)"] {
        let open = text.strip_suffix(')').map_or_else(|| format!("{text}("), |text| format!("{text},"));
        let [forward, training] = [false, true].map(|on| graph(&format!("{open}training={on})"), 0));
        let variables = forward.op_ids().filter(|&op| class(&forward, op) == "Variable").count();
        let mut learns = vec![false; forward.op_count()];
        for op in forward.op_ids() {
            let inputs = forward.predecessor_ops(op);
            learns[op.index()] = class(&forward, op) == "Variable" || inputs.iter().any(|op| learns[op.index()]);
        }
        let learning: Vec<_> = forward.op_ids().filter(|op| learns[op.index()]).collect();
        // Each variable is among those that learn, and has an update.
        assert_eq!(training.op_count(), forward.op_count() + learning.len(), "{text}");
        let updates: Vec<_> = training.op_ids().filter(|&op| class(&training, op) == "Update").collect();
        assert_eq!(updates.len(), variables, "{text}");
        for &update in &updates {
            let group = training.colocation().group_of(update).expect("an update is where its variable is");
            let members = training.colocation().groups().find(|(known, _)| *known == group).unwrap().1;
            assert!(members.len() == 2 && class(&training, members[0]) == "Variable", "{text}");
        }
        let total = |graph: &DataflowGraph| graph.op_ids().map(|op| graph.ops(op)).sum::<f64>();
        let updates: f64 = updates.iter().map(|&op| training.ops(op)).sum();
        let learned: f64 = learning.iter().map(|&op| forward.ops(op)).sum();
        assert_eq!(total(&training), total(&forward) + 2.0 * learned + updates, "{text}");
        // Every gradient is used: nothing but updates, and the loss itself, is an end.
        let mut ends = training.op_ids().filter(|&op| training.out_degree(op) == 0);
        assert!(ends.all(|op| ["Update", "Loss"].contains(&class(&training, op))), "{text}");
    }
}
