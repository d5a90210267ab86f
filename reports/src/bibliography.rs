//! What to cite: the works behind what a run used.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use placebench_algorithms::{Spec, registry};
use placebench_datasets::catalogue;
use placebench_generator::{FAMILIES, PASSES, described, presets};
use placebench_harness::execute::EXECUTORS;
use placebench_harness::execute::simulate::{NETWORK_MODELS, PREDICTING_MODELS};
use placebench_harness::problem::{DrawnCosts, GraphEntry, ProblemError};
use placebench_harness::results::{Column, Table};
use placebench_harness::suite::Suite;
use polars::prelude::{NULL, PolarsError, col, lit, when};

/// A work that is cited.
#[derive(Debug)]
pub struct CitedWork {
    /// What `\cite` calls it.
    pub key: &'static str,
    /// Its entry in BibTeX.
    pub bibtex: String,
    /// How texts of placebench cite it.
    cited: Vec<&'static str>,
}

/// All works, by key.
static WORKS: LazyLock<Vec<CitedWork>> =
    LazyLock::new(|| include_str!("../references.bib").split("\n@").skip(1).filter_map(work).collect());

/// The work of an entry of the file, without the `@` before it. Its field `cited` stands on a line of its own.
fn work(entry: &'static str) -> Option<CitedWork> {
    const CITED: &str = "  cited = {";
    let key = entry.split_once('{')?.1.split_once(',')?.0;
    let cited = entry.lines().find_map(|line| line.strip_prefix(CITED))?.trim_end_matches([',', '}']);
    let kept: Vec<&str> = entry.trim_end().lines().filter(|line| !line.starts_with(CITED)).collect();
    Some(CitedWork { key, bibtex: format!("@{}", kept.join("\n")), cited: cited.split(" | ").collect() })
}

/// The works that a text cites by their short names, such as `Topcuoglu et al. 2002, L §4.3`, in the order of the text.
///
/// # Complexity
/// O(names · length).
fn cited_in(text: &str) -> Vec<&'static CitedWork> {
    let mut by_name: BTreeMap<Reverse<(usize, &str)>, Vec<&'static CitedWork>> = BTreeMap::new();
    for work in WORKS.iter() {
        work.cited.iter().for_each(|name| by_name.entry(Reverse((name.len(), *name))).or_default().push(work));
    }
    // The longest names first, since one may be part of another; what was found is blotted out.
    let mut rest = text.to_owned();
    let mut found: Vec<(usize, &'static CitedWork)> = Vec::new();
    for (Reverse((length, name)), works) in by_name {
        while let Some(at) = word(&rest, name) {
            found.extend(works.iter().map(|&work| (at, work)));
            rest.replace_range(at..at + length, &"\0".repeat(length));
        }
    }
    found.sort_by_key(|&(at, work)| (at, work.key));
    let mut works: Vec<&'static CitedWork> = Vec::new();
    for (_, work) in found {
        if works.iter().all(|known| known.key != work.key) {
            works.push(work);
        }
    }
    works
}

/// Where a name stands in a text, not as part of another word.
fn word(text: &str, name: &str) -> Option<usize> {
    let is_one = |&(at, _): &(usize, &str)| {
        let begins = text[..at].chars().next_back().is_none_or(|before| " (".contains(before));
        let ends = text[at + name.len()..].chars().next().is_none_or(|after| " ),;.:".contains(after));
        begins && ends
    };
    text.match_indices(name).find(is_one).map(|(at, _)| at)
}

/// Something that a run used, and what to cite for it.
#[derive(Debug)]
pub struct UsedThing {
    /// What it is, such as `placer`.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// The works that it comes from; none if it has no source that is known.
    pub works: Vec<&'static CitedWork>,
}

impl UsedThing {
    fn new(what: &'static str, name: impl Into<String>, source: &str) -> Self {
        Self { what, name: name.into(), works: cited_in(source) }
    }

    /// placebench itself, which every run used.
    pub fn itself() -> Self {
        Self::new("tool", "placebench", OURS)
    }

    /// What an undirected graph comes from, as in `gnm(vertices=100,edges=200)`; `None` if there is no such family.
    ///
    /// # Errors
    /// One line, if a parameter does not exist or its value makes no sense.
    pub fn undirected(text: &str) -> Option<Result<Self, String>> {
        let family = text.split('(').next().unwrap_or_default().trim();
        let family = FAMILIES.iter().find(|known| known.name == family && known.is_undirected)?;
        Some(described(text)?.map(|_| Self::new("graph", text, family.source)))
    }

