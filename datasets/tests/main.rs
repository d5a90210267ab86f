//! All tests of the crate in one program, since each program costs seconds to link.

mod arrays;
mod arrow;
mod catalogue;
mod clusters;
mod common;
mod csv;
mod foreign;
mod formats;
mod graphdef;
mod native;
mod native_malformed;
mod protos;
mod round_trip;
mod streams;
mod text_malformed;
mod undirected;
mod unroll;
