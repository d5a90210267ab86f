//! Tells the command which commit it was built from, where there is a git checkout.

use std::path::Path;
use std::process::Command;

fn main() {
    link_at_a_fixed_address();
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

/// A position-independent executable of this size has some 5 MB of relocations, which the loader reads and applies before
/// `main`: half of the memory that the command takes for a small graph. Stack, heap and libraries keep their random addresses.
fn link_at_a_fixed_address() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let is_static = std::env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.contains("crt-static"));
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_linux && is("PROFILE", "release") && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
