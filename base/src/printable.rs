//! Text from files and names, fit for a terminal, a table or a document.

use std::borrow::Cow;

/// The text with everything visible that a terminal would obey instead of show: control characters but line ends and tabs,
/// and the marks that turn the direction of writing. Each appears as `\u{1b}` does here.
///
/// # Example
/// ```
/// assert_eq!(placebench_base::printable("\u{1b}[2Jrnn"), "\\u{1b}[2Jrnn");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut visible = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_obeyed(c) {
            visible.extend(c.escape_unicode());
        } else {
            visible.push(c);
        }
    }
    Cow::Owned(visible)
}

/// The text with its middle left out if it has more than `most` characters: a file may hold anything where a name or a number
/// is expected, and a message quotes it.
///
/// # Example
/// ```
/// assert_eq!(placebench_base::shortened("ops is '123456789x'", 10), "ops i…(9 characters)…789x'");
/// ```
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    // The length in bytes is quick, and no less.
    let count = if text.len() > most { text.chars().count() } else { 0 };
    if count <= most {
        return Cow::Borrowed(text);
    }
    let kept = most / 2;
    let after = |characters: usize| text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    let (first, last) = (&text[..after(kept)], &text[after(count - kept)..]);
    Cow::Owned(format!("{first}…({} characters)…{last}", count - 2 * kept))
}

/// Whether a terminal acts on a character, or shows what follows in another order.
fn is_obeyed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_loses_its_middle() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened(&"ä".repeat(9), 4), "ää…(5 characters)…ää");
        assert_eq!(shortened("", 0), "");
    }

    #[test]
    fn what_a_terminal_obeys_is_shown_and_the_rest_stays() {
        assert_eq!(printable("ä\tb\n°—"), "ä\tb\n°—");
        assert_eq!(printable("a\r\u{7}\u{9b}\u{7f}\u{202e}b"), "a\\u{d}\\u{7}\\u{9b}\\u{7f}\\u{202e}b");
    }
}
