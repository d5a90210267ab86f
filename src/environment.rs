//! Where and how a run is made, as run folders keep it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use placebench_harness::compare::utc;
use placebench_harness::measurement::{host_name, processor_model};
use placebench_harness::results::SCHEMA_VERSION;
use placebench_harness::runner::Environment;

/// The environment of a run that this process begins now: on this number of threads, reading files with these digests
/// ([`input_digests`](placebench_harness::runner::input_digests)).
pub fn environment(threads: usize, inputs: BTreeMap<String, String>) -> Environment {
    Environment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("PLACEBENCH_COMMIT").map(str::to_owned),
        started: Some(utc(SystemTime::now())),
        host: host_name(),
        cpu: processor_model(),
        threads,
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        optimized: !cfg!(debug_assertions),
        schema_version: SCHEMA_VERSION,
        command: std::env::args().collect(),
        inputs,
    }
}
