//! Puts foreign text into a page: names of graphs, messages of failures, command lines.

/// Text for an element's content or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // A page must not contain NUL, and nobody reads the other control characters.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON for a `<script>` element: without `<`, which occurs only in strings, no text can close the element or open a
/// comment in it.
pub(super) fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Replaces each `{{name}}` of a template by its value. Values are not looked into: text that a user wrote cannot name a
/// placeholder. A name without a value stays, for a test to see.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let value = after.split_once("}}").and_then(|(name, rest)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((*value, rest))
        });
        match value {
            Some((value, after)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_user_writes_becomes_markup() {
        assert_eq!(escape("<a href='x'>\"&\0"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\u{fffd}");
        let json = json_in_script(r#"["</script><!--"]"#);
        assert_eq!(json, r#"["\u003c/script>\u003c!--"]"#);
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), ["</script><!--"]);
    }

    #[test]
    fn values_are_filled_in_once_and_unknown_names_stay() {
        assert_eq!(fill("a {{x}} {{y}} {{", &[("x", "{{y}}"), ("y", "1")]), "a {{y}} 1 {{");
        assert_eq!(fill("{{z}}", &[]), "{{z}}");
    }
}
