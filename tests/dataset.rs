//! `placebench dataset` as a stranger meets it: a collection is whole, the same again, and verified.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{assert_one_line_error, placebench, text};

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = placebench(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// All files below a folder with their content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        match entry.path().is_dir() {
            true => {
                found.extend(files(&entry.path()).into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)))
            }
            false => drop(found.insert(name, std::fs::read(entry.path()).unwrap())),
        }
    }
    found
}

#[test]
fn a_collection_is_whole_comes_out_again_and_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let make = ["dataset", "optimality", "--quiet", "--format=csv", "--out"];
    let made = run(at, &[&make[..], &["a"]].concat());
    assert!(made.contains("a: 150 graphs, "), "{made}");
    let a = files(&at.join("a"));
    for name in ["README.md", "LICENSE", "CITATION.cff", "croissant.json", "index.csv", "index.parquet", "best.parquet"]
    {
        assert!(a.contains_key(name), "{name}");
    }
    assert!(a.contains_key("graphs/ccr1-007.csv") && a.contains_key("clusters/tiny3-007.toml"), "{:?}", a.keys());
    assert!(!a.keys().any(|name| name.starts_with('.')));
    let best = text(&a["best.csv"]);
    assert_eq!(best.lines().count(), 151);
    assert!(best.lines().skip(1).all(|line| line.ends_with(",true")), "an optimum is not proven");
    assert_eq!(text(&a["index.csv"]).lines().count(), 151);
    // What is said of a graph is so: its optimum again.
    let row: Vec<&str> = best.lines().nth(1).unwrap().split(',').collect();
    let columns: Vec<&str> = best.lines().next().unwrap().split(',').collect();
    let value = |name: &str| row[columns.iter().position(|column| *column == name).unwrap()];
    let (graph, cluster) = (format!("graphs/{}.csv", value("graph")), format!("clusters/{}.toml", value("cluster")));
    let placed = run(&at.join("a"), &["place", &graph, "-c", &cluster, "-p", "optimal", "-s", "static"]);
    let makespan: f64 = value("makespan").parse().unwrap();
    let shown = placed.lines().find(|line| line.trim_start().starts_with("makespan")).unwrap();
    let found: f64 = shown.split_whitespace().find_map(|word| word.replace(',', "").parse().ok()).unwrap();
    assert!((found / makespan - 1.0).abs() < 1e-3, "{shown} {makespan}");

    assert!(run(at, &["dataset", "verify", "a"]).contains("files are as they were made"));
    // In shares, the same.
    for shard in ["--shard=2/2", "--shard=1/2"] {
        assert!(run(at, &[&make[..], &["b", shard]].concat()).contains("share "));
    }
    run(at, &[&make[..], &["b"]].concat());
    let b = files(&at.join("b"));
    assert!(a.keys().eq(b.keys()));
    let other: Vec<&String> = a.keys().filter(|name| a[*name] != b[*name]).collect();
    assert!(other.is_empty(), "{other:?}");
    assert_one_line_error(&placebench(at, &[&make[..], &["a"]].concat()), "a: holds a complete collection");

    // As folders, one of them: a name may have a dot.
    assert!(run(at, &["dataset", "optimality", "--out=f", "--shard=1/150"]).contains("share 1/150: 1 graphs"));
    assert!(at.join("f/graphs/ccr0.1-000/graph.toml").exists());

    std::fs::write(at.join("a/graphs/ccr1-007.csv"), "x").unwrap();
    std::fs::remove_file(at.join("a/clusters/tiny3-000.toml")).unwrap();
    let verdict = placebench(at, &["dataset", "verify", "a"]);
    assert_eq!(verdict.status.code(), Some(1));
    assert_eq!(text(&verdict.stdout), "changed: graphs/ccr1-007.csv\nmissing: clusters/tiny3-000.toml\n");
    assert!(text(&verdict.stderr).contains("error: a: 2 files are not as they were made"));
}

#[test]
fn the_collection_scale_is_made_part_by_part() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let make = ["dataset", "scale", "--largest=1e5", "--format=binary", "--out=s"];
    assert!(run(at, &[&make[..], &["--shard=1/2"]].concat()).contains("share 1/2: 3 graphs or parts"));
    assert!(run(at, &make).contains("s: 6 graphs"));
    let index = text(&std::fs::read(at.join("s/index.csv")).unwrap());
    assert!(index.contains("rmat_1e5,graphs/rmat_1e5,binary,rmat,"), "{index}");
    assert!(run(at, &["generate", "--check", "s/graphs/leveled_1e5"]).contains("1 of 1 parts"));
    assert!(run(at, &["dataset", "verify", "s"]).contains("as they were made"));
}

