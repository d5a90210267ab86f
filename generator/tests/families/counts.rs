//! Families without chance have the counts of their formulas, and the costs.

use placebench_datasets::{DataflowGraph, OpId};

use super::{class, counts, graph, ops_of};

#[test]
fn factorisations_have_the_ops_edges_and_flops_of_their_formulas() {
    for t in 1..9usize {
        assert_eq!(counts(&format!("cholesky(tiles={t})")), (t * (t + 1) * (t + 2) / 6, (t - 1) * t * (t + 1) / 2));
        assert_eq!(counts(&format!("lu(tiles={t})")), (t * (t + 1) * (2 * t + 1) / 6, (t - 1) * t * (2 * t + 1) / 2));
        // As many flops as the whole matrix needs without tiles.
        for b in [1, 3, 64] {
            let n = (t * b) as f64;
            let total = |family: &str| {
                let graph = graph(&format!("{family}(tiles={t},tile={b})"), 0);
                graph.op_ids().map(|op| graph.ops(op)).sum::<f64>()
            };
            let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected.max(1.0);
            assert!(close(total("cholesky"), n * n * n / 3.0 + n * n / 2.0 + n / 6.0), "{t} {b}");
            assert!(close(total("lu"), 2.0 * n * n * n / 3.0 - n * n / 2.0 - n / 6.0), "{t} {b}");
        }
    }
    let graph = graph("cholesky(tiles=3,tile=10)", 0);
    assert!(graph.op_ids().all(|op| graph.output(op, 0).is_some_and(|tile| graph.tensor_bytes(tile) == 800)));
    // POTRF, two TRSM, SYRK, GEMM, SYRK, POTRF, TRSM, SYRK, POTRF.
    let kinds: Vec<&str> = graph.op_ids().map(|op| class(&graph, op)).collect();
    assert_eq!(kinds, ["POTRF", "TRSM", "TRSM", "SYRK", "GEMM", "SYRK", "POTRF", "TRSM", "SYRK", "POTRF"]);
    assert_eq!(graph.predecessor_ops(OpId(4)), [OpId(2), OpId(1)]);
    assert_eq!(graph.predecessor_ops(OpId(8)), [OpId(5), OpId(7)]);
}

/// An elimination in place, whose accesses to columns are recorded.
#[test]
fn gauss_depends_as_an_elimination_by_columns_does() {
    for m in 2..9usize {
        let graph = graph(&format!("gauss(size={m})"), 0);
        assert_eq!((graph.op_count(), graph.edge_count()), ((m * m + m - 2) / 2, m * m - m - 1));
        let mut writer: Vec<Option<usize>> = vec![None; m];
        let mut number = 0;
        for k in 0..m - 1 {
            let mut access = |columns: &[usize]| {
                let mut expected: Vec<OpId> = columns.iter().filter_map(|&c| writer[c]).map(OpId::new).collect();
                let op = OpId::new(number);
                let mut found = graph.predecessor_ops(op).to_vec();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "size {m}, op {op}");
                writer[columns[0]] = Some(number);
                number += 1;
                op
            };
            let pivot = access(&[k]);
            assert_eq!((class(&graph, pivot), graph.ops(pivot)), ("Pivot", (m - k - 1) as f64));
            for j in k + 1..m {
                let update = access(&[j, k]);
                assert_eq!((class(&graph, update), graph.ops(update)), ("Update", 2.0 * (m - k - 1) as f64));
            }
        }
    }
    // Topcuoglu et al. 2002: 14 tasks for a matrix of 5.
    assert_eq!(counts("gauss(size=5)").0, 14);
}

#[test]
fn a_butterfly_reaches_every_point_from_every_point() {
    for exponent in 0..6usize {
        let m = 1 << exponent;
        let graph = graph(&format!("fft(points={m})"), 1);
        assert_eq!(graph.op_count(), 2 * m - 1 + m * exponent);
        assert_eq!(graph.edge_count(), 2 * m - 2 + 2 * m * exponent);
        // The leaves of the tree are the inputs of the butterflies.
        let leaves = m - 1..2 * m - 1;
        let mut reaches: Vec<u64> = vec![0; graph.op_count()];
        leaves.clone().for_each(|leaf| reaches[leaf] = 1 << (leaf - leaves.start));
        for op in graph.op_ids().skip(leaves.end) {
            reaches[op.index()] = graph.predecessor_ops(op).iter().fold(0, |set, op| set | reaches[op.index()]);
        }
        let all = if m == 64 { u64::MAX } else { (1 << m) - 1 };
        assert!(reaches[graph.op_count() - m..].iter().all(|&set| set == all), "{m}");
    }
}

