//! Streams from files: what is written comes back, and a malformed file is refused in one line.

use std::fs;
use std::path::PathBuf;

use placebench_datasets::stream::{
    EdgeFile, EdgeList, EdgeStream, GraphRows, RowFile, TextEdges, VertexStream, write_edges, write_rows,
    write_rows_from_edges, write_text_edges,
};
use placebench_datasets::{Numbers, UndirectedGraph};
use tempfile::TempDir;

type OwnedRow = (u32, u64, Vec<u32>, Option<Vec<u64>>);

fn file(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

fn all_edges(stream: &mut dyn EdgeStream) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    while let Some(batch) = stream.next_edges().unwrap() {
        edges.extend(batch);
    }
    edges
}

fn all_rows(stream: &mut dyn VertexStream) -> Vec<OwnedRow> {
    let mut rows = Vec::new();
    while let Some(row) = stream.next_row().unwrap() {
        rows.push((row.vertex, row.weight, row.neighbours.to_vec(), row.edge_weights.map(Numbers::to_vec)));
    }
    rows
}

fn edges_of(count: u32) -> Vec<(u32, u32)> {
    // Loops and parallel edges are among them.
    (0..count).map(|i| (i.wrapping_mul(2_654_435_761) % 1000, i.wrapping_mul(40_503) % 1000)).collect()
}

#[test]
fn edges_come_back_from_binary_and_text_files_also_after_a_rewind() {
    let folder = TempDir::new().unwrap();
    let edges = edges_of(200_000);
    assert_eq!(write_edges(file(&folder, "e"), 1000, edges.iter().copied()).unwrap(), 200_000);
    assert_eq!(write_text_edges(file(&folder, "t"), edges.iter().copied()).unwrap(), 200_000);
    let bare = fs::read(file(&folder, "e")).unwrap()[24..].to_vec();
    fs::write(file(&folder, "b"), bare).unwrap();
    let streams: [&mut dyn EdgeStream; 4] = [
        &mut EdgeFile::open(file(&folder, "e")).unwrap(),
        &mut EdgeFile::open_bare(file(&folder, "b"), 1000).unwrap(),
        &mut TextEdges::open(file(&folder, "t"), None).unwrap(),
        &mut TextEdges::open(file(&folder, "t"), Some(1000)).unwrap(),
    ];
    for stream in streams {
        assert_eq!((stream.vertex_count(), stream.edge_count()), (1000, 200_000));
        for _ in 0..2 {
            assert!(all_edges(stream) == edges);
            assert!(stream.memory_bytes() <= 1 << 20, "{} bytes", stream.memory_bytes());
            stream.rewind().unwrap();
        }
    }
}

#[test]
fn text_may_have_comments_blanks_and_commas() {
    let folder = TempDir::new().unwrap();
    fs::write(file(&folder, "t"), "# from\tto\n0\t1\r\n\n% more\n 3,2 \n7 , 7").unwrap();
    let mut stream = TextEdges::open(file(&folder, "t"), None).unwrap();
    assert_eq!(all_edges(&mut stream), [(0, 1), (3, 2), (7, 7)]);
    assert_eq!((stream.vertex_count(), stream.edge_count()), (8, 3));
    fs::write(file(&folder, "t"), "").unwrap();
    let mut empty = TextEdges::open(file(&folder, "t"), None).unwrap();
    assert_eq!((empty.vertex_count(), all_edges(&mut empty).len()), (0, 0));
}

#[test]
fn rows_come_back_from_a_file_with_and_without_weights_in_their_order() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "r");
    let edges = [(0, 1, 1), (1, 2, 1), (4, 0, 1)];
    let heavy = edges.map(|(a, b, _)| (a, b, u64::from(a + b)));
    for edges in [edges, heavy] {
        for weights in [None, Some(vec![1, 2, 3, 4, 0])] {
            let graph = UndirectedGraph::from_edges(5, edges.into_iter(), weights).unwrap();
            let order = [3, 1, 4, 0, 2];
            let mut rows = GraphRows::ordered(&graph, &order).unwrap();
            write_rows(&path, &mut rows).unwrap();
            rows.rewind().unwrap();
            let expected = all_rows(&mut rows);
            let mut stream = RowFile::open(&path).unwrap();
            assert_eq!(stream.vertex_count(), 5);
            assert_eq!(stream.total_vertex_weight(), graph.total_vertex_weight());
            assert_eq!(stream.total_edge_weight(), graph.total_edge_weight());
            for _ in 0..2 {
                assert_eq!(all_rows(&mut stream), expected);
                stream.rewind().unwrap();
            }
        }
    }
}

#[test]
fn edges_become_rows_in_any_amount_of_memory() {
    let folder = TempDir::new().unwrap();
    let edges = edges_of(5000);
    let mut expected = vec![Vec::new(); 1000];
    for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
        expected[a as usize].push(b);
        expected[b as usize].push(a);
    }
    expected.iter_mut().for_each(|row| row.sort_unstable());
    let mut list = EdgeList::new(1000, &edges).unwrap();
    for memory in [0, 1000, 1 << 20] {
        write_rows_from_edges(file(&folder, "r"), &mut list, memory).unwrap();
        let rows = all_rows(&mut RowFile::open(file(&folder, "r")).unwrap());
        assert!(rows.iter().enumerate().all(|(at, row)| row.0 as usize == at && row.2 == expected[at]));
        assert_eq!(rows.len(), 1000);
    }
}

