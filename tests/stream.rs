//! `placebench generate --stream` as a stranger meets it: parts made together or alone, interrupted, checked.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{assert_one_line_error, placebench, text};

const GNM: [&str; 5] = ["generate", "gnm(vertices=20000, edges=500000)", "--stream", "--seed=3", "--out"];

/// What a command prints when it succeeds.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = placebench(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// All files of a folder with their content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn parts_made_together_or_alone_on_any_number_of_threads_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let made = run(at, &[&GNM[..], &["a", "--shards=3", "--threads=1"]].concat());
    assert!(made.contains("a: 20000 vertices, 500000 edges\nSHA-256 ") && made.contains("\n3 parts, "), "{made}");
    run(at, &[&GNM[..], &["b", "--shards=3", "--threads=8"]].concat());
    for shard in ["--shard=2/3", "--shard=3/3"] {
        let made = run(at, &[&GNM[..], &["c", shard]].concat());
        assert!(made.contains("of 3 parts are there"), "{made}");
    }
    assert!(!at.join("c/properties.toml").exists());
    let made = run(at, &[&GNM[..], &["c", "--shards=3"]].concat());
    assert!(made.contains("3 parts (2 were there)"), "{made}");
    let a = files(&at.join("a"));
    let names: Vec<&str> = a.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "edges-00001-of-00003.parquet",
            "edges-00001-of-00003.toml",
            "edges-00002-of-00003.parquet",
            "edges-00002-of-00003.toml",
            "edges-00003-of-00003.parquet",
            "edges-00003-of-00003.toml",
            "properties.toml",
            "stream.toml",
        ]
    );
    assert!(a == files(&at.join("b")) && a == files(&at.join("c")));
    // The edges do not depend on the number of parts.
    let text_of = |out: &str, more: &[&str]| {
        run(at, &[&GNM[..], &[out, "--format=edges"], more].concat());
        let parts = files(&at.join(out)).into_iter().filter(|(name, _)| name.ends_with(".edges"));
        parts.map(|(_, part)| text(&part).split_once('\n').unwrap().1.to_owned()).collect::<String>()
    };
    let (one, many) = (text_of("one", &[]), text_of("many", &["--shards=7", "--threads=2"]));
    assert_eq!(one.lines().count(), 500_000);
    assert!(one == many);
    // One file has the same edges.
    run(at, &[&GNM[..], &["file.edges", "--threads=3"]].concat());
    assert!(std::fs::read_to_string(at.join("file.edges")).unwrap() == format!("# vertices 20000\n{one}"));
}

#[test]
fn parts_are_checked_alone_and_what_was_changed_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let laich = ["generate", "laich4", "--ops=40000", "--stream", "--out"];
    run(at, &[&laich[..], &["g", "--shards=2", "--format=binary"]].concat());
    assert!(files(&at.join("g")).contains_key("ops-00002-of-00002.parquet"));
    assert!(run(at, &["generate", "--check", "g"]).contains("g: 2 of 2 parts are what the manifest says"));
    let sheet = std::fs::read_to_string(at.join("g/properties.toml")).unwrap();
    assert!(
        ["[degrees]", "[spans]", "[level_sizes]", "[group_sizes]"].iter().all(|part| sheet.contains(part)),
        "{sheet}"
    );
    // An edge of the second part is another one.
    let part = at.join("g/edges-00002-of-00002.pbedges");
    let mut bytes = std::fs::read(&part).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&part, &bytes).unwrap();
    let check = |more: &[&str]| placebench(at, &[&["generate", "--check", "g"], more].concat());
    assert_one_line_error(&check(&[]), "it was changed: remove it and make it again");
    assert!(check(&["--shard=1/2"]).status.success());
    assert_one_line_error(&check(&["--shard=1/3"]), "has 2 parts, not 3");
    std::fs::remove_file(&part).unwrap();
    assert!(text(&check(&[]).stdout).contains("1 of 2 parts are what the manifest says; 1 are not there yet"));
    // Another seed.
    let manifest = at.join("g/stream.toml");
    let changed = std::fs::read_to_string(&manifest).unwrap().replace("seed = 0", "seed = 1");
    std::fs::write(&manifest, changed).unwrap();
    assert_one_line_error(&check(&["--shard=1/2"]), "its parameters make another part");
    // A single file.
    run(at, &[&laich[..], &["f.pbedges"]].concat());
    assert!(run(at, &["generate", "--check", "f.pbedges"]).contains("1 of 1 parts"));
    std::fs::write(at.join("f.pbedges"), &bytes).unwrap();
    assert_one_line_error(&placebench(at, &["generate", "--check", "f.pbedges"]), "f.pbedges: has SHA-256");
}

