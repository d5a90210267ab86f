//! One run, asked by every verb, figure and page: one order, one mean, one number of wins, and those that the rows give by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::common::{placebench, text};

/// Random graphs, three draws each under two numberings: averaging before or after taking ratios gives different means,
/// and a scheduler that is best in one draw is not in another. `tight` has too little memory: two graphs fit no placer there,
/// and on the third some placers fail, so that they have no mean and stand last.
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
name = "laich3"
preset = "laich7"
devices = 3

[[cluster]]
name = "tight"
file = "tight.toml"
"#;

/// Small graphs, of which the optimum is proven.
const PROVEN: &str = r#"
name = "proven"
repetitions = 2
seed = 1
placers = ["random", "heft", "single_device", "optimal"]
schedulers = ["fifo", "pct"]

[[graph]]
name = "small"
[graph.leveled]
levels = 3
nodes_per_level = [1, 3]
level_edges = { probability = 0.5, limit = 2 }
costs = { ops = "uniform(100,10000)", tensor_bytes = "uniform(100,10000)" }

[[cluster]]
preset = "tiny3"
"#;

fn said(folder: &Path, args: &[&str]) -> String {
    let output = placebench(folder, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&said(folder, &[args, &["--json"]].concat())).unwrap()
}

/// Writes the suite and its cluster of little memory.
fn write_suite(folder: &Path, seed: u32) {
    std::fs::write(folder.join("agree.toml"), SUITE.replace("SEED", &seed.to_string())).unwrap();
    said(folder, &["convert", "--cluster", "laich7", "tight.toml", "--force"]);
    let cluster = std::fs::read_to_string(folder.join("tight.toml")).unwrap();
    let tight =
        |line: &str| if line.starts_with("memory") { "memory = \"60 kB\"\n".into() } else { format!("{line}\n") };
    std::fs::write(folder.join("tight.toml"), cluster.lines().map(tight).collect::<String>()).unwrap();
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
    list.as_array().unwrap().iter().map(|item| plain(item[key].as_str().unwrap())).collect()
}

fn numbers(list: &Value, key: &str) -> Vec<Option<f64>> {
    list.as_array().unwrap().iter().map(|item| item[key].as_f64()).collect()
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// The geometric mean; `None` of nothing.
fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logs / values.len() as f64).exp())
}

/// What readers say that is not what the rows give: all of it, so that one run of the test shows who is wrong.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn same<T: PartialEq + std::fmt::Debug + ?Sized>(&mut self, who: &str, found: &T, expected: &T) {
        if found != expected {
            self.0.push(format!("{who}: {found:?}, not {expected:?}"));
        }
    }

    /// Equal but for the digits that a text leaves out: a share of the number.
    fn close(&mut self, who: &str, found: &[Option<f64>], expected: &[Option<f64>], share: f64) {
        let is_close = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= share * b.abs(),
            (a, b) => a == b,
        };
        if found.len() != expected.len() || !found.iter().zip(expected).all(is_close) {
            self.0.push(format!("{who}: {found:?}, not {expected:?}"));
        }
    }

    /// The numbers of a text that keeps so many digits after the point.
    fn rounded(&mut self, who: &str, found: &[Option<f64>], expected: &[Option<f64>], digits: usize) {
        let shown = |value: &Option<f64>| value.map(|value| format!("{value:.digits$}"));
        self.same(who, &found.iter().map(shown).collect::<Vec<_>>(), &expected.iter().map(shown).collect::<Vec<_>>());
    }

    fn none(self) {
        assert!(self.0.is_empty(), "{} answers differ from the rows:\n{}", self.0.len(), self.0.join("\n"));
    }
}

/// What the rows of a run give by hand: the mean of a cell over draws and numberings, a placer's best scheduler by that, ratios to
/// the best of each instance, and their geometric mean over the instances that all placers with a mean have.
struct ByHand {
    /// `graph@cluster`, in the order of the suite.
    instances: Vec<String>,
    /// By mean; those without one after them, by how many instances they lack.
    order: Vec<String>,
    /// By placer and instance: the mean, and the scheduler that gives it.
    best: BTreeMap<(String, String), (f64, String)>,
    /// By placer, scheduler and instance.
    cells: BTreeMap<(String, String, String), f64>,
    /// By placer, scheduler, instance and repetition.
    draws: BTreeMap<(String, String, String, u64), f64>,
}

