//! All tests of the crate in one program, since each program costs seconds to link.

mod clusters;
mod families;
mod leveled_laws;
mod manifests;
mod passes;
mod presets;
mod streams;