#[test]
fn an_interrupted_graph_goes_on_with_the_parts_that_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rmat = ["generate", "rmat(scale=18, degree=24)", "--stream", "--format=binary", "--shards=24", "--out"];
    run(at, &[&rmat[..], &["whole"]].concat());
    let mut child = Command::new(env!("CARGO_BIN_EXE_placebench"))
        .args([&rmat[..], &["cut", "--threads=1"]].concat())
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !at.join("cut/edges-00002-of-00024.toml").exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!at.join("cut/properties.toml").exists(), "it had ended");
    let made = run(at, &[&rmat[..], &["cut"]].concat());
    assert!(made.contains("were there)"), "{made}");
    let (whole, cut) = (files(&at.join("whole")), files(&at.join("cut")));
    assert!(whole.keys().eq(cut.keys()), "{:?}", cut.keys());
    assert!(whole == cut);
}

#[test]
fn what_cannot_be_streamed_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let refused = |arguments: &[&str], expected: &str| {
        assert_one_line_error(&placebench(at, &[&["generate"], arguments].concat()), expected);
    };
    refused(&["grid", "--stream", "--out=a"], "--stream makes leveled graphs, gnm and rmat, not 'grid'");
    refused(&["training_steps", "--stream", "--out=a"], "not 'training_steps'");
    refused(&["rmat(isolated=false)", "--stream", "--out=a"], "`isolated` is false, but must be true");
    refused(&["gnm(directed=true)", "--out=a.graph"], "false, or the graph made with --stream");
    refused(&["gnm", "--ops=5", "--stream", "--out=a"], "--ops is for leveled graphs");
    refused(&["gnm", "--stream", "--shards=2", "--out=a.edges"], "parts are files in a folder");
    refused(&["gnm", "--stream", "--format=binary", "--out=a.edges"], "its extension says edges");
    refused(&["gnm", "--stream", "--format=csv", "--out=a"], "'csv' is no format of streams");
    refused(&["gnm(edges=1000)", "--stream", "--shards=2", "--out=a"], "`shards` is 2, but must be from 1 to 1");
    refused(&["gnm(vertices=3, edges=4)", "--stream", "--out=a"], "at most 3, the pairs of vertices");
    refused(&["gnm", "--shard=1/2", "--out=a.graph"], "--shard is for graphs made with --stream");
    assert!(!at.join("a").exists());
    let gnm = ["gnm(edges=1000)", "--stream", "--out=b"];
    assert!(placebench(at, &[&["generate"], &gnm[..]].concat()).status.success());
    refused(&[&gnm[..], &["--seed=1"]].concat(), "b: holds parts of another graph, seed, version or number of parts");
    assert!(placebench(at, &[&["generate"], &gnm[..], &["--seed=1", "--force"]].concat()).status.success());
    assert!(run(at, &["generate", "--check", "b"]).contains("1 of 1 parts"));
    std::fs::create_dir(at.join("c")).unwrap();
    std::fs::write(at.join("c/mine.txt"), "x").unwrap();
    refused(&["gnm", "--stream", "--out=c"], "c: is a folder with other files");
}

