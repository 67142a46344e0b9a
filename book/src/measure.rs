//! The preprocessor that puts recorded figures into the chapters, so that none is typed by hand:
//!
//! - `{{measure lm.tiny.decode.f32.level1 on=cpu unit=ms}}`: one figure; `.device`, `.speedup`, `.tensors`,
//!   `.launches`, `.peak` and `.difference` after the level name another one than the median. `ablation.` before the key names a
//!   row of an ablation, whose level 5 is `level5.graph` or `without_` and an idea.
//! - `{{table lm on=cpu}}`: every row of a model; `preset=`, `workload=`, `dtype=` narrow it, and `to=3` to levels 1 to 3
//!   without other frameworks.
//! - `{{chart lm on=cpu}}`: the same rows as a chart of speed-ups.
//! - `{{figure h200-small}}`: a chart as `workbook redraw` has drawn it, by its name in `benches/results/charts`.
//! - `{{measure op.linear.1x512x512.f32.level4 on=cpu unit=us}}`: one op; `.device`, `.cold`, `.host`, `.rate`
//!   (with `unit=TFLOP/s` if not in GFLOP/s).
//! - `{{ops linear on=cpu}}`: every shape of an op, a column a level; `dtype=` and `to=` narrow it.
//! - `{{small matmul on=cpu}}`: every small product, a column a kernel.
//! - `{{behind matmul on=h200,cpu}}`: on how many small products a library is ahead, a row per record and clock.
//! - `{{copies on=cpu}}`: copies of all sizes, with their rates.
//! - `{{benches on=cpu}}`: what `cargo bench` times, group by group, and how long that takes; `{{benches
//!   launch/kernel/empty on=h200}}`: one case of it.
//! - `{{picture coalescing}}`: a figure drawn by code; `on=` where it shows recorded figures.
//! - `{{machine on=cpu}}`: where and when (rows of several commits: from when to when); `{{machine ops on=cpu}}` where and when the ops were, and `small`.
//! - `{{fn levels/level1/src/ops.rs rms_norm}}`: a function of a Rust source, by its name or as `Type::name`.
//! - `{{worklog matmul}}`: the steps of a worklog, and their times with `on=`; `{{diff OLD NEW}}`: what changes from one file, or
//!   `FILE:FIRST:LAST`, to another.
//! - `{{ablation on=h200 lm.readme.decode.bf16}}`: workloads at level 5 without each of its ideas, as a table and a chart.
//! - `{{quiz simulator/sectors}}`: a question, whose answer the simulator or a record gives: see [`quiz`].
//! - `{{counters rms_norm}}`: what Nsight Compute read and the simulator counts of a kernel: see [`counters`].
//! - `{{predict level3/decode}}`: a box for the reader's estimate: see [`predict`].
//! - `{{op rms_norm}}`: a page of the reference; `{{reference}}`: its index.
//! - `{{exercises}}`: a table of all exercises; `{{session 2 reading=45}}`: what the syllabus says of one session.
//!
//! Where the reader has a run of their own, its values stand next to the recorded ones. A backslash
//! before the braces leaves them as they are; others that nothing replaces fail the build. It runs after the includes,
//! and takes the indentation of included methods away as well.

use crate::ablation;
use crate::behind::behind;
use crate::benches::{bench, benches};
use crate::chart::{chart, drawn};
use crate::check;
use crate::copies::copies;
use crate::counters;
use crate::dedent::dedent_code;
use crate::directives;
use crate::exercises;
use crate::filter::Filter;
use crate::format;
use crate::functions;
use crate::glossary;
use crate::library::{Beside, Key, Library};
use crate::ops::{figure as op_figure, ops};
use crate::parts;
use crate::pictures::picture;
use crate::place;
use crate::predict;
use crate::quiz;
use crate::reference::{self, Reference};
use crate::table::{machine, machine_of, table};
use crate::worklog;
use anyhow::{Context, Error, Result, anyhow, bail};
use classroom::Exercise;
use mdbook_driver::config::Config;
use mdbook_preprocessor::book::{Book, BookItem, Chapter};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The preprocessor; `book.toml` calls it `measure` and says where the results are.
pub struct Measure;

impl Preprocessor for Measure {
    fn name(&self) -> &str {
        "measure"
    }

    fn run(&self, ctx: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let chapters = ctx.root.join(&ctx.config.book.src);
        let stale = check::stale_anchors(&chapters)?;
        if let Some(first) = stale.first() {
            bail!("{first}");
        }
        let [folder, target] = sources(&ctx.root, &ctx.config)?;
        let mut library = Library::open(&folder, &target)?;
        let exercises = exercises::of(&ctx.root, &ctx.config)?;
        let repository = repository(&ctx.root, &ctx.config)?;
        let solutions = exercises::solutions(&ctx.config)?;
        exercises::add_pages(&mut book, &exercises, solutions)?;
        reference::add_pages(&mut book, &repository)?;
        let reference = Reference::open(&ctx.root, &chapters, &repository)?;
        let mut outcome = Ok(());
        book.for_each_mut(|item| {
            if let (BookItem::Chapter(chapter), true) = (item, outcome.is_ok()) {
                if glossary::is_it(chapter.path.as_deref()) {
                    chapter.content = glossary::definitions(&chapter.content);
                }
                outcome = functions::expand(&chapter.content, &repository)
                    .and_then(|text| worklog::expand(&text, &repository, &folder))
                    .and_then(|text| ablation::expand(&text, &folder))
                    .and_then(|text| counters::expand(&text, &repository))
                    .and_then(|text| quiz::expand(&text, &repository, &mut library))
                    .and_then(|text| predict::expand(&text, &repository, &mut library))
                    .and_then(|text| reference.expand(&text, &mut library))
                    .and_then(|text| fill(&text, &mut library, &exercises))
                    .map(|text| chapter.content = text)
                    .map_err(|error| placed(error, chapter, &chapters));
            }
        });
        outcome.map(|()| book)
    }
}