impl ByHand {
    /// What rows give for the number that they are judged by.
    fn of(rows: &[Value], number: &str) -> Self {
        let field = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        let instance = |row: &Value| format!("{}@{}", field(row, "graph"), field(row, "cluster"));
        let mut values: BTreeMap<_, Vec<(u64, Option<f64>)>> = BTreeMap::new();
        for row in rows {
            let cell = (field(row, "placer"), field(row, "scheduler"), instance(row));
            values.entry(cell).or_default().push((row["repetition"].as_u64().unwrap(), row[number].as_f64()));
        }
        let (mut cells, mut draws) = (BTreeMap::new(), BTreeMap::new());
        let mut best: BTreeMap<(String, String), (f64, String)> = BTreeMap::new();
        // A draw that fails fails its cell.
        for (cell, values) in values.into_iter().filter(|(_, values)| values.iter().all(|(_, value)| value.is_some())) {
            let of_draw = |draw: Option<u64>| {
                let own = values.iter().filter(|(of, _)| draw.is_none_or(|draw| draw == *of));
                let own: Vec<f64> = own.map(|(_, value)| value.unwrap()).collect();
                own.iter().sum::<f64>() / own.len() as f64
            };
            let (placer, scheduler, instance) = cell.clone();
            for draw in values.iter().map(|(draw, _)| *draw).collect::<BTreeSet<u64>>() {
                draws.insert((placer.clone(), scheduler.clone(), instance.clone(), draw), of_draw(Some(draw)));
            }
            let mean = of_draw(None);
            let known = best.entry((placer, instance)).or_insert((f64::INFINITY, String::new()));
            if mean < known.0 * (1.0 - 1e-9) {
                *known = (mean, scheduler);
            }
            cells.insert(cell, mean);
        }
        let mut own = Self { instances: distinct(rows.iter().map(instance)), order: Vec::new(), best, cells, draws };
        own.order = own.in_order(distinct(rows.iter().map(|row| field(row, "placer"))));
        own
    }

    fn in_order(&self, mut placers: Vec<String>) -> Vec<String> {
        let all = placers.clone();
        let value = |placer: &String| match self.mean_among(placer, &all) {
            Some(mean) => (0, mean),
            None => {
                let own: Vec<f64> = self.instances.iter().filter_map(|here| self.ratio(placer, here)).collect();
                (1 + self.lacking(placer), geometric_mean(&own).unwrap_or(f64::INFINITY))
            }
        };
        placers.sort_by(|a, b| value(a).partial_cmp(&value(b)).unwrap());
        placers
    }

    fn makespan(&self, placer: &str, instance: &str) -> Option<f64> {
        self.best.get(&(placer.to_owned(), instance.to_owned())).map(|(mean, _)| *mean)
    }

    fn least(&self, instance: &str) -> Option<f64> {
        let own = self.best.iter().filter(|((_, here), _)| here == instance).map(|(_, (mean, _))| *mean);
        own.reduce(f64::min)
    }

    fn ratio(&self, placer: &str, instance: &str) -> Option<f64> {
        Some(self.makespan(placer, instance)? / self.least(instance)?)
    }

    /// The instances on which somebody has a value.
    fn counted(&self) -> Vec<&String> {
        self.instances.iter().filter(|here| self.least(here).is_some()).collect()
    }

    fn lacking(&self, placer: &str) -> usize {
        self.counted().into_iter().filter(|here| self.ratio(placer, here).is_none()).count()
    }

    /// Whether it fails on no more than a tenth.
    fn takes_part(&self, placer: &str) -> bool {
        self.lacking(placer) as f64 <= 0.1 * self.counted().len() as f64
    }

    fn mean_among(&self, placer: &str, all: &[String]) -> Option<f64> {
        let with_mean: Vec<&String> = all.iter().filter(|other| self.takes_part(other)).collect();
        let has_all = |here: &&&String| with_mean.iter().all(|other| self.ratio(other, here).is_some());
        let common: Vec<f64> =
            self.counted().iter().filter(has_all).filter_map(|here| self.ratio(placer, here)).collect();
        if self.takes_part(placer) { geometric_mean(&common) } else { None }
    }

    fn mean(&self, placer: &str) -> Option<f64> {
        self.mean_among(placer, &self.order)
    }

    fn means(&self) -> Vec<Option<f64>> {
        self.order.iter().map(|placer| self.mean(placer)).collect()
    }

    /// Those with a mean, in order.
    fn ranked(&self) -> Vec<String> {
        self.order.iter().filter(|placer| self.takes_part(placer)).cloned().collect()
    }

    fn wins(&self, placer: &str) -> Option<f64> {
        let wins = self.instances.iter().filter(|here| self.ratio(placer, here).is_some_and(|own| own < 1.0 + 1e-9));
        Some(wins.count() as f64)
    }

    /// For each placer with a mean: its mean rank over drawn graphs, each the mean log over the clusters.
    fn mean_ranks(&self) -> BTreeMap<String, f64> {
        let ranked = self.ranked();
        let log = |placer: &String, graph: &str, draw: u64| {
            let here = self.counted().into_iter().filter(|here| here.starts_with(&format!("{graph}@")));
            let of = |here: &String| {
                let (_, scheduler) = &self.best[&(placer.clone(), here.clone())];
                self.draws[&(placer.clone(), scheduler.clone(), here.clone(), draw)].ln()
            };
            let logs: Vec<f64> = here.map(of).collect();
            logs.iter().sum::<f64>() / logs.len() as f64
        };
        let graphs = distinct(self.counted().into_iter().map(|here| here.split('@').next().unwrap().to_owned()));
        let drawn: Vec<(&String, u64)> =
            graphs.iter().flat_map(|graph| (0..3).map(move |draw| (graph, draw))).collect();
        let rank = |placer: &String| {
            let of = |&(graph, draw): &(&String, u64)| {
                let own = log(placer, graph, draw);
                let others = ranked.iter().map(|other| log(other, graph, draw) - own);
                let (better, equal) = others.fold((0.0, 0.0), |(better, equal), log| match log {
                    log if log.abs() <= 1e-9 => (better, equal + 1.0),
                    log => (better + f64::from(u8::from(log < 0.0)), equal),
                });
                better + (equal + 1.0) / 2.0
            };
            drawn.iter().map(of).sum::<f64>() / drawn.len() as f64
        };
        ranked.iter().map(|placer| (placer.clone(), rank(placer))).collect()
    }

