//! Known solutions of collections: each row is made again, and what is wrong with a new solution is said.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use placebench::algorithms::StopToken;
use placebench::datasets::{OpId, is_less};
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
            assert!(rows.is_sorted_by(|a, b| !is_less(b.makespan, a.makespan)), "{}", instance.graph);
            let Some(_) = rows.first() else { continue };
            let prepared = Prepared::new(instance.problem().unwrap(), [], &StopToken::default());
            for row in rows {
                let solution = Solution::read(&solutions().join(row.file()), prepared.instance()).unwrap();
                let found = instance.judge(&prepared, &solution).unwrap();
                assert_eq!(found.solution, solution);
                let sha256 = solution.sha256(prepared.instance()).unwrap();
                let said = KnownRow { author: row.author.clone(), placer: row.placer.clone(), sha256, ..found.row };
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
    assert_eq!(schedule["order"], "given");
    // A placement runs under the best of all schedulers.
    let placement = submitted(folder.path(), &["p.csv", "-g", "convnet"]);
    assert!(makespan(&placement) <= makespan(&schedule) && placement["order"] != "given", "{placement}");
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

/// Ops that take no time may start earlier in the order of starts than in the order that was given.
#[test]
fn what_is_kept_is_worth_what_was_said_and_is_known_again() {
    let instance = CollectionInstance::named(None, "convnet", None).unwrap();
    let prepared = Prepared::new(instance.problem().unwrap(), [], &StopToken::default());
    let graph = prepared.instance().graph();
    let built_in = Known::built_in(instance.collection).unwrap();
    let best = built_in.rows().iter().find(|row| row.graph == "convnet").unwrap();
    let placement = Solution::read(&solutions().join(best.file()), prepared.instance()).unwrap().placement;
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..40 {
        let mut missing: Vec<usize> = graph.op_ids().map(|op| graph.in_degree(op)).collect();
        let mut ready: Vec<OpId> = graph.op_ids().filter(|&op| graph.in_degree(op) == 0).collect();
        let mut order = Vec::new();
        while !ready.is_empty() {
            let op = ready.swap_remove(draw(ready.len()));
            order.push(op);
            for &next in graph.successor_ops(op) {
                missing[next.index()] -= 1;
                if missing[next.index()] == 0 {
                    ready.push(next);
                }
            }
        }
        let given = Solution { placement: placement.clone(), order: Some(order) };
        let judged = instance.judge(&prepared, &given).unwrap();
        let again = instance.judge(&prepared, &judged.solution).unwrap();
        assert_eq!((&again.row, &again.solution), (&judged.row, &judged.solution));
    }
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
    let together = format!("op,device,start\n{}", (0..225).map(|op| format!("{op},gpu0,0\n")).collect::<String>());
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
        (format!("op,device,start\n{}", "0,gpu0,soon\n"), "line 2: 'soon' is no start: write a finite number"),
        (format!("op,device,order\n{backwards}"), "stand in the wrong order: no schedule has that"),
        ("op,device,order\r\n0,gpu0,1\r\n1,gpu0,1.5\r\n".to_owned(), "line 3: '1.5' is no order: write a whole number"),
        ("op,device,order\n0,gpu0,1\n1,gpu0,1\n".to_owned(), "line 3: order 1 is there twice"),
        (together, "start together: an op that takes time ends before"),
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
    let args: [(&[&str], &str); 9] = [
        (&["-g", "convent"], "did you mean 'convnet'?"),
        (&["-g", "laich1"], "is in 2 instances: choose one by --cluster or --collection: laich100 of laich2017"),
        (&["-g", "convnet", "-c", "gtx1080x2"], "'convnet' is on no cluster 'gtx1080x2': did you mean 'gtx1080x4'?"),
        (&["-g", "convnet", "--collection", "tensorfow"], "did you mean 'tensorflow'?"),
        (&["-g", "convnet", "--author", " ", "-p", "x", "-o", "k"], "--author: is empty"),
        (&["-g", "convnet", "--author", "=1+1", "-p", "x", "-o", "k"], "--author: begins with '='"),
        (&["-g", "convnet", "--author", "a\nb", "-p", "x", "-o", "k"], "--author: has a line break"),
        (&["-g", "convnet", "--author", &"a".repeat(201), "-p", "x", "-o", "k"], "more than 200 characters"),
        (&["-g", "gpt2"], "this is a solution of another graph"),
    ];
    for (args, expected) in args {
        assert_one_line_error(&placebench(folder.path(), &[&["submit", "p.csv"], args].concat()), expected);
    }
    fs::create_dir(folder.path().join("k")).unwrap();
    fs::write(folder.path().join("k/tensorflow.csv"), "graph,cluster\nconvnet\n").unwrap();
    let args = ["submit", "p.csv", "-g", "convnet", "--author", "a", "-p", "b", "-o", "k"];
    assert_one_line_error(&placebench(folder.path(), &args), "tensorflow.csv, line 1: the columns are not graph,");
    assert_eq!(read("k/tensorflow.csv"), "graph,cluster\nconvnet\n");
    // A makespan that no schedule has is not taken on trust.
    placebench(folder.path(), &["submit", "p.csv", "-g", "convnet", "--author", "a", "-p", "b", "-o", "l"]);
    let table = read("l/tensorflow.csv");
    let makespan = table.lines().nth(1).unwrap().split(',').nth(6).unwrap();
    for (wrong, expected) in [
        ("-5", "line 2: the makespan is no number"),
        ("0.0001", "below its lower bound"),
        ("x", "line 2: 'makespan' cannot be read"),
    ] {
        fs::write(folder.path().join("l/tensorflow.csv"), table.replacen(makespan, wrong, 1)).unwrap();
        let args = ["submit", "p.csv", "-g", "convnet", "--author", "a", "-p", "b", "-o", "l"];
        assert_one_line_error(&placebench(folder.path(), &args), expected);
    }
    let twice = format!("{table}{}\n", table.lines().nth(1).unwrap());
    fs::write(folder.path().join("l/tensorflow.csv"), twice).unwrap();
    let args = ["submit", "p.csv", "-g", "convnet", "--author", "a", "-p", "b", "-o", "l"];
    assert_one_line_error(&placebench(folder.path(), &args), "the same solution is there twice");
}

/// Two who submit at once: no row is lost.
#[test]
fn rows_of_two_at_once_are_both_kept() {
    let folder = tempfile::tempdir().unwrap();
    let count = 6;
    for seed in 0..count {
        let seed = seed.to_string();
        let place = ["place", "convnet", "-p", "random", "--seed", &seed, "--placement", &format!("{seed}.csv")];
        placebench(folder.path(), &place);
    }
    std::thread::scope(|scope| {
        for seed in 0..count {
            let folder = folder.path();
            scope.spawn(move || {
                let (file, author) = (format!("{seed}.csv"), format!("author {seed}"));
                let args = ["submit", &file, "-g", "convnet", "--author", &author, "-p", "random", "-o", "known"];
                assert!(placebench(folder, &args).status.success());
            });
        }
    });
    let table = fs::read_to_string(folder.path().join("known/tensorflow.csv")).unwrap();
    assert_eq!(table.lines().filter(|line| line.contains(",author ")).count(), count);
    assert_eq!(fs::read_dir(folder.path().join("known/solutions")).unwrap().count(), count);
}

/// What a device holds under the rule `static` is the sum of all tensors: tens of gigabytes, where eight are there.
#[test]
fn the_rules_of_memory_that_are_kept_are_said() {
    let folder = tempfile::tempdir().unwrap();
    placebench(folder.path(), &["place", "resnet50", "-p", "single_device", "--timeline", "t.csv"]);
    let answer = submitted(folder.path(), &["t.csv", "-g", "resnet50"]);
    assert_eq!(answer["memory_rules"], serde_json::json!(["peak", "unlimited"]));
    placebench(folder.path(), &["place", "convnet", "--timeline", "t.csv"]);
    let answer = submitted(folder.path(), &["t.csv", "-g", "convnet"]);
    assert_eq!(answer["memory_rules"], serde_json::json!(["static", "peak", "unlimited"]));
}

/// The same schedule, with the ops of other devices between: one solution.
#[test]
fn one_schedule_is_one_solution_however_its_devices_are_interleaved() {
    let folder = tempfile::tempdir().unwrap();
    placebench(folder.path(), &["place", "convnet", "--timeline", "t.csv"]);
    let first = submitted(folder.path(), &["t.csv", "-g", "convnet", "--author", "a", "-p", "b", "-o", "k"]);
    // A topological order that keeps the order on each device: as the solution was kept, but each op as late as it may be.
    let kept = first["files"][1].as_str().unwrap();
    let instance = CollectionInstance::named(None, "convnet", None).unwrap();
    let problem = instance.problem().unwrap();
    let solution = Solution::read(&folder.path().join(kept), &problem.instance).unwrap();
    let order = solution.order.clone().unwrap();
    let graph = problem.instance.graph();
    let mut late: Vec<_> = Vec::new();
    let mut left = order.clone();
    while !left.is_empty() {
        // From the back: the last op that nothing left needs, and that is the last left on its device.
        let may_be_last = |at: &usize| {
            let op = left[*at];
            let device = solution.placement.device_of(op);
            let later = &left[at + 1..];
            let needed = graph.successors(op).any(|edge| left.contains(&edge.op));
            !needed && later.iter().all(|other| solution.placement.device_of(*other) != device)
        };
        let at = (0..left.len()).find(may_be_last).unwrap();
        late.push(left.remove(at));
    }
    late.reverse();
    assert_ne!(late, order);
    let mut text = Vec::new();
    Solution { order: Some(late), ..solution }.write(&mut text, &problem.instance).unwrap();
    fs::write(folder.path().join("late.csv"), text).unwrap();
    let second = submitted(folder.path(), &["late.csv", "-g", "convnet", "--author", "b", "-p", "c", "-o", "k"]);
    assert_eq!((&second["is_known"], &second["row"]["sha256"]), (&Value::from(true), &first["row"]["sha256"]));
}
