//! Known solutions of collections: each row is made again, and what is wrong with a new solution is said.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use placebench::algorithms::StopToken;
use placebench::harness::collection::{COLLECTIONS, CollectionInstance, Known, KnownRow, Solution};
use placebench::harness::request::Prepared;
use serde_json::Value;

use crate::common::{assert_one_line_error, placebench, text};

fn solutions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/best-known/solutions")
}

#[test]
fn every_row_is_what_its_solution_is_worth() {
    let mut used = BTreeSet::new();
    for collection in &COLLECTIONS {
        let known = Known::built_in(collection).unwrap();
        let mut left: Vec<&KnownRow> = known.rows().iter().collect();
        for instance in CollectionInstance::all(collection).unwrap() {
            // Rows are in the order of the collection, and the best first.
            let is_own = |row: &&&KnownRow| (&row.graph, &row.cluster) == (&instance.graph, &instance.cluster);
            let count = left.iter().take_while(|row| is_own(row)).count();
            let rows: Vec<&KnownRow> = left.drain(..count).collect();
            assert!(rows.is_sorted_by(|a, b| a.makespan <= b.makespan), "{}", instance.graph);
            let Some(_) = rows.first() else { continue };
            let prepared = Prepared::new(instance.problem().unwrap(), [], &StopToken::default());
            for row in rows {
                let solution = Solution::read(&solutions().join(row.file()), prepared.instance()).unwrap();
                let found = instance.judge(&prepared, &solution).unwrap().row;
                let sha256 = solution.sha256(prepared.instance()).unwrap();
                let said = KnownRow { author: row.author.clone(), placer: row.placer.clone(), sha256, ..found };
                assert_eq!(said, *row);
                assert!(used.insert(row.file()), "{} is there twice", row.file());
            }
        }
        assert_eq!(left, Vec::<&KnownRow>::new(), "{}: out of order, or of no instance", collection.name);
    }
    let kept = fs::read_dir(solutions()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(kept.collect::<BTreeSet<_>>(), used, "solutions without a row, or rows without a solution");
}

#[test]
fn the_page_has_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let table = text(&placebench(folder.path(), &["list", "best-known", "--markdown"]).stdout);
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/BEST-KNOWN.md")).unwrap();
    assert!(
        page.ends_with(&table),
        "paste what 'placebench list best-known --markdown' prints into docs/BEST-KNOWN.md"
    );
}

