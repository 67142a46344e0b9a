//! A page of the reference in a small book.

use super::book;
use crate::library::Library;
use crate::reference::{Reference, findings};
use crate::render;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const REASON: &str = "[[slower]]\nlevel = 'level3'\nops = ['linear']\nreason = 'No GEMV.'\n";

/// The small book with a page of the reference and the folder of its op.
fn with_page(page: &str) -> TempDir {
    let book = book("{{reference}}");
    let write = |file: &str, text: &str| {
        let file = book.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write(
        "src/SUMMARY.md",
        "- [One](one.md)\n  - [Linear](reference/linear.md)\n",
    );
    write("src/reference/linear.md", page);
    write("kernels/src/linear/mod.rs", "//! y = x·w\n");
    write(
        "kernels/src/linear/level4.cu",
        "// Level 4 of linear: tiles.\n",
    );
    write("kernels/src/linear/level4.rs", "//! Level 4: tiles.\n");
    book
}

fn found(book: &Path) -> Vec<String> {
    let reference = Reference::open(book, &book.join("src"), book).unwrap();
    let mut library = Library::open(book, &book.join("target")).unwrap();
    findings(book, &reference, &mut library).unwrap()
}

#[test]
fn a_page_is_made_of_the_code_and_the_record() {
    let book = with_page("# Linear\n\n{{op linear}}\n");
    let built = render::build(book.path()).unwrap();
    let page = |name: &str| fs::read_to_string(built.join(name)).unwrap();
    let linear = page("reference/linear.html");
    assert!(linear.contains("<p>y = x·w</p>"), "{linear}");
    assert!(linear.contains("<strong>2.00</strong>"), "{linear}");
    let link = "<a href=\"source/linear.html#level4-cu\"><code>level4.cu</code></a>: tiles.";
    assert!(linear.contains(link), "{linear}");
    assert!(page("reference/source/linear.html").contains("id=\"level4-cu\""));
    assert!(page("one.html").contains("<a href=\"reference/linear.html\">Linear</a>"));
    assert_eq!(found(book.path()), [""; 0]);
}

#[test]
fn the_first_chart_and_table_are_open_and_the_others_folded() {
    let book = with_page("# Linear\n\n{{op linear}}\n");
    let page = || {
        let built = render::build(book.path()).unwrap();
        fs::read_to_string(built.join("reference/linear.html")).unwrap()
    };
    assert!(!page().contains("<details"), "{}", page());
    let record = fs::read_to_string(book.path().join("ops/cpu.json")).unwrap();
    let other = record.replace("A CPU", "Another CPU");
    fs::write(book.path().join("ops/other.json"), other).unwrap();
    let page = page();
    let (open, folded) = page.split_once("<details class=\"more\">").unwrap();
    assert_eq!(open.matches("<table>").count(), 1, "{page}");
    let start = "<summary>Table: linear on Another CPU</summary>";
    assert!(folded.starts_with(start), "{folded}");
    let (folded, _) = folded.split_once("</details>").unwrap();
    assert_eq!(folded.matches("<table>").count(), 1, "{page}");
}

#[test]
fn an_error_in_the_subfolder_has_its_line() {
    let book = with_page("# Linear\n\n{{op linear linear gelu}}\n");
    let error = format!("{:#}", render::build(book.path()).unwrap_err());
    let expected = "/src/reference/linear.md:3: {{op linear linear gelu}}: \
                    expected recorded rows of `gelu`, found none";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_missing_page_and_a_reason_without_a_case_are_found() {
    let book = with_page("# Linear\n");
    let missing = found(book.path());
    assert!(
        missing[0].ends_with("expected a page with {{op linear}}, found none"),
        "{missing:?}"
    );
    assert!(
        missing[1].ends_with("the recorded op `linear`, found 0"),
        "{missing:?}"
    );

    let book = with_page("# Linear\n\n{{op linear}}\n");
    fs::write(book.path().join("reference.toml"), REASON).unwrap();
    let stale = found(book.path());
    let end = "level3 is slower than the level below, found none for: No GEMV.";
    assert!(stale.len() == 1 && stale[0].ends_with(end), "{stale:?}");
    let record = book.path().join("ops/cpu.json");
    let slower = fs::read_to_string(&record).unwrap().replace("2.0", "20.0");
    fs::write(record, slower).unwrap();
    assert_eq!(found(book.path()), [""; 0]);
}