/// A file system that is full: half a megabyte in memory, where this process may mount one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line_and_finished_parts_stay() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let script = "mount -t tmpfs -o size=1500k none disk && cd disk && \"$0\" generate 'gnm(vertices=20000,edges=500000)' --stream --seed=3 --format=binary --shards=7 --threads=1 --out g; code=$?; ls g; exit $code";
    std::fs::create_dir(at.join("disk")).unwrap();
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_placebench")]);
    let output = match unshare.current_dir(at).output() {
        Ok(output) if !text(&output.stderr).contains("unshare:") && !text(&output.stderr).contains("mount:") => output,
        _ => {
            eprintln!("skipped: no file system can be mounted here");
            return;
        }
    };
    let stderr = text(&output.stderr);
    let last = stderr.lines().last().unwrap();
    assert!(
        last.starts_with("error: g: finished parts stay") && last.contains("no space is left on the disk"),
        "{stderr}"
    );
    let listed = text(&output.stdout);
    assert!(listed.contains("edges-00002-of-00007.toml") && !listed.contains("edges-00003-of-00007."), "{listed}");
}

/// The value of a line of a report.
fn value(report: &str, name: &str) -> String {
    let line = report.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in\n{report}"));
    line[name.len()..].trim().to_owned()
}

#[test]
fn parts_are_partitioned_and_inspected_like_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rmat = ["generate", "rmat(scale=14, degree=20)", "--stream"];
    for out in ["p", "b.pbedges", "t.edges", "one.parquet"] {
        let more: &[&str] = if out == "p" { &["--shards=3"] } else { &[] };
        run(at, &[&rmat[..], &["--out", out], more].concat());
    }
    // The same edges in the same order: the same blocks.
    for algorithm in ["hdrf", "ldg", "fennel"] {
        let part = |graph: &str, more: &[&str]| {
            let out = format!("{graph}.{algorithm}");
            let partition = ["partition", "--stream", graph, "-k8", "-a", algorithm, "-o", &out];
            let report = run(at, &[&partition[..], more].concat());
            (report, std::fs::read(at.join(out)).unwrap())
        };
        let (report, blocks) = part("p", &[]);
        assert_eq!(value(&report, "edges"), "163840");
        assert!(blocks == part("b.pbedges", &[]).1 && blocks == part("one.parquet", &[]).1);
        if algorithm == "hdrf" {
            let judged = run(at, &["partition", "--stream", "p", "-k8", "--evaluate", "p.hdrf"]);
            for name in ["replication", "edge imbalance", "vertex imbalance"] {
                assert_eq!(value(&judged, name), value(&report, name));
            }
            let refused = placebench(at, &["partition", "--stream", "p", "-k8", "-a", "hdrf", "--passes=2"]);
            assert_one_line_error(&refused, "--passes is for ldg and fennel");
        } else {
            let several = part("p", &["--passes=5"]);
            assert!(several.1 != blocks);
            let spelt = ["partition", "--stream", "p", "-k8", "-a", &format!("{algorithm}(passes=5)"), "-o", "spelt"];
            run(at, &spelt);
            assert!(std::fs::read(at.join("spelt")).unwrap() == several.1);
        }
    }
    // Two edges and a loop, counted by hand.
    std::fs::write(at.join("small.edges"), "0 1\n1 2\n4 4\n").unwrap();
    let sheet = run(at, &["inspect", "small.edges"]);
    for (name, expected) in [("vertices", "5"), ("edges", "3"), ("self-loops", "1"), ("isolated", "1")] {
        assert_eq!(value(&sheet, name), expected);
    }
    assert_eq!(value(&sheet, "degrees"), "0 to 2, mean 1.200");
    let sheet = run(at, &["inspect", "p"]);
    assert_eq!(value(&sheet, "degrees").split(", ").nth(1), Some("mean 20.000"));
    assert_eq!(sheet.lines().skip(1).skip_while(|line| !line.starts_with("vertices  ")).collect::<Vec<_>>(), {
        let other = run(at, &["inspect", "one.parquet"]);
        let lines: Vec<String> =
            other.lines().skip(1).skip_while(|line| !line.starts_with("vertices  ")).map(str::to_owned).collect();
        lines
    });
    std::fs::remove_file(at.join("p/edges-00002-of-00003.toml")).unwrap();
    assert_one_line_error(&placebench(at, &["inspect", "p"]), "p: has 2 of 3 parts");
    std::fs::remove_file(at.join("p/edges-00002-of-00003.parquet")).unwrap();
    assert_one_line_error(&placebench(at, &["partition", "--stream", "p", "-k2", "-a", "dbh"]), "has 2 of 3 parts");
}
