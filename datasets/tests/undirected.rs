//! The formats of partitioners: round trips, details of each, and files that are wrong with the line that a user sees.

use std::fs;
use std::path::{Path, PathBuf};

use placebench_datasets::format::undirected::{
    Undirected, read_binary_edges, read_dimacs, read_edge_list, read_hmetis, read_matrix_market, read_metis,
    read_partition, read_patoh, read_undirected, write_hmetis, write_metis, write_partition, write_patoh,
    write_undirected,
};
use placebench_datasets::format::{
    FORMATS, Format, FormatError, GraphHeader, undirected_format, undirected_format_named,
};
use placebench_datasets::{DataflowGraph, GraphBuilder, Hypergraph, Numbers, OpSpec, UndirectedGraph};
use proptest::collection::vec;
use proptest::prelude::*;

/// Reads every file of a folder of fixtures and compares what a user sees, without the folder's path.
fn check<T>(format: &str, read: impl Fn(&Path) -> Result<T, FormatError>, expected: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let prefix = format!("{}/", folder.display());
    let fault = |file: PathBuf| match read(&file) {
        Ok(_) => format!("{}: no fault", file.display()),
        Err(error) => error.to_string(),
    };
    let faults: Vec<String> = files.into_iter().map(|file| fault(file).replace(&prefix, "")).collect();
    assert_eq!(faults, expected);
}

#[test]
fn a_metis_graph_names_the_line_of_each_fault() {
    check(
        "metis_graph",
        |path| read_metis(path),
        &[
            "asymmetric.graph:5: vertex 3 has the neighbour 4, but vertex 4, on line 6, does not have 3: add it there, or remove it here",
            "asymmetric_below.graph:4: vertex 3 has the neighbour 1, but vertex 1, on line 2, does not have 3: add it there, or remove it here",
            "asymmetric_weight.graph:2: the edge from vertex 1 to 2 weighs 5, but 6 on line 3: give both the same weight",
            "bad_fmt.graph:1: fmt is '12': write three digits, each 0 or 1: vertex sizes, vertex weights, edge weights",
            "empty.graph: is empty: start with 'vertices edges'",
            "header_too_short.graph:1: the header has 1 number: write 'vertices edges [fmt [ncon]]'",
            "huge.graph:1: 5000000000 vertices are more than 32-bit ids can name",
            "missing_edge_weight.graph:3: the edge from vertex 2 to 1 has no weight: write a weight after each neighbour, as fmt promises",
            "missing_rows.graph:3: ends after 2 rows of 4: a vertex without neighbours has an empty line",
            "missing_vertex_weight.graph:4: vertex 3 has no weight: write what fmt in line 1 promises",
            "ncon_without_weights.graph:1: ncon is given, but fmt says that vertices have no weights: write fmt 10 or 11, or leave ncon out",
            "neighbour_beyond.graph:3: vertex 2 has the neighbour 4: vertices are numbered from 1 to 3",
            "neighbour_zero.graph:3: vertex 2 has the neighbour 0: vertices are numbered from 1 to 3",
            "no_number.graph:3: a neighbour is 'one': write a whole number from 0 to 2^64 - 1",
            "repeated_neighbour.graph:2: vertex 1 has the neighbour 2 twice: remove one",
            "self_loop.graph:2: vertex 1 is its own neighbour: remove the edge, as METIS demands",
            "too_many_rows.graph:5: is a row more than the 2 vertices of the header: correct the header, or remove the row",
            "two_constraints.graph:1: there are 2 weights a vertex (ncon): keep one: blocks are balanced by one weight here",
            "wrong_edge_count.graph:1: the header says 3 edges, but the rows have 2: count each edge once",
            "zero_edge_weight.graph:2: the edge from vertex 1 to 2 weighs 0: edge weights are at least 1",
        ],
    );
}

