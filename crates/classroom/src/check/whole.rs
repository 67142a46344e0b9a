//! Refuses a region of PTX or CUDA that would change the file outside of it.
//!
//! A region has to be a list of whole statements: it closes what it opens, and nothing else. A last statement without an end
//! would take the next line of the file with it.

use std::iter::Peekable;
use std::str::CharIndices;

use super::words::code;
use crate::exercise::Language;
use crate::source::{outside, regions};

/// A problem, and its line within the region from 0.
type Problem = (usize, String);

/// Returns the first line of a region that is refused, and the message.
pub fn refused(text: &str, language: Language) -> Option<(usize, String)> {
    let lines: Vec<&str> = outside(text)
        .into_iter()
        .map(|(_, line)| code(line, language))
        .collect();
    let names: Vec<&str> = lines.iter().flat_map(|line| words(line)).collect();
    let mut found = regions(text).into_iter().filter_map(|region| {
        let lines = region.lines.join("\n");
        let (line, why) = read(&lines, language, &names).err()?;
        let whole = "expected a region of whole statements that closes what it opens";
        Some((region.line + line, format!("{whole}, found {why}")))
    });
    found.next()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !is_of_word(c));
    words.filter(|word| !word.is_empty())
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Whether a bracket follows in its other spelling. `<::` is none.
fn is_digraph(rest: &str) -> bool {
    let is_global = rest.starts_with("<::") && !rest[3..].starts_with([':', '>']);
    let mut all = ["<%", "%>", "<:", ":>"].iter();
    all.any(|digraph| rest.starts_with(digraph)) && !is_global
}

/// A region that is being read.
struct Reader<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
    language: Language,
    line: usize,
    /// Brackets that are open, and `#` for a conditional.
    open: Vec<(char, usize)>,
    /// The end of the last statement, or what stands in its place.
    last: char,
    /// Its line.
    last_line: usize,
    /// Whether nothing but blanks and comments has been read of a line.
    begins: bool,
}

fn read(text: &str, language: Language, names: &[&str]) -> Result<(), Problem> {
    let mut reader = Reader {
        text,
        chars: text.char_indices().peekable(),
        language,
        line: 0,
        open: vec![],
        last: ';',
        last_line: 0,
        begins: true,
    };
    while let Some((at, c)) = reader.chars.next() {
        reader.token(at, c, names)?;
    }
    match reader.open.pop() {
        Some((open, line)) => Err((line, format!("`{open}`, which is closed elsewhere"))),
        None => reader.between(),
    }
}

impl<'a> Reader<'a> {
    fn problem<T>(&self, what: impl Into<String>) -> Result<T, Problem> {
        Err((self.line, what.into()))
    }

