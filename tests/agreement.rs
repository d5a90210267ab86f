//! One run, asked by every verb, figure and page: one order, one mean, one number of wins.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::common::{placebench, text};

/// Random graphs, three draws each under two numberings: averaging before or after taking ratios gives different means,
/// and a scheduler that is best in one draw is not in another. `tight` has too little memory for some placers, so that some fail.
const SUITE: &str = r#"
name = "agree"
repetitions = 3
numberings = 2
seed = SEED
placers = ["heft", "peft", "etf", "dfs", "random", "hashing", "critical_path", "single_device", "mite"]
schedulers = ["fifo", "pct", "msr"]

[[graph]]
name = "wide"
[graph.leveled]
levels = 4
nodes_per_level = [5, 15]
level_edges = { probability = 0.3, limit = 2 }
costs = { ops = "uniform(100,10000)", tensor_bytes = "uniform(100,10000)" }

[[graph]]
name = "deep"
[graph.leveled]
levels = 15
nodes_per_level = [1, 4]
level_edges = { probability = 0.5, limit = 1 }
costs = { ops = "uniform(100,10000)", tensor_bytes = "uniform(100,10000)" }

[[graph]]
name = "mixed"
ccr = 4.0
[graph.leveled]
levels = 8
nodes_per_level = [2, 8]
level_edges = { probability = 0.4, limit = 3 }
costs = { ops = "uniform(100,10000)", tensor_bytes = "uniform(100,10000)" }

[[cluster]]
preset = "laich7"

[[cluster]]
name = "few"
preset = "laich7"
devices = 3
"#;

fn said(folder: &Path, args: &[&str]) -> String {
    let output = placebench(folder, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&said(folder, &[args, &["--json"]].concat())).unwrap()
}

fn run(folder: &Path, seed: u32) -> Value {
    let name = format!("seed{seed}");
    std::fs::write(folder.join("agree.toml"), SUITE.replace("SEED", &seed.to_string())).unwrap();
    json(folder, &["run", "agree.toml", "--out", &name, "--quiet"])
}

/// The lines of a CSV file as maps. A quoted cell may hold commas.
fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let cells = |line: &str| {
        let mut cells = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                c => cells.last_mut().unwrap().push(c),
            }
        }
        cells
    };
    let mut lines = text.lines().map(cells);
    let header = lines.next().unwrap();
    lines.map(|cells| header.iter().cloned().zip(cells).collect()).collect()
}

fn plain(name: &str) -> String {
    name.trim_end_matches('°').to_owned()
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn names(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

fn numbers(list: &Value, key: &str) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|item| item[key].as_f64().unwrap()).collect()
}

/// Equal but for the digits that a text leaves out.
fn assert_close(what: &str, found: &[f64], expected: &[f64], digits: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= digits * b.abs(), "{what}: {found:?}, not {expected:?}");
    }
}

