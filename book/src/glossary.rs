//! The glossary: a heading per term in the repository, where GitHub gives only headings an anchor, and a definition list
//! in the book.

use std::path::Path;

/// The chapter, below the folder of the chapters.
pub const CHAPTER: &str = "glossary.md";

/// Prefix of a term's line.
const TERM: &str = "### ";

/// Whether `path` is the glossary's.
pub fn is_it(path: Option<&Path>) -> bool {
    path == Some(Path::new(CHAPTER))
}

/// The term that this line begins.
pub fn term(line: &str) -> Option<&str> {
    line.strip_prefix(TERM)
}

/// `### Lane` and the paragraph after it as the definition list `Lane`, `: …`.
pub fn definitions(text: &str) -> String {
    let mut list = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(term) = term(line) else {
            list += &format!("{line}\n");
            continue;
        };
        list += &format!("{term}\n");
        let paragraph = lines.by_ref().skip_while(|line| line.is_empty());
        let mut lead = ": ";
        for line in paragraph.take_while(|line| !line.is_empty()) {
            list += &format!("{lead}{line}\n");
            lead = "  ";
        }
        list += "\n";
    }
    list
}

#[cfg(test)]
mod tests {
    use super::definitions;

    #[test]
    fn a_term_and_its_paragraph_become_a_definition() {
        let text = "# Glossary\n\nAll terms.\n\n### Lane\n\nOne of the\nthreads.\n\n### Warp\n\n32 lanes.\n";
        let list =
            "# Glossary\n\nAll terms.\n\nLane\n: One of the\n  threads.\n\nWarp\n: 32 lanes.\n\n";
        assert_eq!(definitions(text), list);
    }
}
