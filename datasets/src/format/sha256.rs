//! Digests of files.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// The SHA-256 of everything that `content` has, in 64 hexadecimal digits.
///
/// # Errors
/// If it cannot be read.
///
/// # Complexity
/// O(bytes) time, 64 KiB of memory.
pub fn sha256(mut content: impl Read) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(hex(&digest.finalize())),
            Ok(count) => digest.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_are_those_of_the_standard() {
        // FIPS 180-4, examples of one block and of a million characters.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(sha256(&b"abc"[..]).unwrap(), abc);
        assert_eq!(sha256(&vec![b'a'; 1_000_000][..]).unwrap(), million);
    }
}
