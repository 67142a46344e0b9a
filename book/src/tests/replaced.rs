//! A build puts its pages in the place of earlier ones.

use super::{book, page};
use crate::render;
use std::fs;

/// Earlier pages, and the files that a link leads to, stay as they are.
#[test]
fn pages_are_replaced_whole_or_not_at_all() {
    let root = book("first");
    let built = root.path().join("book");
    assert!(page(root.path()).contains("first"));
    fs::write(root.path().join("src/one.md"), "{{measure none}}").unwrap();
    render::build(root.path()).unwrap_err();
    let before = fs::read_to_string(built.join("one.html")).unwrap();
    assert!(before.contains("first"));
    fs::write(root.path().join("src/one.md"), "second").unwrap();
    #[cfg(unix)]
    {
        fs::rename(&built, root.path().join("mine")).unwrap();
        std::os::unix::fs::symlink("mine", &built).unwrap();
    }
    assert!(page(root.path()).contains("second"));
    if cfg!(unix) {
        let mine = fs::read_to_string(root.path().join("mine/one.html")).unwrap();
        assert!(mine.contains("first"));
    }
    let left = fs::read_dir(root.path()).unwrap().flatten();
    let left = left.filter(|e| e.file_name().to_string_lossy().starts_with(".candlepower-"));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_folder_that_is_no_book_is_refused() {
    let root = book("first");
    let built = root.path().join("book");
    fs::create_dir(&built).unwrap();
    page(root.path());
    fs::remove_file(built.join(".nojekyll")).unwrap();
    render::build(root.path()).unwrap_err();
    assert!(built.join("one.html").is_file());
}

/// A pipe would wait for a writer for ever.
#[cfg(target_os = "linux")]
#[test]
fn a_chapter_that_cannot_be_read_is_named() {
    let root = book("{{#include ../pipe}}");
    let fails = |end: &str| {
        let error = render::build(root.path()).unwrap_err().to_string();
        assert!(error.ends_with(end), "{error}");
    };
    let [chapter, pipe] = ["src/one.md", "pipe"].map(|name| root.path().join(name));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    fails("src/../pipe: expected a regular file, found a pipe or a device");
    fs::rename(&pipe, &chapter).unwrap();
    fails("src/one.md: expected a regular file, found a pipe or a device");
    fs::remove_file(&chapter).unwrap();
    fs::write(&chapter, b"\xff").unwrap();
    fails("src/one.md: expected UTF-8 text, found other bytes at offset 0");
}

/// mdBook would wait for each of these for ever.
#[cfg(target_os = "linux")]
#[test]
fn pipes_are_no_files_of_a_book() {
    for (chapter, pipe) in [
        ("{{ #include ../pipe}}", "pipe"),
        ("{{#playground ../pipe editable}}", "pipe"),
        ("first", "theme/index.hbs"),
        ("first", "src/picture.svg"),
        ("first", "book.toml"),
    ] {
        let root = book(chapter);
        fs::create_dir(root.path().join("theme")).unwrap();
        let path = root.path().join(pipe);
        let _ = fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let error = render::build(root.path()).unwrap_err().to_string();
        let end = format!("{pipe}: expected a regular file, found a pipe or a device");
        assert!(error.ends_with(&end), "{error}");
    }
}

#[test]
fn a_chapter_that_includes_itself_is_refused() {
    let two = "{{#include two.md}}";
    for (one, two) in [
        ("{{#include one.md}}", ""),
        (two, "{{#include ../src/one.md}}"),
    ] {
        let root = book(one);
        fs::write(root.path().join("src/two.md"), two).unwrap();
        let error = render::build(root.path()).unwrap_err().to_string();
        let part = "src/one.md:1: expected no chapter that includes itself, found ";
        assert!(error.contains(part), "{error}");
    }
    let root = book(&format!("{two}, {two}"));
    fs::write(root.path().join("src/two.md"), "twice").unwrap();
    assert!(page(root.path()).contains("twice, twice"));
}

#[test]
fn a_folder_that_takes_no_pages_is_named() {
    let root = book("first");
    fs::write(root.path().join("file"), "").unwrap();
    fs::write(
        root.path().join("book.toml"),
        "build.build-dir = 'file/book'",
    )
    .unwrap();
    let error = render::build(root.path()).unwrap_err().to_string();
    assert!(
        error.contains("file: expected a folder that can be written to"),
        "{error}"
    );
}

#[test]
fn a_book_without_one_of_its_files_is_found() {
    let clone = tempfile::tempdir().unwrap();
    let here = clone.path().join("levels/level1");
    fs::create_dir_all(&here).unwrap();
    let root = clone.path().join("book");
    fs::create_dir_all(root.join("chapters")).unwrap();
    assert_ne!(crate::around(&here), Some(root.clone()));
    for file in ["book.toml", "chapters/SUMMARY.md"] {
        fs::write(root.join(file), "").unwrap();
        assert_eq!(crate::around(&here), Some(root.clone()));
        fs::remove_file(root.join(file)).unwrap();
    }
}

/// Two builds at the same time do not move each other's pages.
#[test]
fn a_build_waits_for_another_that_puts_its_pages_there() {
    let root = book("first");
    let built = root.path().join("book");
    page(root.path());
    fs::write(root.path().join("src/one.md"), "second").unwrap();
    let other = data::Lock::of(&built).unwrap();
    std::thread::scope(|scope| {
        let build = scope.spawn(|| page(root.path()));
        std::thread::sleep(std::time::Duration::from_secs(2));
        let before = fs::read_to_string(built.join("one.html")).unwrap();
        assert!(before.contains("first"));
        drop(other);
        assert!(build.join().unwrap().contains("second"));
    });
}
