//! Laws of the house: every file of tests belongs to a program that cargo builds, and types have names of their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Public types that share a name, each under a module that tells them apart. The list gets shorter, not longer.
const TWINS: [&str; 15] = [
    "Budget",
    "Cells",
    "Choice",
    "Costs",
    "Detail",
    "Hashing",
    "Mark",
    "Marks",
    "Objective",
    "Prediction",
    "Preset",
    "Step",
    "StreamError",
    "Sweep",
    "Task",
];

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => rust_files(&entry, files),
            false if entry.extension().is_some_and(|extension| extension == "rs") => files.push(entry),
            false => {}
        }
    }
}

#[test]
fn public_types_have_names_of_their_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for member in [".", "base", "datasets", "generator", "algorithms", "harness", "reports", "execute-cuda"] {
        rust_files(&root.join(member).join("src"), &mut files);
    }
    assert!(files.len() > 300, "{}", files.len());
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let mut words = line.trim_start().split([' ', '<', '(', ';', ':', '{']);
            if words.next() == Some("pub")
                && ["struct", "enum", "trait", "type"].contains(&words.next().unwrap_or_default())
            {
                let name = words.next().unwrap_or_default().to_owned();
                // A macro gives it.
                if name.starts_with('$') {
                    continue;
                }
                found.entry(name).or_default().push(file.display().to_string());
            }
        }
    }
    found.retain(|_, files| files.len() > 1);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, TWINS, "{found:#?}");
}

#[test]
fn no_test_file_is_forgotten_in_the_program_of_its_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for member in [".", "datasets", "generator", "algorithms", "harness", "reports"] {
        let manifest = std::fs::read_to_string(root.join(member).join("Cargo.toml")).unwrap();
        let tests = root.join(member).join("tests");
        let main = std::fs::read_to_string(tests.join("main.rs")).unwrap();
        for file in std::fs::read_dir(&tests).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.file_stem().unwrap().to_str().unwrap();
            let is_module = file.extension().is_some_and(|extension| extension == "rs") || file.join("mod.rs").exists();
            assert!(
                !is_module
                    || name == "main"
                    || main.contains(&format!("\nmod {name};"))
                    || manifest.contains(&format!("[[test]]\nname = \"{name}\"")),
                "{}: name it in {member}/tests/main.rs",
                file.display()
            );
        }
    }
}

/// Under cargo, `.cargo/config.toml` says which cases property tests draw: a test that fails is to blame on a change.
#[test]
fn property_tests_draw_the_same_cases_every_time() {
    assert!(std::env::var_os("PROPTEST_RNG_SEED").is_some(), "set it in .cargo/config.toml");
}

/// A busy machine fails such a test. What measures time is ignored unless somebody asks for it on an idle machine.
#[test]
fn no_test_asks_how_long_something_took() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for member in [".", "base", "datasets", "generator", "algorithms", "harness", "reports", "execute-cuda"] {
        for folder in ["src", "tests"].map(|folder| root.join(member).join(folder)).iter().filter(|own| own.is_dir()) {
            rust_files(folder, &mut files);
        }
    }
    // In two parts, since this file is looked at, too.
    let call = [".elapsed", "()"].concat();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_of_tests = file.components().any(|part| part.as_os_str() == "tests") || file.ends_with("tests.rs");
        let tests =
            if is_of_tests { &text[..] } else { text.split_once("#[cfg(test)]").map_or("", |(_, tests)| tests) };
        let is_measured = tests.contains("#[ignore = \"measures time\"]");
        assert!(!tests.contains(&call) || is_measured, "{}: count the work instead", file.display());
    }
}
