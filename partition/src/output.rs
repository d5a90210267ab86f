//! What a command says: standard output that survives a closed pipe (`placebench list | head`), errors in one line, exit codes.

use std::io::{self, Write};
use std::process::ExitCode;

use placebench_datasets::format::is_decoding;

/// Prints a text to standard output.
///
/// # Errors
/// If standard output is closed or full; [`exit_code`] takes a closed one for success.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// The exit code of a command, which says on standard error why it failed.
pub fn exit_code(result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// Whether an error is that nobody reads standard output any more: no error to the user.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// An error and its causes in one line; a cause that the message above it quotes is not repeated.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line.replace('\n', " ")
}

/// Panics in a decoder of damaged files become errors; from now on they are not printed as well.
pub fn quiet_decoders() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_decoding() {
            default(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    #[test]
    fn causes_are_told_once() {
        let cause = std::io::Error::other("disk full");
        let quoting = anyhow::Error::new(cause).context("x.csv: disk full");
        assert_eq!(super::one_line(&quoting), "x.csv: disk full");
        assert_eq!(super::one_line(&anyhow::anyhow!("disk full").context("x.csv")), "x.csv: disk full");
    }
}
