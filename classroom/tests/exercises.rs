//! Every exercise: its solution passes, its starter does not, and its check rejects each wrong solution, by
//! the part that is meant to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use classroom::page::page;
use classroom::source::{Edit, compare};
use classroom::spec::{Right, Wrong};
use classroom::{Exercise, Failure, Kind, Language, Outcome, Part, Rustc, Tools, check, exercise};
use data::BadInput;
use rayon::prelude::*;
use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn all() -> Vec<Exercise> {
    let mut all = exercise::all(&repository().join("exercises")).unwrap();
    if let Ok(only) = std::env::var("CANDLEPOWER_EXERCISE") {
        all.retain(|e| e.id.contains(&only));
    }
    all
}

fn no_cuda(path: &Path, _: &str) -> Result<Result<String, String>, BadInput> {
    Err(BadInput::new(path.display(), "NVRTC", "none"))
}

/// Where submissions are checked: a folder and what checks need.
struct Desk {
    folder: TempDir,
    rust: Rustc,
}

impl Desk {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            rust: Rustc {
                limit: Duration::from_secs(20),
            },
        }
    }

    /// `name` tells submissions of one exercise apart.
    fn check(&self, exercise: &Exercise, name: &str, text: impl AsRef<[u8]>) -> Outcome {
        let folder = self.folder.path().join(format!("{}-{name}", exercise.id));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(exercise.file());
        fs::write(&path, text).unwrap();
        let tools = Tools {
            cuda: &no_cuda,
            rust: &self.rust,
        };
        check::check(exercise, &path, &tools, rand::random())
    }
}

/// Exercises in CUDA are checked where the compiler is: by the tests of the command.
fn here() -> Vec<Exercise> {
    all()
        .into_iter()
        .filter(|e| e.language != Language::Cuda)
        .collect()
}

fn solution(exercise: &Exercise) -> &str {
    exercise.solution.as_deref().unwrap()
}

