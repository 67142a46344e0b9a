//! The exercises in the book: a page each below the chapter `exercises.md`, and tables of them.
//!
//! A chapter ends with the exercises that name it, and the page of an exercise begins with its chapter.

use crate::{directives, reference, sketch};
use anyhow::{Context, Result, bail, ensure};
use classroom::exercise::Language;
use classroom::page::{Solutions, about, page, session, table};
use classroom::{Exercise, exercise};
use data::BadInput;
use mdbook_driver::config::Config;
use mdbook_preprocessor::book::{Book, BookItem, Chapter, SectionNumber};
use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The chapter whose pages are made here.
const CHAPTER: &str = "exercises.md";
/// The chapters for teachers.
const TEACHERS: [&str; 3] = ["courses.md", "lectures.md", "teaching.md"];
/// The chapter that those in PTX need.
const PTX: &str = "ptx.md";

/// The folder that `[preprocessor.measure]` names, if the book has exercises.
pub fn folder(root: &Path, config: &Config) -> Result<Option<PathBuf>> {
    let folder = config.get::<PathBuf>("preprocessor.measure.exercises")?;
    Ok(folder.map(|folder| root.join(folder)))
}

/// The exercises of the book; none where its configuration names no folder.
pub fn of(root: &Path, config: &Config) -> Result<Vec<Exercise>> {
    match folder(root, config)? {
        Some(folder) => Ok(exercise::all(&folder).map_err(without)?),
        None => Ok(vec![]),
    }
}

/// Whether pages of exercises have solutions: `solutions = false` in `[preprocessor.measure]` leaves them out.
pub fn solutions(config: &Config) -> Result<Solutions> {
    let shown = config.get("preprocessor.measure.solutions")?;
    Ok(if shown.unwrap_or(true) {
        Solutions::Shown
    } else {
        Solutions::Hidden
    })
}

/// In an archive without exercises, as a class may have it, the book cannot be built.
fn without(mut bad: BadInput) -> BadInput {
    if exercise::are_missing(&bad) {
        bad.found += "; where they were left out, read the book that your teacher built (`target/book` in a full clone)";
    }
    bad
}

/// Puts a page for each exercise below the chapter, and a table of its exercises under each other chapter.
///
/// # Errors
/// An exercise without a figure.
pub fn add_pages(book: &mut Book, exercises: &[Exercise], solutions: Solutions) -> Result<()> {
    if solutions == Solutions::Hidden {
        book.items.retain(|item| !is_for_teachers(item));
    }
    let titles = titles(book);
    let mut outcome = Ok(());
    book.for_each_mut(|item| {
        let BookItem::Chapter(chapter) = item else {
            return;
        };
        chapter.content = with_links(&chapter.content, "exercises/");
        if solutions == Solutions::Hidden {
            chapter.content = without_teachers(&chapter.content);
        }
        if chapter.path.as_deref() == Some(Path::new(CHAPTER)) {
            let below = |(e, n)| below(chapter, e, n, &titles, solutions);
            let pages: Result<Vec<BookItem>> = exercises.iter().zip(1..).map(below).collect();
            match pages {
                Ok(pages) => chapter.sub_items.extend(pages),
                Err(error) => outcome = Err(error),
            }
        } else {
            add_table(chapter, exercises, titles.contains_key(Path::new(PTX)));
        }
    });
    outcome
}

/// Whether an item is a chapter for teachers: these say what is wrong in answers to graded tasks, and answer questions.
fn is_for_teachers(item: &BookItem) -> bool {
    let BookItem::Chapter(chapter) = item else {
        return false;
    };
    let path = chapter.path.as_deref();
    TEACHERS.iter().any(|file| path == Some(Path::new(file)))
}

/// Replaces links to the chapters for teachers by their text.
fn without_teachers(text: &str) -> String {
    let files = TEACHERS.map(regex::escape).join("|");
    let link = format!(r"\[([^\]]+)\]\((?:{files})[^)]*\)");
    let link = Regex::new(&link).expect("a valid pattern");
    link.replace_all(text, "$1").into_owned()
}

/// Replaces links to `page.md` of an exercise, which work on GitHub, by links to its page in the book, in `folder`.
fn with_links(text: &str, folder: &str) -> String {
    let page = Regex::new(r"\]\([\w./-]*/\d\d-([\w-]+)/page\.md\)").expect("a valid pattern");
    let in_book = format!("]({folder}$1.md)");
    page.replace_all(text, in_book).into_owned()
}

/// Replaces links to files of the repository: by links to the sources of an op that has a page, otherwise by their text.
fn with_sources(text: &str, titles: &Titles) -> String {
    let file = Regex::new(r"\[([^\]\n]+)\]\(\.\./\.\./\.\./([\w./-]+)\)").expect("a valid pattern");
    let in_book = |found: &Captures| {
        let name = &found[1];
        match reference::source(&found[2]) {
            Some((page, link)) if titles.contains_key(&page) => format!("[{name}](../{link})"),
            _ => name.to_owned(),
        }
    };
    file.replace_all(text, in_book).into_owned()
}

/// The titles of chapters by their paths.
type Titles = BTreeMap<PathBuf, String>;

/// The title of each chapter by its path.
fn titles(book: &Book) -> Titles {
    let chapters = book.iter().filter_map(|item| match item {
        BookItem::Chapter(chapter) => Some((chapter.path.clone()?, chapter.name.clone())),
        _ => None,
    });
    chapters.collect()
}