    /// The ratios of a scheduler to the best one of each placement that all finished.
    fn scheduler_mean(&self, scheduler: &str) -> Option<f64> {
        let schedulers: BTreeSet<&String> = self.cells.keys().map(|(_, scheduler, _)| scheduler).collect();
        let cell = |(placer, here): &(String, String), scheduler: &str| {
            self.cells.get(&(placer.clone(), scheduler.to_owned(), here.clone())).copied()
        };
        let ratio = |placement: &(String, String)| {
            let all: Option<Vec<f64>> = schedulers.iter().map(|other| cell(placement, other)).collect();
            Some(cell(placement, scheduler)? / all?.into_iter().reduce(f64::min)?)
        };
        geometric_mean(&self.best.keys().filter_map(ratio).collect::<Vec<f64>>())
    }
}

/// A run of the suite, and what its rows give.
fn run(folder: &Path) -> (Value, ByHand) {
    write_suite(folder, 1);
    let answer = json(folder, &["run", "agree.toml", "--out", "seed1", "--quiet", "--table", "rows.json"]);
    let rows: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(folder.join("rows.json")).unwrap()).unwrap();
    (answer, ByHand::of(&rows, "makespan"))
}

#[test]
fn every_verb_figure_and_page_has_the_same_means_and_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (answer, grid) = run(folder);
    let means = grid.means();
    assert_eq!((grid.order.len(), grid.instances.len(), grid.counted().len()), (9, 9, 7));
    assert_eq!(means.iter().flatten().count(), 6, "the suite has placers with a mean and without: {means:?}");
    let mut wrong = Wrong::default();
    wrong.same("run --json, order", &names(&answer["placers"], "placer"), &grid.order);
    wrong.close("run --json, means", &numbers(&answer["placers"], "mean_ratio"), &means, 1e-12);
    let wins: Vec<Option<f64>> = grid.order.iter().map(|placer| grid.wins(placer)).collect();
    wrong.close("run --json, wins", &numbers(&answer["placers"], "wins"), &wins, 0.0);
    ranks(folder, &grid, &mut wrong);
    tables(folder, &grid, &mut wrong);
    terminal(folder, &grid, &mut wrong);
    figures(folder, &grid, &mut wrong);
    page(folder, &grid, &mut wrong);
    wrong.none();
}

/// Where all cells were placed for the period, every verb is about the period unless it is asked for another number.
#[test]
fn a_run_that_was_placed_for_the_period_is_judged_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_suite(folder, 1);
    let suite = std::fs::read_to_string(folder.join("agree.toml")).unwrap();
    std::fs::write(folder.join("agree.toml"), suite.replace("repetitions", "objective = \"period\"\nrepetitions"))
        .unwrap();
    let answer = json(folder, &["run", "agree.toml", "--out", "run", "--quiet", "--table", "rows.json"]);
    let rows: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(folder.join("rows.json")).unwrap()).unwrap();
    let grid = ByHand::of(&rows, "period");
    assert_ne!(grid.order, ByHand::of(&rows, "makespan").order, "the suite tells the two apart");
    let mut wrong = Wrong::default();
    wrong.same("run --json, order", &names(&answer["placers"], "placer"), &grid.order);
    wrong.close("run --json, means", &numbers(&answer["placers"], "mean_ratio"), &grid.means(), 1e-12);
    let ranking = json(folder, &["rank", "run"]);
    wrong.same("rank, order", &names(&ranking["entries"], "name"), &grid.ranked());
    let table = json(folder, &["table", "run"]);
    wrong.same("table, order", &names(&table["rows"], "placer"), &grid.order);
    wrong.same("metrics", &[&ranking["metric"], &table["metric"]], &[&Value::from("period"); 2]);
    said(folder, &["figure", "run", "--kind", "heat", "--out", "figures"]);
    let heat = csv(&std::fs::read_to_string(folder.join("figures/heat-period.csv")).unwrap());
    assert!(heat.iter().all(|row| row.contains_key("period_per_best")));
    said(folder, &["report", "run", "--timelines", "none", "--out", "page.html"]);
    assert!(std::fs::read_to_string(folder.join("page.html")).unwrap().contains("\"metric\":\"period\""));
    assert_eq!(json(folder, &["rank", "run", "--metric", "makespan"])["metric"], "makespan");
    // So are two runs and a history: twice the period is worse.
    let longer: Vec<Value> = rows
        .iter()
        .map(|row| {
            let mut row = row.clone();
            if let Some(period) = row["period"].as_f64() {
                row["period"] = Value::from(2.0 * period);
            }
            row
        })
        .collect();
    std::fs::write(folder.join("longer.json"), serde_json::to_string(&longer).unwrap()).unwrap();
    let compared = placebench(folder, &["compare", "rows.json", "longer.json", "--ignore", "time", "--json"]);
    assert_eq!(compared.status.code(), Some(1));
    let compared: Value = serde_json::from_str(&text(&compared.stdout)).unwrap();
    wrong.same("compare, metric", &[&compared["quality"][0]["metric"]], &[&Value::from("period")]);
    said(folder, &["report", "rows.json", "longer.json", "--ignore", "time", "--out", "both.html"]);
    assert!(std::fs::read_to_string(folder.join("both.html")).unwrap().contains("Period by placer"));
    said(folder, &["trend", "history.csv", "--add", "longer.json", "--reference", "rows.json"]);
    let history = csv(&std::fs::read_to_string(folder.join("history.csv")).unwrap());
    let ratios: Vec<f64> = history.iter().filter_map(|line| line["makespan_ratio"].parse().ok()).collect();
    assert!(!ratios.is_empty() && ratios.iter().all(|ratio| (ratio - 2.0).abs() < 1e-9), "{ratios:?}");
    wrong.none();
}

