//! Judges placements: simulates them, checks the simulation independently, measures the outcome, runs whole suites, and
//! compares runs.

pub mod calibrate;
pub mod changed;
pub mod collection;
pub mod command_placer;
pub mod compare;
pub mod draws;
pub mod evaluate;
pub mod execute;
mod measured_timeline;
pub mod measurement;
pub mod memory;
pub mod metrics;
mod numbering;
pub mod objective;
pub mod problem;
mod process;
pub mod request;
pub mod results;
pub mod runner;
pub mod shards;
pub mod statistics;
pub mod steady_state;
pub mod suite;
pub mod timeline;
pub mod trace;
pub mod validator;

pub use measured_timeline::MeasuredTimeline;
