//! Chapters that are too long to read in one sitting, and chapters without a figure.

use crate::place;
use anyhow::Result;
use regex::Regex;
use std::fs;
use std::path::Path;

/// Maximum words of a chapter's prose: without code, tables, figures, questions and their answers.
const WORDS: usize = 3000;
/// Maximum lines of code on its page, shell commands and output not counted.
const LINES: usize = 300;
/// Pages that are looked up: a list of links and a list of words, which need no figure and may have long tables.
pub(super) const LOOKED_UP: [&str; 2] = ["glossary", "reference"];

/// One finding per limit that the page of a chapter exceeds.
pub fn findings(chapters: &Path, built: &Path) -> Result<Vec<String>> {
    let mut found = vec![];
    for chapter in fs::read_dir(chapters)? {
        let path = chapter?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let page = built.join(&*name).with_extension("html");
        if !page.is_file() || !is_markdown(&path) {
            continue;
        }
        let said = of_page(&fs::read_to_string(page)?, !LOOKED_UP.contains(&&*name))?;
        found.extend(
            said.into_iter()
                .map(|said| format!("{}: {said}", place::from_root(&path))),
        );
    }
    found.sort();
    Ok(found)
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// Findings in a page of HTML, which may need a figure.
fn of_page(html: &str, needs_figure: bool) -> Result<Vec<String>> {
    let main = html.split_once("<main>").map_or(html, |(_, rest)| rest);
    let main = main.split_once("</main>").map_or(main, |(main, _)| main);
    let figure = Regex::new("<figure|<svg|<img")?;
    let code = Regex::new(r#"(?s)<pre[^>]*><code class="language-(\w+)[^>]*>(.*?)</code>"#)?;
    let is_source = |language: &str| !matches!(language, "sh" | "text" | "console" | "json");
    let lines: usize = code
        .captures_iter(main)
        .filter(|block| is_source(&block[1]))
        .map(|block| block[2].trim_end().lines().count())
        .sum();
    let words = words(main)?;
    let has_figure = figure.is_match(main);
    let wrong = [
        (words > WORDS).then(|| format!("expected at most {WORDS} words, found {words}")),
        (lines > LINES).then(|| format!("expected at most {LINES} lines of code, found {lines}")),
        (needs_figure && !has_figure).then(|| "expected a figure, found none".into()),
    ];
    Ok(wrong.into_iter().flatten().collect())
}

/// Words of the prose in HTML.
fn words(html: &str) -> Result<usize> {
    let mut prose = html.to_owned();
    for element in ["pre", "svg", "table", "details", "form", "script"] {
        let whole = Regex::new(&format!(r"(?s)<{element}\b.*?</{element}>"))?;
        prose = whole.replace_all(&prose, " ").into_owned();
    }
    // Code inside a sentence is one word.
    let code = Regex::new(r"(?s)<code\b.*?</code>")?;
    let prose = code.replace_all(&prose, "code");
    // Figures of the reader's machine are no part of the chapter.
    let tag = Regex::new(r"(?s)<!--.*?-->|<[^>]*>|\s*\(here: [^)]*\)")?;
    Ok(tag.replace_all(&prose, "").split_whitespace().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(main: &str) -> Vec<String> {
        let page = format!("<nav>one two</nav><main>{main}</main><p>three</p>");
        of_page(&page, true).unwrap()
    }

    #[test]
    fn only_prose_is_counted() {
        let html = "<p>One <em>two</em>,\nthree <code>a b c</code> (here: 1 µs).</p><!-- no word -->\
            <table><tr><td>no</td></tr></table><pre><code class=\"language-rust\">no\n</code></pre>";
        assert_eq!(words(html).unwrap(), 4);
    }

    #[test]
    fn a_long_page_without_a_figure() {
        let figure = "<figure></figure>";
        assert!(said(figure).is_empty());
        assert_eq!(said("<p>a</p>"), ["expected a figure, found none"]);
        assert!(of_page("<main>a</main>", false).unwrap().is_empty());
        let prose = |words| format!("{figure}<p>{}</p>", "word ".repeat(words));
        assert!(said(&prose(WORDS)).is_empty());
        let expected = "expected at most 3000 words, found 3001";
        assert_eq!(said(&prose(WORDS + 1)), [expected]);
        let code = |language, lines| {
            let text = "x\n".repeat(lines);
            format!("{figure}<pre><code class=\"language-{language} hljs\">{text}</code></pre>")
        };
        assert!(said(&code("ptx", LINES)).is_empty());
        assert!(said(&code("text", LINES + 1)).is_empty());
        let expected = "expected at most 300 lines of code, found 301";
        for language in ["cpp", "ptx", "rust"] {
            assert_eq!(said(&code(language, LINES + 1)), [expected], "{language}");
        }
    }
}
