//! Tells the command which commit it was built from, where there is a git checkout.

use std::path::Path;
use std::process::Command;

fn main() {
    // The log of HEAD changes with every commit and checkout; without it there is nothing to watch.
    let log = Path::new(".git/logs/HEAD");
    println!(
        "cargo::rerun-if-changed={}",
        if log.exists() { log.display().to_string() } else { "build.rs".to_owned() }
    );
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    if let Ok(output) = output
        && output.status.success()
        && let Ok(commit) = String::from_utf8(output.stdout)
    {
        println!("cargo::rustc-env=PLACEBENCH_COMMIT={}", commit.trim());
    }
}
