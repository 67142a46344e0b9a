//! The functions of a Rust source file, found by counting braces.
//!
//! The scanner knows strings, raw strings, character literals, lifetimes, raw identifiers and nested comments, and no
//! grammar beyond that. It takes a function in the body of a macro for one of the file, and it cannot read a signature
//! with a `{` in angle brackets (`Foo<{ N }>`).

use anyhow::{Result, ensure};
use std::ops::Range;

/// A function of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its own name.
    pub name: String,
    /// The type of its `impl`, or its trait, module or enclosing function; none for a free function of the file.
    pub owner: Option<String>,
    /// Whether the signature starts with `pub`.
    pub is_public: bool,
    /// Its line, from 1.
    pub line: usize,
    /// From the start of its signature's line to the closing brace, or the `;` of a function without a body.
    pub place: Range<usize>,
}

impl Function {
    /// `Type::name`, or the name of a free function.
    pub fn path(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}::{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The functions of `text` in their order.
///
/// # Errors
/// Braces that are not balanced.
pub fn functions(text: &str) -> Result<Vec<Function>> {
    let tokens = tokens(text);
    let mut found: Vec<Function> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        let next = tokens.get(i + 1).map_or("", |token| token.text(text));
        let word = token.text(text);
        i += 1;
        match word {
            "fn" if is_name(next) => {
                let signature = i..header_end(&tokens, text, i);
                let owner = open.iter().rev().find_map(|open| open.name.clone());
                found.push(function(text, token.at, next, owner));
                if let Some(last) = tokens.get(signature.end) {
                    let index = found.len() - 1;
                    found[index].place.end = last.end;
                    if last.text(text) == "{" {
                        open.push(Open::function(next, index));
                    }
                }
                i = signature.end + 1;
            }
            "impl" | "trait" | "mod" => {
                let end = header_end(&tokens, text, i);
                let words: Vec<&str> = tokens[i..end].iter().map(|t| t.text(text)).collect();
                if tokens.get(end).is_some_and(|last| last.text(text) == "{") {
                    open.push(Open::named(owner(word, &words)));
                }
                i = end + 1;
            }
            "{" => open.push(Open::named(None)),
            "}" => {
                let line = line_of(text, token.at);
                ensure!(
                    !open.is_empty(),
                    "expected balanced braces, found one `}}` too many in line {line}"
                );
                if let Some(index) = open.pop().and_then(|open| open.function) {
                    found[index].place.end = token.end;
                }
            }
            _ => {}
        }
    }
    ensure!(
        open.is_empty(),
        "expected balanced braces, found {} that stay open",
        open.len()
    );
    Ok(found)
}

/// A `{` whose `}` is still to come.
struct Open {
    name: Option<String>,
    function: Option<usize>,
}

impl Open {
    fn named(name: Option<String>) -> Self {
        Self {
            name,
            function: None,
        }
    }

    fn function(name: &str, index: usize) -> Self {
        Self {
            name: Some(name.into()),
            function: Some(index),
        }
    }
}

/// A function whose `fn` stands at `at`; its end is not known yet.
fn function(text: &str, at: usize, name: &str, owner: Option<String>) -> Function {
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let before = text[line_start..at].trim_start();
    let is_qualifier = |word: &str| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern", "\"C\""].contains(&word)
    };
    // Visibility such as `pub(in crate::a)` is two words.
    let is_signature = before
        .replace("(in ", "(in")
        .split_whitespace()
        .all(is_qualifier);
    Function {
        name: name.into(),
        owner,
        is_public: is_signature && before.starts_with("pub "),
        line: line_of(text, at),
        place: if is_signature { line_start } else { at }..text.len(),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The place of the `{` or `;` that ends a header which starts at `from`.
fn header_end(tokens: &[Token], text: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate().skip(from) {
        match token.text(text) {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "{" | ";" if depth == 0 => return i,
            _ => {}
        }
    }
    tokens.len()
}

/// The name after `trait` and `mod`; the type of an `impl`, without its path and parameters.
fn owner(keyword: &str, words: &[&str]) -> Option<String> {
    if keyword != "impl" {
        return words.first().map(|name| name.to_string());
    }
    let (mut angles, mut before) = (0_usize, "");
    let mut name = None;
    for (i, &word) in words.iter().enumerate() {
        let next = words.get(i + 1).copied().unwrap_or_default();
        match word {
            "<" => angles += 1,
            ">" if before != "-" => angles = angles.saturating_sub(1),
            "where" if angles == 0 => break,
            // The words so far were the trait's.
            "for" if angles == 0 && next != "<" => name = None,
            word if angles == 0 && is_name(word) => name = Some(word.to_string()),
            _ => {}
        }
        before = word;
    }
    name
}

/// A word or a punctuation mark of code.
struct Token {
    at: usize,
    end: usize,
}

impl Token {
    fn text<'a>(&self, text: &'a str) -> &'a str {
        &text[self.at..self.end]
    }
}

/// The words and punctuation marks of `text`, without comments, literals of text and lifetimes.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment(rest)
        } else {
            literal(rest)
        };
        if skipped > 0 {
            at += skipped;
            continue;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match rest.strip_prefix("r#") {
            Some(raw) if is_name(raw) => 2 + raw.find(|c| !is_word(c)).unwrap_or(raw.len()),
            _ if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => c.len_utf8(),
        };
        if !c.is_whitespace() {
            tokens.push(Token { at, end: at + end });
        }
        at += end;
    }
    tokens
}

