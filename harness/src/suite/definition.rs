//! What a suite file says, and the checks that need no graph.

use std::fmt;
use std::path::{Path, PathBuf};

use placebench_algorithms::period::Goal;
use placebench_algorithms::{Spec, registry};
use placebench_base::{TomlFault, check_file, io_reason, parse_toml};
use placebench_datasets::Kinds;
use placebench_generator::Passes;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::execute::simulate::{Noise, network_model};
use crate::execute::{EXECUTORS, ExecuteSettings, Launch, executor};
use crate::problem::{ClusterEntry, GraphEntry};
use crate::request::CHOSEN;
use crate::results::{Filter, as_text};
use crate::suite::PlacerEntry;

/// A suite: every graph × cluster × placer × scheduler × network model × executor × repetition is a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name: letters, digits, `-`, `_`; run folders are named after it.
    pub name: String,
    /// One sentence.
    #[serde(default)]
    pub title: String,
    /// What the suite is for and how to read its results, as prose.
    #[serde(default)]
    pub analysis: String,
    /// How often each cell runs; each repetition has a seed of its own, from which graphs, costs, clusters and random
    /// placers draw.
    #[serde(default = "one")]
    pub repetitions: u32,
    /// Seed of the first repetition; repetition `r` has `seed + r`.
    #[serde(default)]
    pub seed: u64,
    /// Under how many numberings of ops and devices each placer that does not search places in each repetition: first the
    /// given one, then drawn ones, in which random placers draw anew. What numbers decide is no quality of a placer.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub numberings: u32,
    /// Seconds that placing and simulating one placement may take; a cell beyond is an error row.
    #[serde(default)]
    pub time_limit_seconds: Option<f64>,
    /// Which cells run, by what is known of them before: `where = "placer=heft,peft graph=nmt"`. By default all.
    #[serde(default, rename = "where", with = "as_text", skip_serializing_if = "Filter::is_empty")]
    pub only: Filter,
    /// Network models.
    #[serde(default = "contention_free")]
    pub networks: Vec<String>,
    /// What placers that search minimise: `makespan` or `period`.
    #[serde(default, with = "as_text", skip_serializing_if = "is_makespan")]
    pub objective: Goal,
    /// Placers, as `name` or `name(parameter=value)`. In a file it may be `"all"`, which stands for the names of all placers
    /// that there are, in the order in which `placebench list placers` prints them.
    #[serde(default, deserialize_with = "names_or_all")]
    pub placers: Vec<String>,
    /// With `placers = "all"`: names that it does not stand for; `partitioners` are those of all partitioners. Empty in a
    /// suite that was read: [`Suite::placers`] has the names that are left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Schedulers; `static` runs only with placers that make a schedule of their own, and none runs with placers that choose
    /// devices during the run.
    #[serde(default = "pct")]
    pub schedulers: Vec<String>,
    /// Executors; those that measure run their cells one at a time, when all others are done, and none of placers that
    /// choose devices during the run.
    #[serde(default = "simulate", skip_serializing_if = "is_simulate")]
    pub executors: Vec<String>,
    /// Under which noises each cell is simulated, besides what `executors` says: `[0.05, "op=0.1,device=0.05"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<Noise>,
    /// How executors that measure run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub execute: ExecuteSettings,
    /// Passes that change the graphs behind the graphs' own: `["prune", "fuse"]`, or several such lists, `[[], ["prune"]]`: each
    /// list makes a graph of its own of every graph. Empty in a suite that was read: [`Suite::graphs`] has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_list_or_several")]
    pub passes: Vec<Passes>,
    /// The graphs.
    #[serde(rename = "graph")]
    pub graphs: Vec<GraphEntry>,
    /// The clusters.
    #[serde(rename = "cluster")]
    pub clusters: Vec<ClusterEntry>,
    /// Placers under a name for print, and programs that place; they come after [`Suite::placers`] in tables.
    #[serde(default, rename = "placer", skip_serializing_if = "Vec::is_empty")]
    pub placer_entries: Vec<PlacerEntry>,
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

fn contention_free() -> Vec<String> {
    vec!["contention_free".to_owned()]
}

fn pct() -> Vec<String> {
    vec!["pct".to_owned()]
}

fn simulate() -> Vec<String> {
    vec![EXECUTORS[0].name.to_owned()]
}

fn is_simulate(executors: &Vec<String>) -> bool {
    *executors == simulate()
}

fn is_default(settings: &ExecuteSettings) -> bool {
    *settings == ExecuteSettings::default()
}

fn is_makespan(goal: &Goal) -> bool {
    *goal == Goal::Makespan
}

/// What `placers = "all"` reads as, until [`Suite::parse`] puts names in its place.
const ALL: &str = "all";

