//! The commands that the README, the chapters and the pages of exercises tell a reader to give.

use crate::exercises;
use crate::includes::{chapters, text_of};
use crate::place;
use anyhow::{Result, ensure};
use mdbook_driver::MDBook;
use regex::Regex;
use std::path::{Path, PathBuf};

/// One fenced block of `sh`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The Markdown file.
    pub file: PathBuf,
    /// The line of its fence, from 1.
    pub line: usize,
    /// The commands that a reader copies.
    pub text: String,
    /// The mark in the comment above the block.
    pub marked: Option<Mark>,
}

/// `<!-- not run: why -->` or `<!-- exits with 1: why -->` in the line above a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// No program runs it, for this reason.
    NotRun(String),
    /// Its last command ends with this code.
    Exits(i32),
}

impl Block {
    /// Its commands, one per line, without a comment after them. A backslash at the end of a line joins the next.
    pub fn commands(&self) -> Vec<String> {
        let joined = Regex::new(r"\\\n\s*").map(|r| r.replace_all(&self.text, "").into_owned());
        let joined = joined.unwrap_or_else(|_| self.text.clone());
        joined
            .lines()
            .map(|line| {
                line.split("  #")
                    .next()
                    .unwrap_or_default()
                    .trim()
                    .to_string()
            })
            .filter(|line| !line.is_empty())
            .collect()
    }
}

/// The Markdown files that hold commands: the README, the chapters, the tasks of the exercises.
pub fn files(root: &Path, book: &MDBook) -> Result<Vec<PathBuf>> {
    let mut files = vec![root.join("../README.md")];
    files.extend(chapters(&book.source_dir())?);
    for exercise in exercises::of(root, &book.config)? {
        files.extend(chapters(&exercise.folder)?);
    }
    files.retain(|file| file.is_file());
    Ok(files)
}

/// The blocks of one file.
///
/// # Errors
/// A mark without a reason.
pub fn blocks(file: &Path) -> Result<Vec<Block>> {
    let text = text_of(file)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = vec![];
    for (i, _) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.trim_end() == "```sh")
    {
        let inside = lines[i + 1..]
            .iter()
            .take_while(|line| !line.starts_with("```"));
        let above = i.checked_sub(1).map_or("", |above| lines[above]);
        blocks.push(Block {
            file: file.to_path_buf(),
            line: i + 1,
            text: inside.copied().collect::<Vec<_>>().join("\n"),
            marked: mark(above).map_err(|e| e.context(place::at(file, i)))?,
        });
    }
    Ok(blocks)
}

fn mark(line: &str) -> Result<Option<Mark>> {
    let Some(said) = line
        .trim()
        .strip_prefix("<!--")
        .and_then(|l| l.strip_suffix("-->"))
    else {
        return Ok(None);
    };
    let (what, why) = said.split_once(':').unwrap_or((said, ""));
    let mark = match what.trim() {
        "not run" => Mark::NotRun(why.trim().to_string()),
        what => match what.strip_prefix("exits with ").map(str::parse) {
            Some(code) => Mark::Exits(code?),
            None => return Ok(None),
        },
    };
    ensure!(
        !why.trim().is_empty(),
        "expected `<!-- {}: why -->`, found no reason",
        what.trim()
    );
    Ok(Some(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn of(text: &str) -> Result<Vec<Block>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("a.md");
        fs::write(&file, text)?;
        blocks(&file)
    }

    #[test]
    fn commands_and_what_is_said_above_them() -> Result<()> {
        let found = of(
            "a\n\n```sh\ncargo run \\\n    --release  # two lines\n\nls\n```\n\
                        <!-- exits with 1: it finds something -->\n```sh\nfalse\n```\n\
                        <!-- not run: it never ends -->\n```sh\nserve\n```\n```text\nls\n```\n",
        )?;
        let commands: Vec<_> = found.iter().map(Block::commands).collect();
        assert_eq!(
            commands,
            [
                vec!["cargo run --release", "ls"],
                vec!["false"],
                vec!["serve"]
            ]
        );
        let marks: Vec<_> = found.iter().map(|block| block.marked.clone()).collect();
        let never = Mark::NotRun("it never ends".into());
        assert_eq!(marks, [None, Some(Mark::Exits(1)), Some(never)]);
        assert_eq!(found[0].line, 3);
        Ok(())
    }

    #[test]
    fn a_mark_gives_its_reason() {
        let error = of("<!-- not run -->\n```sh\nls\n```\n").unwrap_err();
        assert!(
            format!("{error:#}").contains("found no reason"),
            "{error:#}"
        );
    }
}
