//! `{{name arguments}}` in a chapter: each is replaced, and none may be left over.
//!
//! A backslash before the braces leaves them as they are.

use crate::includes::text_of;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use regex::{Captures, Regex};
use serde::de::DeserializeOwned;

/// `text` with every directive of these names (`table|chart`) replaced. The first that cannot be is the error, with its
/// own text as the context.
pub fn expand(
    text: &str,
    names: &str,
    mut replace: impl FnMut(&str, &str) -> Result<String>,
) -> Result<String> {
    let directive = Regex::new(&format!(r"\\?\{{\{{\s*({names})\b([^{{}}]*)\}}\}}"))?;
    let mut failed = None;
    let expanded = directive.replace_all(text, |found: &Captures| {
        if found[0].starts_with('\\') {
            return found[0].to_string();
        }
        replace(&found[1], &found[2]).unwrap_or_else(|error| {
            failed.get_or_insert(error.context(found[0].to_string()));
            String::new()
        })
    });
    let expanded = expanded.into_owned();
    failed.map_or(Ok(expanded), Err)
}

/// `text` without the backslashes.
///
/// # Errors
/// Two braces outside of code: a directive of an unknown name, or one that is not closed.
pub fn finish(text: &str) -> Result<String> {
    let code = Regex::new(r"(?ms)^[ \t]*```.*?^[ \t]*```|`+[^`]+`+")?;
    let left_over = Regex::new(r"(?:^|[^\\])(\{\{[^{}\n]*(?:\}\})?)")?;
    match left_over.captures(&code.replace_all(text, "")) {
        Some(found) => {
            Err(anyhow!("expected a directive that is known and closed")
                .context(found[1].to_string()))
        }
        None => Ok(text.replace(r"\{{", "{{")),
    }
}

/// The halves of the arguments `FILE/NAME`.
pub fn file_and_name(arguments: &str) -> Result<(&str, &str)> {
    let arguments = arguments.trim();
    let halves = arguments.split_once('/');
    halves.with_context(|| format!("expected `FILE/NAME`, found `{arguments}`"))
}

/// The file `FOLDER/FILE.toml` of a folder below `book`.
pub fn toml<T: DeserializeOwned>(folder: &Path, file: &str) -> Result<T> {
    let of = folder.file_name().unwrap_or_default().display();
    let name = format!("book/{of}/{file}.toml");
    let text = text_of(&folder.join(format!("{file}.toml")));
    let text = text.with_context(|| name.clone())?;
    toml::from_str(&text).context(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_that_are_left_over_are_named() {
        for (text, directive) in [
            ("a {{opz softmax on=cpu}} b", "{{opz softmax on=cpu}}"),
            ("a\n{{measure op.x.y\nb", "{{measure op.x.y"),
            ("`a` {{x}} `b`", "{{x}}"),
            ("```\n{{a}}\n```\n{{x}}", "{{x}}"),
        ] {
            let error = format!("{:#}", finish(text).unwrap_err());
            let expected = "expected a directive that is known and closed";
            assert_eq!(error, format!("{directive}: {expected}"));
        }
    }

    #[test]
    fn code_and_what_a_backslash_keeps() {
        let code = "`{{x}}` and ``{{y``\n```rust\nformat!(\"{{z}}\")\n```\n";
        assert_eq!(finish(code).unwrap(), code);
        assert_eq!(finish(r"\{{table lm}}").unwrap(), "{{table lm}}");
        let kept = expand(r"\{{a 1}} {{a 2}}", "a", |_, given| Ok(given.trim().into()));
        assert_eq!(kept.unwrap(), r"\{{a 1}} 2");
    }
}
