//! What the book shows of the simulator is what it prints: `book/simulated/*.txt` hold a command line and,
//! below it, its output. `CANDLEPOWER_UPDATE=1` writes the output anew.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::sim;

const PROMPT: &str = "$ cargo run --release -p workbook -- sim ";

/// The recorded runs.
fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/simulated");
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut texts: Vec<PathBuf> = paths
        .filter(|p| p.extension().is_some_and(|e| e == "txt"))
        .collect();
    texts.sort();
    texts
}

#[test]
fn the_book_shows_what_is_printed() {
    let recorded = recorded();
    assert!(recorded.len() >= 8, "{recorded:?}");
    let update = std::env::var_os("CANDLEPOWER_UPDATE").is_some();
    for path in recorded {
        let text = fs::read_to_string(&path).unwrap();
        let (command, shown) = text.split_once("\n\n").unwrap();
        let joined = command.replace("\\\n", " ");
        let args = joined.strip_prefix(PROMPT).unwrap().split_whitespace();
        let run = sim(&args.collect::<Vec<_>>());
        assert_eq!(run.stderr, "", "{}", path.display());
        if update {
            fs::write(&path, format!("{command}\n\n{}", run.stdout)).unwrap();
        } else {
            assert_eq!(run.stdout, shown, "{}", path.display());
        }
    }
}
