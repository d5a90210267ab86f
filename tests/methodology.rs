//! The tables of algorithms in docs/METHODOLOGY.md, of families in docs/GENERATORS.md and of columns in docs/FORMATS.md
//! are those that the command prints.

use std::process::Command;

use placebench::algorithms::registry;
use placebench::generator::{FAMILIES, PASSES, presets};

const FORMATS: &str = include_str!("../docs/FORMATS.md");
const GENERATORS: &str = include_str!("../docs/GENERATORS.md");
const PASSES_PAGE: &str = include_str!("../docs/PASSES.md");
const METHODOLOGY: &str = include_str!("../docs/METHODOLOGY.md");

/// Asserts that a page has the table that `placebench list WHAT --markdown` prints.
fn assert_has_table(page: &str, name: &str, what: &str) {
    let command = Command::new(env!("CARGO_BIN_EXE_placebench")).args(["list", what, "--markdown"]).output().unwrap();
    let table = String::from_utf8(command.stdout).unwrap();
    assert!(
        page.contains(&format!("\n\n{table}\n")),
        "docs/{name} lacks this table: put the output of 'placebench list {what} --markdown' there\n{table}"
    );
}

#[test]
fn the_tables_of_algorithms_are_what_the_command_prints() {
    assert_has_table(METHODOLOGY, "METHODOLOGY.md", "placers");
    assert_has_table(METHODOLOGY, "METHODOLOGY.md", "schedulers");
}

#[test]
fn the_table_of_columns_is_what_the_command_prints() {
    assert_has_table(FORMATS, "FORMATS.md", "columns");
}

#[test]
fn the_table_of_passes_is_what_the_command_prints_and_each_pass_has_its_section_and_pictures() {
    assert_has_table(PASSES_PAGE, "PASSES.md", "passes");
    for entry in PASSES.iter() {
        let name = entry.name;
        assert!(PASSES_PAGE.contains(&format!("\n## {name}\n")), "docs/PASSES.md lacks the section '## {name}'");
        for picture in [format!("(images/passes/{name}-before.svg)"), format!("(images/passes/{name}.svg)")] {
            assert!(PASSES_PAGE.contains(&picture), "{name} has no picture {picture}");
        }
    }
}

#[test]
fn the_table_of_generators_is_what_the_command_prints_and_each_family_has_its_section_and_picture() {
    assert_has_table(GENERATORS, "GENERATORS.md", "generators");
    for entry in FAMILIES.iter() {
        let name = entry.name;
        assert!(GENERATORS.contains(&format!("\n### {name}\n")), "docs/GENERATORS.md lacks the section '### {name}'");
        assert!(GENERATORS.contains(&format!("(images/generators/{name}.svg)")), "{name} has no picture");
        let picture = format!("{}/docs/images/generators/{name}.svg", env!("CARGO_MANIFEST_DIR"));
        assert!(std::fs::metadata(&picture).is_ok(), "{picture} is not there: see generator/examples/pictures");
    }
    for preset in presets() {
        assert!(GENERATORS.contains(&format!("`{}`", preset.name)), "docs/GENERATORS.md does not name {}", preset.name);
    }
}

#[test]
fn the_table_of_costs_names_placers_that_there_are() {
    let table = METHODOLOGY.split("| placer | time, O(·) | ms on `laich1` |\n|---|---|---|\n").nth(1).unwrap();
    let names: Vec<&str> = table.lines().map_while(|row| row.strip_prefix("| ")?.split(" |").next()).collect();
    assert!(names.len() > 30, "{names:?}");
    let known = registry::placer_names();
    for name in names {
        assert!(known.iter().any(|known| known == name), "{name} has costs, but is no placer");
    }
}