/// A list of names, or `"all"`.
fn names_or_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct NamesOrAll;

    impl<'de> Visitor<'de> for NamesOrAll {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of placers, or \"all\"")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<String>, E> {
            if text == ALL { Ok(vec![ALL.to_owned()]) } else { Err(E::invalid_value(Unexpected::Str(text), &self)) }
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<String>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    deserializer.deserialize_any(NamesOrAll)
}

/// A list of passes, or a list of such lists.
fn one_list_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Passes>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Item {
        Pass(String),
        List(Vec<String>),
    }
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "give a list of passes, as in [\"prune\"], or a list of such lists")]
    enum Items {
        List(Vec<Item>),
    }
    let Items::List(items) = Items::deserialize(deserializer)?;
    let (mut one, mut several) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Pass(pass) => one.push(pass),
            Item::List(list) => several.push(list),
        }
    }
    match (one.is_empty(), several.is_empty()) {
        (false, false) => return Err(de::Error::custom("give passes, or lists of passes, not both in one list")),
        (false, true) => several.push(one),
        (true, _) => {}
    }
    let lists: Vec<Passes> =
        several.into_iter().map(|list| Passes::new(list).map_err(de::Error::custom)).collect::<Result<_, _>>()?;
    match (0..lists.len()).find(|&at| lists[..at].contains(&lists[at])) {
        None => Ok(lists),
        Some(at) => Err(de::Error::custom(format!("list {} of passes is there already: leave it out", at + 1))),
    }
}

/// Why a suite is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SuiteError {
    /// The file cannot be read.
    #[error("{path}: {reason}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The text is not a suite.
    #[error("{path}:{line}: {reason}")]
    Syntax {
        /// The file.
        path: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Neither a built-in suite nor a file has the name.
    #[error("unknown suite '{name}': {remedy}")]
    Unknown {
        /// The name given.
        name: String,
        /// What to do.
        remedy: String,
    },
    /// An entry makes no sense.
    #[error("{path}: {item}: {reason}")]
    Item {
        /// The file.
        path: String,
        /// The entry.
        item: String,
        /// What is wrong and what to do.
        reason: String,
    },
}