    /// A graph, and each of its passes.
    ///
    /// # Errors
    /// If the graph does not exist, or its parameters make no sense.
    pub fn graph(entry: &GraphEntry) -> Result<Vec<Self>, ProblemError> {
        let mut used = vec![Self::new("graph", entry.base(), &source_of(entry)?)];
        for pass in entry.passes.names() {
            let source = PASSES.iter().find(|known| known.name == pass).map_or("", |known| known.source);
            used.push(Self::new("pass", pass, source));
        }
        Ok(used)
    }

    /// What the rows of a run used, each thing once: graphs and passes, placers, schedulers, network models, executors.
    ///
    /// # Errors
    /// As [`UsedThing::graph`]; if Polars refuses.
    pub fn by_run(table: &Table, suite: &Suite) -> Result<Vec<Self>, UsedThingsError> {
        let mut used = vec![Self::itself()];
        let graphs = table.distinct(Column::Graph)?;
        for entry in suite.graphs.iter().filter(|entry| graphs.contains(&entry.label())) {
            used.extend(Self::graph(entry)?);
        }
        for name in table.distinct(Column::Placer)? {
            let source = registry::placers().find(|entry| entry.name == name).map_or("", |entry| entry.source);
            used.push(Self::new("placer", name, source));
        }
        for name in table.distinct(Column::PlacerSpec)?.iter().filter_map(|spec| improved(spec)) {
            let source = registry::placers().find(|entry| entry.name == name).map_or("", |entry| entry.source);
            used.push(Self::new("placer", name, source));
        }
        let mut schedulers = table.distinct(Column::Scheduler)?;
        schedulers.extend(table.distinct_values(col("chosen_scheduler"))?);
        for name in schedulers {
            if let Some(entry) = registry::SCHEDULERS.iter().find(|entry| entry.name == name) {
                used.push(Self::new("scheduler", name, entry.source));
            }
        }
        for name in table.distinct(Column::Network)? {
            let source = NETWORK_MODELS.iter().find(|model| model.name() == name).map_or("", |model| model.source());
            used.push(Self::new("network model", name, source));
        }
        // What was measured stands beside what models predict.
        for model in PREDICTING_MODELS {
            let predicted = col(format!("predicted_{}", model.name())).is_not_null();
            let name = when(predicted).then(lit(model.name())).otherwise(lit(NULL));
            if !table.distinct_values(name)?.is_empty() {
                used.push(Self::new("network model", model.name(), model.source()));
            }
        }
        for name in table.distinct(Column::Executor)? {
            let doc = EXECUTORS.iter().find(|entry| entry.name == name).map_or("", |entry| entry.doc);
            // The simulator is our own, and so is what runs on threads.
            let source = if cited_in(doc).is_empty() { OURS } else { doc };
            used.push(Self::new("executor", name, source));
        }
        let mut kept: Vec<Self> = Vec::new();
        for item in used {
            if kept.iter().all(|known| (known.what, &known.name) != (item.what, &item.name)) {
                kept.push(item);
            }
        }
        Ok(kept)
    }
}

/// How sources call placebench itself.
const OURS: &str = "this project";

/// The name of the placer whose placements another one improves: `heft` for `improve`, which has it by default.
fn improved(spec: &str) -> Option<String> {
    const PARAM: &str = "placer";
    let spec: Spec = spec.parse().ok()?;
    let entry = registry::placers().find(|entry| entry.name == spec.name)?;
    let default = entry.params().iter().find(|param| param.name == PARAM)?.default.clone();
    let given = spec.params.into_iter().find(|(name, _)| name == PARAM).map_or(default, |(_, value)| value);
    given.parse().ok().map(|improved: Spec| improved.name)
}

