//! The rows of a run under a reading, called as claims call them.

use std::collections::BTreeMap;

use placebench_algorithms::Spec;
use placebench_harness::results::{Metric, Row, Table};
use polars::prelude::PolarsResult;

use super::{Claim, Reading};

impl Reading {
    /// The rows that count under this reading, of all `readings` of a source, under the names that claims use.
    ///
    /// # Complexity
    /// O(rows · readings).
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn rows<'a>(&self, rows: &'a [Row], readings: &[Self]) -> PolarsResult<Table> {
        let mut placers: BTreeMap<&str, Option<String>> = BTreeMap::new();
        let mut named = Vec::new();
        let renamed = |row: &'a Row| {
            let cluster = self.cluster(&row.cluster, readings)?;
            let spec = row.placer_spec.as_ref().unwrap_or(&row.placer);
            let placer = placers.entry(spec).or_insert_with(|| self.placer(spec, readings)).clone()?;
            let mut row = Row { cluster, ..row.clone() };
            match &mut row.placer_spec {
                Some(spec) => *spec = placer,
                None => row.placer = placer,
            }
            Some(row)
        };
        let mut rows: Vec<Row> = rows.iter().filter_map(renamed).collect();
        // Claims may name a graph with what follows, too.
        named.extend(rows.iter().filter_map(|row| Some(Row { graph: self.graph(&row.graph)?, ..row.clone() })));
        rows.append(&mut named);
        Table::new(&rows)?.filter(self.only.expr())
    }

    /// What a claim sees of this reading: readings that agree in it give the same groups.
    pub(super) fn seen_by(&self, claim: &Claim) -> String {
        let names = claim.placer_names();
        let seen = |(name, _): &(&String, _)| names.is_empty() || names.contains(*name);
        let placers: BTreeMap<_, _> = self.placers.iter().filter(seen).collect();
        let metrics = [claim.metric, claim.correlates_with].map(|named| named.map(|named| self.metric(named)));
        format!("{:?} {} {} {placers:?} {metrics:?}", self.only, self.suffix, self.graphs)
    }

    /// The metric that counts where claims name this one.
    pub(super) fn metric(&self, named: Metric) -> Metric {
        self.metrics.get(named.column()).copied().unwrap_or(named)
    }

    /// What claims call a cluster of the suite; `None` if it belongs to other readings.
    pub(super) fn cluster(&self, label: &str, readings: &[Self]) -> Option<String> {
        let suffixes = readings.iter().map(|reading| reading.suffix.as_str()).filter(|suffix| label.ends_with(suffix));
        let longest = suffixes.max_by_key(|suffix| suffix.len()).unwrap_or_default();
        (longest == self.suffix).then(|| label[..label.len() - longest.len()].to_owned())
    }

    /// What claims call a graph of the suite that this reading counts, if that is not its name.
    pub(super) fn graph(&self, label: &str) -> Option<String> {
        label.strip_suffix(self.graphs.as_str()).filter(|_| !self.graphs.is_empty()).map(str::to_owned)
    }

    /// What claims call a placer of the suite: without the parameters that readings set; `None` if it has others of them
    /// than this reading sets.
    pub(super) fn placer(&self, text: &str, readings: &[Self]) -> Option<String> {
        let Ok(mut spec) = text.parse::<Spec>() else { return Some(text.to_owned()) };
        let sets = |reading: &Self, param: &str| reading.placers.get(&spec.name)?.get(param).cloned();
        let is_read = |param: &str| readings.iter().any(|reading| sets(reading, param).is_some());
        if !spec.params.iter().any(|(param, _)| is_read(param)) && !self.placers.contains_key(&spec.name) {
            return Some(text.to_owned());
        }
        let given: usize = spec.params.iter().filter(|(param, _)| is_read(param)).count();
        let wanted = self.placers.get(&spec.name).map_or(0, |params| params.len());
        let as_wanted = |(param, value): &&(String, String)| sets(self, param).as_ref() == Some(value);
        if given != wanted || spec.params.iter().filter(as_wanted).count() != wanted {
            return None;
        }
        let read: Vec<bool> = spec.params.iter().map(|(param, _)| is_read(param)).collect();
        let mut read = read.into_iter();
        spec.params.retain(|_| read.next() == Some(false));
        Some(spec.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::rows;

    /// Cells of a layer or a step, edges parallel or simple with clusters of their own, vertices of scoring.
    fn readings() -> Vec<Reading> {
        let text = "suite = 's'\ntitle = ''\nsource = ''\nclaim = []\n\
                    [[dimension]]\nname = 'cells'\n[[dimension.option]]\nname = 'layer'\ntext = ''\n\
                    placers = { cluster_load = { cells = 'layer' } }\n[[dimension.option]]\nname = 'step'\ntext = ''\n\
                    [[dimension]]\nname = 'edges'\n[[dimension.option]]\nname = 'parallel'\ntext = ''\n\
                    [[dimension.option]]\nname = 'simple'\ntext = ''\nsuffix = '_d'\n\
                    placers = { cluster_load = { edges = 'simple' }, scoring = { vertex = 'one' } }\n";
        super::super::Claims::parse(text).unwrap().readings
    }

    #[test]
    fn a_placer_counts_under_the_reading_whose_parameters_it_has_and_no_other() {
        let readings = readings();
        let names: Vec<&str> = readings.iter().map(|reading| reading.name.as_str()).collect();
        assert_eq!(names, ["layer, parallel", "layer, simple", "step, parallel", "step, simple"]);
        let placers = |text: &str| {
            let called = readings.iter().map(|reading| reading.placer(text, &readings));
            called.collect::<Vec<_>>()
        };
        let called = |text: &str| Some(text.to_owned());
        assert_eq!(placers("cluster_load(cells=layer)"), [called("cluster_load"), None, None, None]);
        assert_eq!(placers("cluster_load(edges=simple, cells=layer)"), [None, called("cluster_load"), None, None]);
        assert_eq!(placers("cluster_load"), [None, None, called("cluster_load"), None]);
        assert_eq!(placers("cluster_load(edges=simple)"), [None, None, None, called("cluster_load")]);
        assert_eq!(placers("cluster_load(cells=step)"), [None, None, None, None]);
        let alpha = "scoring(alpha=1.1)";
        assert_eq!(placers(alpha), [called(alpha), None, called(alpha), None]);
        assert_eq!(placers("scoring(alpha=1.1, vertex=one)"), [None, called(alpha), None, called(alpha)]);
        assert_eq!(placers("heft(average=speed)"), vec![called("heft(average=speed)"); 4]);
    }

    #[test]
    fn a_graph_that_a_reading_counts_has_two_names_and_others_keep_their_own() {
        let text = "suite = 's'\ntitle = ''\nsource = ''\nclaim = []\n[[dimension]]\nname = 'sum'\n\
                    [[dimension.option]]\nname = 'ring'\ntext = ''\ngraphs = '_ring'\n\
                    [[dimension.option]]\nname = 'tree'\ntext = ''\ngraphs = '_tree'\n";
        let readings = super::super::Claims::parse(text).unwrap().readings;
        let mut rows: Vec<Row> = rows().into_iter().take(3).collect();
        for (row, graph) in rows.iter_mut().zip(["1_ring", "1_tree", "2"]) {
            row.graph = graph.into();
        }
        let named = |reading: &Reading| {
            let table = reading.rows(&rows, &readings).unwrap().rows().unwrap();
            let mut named: Vec<(String, u32)> = table.into_iter().map(|row| (row.graph, row.repetition)).collect();
            named.sort();
            named.into_iter().map(|(graph, _)| graph).collect::<Vec<_>>()
        };
        assert_eq!(named(&readings[0]), ["1", "1_ring", "1_tree", "2"]);
        assert_eq!(named(&readings[1]), ["1", "1_ring", "1_tree", "2"]);
        assert_eq!((readings[0].graph("1_ring"), readings[1].graph("1_ring")), (Some("1".to_owned()), None));
    }

    #[test]
    fn a_cluster_of_another_reading_is_gone_and_one_of_this_has_the_name_that_claims_use() {
        let readings = readings();
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.repetition == 1) {
            row.cluster = "c_d".into();
        }
        let heights = |reading: &Reading| {
            let table = reading.rows(&rows, &readings).unwrap();
            let clusters: Vec<String> = table.rows().unwrap().into_iter().map(|row| row.cluster).collect();
            assert!(clusters.iter().all(|cluster| cluster == "c"), "{clusters:?}");
            (table.height(), table.rows().unwrap()[0].repetition)
        };
        assert_eq!(heights(&readings[0]), (8, 0));
        assert_eq!(heights(&readings[1]), (8, 1));
    }
}