#[test]
fn solutions_pass() {
    let desk = Desk::new();
    let exercises = here();
    let wrong = exercises.par_iter().filter_map(|exercise| {
        let outcome = desk
            .check(exercise, "solution", solution(exercise))
            .unwrap();
        Some(format!("{}: {}", exercise.id, outcome.err()?.line))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A starter is something that can be run: it fails for what it computes, not for how it is written.
#[test]
fn starters_are_well_formed_and_fail() {
    let desk = Desk::new();
    let exercises = here();
    let wrong = exercises.par_iter().filter_map(|exercise| {
        match desk.check(exercise, "starter", &exercise.starter).unwrap() {
            Err(Failure {
                by: Part::Text | Part::Outside | Part::Time,
                line,
                ..
            }) => Some(line),
            Err(_) => None,
            Ok(_) => Some(format!("{}: the starter passes", exercise.id)),
        }
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_solutions_are_rejected() {
    let desk = Desk::new();
    let rejected = |exercise: &Exercise| {
        let wrong = exercise.bank().unwrap().wrong;
        let mut complaints = vec![];
        for (number, wrong) in wrong.iter().enumerate() {
            let Wrong {
                what,
                replace,
                with,
                caught_by,
            } = wrong.clone();
            let edit = Edit { replace, with };
            let text = edit
                .apply(solution(exercise), &format!("{} ({what})", exercise.id))
                .unwrap();
            let found = match desk.check(exercise, &number.to_string(), &text).unwrap() {
                Ok(_) => "it passes".to_owned(),
                Err(failure) if failure.by.to_string() == caught_by => continue,
                Err(failure) => format!("{}: {}", failure.by, failure.line),
            };
            complaints.push(format!(
                "{}: {what}: expected {caught_by}, found {found}",
                exercise.id
            ));
        }
        complaints
    };
    let wrong: Vec<String> = here().par_iter().flat_map(rejected).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
/// A check is no copy of the solution: other ways to the same end pass as well.
#[test]
fn other_right_solutions_pass() {
    let desk = Desk::new();
    let passes = |exercise: &Exercise| {
        let mut complaints = vec![];
        for (number, right) in exercise.bank().unwrap().right.into_iter().enumerate() {
            let Right {
                what,
                replace,
                with,
            } = right;
            let name = format!("{} ({what})", exercise.id);
            let text = Edit { replace, with }
                .apply(solution(exercise), &name)
                .unwrap();
            let outcome = desk
                .check(exercise, &format!("right-{number}"), &text)
                .unwrap();
            complaints.extend(
                outcome
                    .err()
                    .map(|failure| format!("{name}: {}", failure.line)),
            );
        }
        complaints
    };
    let exercises = here();
    let complaints: Vec<String> = exercises.par_iter().flat_map(passes).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn each_has_five_wrong_solutions_that_differ_and_another_right_one() {
    for exercise in all() {
        let bank = exercise.bank().unwrap();
        assert!(!bank.right.is_empty(), "{}", exercise.id);
        let wrong = bank.wrong;
        let mut edits: Vec<_> = wrong.iter().map(|w| (&w.replace, &w.with)).collect();
        edits.sort();
        edits.dedup();
        assert!(
            edits.len() >= 5 && edits.len() == wrong.len(),
            "{}",
            exercise.id
        );
    }
}

/// ptxas and the drivers refuse anything else, even in a comment.
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
            let sibling = exercise::find(&all(), sibling).unwrap().clone();
            assert_ne!(sibling.language, Language::Cuda, "{}", exercise.id);
        }
    }
}

/// What the project promises of its exercises.
#[test]
fn there_are_enough_of_each_kind() {
    if std::env::var_os("CANDLEPOWER_EXERCISE").is_some() {
        return;
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

/// The page has the starter as it is, every hint, and nothing of the solution that the starter has not.
#[test]
fn pages_come_from_the_source() {
    for exercise in all() {
        let page = page(&exercise);
        assert!(page.contains(&exercise.starter), "{}", exercise.id);
        for hint in &exercise.spec.hints {
            assert!(page.contains(hint), "{}", exercise.id);
        }
        assert!(!page.contains(solution(&exercise)), "{}", exercise.id);
    }
}

/// The simulator would take it, and no GPU.
#[test]
fn a_comment_in_ptx_is_ascii() {
    let all = exercise::all(&repository().join("exercises")).unwrap();
    let exercise = exercise::find(&all, "guard").unwrap();
    let text = solution(exercise).replace("// END", "// ⌈n/128⌉\n    // END");
    let failure = Desk::new()
        .check(exercise, "ascii", &text)
        .unwrap()
        .unwrap_err();
    assert!(
        failure.line.contains(": expected ASCII, also in comments"),
        "{}",
        failure.line
    );
}

/// An editor that formats a file when it is saved changes no line that has to stay, whatever edition it takes it for.
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

/// Editors that begin a file with a byte order mark, or put other blanks into a line, change nothing.
#[test]
fn blanks_and_marks_change_nothing() {
    let all = exercise::all(&repository().join("exercises")).unwrap();
    let exercise = exercise::find(&all, "guard").unwrap();
    let blanks = solution(exercise).replace("ld.param.u64    %x,", "ld.param.u64\t%x, ");
    let text = format!("\u{feff}{blanks}");
    let outcome = Desk::new().check(exercise, "blanks", text).unwrap();
    assert_eq!(outcome, Ok(vec![]));
}

/// A learner who prints sees it, and what stood on both sides of an `assert_eq!`.
#[test]
fn what_is_printed_is_shown() {
    let all = exercise::all(&repository().join("exercises")).unwrap();
    let exercise = exercise::find(&all, "swapped-gate").unwrap();
    let with = |line: &str| {
        let text = solution(exercise).replace(
            "    gate.silu()? * up",
            &format!("    {line}\n    gate.silu()? * up"),
        );
        let name = line.len().to_string();
        Desk::new().check(exercise, &name, text).unwrap()
    };
    let notes = with("println!(\"f is {f}\");").unwrap();
    assert_eq!(notes[..2], ["it printed:", "    f is 1"]);
    let notes = with("dbg!(f);").unwrap();
    assert!(
        notes[0] == "it printed to stderr:" && notes[1].ends_with("f = 1"),
        "{notes:?}"
    );
    let flood = with("println!(\"{}\", \"x\".repeat(3_000_000));").unwrap();
    assert!(flood.len() > 1, "{}", flood.len());
    let failure = with("eprintln!(\"so far\"); assert_eq!(f, 7);").unwrap_err();
    assert!(
        failure
            .line
            .ends_with("panicked: assertion `left == right` failed, left: 1, right: 7"),
        "{}",
        failure.line
    );
    assert_eq!(failure.notes, ["it printed to stderr:", "    so far"]);
    let failure = with("y.narrow(1, 0, 9 * f)?;").unwrap_err();
    let line = 1 + with_line(solution(exercise), "gate.silu()? * up");
    assert!(
        failure
            .line
            .contains(&format!(".rs:{line}: candle refuses an operation")),
        "{}",
        failure.line
    );
}

/// The number of the line before the one that has `part`, from 1.
fn with_line(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).unwrap()
}

/// A submission cannot be waited for longer than it may run, whatever it leaves behind; nor does its word stand where it
/// can read it.
#[test]
fn what_a_submission_starts_ends_with_it() {
    let all = exercise::all(&repository().join("exercises")).unwrap();
    let exercise = exercise::find(&all, "swapped-gate").unwrap();
    let with = |name: &str, line: &str| {
        let text = solution(exercise).replace(
            "    gate.silu()? * up",
            &format!("    {line}\n    gate.silu()? * up"),
        );
        let start = Instant::now();
        let outcome = Desk::new().check(exercise, name, text).unwrap();
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{name}: {:?}",
            start.elapsed()
        );
        outcome
    };
    let outcome = with(
        "child",
        "std::process::Command::new(\"sleep\").arg(\"300\").spawn().unwrap();",
    );
    assert_eq!(outcome, Ok(vec![]));
    let word = "println!(\"\\n{} passed\", std::env::args().nth(2).unwrap_or_default()); std::process::exit(0);";
    assert_eq!(with("word", word).unwrap_err().by, Part::Crash);
}

/// What is no text at all is a failure like others.
#[test]
fn bytes_are_no_submission() {
    for exercise in here().iter().take(3) {
        let outcome = Desk::new().check(exercise, "bytes", b"// \xff").unwrap();
        let failure = outcome.unwrap_err();
        assert_eq!(failure.by, Part::Text, "{}", failure.line);
        assert!(
            failure.line.ends_with("found other bytes at offset 3"),
            "{}",
            failure.line
        );
    }
}
