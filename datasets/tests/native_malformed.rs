//! Native folders that are wrong, each with the line that a user sees.

use std::fs;
use std::path::Path;

use crate::common::tables::{Values, doubles, ints, longs, table, texts};
use placebench_datasets::format::{GraphHeader, NativeBytes, read_native, write_native};
use placebench_datasets::{GraphBuilder, OpId, OpSpec};
use proptest::prelude::*;

type Columns = Vec<(&'static str, Values)>;

/// `0 ──▶ 2`, `1 ──▶ 2`, as a data frame library would write it.
#[derive(Clone)]
struct Tables {
    header: Vec<u8>,
    ops: Columns,
    tensors: Columns,
    edges: Columns,
}

impl Tables {
    fn good() -> Self {
        Self {
            header: fixture("good"),
            ops: vec![
                ("ops", doubles(&[1.0, 2.0, 3.0])),
                ("memory_bytes", longs(&[0, 0, 0])),
                ("kinds", ints(&[7, 7, 7])),
            ],
            tensors: vec![("producer", longs(&[0, 1])), ("port", longs(&[0, 0])), ("bytes", longs(&[8, 8]))],
            edges: vec![("source", longs(&[0, 1])), ("port", longs(&[0, 0])), ("target", longs(&[2, 2]))],
        }
    }

    fn set(columns: &mut Columns, name: &'static str, values: Values) {
        match columns.iter_mut().find(|column| column.0 == name) {
            Some(column) => column.1 = values,
            None => columns.push((name, values)),
        }
    }

    fn ops(mut self, name: &'static str, values: Values) -> Self {
        Self::set(&mut self.ops, name, values);
        self
    }

    fn tensors(mut self, name: &'static str, values: Values) -> Self {
        Self::set(&mut self.tensors, name, values);
        self
    }

    fn edges(mut self, name: &'static str, values: Values) -> Self {
        Self::set(&mut self.edges, name, values);
        self
    }

    fn header(mut self, name: &str) -> Self {
        self.header = fixture(name);
        self
    }

    /// The line that a user sees.
    fn fault(&self) -> String {
        let [ops, tensors, edges] = [&self.ops, &self.tensors, &self.edges].map(|columns| table(columns));
        let bytes = NativeBytes { header: &self.header, ops: &ops, tensors: &tensors, edges: &edges };
        bytes.read("g").map(|_| "no fault".to_owned()).unwrap_or_else(|error| error.to_string())
    }
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/native/{name}.toml"))).unwrap()
}

#[test]
fn a_folder_written_by_another_tool_is_read() {
    assert_eq!(Tables::good().fault(), "no fault");
}

#[test]
fn headers_name_their_line() {
    let good = Tables::good;
    let cases = [
        (
            "future_version",
            "g/graph.toml:2: format version 9 is newer than 1, the newest that this program reads: update placebench",
        ),
        ("other_format", "g/graph.toml:2: the format is 'placebench-suite': a graph folder says 'placebench-graph'"),
        ("misspelt_key", "g/graph.toml:4: unknown key 'license': did you mean 'licence'?"),
        ("misspelt_count", "g/graph.toml:7: unknown key 'tensor': did you mean 'tensors'?"),
        ("no_counts", "g/graph.toml:1: missing field `counts`"),
        ("no_toml", "g/graph.toml:2: key with no value, expected `=`"),
        ("negative_count", "g/graph.toml:6: invalid value: integer `-3`, expected a whole number of at least 0"),
        ("too_many", "g/graph.toml: counts more ops, tensors or edges than 32-bit ids can tell apart: split the graph"),
        (
            "other_counts",
            "g/edges.parquet: has 2 rows, but graph.toml counts 5: restore the folder, or correct [counts]",
        ),
    ];
    for (name, fault) in cases {
        assert_eq!(good().header(name).fault(), fault);
    }
}

#[test]
fn columns_that_are_missing_unknown_or_of_another_type_are_named() {
    let good = Tables::good;
    let mut missing = good();
    missing.edges.remove(1);
    assert_eq!(missing.fault(), "g/edges.parquet: column 'port': is missing: add it");
    assert_eq!(
        good().ops("ops", ints(&[1, 2, 3])).fault(),
        "g/ops.parquet: column 'ops': holds INT32 where DOUBLE is expected"
    );
    assert_eq!(
        good().ops("nmae", texts(&[b"a", b"b", b"c"])).fault(),
        "g/ops.parquet: column 'nmae': is not part of the format: did you mean 'name'?"
    );
    assert_eq!(
        good().tensors("bytes", Values::Long(vec![Some(8), None])).fault(),
        "g/tensors.parquet: column 'bytes': is null in row 1: give it a value"
    );
}

#[test]
fn ops_that_make_no_sense_are_named() {
    let good = Tables::good;
    let cases = [
        (
            good().ops("kinds", ints(&[7, 9, 7])),
            "g/ops.parquet: op 1: its kinds are 9, which has bits beyond CPU = 1, GPU = 2, TPU = 4: use their sum, or 7 for all",
        ),
        (
            good().ops("kinds", ints(&[7, 0, 7])),
            "g: op 1 may run on no kind of device: give it at least one of CPU, GPU, TPU",
        ),
        (
            good().ops("kinds", ints(&[2, 7, 1])).ops("group", Values::Int(vec![Some(0), None, Some(0)])),
            "g: op 0 is colocated with op 2, but the first needs GPU and the second CPU",
        ),
        (
            good().ops("group", ints(&[0, 0, 3])),
            "g/ops.parquet: op 2: its group is 3, but numbers of groups must be below the number of ops: number the groups 0, 1, 2, …",
        ),
        (good().ops("ops", doubles(&[1.0, -2.0, 3.0])), "g: op 1 costs -2: costs and times must be finite numbers ≥ 0"),
        (
            good().ops("cpu_seconds", Values::Double(vec![None, None, Some(f64::NAN)])),
            "g/ops.parquet: op 2: a measured time of it is NaN: leave the cell null",
        ),
        (
            good().ops("name", texts(&[b"a", b"b", b"a"])),
            "g: op 2: either every op has a name of its own or none has ('a')",
        ),
        (
            good().ops("name", texts(&[b"a", b"\xff", b"c"])),
            "g/ops.parquet: op 1: its name or label is not UTF-8: write text as UTF-8",
        ),
    ];
    for (tables, fault) in cases {
        assert_eq!(tables.fault(), fault);
    }
}

#[test]
fn tensors_and_edges_out_of_range_or_order_are_named() {
    let good = Tables::good;
    let cases = [
        (
            good().tensors("producer", longs(&[0, 3])),
            "g/tensors.parquet: tensor 1: its producer is 3, but the graph has 3 ops: ids count from 0",
        ),
        (
            good().tensors("producer", longs(&[1, 0])),
            "g/tensors.parquet: tensor 1: its producer is 0, after one of op 1: sort the rows by producer and port",
        ),
        (
            good().tensors("port", longs(&[0, 1])),
            "g/tensors.parquet: tensor 1: its port is 1 where 0 is due: number the ports of each op 0, 1, 2, …",
        ),
        (
            good().edges("source", longs(&[0, 3])),
            "g/edges.parquet: edge 1: its source is 3, but the graph has 3 ops: ids count from 0",
        ),
        (
            good().edges("target", longs(&[2, 1])),
            "g/edges.parquet: edge 1: its target is 1, after one of op 2: sort the rows by target, keeping the order of each target's inputs",
        ),
        (
            good().edges("port", longs(&[0, 1])),
            "g/edges.parquet: edge 1: it carries output 1 of op 1, which has 1 output: ports count from 0",
        ),
        (
            good().edges("source", longs(&[2, 1])).edges("port", Values::Int(vec![None, Some(0)])),
            "g/edges.parquet: edge 1: it carries a tensor to op 2 after a control edge: put each target's control edges last",
        ),
        (good().edges("target", longs(&[0, 2])), "g: the graph has a cycle through op 0: remove an edge of it"),
        (
            good().edges("source", longs(&[1, 0])).edges("target", longs(&[0, 1])),
            "g: the graph has a cycle through op 0: remove an edge of it",
        ),
    ];
    for (tables, fault) in cases {
        assert_eq!(tables.fault(), fault);
    }
}

/// Writes a folder, damages it, and returns what a user sees, without the path of the temporary folder.
fn fault_after(damage: impl FnOnce(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g");
    let mut builder = GraphBuilder::default();
    builder.add_op(OpSpec::cost(1.0), &[4]);
    builder.add_op(OpSpec::cost(2.0), &[]);
    builder.add_edge(OpId(0), 0, OpId(1)).unwrap();
    write_native(&path, &GraphHeader::named("g"), &builder.build().unwrap()).unwrap();
    damage(&path);
    let message = read_native(&path).unwrap_err().to_string();
    message.replace(&format!("{}/", folder.path().display()), "")
}

fn truncate(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

/// Removes the digests, as if another tool had written the folder.
fn forget_digests(path: &Path) {
    let header = path.join("graph.toml");
    let text = fs::read_to_string(&header).unwrap();
    let (start, end) = (text.find("[sha256]").unwrap(), text.find("[provenance]").unwrap());
    fs::write(header, format!("{}{}", &text[..start], &text[end..])).unwrap();
}

#[test]
fn folders_that_are_incomplete_or_damaged_say_which_file() {
    assert_eq!(fault_after(|path| fs::remove_dir_all(path).unwrap()), "g: no such file or directory");
    assert_eq!(
        fault_after(|path| {
            fs::remove_dir_all(path).unwrap();
            fs::write(path, "ops").unwrap();
        }),
        "g: is a file, not a graph folder: name the folder that holds graph.toml"
    );
    for file in ["graph.toml", "ops.parquet", "tensors.parquet", "edges.parquet"] {
        let fault = fault_after(|path| fs::remove_file(path.join(file)).unwrap());
        assert_eq!(fault, format!("g/{file}: no such file or directory"));
    }
    assert_eq!(
        fault_after(|path| truncate(&path.join("edges.parquet"))),
        "g/edges.parquet: differs from its SHA-256 in graph.toml: restore it, or remove [sha256] if the change is meant"
    );
    let fault = fault_after(|path| {
        forget_digests(path);
        truncate(&path.join("ops.parquet"));
    });
    assert_eq!(
        fault,
        "g/ops.parquet: is no readable Parquet file (Invalid Parquet file. Corrupt footer): restore it or write it again"
    );
}

#[test]
fn a_folder_that_holds_something_else_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    let graph = GraphBuilder::default().build().unwrap();
    let error = write_native(folder.path(), &GraphHeader::named("g"), &graph).unwrap_err();
    assert!(
        error.to_string().ends_with("is no graph folder that could be replaced: choose another name, or remove it")
    );
    assert!(folder.path().join("thesis.tex").exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_in_tables_without_digests_never_panic(
        file in 0..3,
        flips in proptest::collection::vec((any::<proptest::sample::Index>(), 1u8..=255), 1..4),
    ) {
        let good = Tables::good().ops("name", texts(&[b"a", b"b", b"c"])).ops("cpu_seconds", doubles(&[0.5, 0.25, 1.0]));
        let mut files = [&good.ops, &good.tensors, &good.edges].map(|columns| table(columns));
        let damaged = &mut files[file as usize];
        for (at, bits) in flips {
            let at = at.index(damaged.len());
            damaged[at] ^= bits;
        }
        let [ops, tensors, edges] = &files;
        if let Err(error) = (NativeBytes { header: &good.header, ops, tensors, edges }).read("g") {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}
