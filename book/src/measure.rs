//! The preprocessor that puts recorded figures into the chapters, so that none is typed by hand:
//!
//! - `{{measure lm.tiny.decode.f32.level1 on=cpu unit=ms}}`: one figure; `.speedup`, `.tensors`,
//!   `.peak` and `.difference` after the level name another one than the median.
//! - `{{table lm on=cpu}}`: every row of a model; `preset=`, `workload=`, `dtype=` narrow it.
//! - `{{chart lm on=cpu}}`: the same rows as a chart of speed-ups.
//! - `{{measure op.linear.1x512x512.f32.level4 on=cpu unit=us}}`: one op; `.host`, `.rate`.
//! - `{{ops linear on=cpu}}`: every shape of an op, a column a level; `dtype=` narrows it.
//! - `{{small matmul on=cpu}}`: every small product, a column a kernel.
//! - `{{copies on=cpu}}`: copies of all sizes, with their rates.
//! - `{{picture coalescing}}`: a picture drawn by code; `on=` where it shows recorded figures.
//! - `{{machine on=cpu}}`: where and when; `{{machine ops on=cpu}}` where and when the ops were, and `small`.
//!
//! - `{{exercises}}`: a table of all exercises; `{{session 2 reading=45}}`: what the syllabus says of one session.
//!
//! Where the reader has a run of their own, its value stands beside the recorded one. A backslash
//! before the braces leaves them as they are. It runs after the includes, and takes the indentation
//! of included methods away as well.

use crate::chart::chart;
use crate::check;
use crate::copies::copies;
use crate::dedent::dedent_code;
use crate::exercises;
use crate::format;
use crate::library::{Key, Library};
use crate::ops;
use crate::pictures::picture;
use crate::table::{Filter, machine, table};
use anyhow::{Context, Result, bail};
use classroom::Exercise;
use mdbook_driver::config::Config;
use mdbook_preprocessor::book::{Book, BookItem, Chapter};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};
use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The preprocessor; `book.toml` calls it `measure` and says where the results are.
pub struct Measure;

impl Preprocessor for Measure {
    fn name(&self) -> &str {
        "measure"
    }

    fn run(&self, ctx: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let stale = check::stale_anchors(&ctx.root.join(&ctx.config.book.src))?;
        if let Some(first) = stale.first() {
            bail!("{first}");
        }
        let [folder, own] = sources(&ctx.root, &ctx.config)?;
        let mut library = Library::open(&folder, &own)?;
        let exercises = exercises::of(&ctx.root, &ctx.config)?;
        exercises::add_pages(&mut book, &exercises);
        let mut outcome = Ok(());
        book.for_each_mut(|item| {
            if let (BookItem::Chapter(chapter), true) = (item, outcome.is_ok()) {
                outcome = fill(chapter, &mut library, &exercises);
            }
        });
        outcome.map(|()| book)
    }
}

/// The folder of recorded results and the reader's own run, as `[preprocessor.measure]` names them.
pub fn sources(root: &Path, config: &Config) -> Result<[PathBuf; 2]> {
    let path = |key: &str| -> Result<PathBuf> {
        let key = format!("preprocessor.measure.{key}");
        let found = config.get::<PathBuf>(&key)?;
        Ok(root.join(found.with_context(|| format!("book.toml: expected `{key}`, found none"))?))
    };
    Ok([path("results")?, path("own")?])
}

fn fill(chapter: &mut Chapter, library: &mut Library, exercises: &[Exercise]) -> Result<()> {
    let name = chapter
        .source_path
        .clone()
        .unwrap_or_else(|| chapter.name.clone().into());
    let filled = expand(&dedent_code(&chapter.content), library)
        .and_then(|text| exercises::expand(&text, exercises));
    chapter.content = filled.map_err(|error| error.context(format!("{}", name.display())))?;
    Ok(())
}

/// `text` with every directive replaced; the first that cannot be is the error.
pub fn expand(text: &str, library: &mut Library) -> Result<String> {
    let directive = Regex::new(
        r"\\?\{\{\s*(measure|table|chart|ops|small|copies|picture|machine)\b([^{}]*)\}\}",
    )?;
    let mut failed = None;
    let expanded = directive.replace_all(text, |found: &Captures| {
        if let Some(verbatim) = found[0].strip_prefix('\\') {
            return verbatim.to_string();
        }
        replace(&found[1], &found[2], library).unwrap_or_else(|error| {
            failed.get_or_insert(error.context(found[0].to_string()));
            String::new()
        })
    });
    let expanded = expanded.into_owned();
    failed.map_or(Ok(expanded), Err)
}

fn replace(directive: &str, arguments: &str, library: &mut Library) -> Result<String> {
    let (subject, named) = split(arguments)?;
    if directive == "picture" {
        return picture(subject, named.get("on").copied(), library);
    }
    let on = named
        .get("on")
        .context("expected `on=` and the name of recorded results")?;
    match (directive, subject) {
        ("measure", key) => return measure(key, named.get("unit").unwrap_or(&"ms"), on, library),
        ("ops", op) => return ops::ops(op, library.ops.on(on)?.0, named.get("dtype").copied()),
        ("copies", _) => return copies(library.ops.on(on)?.0),
        ("small", op) => return ops::ops(op, library.small.on(on)?.0, None),
        ("machine", "small") => return Ok(machine(&library.small.on(on)?.0.machine)),
        ("machine", "ops") => return Ok(machine(&library.ops.on(on)?.0.machine)),
        _ => {}
    }
    let (recorded, own) = library.models.on(on)?;
    match directive {
        "table" => table(recorded, own, &filter(subject, &named)),
        "chart" => chart(recorded, &filter(subject, &named)),
        _ => Ok(machine(&recorded.machine)),
    }
}

/// The first word without `=`, and the others by name.
fn split(arguments: &str) -> Result<(&str, BTreeMap<&str, &str>)> {
    let (mut subject, mut named) = ("", BTreeMap::new());
    for word in arguments.split_whitespace() {
        match word.split_once('=') {
            Some((name @ ("on" | "unit" | "preset" | "workload" | "dtype"), value)) => {
                named.insert(name, value);
            }
            None if subject.is_empty() => subject = word,
            _ => bail!("expected on=, unit=, preset=, workload= or dtype=, found `{word}`"),
        }
    }
    Ok((subject, named))
}

fn filter<'a>(model: &'a str, named: &BTreeMap<&str, &'a str>) -> Filter<'a> {
    let value = |name| named.get(name).copied();
    let (preset, workload, dtype) = (value("preset"), value("workload"), value("dtype"));
    Filter {
        model,
        preset,
        workload,
        dtype,
    }
}

fn measure(key: &str, unit: &str, on: &str, library: &mut Library) -> Result<String> {
    let key = Key::parse(key)?;
    let missing = "expected a recorded row, found none of that key";
    let (figure, own) = if key.is_op() {
        let (recorded, own) = library.ops.on(on)?;
        let figure = |row| ops::figure(row, &key.field, unit);
        let own = own.and_then(|own| key.of_op(own)).map(figure);
        (figure(key.of_op(recorded).context(missing)?)?, own)
    } else {
        let (recorded, own) = library.models.on(on)?;
        let figure = |row| format::figure(row, &key.field, unit);
        let own = own.and_then(|own| key.of(own)).map(figure);
        (figure(key.of(recorded).context(missing)?)?, own)
    };
    match own {
        Some(own) => Ok(format!("{figure} (here: {})", own?)),
        None => Ok(figure),
    }
}
