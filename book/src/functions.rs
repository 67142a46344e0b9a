//! The `{{fn FILE NAME}}` directives of the chapters: the function of that name, as it stands in its source.

use crate::dedent::dedent;
use crate::directives;
use crate::includes::text_of;
use crate::rust::{Function, functions};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Lines of a doc comment that come with a function. A longer one stays in the source, as the chapter says what it says.
const DOC_LINES: usize = 4;

/// `text` with every `{{fn FILE NAME}}` replaced; FILE is a path from `sources`, NAME a function or `Type::function`.
///
/// # Errors
/// A file that cannot be read, and a name that no function or more than one has.
pub fn expand(text: &str, sources: &Path) -> Result<String> {
    directives::expand(text, "fn", |_, arguments| {
        let (file, name) = arguments_of(arguments)?;
        let source = text_of(&sources.join(file))
            .with_context(|| format!("expected the file {file}, found none"))?;
        included(&source.replace("\r\n", "\n"), name).with_context(|| format!("in {file}"))
    })
}

/// The file and the name of a function.
pub fn arguments_of(arguments: &str) -> Result<(&str, &str)> {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    match words[..] {
        [file, name] => Ok((file, name)),
        _ => bail!(
            "expected a file and the name of a function, found `{}`",
            arguments.trim()
        ),
    }
}

/// The function `name` of `source`: its attributes, its doc comment if that is short, and its body, not indented.
fn included(source: &str, name: &str) -> Result<String> {
    let all = functions(source)?;
    let function = pick(&all, name)?;
    let head = head(&source[..function.place.start]);
    Ok(dedent(&format!(
        "{head}{}",
        &source[function.place.clone()]
    )))
}

/// A free function comes before methods of the same name.
fn pick<'a>(all: &'a [Function], name: &str) -> Result<&'a Function> {
    let of = |is_it: &dyn Fn(&&Function) -> bool| all.iter().filter(is_it).collect::<Vec<_>>();
    let mut found = of(&|function| function.path() == name);
    if found.is_empty() {
        found = of(&|function| function.name == name);
    }
    match found[..] {
        [] => bail!("expected a function `{name}`, found none"),
        [function] => Ok(function),
        _ => {
            let found: Vec<String> = (found.iter())
                .map(|function| format!("`{}` in line {}", function.path(), function.line))
                .collect();
            bail!("expected one function `{name}`, found {}", found.join(", "))
        }
    }
}

/// The attributes and the doc comment at the end of `before`.
fn head(before: &str) -> String {
    let is_doc = |line: &&str| line.trim_start().starts_with("///");
    let is_head = |line: &&str| is_doc(line) || line.trim_start().starts_with("#[");
    let mut lines: Vec<&str> = before.lines().rev().take_while(is_head).collect();
    lines.reverse();
    if lines.iter().filter(|line| is_doc(line)).count() > DOC_LINES {
        lines.retain(|line| !is_doc(line));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SOURCE: &str = "
/// One.
#[inline]
pub fn linear(x: &str) -> char {
    '}'
}

impl Ops for Level1 {
    /// 1
    /// 2
    /// 3
    /// 4
    /// 5
    #[inline]
    fn level(&self) -> u8 {
        if true {
            1
        } else {
            2
        }
    }

    fn linear(&self) -> char {
        linear(\"{\")
    }
}

impl A {
    fn forward() {}
}

impl B {
    fn forward() {}
}
";

    fn of(chapter: &str) -> Result<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ops.rs"), SOURCE).unwrap();
        expand(chapter, folder.path())
    }

    #[test]
    fn a_free_function_and_methods() {
        let free = "/// One.\n#[inline]\npub fn linear(x: &str) -> char {\n    '}'\n}";
        assert_eq!(of("{{fn ops.rs linear}}").unwrap(), free);
        let method = "fn linear(&self) -> char {\n    linear(\"{\")\n}";
        assert_eq!(of("{{fn ops.rs Level1::linear}}").unwrap(), method);
        let block = "```rust\n#[inline]\nfn level(&self) -> u8 {\n    if true {\n        1\n    } else {\n        2\n    }\n}\n```";
        assert_eq!(of("```rust\n{{fn ops.rs level}}\n```").unwrap(), block);
        assert_eq!(of("{{fn ops.rs B::forward}}").unwrap(), "fn forward() {}");
        assert_eq!(of(r"\{{fn a}}").unwrap(), r"\{{fn a}}");
    }

    #[test]
    fn functions_that_are_missing_or_not_clear_are_errors() {
        for (directive, expected) in [
            (
                "{{fn ops.rs rms_norm}}",
                "in ops.rs: expected a function `rms_norm`, found none",
            ),
            (
                "{{fn ops.rs Level2::linear}}",
                "in ops.rs: expected a function `Level2::linear`, found none",
            ),
            (
                "{{fn ops.rs forward}}",
                "in ops.rs: expected one function `forward`, found `A::forward` in line 29, `B::forward` in line 33",
            ),
            (
                "{{fn ops.rs}}",
                "expected a file and the name of a function, found `ops.rs`",
            ),
        ] {
            let error = format!("{:#}", of(directive).unwrap_err());
            assert_eq!(error, format!("{directive}: {expected}"));
        }
        let error = format!("{:#}", of("{{fn none.rs f}}").unwrap_err());
        assert!(error.starts_with("{{fn none.rs f}}: expected the file none.rs, found none"));
    }

    /// Without a writer, a program that opens it waits for ever.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_no_source() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.rs");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for name in ["pipe.rs", "/dev/zero"] {
            let error = expand(&format!("{{{{fn {name} f}}}}"), folder.path());
            let error = format!("{:#}", error.unwrap_err());
            assert!(error.contains("expected a file, found "), "{error}");
        }
    }
}
