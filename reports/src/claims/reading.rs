//! The rows of a run under a reading, called as claims call them.

use placebench_algorithms::Spec;
use placebench_harness::results::{Row, Table};
use polars::prelude::PolarsResult;

use super::Reading;

impl Reading {
    /// The rows that count under this reading, of all `readings` of a source, under the names that claims use.
    ///
    /// # Complexity
    /// O(rows · readings).
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn rows(&self, rows: &[Row], readings: &[Self]) -> PolarsResult<Table> {
        let renamed = |row: &Row| {
            let cluster = self.cluster(&row.cluster, readings)?;
            let placer = self.placer(row.placer_spec.as_ref().unwrap_or(&row.placer), readings)?;
            let mut row = Row { cluster, ..row.clone() };
            match &mut row.placer_spec {
                Some(spec) => *spec = placer,
                None => row.placer = placer,
            }
            Some(row)
        };
        let rows: Vec<Row> = rows.iter().filter_map(renamed).collect();
        Table::new(&rows)?.filter(self.only.expr())
    }

    /// What claims call a cluster of the suite; `None` if it belongs to other readings.
    fn cluster(&self, label: &str, readings: &[Self]) -> Option<String> {
        if let Some((name, _)) = self.clusters.iter().find(|(_, stands)| *stands == label) {
            return Some(name.clone());
        }
        let replaced = self.clusters.contains_key(label);
        let of_others = readings.iter().any(|other| other.clusters.values().any(|stands| stands == label));
        (!replaced && !of_others).then(|| label.to_owned())
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

    fn readings() -> Vec<Reading> {
        #[derive(serde::Deserialize)]
        struct List {
            reading: Vec<Reading>,
        }
        let text = "[[reading]]\nname = 'A'\ntext = ''\nplacers = { cluster_load = { cells = 'layer' } }\n\
                    [[reading]]\nname = 'B'\ntext = ''\nclusters = { c = 'd' }\n\
                    placers = { cluster_load = { cells = 'layer', edges = 'simple' }, scoring = { vertex = 'one' } }\n\
                    [[reading]]\nname = 'C'\ntext = ''\n";
        toml::from_str::<List>(text).unwrap().reading
    }

    #[test]
    fn a_placer_counts_under_the_reading_whose_parameters_it_has_and_no_other() {
        let readings = readings();
        let placers = |text: &str| {
            let called = readings.iter().map(|reading| reading.placer(text, &readings));
            called.collect::<Vec<_>>()
        };
        let called = |text: &str| Some(text.to_owned());
        assert_eq!(placers("cluster_load(cells=layer)"), [called("cluster_load"), None, None]);
        assert_eq!(placers("cluster_load(edges=simple, cells=layer)"), [None, called("cluster_load"), None]);
        assert_eq!(placers("cluster_load"), [None, None, called("cluster_load")]);
        assert_eq!(placers("cluster_load(cells=step)"), [None, None, None]);
        let alpha = "scoring(alpha=1.1)";
        assert_eq!(placers(alpha), [called(alpha), None, called(alpha)]);
        assert_eq!(placers("scoring(alpha=1.1, vertex=one)"), [None, called(alpha), None]);
        assert_eq!(placers("heft(average=speed)"), vec![called("heft(average=speed)"); 3]);
    }

    #[test]
    fn a_cluster_that_stands_for_another_has_its_name_and_the_other_is_gone() {
        let readings = readings();
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.repetition == 1) {
            row.cluster = "d".into();
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
