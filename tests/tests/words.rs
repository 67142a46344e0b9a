//! Checks of the sources as text.
//!
//! Guides, help texts, messages and comments use the words of `docs/STYLE.md`: its table of terms is read here, so a new row
//! there is a new check.

#[path = "words/book.rs"]
mod book;
#[path = "words/comments.rs"]
mod comments;
#[path = "words/kernels.rs"]
mod kernels;
#[path = "words/literals.rs"]
mod literals;
#[path = "words/prose.rs"]
mod prose;
#[path = "words/scripts.rs"]
mod scripts;
#[path = "words/terms.rs"]
mod terms;
#[path = "words/unsafe_code.rs"]
mod unsafe_code;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use terms::Terms;

/// Guides that a person reads outside the book, and those whose folder's files are all guides.
const GUIDES: [&str; 18] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/SOAK.md",
    "docs/UNSAFE.md",
    "benches/NOTES.md",
    ".github/pull_request_template.md",
    ".github/ISSUE_TEMPLATE/bug.yml",
    ".github/ISSUE_TEMPLATE/config.yml",
    ".github/ISSUE_TEMPLATE/gpu_record.yml",
    ".github/ISSUE_TEMPLATE/question.yml",
    ".github/workflows/book.yml",
    ".github/workflows/ci.yml",
    "benches/results/README.md",
    "tests/goldens/README.md",
    "crates/charts/fonts/README.md",
];

/// Crates whose string literals reach a person: help, output and errors.
const PROGRAMS: [&str; 19] = [
    "benches/src",
    "book/src",
    "crates/charts/src",
    "crates/classroom/src",
    "crates/cli/src",
    "crates/command_line/src",
    "crates/data/src",
    "crates/level_kit/src",
    "crates/occupancy/src",
    "crates/sandbox/src",
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

/// Folders whose comments use these terms, too, and say first what an item is or does.
const COMMENTS: [&str; 19] = [
    "benches",
    "book/src",
    "crates/charts",
    "crates/cli",
    "crates/command_line",
    "crates/data",
    "crates/occupancy",
    "crates/operands",
    "crates/readers",
    "crates/replay",
    "crates/results",
    "crates/sandbox",
    "crates/trace",
    "crates/workbook",
    "kernels",
    "levels",
    "models",
    "simt",
    "tests",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()))
}

/// Every file under `folder` with one of these extensions.
fn files(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_wanted = |e: &OsStr| extensions.iter().any(|wanted| e == *wanted);
        if path.is_dir() {
            files(&path, extensions, found);
        } else if path.extension().is_some_and(is_wanted) {
            found.push(path);
        }
    }
}

/// Every `.rs` file under `folder`.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    files(folder, &["rs"], found);
}

/// The same for each of these folders of the repository.
fn sources(folders: &[&str]) -> Vec<PathBuf> {
    let mut files = vec![];
    for folder in folders {
        rust_files(&root().join(folder), &mut files);
    }
    assert!(files.len() > 100, "{files:?}");
    files
}

/// Whether a file has no part that only tests run.
fn is_of_a_program(file: &Path) -> bool {
    let path = file.strip_prefix(root()).unwrap();
    !path
        .iter()
        .any(|part| part == "tests" || part == "tests.rs")
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
        let mut text = read(&root().join(guide));
        if guide.ends_with(".yml") {
            // Its indentation is no block of code.
            text = text
                .lines()
                .map(str::trim_start)
                .collect::<Vec<_>>()
                .join("\n");
        }
        for (number, line) in prose::lines(&text) {
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
    let mut files = sources(&PROGRAMS);
    files.retain(|file| is_of_a_program(file));
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

#[test]
fn comments_use_the_terms_of_the_style_guide() {
    let terms = Terms::read(&read(&root().join("docs/STYLE.md")));
    let mut faults = vec![];
    for file in sources(&COMMENTS) {
        let path = file.strip_prefix(root()).unwrap().display();
        for (number, text) in comments::paragraphs(&read(&file)) {
            for fault in terms.found_in(&text) {
                faults.push(format!("{path}:{number}: {fault}"));
            }
        }
    }
    report(&faults);
}

/// `docs/STYLE.md`: a test's name begins with its subject.
#[test]
fn names_of_tests_begin_with_a_subject() {
    let name = Regex::new(r"(?m)^\s*#\[test\]\s*(?:#\[.*\]\s*)*fn (\w+)").unwrap();
    let folders = [
        "benches",
        "book",
        "crates",
        "exercises",
        "kernels",
        "levels",
    ];
    let (mut checked, mut wrong) = (0, vec![]);
    for file in sources(&[&folders[..], &["models", "simt", "tests"]].concat()) {
        for found in name.captures_iter(&read(&file)) {
            checked += 1;
            if found[1].starts_with("what_") || found[1].starts_with("of_") {
                wrong.push(format!("{}: {}", file.display(), &found[1]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 1000, "{checked} tests");
}

/// Whether a line of a comment begins with a fragment in place of what the item is or does.
fn is_fragment(line: &str) -> bool {
    ["Of ", "What "].iter().any(|word| line.starts_with(word))
}

#[test]
fn comments_say_what_an_item_is() {
    assert!(is_fragment("Of the launch.") && is_fragment("What is counted."));
    assert!(!is_fragment("Often.") && !is_fragment("Counts of the launch."));
    let mut faults = vec![];
    let mut checked = sources(&COMMENTS);
    let sources_of_rust = checked.len();
    for folder in ["kernels/src", "kernels/worklogs"] {
        files(&root().join(folder), &["cu", "cuh", "ptx"], &mut checked);
    }
    assert!(checked.len() > sources_of_rust + 100, "{checked:?}");
    for file in checked {
        let path = file.strip_prefix(root()).unwrap().display();
        let lines = comments::lines(&read(&file)).into_iter();
        let fragments = lines.filter(|(_, text, _)| is_fragment(text));
        faults.extend(fragments.map(|(number, text, _)| format!("{path}:{number}: {text}")));
    }
    let faults = faults.join("\n");
    assert!(
        faults.is_empty(),
        "comments that begin with Of or What:\n{faults}"
    );
}

/// The packages that can download a model, as their manifests say: those whose examples have the feature `hub`.
fn downloads(package: &str) -> bool {
    let manifest = read(&root().join("levels").join(package).join("Cargo.toml"));
    let (_, of_examples) = manifest.split_once("[dev-dependencies]").unwrap();
    let cli = of_examples.lines().find(|line| line.starts_with("cli = "));
    cli.is_some_and(|line| line.contains("\"hub\""))
}

/// A command with `--model hf:` is one of a program that has the feature `hub`.
#[test]
fn commands_that_download_have_the_feature() {
    let mut commands = 0;
    for guide in GUIDES {
        let text = read(&root().join(guide));
        for command in text
            .lines()
            .filter(|line| line.contains("cargo run") && line.contains(" hf:"))
        {
            commands += 1;
            let package = command
                .split(" -p ")
                .nth(1)
                .and_then(|rest| rest.split(' ').next());
            let can = command.contains("--features hub") || package.is_some_and(downloads);
            assert!(can, "{guide}: no feature `hub`: {command}");
        }
    }
    assert!(commands > 0, "README.md has such a command");
}

/// A stranger reads one page, and no more of it.
#[test]
fn the_readme_and_the_changelog_are_short() {
    for (file, most) in [("README.md", 150), ("CHANGELOG.md", 60)] {
        let lines = read(&root().join(file)).lines().count();
        assert!(lines <= most, "{file} has {lines} lines, at most {most}");
    }
}
