//! All tests of the crate in one program, since each program costs seconds to link.

mod figures;
mod large_run;
mod ranks;
