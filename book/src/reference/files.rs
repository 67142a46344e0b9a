//! The files of an op's folder that a person wrote, and the idea of each.

use super::{Subject, escape, sources};
use crate::includes::text_of;
use anyhow::{Context, Result};
use regex::Regex;
use simt::case::files_below;
use std::collections::BTreeMap;
use std::path::Path;

/// A file of an op.
#[derive(Debug, PartialEq)]
pub struct File {
    /// Its path in the folder of the op, with `/` on every system.
    pub name: String,
    /// The level or group that it belongs to.
    pub place: Place,
    /// The first sentence of its header, as Markdown.
    idea: String,
}

/// Level or group of a file; pages list them in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A level on a GPU.
    Level(u8),
    /// The kernels in Rust, which run on a CPU.
    Cpu,
    /// All levels.
    All,
}

impl Place {
    fn title(self) -> String {
        match self {
            Self::Level(3) => "Level 3: hand-written PTX".into(),
            Self::Level(number) => format!("Level {number}: CUDA C++"),
            Self::Cpu => "On a CPU".into(),
            Self::All => "All levels".into(),
        }
    }
}

/// The files of the op in `folder` but for its contract and its tests.
pub fn files(folder: &Path) -> Result<Vec<File>> {
    let found = files_below(folder, &["cu", "cuh", "ptx", "rs"]);
    let mut files = vec![];
    for path in found.with_context(|| folder.display().to_string())? {
        let name = path
            .strip_prefix(folder)?
            .to_string_lossy()
            .replace('\\', "/");
        let is_test = name.split(['/', '.']).any(|part| part == "tests");
        if !is_test && name != "mod.rs" {
            let text = text_of(&path)?;
            files.push(File::new(name, &text)?);
        }
    }
    Ok(files)
}

impl File {
    fn new(name: String, text: &str) -> Result<Self> {
        let is_rust = name.ends_with(".rs");
        let first = first_sentence(text);
        let number = |text: &str, pattern: &str| {
            let found = Regex::new(pattern).ok()?.captures(text)?;
            found[1].parse().ok()
        };
        let place = match number(&name, r"^level(\d)") {
            _ if name.starts_with("cpu") => Place::Cpu,
            Some(number) => Place::Level(number),
            // A kernel whose name has no number says in its header whose it is.
            None if name.ends_with(".cu") => {
                number(&first, r"[Ll]evel (\d)\b").map_or(Place::All, Place::Level)
            }
            None => Place::All,
        };
        let idea = without_level(&first)?;
        let idea = if is_rust {
            escape::doc(&idea)
        } else {
            escape::plain(&idea)
        };
        Ok(Self { name, place, idea })
    }

    /// Whether the page of sources shows it: a kernel, in whatever language.
    pub fn is_kernel(&self) -> bool {
        self.place == Place::Cpu || !self.name.ends_with(".rs")
    }
}

/// The first sentence of a file's header, up to a formula or an empty line.
fn first_sentence(text: &str) -> String {
    let lines = text.lines().map_while(|line| {
        let line = line.strip_prefix("//!").or(line.strip_prefix("//"))?;
        Some(line.strip_prefix(' ').unwrap_or(line))
    });
    let is_prose = |line: &&str| !line.trim().is_empty() && !line.starts_with("  ");
    let paragraph: Vec<&str> = lines.take_while(is_prose).collect();
    let paragraph = paragraph.join(" ");
    escape::sentence(paragraph.trim_end_matches(':')).to_string()
}

/// A sentence without `Level 4 of rms_norm:` or `linear, level 4,`, which its place on the page says.
fn without_level(sentence: &str) -> Result<String> {
    let level = Regex::new(r"^(?:\w+, l|L)evel \d(?: of \w+| on a CPU)?(?:, |: | )")?;
    Ok(level.replace(sentence, "").into_owned())
}

/// The files of the page's op in Markdown, level by level, with links to the sources.
pub fn list(subject: &Subject, files: &[File]) -> String {
    let mut places: BTreeMap<Place, Vec<&File>> = BTreeMap::new();
    for file in files {
        places.entry(file.place).or_default().push(file);
    }
    let mut text = format!(
        "## Files\n\nAll are in `kernels/src/{}`. Levels 1 and 2 call candle: \
         [level 1](../level1.md), [level 2](../level2.md).\n",
        subject.folder
    );
    for (place, files) in places {
        text += &format!("\n**{}**\n\n", place.title());
        for file in files {
            text += &item(subject, file);
        }
    }
    text
}

fn item(subject: &Subject, file: &File) -> String {
    let File { name, idea, .. } = file;
    let name = if file.is_kernel() {
        format!("[`{name}`]({})", sources::link(&subject.folder, name))
    } else {
        format!("`{name}`")
    };
    if idea.is_empty() {
        format!("- {name}\n")
    } else {
        format!("- {name}: {idea}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_place_and_an_idea() {
        for (name, text, place, idea) in [
            (
                "level4.cu",
                "// Level 4 of gelu: 16 bytes per\n// thread. More.\n",
                Place::Level(4),
                "16 bytes per thread.",
            ),
            (
                "level3.ptx",
                "// linear, level 3, f32: y = x*w. x (M)\n",
                Place::Level(3),
                r"f32: y = x\*w.",
            ),
            (
                "fallback.cu",
                "// Level 4 of softmax for rows:\n//   y = 1\n",
                Place::Level(4),
                "for rows",
            ),
            (
                "cpu/level4.rs",
                "//! Level 4 on a CPU: [`lanes`].\n",
                Place::Cpu,
                "`lanes`.",
            ),
            (
                "level5/mod.rs",
                "//! Level 5: the fastest.\n//!\n//! No.\n",
                Place::Level(5),
                "the fastest.",
            ),
            (
                "params.cuh",
                "// Of levels 4 and 5.\n#pragma once\n",
                Place::All,
                "Of levels 4 and 5.",
            ),
        ] {
            let file = File::new(name.into(), text).unwrap();
            assert_eq!((file.place, &*file.idea), (place, idea), "{name}");
        }
    }
}
