//! The readers of files that may come from strangers, as functions of bytes: any bytes end in a value or an error, without
//! a panic, a hang or gigabytes of memory.
//!
//! `fuzz/` runs them under libFuzzer, and the test `corpus` of this crate on [seeds](Reader::seeds), on the saved corpus,
//! and on [mutations](mutate) of both.

#![forbid(unsafe_code)]

pub mod mutate;
mod read;
mod seeds;

use std::fs;
use std::path::{Path, PathBuf};

/// A reader of one format.
pub struct Reader {
    /// Name of the format, of its fuzz target and of its folder in `fuzz/regressions`.
    pub name: &'static str,
    /// Reads bytes.
    pub read: fn(&[u8]),
    /// Makes small inputs that are right.
    make_seeds: fn() -> Vec<Vec<u8>>,
}

/// All readers.
pub const ALL: [Reader; 15] = [
    Reader::new("cases", read::cases, seeds::cases),
    Reader::new("config", read::config, seeds::config),
    Reader::new("csv", read::csv, seeds::csv),
    Reader::new("exercise", read::exercise, seeds::exercise),
    Reader::new("graph", read::graph, seeds::graph),
    Reader::new("index", read::index, seeds::index),
    Reader::new("launch", read::launch, seeds::launch),
    Reader::new("npy", read::npy, seeds::npy),
    Reader::new("picture", read::picture, seeds::picture),
    Reader::new("preprocessor", read::preprocessor, seeds::preprocessor),
    Reader::new("ptx", read::ptx, seeds::ptx),
    Reader::new("record", read::record, seeds::record),
    Reader::new("safetensors", read::safetensors, seeds::safetensors),
    Reader::new("table", read::table, seeds::table),
    Reader::new("tokenizer", read::tokenizer, seeds::tokenizer),
];

impl Reader {
    const fn new(name: &'static str, read: fn(&[u8]), make_seeds: fn() -> Vec<Vec<u8>>) -> Self {
        Self {
            name,
            read,
            make_seeds,
        }
    }

    /// Returns the reader of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        const { &ALL }.iter().find(|reader| reader.name == name)
    }

    /// Inputs that are right, then the saved corpus: those of `fuzz/regressions`.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let mut all = (self.make_seeds)();
        let kept = fs::read_dir(root().join("fuzz/regressions").join(self.name));
        let mut kept: Vec<PathBuf> = kept
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .collect();
        kept.sort();
        all.extend(kept.iter().filter_map(|path| fs::read(path).ok()));
        all
    }
}

/// Begins a process of libFuzzer. Its hook would end the process at a panic that a reader catches, as that of a tokenizer
/// does; one that a reader does not catch ends the process anyway.
pub fn begin_fuzzing() {
    drop(std::panic::take_hook());
}

/// Reads an input of the fuzz target `name`.
///
/// # Panics
/// There is no reader of this name, or it panics.
pub fn fuzz(name: &str, bytes: &[u8]) {
    let Some(reader) = Reader::named(name) else {
        panic!("{name}: expected a reader, found none");
    };
    (reader.read)(bytes);
}

/// The repository.
pub fn root() -> &'static Path {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.into_iter().nth(2).unwrap_or(Path::new("."))
}
