//! What every other crate stands on and knows nothing of graphs: names with parameters, text for people, what the operating
//! system says.
//!
//! - [`Listed`], [`find`]: tables of what people call by a name, and what to say about a misspelt one.
//! - [`spec`], [`params`]: a name with parameters, `scoring(alpha=1.1)`, and their declarations.
//! - [`significant`](mod@significant), [`printable`], [`shortened`]: numbers and text for a terminal, a table or a document.
//! - [`parse_toml`], [`io_reason`]: faults of files in one line.
//! - [`process`]: the memory of this process.
//! - [`processor`]: processor time of threads and processes.

pub mod params;
pub mod process;
pub mod processor;
pub mod significant;
pub mod spec;

mod io_reason;
mod listed;
mod names;
mod open_file;
mod printable;
mod toml_fault;

pub use io_reason::io_reason;
pub use listed::{Listed, UnknownName, find};
pub use names::{did_you_mean, nearest};
pub use open_file::{check_file, open_file};
pub use printable::{printable, shortened};
pub use toml_fault::{TomlFault, exactly_two, line_at, parse_toml};