impl Suite {
    /// Reads a suite file. Paths of graphs and clusters in it, and the working directories of placers' programs, are
    /// relative to its folder.
    ///
    /// # Errors
    /// If the file cannot be read, is no suite, or names an unknown algorithm.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        let text = check_file(path)
            .and_then(|()| std::fs::read_to_string(path))
            .map_err(|error| SuiteError::Io { path: path.display().to_string(), reason: io_reason(&error) })?;
        let suite = Self::parse(&text, &path.display().to_string())?;
        suite.relative_to(path.parent().unwrap_or(Path::new("")), &path.display().to_string())
    }

    /// The suite, whose paths were relative to a folder; `place` is for messages.
    ///
    /// # Errors
    /// If a file or a working directory does not exist.
    pub fn relative_to(mut self, folder: &Path, place: &str) -> Result<Self, SuiteError> {
        let suite = &mut self;
        let place = place.to_owned();
        let graphs = suite.graphs.iter_mut().filter_map(|graph| graph.file.as_mut());
        let clusters = suite.clusters.iter_mut().filter_map(|cluster| cluster.file.as_mut());
        for file in graphs.chain(clusters) {
            *file = folder.join(&*file);
            if !file.exists() {
                let reason = "no such file or folder; paths are relative to the suite's folder".to_owned();
                return Err(SuiteError::Item { path: place, item: file.display().to_string(), reason });
            }
        }
        let programs = suite.placer_entries.iter_mut().filter_map(PlacerEntry::program_mut);
        for command in programs {
            let directory = match command.directory.take() {
                Some(directory) => folder.join(directory),
                None if folder.as_os_str().is_empty() => PathBuf::from("."),
                None => folder.to_owned(),
            };
            if !directory.is_dir() {
                let reason =
                    format!("directory '{}': no such folder; it is relative to the suite's", directory.display());
                return Err(SuiteError::Item { path: place, item: format!("placer '{}'", command.name), reason });
            }
            command.directory = Some(directory);
        }
        Ok(self)
    }

    /// Parses and checks the text of a suite; `path` is for messages.
    ///
    /// # Errors
    /// As [`Suite::read`].
    pub fn parse(text: &str, path: &str) -> Result<Self, SuiteError> {
        let mut suite: Self = parse_toml(text).map_err(|TomlFault { line, message }| SuiteError::Syntax {
            path: path.to_owned(),
            line: line.unwrap_or(1) as usize,
            reason: match message.as_str() {
                "missing field `graph`" => {
                    "there is no [[graph]]: add one with the key catalogue, preset or file".to_owned()
                }
                "missing field `cluster`" => "there is no [[cluster]]: add one with the key preset or file".to_owned(),
                _ if message.ends_with(", expected a list") => list_of_tables(text, line).unwrap_or(message),
                _ => message,
            },
        })?;
        suite.name_placers().map_err(|reason| SuiteError::Item {
            path: path.to_owned(),
            item: "except".to_owned(),
            reason,
        })?;
        suite.pass_graphs(path)?;
        suite.check(path)?;
        Ok(suite)
    }

    /// Puts a graph for each list of passes in the place of each graph.
    fn pass_graphs(&mut self, path: &str) -> Result<(), SuiteError> {
        let lists = std::mem::take(&mut self.passes);
        if lists.is_empty() {
            return Ok(());
        }
        let mut passed = Vec::with_capacity(self.graphs.len() * lists.len());
        for graph in &self.graphs {
            for list in &lists {
                passed.push(graph.clone().with(list).map_err(|error| SuiteError::Item {
                    path: path.to_owned(),
                    item: format!("graph '{}'", graph.base()),
                    reason: error.to_string(),
                })?);
            }
        }
        self.graphs = passed;
        Ok(())
    }

    /// Puts names in the place of `"all"`, without those in `except`.
    fn name_placers(&mut self) -> Result<(), String> {
        let except = std::mem::take(&mut self.except);
        if self.placers != [ALL] {
            return if except.is_empty() { Ok(()) } else { Err("goes with placers = \"all\"".to_owned()) };
        }
        let group = |name: &String| match name.as_str() {
            "partitioners" => registry::BLOCK_PLACERS.iter().map(|entry| entry.name.clone()).collect(),
            _ => vec![name.clone()],
        };
        let except: Vec<String> = except.iter().flat_map(group).collect();
        let all = registry::placer_names();
        for name in except.iter().filter(|name| !all.contains(name)) {
            registry::placer(&Spec { name: name.clone(), params: Vec::new() }).map_err(|error| error.to_string())?;
        }
        self.placers = all.into_iter().filter(|name| !except.contains(name)).collect();
        Ok(())
    }

    /// Which kinds of devices the ops of a graph may run on, on a cluster, both by their index. A plan's suite knows of every
    /// graph whose rule is not the default.
    pub(crate) fn kinds(&self, graph: usize, cluster: usize) -> Kinds {
        self.clusters[cluster].kinds.or(self.graphs[graph].kinds).unwrap_or_default()
    }

    /// The suite as TOML.
    ///
    /// # Errors
    /// If a path is not Unicode.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string_pretty(self)
    }

    fn check(&self, path: &str) -> Result<(), SuiteError> {
        let refuse = |item: String, reason: String| SuiteError::Item { path: path.to_owned(), item, reason };
        let item = |item: &str, reason: &str| Err(refuse(item.to_owned(), reason.to_owned()));
        if self.name.is_empty() || !self.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
            return item("name", "use letters, digits, '-' and '_'");
        }
        if self.repetitions == 0 || self.graphs.iter().any(|graph| graph.repetitions == Some(0)) {
            return item("repetitions", "must be at least 1");
        }
        if self.numberings == 0 {
            return item("numberings", "must be at least 1");
        }
        if self.time_limit_seconds.is_some_and(|limit| !(limit > 0.0 && limit <= 1e9)) {
            return item("time_limit_seconds", "must be above 0 and at most 1e9");
        }
        for (list, empty) in [
            ("placers", self.placers.is_empty() && self.placer_entries.is_empty()),
            ("schedulers", self.schedulers.is_empty()),
            ("networks", self.networks.is_empty()),
            ("executors", self.executors.is_empty()),
            ("[[graph]]", self.graphs.is_empty()),
            ("[[cluster]]", self.clusters.is_empty()),
        ] {
            if empty {
                let where_else = if list == "placers" { ", there or as [[placer]]" } else { "" };
                return Err(refuse(list.to_owned(), format!("give at least one{where_else}")));
            }
        }
        if !self.noise.is_empty() && self.objective == Goal::Period {
            return item("noise", "there is no period under noise: leave it out, or objective = \"period\"");
        }
        if let Some(at) = (0..self.noise.len()).find(|&at| self.noise[..at].contains(&self.noise[at])) {
            return Err(refuse("noise".to_owned(), format!("'{}' is listed twice: list it once", self.noise[at])));
        }
        self.execute.check().map_err(|(name, reason)| refuse(format!("execute: {name}"), reason))?;
        if !self.executors.iter().any(|name| name == "cuda") {
            let launch = self.execute.launch;
            for (key, differs, what) in [
                ("virtual_devices", self.execute.virtual_devices.is_some(), "has virtual devices".to_owned()),
                ("launch", launch != Launch::default(), format!("launches by {launch}")),
            ] {
                if differs {
                    let reason = format!("only the executor cuda {what}, and executors does not name it");
                    return Err(refuse(format!("execute: {key}"), reason));
                }
            }
        }
        self.check_algorithms().map_err(|(list, reason)| refuse(list.to_owned(), reason))?;
        for entry in &self.placer_entries {
            entry.check().map_err(|reason| refuse(format!("placer '{}'", entry.name()), reason))?;
        }
        let mut labels: Vec<String> = self.placer_entries.iter().map(|entry| entry.name().to_owned()).collect();
        self.check_unique(&mut labels, "placer").map_err(|(label, reason)| refuse(label, reason))?;
        for graph in &self.graphs {
            let sources = [
                graph.catalogue.is_some(),
                graph.file.is_some(),
                graph.preset.is_some(),
                graph.leveled.is_some(),
                graph.training_steps.is_some(),
            ];
            if sources.iter().filter(|&&given| given).count() != 1 {
                return Err(refuse(
                    format!("graph '{}'", graph.label()),
                    "give exactly one of catalogue, file, preset, leveled, training_steps".to_owned(),
                ));
            }
            if graph.ccr.is_some_and(|ccr| !(ccr > 0.0 && ccr <= 1e9)) {
                return Err(refuse(
                    format!("graph '{}'", graph.label()),
                    "ccr must be above 0 and at most 1e9".to_owned(),
                ));
            }
            graph.check().map_err(|error| refuse(format!("graph '{}'", graph.label()), error.to_string()))?;
            if graph.clusters.as_ref().is_some_and(Vec::is_empty) {
                let reason = "clusters is empty: name the clusters of the graph, or leave it out for all";
                return Err(refuse(format!("graph '{}'", graph.label()), reason.to_owned()));
            }
            for cluster in graph.clusters.iter().flatten() {
                if !self.clusters.iter().any(|entry| entry.label() == *cluster) {
                    let reason = format!("names cluster '{cluster}', but the suite has no such [[cluster]]");
                    return Err(refuse(format!("graph '{}'", graph.label()), reason));
                }
            }
        }
        for cluster in &self.clusters {
            if cluster.preset.is_some() == cluster.file.is_some() {
                let reason = "give exactly one of preset, file".to_owned();
                return Err(refuse(format!("cluster '{}'", cluster.label()), reason));
            }
            let item = || format!("cluster '{}'", cluster.label());
            cluster.check().map_err(|error| refuse(item(), error.to_string()))?;
        }
        let names = self.graphs.iter().map(|graph| ("graph", &graph.name));
        for (what, name) in names.chain(self.clusters.iter().map(|cluster| ("cluster", &cluster.name))) {
            if name.as_ref().is_some_and(|name| name.trim().is_empty() || name.contains(['\n', '\r'])) {
                let reason = "the name is empty or has a line break: choose another";
                return Err(refuse(
                    format!("{what} {name:?}", name = name.as_deref().unwrap_or_default()),
                    reason.to_owned(),
                ));
            }
        }
        let mut labels: Vec<String> = self.graphs.iter().map(GraphEntry::label).collect();
        self.check_unique(&mut labels, "graph").map_err(|(label, reason)| refuse(label, reason))?;
        let mut labels: Vec<String> = self.clusters.iter().map(ClusterEntry::label).collect();
        self.check_unique(&mut labels, "cluster").map_err(|(label, reason)| refuse(label, reason))
    }

    fn check_unique(&self, labels: &mut [String], what: &str) -> Result<(), (String, String)> {
        labels.sort_unstable();
        match labels.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => {
                Err((format!("{what} '{}'", pair[0]), "is listed twice: give each a name of its own".to_owned()))
            }
        }
    }

    fn check_algorithms(&self) -> Result<(), (&'static str, String)> {
        let parse = |text: &String| text.parse::<Spec>();
        for text in &self.placers {
            parse(text).and_then(|spec| registry::placer(&spec)).map_err(|error| ("placers", error.to_string()))?;
        }
        for text in &self.schedulers {
            if text.trim() == CHOSEN {
                let remedy = "list the schedulers to choose from; a search chooses among several by itself";
                return Err(("schedulers", format!("'{CHOSEN}' is what a search answers: {remedy}")));
            }
            parse(text)
                .and_then(|spec| registry::scheduler(&spec))
                .map_err(|error| ("schedulers", error.to_string()))?;
        }
        for text in &self.networks {
            network_model(text).map_err(|error| ("networks", error.to_string()))?;
        }
        for text in &self.executors {
            executor(text).map_err(|error| ("executors", error.to_string()))?;
        }
        for (list, names) in [
            ("placers", &self.placers),
            ("schedulers", &self.schedulers),
            ("networks", &self.networks),
            ("executors", &self.executors),
        ] {
            // However it is written: blanks make no other.
            let written = |text: &String| parse(text).map_or_else(|_| text.trim().to_owned(), |spec| spec.to_string());
            let mut sorted: Vec<String> = names.iter().map(written).collect();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err((list, format!("'{}' is listed twice: list it once", pair[0])));
            }
        }
        Ok(())
    }
}

