//! Forbidden words in regions: they read other files at compile time, run code before the check, or are machine code,
//! which the lint `unsafe_code` misses in a naked function.
//!
//! Where there is a sandbox, such a file could not be read anyway. Elsewhere this prevents handing in a clone's solution
//! by its path.

use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};

use crate::exercise::Language;
use crate::source::{Filled, regions};

/// Words of Rust: other files as code (`#[path]` needs `mod`) or as constants, libraries and names for the linker, with
/// which code may run before `main`, and machine code.
const OF_RUST: [&str; 14] = [
    "include",
    "include_str",
    "include_bytes",
    "mod",
    "extern",
    "link",
    "link_name",
    "link_section",
    "no_mangle",
    "export_name",
    "naked",
    "naked_asm",
    "asm",
    "global_asm",
];

/// Words of CUDA: other files, whether they exist, and PTX, which could end the kernel and begin another.
const OF_CUDA: [&str; 7] = [
    "include",
    "include_next",
    "__has_include",
    "__has_include_next",
    "asm",
    "__asm",
    "__asm__",
];

fn words_of(language: Language) -> &'static [&'static str] {
    match language {
        Language::Rust => &OF_RUST,
        Language::Cuda => &OF_CUDA,
        Language::Ptx => &[],
    }
}

/// Lists the forbidden words of a language for a person; `None` for PTX.
pub fn forbidden(language: Language) -> Option<String> {
    let more = match language {
        Language::Rust => {
            ", nor `static`, `thread_local`, `macro_rules`, `set_hook`, `take_hook` or `quantized`, nor a type parameter such as `<T>`"
        }
        Language::Cuda => ", nor `##`, `#line` or a `\\` at the end of a line",
        Language::Ptx => return None,
    };
    let words = words_of(language).join("`, `");
    Some(format!(
        "Your regions contain none of the words `{words}`{more}; comments after `//` may contain the words, strings may not."
    ))
}

/// Returns the first line of a region with a forbidden word, and the message.
pub fn refused(text: &str, language: Language) -> Option<(usize, String)> {
    let words = words_of(language);
    if words.is_empty() {
        return None;
    }
    let regions = regions(text);
    let tokens: Option<Vec<Vec<Piece>>> = match language {
        // A region that cannot be read alone may begin a string that the next one ends.
        Language::Rust => regions.iter().map(tokens).collect(),
        _ => None,
    };
    let lines = |region: &Filled| {
        let pieces = region.lines.iter().map(|line| code(line, language).into());
        pieces.enumerate().collect()
    };
    let pieces = tokens.unwrap_or_else(|| regions.iter().map(lines).collect());
    let all = regions.iter().zip(&pieces).flat_map(|(region, pieces)| {
        let found = |(at, text): &Piece| Some((region.line + at, found(text, words, language)?));
        pieces.iter().filter_map(found)
    });
    all.min_by_key(|(line, _)| *line)
}

/// A line of a region or a part of it, with its number from 0.
type Piece = (usize, String);

/// Returns names, marks and literals of Rust, but no comments. A string of several lines is as many pieces.
fn tokens(region: &Filled) -> Option<Vec<Piece>> {
    let mut found = vec![];
    let mut streams = vec![TokenStream::from_str(&region.lines.join("\n")).ok()?];
    while let Some(stream) = streams.pop() {
        for token in stream {
            let begin = token.span().start();
            let at = begin.line.checked_sub(1)?;
            match token {
                // A comment for rustdoc is read as an attribute.
                TokenTree::Group(_) if region.lines.get(at)?.chars().nth(begin.column)? == '/' => {}
                TokenTree::Group(group) => streams.push(group.stream()),
                token => {
                    let token = token.to_string().replace('\n', "\n\"");
                    found.extend((at..).zip(token.lines().map(str::to_owned)));
                }
            }
        }
    }
    Some(found)
}

const IN_A_STRING: &str = " in a string (only comments may contain it)";

/// Returns the forbidden word of a line.
fn found(code: &str, words: &[&str], language: Language) -> Option<String> {
    if language == Language::Cuda
        && let Some(what) = refused_directive(code)
    {
        return Some(format!("expected no {what}, found one"));
    }
    let ends = |c: char| !c.is_alphanumeric() && c != '_';
    let mut before = 0;
    let mut parts = code.split_inclusive(ends);
    let word = loop {
        let part = parts.next()?;
        let word = part.trim_end_matches(ends);
        if words.contains(&word) {
            break word;
        }
        before += part.len();
    };
    let quotes = code[..before].replace("\\\"", "").matches('"').count();
    let place = if quotes.is_multiple_of(2) {
        ""
    } else {
        IN_A_STRING
    };
    Some(format!(
        "expected a region that includes no other file, runs no code before `main` and has no machine code, found the word `{word}`{place}"
    ))
}

/// Returns what of the preprocessor a line of CUDA has that could make a forbidden word, or another line's number.
fn refused_directive(code: &str) -> Option<&'static str> {
    // A backslash at the end of a line may split a word.
    if code.trim_end().ends_with('\\') {
        return Some("\\ at the end of a line");
    }
    // A `#` may be written as `%:`.
    let code = code.replace("%:", "#");
    if code.contains("##") {
        return Some("`##`");
    }
    let mut directives = code.split('#').skip(1).map(str::trim_start);
    let is_line = |mut rest: &str| {
        while let Some(comment) = rest.strip_prefix("/*") {
            let Some((_, after)) = comment.split_once("*/") else {
                return true;
            };
            rest = after.trim_start();
        }
        let word = rest
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .next();
        word.is_some_and(|word| word == "line" || word.starts_with(|c: char| c.is_ascii_digit()))
    };
    directives.any(is_line).then_some("`#line`")
}