/// The length of the comment that `rest` starts with; comments nest.
fn comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let (change, step) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        (depth, at) = (depth + change, at + step);
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of the string, character or lifetime that `rest` starts with, or 0.
fn literal(rest: &str) -> usize {
    // `b"…"`, `c"…"`, `b'…'`, `br"…"`, `r#"…"#`
    let prefix = ["br", "cr", "b", "c", "r"]
        .iter()
        .find(|prefix| {
            let after = rest.strip_prefix(**prefix).unwrap_or_default();
            let raw = prefix.ends_with('r');
            after.starts_with('"')
                || **prefix == "b" && after.starts_with('\'')
                || raw && after.trim_start_matches('#').starts_with('"')
        })
        .map_or("", |prefix| prefix);
    let after = &rest[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = after.len() - after.trim_start_matches('#').len();
        let end = format!("\"{}", &after[..hashes]);
        let start = prefix.len() + hashes + 1;
        return rest[start..]
            .find(&end)
            .map_or(rest.len(), |at| start + at + end.len());
    }
    let mut characters = after.chars();
    match (characters.next(), characters.next(), characters.next()) {
        (Some('"'), ..) => prefix.len() + quoted(after, '"'),
        (Some('\''), Some('\\'), _) | (Some('\''), Some(_), Some('\'')) => {
            prefix.len() + quoted(after, '\'')
        }
        // A lifetime: the quote alone, its name is a word like others.
        (Some('\''), ..) => 1,
        _ => 0,
    }
}

/// The length of what stands in quotes, the quotes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let found = functions(text).unwrap();
        found.iter().map(Function::path).collect()
    }

    #[test]
    fn owners_of_functions() {
        let text = "
            fn free() {}
            impl<'a, F: Fn(u8) -> Vec<u8>> fmt::Display for a::Named<'a, F> where F: for<'b> Fn(&'b u8) {
                fn method(&self) {}
            }
            impl Plain { pub const fn new() -> Self { fn inner() {} Self } }
            trait Shape: Sized { fn area(&self, n: [u8; 3]) -> f64; fn twice(&self) -> f64 { 2. * self.area([0; 3]) } }
            mod tests { fn free() {} }
            struct Entry { run: fn(&u8) -> u8 }
            fn taker(f: impl Fn(u8) -> u8) {}
            fn r#fn() {}
        ";
        let expected = [
            "free",
            "Named::method",
            "Plain::new",
            "new::inner",
            "Shape::area",
            "Shape::twice",
            "tests::free",
            "taker",
            "r#fn",
        ];
        assert_eq!(paths(text), expected);
    }

    /// Each body is followed by the mark that no function may swallow.
    #[test]
    fn braces_that_are_no_code() {
        for body in [
            r#" let a = "}"; let b = "\"}"; "#,
            r##" let a = r"\"; let b = r#"}" {"#; let c = b"}"; let d = br"}"; "##,
            r" let a = '}'; let b = '\''; let c = b'{'; let d = '\u{7d}'; let e = '\\'; ",
            " // a }\n /* { /* } */ { */ ",
            " fn g<'a>(x: &'a str) -> &'a str { x } 'outer: loop { break 'outer } ",
            " if x { match y { Some(z) => { z } None => Point { x: 1 } } } ",
            " let a = ('a', '\"', \"'\"); let _: &'static str = \"{\"; ",
            r#" println!("{{{}}} it's {x:?}", 'x'); "#,
        ] {
            let text = format!("fn f<'a>(x: &'a [u8; 2]) {{{body}}}\n// END\nfn last() {{}}\n");
            let found = functions(&text).unwrap();
            let place = found[0].place.clone();
            assert_eq!(&text[place.end..place.end + 8], "\n// END\n", "{body}");
            assert_eq!(found.last().unwrap().path(), "last", "{body}");
        }
    }

    #[test]
    fn where_a_function_stands() {
        let text = "mod a;\n\n    pub(in crate::a) const unsafe fn f() {}\nimpl A { fn g(); }\n";
        let found = functions(text).unwrap();
        assert_eq!(
            &text[found[0].place.clone()],
            "    pub(in crate::a) const unsafe fn f() {}"
        );
        assert_eq!((found[0].line, found[0].is_public), (3, false));
        assert_eq!(&text[found[1].place.clone()], "fn g();");
        assert!(functions("pub fn f() {}").unwrap()[0].is_public);
    }

    #[test]
    fn braces_that_are_not_balanced() {
        for (text, expected) in [
            ("fn f() {\n}\n}", "found one `}` too many in line 3"),
            ("fn f() { \"}\"", "found 1 that stay open"),
        ] {
            let error = functions(text).unwrap_err().to_string();
            assert_eq!(error, format!("expected balanced braces, {expected}"));
        }
    }

    /// The scanner finds every function that starts a line in the crates that the chapters show.
    #[test]
    fn sources_of_the_crates() {
        let repository = crate::root().join("..");
        let mut folders: Vec<_> = [
            "models",
            "levels",
            "kernels",
            "crates/trace",
            "crates/replay",
        ]
        .map(|folder| repository.join(folder))
        .into();
        let mut read = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let found = functions(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
                    let written = text.lines().filter(|line| {
                        let line = line.trim_start();
                        line.starts_with("fn ") || line.starts_with("pub fn ")
                    });
                    assert!(written.count() <= found.len(), "{path:?}");
                    read += 1;
                }
            }
        }
        assert!(read > 100, "{read}");
    }
}