#[test]
fn an_hmetis_hypergraph_names_the_line_of_each_fault() {
    check(
        "hmetis",
        |path| read_hmetis(path),
        &[
            "an_empty_row.hgr:3: the net has no pins: name its vertices, or remove the empty line",
            "bad_fmt.hgr:1: fmt is '2': write 1 for net weights, 10 for vertex weights, 11 for both",
            "byte_order_mark.hgr:1: begins with a byte-order mark: save the file as UTF-8 without one",
            "empty.hgr: is empty: start with 'nets vertices'",
            "header_too_short.hgr:1: the header has 1 number: write 'nets vertices [fmt]'",
            "huge.hgr:1: 4000000000 vertices for only 1 net: number the vertices that have edges without large gaps",
            "missing_nets.hgr:3: ends after 2 nets of 3: add the others, or correct line 1",
            "missing_vertex_weights.hgr:4: ends after 2 vertex weights of 3: add the others, or write fmt without the 10",
            "net_of_nothing.hgr:3: the net has no pins: name its vertices, or remove it",
            "no_number.hgr:2: a pin is 'x': write a whole number from 0 to 2^64 - 1",
            "pin_beyond.hgr:2: the net has the pin 4: vertices are numbered from 1 to 3",
            "pin_zero.hgr:2: the net has the pin 0: vertices are numbered from 1 to 3",
            "repeated_pin.hgr:2: the net has the pin 1 twice: remove one",
            "too_many_nets.hgr:4: is a net too many: correct line 1, or remove it",
            "wide_nets.hgr:3: up to here, nets' weights, each counted for every pin but one, add up to more than 64 bits hold: divide all of them by one number",
            "wide_vertices.hgr:5: up to here, vertices' weights add up to more than 64 bits hold: divide all of them by one number",
        ],
    );
}

#[test]
fn a_patoh_hypergraph_names_the_line_of_each_fault() {
    check(
        "patoh",
        |path| read_patoh(path),
        &[
            "an_empty_row.u:3: the net has no pins: name its vertices, or remove the empty line",
            "bad_base.u:1: the first cell has the number 2: begin with 0 or 1; cells, nets and pins follow",
            "bad_scheme.u:1: the weighting scheme is '4': write 1 for cell weights, 2 for net weights, 3 for both",
            "byte_order_mark.u:1: begins with a byte-order mark: save the file as UTF-8 without one",
            "empty.u: is empty: start with 'base cells nets pins'",
            "header_too_short.u:1: the header has 3 numbers: write 'base cells nets pins [weights]'",
            "huge.u:1: 4000000000 vertices for only 1 net: number the vertices that have edges without large gaps",
            "line_too_many.u:4: is a line too many: remove it, or correct line 1; cell weights need the scheme 1 or 3",
            "missing_nets.u:3: ends after 1 net of 2: add the others, or correct line 2",
            "missing_weights.u:4: ends after 2 cell weights of 3: add the others, or correct line 1",
            "pin_beyond.u:2: the net has the pin 3: vertices are numbered from 0 to 2",
            "pin_zero.u:2: the net has the pin 0: vertices are numbered from 1 to 3",
            "repeated_pin.u:3: the net has the pin 2 twice: remove one",
            "two_constraints.u:1: there are 2 weights a cell (constraints): keep one: blocks are balanced by one weight here",
            "weights_too_many.u:4: has more weights than there are cells, 3: remove the others",
            "wide_cells.u:4: up to here, vertices' weights add up to more than 64 bits hold: divide all of them by one number",
            "wrong_pin_count.u:1: the header says 5 pins, but the nets have 4: correct it; net weights stand in the rows only with the weighting scheme 2 or 3",
        ],
    );
}

