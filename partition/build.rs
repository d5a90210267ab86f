//! Says how programs with this library are linked: this package's, and through Cargo's metadata the command's, which has the
//! build script that asks for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if has_a_fixed_address() {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        println!("cargo::metadata=link_arg=-no-pie");
    }
}

/// A position-independent executable of the command's size has some 5 MB of relocations, which the loader reads and applies
/// before `main`: half of the memory that it takes for a small graph. Stack, heap and libraries keep their random addresses.
fn has_a_fixed_address() -> bool {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let is_static = std::env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.contains("crt-static"));
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    is_linux && is("PROFILE", "release") && !is_static
}