#[test]
fn every_verb_figure_and_page_has_the_same_means_and_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let answer = run(folder, 1);
    let (order, means, wins) = {
        let placers = &answer["placers"];
        (names(placers, "placer"), numbers(placers, "mean_ratio"), numbers(placers, "wins"))
    };
    assert_eq!(order.len(), 9);
    assert!(means.is_sorted() && means[0] < means[8], "{means:?}");

    // rank
    let ranking = json(folder, &["rank", "seed1"]);
    assert_eq!(names(&ranking["entries"], "name"), order);
    assert_close("rank", &numbers(&ranking["entries"], "mean_ratio"), &means, 1e-12);
    assert_close("wins", &numbers(&ranking["entries"], "wins"), &wins, 0.0);

    // table, in every format
    let table = csv(&said(folder, &["table", "seed1", "--format", "csv"]));
    assert_eq!(table.iter().map(|row| plain(&row["placer"])).collect::<Vec<_>>(), order);
    let column: Vec<f64> = table.iter().map(|row| row["mean ratio to best"].parse().unwrap()).collect();
    assert_close("table", &column, &means, 1e-5);
    for (format, separator) in [("latex", '&'), ("markdown", '|')] {
        let text = said(folder, &["table", "seed1", "--format", format]);
        let first = |line: &str| line.trim_start_matches('|').split(separator).next().unwrap().trim().to_owned();
        let lines = text.lines().map(first).map(|name| plain(&name.replace("\\_", "_").replace("$^\\circ$", "")));
        let listed: Vec<String> = lines.filter(|name| order.contains(name)).collect();
        assert_eq!(listed, order, "{format}: {text}");
    }
    let records = json(folder, &["table", "seed1"]);
    assert_eq!(names(&records["rows"], "placer").iter().map(|name| plain(name)).collect::<Vec<_>>(), order);

    // what the terminal shows
    let text = said(folder, &["run", "agree.toml", "--out", "again", "--quiet"]);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("placer")).skip(1).take(9).collect();
    assert_eq!(lines.iter().map(|line| plain(line.split(' ').next().unwrap())).collect::<Vec<_>>(), order, "{text}");
    let shown: Vec<f64> = lines.iter().map(|line| line.split(' ').next_back().unwrap().parse().unwrap()).collect();
    assert_close("terminal", &shown, &means, 0.006);
    assert!(text.contains(&format!("{} is best on the mean", order[0])) || text.contains("tie for the best mean"));

    // figures, by their data
    said(folder, &["figure", "seed1", "--kind", "heat,pareto,profile,bars,clusters,ranks", "--out", "figures"]);
    let data = |name: &str| csv(&std::fs::read_to_string(folder.join("figures").join(name)).unwrap());
    let listed = |rows: &[BTreeMap<String, String>], key: &str| distinct(rows.iter().map(|row| plain(&row[key])));
    assert_eq!(listed(&data("heat-makespan.csv"), "placer"), order);
    let pareto = data("pareto-makespan.csv");
    assert_eq!(listed(&pareto, "algorithm"), order);
    let quality: Vec<f64> = pareto.iter().map(|row| row["makespan_per_best"].parse().unwrap()).collect();
    assert_close("pareto", &quality, &means, 1e-5);
    let instances = ranking["instances"].as_f64().unwrap();
    let profile = data("profile-makespan.csv");
    assert_eq!(listed(&profile, "algorithm"), order);
    let at_one = |placer: &String| {
        let is_it = |row: &&BTreeMap<String, String>| plain(&row["algorithm"]) == *placer && row["factor"] == "1";
        profile.iter().find(is_it).unwrap()["share"].parse::<f64>().unwrap() * instances
    };
    assert_close("profile", &order.iter().map(at_one).collect::<Vec<_>>(), &wins, 1e-5);
    assert_eq!(listed(&data("bars-makespan-wide_few.csv"), "placer"), order);
    assert_eq!(listed(&data("clusters-makespan-wide-contention_free.csv"), "placer"), order);
    let ranks: BTreeMap<String, f64> = data("ranks-makespan.csv")
        .iter()
        .map(|row| (plain(&row["algorithm"]), row["mean_rank"].parse().unwrap()))
        .collect();
    for entry in ranking["entries"].as_array().unwrap() {
        let (name, rank) = (entry["name"].as_str().unwrap(), entry["mean_rank"].as_f64().unwrap());
        assert!((ranks[name] - rank).abs() < 1e-5, "{name}: {} in the figure, {rank} by rank", ranks[name]);
    }

    // the page
    said(folder, &["report", "seed1", "--timelines", "none", "--out", "page.html"]);
    let html = std::fs::read_to_string(folder.join("page.html")).unwrap();
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let summary = &data["summary"];
    let indices: Vec<usize> =
        summary["order"].as_array().unwrap().iter().map(|index| index.as_u64().unwrap() as usize).collect();
    let name = |&index: &usize| summary["placers"][index].as_str().unwrap().to_owned();
    assert_eq!(indices.iter().map(name).collect::<Vec<_>>(), order);
    let on_page: Vec<f64> = indices.iter().map(|&index| summary["mean"][index].as_f64().unwrap()).collect();
    assert_close("page", &on_page, &means, 1e-3);

    // sorted otherwise, the numbers stay
    let by_name = csv(&said(folder, &["table", "seed1", "--format", "csv", "--sort", "name"]));
    let mut sorted = order.clone();
    sorted.sort();
    assert_eq!(by_name.iter().map(|row| plain(&row["placer"])).collect::<Vec<_>>(), sorted);
    let of = |rows: &[BTreeMap<String, String>]| -> BTreeMap<String, String> {
        rows.iter().map(|row| (plain(&row["placer"]), row["mean ratio to best"].clone())).collect()
    };
    assert_eq!(of(&by_name), of(&table));
}

