//! `placebench completions` and `placebench man`: what shells and `man` know of the command.

use crate::output::Exit;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Command;
use clap_complete::Shell;

use placebench::base::{did_you_mean, io_reason};

use crate::output::print;

/// Arguments of `completions`.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script that completes the command's words in a shell.
pub(crate) fn completions(args: &Completions, mut command: Command) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "placebench", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(Exit::SUCCESS)
}

/// Characters of a line of docs/REFERENCE.md.
const REFERENCE_WIDTH: usize = 100;

/// Arguments of `man`.
#[derive(clap::Args)]
pub(crate) struct Man {
    /// The verb whose page is printed [default: the page of the command].
    verb: Option<String>,

    /// Writes the pages of the command and of all verbs into this folder, such as ~/.local/share/man/man1.
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    out: Option<PathBuf>,

    /// Prints the help of all verbs as Markdown: docs/REFERENCE.md.
    #[arg(long, conflicts_with_all = ["verb", "out"])]
    markdown: bool,
}

/// Prints a manual page, or writes all.
pub(crate) fn man(args: &Man, command: Command) -> anyhow::Result<Exit> {
    // The same on any terminal.
    let mut command = command.term_width(REFERENCE_WIDTH);
    command.build();
    if args.markdown {
        print(&reference(&mut command))?;
        return Ok(Exit::SUCCESS);
    }
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .map_err(|error| anyhow!("{}: {}", folder.display(), io_reason(&error)))?;
        return Ok(Exit::SUCCESS);
    }
    let of = match &args.verb {
        None => command,
        Some(verb) => {
            let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let unknown = || anyhow!("unknown verb '{verb}': {}", did_you_mean(verb, verbs));
            command.find_subcommand(verb).ok_or_else(unknown)?.clone()
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(of).render(&mut page)?;
    print(&String::from_utf8(page)?)?;
    Ok(Exit::SUCCESS)
}

/// The help of each verb, in the order of `placebench help`.
fn reference(command: &mut Command) -> String {
    let mut text = "# Reference\n\nWhat `placebench VERB --help` prints, verb by verb. `placebench man --markdown` makes this page.\n".to_owned();
    for verb in command.get_subcommands_mut().filter(|verb| verb.get_name() != "help") {
        let help = verb.render_long_help().to_string();
        let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        text.push_str(&format!("\n## {}\n\n```text\n{}\n```\n", verb.get_name(), lines.join("\n")));
    }
    text
}
