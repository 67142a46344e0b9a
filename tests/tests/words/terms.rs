//! The terms to avoid: the first table with the header `| not | but |` in the style guide.

use regex::{Regex, RegexBuilder};

/// A term to avoid, and what to write.
struct Term {
    pattern: Regex,
    instead: String,
}

/// All terms of the table.
pub struct Terms(Vec<Term>);

impl Terms {
    /// Reads the table from the text of the style guide.
    pub fn read(guide: &str) -> Self {
        let rows = guide
            .lines()
            .skip_while(|line| *line != "| not | but |")
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        let terms: Vec<Term> = rows.flat_map(row).collect();
        assert!(terms.len() > 10, "docs/STYLE.md has no table of terms");
        Self(terms)
    }

    /// Returns the terms in `text` that the guide replaces, each with its replacement.
    pub fn found_in(&self, text: &str) -> Vec<String> {
        let found = |term: &Term| {
            let at = term.pattern.find(text)?;
            let context = around(text, at.start(), at.end());
            Some(format!(
                "\"{}\" in \"{context}\"; write: {}",
                at.as_str(),
                term.instead
            ))
        };
        self.0.iter().filter_map(found).collect()
    }
}

/// The terms of one row of the table.
fn row(line: &str) -> Vec<Term> {
    // `\|` is a bar inside of a cell.
    let line = line.replace("\\|", "\u{1}");
    let cells: Vec<String> = line
        .trim_matches('|')
        .split('|')
        .map(|cell| cell.trim().replace('\u{1}', "|"))
        .collect();
    let [terms, instead] = cells.as_slice() else {
        panic!("docs/STYLE.md: a row of two cells expected, found {line:?}");
    };
    terms
        .split(", ")
        .map(|term| Term {
            pattern: pattern(term.trim_matches('`')),
            instead: instead.clone(),
        })
        .collect()
}

/// A regular expression between slashes, or whole words.
fn pattern(term: &str) -> Regex {
    let source = match term.strip_prefix('/').and_then(|t| t.strip_suffix('/')) {
        Some(expression) => expression.into(),
        None => format!(r"\b{}\b", regex::escape(term)),
    };
    let built = RegexBuilder::new(&source).case_insensitive(true).build();
    built.unwrap_or_else(|e| panic!("docs/STYLE.md: {term:?}: {e}"))
}

/// The match with some text on both sides.
fn around(text: &str, start: usize, end: usize) -> &str {
    let from = text.floor_char_boundary(start.saturating_sub(30));
    let to = text.ceil_char_boundary((end + 30).min(text.len()));
    text[from..to].trim()
}

#[test]
fn words_and_expressions_are_found() {
    let guide = "| not | but |\n|---|---|\n".to_string()
        + &"| amiss, `/\\bmend(s\\|ed)?\\b/` | fix |\n".repeat(6);
    let terms = Terms::read(&guide);
    for text in ["It mends that.", "Something is AMISS.", "mended"] {
        assert_eq!(terms.found_in(text).len(), 6, "{text}");
    }
    for text in ["It amends that.", "dismissed", "a recommendation"] {
        assert!(terms.found_in(text).is_empty(), "{text}");
    }
}