/// What to write where a value stands in place of the tables of graphs or of clusters.
fn list_of_tables(text: &str, line: Option<u64>) -> Option<String> {
    let (key, _) = text.lines().nth(line?.checked_sub(1)? as usize)?.split_once('=')?;
    let keys = match key.trim() {
        "graph" => "catalogue, preset or file",
        "cluster" => "preset or file",
        _ => return None,
    };
    let key = key.trim();
    Some(format!("{key} is a list of tables: write [[{key}]], and in the lines below it the key {keys}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "small"
placers = ["hashing"]
schedulers = ["fifo"]

[[graph]]
preset = "laich1"

[[cluster]]
preset = "laich7"
"#;

    fn error(text: &str) -> String {
        Suite::parse(text, "s.toml").unwrap_err().to_string()
    }

    fn with_placer(name: &str, rest: &str) -> String {
        format!("{GOOD}[[placer]]\nname = \"{name}\"\n{rest}\n")
    }

    #[test]
    fn a_program_stands_beside_or_instead_of_the_placers_and_reads_back() {
        let text = with_placer("mine", "command = [\"python3\", \"p.py\"]\nformat = \"parquet\"\nmemory_limit_mib = 5");
        let suite = Suite::parse(&text, "s.toml").unwrap();
        let PlacerEntry::Program(program) = &suite.placer_entries[0] else { panic!("{suite:?}") };
        assert_eq!(program.command, ["python3", "p.py"]);
        assert_eq!(Suite::parse(&suite.to_toml().unwrap(), "again").unwrap(), suite);
        let alone = Suite::parse(&text.replace("placers = [\"hashing\"]\n", ""), "s.toml").unwrap();
        assert_eq!((alone.placers.len(), alone.placer_entries.len()), (0, 1));
        let text = Suite::parse(GOOD, "s.toml").unwrap().to_toml().unwrap();
        assert!(!text.contains("placer]"), "suites without programs are stored as they were: {text}");
    }

    #[test]
    fn a_placer_with_a_name_for_print_stands_beside_or_instead_of_the_placers_and_reads_back() {
        let suite = Suite::parse(&with_placer("HEFT", "placer = \"heft(average=speed)\""), "s.toml").unwrap();
        assert_eq!(
            (suite.placer_entries[0].name(), suite.placer_entries[0].spec()),
            ("HEFT", Some("heft(average=speed)"))
        );
        let text = suite.to_toml().unwrap();
        assert!(text.ends_with("[[placer]]\nname = \"HEFT\"\nplacer = \"heft(average=speed)\"\n"), "{text}");
        assert_eq!(Suite::parse(&text, "again").unwrap(), suite);
        let alone = Suite::parse(&text.replace("placers = [\"hashing\"]\n", ""), "s.toml").unwrap();
        assert_eq!((alone.placers.len(), alone.placer_entries.len()), (0, 1));
    }

    #[test]
    fn a_program_runs_in_the_folder_of_its_suite_or_one_relative_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        std::fs::create_dir(folder.path().join("tools")).unwrap();
        let directory = |line: &str| {
            std::fs::write(&path, with_placer("mine", &format!("command = [\"x\"]\n{line}"))).unwrap();
            Suite::read(&path)
                .map(|mut suite| suite.placer_entries[0].program_mut().unwrap().directory.take().unwrap())
                .map_err(|error| error.to_string())
        };
        assert_eq!(directory("").unwrap(), folder.path());
        assert_eq!(directory("directory = \"tools\"").unwrap(), folder.path().join("tools"));
        assert!(directory("directory = \"tool\"").unwrap_err().contains("placer 'mine': directory '"));
    }

    #[test]
    fn executors_and_their_settings_read_back_and_are_left_out_where_they_are_the_usual_ones() {
        let text = GOOD.replace(
            "[[graph]]",
            "executors = [\"simulate\", \"threads\"]\n[execute]\nmean_op = \"5 ms\"\nkernel = \"compute\"\n[[graph]]",
        );
        let suite = Suite::parse(&text, "s.toml").unwrap();
        assert_eq!((suite.execute.mean_op.seconds, suite.execute.warm_up), (0.005, 2));
        assert_eq!(Suite::parse(&suite.to_toml().unwrap(), "again").unwrap(), suite);
        let written = Suite::parse(GOOD, "s.toml").unwrap().to_toml().unwrap();
        assert!(!written.contains("execut"), "suites that only simulate are stored as they were: {written}");
    }

    #[test]
    fn noise_is_a_number_or_a_text_and_reads_back() {
        let with = |list: &str| GOOD.replace("schedulers", &format!("noise = [{list}]\nschedulers"));
        let suite = Suite::parse(&with("0.1, \"op=0.3,device=0.1\", 1"), "s.toml").unwrap();
        assert_eq!(suite.noise, ["0.1", "op=0.3,device=0.1", "1"].map(|text| text.parse().unwrap()));
        assert_eq!(Suite::parse(&suite.to_toml().unwrap(), "again").unwrap(), suite);
        assert!(!Suite::parse(GOOD, "s.toml").unwrap().to_toml().unwrap().contains("noise"));
        for (list, expected) in [
            ("0.1, \"op=0.1,transfer=0.1\"", "s.toml: noise: '0.1' is listed twice: list it once"),
            ("\"opp=0.1\"", "s.toml:4: 'noise' has no parameter 'opp': did you mean 'op'?"),
            ("0", "s.toml:4: 'noise': nothing varies"),
            ("true", "s.toml:4: give noise as a number, as in 0.1, or as a text"),
        ] {
            let message = error(&with(list));
            assert!(message.starts_with(expected), "{message}");
        }
        let period = with("0.1").replace("noise =", "objective = \"period\"\nnoise =");
        assert!(error(&period).starts_with("s.toml: noise: there is no period under noise"), "{}", error(&period));
    }

    #[test]
    fn a_suite_reads_back_as_it_was_written() {
        let suite = Suite::parse(GOOD, "s.toml").unwrap();
        assert_eq!((suite.repetitions, suite.networks.as_slice()), (1, ["contention_free".to_owned()].as_slice()));
        assert_eq!(Suite::parse(&suite.to_toml().unwrap(), "again").unwrap(), suite);
    }

    #[test]
    fn without_schedulers_a_suite_has_pct() {
        let suite = Suite::parse(&GOOD.replace("schedulers = [\"fifo\"]\n", ""), "s.toml").unwrap();
        assert_eq!(suite.schedulers, ["pct"]);
        assert_eq!(Suite::parse(&suite.to_toml().unwrap(), "again").unwrap(), suite);
    }

    #[test]
    fn a_filter_is_a_text_that_reads_back_and_a_wrong_one_is_told_with_its_line() {
        let with = |filter: &str| GOOD.replace("schedulers", &format!("where = \"{filter}\"\nschedulers"));
        let text = with("graph=laich1 placer=hashing,scoring(alpha=1, fringe=2)");
        let suite = Suite::parse(&text, "s.toml").unwrap();
        assert_eq!(suite.only.to_string(), "graph=laich1 placer=hashing,scoring(alpha=1, fringe=2)");
        let written = suite.to_toml().unwrap();
        assert!(written.contains("where = \"graph=laich1 placer=hashing,scoring(alpha=1, fringe=2)\"\n"), "{written}");
        assert_eq!(Suite::parse(&written, "again").unwrap(), suite);
        let written = Suite::parse(GOOD, "s.toml").unwrap().to_toml().unwrap();
        assert!(!written.contains("where"), "suites without a filter are stored as they were: {written}");
        assert_eq!(error(&with("grph=a")), "s.toml:4: no column 'grph' to filter by: did you mean 'graph'?");
        assert!(error(&with("hashing")).starts_with("s.toml:4: 'hashing' is no filter: write column=value"));
    }

    #[test]
    fn all_placers_are_those_of_the_registry_without_exceptions_and_stored_by_name() {
        let all = |except: &str| {
            let text = GOOD.replace("[\"hashing\"]", &format!("\"all\"\n{except}"));
            let suite = Suite::parse(&text, "s.toml").unwrap();
            assert_eq!(Suite::parse(&suite.to_toml().unwrap(), "again").unwrap(), suite);
            suite.placers
        };
        assert_eq!(all(""), registry::placer_names());
        let own: Vec<&str> = registry::PLACERS.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(all("except = [\"partitioners\"]"), own);
        let some = all("except = [\"heft\", \"multilevel\", \"hashing_blocks\"]");
        assert_eq!(some.len() + 3, registry::placer_names().len());
        assert!(!some.contains(&"heft".to_owned()) && some.contains(&"hashing".to_owned()));
    }

    #[test]
    fn each_mistake_is_one_line_with_place_and_remedy() {
        let cases = [
            (
                GOOD.replace("schedulers", "scheduler"),
                "s.toml:4: unknown field `scheduler`: did you mean `schedulers`?",
            ),
            (GOOD.replace("schedulers", "colour"), "s.toml:4: unknown field `colour`, expected one of `name`, `title`"),
            (
                GOOD.replace("placers", "placer"),
                "s.toml:3: invalid type: string \"hashing\", expected a [[placer]] table",
            ),
            (GOOD.replace("[\"hashing\"]", "[]"), "s.toml: placers: give at least one, there or as [[placer]]"),
            (
                GOOD.replace("[\"hashing\"]", "\"every\""),
                "s.toml:3: invalid value: string \"every\", expected a list of placers, or \"all\"",
            ),
            (
                GOOD.replace("[\"hashing\"]", "\"all\"\nexcept = [\"hetf\"]"),
                "s.toml: except: unknown placer 'hetf': did you mean 'heft'?",
            ),
            (
                GOOD.replace("[\"hashing\"]", "[\"hashing\"]\nexcept = [\"heft\"]"),
                "s.toml: except: goes with placers = \"all\"",
            ),
            (format!("{GOOD}[[placer]]\nname = \"a\"\n"), "s.toml:11: placer 'a': give exactly one of placer, command"),
            (
                with_placer("a", "command = [\"x\"]\nplacer = \"heft\""),
                "placer 'a': give exactly one of placer, command",
            ),
            (
                with_placer("a", "placer = \"heft\"\nformat = \"csv\""),
                "placer 'a': placer and function go with name alone",
            ),
            (with_placer("a", "placer = \"hetf\""), "s.toml: placer 'a': unknown placer 'hetf': did you mean 'heft'?"),
            (
                with_placer("a", "placer = \"heft(x=1)\""),
                "s.toml: placer 'a': 'heft' has no parameter 'x': use one of ",
            ),
            (with_placer("heft", "placer = \"heft\""), "s.toml: placer 'heft': placebench has a placer of that name"),
            (with_placer("HEFT*", "placer = \"heft\""), "s.toml: placer 'HEFT*': name: use letters"),
            (
                format!("{}[[placer]]\nname = \"a\"\nplacer = \"heft\"\n", with_placer("a", "command = [\"x\"]")),
                "s.toml: placer 'a': is listed twice",
            ),
            (with_placer("heft", "command = [\"x\"]"), "s.toml: placer 'heft': placebench has a placer of that name"),
            (with_placer("a b", "command = [\"x\"]"), "s.toml: placer 'a b': name: use letters"),
            (with_placer("a", "command = []"), "s.toml: placer 'a': command: give a program"),
            (with_placer("a", "command = [\"\"]"), "s.toml: placer 'a': command: give a program"),
            (with_placer("a", "command = [\"x\"]\ntime_limit_seconds = 0"), "s.toml: placer 'a': time_limit_seconds"),
            (with_placer("a", "command = [\"x\"]\nmemory_limit_mib = 0"), "s.toml: placer 'a': memory_limit_mib"),
            (with_placer("a", "command = [\"x\"]\nformat = \"xml\""), "s.toml:14: unknown variant `xml`"),
            (with_placer("a", "command = [\"x\"]\nlimit = 1"), "s.toml:14: unknown field `limit`"),
            (
                format!("{}[[placer]]\nname = \"a\"\ncommand = [\"y\"]\n", with_placer("a", "command = [\"x\"]")),
                "s.toml: placer 'a': is listed twice",
            ),
            (GOOD.replace("hashing", "hashin"), "s.toml: placers: unknown placer 'hashin': did you mean 'hashing'?"),
            (
                GOOD.replace("fifo", "chosen"),
                "s.toml: schedulers: 'chosen' is what a search answers: list the schedulers to choose from; a search \
                 chooses among several by itself",
            ),
            (GOOD.replace("fifo", "fifo(x=1)"), "s.toml: schedulers: 'fifo' has no parameter 'x'"),
            (GOOD.replace("[\"fifo\"]", "[]"), "s.toml: schedulers: give at least one"),
            (
                GOOD.replace("name = \"small\"", "name = \"small\"\nexecutors = [\"thread\"]"),
                "s.toml: executors: unknown executor 'thread': did you mean 'threads'?",
            ),
            (
                GOOD.replace("name = \"small\"", "name = \"small\"\nexecutors = []"),
                "s.toml: executors: give at least one",
            ),
            (
                GOOD.replace("[[graph]]", "[execute]\nwarm_up = 0\n[[graph]]"),
                "s.toml: execute: warm_up: must be from 1 to 1000000",
            ),
            (
                GOOD.replace("[[graph]]", "[execute]\nvirtual_devices = 2\n[[graph]]"),
                "s.toml: execute: virtual_devices: only the executor cuda has virtual devices",
            ),
            (
                GOOD.replace("[[graph]]", "[execute]\nlaunch = \"graph\"\n[[graph]]"),
                "s.toml: execute: launch: only the executor cuda launches by graph, and executors does not name it",
            ),
            (
                GOOD.replace("[[graph]]", "[execute]\nwarmup = 1\n[[graph]]"),
                "s.toml:7: unknown field `warmup`: did you mean `warm_up`?",
            ),
            (GOOD.replace("[[graph]]", "[execute]\nmean_op = \"3\"\n[[graph]]"), "s.toml:7: '3' is no length of time"),
            (GOOD.replace("preset = \"laich7\"", ""), "s.toml: cluster '': give exactly one of preset, file"),
            (
                GOOD.replace("\"laich7\"", "\"laich7\"\nmemory = \"peek\""),
                "s.toml:11: unknown variant `peek`: did you mean `peak`?",
            ),
            (
                GOOD.replace("\"laich7\"", "\"laich7\"\nkinds = \"gpu\""),
                "unknown variant `gpu`, expected `as_given` or `accelerators_only`",
            ),
            (
                GOOD.replace("\"laich7\"", "\"laich7\"\nunlimited_memory = true"),
                "s.toml:11: unknown field `unlimited_memory`, expected one of",
            ),
            (
                GOOD.replace("\"laich1\"", "\"laich1\"\nfile = \"x\""),
                "give exactly one of catalogue, file, preset, leveled, training_steps",
            ),
            (
                GOOD.replace("\"laich1\"", "\"laich1\"\nclusters = [\"big\"]"),
                "s.toml: graph 'laich1': names cluster 'big'",
            ),
            (
                GOOD.replace("\"laich1\"", "\"laich1\"\nclusters = []"),
                "s.toml: graph 'laich1': clusters is empty: name the clusters of the graph, or leave it out for all",
            ),
            (
                GOOD.replace("\"laich1\"", "\"laich1\"\nname = \"a\\nb\""),
                "s.toml: graph \"a\\nb\": the name is empty or has a line break",
            ),
            (format!("{GOOD}name = \"\""), "s.toml: cluster \"\": the name is empty"),
            (GOOD.replace("name = \"small\"", "name = \"a b\""), "s.toml: name: use letters"),
            (GOOD.replace("name = \"small\"", "name = \"small\"\nrepetitions = 0"), "s.toml: repetitions: must be"),
            (
                GOOD.replace("name = \"small\"", "name = \"small\"\nnetworks = [\"one_prot\"]"),
                "did you mean 'one_port'?",
            ),
            (GOOD.replace("name = \"small\"", "name = \"small\"\ntime_limit_seconds = -1"), "time_limit_seconds"),
            (GOOD.replace("[\"hashing\"]", "[\"hashing\", \"hashing\"]"), "is listed twice"),
            (GOOD.replace("[\"fifo\"]", "[\"fifo\", \"fifo \"]"), "s.toml: schedulers: 'fifo' is listed twice"),
            (
                GOOD.replace("[\"hashing\"]", "[\"heft(average=time)\", \"heft( average = time )\"]"),
                "s.toml: placers: 'heft(average=time)' is listed twice",
            ),
            (GOOD.replace("fifo", " chosen"), "'chosen' is what a search answers"),
            (GOOD.replace("\"laich1\"", "\"laich1\"\nccr = 0"), "s.toml: graph 'laich1': ccr must be above 0"),
            (
                GOOD.replace("laich1", "laich9"),
                "s.toml: graph 'laich9': unknown graph preset 'laich9': did you mean 'laich",
            ),
            (
                GOOD.replace("laich7", "laich70"),
                "s.toml: cluster 'laich70': unknown cluster preset 'laich70': did you mean",
            ),
            (format!("{GOOD}devices = 0"), "s.toml: cluster 'laich7': a cluster needs at least one device"),
            (format!("{GOOD}devices = 8"), "s.toml: cluster 'laich7': cluster 'laich7' has 7 devices, not 8"),
            (format!("{GOOD}send_ops = -1.0"), "s.toml: cluster 'laich7': send_ops is -1: it must be a finite number"),
            (
                format!("{GOOD}overheads = {{ transfer = -1.0 }}"),
                "s.toml: cluster 'laich7': overheads: transfer is -1: give a finite number",
            ),
            (
                format!("{GOOD}overheads = {{ op = inf }}"),
                "s.toml: cluster 'laich7': overheads: op is inf: give a finite",
            ),
            (format!("{GOOD}overheads = {{ ops = 1 }}"), "s.toml:11: unknown field `ops`: did you mean `op`?"),
            (format!("{GOOD}send_ops = inf"), "s.toml: cluster 'laich7': send_ops is inf: it must be a finite number"),
            (
                GOOD.replace("preset = \"laich1\"", "catalogue = \"nmtt\""),
                "s.toml: graph 'nmtt': unknown graph of the catalogue 'nmtt': did you mean 'nmt'?",
            ),
            (
                GOOD.replace("preset = \"laich1\"", "leveled = { levels = 0, nodes_per_level = [1, 2] }"),
                "s.toml: graph 'leveled': ",
            ),
            ("name =".to_owned(), "s.toml:1: "),
        ];
        for (text, expected) in cases {
            let message = error(&text);
            assert!(message.contains(expected), "{message}\n   lacks   {expected}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
