//! The command that repeats a cell.
//!
//! Where the suite's entries say no more than `placebench place` has options for, the command stands alone; else it
//! takes graph, cluster and placer from the run folder. The page joins the parts, since 10,000 whole commands would be
//! half of it.

use std::collections::BTreeSet;

use placebench_algorithms::period::Goal;
use placebench_algorithms::registry::SCHEDULERS;
use placebench_datasets::MemoryRule;
use placebench_harness::problem::{ClusterEntry, GraphEntry};
use placebench_harness::results::Row;
use placebench_harness::suite::Suite;
use serde::Serialize;

/// An argument in both forms of the command.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Argument {
    /// Name in the table.
    name: String,
    /// As it stands in a command of its own; `None` if no option can say it.
    alone: Option<String>,
    /// As it stands in a command that names the run folder.
    in_run: String,
}

/// The parts of the commands of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Commands {
    run: String,
    /// Seconds, for cells that exceeded them.
    time_limit: Option<f64>,
    /// What placers minimise, if it is not the makespan.
    objective: Option<String>,
    /// Whether a search chooses among some schedulers alone, which only the run folder knows.
    chooses_among_some: bool,
    graphs: Vec<Argument>,
    clusters: Vec<Argument>,
    placers: Vec<Argument>,
}

impl Commands {
    /// The parts for a run in a folder.
    pub(super) fn new(folder: &str, suite: &Suite) -> Self {
        let argument = |option: &str, name: String, alone: Option<String>| {
            // A value that begins with a dash looks like an option unless it follows a sign of equality.
            let with = |value: String| match value.starts_with('-') && !option.is_empty() {
                true => format!("{}={value}", option.trim_end()),
                false => format!("{option}{value}"),
            };
            Argument { in_run: with(quoted(&name)), name, alone: alone.map(with) }
        };
        let named = suite.placer_entries.iter().map(|entry| (entry.name().to_owned(), entry.spec().map(quoted)));
        let placers = suite.placers.iter().map(|spec| (spec.clone(), Some(quoted(spec)))).chain(named);
        let graphs = suite.graphs.iter().map(|entry| argument("", entry.label(), graph_alone(entry, suite)));
        let clusters = suite.clusters.iter().map(|entry| argument("--cluster ", entry.label(), cluster_alone(entry)));
        Self {
            run: format!("--run {}", quoted(folder)),
            time_limit: suite.time_limit_seconds,
            objective: (suite.objective != Goal::default()).then(|| suite.objective.to_string()),
            chooses_among_some: !SCHEDULERS.iter().all(|entry| suite.schedulers.contains(&entry.name)),
            graphs: graphs.collect(),
            clusters: clusters.collect(),
            placers: placers.map(|(name, alone)| argument("--placer ", name, alone)).collect(),
        }
    }
}

impl Commands {
    /// Forgets graphs that none of these rows has.
    pub(super) fn keep_graphs(&mut self, rows: &[Row]) {
        let kept: BTreeSet<&str> = rows.iter().map(|row| row.graph.as_str()).collect();
        self.graphs.retain(|graph| kept.contains(graph.name.as_str()));
    }
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    // A word with a NUL cannot be an argument at all.
    shlex::try_quote(word).map_or_else(|_| "''".to_owned(), std::borrow::Cow::into_owned)
}

fn graph_alone(entry: &GraphEntry, suite: &Suite) -> Option<String> {
    let kinds = match entry.kinds {
        // Where the cluster says, its argument does.
        Some(kinds) if suite.clusters.iter().all(|cluster| cluster.kinds.is_none()) => format!(" --kinds {kinds}"),
        Some(_) if suite.clusters.iter().any(|cluster| cluster.kinds.is_none()) => return None,
        _ => String::new(),
    };
    if entry.costs.is_some() || entry.ccr.is_some() || entry.leveled.is_some() {
        return None;
    }
    let file = || entry.file.as_ref()?.to_str().map(str::to_owned);
    let passes = if entry.passes.is_empty() { String::new() } else { format!("+{}", entry.passes) };
    entry
        .catalogue
        .clone()
        .or_else(|| entry.preset.clone())
        .or_else(file)
        .map(|name| quoted(&(name + &passes)) + &kinds)
}