#[test]
fn two_runs_differ_by_the_same_means_in_compare_trend_and_on_their_page() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, 1);
    // The same cells, some of them slower: as a change of the code would make them.
    let rows = said(folder, &["run", "agree.toml", "--out", "new", "--quiet", "--table", "rows.json"]);
    assert!(rows.contains("cells in"));
    let mut rows: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(folder.join("rows.json")).unwrap()).unwrap();
    for row in &mut rows {
        let slower = match (
            row["placer"].as_str().unwrap(),
            row["scheduler"].as_str().unwrap(),
            row["repetition"].as_u64().unwrap(),
        ) {
            ("heft", "pct", _) => 1.3,
            ("peft", _, 1) => 0.8,
            _ => 1.0,
        };
        row["makespan"] = (row["makespan"].as_f64().unwrap() * slower).into();
    }
    std::fs::write(folder.join("changed.json"), serde_json::to_string(&rows).unwrap()).unwrap();

    // By hand: each placer's best mean over three draws and two numberings, new / old.
    let old: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(folder.join("rows.json")).unwrap()).unwrap();
    let best = |rows: &[Value]| {
        let mut sums: BTreeMap<[String; 4], f64> = BTreeMap::new();
        for row in rows {
            let key = ["placer", "graph", "cluster", "scheduler"].map(|name| row[name].as_str().unwrap().to_owned());
            *sums.entry(key).or_default() += row["makespan"].as_f64().unwrap() / 6.0;
        }
        let mut best: BTreeMap<[String; 3], f64> = BTreeMap::new();
        for ([placer, graph, cluster, _], mean) in sums {
            let known = best.entry([placer, graph, cluster]).or_insert(f64::INFINITY);
            *known = known.min(mean);
        }
        best
    };
    let (before, after) = (best(&old), best(&rows));
    let mut logs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (key, new) in &after {
        logs.entry(&key[0]).or_default().push((new / before[key]).ln());
    }
    let expected: BTreeMap<String, f64> = logs
        .into_iter()
        .map(|(placer, logs)| (placer.to_owned(), (logs.iter().sum::<f64>() / logs.len() as f64).exp()))
        .collect();
    assert!(expected["heft"] > 1.0 && expected["peft"] < 1.0 && expected["dfs"] == 1.0, "{expected:?}");

    let output = placebench(folder, &["compare", "rows.json", "changed.json", "--ignore", "time", "--json"]);
    let comparison: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    for group in comparison["quality"][0]["placers"].as_array().unwrap() {
        let (name, ratio) = (group["name"].as_str().unwrap(), group["mean_ratio"].as_f64().unwrap());
        assert!((ratio - expected[name]).abs() < 1e-12, "compare: {name} {ratio}, not {}", expected[name]);
    }
    let trend = ["trend", "history.csv", "--reference", "rows.json", "--add", "changed.json"];
    let trend = json(folder, &trend);
    for placer in trend["trends"][0]["placers"].as_array().unwrap() {
        let name = placer["placer"].as_str().unwrap();
        let ratio = placer["values"].as_array().unwrap().last().unwrap().as_f64().unwrap();
        assert!((ratio - expected[name]).abs() < 1e-9, "trend: {name} {ratio}, not {}", expected[name]);
    }
    said(folder, &["report", "rows.json", "changed.json", "--ignore", "time", "--out", "two.html"]);
    let html = std::fs::read_to_string(folder.join("two.html")).unwrap();
    assert!(html.contains(&format!("{:.4} (", expected["heft"])), "heft on the page");
    assert!(html.contains(&format!("{:.4} (", expected["peft"])), "peft on the page");
}