/// The exercises of a chapter, and, where the book has a chapter on PTX, what those in PTX need.
fn add_table(chapter: &mut Chapter, exercises: &[Exercise], has_ptx: bool) {
    let path = chapter.path.clone().unwrap_or_default();
    let of_it = |e: &&Exercise| Path::new(&e.spec.chapter) == path;
    let of_it: Vec<&Exercise> = exercises.iter().filter(of_it).collect();
    if !of_it.is_empty() {
        // The text above may link to exercises of other chapters.
        let table = table(&of_it).replacen("| exercise |", "| exercise of this chapter |", 1);
        chapter.content += &format!("\n\n## Exercises\n\n{table}");
        let in_ptx = of_it.iter().any(|e| e.language == Language::Ptx);
        if has_ptx && in_ptx && path != Path::new(PTX) {
            chapter.content += &format!("\nThose in PTX need [Reading PTX]({PTX}).\n");
        }
    }
}

fn below(
    chapter: &Chapter,
    exercise: &Exercise,
    section: u32,
    titles: &Titles,
    solutions: Solutions,
) -> Result<BookItem> {
    let path = format!("exercises/{}.md", exercise.name());
    let of = &exercise.spec.chapter;
    // In the repository, a page is three folders deep; in the book, one below the chapters.
    let mut text = page(exercise, solutions).replace("](../../../book/chapters/", "](../");
    text = with_sources(&with_links(&text, ""), titles);
    let figure = format!("Figure: {}", exercise.spec.title);
    text = sketch::draw(&text, &figure).context(exercise.id.clone())?;
    if let Some(title) = titles.get(Path::new(of)) {
        let head = format!("*{}*\n", about(exercise));
        let link = format!("{head}\nChapter: [{title}](../{of})\n");
        text = text.replacen(&head, &link, 1);
    }
    let parents = vec![chapter.name.clone()];
    let name = format!("{} · {}", exercise.number(), exercise.spec.title);
    let mut page = Chapter::new(&name, text, path, parents);
    // Made of several files: there is none to edit.
    page.source_path = None;
    // mdBook folds a chapter's sections by their numbers. `book.css` hides these, because an exercise has one of its own.
    page.number = chapter.number.as_ref().map(|number| {
        let mut number = number.to_vec();
        number.push(section);
        SectionNumber::new(number)
    });
    Ok(page.into())
}

/// `text` with `{{exercises}}` and `{{session N reading=MINUTES}}` replaced.
pub fn expand(text: &str, exercises: &[Exercise]) -> Result<String> {
    directives::expand(text, "exercises|session", |name, arguments| {
        replace(name, arguments, exercises)
    })
}

fn replace(directive: &str, arguments: &str, exercises: &[Exercise]) -> Result<String> {
    ensure!(
        !exercises.is_empty(),
        "expected `exercises` in book.toml, found none"
    );
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    match (directive, arguments.as_slice()) {
        ("exercises", []) => Ok(table(&exercises.iter().collect::<Vec<_>>())),
        ("session", [number, reading]) => {
            let number: u8 = number.parse().context("expected the number of a session")?;
            let reading = reading
                .strip_prefix("reading=")
                .context("expected reading=MINUTES")?;
            let of_it: Vec<_> = exercises
                .iter()
                .filter(|e| e.spec.session == number)
                .collect();
            ensure!(
                !of_it.is_empty(),
                "expected a session that has exercises, found {number}"
            );
            Ok(session(
                &of_it,
                reading.parse().context("expected reading=MINUTES")?,
            ))
        }
        _ => bail!("expected {{{{exercises}}}} or {{{{session N reading=MINUTES}}}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_a_page_in_the_repository_lead_to_its_page_in_the_book() {
        let text = "[a](../../exercises/2-ptx/09-row-argmax/page.md), [b](../22-prefix-sum/page.md), [c](level3.md)";
        let expected = "[a](exercises/row-argmax.md), [b](exercises/prefix-sum.md), [c](level3.md)";
        assert_eq!(with_links(text, "exercises/"), expected);
    }

    #[test]
    fn links_to_kernels_lead_to_their_sources_in_the_book() {
        let titles = [("reference/softmax.md".into(), "softmax".into())].into();
        let with =
            |file: &str| with_sources(&format!("[`a`](../../../{file}), [b](c.md)"), &titles);
        let source = "[`a`](../reference/source/softmax.md#level3-ptx), [b](c.md)";
        assert_eq!(with("kernels/src/softmax/level3.ptx"), source);
        for file in [
            "kernels/src/softmax/mod.rs",
            "kernels/src/common/warp.cuh",
            "levels/a.rs",
        ] {
            assert_eq!(with(file), "`a`, [b](c.md)");
        }
    }

    #[test]
    fn without_exercises_the_error_says_where_the_book_is() -> Result<()> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("prelude"))?;
        let error = |folder: &Path| exercise::all(folder).map_err(without).unwrap_err().found;
        let found = "none; where they were left out, read the book that your teacher built (`target/book` in a full clone)";
        assert_eq!(error(folder.path()), found);
        assert!(!error(&folder.path().join("nowhere")).contains("your teacher"));
        Ok(())
    }
}
