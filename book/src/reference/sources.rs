//! A page with the kernels' sources below each op's page, so that a reader without the repository can follow its links.

use super::files::{File, files};
use super::{FOLDER, KERNELS, findings};
use crate::includes::text_of;
use anyhow::Result;
use mdbook_preprocessor::book::{Book, BookItem, Chapter, SectionNumber};
use std::path::{Path, PathBuf};

/// The folder of these pages, below that of the ops' pages.
const SOURCES: &str = "source";

/// Where the page of an op's sources shows `file`, from the op's page.
pub fn link(op: &str, file: &str) -> String {
    format!("{SOURCES}/{op}.md#{}", anchor(file))
}

/// The page of the op that a file of the repository, `kernels/src/softmax/level3.ptx`, is a kernel of, and the link to its
/// source from the folder of the chapters.
pub fn source(file: &str) -> Option<(PathBuf, String)> {
    let (op, name) = file
        .strip_prefix(KERNELS)?
        .strip_prefix('/')?
        .split_once('/')?;
    let is_kernel = [".ptx", ".cu", ".cuh"]
        .iter()
        .any(|end| name.ends_with(end))
        || name == "cpu.rs";
    let page = Path::new(FOLDER).join(format!("{op}.md"));
    is_kernel.then(|| (page, format!("{FOLDER}/{}", link(op, name))))
}

fn anchor(file: &str) -> String {
    file.replace(['/', '.', '_'], "-")
}

/// Puts a page of sources below the page of each op.
pub fn add_pages(book: &mut Book, repository: &Path) -> Result<()> {
    let mut outcome = Ok(());
    book.for_each_mut(|item| {
        if let (BookItem::Chapter(chapter), true) = (item, outcome.is_ok()) {
            outcome = add_page(chapter, repository);
        }
    });
    outcome
}

fn add_page(chapter: &mut Chapter, repository: &Path) -> Result<()> {
    let path = chapter.path.clone().unwrap_or_default();
    if path.parent() != Some(Path::new(FOLDER)) {
        return Ok(());
    }
    let Some(subject) = findings::directive(&chapter.content)? else {
        return Ok(());
    };
    let folder = repository.join(KERNELS).join(&subject.folder);
    if !folder.is_dir() {
        return Ok(()); // the directive's own error names it
    }
    let name = format!("{}: sources", chapter.name);
    let mut text = format!(
        "# {name}\n\nThe kernels of [{}](../{}.md).\n",
        chapter.name, subject.folder
    );
    text += "\n<div class=\"source\">\n";
    for file in files(&folder)?.iter().filter(|file| file.is_kernel()) {
        text += &shown(&folder, file)?;
    }
    text += "\n</div>\n";
    let path: PathBuf = [FOLDER, SOURCES, &format!("{}.md", subject.folder)]
        .iter()
        .collect();
    let parents = [
        &chapter.parent_names[..],
        std::slice::from_ref(&chapter.name),
    ]
    .concat();
    let mut page = Chapter::new(&name, text, path, parents);
    // Made of several files: there is none to edit.
    page.source_path = None;
    // The list of chapters nests by numbers.
    let below = |number: &SectionNumber| number.iter().copied().chain([1]).collect();
    page.number = chapter.number.as_ref().map(below);
    chapter.sub_items.push(page.into());
    Ok(())
}

/// A heading, and the file as a block of code.
fn shown(folder: &Path, file: &File) -> Result<String> {
    let language = match file.name.rsplit('.').next() {
        Some("rs") => "rust,ignore",
        Some("ptx") => "ptx",
        _ => "cpp",
    };
    let source = text_of(&folder.join(&file.name))?.replace("\r\n", "\n");
    Ok(format!(
        "\n## {} {{#{}}}\n\n```{language}\n{}\n```\n",
        file.name,
        anchor(&file.name),
        source.trim_end()
    ))
}
