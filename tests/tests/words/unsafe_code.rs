//! docs/UNSAFE.md lists the files with unsafe code; the files decide.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;
use tests::root;

/// Folders that hold other things than the project's sources.
const NOT_SOURCES: [&str; 3] = ["target", "my-exercises", ".git"];

/// Adds the Rust files below `folder` that have unsafe code, with `/` in their paths.
fn find(folder: &Path, code: &Regex, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() && !path.is_symlink() && !NOT_SOURCES.contains(&&*name) {
            find(&path, code, found);
        } else if name.ends_with(".rs") && path.is_file() {
            let text = fs::read_to_string(&path).unwrap();
            if has_unsafe(&text, code) {
                let path = path.strip_prefix(root()).unwrap();
                let parts = path.iter().map(|part| part.to_string_lossy());
                found.insert(parts.collect::<Vec<_>>().join("/"));
            }
        }
    }
}

/// Whether a line has unsafe code: outside of comments and of strings that end on it.
fn has_unsafe(text: &str, code: &Regex) -> bool {
    let string = Regex::new(r#""(\\.|[^"\\])*""#).unwrap();
    text.lines().any(|line| {
        let line = string.replace_all(line, "");
        let line = line.split("//").next().unwrap_or_default();
        code.is_match(line)
    })
}

fn code() -> Regex {
    Regex::new(r"\bunsafe\s*(\{|\(|fn\b|impl\b|extern\b|trait\b)").unwrap()
}

#[test]
fn the_page_has_the_files_with_unsafe_code() {
    let mut found = BTreeSet::new();
    find(&root(), &code(), &mut found);
    assert!(found.len() > 30, "{found:?}");
    let page = fs::read_to_string(root().join("docs/UNSAFE.md")).unwrap();
    let listed = page
        .lines()
        .filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`'));
    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "docs/UNSAFE.md lacks {missing:?} and has {gone:?}, which have no unsafe code"
    );
}

#[test]
fn comments_and_strings_are_no_code() {
    for line in [
        "unsafe { f() }",
        "pub unsafe fn f()",
        "#[unsafe(no_mangle)]",
    ] {
        assert!(has_unsafe(line, &code()), "{line}");
    }
    for line in [
        "// unsafe { f() }",
        "let text = \"unsafe { f() }\";",
        "#![forbid(unsafe_code)]",
    ] {
        assert!(!has_unsafe(line, &code()), "{line}");
    }
}
