//! Checks of the sources as text.
//!
//! Guides, help texts and messages use the words of `docs/STYLE.md`: its table of terms is read here, so a new row there
//! is a new check.

#[path = "words/book.rs"]
mod book;
#[path = "words/literals.rs"]
mod literals;
#[path = "words/prose.rs"]
mod prose;
#[path = "words/terms.rs"]
mod terms;
#[path = "words/unsafe_code.rs"]
mod unsafe_code;

use std::fs;
use std::path::{Path, PathBuf};

use terms::Terms;

/// Guides that a person reads outside the book, and those whose folder's files are all guides.
const GUIDES: [&str; 9] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/UNSAFE.md",
    "benches/results/README.md",
    "tests/goldens/README.md",
    "crates/charts/fonts/README.md",
];

/// Crates whose string literals reach a person: help, output and errors.
const PROGRAMS: [&str; 16] = [
    "benches/src",
    "book/src",
    "crates/charts/src",
    "crates/classroom/src",
    "crates/cli/src",
    "crates/data/src",
    "crates/level_kit/src",
    "exercises/prelude/src",
    "kernels/src",
    "levels",
    "models/src",
    "simt/src",
    "crates/replay/src",
    "crates/results/src",
    "crates/trace/src",
    "crates/workbook/src",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()))
}

/// Every `.rs` file under `folder`, but for those of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "tests" => sources(&path, found),
            false if name.ends_with(".rs") && name != "tests.rs" => found.push(path),
            _ => {}
        }
    }
}

fn report(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} uses of terms that docs/STYLE.md replaces:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn guides_use_the_terms_of_the_style_guide() {
    let terms = Terms::read(&read(&root().join("docs/STYLE.md")));
    let mut faults = vec![];
    for guide in GUIDES {
        for (number, line) in prose::lines(&read(&root().join(guide))) {
            for fault in terms.found_in(&line) {
                faults.push(format!("{guide}:{number}: {fault}"));
            }
        }
    }
    report(&faults);
}

#[test]
fn messages_use_the_terms_of_the_style_guide() {
    let terms = Terms::read(&read(&root().join("docs/STYLE.md")));
    let mut files = vec![];
    for program in PROGRAMS {
        sources(&root().join(program), &mut files);
    }
    assert!(files.len() > 100, "{files:?}");
    let mut faults = vec![];
    for file in files {
        for (number, text) in literals::of(&read(&file)) {
            for fault in terms.found_in(&text) {
                let path = file.strip_prefix(root()).unwrap().display();
                faults.push(format!("{path}:{number}: {fault}"));
            }
        }
    }
    report(&faults);
}

/// A stranger reads one page, and no more of it.
#[test]
fn the_readme_and_the_changelog_are_short() {
    for (file, most) in [("README.md", 150), ("CHANGELOG.md", 60)] {
        let lines = read(&root().join(file)).lines().count();
        assert!(lines <= most, "{file} has {lines} lines, at most {most}");
    }
}
