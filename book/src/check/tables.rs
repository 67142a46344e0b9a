//! Tables of a chapter that are too long to read: a chapter keeps what it concludes from, and the reference has the rest.

use super::length::LOOKED_UP;
use anyhow::Result;
use regex::Regex;
use simt::case::files_below;
use std::fs;
use std::path::Path;

/// Maximum rows of a table in a chapter, its heading not counted.
const ROWS: usize = 12;
/// The folder of the reference's pages; all of them are looked up.
const REFERENCE: &str = "reference/";
/// Copies: the first chapter under another name, and all chapters on one page.
const COPIES: [&str; 2] = ["index.html", "print.html"];
/// Headings of a chapter whose table may be longer, because it is a list and not a measurement.
const LISTS: [(&str, &str); 1] = [
    // The index of the exercises, one row each. A learner looks up a number in it.
    ("exercises.html", "all-exercises"),
];

/// One finding per table in `built` that is too long for its chapter.
pub fn findings(built: &Path) -> Result<Vec<String>> {
    let mut found = vec![];
    for page in files_below(built, &["html"])? {
        let name = page.strip_prefix(built)?.display().to_string();
        let name = name.replace('\\', "/");
        let is_looked_up = LOOKED_UP.contains(&name.trim_end_matches(".html"));
        if !is_looked_up && !COPIES.contains(&&*name) && !name.starts_with(REFERENCE) {
            found.extend(of_page(&name, &fs::read_to_string(&page)?)?);
        }
    }
    Ok(found)
}

/// The tables of a page that are too long, by the headings above them.
fn of_page(name: &str, html: &str) -> Result<Vec<String>> {
    let part = Regex::new(r#"(?s)<h[1-6] id="([^"]+)"|<table\b.*?</table>"#)?;
    let mut heading = String::new();
    let mut found = vec![];
    for part in part.captures_iter(html) {
        if let Some(id) = part.get(1) {
            heading = id.as_str().into();
            continue;
        }
        let rows = rows(&part[0]);
        if rows > ROWS && !LISTS.contains(&(name, &*heading)) {
            found.push(format!(
                "{name}#{heading}: expected a table of at most {ROWS} rows in a chapter, found {rows}; \
                 move it to the reference"
            ));
        }
    }
    Ok(found)
}

/// The rows of a table but for its heading and for times of the reader's own.
fn rows(table: &str) -> usize {
    let rows = table.split("<tr").skip(1);
    let is_counted = |row: &&str| row.contains("<td") && !row.contains("<td><em>here");
    rows.filter(is_counted).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with a table below each heading.
    fn page(tables: &[(&str, usize)]) -> String {
        let tables = tables.iter().map(|(heading, rows)| {
            let rows = "<tr><td>a</td></tr>\n".repeat(*rows);
            let own = "<tr><td><em>here (cargo bench)</em></td></tr>\n";
            format!(
                "<h2 id=\"{heading}\">a</h2><table><thead><tr><th>a</th></tr></thead>{rows}{own}</table>"
            )
        });
        tables.collect()
    }

    #[test]
    fn a_long_table_of_a_chapter_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, tables: &[(&str, usize)]| {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, page(tables)).unwrap();
        };
        write("a.html", &[("short", ROWS), ("long", ROWS + 1)]);
        write("exercises/b.html", &[("times", 2 * ROWS)]);
        write(
            "exercises.html",
            &[("all-exercises", 2 * ROWS), ("limits", ROWS + 1)],
        );
        for name in [
            "glossary.html",
            "reference.html",
            "reference/matmul.html",
            "reference/source/matmul.html",
            "index.html",
            "print.html",
        ] {
            write(name, &[("times", 2 * ROWS)]);
        }
        let mut found = findings(folder.path()).unwrap();
        found.sort();
        let finding = |place: &str, rows: usize| {
            format!(
                "{place}: expected a table of at most 12 rows in a chapter, found {rows}; \
                 move it to the reference"
            )
        };
        let expected = [
            finding("a.html#long", 13),
            finding("exercises.html#limits", 13),
            finding("exercises/b.html#times", 24),
        ];
        assert_eq!(found, expected);
    }
}
