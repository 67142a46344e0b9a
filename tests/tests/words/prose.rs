//! The prose of a Markdown page: without code, link targets and comments.

use std::sync::LazyLock;

use regex::Regex;

static EXEMPT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->|\{\{[^}]*\}\}").unwrap());

/// The lines of prose, numbered from one.
pub fn lines(page: &str) -> Vec<(usize, String)> {
    let mut in_code = false;
    let mut prose = vec![];
    for (index, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code || line.starts_with("    ") {
            continue;
        }
        prose.push((index + 1, EXEMPT.replace_all(line, "…").into_owned()));
    }
    assert!(!in_code, "a block of code that does not end");
    prose
}

#[test]
fn code_and_links_are_exempt() {
    let page = "A `picture` of [it](picture.svg).\n\n```sh\npicture\n```\n    picture\n<!-- picture -->\nA picture.\n";
    let found: Vec<_> = lines(page)
        .into_iter()
        .filter(|(_, line)| line.contains("picture"))
        .collect();
    assert_eq!(found, [(8, "A picture.".to_string())]);
}