/// `rank`, as JSON and as text.
fn ranks(folder: &Path, grid: &ByHand, wrong: &mut Wrong) {
    let ranked = grid.ranked();
    let of = |value: &dyn Fn(&String) -> Option<f64>| ranked.iter().map(value).collect::<Vec<_>>();
    let (means, wins) = (of(&|placer| grid.mean(placer)), of(&|placer| grid.wins(placer)));
    let mean_ranks = grid.mean_ranks();
    let mean_ranks = of(&|placer| mean_ranks.get(placer).copied());
    let ranking = json(folder, &["rank", "seed1"]);
    wrong.same("rank --json, order", &names(&ranking["entries"], "name"), &ranked);
    wrong.close("rank --json, means", &numbers(&ranking["entries"], "mean_ratio"), &means, 1e-12);
    wrong.close("rank --json, wins", &numbers(&ranking["entries"], "wins"), &wins, 0.0);
    wrong.close("rank --json, mean ranks", &numbers(&ranking["entries"], "mean_rank"), &mean_ranks, 1e-12);
    let shown = csv(&said(folder, &["rank", "seed1", "--format", "csv"]));
    let column = |name: &str| shown.iter().map(|row| number(&row[name])).collect::<Vec<_>>();
    wrong.same("rank, order", &shown.iter().map(|row| plain(&row["placer"])).collect::<Vec<_>>(), &ranked);
    wrong.rounded("rank, means", &column("mean"), &means, 4);
    wrong.rounded("rank, mean ranks", &column("mean rank"), &mean_ranks, 2);
    wrong.close("rank, wins", &column("wins"), &wins, 0.0);

    let schedulers = json(folder, &["rank", "seed1", "--by", "scheduler"]);
    let by_hand: Vec<Option<f64>> =
        names(&schedulers["entries"], "name").iter().map(|name| grid.scheduler_mean(name)).collect();
    wrong.close("rank --by scheduler", &numbers(&schedulers["entries"], "mean_ratio"), &by_hand, 1e-12);
}

/// `table`, in every format and order.
fn tables(folder: &Path, grid: &ByHand, wrong: &mut Wrong) {
    let makespans = |here: &String| grid.order.iter().map(|placer| grid.makespan(placer, here)).collect::<Vec<_>>();
    let table = csv(&said(folder, &["table", "seed1", "--format", "csv"]));
    wrong.same("table, order", &table.iter().map(|row| plain(&row["placer"])).collect::<Vec<_>>(), &grid.order);
    let column = |name: &str| table.iter().map(|row| number(&row[name])).collect::<Vec<_>>();
    wrong.close("table, means", &column("mean ratio to best"), &grid.means(), 1e-5);
    let records = json(folder, &["table", "seed1"]);
    wrong.same("table --json, order", &names(&records["rows"], "placer"), &grid.order);
    wrong.close("table --json, means", &numbers(&records["rows"], "mean ratio to best"), &grid.means(), 1e-12);
    for here in &grid.instances {
        let name = format!("{here} (EU)");
        wrong.close(&format!("table, {here}"), &column(&name), &makespans(here), 1e-5);
        wrong.close(&format!("table --json, {here}"), &numbers(&records["rows"], &name), &makespans(here), 1e-12);
    }
    for (format, separator) in [("tex", '&'), ("markdown", '|')] {
        let text = said(folder, &["table", "seed1", "--format", format, "--spread", "none"]);
        let mut order = Vec::new();
        for line in text.lines() {
            let line = line.trim_matches('|').trim_end_matches("\\\\").replace("\\_", "_").replace("$^\\circ$", "");
            let line = line.replace("\\textbf{", "").replace(['}', '*'], "");
            let cells: Vec<&str> = line.split(separator).map(str::trim).collect();
            let placer = plain(cells[0]);
            if !grid.order.contains(&placer) {
                continue;
            }
            let found: Vec<Option<f64>> = cells[1..].iter().map(|cell| number(cell)).collect();
            let (found, mean) = (&found[..found.len() - 1], found[found.len() - 1]);
            let by_hand: Vec<Option<f64>> = grid.instances.iter().map(|here| grid.makespan(&placer, here)).collect();
            wrong.close(&format!("table --format {format}, {placer}"), found, &by_hand, 6e-4);
            wrong.rounded(&format!("table --format {format}, mean of {placer}"), &[mean], &[grid.mean(&placer)], 3);
            order.push(placer);
        }
        wrong.same(&format!("table --format {format}, order"), &order, &grid.order);
    }
    // Sorted otherwise, the numbers stay.
    let mut by_name = grid.order.clone();
    by_name.sort();
    for (sort, order) in [("name", by_name), ("suite", suite_order())] {
        let sorted = csv(&said(folder, &["table", "seed1", "--format", "csv", "--sort", sort]));
        wrong.same("table --sort", &sorted.iter().map(|row| plain(&row["placer"])).collect::<Vec<_>>(), &order);
        let mut rows = table.clone();
        rows.sort_by_key(|row| order.iter().position(|placer| *placer == plain(&row["placer"])));
        wrong.same(&format!("table --sort {sort}"), &sorted, &rows);
    }
}

