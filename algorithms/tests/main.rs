//! All tests of the crate in one program, since each program costs seconds to link.

mod bounds;
mod exact;
mod hypergraphs;
mod list_constraints;
mod list_golden;
mod list_overheads;
mod list_reference;
mod partitioners;
mod placers;
mod streaming;
mod support;
mod time_limits;