/// Why nobody knows what a run used.
#[derive(Debug, thiserror::Error)]
pub enum UsedThingsError {
    /// A graph cannot be made.
    #[error(transparent)]
    Graph(#[from] ProblemError),
    /// The table library refuses.
    #[error(transparent)]
    Table(#[from] PolarsError),
}

/// What a graph comes from, in words that cite: its model and the framework that it was taken from, or its family.
fn source_of(entry: &GraphEntry) -> Result<String, ProblemError> {
    let costs = if entry.costs == Some(DrawnCosts::Laich) { "; L" } else { "" };
    if let Some(name) = &entry.catalogue {
        let header = catalogue::find(name).map_err(catalogue::CatalogueError::from)?.header()?;
        let frameworks = [("jax", "; JAX"), ("torch", "; PyTorch"), ("tensorflow", "; TensorFlow")];
        let framework = frameworks.into_iter().find(|(key, _)| header.provenance.contains_key(*key));
        return Ok(format!("{}{}{costs}", header.title, framework.map_or("", |(_, name)| name)));
    }
    let Some(params) = entry.params()? else { return Ok(costs.to_owned()) };
    let family = FAMILIES.iter().find(|family| family.name == params.family()).map_or("", |family| family.source);
    let name = entry.preset.as_deref().and_then(|text| text.split('(').next()).unwrap_or_default().trim();
    let preset = presets().into_iter().find(|preset| preset.name == name).map(|preset| preset.summary);
    Ok(format!("{family}; {}{costs}", preset.unwrap_or_default()))
}

/// The entries of works, by key, each once, after a line for each thing that was used; BibTeX skips those lines.
pub fn bibtex(used: &[UsedThing]) -> String {
    let mut text = String::new();
    let mut works: BTreeMap<&str, &CitedWork> = BTreeMap::new();
    for UsedThing { what, name, works: own } in used {
        let keys: Vec<&str> = own.iter().map(|work| work.key).collect();
        let keys = if keys.is_empty() { "nothing to cite is known".to_owned() } else { keys.join(", ") };
        text.push_str(&format!("% {what} {name}: {keys}\n"));
        works.extend(own.iter().map(|work| (work.key, *work)));
    }
    for work in works.values() {
        // The version is this one.
        let versioned = work.bibtex.replace(
            "  howpublished = {Software},\n  year = {2026},\n",
            concat!("  howpublished = {Software, version ", env!("CARGO_PKG_VERSION"), "},\n  year = {2026},\n"),
        );
        text.push_str(&format!("\n{versioned}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use placebench_harness::suite::BUILT_IN;

    use super::*;

    fn keys(text: &str) -> Vec<&'static str> {
        cited_in(text).into_iter().map(|work| work.key).collect()
    }

    #[test]
    fn works_are_found_by_their_short_names() {
        assert_eq!(keys("Topcuoglu et al. 2002, L §4.3"), ["topcuoglu2002", "laich2017"]);
        assert_eq!(keys("leveled DAG of 300 levels (L Table 7.1)"), ["laich2017"]);
        assert_eq!(keys("Karypis, Kumar 1998"), ["karypis1998a", "karypis1998b"]);
        assert!(keys("control").is_empty());
        assert!(keys("ViT-L/16, and LB, B-2").is_empty());
        assert_eq!(keys("Chen et al. 2016, §4, Chen et al. 2016"), ["chen2016"]);
    }

    #[test]
    fn entries_are_whole_sorted_and_in_ascii() {
        assert!(WORKS.len() > 100);
        assert!(WORKS.windows(2).all(|pair| pair[0].key < pair[1].key));
        for CitedWork { key, bibtex, cited } in WORKS.iter() {
            assert!(bibtex.is_ascii(), "{key}");
            assert!(bibtex.starts_with('@') && bibtex.ends_with("\n}") && !bibtex.contains("cited ="), "{bibtex}");
            assert_eq!(bibtex.matches('{').count(), bibtex.matches('}').count(), "{key}");
            assert!(["  title = ", "  year = "].iter().all(|field| bibtex.contains(field)), "{key}");
            assert!(cited.iter().all(|name| !name.is_empty() && keys(name).contains(key)), "{key}: {cited:?}");
        }
    }

    /// What has a source has a work, but controls and a mesh.
    #[test]
    fn each_source_of_a_registry_is_a_work() {
        let mut sources: Vec<(String, &str)> = Vec::new();
        sources.extend(registry::placers().map(|entry| (entry.name.clone(), entry.source)));
        sources.extend(registry::SCHEDULERS.iter().map(|entry| (entry.name.clone(), entry.source)));
        sources.extend(FAMILIES.iter().map(|entry| (entry.name.to_owned(), entry.source)));
        sources.extend(PASSES.iter().map(|entry| (entry.name.to_owned(), entry.source)));
        sources.extend(NETWORK_MODELS.iter().map(|model| (model.name().to_owned(), model.source())));
        for (name, source) in sources {
            assert!(["control", "a mesh"].contains(&source) || !keys(source).is_empty(), "{name}: '{source}'");
            // Each part that has a year is one.
            let years = source.split([';', ',']).filter(|part| part.contains(|c: char| c.is_ascii_digit()));
            let works =
                years.filter(|part| !part.contains('§') && !part.contains("ch.") && !part.contains("2.15")).count();
            assert!(keys(source).len() >= works, "{name}: '{source}' {:?}", keys(source));
        }
        for entry in catalogue::entries() {
            let graph = GraphEntry { catalogue: Some(entry.name.to_owned()), ..GraphEntry::default() };
            let found = &UsedThing::graph(&graph).unwrap()[0].works;
            assert!(found.len() >= 2, "{}: {found:?}", entry.name);
        }
        for suite in BUILT_IN {
            for graph in suite.suite().unwrap().graphs.iter().filter(|graph| graph.file.is_none()) {
                for used in UsedThing::graph(graph).unwrap() {
                    assert!(!used.works.is_empty(), "{} {}", used.what, used.name);
                }
            }
        }
    }
}