#[test]
fn malformed_edge_files_are_refused_in_one_line() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "e");
    write_edges(&path, 3, [(0, 1), (1, 2)]).unwrap();
    let good = fs::read(&path).unwrap();
    let refusal = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        let mut error =
            EdgeFile::open(&path).and_then(|mut stream| stream.next_edges().map(|_| ())).unwrap_err().to_string();
        error = error.replace(&path.display().to_string(), "e");
        assert!(!error.contains('\n'));
        error
    };
    assert_eq!(
        refusal(&good[..39]),
        "e: has 39 bytes, but its header promises 2 edges, which take 40: it is cut short: write the file again"
    );
    assert!(refusal(&[&good[..], b"x"].concat()).contains("it goes on after them"));
    assert!(refusal(b"").contains("too short"));
    assert!(refusal(&good[..20]).contains("ends within the header"));
    assert!(refusal(&[b"PBEDGES9", &good[8..]].concat()).contains("does not begin with 'PBEDGES1'"));
    let huge = [&good[..16], &u64::MAX.to_le_bytes(), &good[24..]].concat();
    assert!(refusal(&huge).contains("too many"));
    let crowd = [&good[..8], &(1u64 << 32).to_le_bytes(), &good[16..]].concat();
    assert!(refusal(&crowd).contains("32-bit ids"));
    let fewer = [&good[..8], &2u64.to_le_bytes(), &good[16..]].concat();
    assert_eq!(
        refusal(&fewer),
        "e: edge 1: joins 1 and 2, but there are only 2 vertices, from 0 on: correct the edge or the number of vertices"
    );
    fs::write(&path, [0; 12]).unwrap();
    assert!(EdgeFile::open_bare(&path, 9).unwrap_err().to_string().contains("no multiple"));
    assert!(EdgeFile::open(folder.path()).unwrap_err().to_string().contains("is a folder"));
    assert!(EdgeFile::open(file(&folder, "gone")).unwrap_err().to_string().contains("no such file"));
    let written = write_edges(file(&folder, "f"), 3, [(0, 3)]).unwrap_err().to_string();
    assert!(written.contains("edge 0: joins 0 and 3") && !file(&folder, "f").exists());
}

#[test]
fn malformed_text_is_refused_with_its_line() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "t");
    let refusal = |content: &str| {
        fs::write(&path, content).unwrap();
        TextEdges::open(&path, Some(9)).unwrap_err().to_string().replace(&path.display().to_string(), "t")
    };
    assert_eq!(refusal("# x\n0 1\n0 x\n"), "t:3: '0 x' is no edge: write two vertex ids, from 0 on, and nothing else");
    for wrong in ["0", "0 1 2", "-1 0", "0 99999999999", "0 1.5", "\u{e4} 1"] {
        assert!(refusal(wrong).contains("t:1: ") && refusal(wrong).contains("is no edge"), "{wrong}");
    }
    assert!(refusal("0 9").contains("vertex ids end at 8"));
    assert!(refusal(&"1".repeat(5000)).contains("longer than 4096 bytes"));
}

#[test]
fn malformed_row_files_are_refused_in_one_line() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "r");
    let graph = UndirectedGraph::from_edges(3, [(0, 1, 1), (1, 2, 1)].into_iter(), None).unwrap();
    write_rows(&path, &mut GraphRows::natural(&graph)).unwrap();
    let good = fs::read(&path).unwrap();
    // Header of 48 bytes; row 0 from byte 48 (id, degree, neighbour 1), row 1 from byte 60.
    assert_eq!(good.len(), 48 + 3 * 8 + 4 * 4);
    let refusal = |at: usize, bytes: &[u8]| {
        let mut content = good.clone();
        content[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&path, content).unwrap();
        let read = RowFile::open(&path).and_then(|mut stream| {
            while stream.next_row()?.is_some() {}
            Ok(())
        });
        let error = read.unwrap_err().to_string();
        assert!(!error.contains('\n'));
        error.replace(&path.display().to_string(), "r")
    };
    assert!(refusal(0, b"PBROWS99").contains("does not begin with 'PBROWS01'"));
    assert!(refusal(8, &[4]).contains("4 rows with 4 entries"));
    assert!(refusal(40, &[8]).contains("flags 8"));
    assert!(refusal(40, &[1]).contains("cut short"));
    assert_eq!(refusal(48, &[3]), "r: row 0: is of vertex 3, but there are only 3 vertices, from 0 on");
    assert_eq!(refusal(60, &[0]), "r: row 1: is of vertex 0, which has had its row");
    assert_eq!(refusal(52, &[9]), "r: row 0: has 9 entries, but the header leaves only 4");
    assert_eq!(refusal(56, &[7]), "r: vertex 0: has the neighbour 7, but there are only 3 vertices, from 0 on");
    assert_eq!(refusal(56, &[0]), "r: vertex 0: has an edge to itself");
    assert!(refusal(24, &[9]).contains("3 vertex weight in total, but its header promises 9"));
    assert!(refusal(32, &[9]).contains("2 edge weight in total, but its header promises 9"));
    fs::write(&path, &good[..good.len() - 1]).unwrap();
    assert!(RowFile::open(&path).unwrap_err().to_string().contains("cut short"));
}
