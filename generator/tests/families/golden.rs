//! The graphs of families and presets against accidental change.

use placebench_generator::{Described, FAMILIES, described, graph_sha256, names, presets};

/// Changes here change graphs that users have made: say so in the change log.
const GOLDEN: &str = include_str!("golden.tsv");

/// The digest of a graph's content; of an undirected one, of all its edges.
fn digest(name: &str) -> String {
    match described(name).unwrap().unwrap() {
        Described::Dataflow(params) => graph_sha256(&params.generate(42).unwrap()),
        Described::Undirected(_) => {
            // Smaller than by default, where they have a number of vertices.
            let small = match name {
                "grid" => "grid(side=30)".to_owned(),
                "rmat" => "rmat(scale=10)".to_owned(),
                "gnm" => "gnm(vertices=2000, edges=8000)".to_owned(),
                _ => format!("{name}(vertices=2000)"),
            };
            let graph = super::undirected(&small, 42);
            let edges =
                graph.vertices().flat_map(|a| graph.neighbours(a).iter().map(move |&b| (a as u64, u64::from(b))));
            // FNV-1a over both ends.
            let hash = edges
                .flat_map(|(a, b)| [a, b])
                .fold(0xcbf2_9ce4_8422_2325_u64, |hash, end| (hash ^ end).wrapping_mul(0x0100_0000_01b3));
            format!("{hash:016x}")
        }
    }
}

#[test]
fn families_and_presets_are_what_they_have_always_been() {
    let found: String = names().map(|name| format!("{name}\t{}\n", digest(name))).collect();
    assert!(found == GOLDEN, "if the change is meant, put this into generator/tests/families/golden.tsv:\n{found}");
}

#[test]
fn names_are_unique_and_every_family_takes_its_own_defaults() {
    let all: Vec<&str> = names().collect();
    for (position, name) in all.iter().enumerate() {
        assert!(!all[..position].contains(name), "{name} twice");
        assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'));
    }
    for entry in FAMILIES.iter() {
        assert!(described(entry.name).unwrap().is_ok(), "{}", entry.name);
        assert!(!entry.summary.is_empty() && !entry.source.is_empty());
        // Whatever is declared has a default that it takes when given.
        for param in entry.params() {
            let alone = described(&format!("{}({}={})", entry.name, param.name, param.default));
            let together = param.name.contains("probability") || param.name.contains("count");
            assert!(alone.unwrap().is_ok() || together, "{}: {}", entry.name, param.name);
        }
    }
    // `filter_map` leaves out what does not parse: nothing may be.
    assert_eq!(presets().iter().filter(|preset| described(preset.name).unwrap().is_ok()).count(), presets().len());
    assert_eq!(presets().len(), 6 + 10 + 8);
}
