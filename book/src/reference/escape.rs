//! Text of comments as Markdown.

use regex::Regex;

/// `text` of a plain comment with Markdown's characters escaped, except in backticks.
pub fn plain(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(i, part)| match i % 2 {
        0 => escaped(part),
        _ => format!("`{part}`"),
    });
    parts.collect()
}

fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\*_[]<>|#~$".contains(character) {
            result.push('\\');
        }
        result.push(character);
    }
    result
}

/// `text` of a doc comment without the links that only rustdoc can follow.
pub fn doc(text: &str) -> String {
    let link = Regex::new(r"\[(`[^`\]]+`)\](?:\([\w:]+\))?").expect("a valid pattern");
    link.replace_all(text, "$1").into_owned()
}

/// The first sentence of a paragraph.
pub fn sentence(paragraph: &str) -> &str {
    let end = paragraph.find(". ").map_or(paragraph.len(), |dot| dot + 1);
    &paragraph[..end]
}

/// `1x512x10000` as `1 × 512 × 10000`.
pub fn shape(shape: &str) -> String {
    shape.replace('x', " × ").replace('+', " + ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_as_markdown() {
        assert_eq!(plain("y[i] = `a_b` * |x|"), r"y\[i\] = `a_b` \* \|x\|");
        assert_eq!(
            doc("a [`Cache`] of [`cost`](crate::cost)"),
            "a `Cache` of `cost`"
        );
        assert_eq!(doc(r"y\[i\] and [a](b.md)"), r"y\[i\] and [a](b.md)");
    }

    #[test]
    fn one_sentence() {
        assert_eq!(sentence("One, two. Three."), "One, two.");
        assert_eq!(sentence("In `level4.cu`, one"), "In `level4.cu`, one");
    }
}
