//! `placebench completions` and `placebench man`: what shells and `man` know of the command.

use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use crate::output::print;

/// Arguments of `completions`.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script that completes the command's words in a shell.
pub(crate) fn completions(args: &Completions, mut command: Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "placebench", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page.
pub(crate) fn man(command: Command) -> anyhow::Result<ExitCode> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    print(&String::from_utf8(page)?)?;
    Ok(ExitCode::SUCCESS)
}