#[test]
fn what_is_no_collection_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], expected: &str| {
        assert_one_line_error(&placebench(folder.path(), &[&["dataset"], arguments].concat()), expected);
    };
    refused(&["laich", "--out=a"], "did you mean 'laich2017'?");
    refused(&["laich2017"], "--out is missing");
    refused(&["laich2017", "--format=metis", "--out=a"], "'metis' is no format of graphs that is written");
    refused(&["scale", "--largest=1e12", "--out=b"], "choose from 1e4 to 1e9 edges");
    refused(&["verify", "nothing"], "SHA256SUMS");
    std::fs::write(folder.path().join("mine.txt"), "x").unwrap();
    refused(&["scale", "--out=."], ".: is a folder with other files");
}

/// Starts a command and kills it (SIGKILL) as soon as `enough` holds; false if it ended before.
fn kill_when(folder: &Path, arguments: &[&str], enough: impl Fn() -> bool) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
    let command = command.args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    while !enough() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

/// Number of entries of a folder, or of lines of a file; 0 if it is not there.
fn count(path: &Path) -> usize {
    match path.is_dir() {
        true => std::fs::read_dir(path).unwrap().count(),
        false => std::fs::read_to_string(path).map_or(0, |text| text.lines().count()),
    }
}

#[test]
fn a_collection_that_was_killed_goes_on_and_comes_out_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for format in ["--format=csv", "--format=folder"] {
        let make = |out: &'static str| vec!["dataset", "optimality", "--quiet", format, "--threads=1", "--out", out];
        let (whole, cut) = (at.join("whole"), at.join("cut"));
        run(at, &make("whole"));
        let (graphs, cells) = (cut.join("graphs"), cut.join(".work/run/cells.jsonl"));
        // Once while it writes graphs, and once while it looks for makespans. On a busy machine the kill may come too late.
        let cut_twice = || {
            let _ = std::fs::remove_dir_all(&cut);
            kill_when(at, &make("cut"), || count(&graphs) > 40)
                && (40..150).contains(&count(&graphs))
                && kill_when(at, &make("cut"), || count(&cells) > 100)
                && !cut.join("SHA256SUMS").exists()
        };
        assert!((0..10).any(|_| cut_twice()), "it is always too fast");
        run(at, &make("cut"));
        let (found, expected) = (files(&cut), files(&whole));
        assert!(found.keys().eq(expected.keys()), "{:?}", found.keys());
        let other: Vec<&String> = expected.keys().filter(|name| expected[*name] != found[*name]).collect();
        assert!(other.is_empty(), "{other:?}");
        for name in ["whole", "cut"] {
            std::fs::remove_dir_all(at.join(name)).unwrap();
        }
    }
}

#[test]
fn a_full_disk_loses_nothing_that_was_finished() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let make = ["dataset", "scale", "--largest=1e5", "--format=binary", "--threads=1"];
    run(at, &[&make[..], &["--out=whole"]].concat());
    // A file that would have more than 200,000 bytes is like a disk that is full: edges of 1e4 graphs fit, of 1e5 not.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 200; exec '{}' {} --out=cut",
        env!("CARGO_BIN_EXE_placebench"),
        make.join(" ")
    );
    let output = Command::new("bash").args(["-c", &limited]).current_dir(at).output().unwrap();
    assert_one_line_error(&output, "finished parts stay, and the same command goes on with the others");
    let finished = files(&at.join("cut/graphs"));
    assert!(finished.keys().any(|name| name.ends_with(".pbedges")), "{:?}", finished.keys());
    assert!(finished.keys().all(|name| !name.contains("partial")), "{:?}", finished.keys());
    let whole = files(&at.join("whole"));
    for (name, content) in &finished {
        assert_eq!(whole.get(&format!("graphs/{name}")), Some(content), "{name} is whole");
    }
    let of = |name: &str| std::fs::metadata(at.join("cut/graphs").join(name)).unwrap().modified().unwrap();
    let times: Vec<_> = finished.keys().map(|name| (name, of(name))).collect();
    run(at, &[&make[..], &["--out=cut"]].concat());
    assert!(
        times.iter().all(|(name, time)| of(name) == *time || name.ends_with(".toml")),
        "what was finished is made again"
    );
    let cut = files(&at.join("cut"));
    assert!(whole == cut, "{:?}", cut.keys());
}
