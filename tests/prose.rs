//! What docs promise their reader: short lines, and links that lead somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most characters of a line of prose. Tables and code are as long as they have to be.
const LONGEST: usize = 120;

/// The Markdown files of README, docs and folders that a reader may open.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["", "docs", "datasets/catalogue", "python", "reports/partitioners"];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let mut pages: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    assert!(pages.len() > 20, "{pages:?}");
    pages
}

/// The lines outside of code blocks, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((number, line))
    })
}

#[test]
fn no_line_of_prose_is_longer_than_a_reader_takes_in() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (number, line) in lines(&text).filter(|(_, line)| !line.trim_start().starts_with('|')) {
            // A line that is one long link cannot be broken.
            let is_prose = line.split_whitespace().count() > 3;
            assert!(
                !is_prose || line.chars().count() <= LONGEST,
                "{}:{number}: break this line before {LONGEST} characters: {line}",
                page.display()
            );
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (number, line) in lines(&text) {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if target.contains("://") {
                    continue;
                }
                let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
                let file = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
                assert!(file.exists(), "{}:{number}: {target} is not there", page.display());
                if !anchor.is_empty() {
                    let there = std::fs::read_to_string(&file).unwrap();
                    assert!(anchors(&there).contains(anchor), "{}:{number}: {target}: no such heading", page.display());
                }
            }
        }
    }
}

/// What links to headings say after `#`.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = lines(text).filter_map(|(_, line)| line.strip_prefix('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        words
            .chars()
            .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(anchor).collect()
}
