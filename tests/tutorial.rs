//! The commands of docs/TUTORIAL.md, in their order, and what they promise.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output};

/// The texts of all fenced blocks of a language.
fn blocks(markdown: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    markdown.split(&fence).skip(1).map(|rest| rest.split("```").next().expect("a block that ends").to_owned()).collect()
}

/// A folder with nothing in it, and the command on the path.
fn study() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_placebench"), folder.path().join("bin/placebench")).unwrap();
    folder
}

fn shell(folder: &Path, script: &str) -> Output {
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-ec", script]).current_dir(folder).env("PATH", path).output().unwrap()
}

#[test]
fn every_command_of_the_tutorial_works_and_prints_what_it_says() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: the tutorial's own placer needs python3");
        return;
    }
    let tutorial = include_str!("../docs/TUTORIAL.md");
    let folder = study();
    let mut printed = String::new();
    let scripts = blocks(tutorial, "sh");
    assert!(scripts.len() >= 7, "{} blocks of commands", scripts.len());
    for script in &scripts {
        let output = shell(folder.path(), script);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{script}\nended with {}:\n{error}", output.status);
        printed.push_str(&String::from_utf8(output.stdout).unwrap());
    }
    // Makespans are the same on every machine, so the table in the text has to be the one printed.
    for line in blocks(tutorial, "text").iter().flat_map(|block| block.lines()) {
        assert!(
            printed.lines().any(|other| other.trim_end() == line),
            "the tutorial prints `{line}`, but not:\n{printed}"
        );
    }
    // What the text shows of the suite is in the suite.
    let suite = std::fs::read_to_string(folder.path().join("communication.toml")).unwrap();
    for line in blocks(tutorial, "toml").iter().flat_map(|block| block.lines()) {
        let known = |text: &str| text.lines().any(|other| other == line);
        assert!(known(&suite), "communication.toml lacks `{line}`");
    }
    for file in ["lstm.json", "makespans.tex", "report.html"] {
        assert!(folder.path().join(file).is_file(), "{file} was not written");
    }
    let figures = std::fs::read_dir(folder.path().join("figures")).unwrap();
    let kinds: std::collections::BTreeSet<String> =
        figures.filter_map(|file| Some(file.ok()?.path().extension()?.to_str()?.to_owned())).collect();
    assert!(["csv", "png", "svg"].iter().all(|&kind| kinds.contains(kind)), "{kinds:?}");
}
