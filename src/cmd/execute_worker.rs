//! `placebench execute-worker`: the process of a device, for `execute --transport tcp`.

use crate::output::Exit;
use std::io::BufRead;
use std::net::TcpListener;

use anyhow::{Context, bail};
use placebench::harness::execute::threads::serve;
use placebench::harness::execute::{TOKEN_LENGTH, TOKEN_VARIABLE};

use crate::output::print;

/// Arguments of `execute-worker`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to listen; the port 0 stands for any that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: String,

    /// Ends after the first run.
    #[arg(long)]
    once: bool,

    /// Reads the token from the first line of standard input instead of the variable PLACEBENCH_TOKEN.
    #[arg(long)]
    token_from_stdin: bool,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<Exit> {
    let token = match args.token_from_stdin {
        true => {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line)?;
            line.trim().to_owned()
        }
        false => std::env::var(TOKEN_VARIABLE).unwrap_or_default(),
    };
    if token.len() < TOKEN_LENGTH {
        bail!(
            "a token of at least {TOKEN_LENGTH} characters is needed: set {TOKEN_VARIABLE} to the same text here and for 'execute'"
        );
    }
    let listener = TcpListener::bind(&args.listen).with_context(|| format!("cannot listen at {}", args.listen))?;
    print(&format!("listening {}\n", listener.local_addr()?))?;
    serve(&listener, &token, args.once)?;
    Ok(Exit::SUCCESS)
}
