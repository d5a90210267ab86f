//! What asks for more than there is, or says more than a person reads, is refused in one line.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use placebench::datasets::format::write_whole;

use crate::common::{assert_one_line_error, placebench, text};

/// What the command answers on a machine of 2 GiB.
fn limited(folder: &Path, args: &[&str]) -> Output {
    let script = format!("ulimit -v {}; exec {} \"$@\"", 2 << 20, env!("CARGO_BIN_EXE_placebench"));
    Command::new("sh").args(["-c", &script, "sh"]).args(args).current_dir(folder).output().unwrap()
}

/// `first0, first1, …`, joined.
fn names(first: &str, count: usize, between: &str) -> String {
    (0..count).map(|number| format!("{first}{number}")).collect::<Vec<_>>().join(between)
}

#[test]
fn numbers_in_a_file_are_not_believed_before_there_is_room_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: String| fs::write(folder.path().join(name), content).unwrap();
    let refused = |args: &[&str], expected: &str| assert_one_line_error(&limited(folder.path(), args), expected);
    let said = " of memory, and ";

    write("q.hdag", "4000000000 4000000000 4000000000\n".into());
    refused(&["inspect", "q.hdag"], "q.hdag:1: a graph of 4000000000 hyperedges and 4000000000 nodes takes about ");

    let dnn = |fpgas: u32, cpus: u32| {
        let sizes = format!("\"maxSizePerFPGA\": 1, \"maxFPGAs\": {fpgas}, \"maxCPUs\": {cpus}");
        write("x.dnn.json", format!("{{{sizes}, \"nodes\": [], \"edges\": []}}"));
        refused(&["convert", "--cluster", "x.dnn.json", "c.toml"], said);
    };
    dnn(1, i32::MAX.cast_unsigned());
    dnn(4_000_000_000, 1);

    write("e.edges", "0 4294967294\n".into());
    for args in [&["inspect", "e.edges"][..], &["partition", "e.edges", "-k", "2", "--stream", "-a", "ldg"]] {
        refused(args, "4294967295 vertices for only 1 edge: number the vertices that have edges without large gaps");
    }

    let device = "name = \"d\"\ncount = 10000\nkind = \"CPU\"\nspeed = 1";
    write("c.toml", format!("[[device]]\n{device}\n[link]\nrate = 1\n"));
    refused(&["convert", "--cluster", "c.toml", "d.toml"], "c.toml: a cluster of 10000 devices takes about ");
    write("c.csv", format!("id,kind,speed,{}\n", names("rate_", 12_000, ",")));
    refused(&["convert", "--cluster", "c.csv", "d.toml"], "c.csv:1: a cluster of 12000 devices takes about ");

    write("g.dot", format!("digraph {{ {{{}}} -> {{{}}} }}\n", names("a", 10_000, " "), names("b", 10_000, " ")));
    refused(&["inspect", "g.dot"], "g.dot:1: a statement of 100000000 edges takes about ");

    let mut nodes = String::new();
    for node in 0..1_500 {
        let _ = writeln!(nodes, "node {{ name: \"a{node}\" op: \"X\" }}");
        let _ = writeln!(nodes, "node {{ name: \"b{node}\" op: \"X\" input: \"a{node}:65535\" }}");
    }
    write("g.pbtxt", nodes);
    refused(&["inspect", "g.pbtxt"], "g.pbtxt: a graph of 98304000 outputs takes about ");
}

#[test]
fn what_a_compressed_file_becomes_has_to_fit_into_memory() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("part.zst");
    write_whole(&part, |error| error, |out| out.write_all(&vec![b' '; 64 << 20])).unwrap();
    // A file of several parts is one file.
    let bomb = fs::read(&part).unwrap().repeat(40);
    assert!(bomb.len() < 1 << 20);
    fs::write(folder.path().join("g.dnn.json.zst"), bomb).unwrap();
    let output = limited(folder.path(), &["inspect", "g.dnn.json.zst"]);
    assert_one_line_error(&output, "g.dnn.json.zst: a file of more than ");
    assert_one_line_error(&output, " of memory, and ");
}

#[test]
fn a_message_quotes_no_more_of_a_file_than_a_person_reads() {
    let folder = tempfile::tempdir().unwrap();
    let cell = "1 ".repeat(100_000);
    let row = format!("id,inputs,colocated,tensor_bytes,ops\n0,,,,{cell}\n");
    for (name, content) in [("g.csv", row), ("c.toml", format!("send_ops = \"{cell}\"\n"))] {
        fs::write(folder.path().join(name), content).unwrap();
        let args = if name == "g.csv" { vec!["inspect", name] } else { vec!["convert", "--cluster", name, "d.toml"] };
        let output = placebench(folder.path(), &args);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.starts_with(&format!("error: {name}:")), "{said}");
        assert!(said.lines().count() == 1 && said.chars().count() < 2_000, "{} characters", said.chars().count());
    }
}
