use std::collections::BTreeSet;
use std::fs;

use super::*;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The questions of all files, as `FILE/NAME`.
fn all() -> Vec<(String, Question)> {
    let folder = repository().join("book/quiz");
    let mut found = vec![];
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let questions = read(&folder, &file).unwrap();
        found.extend(
            questions
                .into_iter()
                .map(|q| (format!("{file}/{}", q.name), q)),
        );
    }
    found
}

#[test]
fn a_chapter_asks_each_question() {
    let chapters = repository().join("book/chapters");
    let read = |entry: fs::DirEntry| fs::read_to_string(entry.path()).ok();
    let text: String = fs::read_dir(chapters)
        .unwrap()
        .filter_map(|entry| read(entry.unwrap()))
        .collect();
    let asked = |name: &str| text.matches(&format!("{{{{quiz {name}}}}}")).count();
    for (name, _) in all() {
        assert_eq!(asked(&name), 1, "{name}");
    }
    assert!(all().len() >= 30, "{}", all().len());
}

#[test]
fn names_differ_and_each_option_says_why() {
    let names: BTreeSet<String> = all().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), all().len());
    for (name, question) in all() {
        for option in &question.option {
            assert!(option.why.len() > 30, "{name}: {}", option.why);
            assert!(option.label().is_some(), "{name}: {}", option.why);
        }
        let has_range = |option: &&Choice| option.range.is_some();
        let ranges = question.option.iter().filter(has_range).count();
        let all = question.option.len();
        let expected = match question.from {
            Source::Simulated { .. } => vec![0],
            // A number, or the name of a wait.
            Source::Counters { .. } => vec![0, all],
            Source::Ratio { .. } | Source::Measured { .. } => vec![all],
        };
        assert!(expected.contains(&ranges), "{name}");
    }
}

fn question(is: [&str; 3]) -> Question {
    let [a, b, c] = is;
    let text = format!(
        r#"
name = "n"
ask = "How many?"
from = {{ sim = "x.ptx", launch = "", want = {{ count = ["flops", ""] }} }}
option = [{{ is = "{a}", why = "A." }}, {{ is = "{b}", why = "B." }}, {{ is = "{c}", why = "C." }}]
"#
    );
    toml::from_str(&text).unwrap()
}

#[test]
fn the_right_option_is_the_one_that_was_computed() {
    let answer = Answer {
        value: "8".into(),
        origin: "So it was.".into(),
    };
    let text = question(["4", "8", "16"]).text(&answer).unwrap();
    let right = "<details><summary>8</summary>\n\n**Right.** B.\n\nSo it was.\n\n</details>";
    assert!(text.contains(right), "{text}");
    assert!(
        text.contains("<summary>4</summary>\n\n**No.** A."),
        "{text}"
    );
    for wrong in [["4", "5", "6"], ["8", "8", "6"]] {
        let error = question(wrong).text(&answer).unwrap_err().to_string();
        assert!(error.contains("expected one option that is `8`"), "{error}");
    }
}

#[test]
fn a_range_holds_its_first_number_and_not_its_last() {
    let choice = |range| Choice {
        text: Some("some".into()),
        is: None,
        range: Some(range),
        why: String::new(),
    };
    let answer = Answer {
        value: "1.5".into(),
        origin: String::new(),
    };
    assert!(choice([1.5, 2.]).fits(&answer));
    assert!(!choice([1., 1.5]).fits(&answer));
}
