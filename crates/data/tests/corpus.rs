//! The toolchain's book, and folders without a book.

#[path = "../../../tests/src/skip.rs"]
mod skip;

use data::corpus::{Page, rust_book, split};

#[test]
fn chapters_come_in_order_without_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let page = |name: &str, html: &str| std::fs::write(dir.path().join(name), html).unwrap();
    page("b.html", "<main><p>Second.</p></main>");
    page("a.html", "<main><p>First.</p></main>");
    page("index.html", "<main><p>First.</p></main>");
    page("print.html", "<main><p>First.</p><p>Second.</p></main>");
    page("old.html", "<body>Redirecting</body>");
    page("a.css", "<main><p>Not a page.</p></main>");
    let page = |name: &str, text: &str| Page {
        name: name.into(),
        text: text.into(),
    };
    let expected = vec![page("a", "First.\n\n"), page("b", "Second.\n\n")];
    assert_eq!(rust_book(dir.path()), Ok(expected));
}

#[test]
fn a_missing_book_is_reported_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    for folder in [dir.path().to_owned(), dir.path().join("none")] {
        let error = rust_book(&folder).unwrap_err().to_string();
        assert!(error.contains("--text FILE"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

#[test]
fn about_a_page_in_ten_is_held_out() {
    let page = |i| Page {
        name: format!("ch{i:03}"),
        text: String::new(),
    };
    let (train, held_out) = split((0..1000).map(page).collect());
    assert_eq!(train.len() + held_out.len(), 1000);
    assert!((70..130).contains(&held_out.len()), "{}", held_out.len());
    let (again, _) = split(train.clone());
    assert_eq!(again, train, "a page's side depends on its name alone");
}

#[test]
fn the_books_prose_is_plain() {
    let Ok(book) = data::corpus::find_rust_book() else {
        let why = "the Rust book is not installed (rustup component rust-docs)";
        return skip::skip("the_books_prose_is_plain", why);
    };
    let pages = rust_book(&book).unwrap();
    let (train, held_out) = split(pages.clone());
    let bytes = |pages: &[Page]| pages.iter().map(|p| p.text.len()).sum::<usize>();
    println!(
        "{} pages of {} bytes; held out: {} of {}",
        pages.len(),
        bytes(&pages),
        held_out.len(),
        bytes(&held_out)
    );
    assert!(pages.len() > 100 && bytes(&pages) > 700_000);
    assert!(bytes(&train) > 5 * bytes(&held_out) && !held_out.is_empty());
    let all: String = pages.into_iter().map(|p| p.text).collect();
    for left in [
        "<p>",
        "</",
        "&lt;",
        "&amp;",
        "fn main() {\n",
        "Keyboard shortcuts",
    ] {
        assert!(!all.contains(left), "{left}");
    }
    assert!(
        all.contains("Ownership is a set of rules that govern how a Rust program manages memory.")
    );
}
