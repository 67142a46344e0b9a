//! Texts and files of exercises.

use std::fs;
use std::process::Command;

use classroom::check::predictions;
use classroom::page::{Minutes, Solutions, page, session};
use classroom::source::compare;
use classroom::{Exercise, Kind, Language, exercise};
use tempfile::TempDir;

use crate::desk::{all, repository, solution};
use crate::skip::skip;

/// ptxas and drivers reject non-ASCII text, even in comments.
#[test]
fn ptx_is_ascii() {
    for exercise in all().iter().filter(|e| e.language == Language::Ptx) {
        let text = solution(exercise).to_owned() + &exercise.starter;
        let place = text.lines().position(|line| !line.is_ascii());
        assert_eq!(place, None, "{}", exercise.id);
    }
}

#[test]
fn an_exercise_stands_in_a_chapter_that_there_is() {
    for exercise in all() {
        let spec = &exercise.spec;
        let chapter = repository().join("book/chapters").join(&spec.chapter);
        assert!(chapter.is_file(), "{}: {}", exercise.id, spec.chapter);
        assert!(
            (1..=5).contains(&spec.session) && (1..=5).contains(&spec.level),
            "{}",
            exercise.id
        );
        let mut hints: Vec<usize> = spec.hints.iter().map(String::len).collect();
        hints.retain(|&length| length > 20);
        assert_eq!(hints.len(), 3, "{}: each hint says something", exercise.id);
        let in_rust = exercise.language == Language::Rust;
        assert_eq!(spec.checked.is_empty(), !in_rust, "{}", exercise.id);
        if let Some(sibling) = &spec.sibling {
            // `all` may keep one exercise.
            let exercises = exercise::all(&repository().join("exercises")).unwrap();
            let sibling = exercise::find(&exercises, sibling).unwrap().clone();
            assert_ne!(sibling.language, Language::Cuda, "{}", exercise.id);
        }
    }
}

/// A reader who solves exercises by number never turns back to an earlier chapter.
#[test]
fn exercises_are_numbered_in_the_order_of_the_book() {
    let summary = repository().join("book/chapters/SUMMARY.md");
    let summary = fs::read_to_string(summary).unwrap();
    let place = |exercise: &Exercise| {
        let link = format!("]({})", exercise.spec.chapter);
        let found = summary.find(&link);
        found.unwrap_or_else(|| panic!("{}: SUMMARY.md has no {link}", exercise.id))
    };
    for pair in all().windows(2) {
        assert!(
            place(&pair[0]) <= place(&pair[1]),
            "{} is of {}, and {} of {}, which comes earlier in the book",
            pair[0].id,
            pair[0].spec.chapter,
            pair[1].id,
            pair[1].spec.chapter
        );
    }
}

/// A hint must not contain the right prediction.
#[test]
fn hints_predict_nothing() {
    let predicts = |e: &Exercise| e.spec.kind == Kind::OptimisationThatLoses;
    for exercise in all().into_iter().filter(predicts) {
        let answers = predictions(&exercise, solution(&exercise)).unwrap();
        let is_telling = |answer: &&String| answer.len() > 1 && answer.parse::<f64>().is_ok();
        for answer in answers.values().filter(is_telling) {
            for hint in &exercise.spec.hints {
                let mut words = hint.split(|c: char| !c.is_alphanumeric());
                assert!(!words.any(|word| word == answer), "{}: {hint}", exercise.id);
            }
        }
    }
}

/// The promised number of exercises of each kind.
#[test]
fn there_are_enough_of_each_kind() {
    if std::env::var_os("CANDLEPOWER_EXERCISE").is_some() {
        let why = "CANDLEPOWER_EXERCISE selects one exercise";
        return skip("there_are_enough_of_each_kind", why);
    }
    let all = all();
    let count = |kind: Kind| all.iter().filter(|e| e.spec.kind == kind).count();
    assert!(all.len() >= 16);
    assert!(count(Kind::FindTheBug) >= 4);
    assert!(count(Kind::Detective) >= 2);
    assert!(count(Kind::OptimisationThatLoses) >= 2);
    for session in 1..=5 {
        let graded = all
            .iter()
            .filter(|e| e.spec.session == session && e.spec.graded);
        assert_eq!(graded.count(), 1, "session {session} has one graded task");
    }
    let numbers: Vec<String> = (1..=all.len()).map(|n| format!("{n:02}")).collect();
    let found: Vec<&str> = all.iter().map(|e| e.number()).collect();
    assert_eq!(found, numbers);
}

