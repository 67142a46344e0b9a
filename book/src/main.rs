//! The book: a stock mdBook, and the small program around it.
//!
//! `cargo run --release -p book -- build` does what `mdbook build book` does; `serve` adds a server
//! that reloads the page when a chapter, an included source or a result changes; `test` looks for
//! what a build lets pass; `commands` runs the commands of the pages; `measure` is the preprocessor that `book.toml` names.

mod ablation;
mod behind;
mod benches;
mod chart;
mod check;
mod commands;
mod copies;
mod counters;
mod criterion;
mod dedent;
mod directives;
mod exercises;
mod filter;
mod format;
mod functions;
mod glossary;
mod includes;
mod library;
mod markdown;
mod measure;
mod ops;
mod out;
mod parts;
mod pictures;
mod place;
mod predict;
mod quiz;
mod reference;
mod render;
mod rust;
mod serve;
mod shell;
mod sketch;
#[path = "../../tests/src/skip.rs"]
mod skip;
mod table;
#[cfg(test)]
mod tests;
mod usage;
mod watch;
mod worklog;

use anyhow::{Result, anyhow};
use clap::{Parser, Subcommand};
use classroom::page::Solutions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

/// Builds, serves and checks the book.
#[derive(Parser)]
#[command(name = "book", arg_required_else_help = false)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the pages into target/book
    Build {
        /// Open them in the browser; no server is needed
        #[arg(long)]
        open: bool,
        /// Leave out the solutions and the wrong answers of the exercises, for a class that may not see them
        #[arg(long)]
        without_solutions: bool,
    },
    /// Build and serve the pages; rebuild on every change, and reload the open page
    Serve {
        /// Port to listen on
        #[arg(long, default_value_t = 3000, allow_negative_numbers = true)]
        port: u16,
        /// Address to listen on
        #[arg(long, default_value = "127.0.0.1")]
        bind: String,
    },
    /// Build, then check anchors, links, typed-in figures, and that pages load nothing from the network
    Test,
    /// Run the commands in the README, the chapters and the exercises
    Commands {
        /// Run only commands that contain this text
        #[arg(default_value = "")]
        filter: String,
    },
    /// Run as a preprocessor of mdBook
    Measure {
        #[command(subcommand)]
        query: Option<Query>,
    },
}

#[derive(Subcommand)]
enum Query {
    /// Exit with 0 if the renderer is supported (all are)
    Supports {
        /// Name of the renderer
        renderer: String,
    },
}

/// The folder of `book.toml`: around the current folder, or where this program was built, with a note.
fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let here = std::env::current_dir().unwrap_or_default();
        around(&here).unwrap_or_else(|| {
            let built_in = env!("CARGO_MANIFEST_DIR");
            let place = "note: no book in the folder `book` here or in a parent folder";
            data::note(format_args!("{place}; this is about {built_in}"));
            built_in.into()
        })
    });
    &ROOT
}

/// The folder `book` in `here` or in a parent folder. A book that lacks a file is one: building it names the file.
fn around(here: &Path) -> Option<PathBuf> {
    let files = ["book.toml", "chapters/SUMMARY.md"];
    let mut around = here.ancestors().map(|folder| folder.join("book"));
    around.find(|root| files.iter().any(|file| root.join(file).exists()))
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(usage) => return usage::report(&usage),
    };
    match run(args.command) {
        Ok(code) => code,
        Err(error) => {
            out::error(format_args!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Build {
            open,
            without_solutions,
        } => {
            let solutions = if without_solutions {
                Solutions::Hidden
            } else {
                Solutions::Shown
            };
            let page = render::build_aloud(root(), solutions)?
                .join("index.html")
                .canonicalize()?;
            // The prefix that Windows puts before a path without `..`.
            let page = page.display().to_string();
            let page = page.strip_prefix(r"\\?\").unwrap_or(&page);
            out::say(page);
            if open {
                opener::open_browser(page)
                    .map_err(|e| anyhow!("{page}: expected a browser: {e}"))?;
            }
        }
        Command::Serve { port, bind } => serve::serve(root(), &bind, port)?,
        Command::Test => return check::test(root()),
        Command::Commands { filter } => return commands::run(root(), &filter),
        Command::Measure { query: None } => render::preprocess()?,
        Command::Measure {
            query: Some(Query::Supports { .. }),
        } => {}
    }
    Ok(ExitCode::SUCCESS)
}
