//! `reference.toml`: what a person wrote on recorded ops.

use super::slower::Slower;
use crate::includes::text_of;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::Path;

/// Hand-written remarks on measured results.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remarks {
    #[serde(default)]
    about: Vec<About>,
    /// Reasons, in the order of the pages.
    #[serde(default)]
    pub slower: Vec<Reason>,
}

/// A remark on one op.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    op: String,
    text: String,
    /// Whether `workbook ops` times the op now, so that a record without it is older than its row.
    #[serde(default)]
    timed: bool,
}

/// Why a level is slower than the one below.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// `level3`
    pub level: String,
    /// The ops; the level is slower in at least one case of each.
    pub ops: Vec<String>,
    /// Patterns of shapes, with `*` for anything; all where there is none.
    #[serde(default)]
    shapes: Vec<String>,
    dtype: Option<String>,
    /// The name of a record.
    on: Option<String>,
    /// One or two sentences.
    pub reason: String,
}

impl Reason {
    /// Whether it explains this case.
    pub fn explains(&self, slower: &Slower) -> bool {
        let row = slower.row;
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|w| w == found);
        let has_shape = || {
            self.shapes
                .iter()
                .any(|pattern| matches(pattern, &row.shape))
        };
        self.ops.contains(&row.op)
            && row.level == self.level
            && is(&self.dtype, &row.dtype)
            && is(&self.on, slower.on)
            && (self.shapes.is_empty() || has_shape())
    }
}

/// Whether `text` matches `pattern`; a `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| matches(rest, &text[at..]))
        }),
    }
}

impl Remarks {
    /// Reads the file; a book without one has no remarks.
    pub fn load(file: &Path) -> Result<Self> {
        if !file.exists() {
            return Ok(Self::default());
        }
        let text = text_of(file)?;
        let place = || crate::place::from_root(file);
        toml::from_str(&text).with_context(|| format!("{}: expected remarks on ops", place()))
    }

    /// The remarks on an op.
    pub fn about(&self, op: &str) -> impl Iterator<Item = &str> {
        let about = self.about.iter().filter(move |about| about.op == op);
        about.map(|about| &*about.text)
    }

    /// Whether `workbook ops` times an op that a record may lack.
    pub fn is_timed(&self, op: &str) -> bool {
        self.about.iter().any(|about| about.op == op && about.timed)
    }

    /// The cases as a list below each reason, and at the end those without one.
    pub fn explain(&self, slower: &[Slower]) -> String {
        let mut left: Vec<&Slower> = slower.iter().collect();
        let mut text = String::new();
        for reason in &self.slower {
            let (explained, others): (Vec<&Slower>, Vec<&Slower>) =
                left.into_iter().partition(|s| reason.explains(s));
            text += &list(&reason.reason, &explained);
            left = others;
        }
        let above = if text.is_empty() {
            "Slower than the level below:"
        } else {
            "Also slower than the level below:"
        };
        text + &list(above, &left)
    }
}

fn list(above: &str, slower: &[&Slower]) -> String {
    if slower.is_empty() {
        return String::new();
    }
    let items = slower
        .iter()
        .map(|slower| format!("- {}\n", slower.sentence()));
    format!("{above}\n\n{}\n", items.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_shapes() {
        for (pattern, shape, is_it) in [
            ("1x*", "1x512", true),
            ("1x*", "128x512", false),
            ("*x768", "1x2x768", true),
            ("*x768", "768x2", false),
            ("1x*x3", "1x2x3", true),
            ("1x2", "1x2", true),
            ("1x2", "1x2x3", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, shape), is_it, "{pattern} {shape}");
        }
    }
}
