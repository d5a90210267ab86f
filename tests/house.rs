//! Every file of tests belongs to a program that cargo builds.

use std::path::Path;

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