fn suite_order() -> Vec<String> {
    let line = SUITE.lines().find_map(|line| line.strip_prefix("placers = [")).unwrap();
    line.trim_end_matches(']').split(", ").map(|name| name.trim_matches('"').to_owned()).collect()
}

/// What a run prints: tables and findings.
fn terminal(folder: &Path, grid: &ByHand, wrong: &mut Wrong) {
    let text = said(folder, &["run", "agree.toml", "--out", "again", "--quiet"]);
    // The table comes in blocks of graphs on one cluster, which the title names; the mean stands in the last.
    let cluster = |instance: &&String| instance.split_once('@').map(|(_, cluster)| cluster.to_owned());
    let clusters: Vec<Option<String>> = grid.instances.iter().map(|own| cluster(&own)).collect();
    let mut instances: Vec<&String> = grid.instances.iter().collect();
    instances.sort_by_key(|own| clusters.iter().position(|known| *known == cluster(own)));
    let mut ratios: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let (mut columns, mut ends, mut order) = (Vec::new(), BTreeMap::new(), Vec::new());
    let blocks = text.split("Makespan relative to the best").skip(1).map(|block| block.split("\n\n").next().unwrap());
    for block in blocks {
        let mut lines = block.lines();
        let (_, cluster) = lines.next().unwrap().rsplit_once(", ").unwrap();
        let header: Vec<&str> = lines.next().unwrap().split_whitespace().skip(1).collect();
        let has_mean = header.last() == Some(&"all");
        columns.extend(header.iter().filter(|name| **name != "all").map(|name| format!("{name}@{cluster}")));
        order.clear();
        for line in lines.take(grid.order.len()) {
            let cells: Vec<&str> = line.split_whitespace().collect();
            let (placer, mut cells) = (plain(cells[0]), cells[1..].to_vec());
            if has_mean {
                ends.insert(placer.clone(), number(cells.pop().unwrap()));
            }
            ratios
                .entry(placer.clone())
                .or_default()
                .extend(cells.iter().map(|cell| number(cell.trim_end_matches('*'))));
            order.push(placer);
        }
        wrong.same("run, order", &order, &grid.order);
    }
    wrong.same("run, columns", &columns, &instances.iter().map(|&own| own.clone()).collect::<Vec<_>>());
    for placer in &grid.order {
        let by_hand: Vec<Option<f64>> = instances.iter().map(|here| grid.ratio(placer, here)).collect();
        wrong.rounded(&format!("run, ratios of {placer}"), ratios.get(placer).map_or(&[], Vec::as_slice), &by_hand, 2);
        let mean = ends.get(placer).copied().flatten();
        wrong.rounded(&format!("run, mean of {placer}"), &[mean], &[grid.mean(placer)], 2);
    }
    findings("run", &text.replace('\n', " "), grid, wrong);
}

/// The sentences about the run.
fn findings(who: &str, text: &str, grid: &ByHand, wrong: &mut Wrong) {
    let ranked = grid.ranked();
    let shown = |placer: &String| format!("{:.2}", grid.mean(placer).unwrap());
    let last = ranked.last().unwrap();
    let alone = |placer: &String| grid.wins(placer).unwrap() as usize;
    // Those that nobody finishes do not count.
    let finished: BTreeSet<&String> = grid.best.keys().map(|(_, instance)| instance).collect();
    for sentence in [
        format!("{} is best on the mean: {} (", ranked[0], shown(&ranked[0])),
        format!("before {} ({}) and {} ({}); ", ranked[1], shown(&ranked[1]), ranked[2], shown(&ranked[2])),
        format!("{last} ({}) is last", shown(last)),
        format!("{} on {} of {} instances", winner(grid), alone(&winner(grid)), finished.len()),
    ] {
        wrong.same(&format!("{who}, findings: {sentence}"), &text.contains(&sentence), &true);
    }
    let (_, schedulers) = text.split_once("Schedulers, as geometric mean of makespan").unwrap_or_default();
    let (_, schedulers) = schedulers.split_once(": ").unwrap_or_default();
    for scheduler in ["fifo", "pct", "msr"] {
        let expected = format!("{scheduler} {:.3}", grid.scheduler_mean(scheduler).unwrap());
        let sentence = schedulers.split('.').take(4).collect::<Vec<_>>().join(".");
        wrong.same(&format!("{who}, findings: {expected} in {sentence}"), &sentence.contains(&expected), &true);
    }
}