/// The required work of a session takes at most 200 minutes.
#[test]
fn a_session_takes_at_most_200_minutes() {
    let chapter = repository().join("book/chapters/syllabus.md");
    let text = fs::read_to_string(chapter).unwrap();
    let sessions = text.split("{{session ").skip(1).map(|rest| {
        let (number, rest) = rest.split_once(" reading=").unwrap();
        let reading = rest.split_once("}}").unwrap().0;
        (number.parse().unwrap(), reading.parse().unwrap())
    });
    let sessions: Vec<(u8, u32)> = sessions.collect();
    assert_eq!(
        sessions.iter().map(|s| s.0).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5]
    );
    let all = exercise::all(&repository().join("exercises")).unwrap();
    let next = sessions.iter().skip(1).map(|s| s.1).chain([0]);
    for (&(number, reading), next) in sessions.iter().zip(next) {
        let of_it: Vec<_> = all.iter().filter(|e| e.spec.session == number).collect();
        let minutes = Minutes::of(&of_it, reading);
        assert!(minutes.together() <= 200, "session {number}: {minutes:?}");
        assert!(of_it.iter().all(|e| !(e.spec.graded && e.spec.optional)));
        let row = row_of_session(number, [reading, next], &of_it);
        assert!(text.contains(&row), "syllabus.md: expected {row}");
    }
}

/// Minutes of a session in which the teacher talks.
const TALK: u32 = 20;

/// A session's row in the syllabus's table of minutes, which is also read on GitHub, up to the last column. `next`:
/// the reading for the session after it.
fn row_of_session(number: u8, [reading, next]: [u32; 2], exercises: &[&Exercise]) -> String {
    let with_minutes = |e: &&&Exercise| format!("{} ({})", e.number(), e.spec.minutes);
    let in_the_room: Vec<&&Exercise> = exercises
        .iter()
        .filter(|e| !e.spec.graded && !e.spec.optional)
        .collect();
    let minutes: u32 = in_the_room.iter().map(|e| e.spec.minutes).sum();
    let listed: Vec<String> = in_the_room.iter().map(with_minutes).collect();
    let graded: Vec<&&Exercise> = exercises.iter().filter(|e| e.spec.graded).collect();
    let [graded] = graded[..] else {
        panic!("session {number}: expected one graded task")
    };
    let language = match graded.language {
        Language::Ptx => "PTX",
        Language::Cuda => "CUDA C++",
        Language::Rust => "Rust",
    };
    format!(
        "| {number} | {reading} | {} | {} | {}, {language} | {} |",
        minutes + TALK,
        listed.join(", "),
        with_minutes(&graded),
        graded.spec.minutes + next
    )
}

/// The page has the starter and all hints.
#[test]
fn pages_come_from_the_source() {
    for exercise in all() {
        let page = page(&exercise, Solutions::Hidden);
        assert!(page.contains(&exercise.starter), "{}", exercise.id);
        for hint in &exercise.spec.hints {
            assert!(page.contains(hint), "{}", exercise.id);
        }
    }
}

/// Goals that only an optional exercise teaches are marked, and no others.
#[test]
fn optional_goals_are_marked() {
    let all = all();
    for number in 1..=5 {
        let of_it: Vec<_> = all.iter().filter(|e| e.spec.session == number).collect();
        let text = session(&of_it, 0);
        for exercise in of_it {
            let mark = if exercise.spec.optional {
                " (optional)"
            } else {
                ""
            };
            let line = format!("- {}{mark};\n", exercise.spec.objective);
            assert!(text.contains(&line), "{text}");
        }
    }
}

/// Formatting on save changes no line outside the regions, in any edition of Rust.
#[test]
fn rust_may_be_formatted() {
    let folder = TempDir::new().unwrap();
    for exercise in all().iter().filter(|e| e.language == Language::Rust) {
        for (text, edition) in [&exercise.starter, solution(exercise)]
            .into_iter()
            .flat_map(|text| ["2015", "2018", "2021", "2024"].map(|edition| (text, edition)))
        {
            let path = folder.path().join(exercise.file());
            fs::write(&path, text).unwrap();
            let mut rustfmt = Command::new("rustfmt");
            let status = rustfmt.args(["--edition", edition]).arg(&path).status();
            assert!(status.unwrap().success(), "{}", exercise.id);
            let formatted = fs::read_to_string(&path).unwrap();
            let same = compare(&formatted, &exercise.starter);
            assert_eq!(same, Ok(()), "{}, edition {edition}", exercise.id);
        }
    }
}
