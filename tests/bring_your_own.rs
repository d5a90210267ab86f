//! Placers that are programs, through the command: on their own, in suites, and the example in the documentation.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use crate::common::{placebench, text};

fn has_python() -> bool {
    Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn rows(path: &Path) -> Vec<serde_json::Value> {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const SUITE: &str = r#"
name = "mine"
repetitions = 2
seed = 40
time_limit_seconds = 2
placers = ["hashing"]
schedulers = ["pct", "static"]

[[graph]]
catalogue = "convnet"

[[cluster]]
preset = "gtx1080x4"
memory = "unlimited"

[[placer]]
name = "all-on-gpu2"
command = ["sh", "gpu2.sh"]

[[placer]]
name = "crash"
command = ["sh", "-c", "echo \"seed $PLACEBENCH_SEED\" >&2; exit 1"]

[[placer]]
name = "slow"
command = ["sh", "-c", "echo thinking >&2; while :; do :; done"]

[[placer]]
name = "slower"
time_limit_seconds = 0.2
command = ["sh", "-c", "sleep 1000"]

[[placer]]
name = "wrong"
command = ["sh", "-c", "printf 'cpu0\\ncpu9\\n'"]

[[placer]]
name = "helpless"
command = ["sh", "-c", "echo nothing fits >&2; exit 3"]
"#;

/// Every op on one GPU, or on a CPU where its unit may not run on a GPU. Names may have commas: columns count from the end.
const GPU2: &str = r#"
awk -F, 'NR == FNR { kinds[$1] = $3; next }
         FNR > 1 { print kinds[$(NF - 6)] ~ /GPU/ ? "gpu2" : "cpu0" }' "$1/units.csv" "$1/ops.csv"
"#;

#[test]
fn a_suite_runs_programs_beside_its_placers_and_their_failures_are_rows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("suites")).unwrap();
    std::fs::write(folder.path().join("suites/mine.toml"), SUITE).unwrap();
    std::fs::write(folder.path().join("suites/gpu2.sh"), GPU2).unwrap();
    let args = ["run", "suites/mine.toml", "--out", "run", "--table", "t.json", "-q"];
    let output = placebench(folder.path(), &args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = rows(&folder.path().join("t.json"));
    // The static scheduler needs a plan, which none of them makes.
    assert_eq!(rows.len(), 2 * 7);
    let found: Vec<String> = rows[..7]
        .iter()
        .map(|row| {
            let field = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
            format!("{}: {}: {}", field("placer"), field("status"), field("error"))
        })
        .collect();
    let expected = [
        "hashing: ok: -",
        "all-on-gpu2: ok: -",
        "crash: error: the placer's program exited with code 1; the last line of its stderr: seed 40",
        "slow: timed_out: the placer's program was killed: not done within 2 s of processor time, or 20 s by the clock; the \
         last line of its stderr: thinking",
        "slower: timed_out: the placer's program was killed: not done within 0.2 s of processor time, or 2 s by the clock; \
         it wrote nothing to stderr",
        "wrong: error: the placer's program wrote 'cpu9' in line 2 of standard output, which is no device: did you mean \
         'cpu0'?; it wrote nothing to stderr",
        "helpless: infeasible: the placer's program found no feasible placement (exit code 3); the last line of its \
         stderr: nothing fits",
    ];
    assert_eq!(found, expected);
    assert!(rows[9]["error"].as_str().unwrap().ends_with("seed 41"), "each repetition has its seed: {}", rows[9]);
    // The suite as run names the program's folder, and is the same suite when the run is resumed.
    let journal = folder.path().join("run/cells.jsonl");
    let kept: Vec<String> =
        std::fs::read_to_string(&journal).unwrap().lines().take(9).map(|line| format!("{line}\n")).collect();
    std::fs::write(&journal, kept.concat()).unwrap();
    std::fs::remove_file(folder.path().join("run/results.parquet")).unwrap();
    let output = placebench(folder.path(), &args[..4]);
    assert!(text(&output.stderr).starts_with("9/14 cells"), "{}", text(&output.stderr));
}

#[test]
fn the_python_example_places_as_its_suite_says() {
    if !has_python() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/suites/bring-your-own.toml");
    for run in ["a", "b"] {
        let table = format!("{run}.json");
        let output = placebench(folder.path(), &["run", suite, "--out", run, "--table", &table, "-q"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let rows = rows(&folder.path().join("a.json"));
    assert_eq!(rows.len(), 2 * 3 * 2);
    let makespans = |rows: &[serde_json::Value], placer: &str| -> Vec<f64> {
        let of_placer = rows.iter().filter(|row| row["placer"] == placer);
        of_placer.map(|row| row["makespan"].as_f64().unwrap_or_else(|| panic!("{row}"))).collect()
    };
    for (greedy, heft) in makespans(&rows, "python_greedy").into_iter().zip(makespans(&rows, "heft")) {
        assert!(greedy < 1.25 * heft, "the same idea, nearly as good: {greedy} and {heft}");
    }
    let again = self::rows(&folder.path().join("b.json"));
    assert_eq!(makespans(&again, "python_greedy"), makespans(&rows, "python_greedy"));
}

#[test]
fn the_python_example_says_when_nothing_fits() {
    if !has_python() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cluster = "[[device]]\nname = \"gpu\"\nkind = \"GPU\"\nmemory = \"1 KiB\"\nspeed = 1\n\n\
                   [[device]]\nname = \"cpu\"\nkind = \"CPU\"\nmemory = \"1 KiB\"\nspeed = 1\n\n[link]\nrate = 1\n";
    std::fs::write(folder.path().join("tiny.toml"), cluster).unwrap();
    let example = concat!("python3 '", env!("CARGO_MANIFEST_DIR"), "/docs/examples/greedy_placer.py'");
    let args = ["place", "convnet", "-c", "tiny.toml", "--memory", "static", "--placer-command", example];
    let output = placebench(folder.path(), &args);
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
    let expected = "error: the placer's program found no feasible placement (exit code 3); the last line of its stderr: no device has ";
    assert!(stderr.starts_with(expected), "{stderr}");
}

#[test]
fn wrong_arguments_are_told_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["--placer-command", "'open"], "--placer-command: a quotation mark is not closed: 'open"),
        (&["--placer-command", " "], "--placer-command: give a program, as in 'python3 my_placer.py'"),
        (&["--placer-command", "x", "--placer", "heft"], "cannot be used with '--placer <PLACER>'"),
        (&["--memory-limit", "5"], "--placer-command <COMMAND>"),
        (&["--instance-format", "xml"], "use csv or parquet"),
        (&["--placer-command", "no-such-program"], "the placer's program 'no-such-program' was not found"),
    ];
    for (args, expected) in cases {
        let output = placebench(folder.path(), &[&["place", "convnet"], args].concat());
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(text(&output.stderr).contains(expected), "{}\n   lacks   {expected}", text(&output.stderr));
    }
}

#[test]
fn an_instance_is_written_for_those_who_develop_a_placer() {
    let folder = tempfile::tempdir().unwrap();
    let write = |format: &str| {
        let args = ["place", "convnet", "--write-instance", format, "--instance-format", format, "--seed", "9"];
        placebench(folder.path(), &args)
    };
    for format in ["csv", "parquet"] {
        assert!(write(format).status.success());
        for name in ["ops", "units", "tensors", "edges", "devices", "links"] {
            assert!(folder.path().join(format).join(name).with_extension(format).exists());
        }
        let facts = std::fs::read_to_string(folder.path().join(format).join("instance.json")).unwrap();
        assert!(facts.contains("\"seed\": 9"), "{facts}");
    }
    let again = write("csv");
    assert!(text(&again.stderr).contains("csv: the folder is not empty: choose another"), "{}", text(&again.stderr));
}

#[test]
fn the_documentation_quotes_the_examples_as_they_are() {
    let read = |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let documentation = read("docs/BRING-YOUR-OWN-PLACER.md");
    let python = read("docs/examples/greedy_placer.py");
    let rust = read("examples/my_placer.rs");
    let between = |text: &str, from: &str, to: &str| {
        let start = text.find(from).unwrap();
        let end = start + text[start..].find(to).unwrap();
        text[start..end].trim_end().to_owned()
    };
    for quoted in [between(&python, "def place(", "def main("), between(&rust, "/// Goes through", "fn main(")] {
        assert!(documentation.contains(&quoted), "docs/BRING-YOUR-OWN-PLACER.md lacks\n{quoted}");
    }
}

#[test]
fn a_suite_with_a_python_function_says_where_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let function = "\n[[placer]]\nname = \"mine\"\nfunction = \"notebook:mine\"\n";
    std::fs::write(folder.path().join("s.toml"), format!("{SUITE}{function}").replace("gpu2.sh", "x.sh")).unwrap();
    let output = placebench(folder.path(), &["run", "s.toml", "--out", "run", "-q"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(
        error.trim_end(),
        "error: the placer 'mine' is the Python function notebook:mine: run the suite in Python, with placebench.run"
    );
    assert!(!folder.path().join("run").exists());
    // Cells of other placers run.
    let args = ["run", "s.toml", "--out", "run", "-q", "--where", "placer=hashing repetition=0"];
    let output = placebench(folder.path(), &args);
    assert!(output.status.success(), "{}", text(&output.stderr));
}
