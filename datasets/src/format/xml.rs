//! What the XML formats share.

use std::path::Path;

use roxmltree::{Document, Node};

use super::FormatError;

/// A text as XML writes it, in elements and attributes.
///
/// # Errors
/// If it has a character for which XML has no room.
pub(super) fn escaped(path: &Path, text: &str) -> Result<String, FormatError> {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // As they are, readers would turn them into blanks or line feeds.
            '\t' | '\n' | '\r' => escaped.push_str(&format!("&#{};", c as u32)),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                let message = format!("XML has no room for the character {}", c.escape_unicode());
                let item = format!("the text '{}'", text.escape_default());
                return Err(FormatError::item(path, item, message).remedy("rename it, or write another format"));
            }
            c => escaped.push(c),
        }
    }
    Ok(escaped)
}

/// Parses a whole text.
///
/// # Errors
/// With the line of the fault.
pub(super) fn parse<'a>(path: &Path, text: &'a str) -> Result<Document<'a>, FormatError> {
    Document::parse(text).map_err(|error| {
        let message = error.to_string();
        let message = message.rsplit_once(" at ").map_or(message.as_str(), |(message, _)| message);
        FormatError::at_line(path, error.pos().row.into(), message).remedy("write well-formed XML")
    })
}

/// A fault of an element.
pub(super) fn fault(path: &Path, node: Node<'_, '_>, message: impl std::fmt::Display) -> FormatError {
    FormatError::at_line(path, node.document().text_pos_at(node.range().start).row.into(), message)
}

/// An attribute that must be there.
pub(super) fn required<'a>(path: &Path, node: Node<'a, '_>, name: &str) -> Result<&'a str, FormatError> {
    node.attribute(name).ok_or_else(|| {
        fault(path, node, format!("<{}> has no '{name}'", node.tag_name().name())).remedy("add the attribute")
    })
}
