//! The prose of *The Rust Programming Language*, from rustup's default profile.
//!
//! The book is HTML by mdBook, with one `<main>` per chapter. A short tag stripper suffices, so no HTML
//! parser is needed. Code listings are dropped.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::BadInput;
use crate::file;

mod html;

/// One chapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The file's name without `.html`.
    pub name: String,
    /// Paragraphs, headings, list items and captions, separated by empty lines.
    pub text: String,
}

const EXPECTED: &str =
    "the Rust book (install it with `rustup component add rust-docs`, or pass `--text FILE`)";
/// Pages that duplicate others: the first chapter, all chapters, the contents.
const REPEATS: [&str; 3] = ["index", "print", "toc"];

/// Finds the book's folder in the toolchain of `rustc`.
///
/// # Errors
/// If there is no `rustc`, or its toolchain lacks the book.
pub fn find_rust_book() -> Result<PathBuf, BadInput> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "sysroot"])
        .output()
        .map_err(|e| BadInput::new("rustc --print sysroot", EXPECTED, e))?;
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let book = Path::new(&sysroot).join("share/doc/rust/html/book");
    if book.is_dir() {
        Ok(book)
    } else {
        Err(BadInput::new(book.display(), EXPECTED, "no such folder"))
    }
}

/// Reads the chapters in `book`, sorted by name.
///
/// Redirecting files, which have no `<main>`, and pages that duplicate others are left out.
///
/// # Errors
/// If the folder or a file in it cannot be read, or has no chapter.
pub fn rust_book(book: &Path) -> Result<Vec<Page>, BadInput> {
    let bad = |e| BadInput::new(book.display(), EXPECTED, e);
    let mut pages = vec![];
    for entry in std::fs::read_dir(book).map_err(bad)? {
        let path = entry.map_err(bad)?.path();
        let name = path
            .file_stem()
            .and_then(|s| s.to_str())
            .unwrap_or_default();
        if path.extension().is_none_or(|e| e != "html") || REPEATS.contains(&name) {
            continue;
        }
        if let Some(text) = html::prose(&file::read_text(&path)?) {
            let name = name.to_owned();
            pages.push(Page { name, text });
        }
    }
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    if pages.is_empty() {
        Err(BadInput::new(book.display(), EXPECTED, "no chapter"))
    } else {
        Ok(pages)
    }
}

/// Splits `pages` into training and held-out pages: a hash of the name holds out about one page in ten, so a
/// new chapter does not move others.
pub fn split(pages: Vec<Page>) -> (Vec<Page>, Vec<Page>) {
    // The middle bits of this hash are mixed best.
    let is_held_out = |page: &Page| (fnv1a(&page.name) >> 16).is_multiple_of(10);
    let (held_out, train) = pages.into_iter().partition(is_held_out);
    (train, held_out)
}

/// FNV-1a, 64 bits (Fowler, Noll and Vo): the same on every machine and in every release.
fn fnv1a(name: &str) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
