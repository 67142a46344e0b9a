//! The comments of a Rust source as prose.

use crate::literals::{Part, parts};
use crate::prose;

/// The text of each line of comment, `//`, `///` or `//!`, with its number, and whether it is alone on its line.
pub fn lines(source: &str) -> Vec<(usize, String, bool)> {
    let line = |(number, part)| match part {
        Part::Comment(text, is_alone) => {
            let text = text.trim_start_matches('/');
            let text = text.strip_prefix('!').unwrap_or(text);
            let text = text.strip_prefix(' ').unwrap_or(text);
            Some((number, text.trim_end().to_owned(), is_alone))
        }
        Part::Literal(_) => None,
    };
    parts(source).into_iter().filter_map(line).collect()
}

/// The paragraphs of prose, without code and link targets, each with the number of its first line.
pub fn paragraphs(source: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, Vec<String>, bool)> = vec![];
    for (number, text, is_alone) in lines(source) {
        match blocks.last_mut() {
            Some((first, texts, true)) if is_alone && *first + texts.len() == number => {
                texts.push(text);
            }
            _ => blocks.push((number, vec![text], is_alone)),
        }
    }
    let mut found: Vec<(usize, String)> = vec![];
    for (first, mut texts, _) in blocks {
        // A file that `include_str!` adds stands between the two lines of a block of code.
        if texts.iter().filter(|text| text.starts_with("```")).count() % 2 == 1 {
            texts.push("```".to_owned());
        }
        let mut last = 0;
        for (index, line) in prose::lines(&texts.join("\n")) {
            if line.is_empty() {
                continue;
            }
            match found.last_mut() {
                Some((_, paragraph)) if last > 0 && last + 1 == index => {
                    *paragraph += " ";
                    *paragraph += &line;
                }
                _ => found.push((first + index - 1, line)),
            }
            last = index;
        }
    }
    found
}

#[test]
fn paragraphs_are_joined_without_code() {
    let source = r####"//! One line
//! and `code` more.
//!
//! ```
//! picture
//! ```
//! The next.
let a = "// no comment"; // beside it
let b = '\\'; // another
    // An own
    // block.
"####;
    let expected = [
        (1, "One line and … more."),
        (7, "The next."),
        (8, "beside it"),
        (9, "another"),
        (10, "An own block."),
    ];
    let expected: Vec<_> = expected.map(|(n, t)| (n, t.to_owned())).into();
    assert_eq!(paragraphs(source), expected);
}