fn cluster_alone(entry: &ClusterEntry) -> Option<String> {
    if entry.send_ops.is_some() {
        return None;
    }
    let file = || entry.file.as_ref()?.to_str().map(str::to_owned);
    let mut words = quoted(&entry.preset.clone().or_else(file)?);
    if let Some(devices) = entry.devices {
        words.push_str(&format!(" --devices {devices}"));
    }
    if let Some(kinds) = entry.kinds {
        words.push_str(&format!(" --kinds {kinds}"));
    }
    if entry.memory != MemoryRule::default() {
        words.push_str(&format!(" --memory {}", entry.memory));
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Commands {
        /// The command that repeats the cell of a row, joined as the page does it; `None` for a cell that the suite does
        /// not have.
        fn of(&self, row: &Row) -> Option<String> {
            let find = |list: &[Argument], name: &str| list.iter().find(|argument| argument.name == name).cloned();
            let parts = [
                find(&self.graphs, &row.graph)?,
                find(&self.clusters, &row.cluster)?,
                find(&self.placers, &row.placer)?,
            ];
            let alone: Option<Vec<String>> = parts.iter().map(|part| part.alone.clone()).collect();
            let words = alone
                .unwrap_or_else(|| parts.iter().map(|part| part.in_run.clone()).chain([self.run.clone()]).collect());
            Some(format!(
                "placebench place {} --scheduler {} --network {} --seed {}",
                words.join(" "),
                quoted(&row.scheduler),
                quoted(&row.network),
                row.seed
            ))
        }
    }

    #[test]
    fn a_cell_is_repeated_by_options_where_they_suffice_and_else_through_its_run() {
        let text = r#"
            name = "s"
            placers = ["heft(average=speed)"]
            schedulers = ["pct"]
            [[graph]]
            catalogue = "nmt"
            name = "translation"
            [[graph]]
            catalogue = "nmt"
            name = "drawn"
            costs = "laich"
            [[cluster]]
            preset = "gtx1080x4"
            devices = 2
            memory = "unlimited"
            kinds = "accelerators_only"
            [[placer]]
            name = "HEFT"
            placer = "heft(average=time)"
        "#;
        let commands = Commands::new("runs/it's 1", &Suite::parse(text, "s.toml").unwrap());
        let row = |graph: &str| Row {
            graph: graph.into(),
            cluster: "gtx1080x4".into(),
            placer: "heft(average=speed)".into(),
            scheduler: "pct".into(),
            network: "one_port".into(),
            seed: 7,
            ..Row::default()
        };
        assert_eq!(
            commands.of(&row("translation")).unwrap(),
            "placebench place nmt --cluster gtx1080x4 --devices 2 --kinds accelerators_only --memory unlimited \
             --placer 'heft(average=speed)' --scheduler pct --network one_port --seed 7"
        );
        assert_eq!(
            commands.of(&row("drawn")).unwrap(),
            "placebench place drawn --cluster gtx1080x4 --placer 'heft(average=speed)' --run \"runs/it's 1\" \
             --scheduler pct --network one_port --seed 7"
        );
        let named = |graph: &str| commands.of(&Row { placer: "HEFT".into(), ..row(graph) }).unwrap();
        assert!(named("translation").contains("--placer 'heft(average=time)' --scheduler"));
        assert!(named("drawn").contains("--placer HEFT --run"), "the run knows the name");
        assert_eq!(commands.of(&row("other")), None);
        let dashed = Commands::new("runs/1", &Suite::parse(&text.replace("\"HEFT\"", "\"-HEFT\""), "s.toml").unwrap());
        let command = dashed.of(&Row { placer: "-HEFT".into(), ..row("drawn") }).unwrap();
        assert!(command.contains(" --placer=-HEFT "), "{command}");
        let of_graph = text.replace("name = \"translation\"", "name = \"translation\"\nkinds = \"as_given\"");
        let first = |text: &str| {
            let commands = Commands::new("runs/1", &Suite::parse(text, "s.toml").unwrap());
            commands.of(&row("translation")).unwrap()
        };
        assert!(first(&of_graph).contains("--kinds accelerators_only"), "the cluster has the last word");
        let of_graph = of_graph.replace("kinds = \"accelerators_only\"", "");
        assert!(
            first(&of_graph).starts_with("placebench place nmt --kinds as_given --cluster"),
            "{}",
            first(&of_graph)
        );
    }
}
