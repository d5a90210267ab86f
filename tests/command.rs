//! The command as a stranger meets it: exit codes, messages, files left behind.

use std::path::Path;
use std::process::Command;

use crate::common::{assert_one_line_error, placebench, text};

const SMALL: &str = r#"
name = "small"
repetitions = 2
placers = ["heft", "mite", "random"]
schedulers = ["fifo", "pct", "msr", "static"]
networks = ["contention_free", "one_port"]

[[graph]]
catalogue = "convnet"
costs = "laich"

[[cluster]]
preset = "laich7"
"#;

fn small_suite(folder: &Path) {
    std::fs::write(folder.join("small.toml"), SMALL).unwrap();
}

/// The table of a run without the columns that depend on the clock.
fn stable_table(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let stable = |row: &serde_json::Value| {
        let mut row = row.as_object().unwrap().clone();
        for column in placebench::harness::results::Row::measured_columns() {
            row.remove(column);
        }
        serde_json::Value::Object(row).to_string()
    };
    rows.iter().map(stable).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_misspelt_suite_or_file_is_one_line_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    assert_one_line_error(&placebench(folder.path(), &["run", "laich2071"]), "did you mean 'laich2017'?");
    assert_one_line_error(&placebench(folder.path(), &["run", "nothing.toml"]), "nothing.toml: no such file");
    assert_one_line_error(
        &placebench(folder.path(), &["run", "default", "--table", "x.xls"]),
        "x.xls: unknown kind of table",
    );
    std::fs::write(folder.path().join("s.toml"), SMALL.replace("mite", "mites")).unwrap();
    assert_one_line_error(&placebench(folder.path(), &["run", "s.toml"]), "s.toml");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "an error leaves nothing behind");
}

