//! The `placebench` command, which the program and the Python package start: flat verbs, one file each under `cmd/`.

use std::ffi::OsString;

use anyhow::Context;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser};
use placebench::base::printable;
use placebench::datasets::format::is_decoding;

use crate::cmd;
use crate::output::{Exit, complain, exit_code, print, shortened};

/// Makes, places and judges dataflow graphs: on which device should each operation run, and how good is the answer?
#[derive(Parser)]
#[command(version, max_term_width = 100, propagate_version = true)]
struct Cli {
    /// What to do.
    #[command(subcommand)]
    verb: Option<cmd::Verb>,
}

/// What `placebench` alone prints.
const OVERVIEW: &str = "\
placebench: on which device should each operation of a dataflow graph run, and how good is the answer?

  placebench run                     the main job: a built-in suite on real graphs, a table, a run folder (1 minute)
  placebench run mine.toml           your suite: graphs x clusters x placers x schedulers
  placebench report runs/default-1   a run as one page to look at; 'figure', 'table', 'cite' for papers
  placebench compare OLD NEW         what got better and worse; 'rank' for placers, 'trend' for a history
  placebench place nmt -p heft       one graph, one placer; 'execute' runs the placement for real
  placebench generate laich1 -o g    a graph for any tool; 'convert', 'inspect' and 'partition' take it from there
  placebench list                    graphs, presets, clusters, placers, partitioners, suites, formats
  placebench help [VERB]             everything else
";

/// Does what the arguments say, the program's name first, and says how it ended. Help and wrong arguments end the process.
pub fn command(arguments: &[OsString]) -> Exit {
    quiet_contained_panics();
    #[cfg(feature = "cuda")]
    placebench::harness::execute::provide_cuda(|setup| {
        Ok(Box::new(placebench::execute_cuda::CudaExecutor::of_setup(setup)?))
    });
    let arguments = match cmd::command(Cli::command()).try_get_matches_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&with_tip(error, arguments)),
    };
    let form = cmd::form(&arguments);
    match Cli::from_arg_matches(&arguments) {
        Ok(Cli { verb: Some(verb) }) => {
            exit_code(start_threads().and_then(|()| verb.execute(cmd::command(Cli::command()), form)))
        }
        Ok(Cli { verb: None }) => exit_code(print(OVERVIEW).map(|()| Exit::SUCCESS)),
        Err(error) => refuse(&error),
    }
}

/// An unknown option of `generate` may be meant as a parameter of a family: adds where those go.
fn with_tip(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let is_generate = arguments.get(1).is_some_and(|verb| verb == "generate");
    if is_generate && error.kind() == ErrorKind::UnknownArgument {
        let tip = "a family's parameters follow its name, in quotes: 'transformer(layers=12)'";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Prints help, or what is wrong with the arguments, without quoting a word of thousands of characters.
fn refuse(error: &clap::Error) -> Exit {
    let plain = error.render().to_string();
    let short: Vec<String> = plain.lines().map(shortened).collect();
    let short = short.join("\n");
    if !error.use_stderr() || short == plain.trim_end() && printable(&plain) == plain {
        error.exit();
    }
    eprintln!("{}", printable(&short));
    Exit::from(2)
}

/// Starts the threads that everything shares, so that a lack of them is an error and no panic later.
fn start_threads() -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new()
        .build_global()
        .context("cannot start threads, raise the limit of processes (ulimit -u)")
}

/// A panic in a cell becomes an error row with its message, and one in a decoder an error; printing it as well would tear the
/// progress bar. Any other is one line.
fn quiet_contained_panics() {
    let default = std::panic::take_hook();
    let wanted = std::env::var_os("RUST_BACKTRACE").is_some();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() == Some(placebench::harness::runner::CELL_THREAD) {
            return;
        }
        if info.payload_as_str().is_some_and(is_lack_of_threads) {
            complain("error: cannot start a thread: the limit of this system is reached, or its memory is used up");
            // What could not be started may be waited for, forever, while the stack is unwound.
            std::process::exit(1);
        }
        if is_decoding() {
            return;
        }
        match (wanted, info.payload_as_str(), info.location()) {
            (false, Some(message), Some(place)) => {
                complain(&format!("error: placebench has a fault at {place}: {message}: please report it"));
            }
            _ => default(info),
        }
    }));
}

/// Whether a panic says that threads could not be started. The standard library, Polars and Tokio each have words for it:
/// 'failed to spawn thread', 'could not spawn threads', 'OS can't spawn worker thread'.
fn is_lack_of_threads(message: &str) -> bool {
    message.contains("spawn") && message.contains("thread")
}
