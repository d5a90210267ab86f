//! What the processes of a run know, and nobody else.

use std::fs::File;
use std::io::{self, Read};

/// The variable from which processes that were started by hand know the token of the run.
pub const TOKEN_VARIABLE: &str = "PLACEBENCH_TOKEN";

/// The fewest characters of a token.
pub const TOKEN_LENGTH: usize = 16;

/// Bytes that nobody can guess.
///
/// # Errors
/// If the system has no source of them.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The token of a run: a fresh one, or with `hosts` the one that whoever started the processes there gave to all.
///
/// # Errors
/// One line that says what to do.
pub(super) fn token(hosts: &[String]) -> Result<String, String> {
    if hosts.is_empty() {
        let bytes: [u8; 32] = random().map_err(|error| format!("/dev/urandom: {error}"))?;
        return Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    std::env::var(TOKEN_VARIABLE).ok().filter(|token| token.len() >= TOKEN_LENGTH).ok_or_else(|| {
        format!(
            "hosts need a token of at least {TOKEN_LENGTH} characters: set {TOKEN_VARIABLE} to the same text here and \
             where the workers run"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_from_run_to_run() {
        assert_ne!(token(&[]), token(&[]));
        assert_eq!(token(&[]).unwrap().len(), 64);
    }
}