/// The folder of recorded results and that of the reader's own, as `[preprocessor.measure]` names them.
pub fn sources(root: &Path, config: &Config) -> Result<[PathBuf; 2]> {
    Ok([
        folder(root, config, "results")?,
        folder(root, config, "target")?,
    ])
}

/// The folder from which `{{fn …}}` names files.
pub fn repository(root: &Path, config: &Config) -> Result<PathBuf> {
    folder(root, config, "repository")
}

fn folder(root: &Path, config: &Config, key: &str) -> Result<PathBuf> {
    let key = format!("preprocessor.measure.{key}");
    let found = config.get::<PathBuf>(&key)?;
    Ok(root.join(found.with_context(|| format!("book.toml: expected `{key}`, found none"))?))
}

/// A chapter's text with everything in place of its directives but the functions, which are there already.
fn fill(text: &str, library: &mut Library, exercises: &[Exercise]) -> Result<String> {
    expand(&dedent_code(text), library)
        .and_then(|text| exercises::expand(&text, exercises))
        .and_then(|text| parts::expand(&text))
        .and_then(|text| directives::finish(&text))
}

/// `error` with the place of its directive in front.
fn placed(error: Error, chapter: &Chapter, chapters: &Path) -> Error {
    let directive = error.to_string();
    let place = match &chapter.source_path {
        Some(file) => place::of(&chapters.join(file), &directive),
        None => chapter.name.clone(),
    };
    anyhow!("{place}: {error:#}")
}

fn expand(text: &str, library: &mut Library) -> Result<String> {
    let names = "measure|table|chart|figure|ops|small|behind|copies|benches|picture|machine";
    directives::expand(text, names, |name, arguments| {
        replace(name, arguments, library)
    })
}

fn replace(directive: &str, arguments: &str, library: &mut Library) -> Result<String> {
    let (subject, named) = split(arguments)?;
    if directive == "picture" {
        return picture(subject, named.get("on").copied(), library);
    }
    if directive == "figure" {
        return drawn(&library.charts, subject);
    }
    let on = named
        .get("on")
        .context("expected `on=` and the name of recorded results")?;
    match (directive, subject) {
        ("measure", key) => measure(key, named.get("unit").unwrap_or(&"ms"), on, library),
        ("table", model) => table(&library.models.on(on)?, &filter(model, &named)?),
        ("chart", model) => chart(library.models.on(on)?.recorded, &filter(model, &named)?),
        ("ops", op) => ops(&library.ops.on(on)?, &filter(op, &named)?),
        ("small", op) => ops(&library.small.on(on)?, &filter(op, &named)?),
        ("behind", op) => {
            let record = |on| Ok(library.small.on(on)?.recorded.clone());
            let records: Result<Vec<_>> = on.split(',').map(record).collect();
            behind(&records?, op)
        }
        ("copies", _) => copies(&library.ops.on(on)?),
        ("benches", "") => benches(&library.benches(on)?),
        ("benches", case) => bench(&library.benches(on)?, case),
        ("machine", "small") => Ok(machine(&library.small.on(on)?.recorded.machine)),
        ("machine", "ops") => Ok(machine(&library.ops.on(on)?.recorded.machine)),
        _ => Ok(machine_of(library.models.on(on)?.recorded)),
    }
}

/// The first word without `=`, and the others by name.
fn split(arguments: &str) -> Result<(&str, BTreeMap<&str, &str>)> {
    let (mut subject, mut named) = ("", BTreeMap::new());
    for word in arguments.split_whitespace() {
        match word.split_once('=') {
            Some((name @ ("on" | "unit" | "preset" | "workload" | "dtype" | "to"), value)) => {
                named.insert(name, value);
            }
            None if subject.is_empty() => subject = word,
            _ => bail!("expected on=, unit=, preset=, workload=, dtype= or to=, found `{word}`"),
        }
    }
    Ok((subject, named))
}

fn filter<'a>(subject: &'a str, named: &BTreeMap<&str, &'a str>) -> Result<Filter<'a>> {
    let value = |name| named.get(name).copied();
    let level = |to: &str| {
        to.parse()
            .with_context(|| format!("expected to= and the number of a level, found `{to}`"))
    };
    Ok(Filter {
        subject,
        preset: value("preset"),
        workload: value("workload"),
        dtype: value("dtype"),
        to: value("to").map(level).transpose()?,
    })
}

/// The recorded figure of a key, with its unit.
pub fn recorded(key: &Key, unit: &str, on: &str, library: &mut Library) -> Result<String> {
    let missing = "expected a recorded row, found none of that key";
    if key.is_op() {
        let row = key.of_op(library.ops.on(on)?.recorded);
        op_figure(row.context(missing)?, &key.field, unit)
    } else {
        let row = key.of(library.of_models(key).on(on)?.recorded);
        format::figure(row.context(missing)?, &key.field, unit)
    }
}

fn measure(key: &str, unit: &str, on: &str, library: &mut Library) -> Result<String> {
    let key = Key::parse(key)?;
    let figure = recorded(&key, unit, on, library)?;
    let own = if key.is_op() {
        let Beside { own, .. } = library.ops.on(on)?;
        let row = own.and_then(|own| key.of_op(own));
        row.map(|row| op_figure(row, &key.field, unit))
    } else {
        let Beside { own, .. } = library.of_models(&key).on(on)?;
        let row = own.and_then(|own| key.of(own));
        row.map(|row| format::figure(row, &key.field, unit))
    };
    match own {
        Some(own) => Ok(format!("{figure} (here: {})", own?)),
        None => Ok(figure),
    }
}