#[test]
fn patoh_reads_its_manual_s_forms() {
    let expected = |net_weights, vertex_weights| {
        Hypergraph::from_nets(4, vec![0, 2, 5], vec![0, 2, 1, 2, 3], net_weights, vertex_weights).unwrap()
    };
    let (nets, cells) = (Some(vec![5, 7]), Some(vec![1, 2, 3, 4]));
    for (text, expected) in [
        ("0 4 2 5\n0 2\n1 2 3\n", expected(None, None)),
        ("% a comment\n1 4 2 5 0\n1 3\n% another\n2 3 4\n\n", expected(None, None)),
        ("1 4 2 5 1\n1 3\n2 3 4\n1 2\n3 4\n", expected(None, cells.clone())),
        ("0 4 2 5 2\n5 0 2\n7 3 2 1\n", expected(nets.clone(), None)),
        ("0 4 2 5 3 1\n5 0 2\n7 3 2 1\n1 2 3 4\n", expected(nets, cells)),
    ] {
        let (_folder, path) = written("g.u", text);
        assert_eq!(read_patoh(&path).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_matrix_names_the_line_of_each_fault() {
    check(
        "matrix_market",
        |path| read_matrix_market(path, false),
        &[
            "above_diagonal.mtx:3: the entry in row 1, column 2 is above the diagonal: a symmetric matrix has its lower triangle only; declare others as general",
            "array.mtx:1: the form 'array' is no graph: use coordinate",
            "complex.mtx:1: the field 'complex' is no graph: use pattern or integer or real",
            "empty.mtx: is empty: start with '%%MatrixMarket matrix coordinate'",
            "fraction.mtx:3: the value is 2.5, which is no whole number: scale the values, declare the matrix as pattern, or ask for edges that weigh 1",
            "hermitian.mtx:1: the symmetry 'hermitian' is no graph: use symmetric or general",
            "missing_entries.mtx:4: ends after 1 of 2 entries: add the others, or correct the sizes",
            "missing_value.mtx:3: the entry has 2 numbers: write 'row column value'",
            "no_banner.mtx:1: is no Matrix Market banner: write '%%MatrixMarket matrix coordinate pattern symmetric'",
            "no_sizes.mtx:2: ends before the sizes: write 'rows columns entries'",
            "not_square.mtx:2: the matrix has 2 rows and 3 columns: only a square matrix is a graph",
            "row_beyond.mtx:3: the entry is in row 3: rows are numbered from 1 to 2",
            "row_zero.mtx:3: the entry is in row 0: rows are numbered from 1 to 2",
            "too_many_entries.mtx:4: is an entry too many: correct the sizes, or remove it",
        ],
    );
}

#[test]
fn a_dimacs_graph_names_the_line_of_each_fault_and_joins_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.gr");
    let read = |text: &str, ignore_weights| {
        fs::write(&path, text).unwrap();
        read_dimacs(&path, ignore_weights)
            .map_err(|error| error.to_string().replace(&format!("{}:", path.display()), ""))
    };
    for (text, expected) in [
        ("", " has no problem line: begin with 'p edge VERTICES EDGES'"),
        ("e 1 2\n", "1: comes before the problem line: begin with 'p edge' or 'p sp'"),
        ("p edge 2 0\np edge 2 0\n", "2: is a second problem line: drop one of both"),
        ("p tw 2 1\n", "1: names no problem that is read: write 'p edge' or 'p sp'"),
        ("p edge 2\n", "1: has 3 words: write 'p edge VERTICES EDGES' or 'p sp VERTICES ARCS'"),
        ("p edge 3 2\ne 1 2\n", "2: has 1 edge, but the problem line promises 2: correct the problem line"),
        ("p edge 3 1\ne 1 4\n", "2: there is no vertex 4: vertices are numbered from 1 to 3"),
        ("p edge 3 1\ne 0 1\n", "2: there is no vertex 0: vertices are numbered from 1 to 3"),
        ("p edge 3 1\na 1 2 5\n", "2: is 'a 1 2 5': after this problem line, write 'e A B'"),
        ("p sp 3 1\na 1 2\n", "2: is 'a 1 2': after this problem line, write 'a FROM TO WEIGHT'"),
        ("p sp 3 1\na 1 2 -5\n", "2: the weight is '-5': write a whole number from 0 to 2^64 - 1"),
        (
            "p sp 3 2\na 1 2 5\na 2 1 6\n",
            "3: arcs from 1 to 2 weigh 5, those back 6: an undirected edge has one weight: give both directions the same, or ignore weights",
        ),
        ("n 1 4\n", "1: begins with 'n': lines begin with c, p, e or a; weights of vertices (n) are not read"),
    ] {
        assert_eq!(read(text, false).unwrap_err(), expected, "{text}");
    }
    // Of the second challenge, with both directions, a loop and comments; of the ninth, with an arc of one direction only.
    let coloured = read("c mine\np col 4 4\ne 1 2\ne 2 1\ne 3 3\ne 4 2\n", false).unwrap();
    assert_eq!(coloured.edges().collect::<Vec<_>>(), [(0, 1, 1), (1, 3, 1)]);
    let roads = "c roads\n\np sp 4 5\na 1 2 7\na 2 1 7\na 3 2 9\na 4 1 2\na 4 1 3\n";
    assert_eq!(read(roads, false).unwrap().edges().collect::<Vec<_>>(), [(0, 1, 7), (0, 3, 5), (1, 2, 9)]);
    assert_eq!(read(roads, true).unwrap().edges().collect::<Vec<_>>(), [(0, 1, 1), (0, 3, 1), (1, 2, 1)]);
}

#[test]
fn a_list_of_edges_names_the_line_of_each_fault() {
    check(
        "edges",
        |path| read_edge_list(path, false),
        &[
            "beyond_declared.edges:3: there is no vertex 3: vertices are numbered from 0 to 2",
            "declared_late.edges:2: there is no vertex 3: '# vertices 3' says that they end before",
            "four_numbers.edges:1: the edge has 4 numbers: write 'vertex vertex' or 'vertex vertex weight'",
            "gap.edges:3: 4000000001 vertices for only 2 edges: number the vertices that have edges without large gaps",
            "id_too_large.edges:1: there is no vertex 4294967295: vertices are numbered from 0 to 4294967294",
            "mixed_weights.edges:2: the edge has no weight, but those before have one: give all edges a weight, or none",
            "mixed_weights_late.edges:2: the edge has a weight, but those before have none: give all edges a weight, or none",
            "negative.edges:2: a vertex is '-2': write a whole number from 0 to 2^64 - 1",
            "one_number.edges:3: the edge has 1 number: write 'vertex vertex' or 'vertex vertex weight'",
            "weight_of_words.edges:1: the weight is 'heavy': write a whole number from 0 to 2^64 - 1",
        ],
    );
}

#[test]
fn a_binary_file_of_edges_names_each_fault() {
    check(
        "binary_edges",
        |path| read_binary_edges(path),
        &[
            "cut_short.pbedges: has 34 bytes, but its header promises 2 edges, which take 40: it is cut short: write the file again",
            "empty.pbedges: is too short for a binary file of edges",
            "huge.pbedges: 2147483648 vertices for only 1 edge: number the vertices that have edges without large gaps",
            "overflowing.pbedges: its header promises 2305843009213693953 edges: too many",
            "unknown_vertex.pbedges: edge 1: joins 2 and 1, but there are only 2 vertices, from 0 on: correct the edge or the number of vertices",
            "wrong_magic.pbedges: is no binary file of edges: it does not begin with 'PBEDGES1': choose the format it has",
        ],
    );
}

#[test]
fn a_partition_names_the_line_of_each_fault() {
    check(
        "partition",
        |path| read_partition(path, 4, Some(4)),
        &[
            "block_beyond.part.4:3: the block is 4: blocks are numbered from 0 to 3",
            "empty.part.4:1: ends after 0 of 4 vertices: write one block a line; is the partition one of another graph?",
            "negative.part.4:2: the block is '-1': write a whole number from 0 to 2^64 - 1",
            "no_number.part.4:3: the block is 'zwei': write a whole number from 0 to 2^64 - 1",
            "too_long.part.4:5: is a line more than the graph has vertices, 4: is the partition one of another graph?",
            "too_short.part.4:3: ends after 3 of 4 vertices: write one block a line; is the partition one of another graph?",
            "two_numbers.part.4:1: the block is '0 1': write a whole number from 0 to 2^64 - 1",
        ],
    );
}

fn written(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn metis_reads_its_manual_s_examples() {
    // Figure 2 of the manual: seven vertices, eleven edges; with edge weights; with both; with vertex sizes too.
    let plain = "% the example\n7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n";
    let (_folder, path) = written("g.graph", plain);
    let graph = read_metis(&path).unwrap();
    assert_eq!((graph.vertex_count(), graph.edge_count(), graph.edge_weights()), (7, 11, None));
    assert_eq!(graph.neighbours(2), [0, 1, 3, 4]);
    let edges =
        "7 11 001\n5 1 3 2 2 1\n1 1 3 2 4 1\n5 3 4 2 2 2 1 2\n2 1 3 2 6 2 7 5\n1 1 3 3 6 2\n5 2 4 2 7 6\n6 6 4 5\n";
    let (_folder, path) = written("g.graph", edges);
    let graph = read_metis(&path).unwrap();
    assert_eq!(graph.edges_of(6).collect::<Vec<_>>(), [(3, 5), (5, 6)]);
    let sized = "2 1 111 1\n9 4 2 7\n9 0 1 7\n\n";
    let (_folder, path) = written("g.graph", sized);
    let graph = read_metis(&path).unwrap();
    assert_eq!(
        (graph.vertex_weights(), graph.edge_weights()),
        (Some(Numbers::Narrow(&[4, 0])), Some(Numbers::Narrow(&[7, 7])))
    );
}

#[test]
fn hmetis_reads_its_manual_s_example_with_both_weights() {
    let text = "% figure 4\n4 7 11\n2 1 2\n3 1 7 5 6\n8 5 6 4\n7 2 3 4\n5\n1\n8\n7\n3\n9\n3\n";
    let (_folder, path) = written("g.hgr", text);
    let nets = read_hmetis(&path).unwrap();
    assert_eq!((nets.net_count(), nets.pins(1), nets.net_weight(2)), (4, &[0, 4, 5, 6][..], 8));
    assert_eq!(nets.vertex_weights(), Some(&[5, 1, 8, 7, 3, 9, 3][..]));
}

#[test]
fn a_general_matrix_is_made_symmetric_by_summing_and_a_pattern_by_union() {
    let entries = "3 3 5\n1 1 9\n1 2 -2\n2 1 3\n3 2 4.0e0\n2 3 0\n";
    let (_folder, path) = written("m.mtx", &format!("%%MatrixMarket matrix coordinate real general\n{entries}"));
    let edges = |graph: UndirectedGraph| graph.edges().collect::<Vec<_>>();
    assert_eq!(edges(read_matrix_market(&path, false).unwrap()), [(0, 1, 5), (1, 2, 4)]);
    assert_eq!(edges(read_matrix_market(&path, true).unwrap()), [(0, 1, 1), (1, 2, 1)]);
    let (_folder, path) =
        written("m.mtx", "%%matrixmarket MATRIX coordinate pattern general\n%\n\n3 3 3\n1 2\n2 1\n3 2\n");
    assert_eq!(edges(read_matrix_market(&path, false).unwrap()), [(0, 1, 1), (1, 2, 1)]);
}

#[test]
fn edge_lists_take_the_forms_in_which_they_are_found() {
    let edges = |text: &str| {
        let (_folder, path) = written("g.edges", text);
        let graph = read_edge_list(&path, false).unwrap();
        (graph.vertex_count(), graph.edges().collect::<Vec<_>>())
    };
    // Both directions, a loop, tabs, commas, Windows line ends.
    assert_eq!(edges("# SNAP\r\n0\t1\r\n1 0\r\n2 2\r\n\r\n3,1\r\n"), (4, vec![(0, 1, 1), (1, 3, 1)]));
    assert_eq!(edges("0 1 5\n1 0 2\n"), (2, vec![(0, 1, 7)]));
    assert_eq!(edges("# vertices 5\n0 1"), (5, vec![(0, 1, 1)]));
    assert_eq!(edges(""), (0, vec![]));
}

fn named(name: &str) -> &'static Format {
    undirected_format_named(name).unwrap()
}

#[test]
fn a_format_is_told_by_its_extension_or_its_name() {
    for (path, name) in
        [("a.graph", "metis"), ("b.HGR", "hmetis"), ("c.mtx", "mtx"), ("d.tsv", "edges"), ("e.pbedges", "binary")]
    {
        assert_eq!(undirected_format(path).unwrap().name, name);
        assert_eq!(named(name).name, name);
    }
    assert!(undirected_format("g.csv").is_none());
    let error = undirected_format_named("meties").unwrap_err();
    assert_eq!(error, "unknown graph format 'meties': did you mean 'metis'?");
}

#[test]
fn what_a_format_has_no_room_for_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g");
    let graph =
        |weight, vertex_weights| UndirectedGraph::from_edges(2, [(0, 1, weight)].into_iter(), vertex_weights).unwrap();
    for (format, graph, expected) in [
        ("metis", graph(0, None), "vertices 0 and 1 weighs 0, which METIS graphs cannot say"),
        ("edges", graph(1, Some(vec![1, 2])), "vertices have weights, which edge lists do not"),
        ("binary", graph(2, None), "edges have weights, which binary files of edges do not"),
        ("hmetis", graph(1, None), "the format 'hmetis' holds hypergraphs, and this is an undirected graph"),
        ("csv", graph(1, None), "the format 'csv' holds dataflow graphs, and this is an undirected graph"),
    ] {
        let format = FORMATS.into_iter().find(|known| known.name == format).unwrap();
        let error = write_undirected(&path, format, &Undirected::Graph(graph)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

fn graphs(vertex_weights: bool, edge_weights: bool) -> impl Strategy<Value = UndirectedGraph> {
    (1usize..20).prop_flat_map(move |n| {
        let most = if edge_weights { 9u64 } else { 1 };
        let weights = vec(if vertex_weights { 0..9u64 } else { 1..2 }, n);
        (Just(n), vec((0..n as u32, 0..n as u32, 1..=most), 0..60), weights).prop_map(move |(n, edges, weights)| {
            let graph = UndirectedGraph::from_edges(n, edges.into_iter(), Some(weights)).unwrap();
            if edge_weights { graph } else { graph.without_edge_weights() }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn a_graph_survives_a_round_trip_through_each_format(
        both in graphs(true, true), edges_only in graphs(false, true), plain in graphs(false, false)
    ) {
        let folder = tempfile::tempdir().unwrap();
        for (graph, formats) in
            [
                (both, &["metis"][..]),
                (edges_only, &["metis", "mtx", "edges", "dimacs"]),
                (plain, &["metis", "mtx", "edges", "dimacs", "binary"]),
            ]
        {
            for &format in formats {
                let (path, format) = (folder.path().join(format), named(format));
                let graph = Undirected::Graph(graph.clone());
                write_undirected(&path, format, &graph).unwrap();
                prop_assert_eq!(read_undirected(&path, format, false).unwrap(), graph);
            }
        }
    }

    #[test]
    fn a_hypergraph_and_a_partition_survive_a_round_trip(
        nets in vec((1..5u64, vec(0..12u32, 1..6)), 0..20), weights in vec(0..4u64, 12), blocks in vec(0..7u32, 0..30)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let offsets = nets.iter().scan(0, |sum, (_, pins)| { *sum += pins.len() as u64; Some(*sum) });
        let offsets = std::iter::once(0).chain(offsets).collect();
        let (net_weights, pins): (Vec<u64>, Vec<Vec<u32>>) = nets.into_iter().unzip();
        let hypergraph =
            Hypergraph::from_nets(12, offsets, pins.concat(), Some(net_weights), Some(weights)).unwrap();
        write_hmetis(&path, &hypergraph).unwrap();
        prop_assert_eq!(read_hmetis(&path).unwrap(), hypergraph.clone());
        write_patoh(&path, &hypergraph).unwrap();
        prop_assert_eq!(read_patoh(&path).unwrap(), hypergraph);
        write_partition(&path, &blocks).unwrap();
        prop_assert_eq!(read_partition(&path, blocks.len(), Some(7)).unwrap(), blocks);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(prop_oneof![Just(b' '), Just(b'\n'), b'0'..=b'3', any::<u8>()], 0..60)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let matrix = [b"%%MatrixMarket matrix coordinate pattern general\n", bytes.as_slice()].concat();
        let binary = [b"PBEDGES1", bytes.as_slice()].concat();
        for bytes in [bytes, matrix, binary] {
            fs::write(&path, bytes).unwrap();
            for format in FORMATS.into_iter().filter(|format| format.is_undirected()) {
                if let Err(error) = read_undirected(&path, format, false) {
                    prop_assert_eq!(error.to_string().lines().count(), 1);
                }
            }
        }
    }
}

#[test]
fn weights_of_32_bits_and_more_are_read_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.graph");
    for (most, narrow) in [(u64::from(u32::MAX), true), (1 << 32, false), (u64::MAX / 8, false)] {
        fs::write(&path, format!("3 2 11\n{most} 3 {most} 2 7\n1 1 7\n2 1 {most}\n")).unwrap();
        let graph = read_metis(&path).unwrap();
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1, 7), (0, 2, most)]);
        assert_eq!(graph.vertex_weights(), Some(Numbers::Wide(&[most, 1, 2])));
        for weights in [graph.edge_weights(), graph.vertex_weights()] {
            assert_eq!(matches!(weights, Some(Numbers::Narrow(_))), narrow, "{most}");
        }
        let again = UndirectedGraph::from_edges(3, graph.edges(), Some(vec![most, 1, 2])).unwrap();
        assert_eq!(again, graph);
    }
}

#[test]
fn what_is_written_for_metis_adds_up_within_32_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let edges = [(0, 1, 7), (0, 2, u64::MAX / 8), (1, 2, 1 << 60)];
    let graph = UndirectedGraph::from_edges(3, edges.into_iter(), Some(vec![1 << 32, 0, 1])).unwrap();
    write_metis(&path, &graph).unwrap();
    let back = read_metis(&path).unwrap();
    assert!(back.total_vertex_weight() < 1 << 31 && 2 * back.total_edge_weight() < 1 << 31);
    assert_eq!((back.vertex_weight(1), back.vertex_weight(2)), (0, 1));
    let [(0, 1, 1), (0, 2, heavy), (1, 2, light)] = back.edges().collect::<Vec<_>>()[..] else { panic!("{back:?}") };
    assert!(light > 1 << 28 && heavy.abs_diff(2 * light) < 4, "in proportion: {heavy} and {light}");
    // Each list for itself: the edges of this one fit.
    let graph = UndirectedGraph::from_edges(3, [(0, 1, 7), (0, 2, 9)].into_iter(), Some(vec![1 << 32, 0, 1])).unwrap();
    write_metis(&path, &graph).unwrap();
    assert_eq!(read_metis(&path).unwrap().edges().collect::<Vec<_>>(), [(0, 1, 7), (0, 2, 9)]);
    let nets = Hypergraph::from_nets(
        4,
        vec![0, 4, 6],
        vec![0, 1, 2, 3, 1, 2],
        Some(vec![1 << 40, 5]),
        Some(vec![1 << 31, 2, 3, 4]),
    );
    let nets = nets.unwrap();
    write_hmetis(&path, &nets).unwrap();
    let back = read_hmetis(&path).unwrap();
    assert!((0..4).map(|vertex| back.vertex_weight(vertex)).sum::<u64>() < 1 << 31);
    assert!(3 * back.net_weight(0) + back.net_weight(1) < 1 << 31 && back.net_weight(0) > 1 << 29);
    assert_eq!(back.net_weight(1), 1);
}

#[test]
fn a_format_says_that_it_scales_weights() {
    let graph = |ops: f64, bytes: u64| {
        let mut builder = GraphBuilder::default();
        let (a, b) = (builder.add_op(OpSpec::cost(ops), &[bytes]), builder.add_op(OpSpec::cost(1.0), &[]));
        builder.add_edge(a, 0, b).unwrap();
        builder.build().unwrap()
    };
    let losses = |format: &str, graph: &DataflowGraph| {
        let losses = named(format).losses(&GraphHeader::named("g"), graph);
        losses.iter().any(|loss| loss.to_string() == "weights that add up to 2^31 or more")
    };
    for format in ["metis", "hmetis", "patoh"] {
        assert!(losses(format, &graph(1.0, 1 << 31)) && losses(format, &graph(2f64.powi(31), 1)), "{format}");
        assert!(!losses(format, &graph(1e9, 1 << 29)), "{format}");
    }
    assert!(!losses("edges", &graph(1.0, 1 << 31)), "it has room");
    let wide = UndirectedGraph::from_edges(2, [(0, 1, 1 << 31)].into_iter(), None).unwrap();
    assert_eq!(named("metis").losses_of(&Undirected::Graph(wide.clone())).len(), 1);
    assert_eq!(named("mtx").losses_of(&Undirected::Graph(wide)), []);
}

#[test]
fn a_header_that_promises_too_much_takes_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lie.graph");
    fs::write(&path, format!("{} {} 11\n1 2 5\n1 1 5\n", u32::MAX, u64::MAX)).unwrap();
    let fault = read_metis(&path).unwrap_err().to_string();
    assert!(fault.contains("ends after 2 rows of 4294967295"), "{fault}");
    fs::write(&path, "2 0\n2\n1\n").unwrap();
    let fault = read_metis(&path).unwrap_err().to_string();
    assert!(fault.contains("the header says 0 edges, but the rows have 1"), "{fault}");
}
