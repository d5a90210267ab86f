//! The suites that come with the command.

use std::path::Path;

use placebench_base::did_you_mean;

use super::{Suite, SuiteError};

/// A suite whose text is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Name, as `placebench run NAME` takes it.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// All built-in suites; the first is the default.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "default", text: include_str!("../../suites/default.toml") },
    BuiltIn { name: "abadi2015", text: include_str!("../../suites/abadi2015.toml") },
    BuiltIn { name: "ablation", text: include_str!("../../suites/ablation.toml") },
    BuiltIn { name: "algorithms", text: include_str!("../../suites/algorithms.toml") },
    BuiltIn { name: "bahnmueller2018", text: include_str!("../../suites/bahnmueller2018.toml") },
    BuiltIn { name: "laich2017", text: include_str!("../../suites/laich2017.toml") },
    BuiltIn { name: "laich2017_seconds", text: include_str!("../../suites/laich2017_seconds.toml") },
    BuiltIn { name: "mixed", text: include_str!("../../suites/mixed.toml") },
    BuiltIn { name: "noise", text: include_str!("../../suites/noise.toml") },
    BuiltIn { name: "optimality", text: include_str!("../../suites/optimality.toml") },
    BuiltIn { name: "passes", text: include_str!("../../suites/passes.toml") },
    BuiltIn { name: "reality", text: include_str!("../../suites/reality.toml") },
    BuiltIn { name: "own-ablation", text: include_str!("../../suites/own-ablation.toml") },
    BuiltIn { name: "own-judges", text: include_str!("../../suites/own-judges.toml") },
    BuiltIn { name: "own-judges-hard", text: include_str!("../../suites/own-judges-hard.toml") },
    BuiltIn { name: "own-judges-2", text: include_str!("../../suites/own-judges-2.toml") },
    BuiltIn { name: "own-judges-2-hard", text: include_str!("../../suites/own-judges-2-hard.toml") },
    BuiltIn { name: "today", text: include_str!("../../suites/today.toml") },
    BuiltIn { name: "tolstobrov", text: include_str!("../../suites/tolstobrov.toml") },
    BuiltIn { name: "unrelated", text: include_str!("../../suites/unrelated.toml") },
];

impl BuiltIn {
    /// The suite of a name, if it is built in.
    pub fn find(name: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|suite| suite.name == name)
    }

    /// The suite itself.
    ///
    /// # Errors
    /// If the text is no valid suite, which a test rules out.
    pub fn suite(&self) -> Result<Suite, SuiteError> {
        Suite::parse(self.text, &format!("built-in suite {}", self.name))
    }
}

impl Suite {
    /// The suite that a person names: a built-in one first, then a file.
    ///
    /// # Errors
    /// If there is none, with the nearest name that there is; as [`Suite::read`].
    pub fn named(name: &str) -> Result<Self, SuiteError> {
        match BuiltIn::find(name) {
            Some(built_in) => built_in.suite(),
            None if Path::new(name).exists() => Self::read(Path::new(name)),
            None if name.ends_with(".toml") => {
                Err(SuiteError::Io { path: name.to_owned(), reason: "no such file".to_owned() })
            }
            None => {
                let remedy = did_you_mean(name, BUILT_IN.iter().map(|suite| suite.name));
                let remedy = format!("{remedy}{}", if remedy.ends_with('?') { "" } else { ", or a suite file" });
                Err(SuiteError::Unknown { name: name.to_owned(), remedy })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Kinds;
    use crate::suite::RunPlan;
    use placebench_datasets::MemoryRule;

    #[test]
    fn every_built_in_suite_is_valid_and_named_as_it_says() {
        for built_in in BUILT_IN {
            assert_eq!(built_in.suite().unwrap().name, built_in.name);
        }
    }

    /// What this project compares with list placers is in the table that people see first.
    #[test]
    fn the_main_table_has_the_partitioners() {
        let default = BuiltIn::find("default").unwrap().suite().unwrap();
        for partitioner in ["fiduccia_mattheyses", "multilevel", "metis", "ldg", "adwise"] {
            assert!(default.placers.iter().any(|placer| placer == partitioner), "{partitioner}");
        }
    }

    #[test]
    fn default_and_mixed_differ_in_the_kinds_alone_and_reproductions_keep_those_of_their_sources() {
        let suite = |name: &str| BuiltIn::find(name).unwrap().suite().unwrap();
        let (default, mut mixed) = (suite("default"), suite("mixed"));
        assert_eq!(
            (default.clusters[0].kinds, mixed.clusters[0].kinds),
            (Some(Kinds::AcceleratorsOnly), Some(Kinds::AsGiven))
        );
        mixed.clusters[0].kinds = Some(Kinds::AcceleratorsOnly);
        let (title, analysis) = (default.title.clone(), default.analysis.clone());
        assert_eq!(Suite { name: "default".to_owned(), title, analysis, ..mixed }, default);
        // The reading with unlimited memory is one of several.
        for (name, memory) in [("laich2017", MemoryRule::Static), ("bahnmueller2018", MemoryRule::Unlimited)] {
            for cluster in suite(name).clusters {
                let read = if cluster.label().ends_with("_memory") { MemoryRule::Unlimited } else { memory };
                assert_eq!(cluster.memory, read, "{name}");
            }
            let plan = RunPlan::new(suite(name)).unwrap();
            assert!(plan.cells.iter().all(|&cell| plan.key(cell).kinds == Kinds::AsGiven), "{name}");
        }
    }

    #[test]
    fn built_in_suites_say_where_accelerators_alone_run_what_they_can() {
        for built_in in BUILT_IN {
            let plan = RunPlan::new(built_in.suite().unwrap()).unwrap();
            for group in &plan.groups {
                let said = plan.suite.clusters[group.cluster].kinds.unwrap_or(Kinds::AsGiven);
                assert_eq!(plan.suite.kinds(group.graph, group.cluster), said, "{}: {group:?}", built_in.name);
            }
        }
    }
}