    fn rest(&self, at: usize) -> &'a str {
        &self.text[at..]
    }

    /// Goes on at a later place of the text.
    fn pass(&mut self, to: usize) {
        while let Some((_, c)) = self.chars.next_if(|(at, _)| *at < to) {
            self.line += usize::from(c == '\n');
        }
    }

    fn token(&mut self, at: usize, c: char, names: &[&str]) -> Result<(), Problem> {
        let is_cuda = self.language == Language::Cuda;
        let rest = self.rest(at);
        match c {
            '\n' => {
                self.line += 1;
                self.begins = true;
            }
            '\r' if !rest.starts_with("\r\n") => {
                return self.problem("a carriage return in a line");
            }
            _ if c.is_whitespace() => {}
            '/' if rest.starts_with("//") => {
                let line = rest.lines().next().unwrap_or_default();
                if line.contains('\r') || is_cuda && line.trim_end().ends_with('\\') {
                    return self.problem("a comment that goes on in the next line");
                }
                let end = at + line.len();
                self.pass(end);
            }
            '/' if rest.starts_with("/*") => match rest[2..].find("*/") {
                Some(end) => self.pass(at + end + 4),
                None => return self.problem("a comment that is closed elsewhere"),
            },
            '#' if is_cuda => self.directive(at + 1, names)?,
            '%' if is_cuda && rest.starts_with("%:") => self.directive(at + 2, names)?,
            '<' | '%' | ':' if is_cuda && is_digraph(rest) => {
                return self.problem("another spelling of a bracket");
            }
            '"' => self.literal(at, c)?,
            '\'' if is_cuda => self.literal(at, c)?,
            _ if is_of_word(c) => self.word(at)?,
            _ => self.mark(c)?,
        }
        Ok(())
    }

    /// Remembers the last character of code so far.
    fn ends_with(&mut self, c: char) {
        (self.last, self.last_line, self.begins) = (c, self.line, false);
    }

    fn mark(&mut self, c: char) -> Result<(), Problem> {
        let opening = match c {
            '(' | '[' | '{' => {
                self.open.push((c, self.line));
                None
            }
            ')' => Some('('),
            ']' => Some('['),
            '}' => Some('{'),
            _ => None,
        };
        if opening.is_some() && self.open.pop().map(|(open, _)| open) != opening {
            return self.problem(format!("`{c}`, which closes what the region does not open"));
        }
        self.ends_with(c);
        Ok(())
    }

    /// Reads a text or a character to its end in the same line.
    fn literal(&mut self, at: usize, quote: char) -> Result<(), Problem> {
        let mut escaped = false;
        let end = self.rest(at + 1).find(|c| {
            let ends = c == '\n' || c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let end = end.map(|end| at + 1 + end);
        match end.filter(|&end| self.rest(end).starts_with(quote)) {
            Some(end) => self.pass(end + 1),
            None => return self.problem("a text that is closed elsewhere"),
        }
        self.ends_with(quote);
        Ok(())
    }

    /// Reads a name or a number, which may have `'` between digits and `"` after a prefix.
    fn word(&mut self, at: usize) -> Result<(), Problem> {
        let rest = self.rest(at);
        let is_number =
            rest.starts_with(|c: char| c.is_ascii_digit()) && self.language == Language::Cuda;
        let mut end = 0;
        for (k, c) in rest.char_indices() {
            let separates = is_number && c == '\'' && rest[k + 1..].starts_with(is_of_word);
            if !is_of_word(c) && !separates {
                break;
            }
            end = k + 1;
        }
        let is_raw = matches!(&rest[..end], "R" | "LR" | "uR" | "UR" | "u8R");
        if is_raw && rest[end..].starts_with('"') {
            return self.problem("a raw string");
        }
        self.pass(at + end);
        self.ends_with('a');
        Ok(())
    }

    /// Checks that a statement has ended here.
    fn between(&self) -> Result<(), Problem> {
        let label = self.language == Language::Ptx && self.last == ':';
        if label || matches!(self.last, ';' | '{' | '}') {
            return Ok(());
        }
        let line = self.text.lines().nth(self.last_line).unwrap_or_default();
        let code = code(line, self.language).trim();
        let what = format!("a last statement without its end: no `;` after `{code}`");
        Err((self.last_line, what))
    }

    /// Reads a directive of the preprocessor after its `#`.
    fn directive(&mut self, at: usize, names: &[&str]) -> Result<(), Problem> {
        if !self.begins {
            return self.problem("`#` in a line of code");
        }
        let line = self.rest(at).lines().next().unwrap_or_default().to_owned();
        if line.contains("/*") || line.contains('"') || line.contains('\r') {
            return self.problem("a comment or a text in a line that begins with `#`");
        }
        let code = code(&line, self.language);
        let word = words(code).next().unwrap_or_default();
        let about = code.trim_start().strip_prefix(word).unwrap_or_default();
        match word {
            "if" | "ifdef" | "ifndef" => {
                self.between()?;
                self.open.push(('#', self.line));
            }
            "else" | "elif" | "endif" => {
                self.between()?;
                if self.open.pop().is_none_or(|(open, _)| open != '#') {
                    return self
                        .problem(format!("`#{word}` of a conditional that begins elsewhere"));
                }
                if word != "endif" {
                    self.open.push(('#', self.line));
                }
            }
            "define" | "undef" => self.macro_of(about.trim_start(), names)?,
            "pragma" => {}
            _ => return self.problem(format!("`#{word}`")),
        }
        self.pass(at + line.len());
        Ok(())
    }

    /// Checks a macro: text that closes what it opens may stand for a name that only the region has.
    fn macro_of(&self, about: &str, names: &[&str]) -> Result<(), Problem> {
        let name = words(about).next().unwrap_or_default();
        let body = about.strip_prefix(name).unwrap_or_default();
        if name.is_empty() || names.contains(&name) {
            return self.problem(format!(
                "a macro `{name}`, a name that the file uses outside the region"
            ));
        }
        if body.starts_with('(') || body.contains('#') || body.contains("%:") {
            return self.problem(format!(
                "a macro `{name}` with parameters (write a function)"
            ));
        }
        // The macro's text ends without `;`.
        match read(&format!("{body};"), self.language, &[]) {
            Ok(()) => Ok(()),
            Err((_, why)) => self.problem(format!("a macro `{name}` with {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(region: &str, language: Language) -> Option<usize> {
        let text = format!(
            "// N K\nconstexpr int TILE = 4;\n// REGION: one\nok();\n{region}\n// END\nwarp_max(TILE);\n"
        );
        refused(&text, language).map(|(line, _)| line)
    }

    #[test]
    fn a_region_closes_what_it_opens() {
        for region in [
            "/* a",
            "ret; }",
            "{",
            "}\n.entry k() {",
            "a(",
            "bar.sync ",
            "@%never",
            ".visible",
            ".file 1 \"a",
        ] {
            assert!(line_of(region, Language::Ptx).is_some(), "{region}");
        }
        for region in [
            "/* a",
            "f(); }",
            "{",
            "}\nvoid k() {",
            "f(",
            "if (0)",
            "if (0) f(); else",
            "case 1:",
            "x = ",
            "static",
            "#if 0",
            "#endif",
            "#else",
            "#if 0\n{\n#endif\n}\n{\n#if 0\n}\n#endif",
            "f();\n#if 1\nif (0)\n#else\n;\n#endif",
            "if (0)\n#if 0\n;\n#endif",
            "#define TILE 8",
            "#define warp_max",
            "#undef TILE",
            "#define OPEN {",
            "#define M(a, b) b a",
            "%: if 0",
            "#pragma once\n/* */ #if 0",
            "# /*\n*/ if 0",
            "#include_next <a>",
            "#error a",
            "<% f();",
            "a<:0]",
            "// \\",
            "// a \\  \n}",
            "f(\"a",
            "R\"(\" ; } \" )\";\"",
            "'a",
            "// a \r } void k() {",
            "f('{');}",
        ] {
            assert!(line_of(region, Language::Cuda).is_some(), "{region}");
        }
        assert_eq!(line_of("f();\n\n{ /* } */", Language::Cuda), Some(7));
    }

    #[test]
    fn a_last_line_without_its_semicolon_is_named() {
        for (region, language) in [
            ("f();\n  x = y // a\n\n// a", Language::Cuda),
            ("ret;\n  x = y\n// a", Language::Ptx),
        ] {
            let text = format!("// REGION: one\n{region}\n// END\ng();\n");
            let (line, what) = refused(&text, language).expect("a region without its end");
            assert_eq!(line, 3, "{what}");
            assert!(what.ends_with("its end: no `;` after `x = y`"), "{what}");
        }
    }

    #[test]
    fn whole_statements_are_none() {
        for region in [
            "",
            "// } /*",
            "/* { */",
            "done:\n// a",
            "@%p bra done;\n{ .reg .b32 %r<9>; }",
            "ld.global.v2.f32 {%a, %b}, [%x+4];",
            ".func f() { ret; }",
            "mov.u32 %a, 0f00000000; // it's",
        ] {
            assert_eq!(line_of(region, Language::Ptx), None, "{region}");
        }
        for region in [
            "",
            "// } /* it's",
            "/* { */",
            "f('{', '\\'', \"}\\\"\", 1'000'000u, u8'}');",
            "if (a < b) { c[0] = {1, 2}; } // a",
            "#pragma unroll\nfor (;;) f();",
            "#define N 32 // of K\nf(N);",
            "#define K (N + 1)",
            "#if N > 3\nf();\n#elif N\ng();\n#else\n{ }\n#endif",
            "a = b % c; d = x ? y : z; e<::f>();",
            "struct S { float a; };\n__device__ float g(S s) { return s.a; }",
        ] {
            assert_eq!(line_of(region, Language::Cuda), None, "{region}");
        }
    }
}
