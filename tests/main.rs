//! All tests of the crate in one program, since each program costs seconds to link.

mod agreement;
mod bring_your_own;
mod calibrate;
mod command;
mod common;
mod compare;
mod dataset;
mod driver;
mod execute;
mod figures;
mod formats;
mod house;
mod json;
mod methodology;
mod mutations;
mod nightly;
mod partition;
mod prose;
mod report;
mod reproduction;
mod requests;
mod robust;
mod run;
mod shards;
mod stream;
mod tutorial;
