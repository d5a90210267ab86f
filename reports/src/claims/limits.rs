//! What words of the sources mean in numbers: one table, which every claim uses and the page prints.

use std::collections::BTreeMap;

use placebench_base::did_you_mean;
use serde::Deserialize;

/// Between what a ratio or a correlation must lie.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    pub(super) above: Option<f64>,
    pub(super) below: Option<f64>,
}

impl Limit {
    /// The limits in signs.
    pub(super) fn text(self) -> String {
        match (self.above, self.below) {
            (Some(above), Some(below)) => format!("{above} to {below}"),
            (Some(above), None) => format!("> {above}"),
            (None, Some(below)) => format!("< {below}"),
            (None, None) => "-".to_owned(),
        }
    }
}

/// The table of words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// Limits of a ratio.
    limit: BTreeMap<String, Limit>,
    /// The share of ratios that must be within the limits.
    share: BTreeMap<String, f64>,
    /// Why a claim says something although a control passes.
    reason: BTreeMap<String, String>,
}

impl Words {
    /// The table in `reports/claims/limits.toml`.
    ///
    /// # Errors
    /// If it is no such table, which a test rules out.
    pub(super) fn new() -> Result<Self, String> {
        toml::from_str(include_str!("../../claims/limits.toml")).map_err(|error| format!("limits: {}", error.message()))
    }

    pub(super) fn limit(&self, word: &str) -> Result<Limit, String> {
        let unknown = || format!("no limit '{word}': {}", did_you_mean(word, self.limit.keys().map(String::as_str)));
        self.limit.get(word).copied().ok_or_else(unknown)
    }

    pub(super) fn share(&self, word: &str) -> Result<f64, String> {
        let unknown = || format!("no share '{word}': {}", did_you_mean(word, self.share.keys().map(String::as_str)));
        self.share.get(word).copied().ok_or_else(unknown)
    }

    pub(super) fn reason(&self, word: &str) -> Result<&str, String> {
        let unknown = || format!("no reason '{word}': {}", did_you_mean(word, self.reason.keys().map(String::as_str)));
        self.reason.get(word).map(String::as_str).ok_or_else(unknown)
    }

    /// The limits as Markdown.
    pub(super) fn limits(&self) -> String {
        let limits = self.limit.iter().map(|(word, limit)| (word, limit.text()));
        let shares =
            self.share.iter().map(|(word, share)| (word, format!("at least {:.0} % of the ratios", share * 100.0)));
        markdown("the source says", limits.chain(shares))
    }

    /// The reasons as Markdown.
    pub(super) fn reasons(&self) -> String {
        markdown("the claim is about", self.reason.iter().map(|(word, reason)| (word, reason.clone())))
    }
}

/// A table of words.
fn markdown<'a>(what: &str, lines: impl Iterator<Item = (&'a String, String)>) -> String {
    let line = |(word, meaning): (&String, String)| format!("| {word} | {meaning} |\n");
    format!("| {what} | here |\n|---|---|\n{}", lines.map(line).collect::<String>())
}
