//! Wide drawings in parts, which stand below each other on a phone.
//!
//! `<figure class="drawing banks" data-cuts="190 385">` says at which x a drawing can be cut. The theme shows either the
//! whole or its parts.

use anyhow::Result;
use regex::{Captures, Regex};
use std::ops::Range;

/// `text` with the parts after each drawing that has cuts.
///
/// # Errors
/// A regular expression that does not compile.
pub fn expand(text: &str) -> Result<String> {
    let figure = Regex::new(concat!(
        r#"(?s)<figure class="(drawing[^"]*)" data-cuts="([\d ]+)">\n"#,
        r#"(<svg[^>]*viewBox="0 0 (\d+) ([\d.]+)"[^>]*>(.*?)</svg>)\n</figure>"#,
    ))?;
    let id = Regex::new(r"(?s)<title\b.*?</title>\n?|<desc\b.*?</desc>\n?")?;
    let expanded = figure.replace_all(text, |found: &Captures| {
        let (class, whole, height) = (&found[1], &found[3], &found[5]);
        // The whole drawing has the title and the description.
        let shapes = id.replace_all(&found[6], "");
        let parts = ranges(&found[2], &found[4]).map(|part| {
            let (x, width) = (part.start, part.end - part.start);
            format!(
                "<svg viewBox=\"{x} 0 {width} {height}\" style=\"max-width: {width}px\">{shapes}</svg>\n"
            )
        });
        let parts: String = parts.collect();
        format!(
            "<figure class=\"{class} whole\">\n{whole}\n</figure>\n<figure class=\"{class} parts\">\n{parts}</figure>"
        )
    });
    Ok(expanded.into_owned())
}

/// The ranges between the cuts, from 0 to the width.
fn ranges<'a>(cuts: &'a str, width: &'a str) -> impl Iterator<Item = Range<u32>> + 'a {
    let ends = cuts.split_whitespace().chain([width]);
    let ends = ends.filter_map(|end| end.parse().ok());
    ends.scan(0, |start, end| Some(std::mem::replace(start, end)..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_with_cuts_has_parts() {
        let svg =
            "<svg viewBox=\"0 0 74 9\" role=\"img\">\n<title id=\"a\">A</title>\n<rect/>\n</svg>";
        let text =
            format!("b\n<figure class=\"drawing c\" data-cuts=\"10 30\">\n{svg}\n</figure>\nd");
        let expanded = expand(&text).unwrap();
        let whole = format!("b\n<figure class=\"drawing c whole\">\n{svg}\n</figure>\n");
        assert!(expanded.starts_with(&whole), "{expanded}");
        for part in ["0 0 10 9", "10 0 20 9", "30 0 44 9"] {
            let part = format!("viewBox=\"{part}\"");
            assert_eq!(expanded.matches(&part).count(), 1, "{expanded}");
        }
        assert_eq!(expanded.matches("<title").count(), 1, "{expanded}");
        assert!(!expanded.contains("\n\n"), "a block of HTML ends there");
        let other = "<figure class=\"drawing\">\n<svg viewBox=\"0 0 9 9\"></svg>\n</figure>";
        assert_eq!(expand(other).unwrap(), other);
    }
}
