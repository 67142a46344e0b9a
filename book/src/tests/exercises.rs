//! Pages of exercises.

use super::book;
use crate::render;
use classroom::page::Solutions;
use simt::case::files_below;
use std::fs;

/// `build --without-solutions`: neither the pages nor the search know them.
#[test]
fn a_book_may_lack_the_solutions() {
    let book = book("");
    let root = book.path();
    let config = fs::read_to_string(root.join("book.toml")).unwrap();
    let exercises = crate::root().join("../exercises");
    fs::write(
        root.join("book.toml"),
        format!("{config}exercises = {exercises:?}\n"),
    )
    .unwrap();
    let summary = "- [Exercises](exercises.md)\n- [Lectures](lectures.md)\n- [Courses](courses.md)\n- [Notes](teaching.md)\n";
    fs::write(root.join("src/SUMMARY.md"), summary).unwrap();
    let text = "For teachers: [notes\nof ours](teaching.md#safely), [talks](lectures.md), [a class in C](courses.md#c).\n\n{{exercises}}";
    fs::write(root.join("src/exercises.md"), text).unwrap();
    fs::write(
        root.join("src/teaching.md"),
        "## Safely\n\nIn 09, a barrier is missing.",
    )
    .unwrap();
    fs::write(root.join("src/lectures.md"), "The vote: 32 sectors.").unwrap();
    fs::write(root.join("src/courses.md"), "## C\n\nGrade 18 in C.").unwrap();
    for (solutions, shown) in [(Solutions::Shown, true), (Solutions::Hidden, false)] {
        let built = render::build_with(root, solutions).unwrap();
        let mut text = String::new();
        for file in files_below(&built, &["html", "js"]).unwrap() {
            text += &fs::read_to_string(file).unwrap();
        }
        for part in [
            "The output when it is solved",
            "07-guard: passed",
            "The solution, explained",
            "Wrong answers that the check rejects",
            "no barrier between the steps",
            "In 09, a barrier is missing.",
            "teaching.html",
            "The vote: 32 sectors.",
            "lectures.html",
            "Grade 18 in C.",
            "courses.html",
        ] {
            assert_eq!(text.contains(part), shown, "{part}");
        }
        assert!(text.contains("Hint 3") && text.contains("For teachers: "));
        assert!(text.contains("(07-guard is not solved yet; "));
    }
}
