//! Forbidden words in regions: they read other files at compile time, run code before the check, or are machine code,
//! which the lint `unsafe_code` misses in a naked function.
//!
//! Where there is a sandbox, such a file could not be read anyway. Elsewhere this prevents handing in a clone's solution
//! by its path.

use crate::exercise::Language;
use crate::source::regions;

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
            ", nor `static`, `thread_local`, `macro_rules`, `set_hook`, `take_hook` or `quantized`"
        }
        Language::Cuda => ", nor `##`, `#line` or a `\\` at the end of a line",
        Language::Ptx => return None,
    };
    let words = words_of(language).join("`, `");
    Some(format!(
        "Your regions contain none of the words `{words}`{more}; comments after `//` may contain the words."
    ))
}

/// Returns the first line of a region with a forbidden word, and the message.
pub fn refused(text: &str, language: Language) -> Option<(usize, String)> {
    let words = words_of(language);
    if words.is_empty() {
        return None;
    }
    let lines = regions(text)
        .into_iter()
        .flat_map(|region| (region.line..).zip(region.lines));
    lines
        .filter_map(|(number, line)| Some((number, found(code(line), words, language)?)))
        .next()
}

/// Returns the forbidden word of a line.
fn found(code: &str, words: &[&str], language: Language) -> Option<String> {
    if language == Language::Cuda
        && let Some(what) = refused_directive(code)
    {
        return Some(format!("expected no {what}, found one"));
    }
    let mut parts = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    let word = parts.find(|part| words.contains(part))?;
    Some(format!(
        "expected a region that includes no other file, runs no code before `main` and has no machine code, found the word `{word}`"
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

/// Strips the comment at the end of a line. A `//` may also be in a string or a block comment, which ends
/// with `"` or `*/` before any code follows.
pub(super) fn code(line: &str) -> &str {
    let is_comment = |rest: &str| !rest.contains('"') && !rest.contains("*/");
    let mut ends = line.match_indices("//").map(|(at, _)| at);
    let end = ends.find(|&at| is_comment(&line[at..]));
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
        ] {
            assert_eq!(line_of(region, Language::Cuda), Some(4), "{region}");
        }
    }

    #[test]
    fn the_words_are_listed_for_a_person() {
        let of_cuda = "Your regions contain none of the words `include`, `include_next`, `__has_include`, `__has_include_next`, `asm`, `__asm`, `__asm__`, \
                       nor `##`, `#line` or a `\\` at the end of a line; \
                       comments after `//` may contain the words.";
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
        ] {
            assert_eq!(line_of(region, Language::Cuda), None, "{region}");
        }
    }
}