fn submitted(folder: &Path, args: &[&str]) -> Value {
    let output = placebench(folder, &[&["submit"], args, &["--json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_solution_is_worth_what_place_said_and_is_added_once() {
    let folder = tempfile::tempdir().unwrap();
    let place =
        ["place", "convnet", "-p", "heft", "-s", "pct", "--timeline", "t.csv", "--placement", "p.csv", "--json"];
    let placed: Value = serde_json::from_slice(&placebench(folder.path(), &place).stdout).unwrap();
    let schedule = submitted(folder.path(), &["t.csv", "-g", "convnet"]);
    let makespan = |answer: &Value| answer["row"]["makespan"].as_f64().unwrap();
    assert_eq!(makespan(&schedule), placed["row"]["makespan"].as_f64().unwrap());
    assert_eq!(schedule["row"]["period"], placed["row"]["period"]);
    assert_eq!(schedule["row"]["scheduler"], "given");
    // A placement runs under the best of all schedulers.
    let placement = submitted(folder.path(), &["p.csv", "-g", "convnet"]);
    assert!(makespan(&placement) <= makespan(&schedule));
    assert_ne!(placement["row"]["sha256"], schedule["row"]["sha256"]);
    let best = &schedule["best_known"];
    assert!(best["makespan"].as_f64().unwrap() < makespan(&schedule), "{schedule}");
    assert_eq!(schedule["rank"], Value::from(schedule["known"].as_u64().unwrap() + 1));
    assert_eq!(schedule["files"], Value::from(Vec::<String>::new()));

    let add = ["t.csv", "-g", "convnet", "--author", "Ada, of London", "--placer", "her own", "--out", "known"];
    let added = submitted(folder.path(), &add);
    let [table, kept] = added["files"].as_array().unwrap().as_slice() else { panic!("{added}") };
    let table = folder.path().join(table.as_str().unwrap());
    let rows = fs::read_to_string(&table).unwrap();
    let built_in = Known::built_in(COLLECTIONS.iter().find(|known| known.name == "tensorflow").unwrap()).unwrap();
    assert_eq!(rows.lines().count(), 1 + built_in.rows().len() + 1);
    let own = rows.lines().find(|line| line.contains("\"Ada, of London\"")).unwrap();
    assert!(own.starts_with("convnet,gtx1080x4,0,contention_free,accelerators_only,peak,"), "{own}");
    // What is kept is the solution again, and it is known now: whoever submits it, and in whatever form.
    let kept = kept.as_str().unwrap();
    let again =
        submitted(folder.path(), &[kept, "-g", "convnet", "--author", "Eve", "--placer", "x", "--out", "known"]);
    assert_eq!((&again["is_known"], &again["files"]), (&Value::from(true), &Value::from(Vec::<String>::new())));
    assert_eq!(again["row"]["makespan"], added["row"]["makespan"]);
    assert_eq!(fs::read_to_string(&table).unwrap(), rows);
}

#[test]
fn a_schedule_that_begins_too_early_counts_as_its_order_does() {
    let folder = tempfile::tempdir().unwrap();
    placebench(folder.path(), &["place", "convnet", "-p", "heft", "--timeline", "t.csv"]);
    let honest = submitted(folder.path(), &["t.csv", "-g", "convnet"]);
    // All times a thousand times shorter: the order is the same.
    let lines = fs::read_to_string(folder.path().join("t.csv")).unwrap();
    let shorter = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [head @ .., start, _] = cells.as_slice() else { panic!("{line}") };
        match start.parse::<f64>() {
            Ok(start) => format!("{},{},0\n", head.join(","), start / 1000.0),
            Err(_) => format!("{line}\n"),
        }
    };
    fs::write(folder.path().join("early.csv"), lines.lines().map(shorter).collect::<String>()).unwrap();
    let early = submitted(folder.path(), &["early.csv", "-g", "convnet"]);
    assert_eq!(early["row"], honest["row"]);
}

#[test]
fn what_is_wrong_with_a_solution_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    placebench(folder.path(), &["place", "convnet", "--placement", "p.csv", "--timeline", "t.csv"]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (placement, timeline) = (read("p.csv"), read("t.csv"));
    let first = placement.lines().nth(1).unwrap().to_owned();
    let all_on_cpu = |device: &str| {
        let line = |op: usize| format!("{op},{device}\n");
        format!("op,device\n{}", (0..225).map(line).collect::<String>())
    };
    let backwards: String = (0..225).map(|op| format!("{op},gpu0,{}\n", 225 - op)).collect();
    let cases = [
        (String::new(), "line 1: has no column 'op': write CSV with the columns op, device"),
        ("op,place\n0,gpu0\n".to_owned(), "has no column 'device'"),
        ("op,device,start,order\n".to_owned(), "has the columns 'start' and 'order'"),
        ("op,device\n".to_owned(), "225 of the graph's 225 ops have no device, the first is op 0"),
        (placement.replacen(&first, "", 1), "1 of the graph's 225 ops have no device, the first is op 0"),
        (format!("{placement}{first}\n"), "line 227: op 0 is there twice"),
        (placement.replacen(&first, "225,x,gpu0", 1), "line 2: '225' is no op: write an id from 0 to 224"),
        (placement.replacen(&first, "0,elsewhere,gpu0", 1), "this is a solution of another graph"),
        (all_on_cpu("gpu9"), "line 2: 'gpu9' is no device of the cluster: did you mean 'gpu"),
        (all_on_cpu("cpu0"), "is no solution"),
        (format!("op,device,start\n{}", "0,gpu0,soon\n"), "line 2: 'soon' says no start: write a finite number"),
        (format!("op,device,order\n{backwards}"), "which it needs: no schedule has that"),
        (timeline.replace("op,0,", "op,zero,"), "'zero' is no op"),
        ("op,device\n0,gpu0,more\n".to_owned(), "bad.csv"),
    ];
    for (content, expected) in cases {
        fs::write(folder.path().join("bad.csv"), content).unwrap();
        let output =
            placebench(folder.path(), &["submit", "bad.csv", "-g", "convnet", "--author", "a", "-p", "b", "-o", "k"]);
        assert_one_line_error(&output, expected);
        assert!(!folder.path().join("k").exists(), "{expected}");
    }
    let args: [(&[&str], &str); 6] = [
        (&["-g", "convent"], "did you mean 'convnet'?"),
        (&["-g", "laich1"], "is in 2 instances: choose one by --cluster or --collection: laich100 of laich2017"),
        (&["-g", "convnet", "-c", "gtx1080x2"], "'convnet' is on no cluster 'gtx1080x2': did you mean 'gtx1080x4'?"),
        (&["-g", "convnet", "--collection", "tensorfow"], "did you mean 'tensorflow'?"),
        (&["-g", "convnet", "--author", " ", "-p", "x", "-o", "k"], "--author: is empty"),
        (&["-g", "gpt2"], "this is a solution of another graph"),
    ];
    for (args, expected) in args {
        assert_one_line_error(&placebench(folder.path(), &[&["submit", "p.csv"], args].concat()), expected);
    }
    fs::create_dir(folder.path().join("k")).unwrap();
    fs::write(folder.path().join("k/tensorflow.csv"), "graph,cluster\nconvnet\n").unwrap();
    let args = ["submit", "p.csv", "-g", "convnet", "--author", "a", "-p", "b", "-o", "k"];
    assert_one_line_error(&placebench(folder.path(), &args), "tensorflow.csv: is no table of known solutions");
    assert_eq!(read("k/tensorflow.csv"), "graph,cluster\nconvnet\n");
}
