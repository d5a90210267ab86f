//! The `placebench` command: flat verbs, one file each under `cmd/`.

mod cmd;
mod interrupt;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use output::{exit_code, quiet_decoders};

/// Makes, places and judges dataflow graphs: on which device should each operation run, and how good is the answer?
#[derive(Parser)]
#[command(version, max_term_width = 100, propagate_version = true)]
struct Cli {
    /// What to do; `run` if nothing is given.
    #[command(subcommand)]
    verb: Option<cmd::Verb>,
}

fn main() -> ExitCode {
    quiet_contained_panics();
    #[cfg(feature = "cuda")]
    placebench::harness::execute::provide_cuda(|setup| {
        Ok(Box::new(placebench::execute_cuda::CudaExecutor::of_setup(setup)?))
    });
    let verb = Cli::parse().verb.unwrap_or_default();
    exit_code(verb.execute())
}

/// A panic in a cell becomes an error row with its message, and one in a decoder an error; printing it as well would tear the
/// progress bar.
fn quiet_contained_panics() {
    quiet_decoders();
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() != Some(placebench::harness::runner::CELL_THREAD) {
            default(info);
        }
    }));
}
