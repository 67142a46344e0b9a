//! The string literals and comments of a Rust source.

/// A part of a source that a person reads.
pub enum Part {
    /// The text between the quotes.
    Literal(Vec<char>),
    /// The text from `//` to the end of the line, and whether nothing but space is before it.
    Comment(String, bool),
}

/// The literals with a space in them, and the number of the line each begins in. Literals below the first `#[cfg(test)]` are
/// left out; so are `concat!`ed names, paths and formats, which have no space.
pub fn of(source: &str) -> Vec<(usize, String)> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = vec![];
    for (line, part) in parts(source) {
        if let Part::Literal(text) = part {
            keep(&text, line, &mut found);
        }
    }
    found
}

/// All literals and comments of a source, and the number of the line each begins in.
pub fn parts(source: &str) -> Vec<(usize, Part)> {
    let text: Vec<char> = source.chars().collect();
    let (mut at, mut line, mut has_code) = (0, 1, false);
    let mut found = vec![];
    while at < text.len() {
        match text[at] {
            '/' if text.get(at + 1) == Some(&'/') => {
                let begin = at;
                while at < text.len() && text[at] != '\n' {
                    at += 1;
                }
                let comment = text[begin..at].iter().collect();
                found.push((line, Part::Comment(comment, !has_code)));
                continue;
            }
            '\n' => (line, has_code) = (line + 1, false),
            // A character, not the start of a lifetime.
            '\'' if text.get(at + 1) == Some(&'\\') => {
                at += 3;
                while text.get(at).is_some_and(|c| *c != '\'') {
                    at += 1;
                }
            }
            '\'' if text.get(at + 2) == Some(&'\'') => at += 2,
            'r' if raw(&text, at).is_some() => {
                let hashes = raw(&text, at).unwrap_or(0);
                let begin = at + 2 + hashes;
                let close: Vec<char> = std::iter::once('"').chain(vec!['#'; hashes]).collect();
                let length = text[begin..].windows(close.len()).position(|w| w == close);
                let end = begin + length.expect("a raw string that ends");
                found.push((line, Part::Literal(text[begin..end].to_vec())));
                line += text[begin..end].iter().filter(|c| **c == '\n').count();
                at = end + hashes;
                has_code = true;
            }
            '"' => {
                let begin = at + 1;
                at = begin;
                while text[at] != '"' {
                    at += if text[at] == '\\' { 2 } else { 1 };
                }
                found.push((line, Part::Literal(text[begin..at].to_vec())));
                line += text[begin..at].iter().filter(|c| **c == '\n').count();
                has_code = true;
            }
            c => has_code |= !c.is_whitespace(),
        }
        at += 1;
    }
    found
}

/// The number of `#` of a raw string that begins at `at`.
fn raw(text: &[char], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).map(|b| text[b]);
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let hashes = text[at + 1..].iter().take_while(|c| **c == '#').count();
    (text.get(at + 1 + hashes) == Some(&'"')).then_some(hashes)
}

fn keep(text: &[char], line: usize, found: &mut Vec<(usize, String)>) {
    let literal: String = text.iter().collect();
    // A line that is continued in the source is one line for its reader.
    let mut words = literal.replace("\\n", " ");
    while let Some(at) = words.find("\\\n") {
        let rest = words[at + 2..].trim_start().to_string();
        words.truncate(at);
        words += &rest;
    }
    if words.trim().contains(' ') {
        found.push((line, words));
    }
}

#[test]
fn literals_are_found_with_their_lines() {
    let source = r####"// "a comment"
let a = 'x'; let b: &'static str = "one line";
let c = r#"raw "quoted" text"#;
let d = "it goes \
         on"; let q = '"'; let e = '\'';
fail("last \"one\"")
#[cfg(test)]
mod tests { "not this" }
"####;
    let expected = [
        (2, "one line"),
        (3, "raw \"quoted\" text"),
        (4, "it goes on"),
        (6, "last \\\"one\\\""),
    ];
    let expected: Vec<_> = expected.map(|(n, t)| (n, t.to_string())).into();
    assert_eq!(of(source), expected);
}
