//! Checks that the book shows the simulator's real output: `book/simulated/*.txt` have a command line and its
//! output. `CANDLEPOWER_UPDATE=1` rewrites the output.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::sim;
use crate::terminal::{self, Ink};

const PROMPT: &str = "$ cargo run --release -- sim ";

/// The recorded runs.
fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/simulated");
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

/// The README's image of a data race: the kernel, the command and its first finding, as recorded above.
#[test]
fn the_readme_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let text = read("book/simulated/missing_barrier.txt");
    let (command, output) = text.split_once("\n\n").unwrap();
    let finding = output.lines().next().unwrap();
    assert!(finding.contains(": race: "), "{finding}");
    let at = |part: &str| -> usize {
        let number = part.split(':').nth(1).and_then(|n| n.split(' ').next());
        number.and_then(|n| n.parse().ok()).expect("FILE:LINE")
    };
    let other = finding.split(" in ").nth(1).expect("two places");
    let faults = [at(finding), at(other)];

    let source = read("book/simulated/missing_barrier.cu");
    // The anchors that the book includes parts by are left out, within the kernel as empty lines.
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    let all: Vec<&str> = source.lines().collect();
    let first = all.iter().position(is_code).unwrap();
    let last = all.iter().rposition(is_code).unwrap();
    let kernel = all.iter().enumerate().take(last + 1).skip(first);
    let mut lines: Vec<(String, Ink)> = kernel
        .map(|(index, line)| {
            let fault = faults.contains(&(index + 1));
            let mark = if fault { ">" } else { " " };
            let ink = if fault { Ink::Fault } else { Ink::Plain };
            let code = if is_code(line) { *line } else { "" };
            (format!("{mark}{:3}  {code}", index + 1), ink)
        })
        .collect();
    lines.push((String::new(), Ink::Plain));
    let words: Vec<&str> = command.split_whitespace().filter(|w| *w != "\\").collect();
    lines.push((words.join(" "), Ink::Command));
    lines.push((String::new(), Ink::Plain));
    lines.push((finding.to_string(), Ink::Fault));
    assert_eq!(output.lines().last(), Some("2 findings"));
    lines.push(("… and one more finding".into(), Ink::Plain));

    let image = terminal::draw(&lines);
    let path = root.join("docs/images/data-race.svg");
    if std::env::var_os("CANDLEPOWER_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, image).unwrap();
    } else {
        assert!(
            fs::read_to_string(&path).unwrap() == image,
            "{} is not what the simulator prints: CANDLEPOWER_UPDATE=1 draws it anew",
            path.display()
        );
    }
}
