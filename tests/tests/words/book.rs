//! The chapters of the book and the exercises, with their questions, hints and wrong answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::terms::Terms;
use super::{prose, read, report, root};

/// The places where a term of the table is right: a part of the file's name, and a part of the line.
const HARMLESS: [(&str, &str); 4] = [
    // The word that SM stands for.
    ("glossary.md", "Streaming multiprocessor:"),
    ("hardware.md", "A streaming multiprocessor ("),
    // Questions, not relative clauses.
    ("07-guard/page.md", "which byte of which buffer?"),
    (
        "37-tile-without-reuse/exercise.toml",
        "and in which banks are they?",
    ),
];

/// Keys of TOML whose texts a person reads.
static READ: LazyLock<Regex> = LazyLock::new(|| {
    let keys = "title|objective|what|why|ask|text|unit|idea|next|about|equals";
    Regex::new(&format!(r#"\b(?:{keys}) = "((?:[^"\\]|\\.)*)""#)).unwrap()
});

/// The numbered lines of TOML that a person reads: the texts of [`READ`], a list of sentences, a question of several lines.
fn texts(toml: &str) -> Vec<(usize, String)> {
    let (mut of_ask, mut of_code, mut found) = (false, false, vec![]);
    for (number, line) in (1..).zip(toml.lines()) {
        let quoted = line.trim().trim_end_matches(',');
        let is_item = quoted.len() > 1 && quoted.starts_with('"') && quoted.ends_with('"');
        if line.contains("'''") {
            of_code = !of_code;
        } else if line.starts_with("ask = \"\"\"") {
            of_ask = true;
        } else if of_code {
        } else if of_ask || is_item {
            found.push((number, line.trim_end_matches("\"\"\"").to_owned()));
            of_ask &= !line.contains("\"\"\"");
        } else {
            let read = READ.captures_iter(line).map(|text| text[1].to_owned());
            found.extend(read.map(|text| (number, text)));
        }
    }
    // Code in backticks is exempt, as in Markdown.
    let lines = found.into_iter().flat_map(|(number, text)| {
        let prose = prose::lines(text.trim_start());
        prose.into_iter().map(move |(_, line)| (number, line))
    });
    lines.collect()
}

/// Every `.md` and `.toml` file below `folder`.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|e| e == "md" || e == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn the_book_and_the_exercises_use_the_terms_of_the_style_guide() {
    let terms = Terms::read(&read(&root().join("docs/STYLE.md")));
    let mut files = vec![];
    for folder in ["book/chapters", "book/quiz", "book/predict", "exercises"] {
        pages(&root().join(folder), &mut files);
    }
    assert!(files.len() > 200, "{files:?}");
    let (mut faults, mut used) = (vec![], [false; HARMLESS.len()]);
    for file in files {
        let text = read(&file);
        let path = file.strip_prefix(root()).unwrap().display().to_string();
        let lines = if path.ends_with(".md") {
            prose::lines(&text)
        } else {
            texts(&text)
        };
        for (number, line) in lines {
            let harmless = |(of, part): &(&str, &str)| path.ends_with(of) && line.contains(part);
            if let Some(at) = HARMLESS.iter().position(harmless) {
                used[at] = true;
                continue;
            }
            let found = terms.found_in(&line).into_iter();
            faults.extend(found.map(|fault| format!("{path}:{number}: {fault}")));
        }
    }
    report(&faults);
    assert_eq!(
        used,
        [true; HARMLESS.len()],
        "exceptions that nothing needs"
    );
}

#[test]
fn the_texts_of_toml_are_read_and_its_code_is_not() {
    let toml = "title = \"One\"\nfrom = { sim = \"two pictures\" }\nwhy = \"a `b` c\"\nask = \"\"\"\nThree\nfour?\"\"\"\n\
                hints = [\n    \"Five.\",\n]\nwith = '''\n\"code\"\n'''\n  { is = \"6\", why = \"seven\" },\n";
    let expected = ["One", "a … c", "Three", "four?", "\"Five.\",", "seven"];
    let found: Vec<String> = texts(toml).into_iter().map(|(_, line)| line).collect();
    assert_eq!(found, expected);
    let numbers: Vec<usize> = texts(toml).into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, [1, 3, 5, 6, 8, 13]);
}

/// Names and shapes of the fields in the text of a type: `` `offsets` (G + 1) u32 ``.
fn fields(text: &str) -> Vec<String> {
    let field = Regex::new(r"/// (.*)\n\s*(?:pub )?([a-z_]+): ").unwrap();
    let shape = Regex::new(r"^(?:\([^)]*\)(?: [uf]32)?|[A-Z][a-z]*\b(?::|$))").unwrap();
    let of = |found: regex::Captures| {
        let (_, [says, name]) = found.extract();
        let shape = shape
            .find(says)
            .map(|shape| shape.as_str().trim_end_matches(':'));
        let shape = shape.map_or(String::new(), |shape| format!(" {shape}"));
        format!("`{name}`{shape}")
    };
    field.captures_iter(text).map(of).collect()
}

/// The chapter *Build your own level* lists the fields of the types that a method receives.
#[test]
fn the_table_of_fields_is_that_of_the_types() {
    let chapter = read(&root().join("book/chapters/own-level.md"));
    for (file, begin, name) in [
        ("crates/operands/src/norm.rs", "    Rms {", "Norm::Rms"),
        ("crates/operands/src/norm.rs", "    Layer {", "Norm::Layer"),
        (
            "crates/operands/src/linear.rs",
            "pub struct Linear {",
            "Linear",
        ),
        ("models/src/ops.rs", "pub struct Heads {", "Heads"),
        ("models/src/rope.rs", "pub struct Rope {", "Rope"),
        ("crates/operands/src/graph.rs", "pub struct Csr {", "Csr"),
        (
            "crates/operands/src/graph.rs",
            "pub struct Segments {",
            "Segments",
        ),
    ] {
        let text = read(&root().join(file));
        let (_, body) = text.split_once(begin).unwrap();
        let (body, _) = body.split_once('}').unwrap();
        let begin = format!("| `{name}` | ");
        let row = chapter.lines().find_map(|line| line.strip_prefix(&begin));
        let row = row.unwrap_or_else(|| panic!("no row of {name}"));
        let shown: Vec<&str> = row.trim_end_matches(" |").split("; ").collect();
        // A remark may follow the shape.
        let shown: Vec<&str> = (shown.iter())
            .map(|field| field.split(", if ").next().unwrap())
            .collect();
        let expected = fields(body);
        assert!(expected.len() > 1, "{name}: {expected:?}");
        assert_eq!(shown, expected, "{name}");
    }
}