/// Strips the comment at the end of a line. A `//` may also be in a string or a block comment, which ends with `"` or `*/`
/// before code follows. In Rust, a string may begin in an earlier line; in CUDA, a `\` may split a `*/`.
pub(super) fn code(line: &str, language: Language) -> &str {
    let is_rust = language == Language::Rust;
    let is_comment = |at: usize| {
        let (before, rest) = line.split_at(at);
        let may_be_string = rest.contains('"') && (is_rust || before.contains(['"', '\'']));
        !may_be_string && !rest.contains("*/") && (is_rust || !rest.trim_end().ends_with('\\'))
    };
    let mut ends = line.match_indices("//").map(|(at, _)| at);
    let end = ends.find(|&at| is_comment(at));
    &line[..end.unwrap_or(line.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(region: &str, language: Language) -> Option<usize> {
        let text = format!("mod a;\n// REGION: one\nok\n{region}\n// END\nmod b;\n");
        refused(&text, language).map(|(line, _)| line)
    }

    #[test]
    fn words_that_bring_in_a_file_are_refused() {
        for region in [
            "#[path = \"s.rs\"] mod s;",
            "mod\ns;",
            "include!(\"s.rs\")",
            "core::include ! {}",
            "use std::include as other;",
            "r#include!(\"s.rs\")",
            "include_str!(\"s\"); // a note",
            "include_bytes ! ( \"s\" )",
            "#[link(name = \"m\")]",
            "#[ link ( name = \"m\" ) ]",
            "extern \"C\" {}",
            "#[link_name = \"main\"]",
            "#[unsafe(link_section = \".init_array\")]",
            "#[unsafe(no_mangle)]",
            "#[unsafe(export_name = \"main\")]",
            "#[unsafe(naked)]",
            "core::arch::naked_asm!(\"ret\")",
            "core::arch::asm!(\"nop\")",
            "global_asm! { \"\" }",
            "let s = \"// \"; include!(\"s.rs\")",
            "/* // */ include!(s)",
            "let s = \"// /*\"; include!(\"s.rs\") /* \" */",
            "let s = r#\"\" // \"#; include!(\"s.rs\") // \"",
            "let c = '\"'; include!(\"// \")",
            "let s: &'r str = f('\\''); include!(\"// '\")",
            "q!(\"a\"r\"// \", include!(\"s\"))",
            "/* /* */ // */ include!(\"s\")",
            "// \"; include!(\"s.rs\"); let s = \"\n\"",
            "f(\"mod \n b\")",
        ] {
            assert_eq!(line_of(region, Language::Rust), Some(4), "{region}");
        }
        for region in [
            "#include \"s.cu\"",
            "# /* */ include <s>",
            "#inc\\\nlude <s>",
            "#if __has_include(<s>)",
            "#define P(a, b) a##b",
            "#define P(a, b) a %:%: b",
            "#line 7",
            "# 7 \"s.cu\"",
            "/* */ %: /* */ line 7",
            "# /*\n*/ 7",
            "asm volatile(\"} .entry k() {\");",
            "f(\"// /*\"); asm(\"ret;\"); // \"",
            "f('\"'); asm(\"// \");",
            "/* // *\\\n/ f(); /* */",
            "f(\"an asm\");",
        ] {
            assert_eq!(line_of(region, Language::Cuda), Some(4), "{region}");
        }
    }

    /// The second region begins in the string of the first one.
    #[test]
    fn a_string_from_one_region_to_the_next_hides_no_word() {
        let hidden = "// \"; include!(\"s.rs\"); let t = \"\n// END\n\"";
        let text = format!("// REGION: a\nlet s = \"\n// END\n// REGION: b\n{hidden}\n");
        let found = refused(&text, Language::Rust);
        assert_eq!(found.map(|(line, _)| line), Some(5));
    }

    #[test]
    fn the_message_names_a_string() {
        for (region, end) in [("f(\"a\", mod)", "`mod`"), ("f(r\"ä\nmod\")", IN_A_STRING)] {
            let text = format!("// REGION: one\n{region}\n// END\n");
            let (_, said) = refused(&text, Language::Rust).unwrap();
            assert!(said.ends_with(end), "{region}: {said}");
        }
    }

    #[test]
    fn the_words_are_listed_for_a_person() {
        let of_cuda = "Your regions contain none of the words `include`, `include_next`, `__has_include`, `__has_include_next`, `asm`, `__asm`, `__asm__`, \
                       nor `##`, `#line` or a `\\` at the end of a line; \
                       comments after `//` may contain the words, strings may not.";
        assert_eq!(forbidden(Language::Cuda).as_deref(), Some(of_cuda));
        let of_rust = forbidden(Language::Rust).unwrap();
        for word in OF_RUST {
            assert!(of_rust.contains(&format!("`{word}`")), "{word}: {of_rust}");
        }
        assert_eq!(forbidden(Language::Ptx), None);
    }

    #[test]
    fn other_words_and_comments_are_not() {
        for region in [
            "",
            "// include the first row",
            "x // on the fast path",
            "path + modulus",
            "a \\ b",
            "// do not use include_str!(\"here\") \";",
            "f(); // \" asm",
            "//! mod",
        ] {
            for language in [Language::Rust, Language::Cuda, Language::Ptx] {
                assert_eq!(line_of(region, language), None, "{region}");
            }
        }
        for region in [
            "mod s;",
            "#define N 16",
            "#pragma unroll 4",
            "#if N > 4 /* line 5 */",
            "int line = 5;",
            "f(); // no asm(\"ret;\"), no ##",
        ] {
            assert_eq!(line_of(region, Language::Cuda), None, "{region}");
        }
    }
}