/// Who wins most often.
fn winner(grid: &ByHand) -> String {
    let wins = |placer: &&String| grid.wins(placer).unwrap() as usize;
    grid.order.iter().rev().max_by_key(wins).unwrap().clone()
}

/// The data of figures.
fn figures(folder: &Path, grid: &ByHand, wrong: &mut Wrong) {
    said(folder, &["figure", "seed1", "--kind", "heat,pareto,profile,bars,clusters,scaling,ranks", "--out", "figures"]);
    let data = |name: &str| csv(&std::fs::read_to_string(folder.join("figures").join(name)).unwrap());
    let listed = |rows: &[BTreeMap<String, String>], key: &str| distinct(rows.iter().map(|row| plain(&row[key])));
    let column =
        |rows: &[BTreeMap<String, String>], name: &str| rows.iter().map(|row| number(&row[name])).collect::<Vec<_>>();

    let heat = data("heat-makespan.csv");
    wrong.same("heat, order", &listed(&heat, "placer"), &grid.order);
    let by_hand = |row: &BTreeMap<String, String>| match row["graph"].as_str() {
        "mean" => grid.mean(&plain(&row["placer"])),
        graph => grid.ratio(&plain(&row["placer"]), graph),
    };
    let by_hand: Vec<Option<f64>> = heat.iter().map(by_hand).collect();
    wrong.same("heat, cells", &heat.len(), &(grid.order.len() * (grid.instances.len() + 1)));
    wrong.close("heat, ratios", &column(&heat, "makespan_per_best"), &by_hand, 1e-5);

    let pareto = data("pareto-makespan.csv");
    wrong.same("pareto, order", &listed(&pareto, "algorithm"), &grid.ranked());
    let by_hand: Vec<Option<f64>> = grid.ranked().iter().map(|placer| grid.mean(placer)).collect();
    wrong.close("pareto, means", &column(&pareto, "makespan_per_best"), &by_hand, 1e-5);

    let profile = data("profile-makespan.csv");
    wrong.same("profile, order", &listed(&profile, "algorithm"), &grid.order);
    let share = |row: &BTreeMap<String, String>| {
        let (placer, factor) = (plain(&row["algorithm"]), number(&row["factor"])?);
        let ratios = grid.instances.iter().filter_map(|here| grid.ratio(&placer, here));
        let within = ratios.filter(|ratio| *ratio <= factor * (1.0 + 1e-5)).count();
        Some(within as f64 / grid.counted().len() as f64)
    };
    wrong.close("profile, shares", &column(&profile, "share"), &profile.iter().map(share).collect::<Vec<_>>(), 1e-5);
    for placer in &grid.order {
        let own = profile.iter().filter(|row| plain(&row["algorithm"]) == *placer);
        let factors: Vec<Option<f64>> = own.map(|row| number(&row["factor"])).collect();
        let by_hand = grid.instances.iter().filter_map(|here| grid.ratio(placer, here));
        for ratio in by_hand {
            let is_there = factors.iter().flatten().any(|factor| (factor / ratio - 1.0).abs() < 1e-5);
            wrong.same(&format!("profile, {placer} has a step at {ratio}"), &is_there, &true);
        }
    }

    for here in grid.counted() {
        let bars = data(&format!("bars-makespan-{}.csv", here.replace('@', "_")));
        wrong.same(&format!("bars of {here}, order"), &listed(&bars, "placer"), &grid.order);
        let of = |row: &BTreeMap<String, String>| {
            grid.cells.get(&(plain(&row["placer"]), row["scheduler"].clone(), here.clone())).copied()
        };
        let by_hand: Vec<Option<f64>> = bars.iter().map(of).collect();
        wrong.close(&format!("bars of {here}"), &column(&bars, "makespan_EU"), &by_hand, 1e-5);
    }
    for graph in ["wide", "deep", "mixed"] {
        let clusters = data(&format!("clusters-makespan-{graph}-contention_free.csv"));
        wrong.same(&format!("clusters of {graph}, order"), &listed(&clusters, "placer"), &grid.order);
        let of = |row: &BTreeMap<String, String>| {
            grid.makespan(&plain(&row["placer"]), &format!("{graph}@{}", row["cluster"]))
        };
        let by_hand: Vec<Option<f64>> = clusters.iter().map(of).collect();
        wrong.close(&format!("clusters of {graph}"), &column(&clusters, "makespan_EU"), &by_hand, 1e-5);
    }

    for graph in ["wide", "deep", "mixed"] {
        let scaling = data(&format!("scaling-makespan-{graph}-laich-contention_free.csv"));
        wrong.same(&format!("scaling of {graph}, order"), &listed(&scaling, "series"), &grid.order);
        let of = |row: &BTreeMap<String, String>| {
            grid.makespan(&plain(&row["series"]), &format!("{graph}@laich{}", row["devices"]))
        };
        let by_hand: Vec<Option<f64>> = scaling.iter().map(of).collect();
        wrong.close(&format!("scaling of {graph}"), &column(&scaling, "makespan_EU"), &by_hand, 1e-5);
    }

    let ranks = data("ranks-makespan.csv");
    let by_hand = grid.mean_ranks();
    let found: BTreeSet<String> = listed(&ranks, "algorithm").into_iter().collect();
    wrong.same("ranks, placers", &found, &by_hand.keys().cloned().collect());
    let expected: Vec<Option<f64>> = ranks.iter().map(|row| by_hand.get(&plain(&row["algorithm"])).copied()).collect();
    wrong.close("ranks, mean ranks", &column(&ranks, "mean_rank"), &expected, 1e-5);
    wrong.same("ranks, the best first", &column(&ranks, "mean_rank").is_sorted(), &true);
}