#[test]
fn grids_have_the_edges_of_their_formulas() {
    for (side, d, steps) in [(1usize, 1u32, 4usize), (5, 1, 3), (4, 2, 5), (3, 3, 2), (7, 2, 1)] {
        let cells = side.pow(d);
        let edges = (steps - 1) * (cells + 2 * d as usize * side.pow(d - 1) * (side - 1));
        let text = format!("stencil(side={side},dimensions={d},steps={steps}");
        assert_eq!(counts(&format!("{text})")), (cells * steps, edges), "{text}");
        if side > 2 {
            let edges = (steps - 1) * cells * (1 + 2 * d as usize);
            assert_eq!(counts(&format!("{text},periodic=true)")), (cells * steps, edges), "{text}");
        }
    }
    assert_eq!(counts("stencil(side=2,dimensions=2,steps=2,periodic=true)").1, 4 * 3);
    for (r, c) in [(1, 1), (1, 5), (4, 7)] {
        let edges = r * (c - 1) + c * (r - 1);
        assert_eq!(counts(&format!("wavefront(rows={r},columns={c})")), (r * c, edges));
        let corners = (r - 1) * (c - 1);
        assert_eq!(counts(&format!("wavefront(rows={r},columns={c},diagonal=true)")), (r * c, edges + corners));
    }
    let cells = graph("stencil(side=4,dimensions=2,steps=2)", 1);
    let sources: Vec<u32> = cells.predecessor_ops(OpId(16 + 5)).iter().map(|op| op.0).collect();
    assert_eq!(sources, [1, 4, 5, 6, 9]);
}

#[test]
fn workflows_have_the_shapes_of_their_sources() {
    for (m, r, rounds) in [(1, 1, 1), (12, 4, 1), (3, 5, 3), (6, 2, 4)] {
        let edges = m + (rounds - 1) * m.max(r) + rounds * m * r + r;
        let text = format!("map_reduce(maps={m},reduces={r},rounds={rounds})");
        assert_eq!(counts(&text), (rounds * (m + r) + 2, edges), "{text}");
        let graph = graph(&text, 1);
        // Whatever is made is used, but for the last result.
        assert!(graph.op_ids().take(graph.op_count() - 1).all(|op| graph.out_degree(op) > 0), "{text}");
    }
    for (r, c) in [(1, 1), (1, 4), (3, 3), (5, 2)] {
        let (n, d) = (r * c, r * (c - 1) + c * (r - 1) + 2 * (r - 1) * (c - 1));
        let text = format!("montage(rows={r},columns={c})");
        assert_eq!(counts(&text), (2 * n + d + 6, 4 * n + 3 * d + 4), "{text}");
        let graph = graph(&text, 1);
        let fits = graph.op_ids().filter(|&op| class(&graph, op) == "mDiffFit");
        for fit in fits {
            let [a, b] = graph.predecessor_ops(fit) else { panic!("a fit is of two images") };
            let (a, b) = (a.index(), b.index());
            assert!((a / c).abs_diff(b / c) <= 1 && (a % c).abs_diff(b % c) <= 1 && a != b, "{a} {b}");
        }
    }
    for (l, c) in [(1, 1), (2, 4), (7, 18)] {
        assert_eq!(counts(&format!("epigenomics(lanes={l},chunks={c})")), (l * (4 * c + 2) + 3, l * (5 * c + 1) + 2));
        assert_eq!(counts(&format!("cybershake(ruptures={l},variations={c})")), (l * (1 + 2 * c) + 2, 4 * l * c));
    }
    let epigenomics = graph("epigenomics(lanes=3,chunks=5)", 1);
    let count = |wanted: &str| epigenomics.op_ids().filter(|&op| class(&epigenomics, op) == wanted).count();
    assert_eq!(["fastQSplit", "map", "mapMerge", "pileup"].map(count), [3, 15, 4, 1]);
}

#[test]
fn trees_are_trees_of_their_degree() {
    for (n, d) in [(1usize, 1usize), (7, 1), (63, 2), (100, 3), (1000, 7)] {
        for shape in ["complete", "random"] {
            for family in ["out_tree", "in_tree"] {
                let text = format!("{family}(nodes={n},degree={d},shape={shape})");
                let graph = graph(&text, 4);
                assert_eq!((graph.op_count(), graph.edge_count()), (n, n - 1), "{text}");
                let (one, many) = degrees(&graph, family == "out_tree");
                assert!(one.iter().all(|&degree| degree <= 1) && many.iter().all(|&degree| degree <= d), "{text}");
                if shape == "complete" && n > 1 {
                    // All but the last parent have all their children.
                    let full = many.iter().filter(|&&degree| degree == d).count();
                    assert_eq!(full, (n - 1) / d, "{text}");
                }
            }
        }
    }
}

/// The degrees towards the root and away from it.
fn degrees(graph: &DataflowGraph, out: bool) -> (Vec<usize>, Vec<usize>) {
    let ins = graph.op_ids().map(|op| graph.in_degree(op)).collect();
    let outs = graph.op_ids().map(|op| graph.out_degree(op)).collect();
    if out { (ins, outs) } else { (outs, ins) }
}

#[test]
fn a_column_of_costs_can_be_drawn_for_families_that_have_their_own() {
    let drawn = graph("cholesky(tiles=4,ops=constant(7))", 0);
    assert!(drawn.op_ids().all(|op| drawn.ops(op) == 7.0));
    assert_eq!(ops_of(&drawn, &["POTRF"]), 28.0);
    assert!(drawn.op_ids().all(|op| drawn.output(op, 0).is_some_and(|tile| drawn.tensor_bytes(tile) == 8 * 512 * 512)));
}