#[test]
fn a_run_gives_the_same_rows_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    small_suite(folder.path());
    let mut tables = Vec::new();
    for threads in ["1", "2", "5"] {
        let (out, table) = (format!("run-{threads}"), format!("t{threads}.json"));
        let output = placebench(
            folder.path(),
            &["run", "small.toml", "--threads", threads, "--out", &out, "--table", &table, "-q"],
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
        tables.push(stable_table(&folder.path().join(table)));
    }
    // Two repetitions, two networks; heft has all four schedulers, the others all but static.
    assert_eq!(tables[0].lines().count(), 2 * 2 * (4 + 3 + 3));
    assert!(tables[0].lines().all(|row| row.contains(r#""status":"ok""#)), "{}", tables[0]);
    assert!(tables.iter().all(|table| *table == tables[0]));
}

#[test]
fn what_decides_during_the_run_has_one_row_a_network_and_a_search_answers_the_same_on_any_threads() {
    let folder = tempfile::tempdir().unwrap();
    let placers = r#"placers = ["cats", "dheft", "simulated_annealing(budget=12)", "reinforce(budget=12)"]"#;
    let suite = SMALL.replace(r#"placers = ["heft", "mite", "random"]"#, placers);
    std::fs::write(folder.path().join("small.toml"), suite).unwrap();
    let run = |threads: &str| {
        let (out, table) = (format!("run-{threads}"), format!("t{threads}.json"));
        let args = ["run", "small.toml", "--threads", threads, "--out", &out, "--table", &table, "-q"];
        let output = placebench(folder.path(), &args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(!text(&output.stdout).contains("online 1.0"), "online is no scheduler to compare");
        stable_table(&folder.path().join(table))
    };
    let table = run("1");
    // Two repetitions, two networks: each placer once, the searches with the scheduler that they choose.
    assert_eq!(table.lines().count(), 2 * 2 * 4);
    let chosen = |row: &&str| row.contains(r#""scheduler":"chosen""#) && row.contains(r#""chosen_scheduler":""#);
    assert_eq!(table.lines().filter(|row| row.contains(r#""scheduler":"online""#)).count(), 2 * 2 * 2);
    assert_eq!(table.lines().filter(chosen).count(), 2 * 2 * 2);
    assert!(table.lines().all(|row| row.contains(r#""status":"ok""#)), "{table}");
    assert_eq!(run("3"), table);
}

#[test]
fn an_interrupted_run_resumes_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    small_suite(folder.path());
    let args = ["run", "small.toml", "--out", "run", "--table", "whole.json", "-q"];
    assert!(placebench(folder.path(), &args).status.success());
    let whole = stable_table(&folder.path().join("whole.json"));
    let again = placebench(folder.path(), &args);
    assert_one_line_error(&again, "holds a complete run of this suite");
    // As a crash leaves it: no table, and a journal that ends in the middle of a line.
    std::fs::remove_file(folder.path().join("run/results.parquet")).unwrap();
    let journal = folder.path().join("run/cells.jsonl");
    let lines = std::fs::read_to_string(&journal).unwrap();
    let kept: Vec<&str> = lines.lines().take(7).collect();
    std::fs::write(&journal, format!("{}\n{}", kept.join("\n"), &lines[..40])).unwrap();
    let output = placebench(folder.path(), &["run", "small.toml", "--out", "run", "--table", "resumed.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).starts_with("7/40 cells"), "{}", text(&output.stderr));
    assert_eq!(stable_table(&folder.path().join("resumed.json")), whole);
}

#[test]
fn what_can_be_named_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let listing = text(&placebench(folder.path(), &["list", "--verbose"]).stdout);
    for name in [
        "lstm_lm",
        "laich6",
        "gtx1080x8",
        "iterated_critical_path",
        "average=time",
        "msr",
        "laich2017",
        "one_port",
        ".pbtxt",
        ".hgr",
        "hashing_blocks",
        "epsilon=auto",
    ] {
        assert!(listing.contains(name), "{name} is not in\n{listing}");
    }
    let placers = text(&placebench(folder.path(), &["list", "placers"]).stdout);
    assert!(!placers.contains("average=time") && placers.contains("'placebench list placers optimal'"), "{placers}");
    assert!(placers.contains("heft") && !placers.contains("laich6"));
}

#[test]
fn what_cannot_be_placed_is_a_row_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    // With its own costs the graph needs megabytes, and the cluster has less.
    std::fs::write(folder.path().join("small.toml"), SMALL.replace("costs = \"laich\"\n", "")).unwrap();
    let output = placebench(folder.path(), &["run", "small.toml", "--out", "run", "--table", "t.json", "-q"]);
    assert_eq!(output.status.code(), Some(1), "no cell is ok");
    let table = stable_table(&folder.path().join("t.json"));
    assert_eq!(table.lines().count(), 40);
    assert!(table.lines().all(|row| row.contains(r#""status":"infeasible""#)), "{table}");
    let printed = text(&output.stdout);
    assert!(
        printed.contains("Failed cells\n") && printed.contains("the memory rule peak refuses the run"),
        "{printed}"
    );
}

#[test]
fn undirected_graphs_are_generated_and_partitioned() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| placebench(folder.path(), arguments);
    for (arguments, answer) in [
        (&["grid(side=20)", "--out=a.graph"][..], "400 vertices, 760 edges"),
        (&["random_geometric(vertices=500, degree=6)", "--out=b.mtx"], "500 vertices"),
        (&["rmat(scale=8, degree=4)", "--out=c", "--format=metis"], "256 vertices, 512 edges"),
        (&["laich3", "--ops=1000", "--out=d.graph"], "1000 ops"),
    ] {
        let made = run(&[&["generate"], arguments].concat());
        assert!(made.status.success() && String::from_utf8_lossy(&made.stdout).contains(answer), "{arguments:?}");
    }
    for graph in [&["a.graph"][..], &["b.mtx"], &["c", "--format=metis"], &["d.graph"]] {
        assert!(run(&[&["partition", "-k4", "-o", "blocks"], graph].concat()).status.success(), "{graph:?}");
    }
    let wrong = run(&["generate", "grid(degree=3)", "--out=e.graph"]);
    assert_one_line_error(&wrong, "'grid' has no parameter 'degree'");
    assert_one_line_error(&run(&["generate", "grid", "--out=e"]), "give --format");
    assert_one_line_error(&run(&["generate", "gird", "--out=e.graph"]), "did you mean 'grid'");
}

#[test]
fn a_graph_is_generated_checked_and_found_out_when_it_was_changed() {
    let folder = tempfile::tempdir().unwrap();
    let generate = ["generate", "laich3", "--seed", "7", "--out", "g"];
    assert!(placebench(folder.path(), &generate).status.success());
    assert_one_line_error(&placebench(folder.path(), &generate), "g: exists: --force replaces it");
    let check = placebench(folder.path(), &["generate", "--check", "g"]);
    assert!(check.status.success() && text(&check.stdout).contains("is what its manifest says"));
    let manifest = folder.path().join("g/manifest.toml");
    let changed = std::fs::read_to_string(&manifest).unwrap().replace("seed = 7", "seed = 8");
    std::fs::write(&manifest, changed).unwrap();
    assert_one_line_error(&placebench(folder.path(), &["generate", "--check", "g"]), "g/manifest.toml");
    assert_one_line_error(&placebench(folder.path(), &["generate", "laich9", "--out", "h"]), "did you mean 'laich");
    // A name has no parameters in it, and no part of one.
    let drawn = ["generate", "leveled(levels=4,level_edges.probability=0.5,times=cvb(0.6))", "--out", "drawn"];
    assert!(placebench(folder.path(), &drawn).status.success());
    let header = std::fs::read_to_string(folder.path().join("drawn/graph.toml")).unwrap();
    assert!(header.contains("name = \"leveled\"\n"), "{header}");
    let check = placebench(folder.path(), &["generate", "--check", "drawn"]);
    assert!(text(&check.stdout).contains("is what its manifest says"));
}

#[test]
fn a_family_is_described_made_from_a_parameter_file_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| placebench(folder.path(), arguments);
    let described = run(&["generate", "cholesky", "--describe"]);
    let lines = text(&described.stdout);
    assert!(lines.starts_with("cholesky: dataflow graphs: tiled Cholesky") && lines.contains("  tiles=8  "), "{lines}");
    let parameters = run(&["generate", "--print-parameters", "cholesky(tiles=4, ops=exponential(9))"]);
    std::fs::write(folder.path().join("mine.toml"), &parameters.stdout).unwrap();
    let made = run(&["generate", "mine.toml", "--seed=3", "--out=g"]);
    assert!(text(&made.stdout).starts_with("g: 20 ops, 30 edges"), "{}", text(&made.stderr));
    assert!(text(&run(&["generate", "--check", "g"]).stdout).contains("is what its parameters make"));
    let header = folder.path().join("g/graph.toml");
    let changed = std::fs::read_to_string(&header).unwrap().replace("seed = \"3\"", "seed = \"4\"");
    std::fs::write(&header, changed).unwrap();
    assert_one_line_error(&run(&["generate", "--check", "g"]), "not the one that its parameters make");
    assert_one_line_error(&run(&["generate", "cholesky(tiles=0)", "--out=h"]), "'tiles' is '0'");
    let option = run(&["generate", "cholesky", "--tiles=4", "--out=h"]);
    assert!(text(&option.stderr).contains("a family's parameters follow its name"), "{}", text(&option.stderr));
    assert_one_line_error(&run(&["generate", "t_fast16", "--ops=3", "--out=c.toml"]), "--ops is for graphs");
    assert!(!folder.path().join("c.toml").exists());
}

#[test]
fn a_graph_survives_a_tour_of_all_formats() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = |name: &str| {
        let output = placebench(folder.path(), &["inspect", name]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let sheet = text(&output.stdout);
        // The sheet itself, without name and provenance, which not every format keeps.
        sheet
            .lines()
            .skip_while(|line| !line.starts_with("ops "))
            .take_while(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let mut from = "recurrent".to_owned();
    let original = sheet(&from);
    assert!(original.contains("4978"), "{original}");
    for to in ["a.pb", "b.pbtxt", "c.csv", "d"] {
        let output = placebench(folder.path(), &["convert", &from, to]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(sheet(to), original, "{to}");
        from = to.to_owned();
    }
    assert!(placebench(folder.path(), &["convert", "d", "e.dot"]).status.success());
    assert!(std::fs::read_to_string(folder.path().join("e.dot")).unwrap().starts_with("digraph"));
    assert_one_line_error(&placebench(folder.path(), &["convert", "d", "e.dot"]), "e.dot: exists: --force replaces it");
    assert_one_line_error(&placebench(folder.path(), &["convert", "d", "f.xyz"]), "f.xyz: unknown graph format '.xyz'");
    assert_one_line_error(&placebench(folder.path(), &["inspect", "recurent"]), "did you mean 'recurrent'?");
    for (from, to) in [("gtx1080x4", "x.toml"), ("laich7", "y.csv")] {
        let output = placebench(folder.path(), &["convert", "--cluster", from, to]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(placebench(folder.path(), &["place", "recurrent", "-c", to, "--memory", "unlimited"]).status.success());
    }
}

#[test]
fn a_suite_with_the_old_name_of_drawn_costs_is_told_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("old.toml"), SMALL.replace("costs = \"laich\"", "weights = \"laich\"")).unwrap();
    let output = placebench(folder.path(), &["run", "old.toml"]);
    assert_one_line_error(&output, "the key 'weights' is called 'costs' now");
}

#[test]
fn each_memory_rule_says_what_it_refuses_and_the_peak_admits_what_fits() {
    let folder = tempfile::tempdir().unwrap();
    let machine = |gib: u32| {
        format!(
            "[[device]]\nname = \"gpu\"\nkind = \"GPU\"\ncount = 2\nmemory = \"{gib} GiB\"\nspeed = 1e12\n\n\
             [[device]]\nname = \"cpu\"\nkind = \"CPU\"\nspeed = 1e10\n\n[link]\nrate = \"10 GB/s\"\n"
        )
    };
    for gib in [1, 16] {
        std::fs::write(folder.path().join(format!("{gib}.toml")), machine(gib)).unwrap();
    }
    let place = |cluster: &str, memory: &str| {
        let kinds = ["--kinds", "accelerators_only", "-p", "single_device", "--memory", memory];
        placebench(folder.path(), &[&["place", "resnet50", "-c", cluster], &kinds[..]].concat())
    };
    // A step never has more than 3 GB in use at once, but the demands of all its ops are more than 32 GiB.
    assert_one_line_error(&place("16.toml", "static"), "the memory rule static counts every tensor");
    let fits = place("16.toml", "peak");
    assert!(text(&fits.stdout).contains("2.90 GB on one device; memory rule peak"), "{}", text(&fits.stderr));
    assert!(text(&fits.stdout).contains("kinds           accelerators_only\n"), "{}", text(&fits.stdout));
    assert_one_line_error(&place("1.toml", "peak"), "device 'gpu0' held 2.90 GB at 59.6 ms");
    assert_one_line_error(&place("1.toml", "peak"), "the memory rule peak refuses the run");
    assert!(place("1.toml", "unlimited").status.success());
    let wrong = placebench(folder.path(), &["place", "resnet50", "--memory", "peek"]);
    assert!(text(&wrong.stderr).contains("use static, peak or unlimited"), "{}", text(&wrong.stderr));
    let wrong = placebench(folder.path(), &["place", "resnet50", "--kinds", "gpu"]);
    assert!(text(&wrong.stderr).contains("use as_given or accelerators_only"), "{}", text(&wrong.stderr));
}

#[test]
fn one_placement_is_judged_and_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["place", "recurrent", "-p", "heft", "-s", "static", "--memory", "unlimited"];
    let files = ["--placement", "p.csv", "--timeline", "t.csv", "--trace", "t.json"];
    let output = placebench(folder.path(), &[&args[..], &files[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for word in ["makespan", "SLR", "lower bound", "traffic", "peak memory"] {
        assert!(printed.contains(word), "{word} is not in\n{printed}");
    }
    let lines = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap().lines().count();
    assert_eq!(lines("p.csv"), 2809 + 1);
    assert!(lines("t.csv") > 2809);
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 2809);
    let place =
        |more: &[&str]| placebench(folder.path(), &[&["place", "recurrent", "--memory", "unlimited"], more].concat());
    let online = place(&["-p", "cats", "--timeline", "o.csv"]);
    assert!(text(&online.stdout).contains("online under contention_free"), "{}", text(&online.stdout));
    assert!(lines("o.csv") > 2809);
    assert_one_line_error(&place(&["-p", "cats", "-s", "fifo"]), "leave out the scheduler fifo");
    assert_one_line_error(&place(&["-p", "mite", "-s", "online"]), "give a scheduler, such as pct");
    assert_one_line_error(&placebench(folder.path(), &["place", "recurrent", "-p", "hetf"]), "did you mean 'heft'?");
    assert_one_line_error(
        &placebench(folder.path(), &["place", "recurrent", "-p", "mite", "-s", "static"]),
        "makes none",
    );
    assert_one_line_error(
        &placebench(folder.path(), &["place", "recurrent", "-p", "mite(x=1)"]),
        "has no parameter 'x'",
    );
}

#[test]
fn a_partitioner_is_a_placer_in_suites_and_its_rows_show_the_repair() {
    let folder = tempfile::tempdir().unwrap();
    let suite = SMALL.replace(r#""heft", "mite", "random""#, r#""heft", "hashing_blocks(epsilon=0.1)""#);
    std::fs::write(folder.path().join("small.toml"), suite.replace(", \"static\"", "")).unwrap();
    let output = placebench(folder.path(), &["run", "small.toml", "--out", "run", "--table", "t.json", "-q"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows.len(), 2 * 2 * 3 * 2);
    for row in rows {
        assert_eq!(row["status"], "ok", "{row}");
        assert_eq!(row["repaired"].is_u64(), row["placer"] == "hashing_blocks(epsilon=0.1)", "{row}");
    }
}

#[test]
fn a_placer_named_for_print_goes_by_its_name_and_is_sorted_and_swept_by_its_specification() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str, placer: &str| format!("[[placer]]\nname = \"{name}\"\nplacer = \"{placer}\"\n");
    let suite = SMALL.replace(r#""heft", "mite", "random""#, r#""random""#).replace(r#", "static""#, "")
        + &named("One", "scoring(alpha=1)")
        + &named("Two", "scoring(alpha=2)")
        + &named("HEFT", "heft(average=speed)");
    std::fs::write(folder.path().join("small.toml"), suite).unwrap();
    let succeeds = |args: &[&str]| {
        let output = placebench(folder.path(), args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let printed = succeeds(&["run", "small.toml", "--out", "run", "--table", "t.json"]);
    assert!(printed.contains("HEFT") && !printed.contains("heft"), "{printed}");
    let path = folder.path().join("t.json");
    let mut rows: Vec<serde_json::Value> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for row in &rows {
        let spec = match row["placer"].as_str().unwrap() {
            "One" => Some("scoring(alpha=1)"),
            "Two" => Some("scoring(alpha=2)"),
            "HEFT" => Some("heft(average=speed)"),
            _ => None,
        };
        assert_eq!(row["placer_spec"].as_str(), spec, "{row}");
    }
    let table = succeeds(&["table", "run", "--format", "csv"]);
    let order: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(order, ["HEFT", "One°", "Two°", "random"], "by their mean, with marks");
    assert!(succeeds(&["rank", "run", "--where", "placer=HEFT,random"]).contains("HEFT"));
    succeeds(&["figure", "run", "--where", "placer=HEFT", "--out", "heft"]);
    succeeds(&["figure", "run", "--where", "placer=scoring", "--kind", "sweep", "--out", "sweep"]);
    let sweep = folder.path().join("sweep/sweep-makespan-scoring-alpha-convnet_contention_free.svg");
    assert!(sweep.exists(), "{:?}", std::fs::read_dir(folder.path().join("sweep")).unwrap().collect::<Vec<_>>());
    assert!(succeeds(&["place", "convnet", "--cluster", "laich7", "-p", "HEFT", "--run", "run"]).contains("makespan"));
    assert_one_line_error(
        &placebench(folder.path(), &["table", "run", "--where", "placer=HEFTY"]),
        "no row has placer 'HEFTY': did you mean 'HEFT'?",
    );
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("placer_spec");
    }
    std::fs::write(&path, serde_json::to_string(&rows).unwrap()).unwrap();
    assert!(succeeds(&["rank", "t.json"]).contains("HEFT"), "an old table lacks the column");
}

#[test]
fn the_suite_optimality_proves_optima_and_prints_the_ratios_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", "optimality", "--repetitions", "3", "--table", "t.json", "-q"];
    let output = placebench(folder.path(), &args);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("Makespan / proven optimum, draw by draw"), "{printed}");
    assert!(printed.contains("Against the proven optima of 9 draws") && !printed.contains("BUG"), "{printed}");
    assert!(printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
    // The plan is executed to exactly the proven time.
    let table = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&table).unwrap();
    let mut proven = rows.iter().filter(|row| row["placer"] == "optimal" && row["scheduler"] == "static").peekable();
    assert!(proven.peek().is_some() && proven.all(|row| row["makespan"] == row["planned_makespan"]));
    assert_one_line_error(
        &placebench(folder.path(), &["place", "recurrent", "-p", "optimal"]),
        "the optimum is only sought for up to 64 ops",
    );
}

#[test]
fn force_never_deletes_a_folder_that_is_not_a_graph() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("thesis")).unwrap();
    std::fs::write(folder.path().join("thesis/chapter1"), "years of work").unwrap();
    for verb in [["convert", "convnet", "thesis", "--force"], ["generate", "laich3", "--out=thesis", "--force"]] {
        assert_one_line_error(&placebench(folder.path(), &verb), "thesis");
        assert_eq!(std::fs::read_to_string(folder.path().join("thesis/chapter1")).unwrap(), "years of work");
    }
    for _ in 0..2 {
        assert!(placebench(folder.path(), &["convert", "convnet", "graph", "--force"]).status.success());
    }
}

/// The example of HEFT and CPOP (Topcuoglu et al. 2002, fig. 2 to 4) as a file that is graph and cluster at once: ten tasks with a
/// time on each of three processors. PEFT's 85 is what its authors' rules give on it.
#[test]
fn published_schedules_on_a_matrix_of_times_are_found_from_its_file() {
    let tasks = "14,16,9 13,19,18 11,13,19 13,8,17 12,13,10 13,16,9 7,15,11 5,11,14 18,12,20 21,7,16";
    let edges =
        "0,1,18 0,2,12 0,3,9 0,4,11 0,5,14 1,7,19 1,8,16 2,6,23 3,7,27 3,8,23 4,8,13 5,7,15 6,9,17 7,9,11 8,9,13";
    let part = |text: &str| text.split(' ').enumerate().map(|(at, line)| format!("{at}: {line}\n")).collect::<String>();
    let folder = tempfile::tempdir().unwrap();
    let text = format!("#tasks\n{}#edges\n{}", part(tasks), part(edges));
    std::fs::write(folder.path().join("heft.dag"), text).unwrap();
    for (placer, makespan) in [("heft", 80.0), ("cpop", 86.0), ("peft", 85.0)] {
        let args = ["place", "heft.dag", "-c", "heft.dag", "-p", placer, "-s", "static", "--json"];
        let answer: serde_json::Value = serde_json::from_slice(&placebench(folder.path(), &args).stdout).unwrap();
        assert_eq!(answer["row"]["makespan"].as_f64(), Some(makespan), "{placer}");
    }
}

/// docs/REFERENCE.md is what the verbs say of themselves: `placebench man --markdown > docs/REFERENCE.md`.
#[test]
fn the_reference_is_the_help_of_the_verbs() {
    let folder = tempfile::tempdir().unwrap();
    let printed = text(&placebench(folder.path(), &["man", "--markdown"]).stdout);
    assert_eq!(include_str!("../docs/REFERENCE.md"), printed, "placebench man --markdown > docs/REFERENCE.md");
}

/// What bash offers after these words, the last of which is completed.
fn offered(folder: &Path, words: &[&str]) -> Vec<String> {
    std::fs::write(folder.join("script"), placebench(folder, &["completions", "bash"]).stdout).unwrap();
    let ask = "source ./script; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
               _placebench placebench \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; \
               printf '%s\\n' \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", ask, "bash"]).args(words).current_dir(folder).output().unwrap();
    text(&output.stdout).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn names_of_graphs_placers_and_clusters_are_completed() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("skipped: there is no bash");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &[&str]); 14] = [
        (&["place", "lst"], &["lstm_lm"]),
        (&["place", "nmt", "-p", "hef"], &["heft"]),
        (&["place", "nmt", "--cluster", "tpu_v5e"], &["tpu_v5e_4x4"]),
        (&["place", "nmt", "-n", "one"], &["one_port"]),
        (&["run", "laich2017_"], &["laich2017_seconds"]),
        (&["partition", "nmt", "-a", "fid"], &["fiduccia_mattheyses"]),
        (&["submit", "x.csv", "--collection", "ja"], &["jax"]),
        (&["place", "nmt", "--pass", "pru"], &["prune"]),
        (&["table", "r", "--sort", "su"], &["suite"]),
        (&["table", "r", "--format", "ma"], &["markdown"]),
        (&["man", "tut"], &["tutorial"]),
        (&["cite", "lst"], &["lstm_lm"]),
        (&["generate", "chol"], &["cholesky"]),
        (&["list", "placers", "m_sc"], &["m_sct"]),
    ];
    for (words, expected) in cases {
        assert_eq!(offered(folder.path(), &[&["placebench"], words].concat()), expected, "{words:?}");
    }
    // In zsh, files may stand where graphs do.
    let zsh = text(&placebench(folder.path(), &["completions", "zsh"]).stdout);
    assert!(zsh.contains(":_placebench_graphs'") && zsh.contains(":_placebench_clusters'"), "no names with files");
    // What a script offers is no rule for what is given.
    let output = placebench(folder.path(), &["place", "convnet+prune", "-p", "heft(average=speed)"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn each_verb_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let output = placebench(folder.path(), &["man", "--out", "man1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let whole = text(&placebench(folder.path(), &["man"]).stdout);
    for verb in ["run", "place", "cite", "execute-worker"] {
        assert!(whole.contains(&format!("placebench\\-{}(1)", verb.replace('-', "\\-"))), "{verb}");
        let page = std::fs::read_to_string(folder.path().join(format!("man1/placebench-{verb}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{verb}");
        assert_eq!(text(&placebench(folder.path(), &["man", verb]).stdout).matches(".SH SYNOPSIS").count(), 1);
    }
    assert_one_line_error(&placebench(folder.path(), &["man", "runn"]), "unknown verb 'runn': did you mean 'run'?");
}

#[test]
fn a_suite_that_lacks_a_table_is_told_which() {
    let folder = tempfile::tempdir().unwrap();
    let graph = "[[graph]]\ncatalogue = \"convnet\"\n";
    let cluster = "[[cluster]]\npreset = \"gtx1080x4\"\n";
    for (tables, expected) in [
        (graph.to_owned(), "s.toml:1: there is no [[cluster]]: add one with the key preset or file"),
        (cluster.to_owned(), "s.toml:1: there is no [[graph]]: add one with the key catalogue, preset or file"),
        (
            graph.replace("[[graph]]", "[graph]") + cluster,
            "s.toml:3: a table where a list of tables is expected: write [[graph]] with two brackets in place of [graph]",
        ),
        (
            format!("cluster = \"gtx1080x4\"\n{graph}"),
            "s.toml:3: cluster is a list of tables: write [[cluster]], and in the lines below it the key preset or file",
        ),
    ] {
        std::fs::write(folder.path().join("s.toml"), format!("name = \"s\"\nplacers = [\"heft\"]\n{tables}")).unwrap();
        assert_one_line_error(&placebench(folder.path(), &["run", "s.toml"]), expected);
    }
}

#[test]
fn a_wrong_number_or_type_is_refused_in_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 4] = [
        (
            &["partition", "convnet", "-k", "2", "--epsilon", "3%"],
            "no number: write it without a unit or a %, as in 3 or 0.03",
        ),
        (&["place", "convnet", "--time-limit", "3s"], "no number: write it without a unit"),
        (&["compare", "a", "b", "--max-cell", "x"], "no number: write it without a unit"),
        (&["inspect", "convnet", "--dim", "batch=8"], "--dim is for onnx (.onnx), not for 'convnet': leave it out"),
    ];
    for (args, expected) in cases {
        let output = placebench(folder.path(), args);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{args:?}: {said}");
    }
    let types = [
        ("repetitions = 2", "repetitions = \"a\"", ":3: invalid type"),
        ("repetitions = 2", "repetitions = \"a\"", "expected a whole number of at least 0"),
        ("placers = [\"heft\", \"mite\", \"random\"]", "placers = \"heft\"", "expected a list"),
        ("costs = \"laich\"", "leveled = 3", "expected a table"),
    ];
    for (right, wrong, expected) in types {
        std::fs::write(folder.path().join("s.toml"), SMALL.replace(right, wrong)).unwrap();
        assert_one_line_error(&placebench(folder.path(), &["run", "s.toml"]), expected);
    }
}