/// The data of the HTML page.
fn page(folder: &Path, grid: &ByHand, wrong: &mut Wrong) {
    said(folder, &["report", "seed1", "--timelines", "none", "--out", "page.html"]);
    let html = std::fs::read_to_string(folder.join("page.html")).unwrap();
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let summary = &data["summary"];
    let placers: Vec<&str> = summary["placers"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let indices: Vec<usize> =
        summary["order"].as_array().unwrap().iter().map(|index| index.as_u64().unwrap() as usize).collect();
    wrong.same("page, order", &indices.iter().map(|&index| placers[index].to_owned()).collect::<Vec<_>>(), &grid.order);
    let means: Vec<Option<f64>> = indices.iter().map(|&index| summary["mean"][index].as_f64()).collect();
    wrong.close("page, means", &means, &grid.means(), 6e-4);
    let instances: Vec<&str> =
        summary["scenarios"].as_array().unwrap().iter().map(|scenario| scenario[0].as_str().unwrap()).collect();
    wrong.same("page, columns", &instances, &grid.instances.iter().map(String::as_str).collect());
    for (index, placer) in placers.iter().enumerate() {
        let row = |name: &str| (0..instances.len()).map(|here| summary[name][index][here].as_f64()).collect::<Vec<_>>();
        let ratios: Vec<Option<f64>> = instances.iter().map(|here| grid.ratio(placer, here)).collect();
        wrong.close(&format!("page, ratios of {placer}"), &row("ratio"), &ratios, 2e-5);
        let makespans: Vec<Option<f64>> = instances.iter().map(|here| grid.makespan(placer, here)).collect();
        wrong.close(&format!("page, makespans of {placer}"), &row("value"), &makespans, 1e-4);
    }
    findings("page", &html.replace("&#39;", "'"), grid, wrong);
}

/// What is said of the distance to the optimum.
#[test]
fn the_distance_to_the_optimum_is_that_of_the_rows_draw_by_draw() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("proven.toml"), PROVEN).unwrap();
    let printed = said(folder, &["run", "proven.toml", "--out", "run", "--quiet", "--table", "rows.json"]);
    let rows: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(folder.join("rows.json")).unwrap()).unwrap();
    let grid = ByHand::of(&rows, "makespan");
    let optimum = |draw: u64| {
        let is_it = |row: &&Value| row["placer"] == "optimal" && row["repetition"].as_u64() == Some(draw);
        rows.iter().find(is_it).unwrap()["planned_makespan"].as_f64().unwrap()
    };
    let here = grid.instances[0].clone();
    let ratios = |placer: &String| -> Vec<f64> {
        let (_, scheduler) = &grid.best[&(placer.clone(), here.clone())];
        let of = |draw| grid.draws[&(placer.clone(), scheduler.clone(), here.clone(), draw)] / optimum(draw);
        (0..2).map(of).collect()
    };
    let mut wrong = Wrong::default();
    let (_, table) = printed.split_once("Makespan / proven optimum").unwrap();
    let lines: Vec<Vec<&str>> =
        table.lines().skip(3).take(grid.order.len()).map(|line| line.split_whitespace().collect()).collect();
    wrong.same("optimum, order", &lines.iter().map(|line| line[0].to_owned()).collect::<Vec<_>>(), &grid.order);
    let expected = |placer: &String| {
        let ratios = ratios(placer);
        let largest = ratios.iter().copied().fold(0.0, f64::max);
        let optimal = 50 * ratios.iter().filter(|ratio| **ratio < 1.0 + 1e-9).count();
        [format!("{:.3}", geometric_mean(&ratios).unwrap()), format!("{largest:.2}"), format!("{optimal}%")]
    };
    let (found, by_hand): (Vec<_>, Vec<_>) =
        lines.iter().map(|line| (&line[1..4], expected(&line[0].to_owned()))).unzip();
    wrong.same("optimum", &format!("{found:?}"), &format!("{by_hand:?}"));
    let far = |placer: &&String| geometric_mean(&ratios(placer)).unwrap();
    let mut others: Vec<&String> = grid.order.iter().filter(|placer| *placer != "optimal").collect();
    others.sort_by(|a, b| far(a).total_cmp(&far(b)));
    let nearest = format!("{} is nearest, {:.3} times it", others[0], far(&others[0]));
    let farthest = others[others.len() - 1];
    let farthest = format!("the farthest is {farthest} with {:.3}", far(&farthest));
    let said_of_it = printed.replace('\n', " ");
    for sentence in [nearest, farthest] {
        wrong.same(&format!("findings: {sentence}"), &said_of_it.contains(&sentence), &true);
    }
    wrong.none();
}

#[test]
fn two_runs_differ_by_the_same_means_in_compare_trend_and_on_their_page() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (_, old) = run(folder);
    // The same cells, some of them slower: as a change of the code would make them.
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
            ("etf", _, _) => 1.1,
            _ => 1.0,
        };
        if let Some(makespan) = row["makespan"].as_f64() {
            row["makespan"] = (makespan * slower).into();
        }
    }
    std::fs::write(folder.join("changed.json"), serde_json::to_string(&rows).unwrap()).unwrap();
    let new = ByHand::of(&rows, "makespan");

    // Each placer's best mean over draws and numberings in either run, new / old.
    let expected = |placer: &str| {
        let ratio = |here: &String| Some(new.makespan(placer, here)? / old.makespan(placer, here)?);
        geometric_mean(&old.instances.iter().filter_map(ratio).collect::<Vec<f64>>())
    };
    let mut by_change = old.order.clone();
    by_change.sort_by(|a, b| expected(b).unwrap().total_cmp(&expected(a).unwrap()).then_with(|| a.cmp(b)));
    let changed: Vec<String> = by_change.iter().filter(|placer| expected(placer) != Some(1.0)).cloned().collect();
    assert_eq!(changed, ["etf", "heft", "peft"]);
    let means = |placers: &[String]| placers.iter().map(|placer| expected(placer)).collect::<Vec<_>>();
    let mut wrong = Wrong::default();

    let compare = |format: &[&str]| {
        let args = [&["compare", "rows.json", "changed.json", "--ignore", "time"], format].concat();
        text(&placebench(folder, &args).stdout)
    };
    let comparison: Value = serde_json::from_str(&compare(&["--json"])).unwrap();
    let groups = &comparison["quality"][0]["placers"];
    let (compared, found) = (names(groups, "name"), numbers(groups, "mean_ratio"));
    wrong.same("compare --json, placers", &compared.iter().collect::<BTreeSet<_>>(), &old.order.iter().collect());
    wrong.same("compare --json, the worst first", &found.is_sorted_by(|a, b| a >= b), &true);
    wrong.close("compare --json, means", &found, &means(&compared), 1e-12);
    let lines = |text: &str| -> Vec<(String, Option<f64>)> {
        let cells = text.lines().map(|line| line.replace('|', " "));
        let cells = cells.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let rows = cells.filter(|cells| cells.len() == 9 && old.order.contains(&cells[0]));
        rows.map(|cells| (cells[0].clone(), number(&cells[5]))).collect()
    };
    for format in ["text", "markdown"] {
        let (order, found): (Vec<String>, Vec<Option<f64>>) =
            lines(&compare(&["--format", format])).into_iter().unzip();
        wrong.same(&format!("compare --format {format}, order"), &order, &changed);
        wrong.rounded(&format!("compare --format {format}, means"), &found, &means(&changed), 4);
    }

    let trend = ["trend", "history.csv", "--reference", "rows.json", "--add", "changed.json"];
    let trend = json(folder, &trend);
    let placers = trend["trends"][0]["placers"].as_array().unwrap();
    let order: Vec<String> = placers.iter().map(|own| own["placer"].as_str().unwrap().to_owned()).collect();
    let mut by_name = old.order.clone();
    by_name.sort();
    wrong.same("trend --json, placers", &order, &by_name);
    let last = |own: &Value| own["values"].as_array().unwrap().last().unwrap().as_f64();
    let found: Vec<Option<f64>> = placers.iter().map(last).collect();
    wrong.close("trend --json", &found, &means(&order), 1e-9);
    let shown = said(folder, &["trend", "history.csv"]);
    for line in shown.lines().filter(|line| old.order.iter().any(|placer| line.starts_with(&format!("{placer} ")))) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        wrong.rounded(&format!("trend, {}", cells[0]), &[number(cells[cells.len() - 1])], &[expected(cells[0])], 4);
    }

    said(folder, &["report", "rows.json", "changed.json", "--ignore", "time", "--out", "two.html"]);
    let html = std::fs::read_to_string(folder.join("two.html")).unwrap();
    let (_, matrix) = html.split_once("<th>placer</th>").unwrap();
    let matrix = matrix.split_once("</table>").unwrap().0;
    let rows: Vec<(String, Option<f64>)> = matrix
        .split("<th scope=\"row\">")
        .skip(1)
        .map(|row| {
            let (name, rest) = row.split_once("</th>").unwrap();
            (name.to_owned(), number(rest.split_once('>').unwrap().1.split(' ').next().unwrap()))
        })
        .collect();
    let (order, found): (Vec<String>, Vec<Option<f64>>) = rows.into_iter().unzip();
    wrong.same("page of two runs, order", &order, &changed);
    wrong.rounded("page of two runs, means", &found, &means(&changed), 4);
    wrong.none();
}
