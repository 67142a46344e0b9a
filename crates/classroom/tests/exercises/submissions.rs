//! Unusual submissions: with odd bytes, with output, or with processes that outlive them.

use std::time::{Duration, Instant};

use classroom::check::predictions;
use classroom::{Exercise, Failure, Part, exercise};

use crate::desk::{Desk, here, repository, solution};

pub fn named(name: &str) -> Exercise {
    let all = exercise::all(&repository().join("exercises")).unwrap();
    exercise::find(&all, name).unwrap().clone()
}

/// The last line of swiglu's solution.
const LAST: &str = "    gate.silu()? * up";

/// The solution with a line inserted before its last one.
pub fn with_line(exercise: &Exercise, line: &str) -> String {
    solution(exercise).replace(LAST, &format!("    {line}\n{LAST}"))
}

/// The simulator would accept it, but no GPU would.
#[test]
fn a_comment_in_ptx_is_ascii() {
    let exercise = &named("guard");
    let text = solution(exercise).replace("// END", "// ⌈n/128⌉\n    // END");
    let failure = Desk::new()
        .check(exercise, "ascii", &text)
        .unwrap()
        .unwrap_err();
    assert!(
        failure
            .line
            .contains(": expected only ASCII, even in comments"),
        "{}",
        failure.line
    );
}

/// Bytes that are no text are an ordinary failure.
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

/// A file that would take long to read is rejected unread.
#[test]
fn a_submission_is_short() {
    for exercise in here().iter().take(3) {
        let text = format!("{}{}", solution(exercise), "// \n".repeat(1 << 16));
        let failure = Desk::new()
            .check(exercise, "long", &text)
            .unwrap()
            .unwrap_err();
        assert_eq!(failure.by, Part::Text, "{}", failure.line);
        let what = format!("expected at most 262144 bytes, found {}", text.len());
        assert!(failure.line.ends_with(&what), "{}", failure.line);
    }
}

/// A submission that keeps allocating is stopped before the machine runs out of memory.
#[test]
fn memory_ends_before_the_machines_does() {
    let exercise = &named("swiglu");
    // The memory is not touched, so that the limit is reached at once on a busy machine, too.
    let line = "let mut kept = vec![]; loop { kept.push(std::hint::black_box(Vec::<u8>::with_capacity(1 << 26))); }";
    let began = Instant::now();
    let failure = Desk::new()
        .check(exercise, "memory", with_line(exercise, line))
        .unwrap()
        .unwrap_err();
    assert_eq!(failure.by, Part::Crash, "{}", failure.line);
    let what = ": needs more than 2 GiB of memory, the limit of a submission";
    assert!(failure.line.ends_with(what), "{}", failure.line);
    assert!(began.elapsed() < Duration::from_secs(30));
}

/// The words that a submission prints stand in quotes, so that nobody takes them for the check's own.
#[test]
fn a_submissions_own_line_is_in_quotes() {
    let exercise = &named("swiglu");
    let text = with_line(
        exercise,
        r#"println!("{{\"passed\": true}}"); std::process::abort();"#,
    );
    let failure = Desk::new().check(exercise, "quoted", text).unwrap();
    let line = failure.unwrap_err().line;
    let said = r#"; it printed: "{\"passed\": true}""#;
    assert!(
        line.contains(": ended before its check did (") && line.ends_with(said),
        "{line}"
    );
}

#[test]
fn an_empty_file_is_named() {
    for text in ["", "\u{feff}", " \n\n"] {
        let found = Desk::new().check(&named("guard"), "empty", text).unwrap();
        let failure = found.unwrap_err();
        assert!(
            failure.line.ends_with(".ptx: the file is empty"),
            "{failure:?}"
        );
    }
}

/// A byte order mark or other white space changes nothing.
#[test]
fn blanks_and_marks_change_nothing() {
    let exercise = &named("guard");
    let blanks = solution(exercise).replace("ld.param.u64    %x,", "ld.param.u64\t%x, ");
    let text = format!("\u{feff}{blanks}");
    let outcome = Desk::new().check(exercise, "blanks", text).unwrap();
    assert_eq!(outcome, Ok(vec![]));
}

/// The learner sees the submission's output, and both sides of an `assert_eq!`.
#[test]
fn printed_output_is_shown() {
    let exercise = &named("swiglu");
    let with = |line: &str| {
        let text = with_line(exercise, line);
        let name = line.len().to_string();
        Desk::new().check(exercise, &name, text).unwrap()
    };
    let notes = with("println!(\"f is {f}\");").unwrap();
    assert_eq!(notes[..2], ["it printed:", "    f is 1"]);
    let notes = with("dbg!(f);").unwrap();
    assert!(
        notes[0] == "it printed:" && notes[1].ends_with("02-swiglu.rs:15:5] f = 1"),
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
    assert_eq!(failure.notes, ["it printed:", "    so far"]);
    let failure = with("y.narrow(1, 0, 9 * f)?;").unwrap_err();
    let last = solution(exercise).lines().position(|l| l.contains(LAST));
    let line = 1 + last.unwrap();
    assert!(
        failure
            .line
            .contains(&format!(".rs:{line}: candle refuses an operation")),
        "{}",
        failure.line
    );
}

/// Threads that never reach a barrier race with those that wait there; the reported cause is the loop.
#[test]
fn a_forgotten_step_is_an_endless_loop() {
    let exercise = &named("four-warps");
    let step = "    add.u32         %column, %column, 32;\n";
    assert_eq!(exercise.starter.matches(step).count(), 1);
    let text = exercise.starter.replace(step, "");
    let outcome = Desk::new().check(exercise, "endless", text).unwrap();
    let failure = outcome.unwrap_err();
    assert_eq!(failure.by.to_string(), "endless", "{}", failure.line);
}

/// A loop that ends, and so is not endless, but takes as long as the simulator allows, in each of the launches.
#[test]
fn a_kernel_that_takes_long_ends_with_one_line() {
    let exercise = &named("guard");
    let read = "    mov.u32         %size, %ntid.x;\n";
    // The launch, the block or, on a slow machine, the whole check takes too long; the last one also loads too often.
    for (turns, limits) in [
        ("95000", &["endless"][..]),
        ("100000000", &["endless"]),
        ("60000", &["endless", "time", "limit"]),
    ] {
        let slow = format!(
            "{read}    mov.u32         %i, 0;\nslow:\n    ld.param.u64    %x, [param_x];\n    \
             ld.global.f32   %value, [%x];\n    add.u32         %i, %i, 1;\n    \
             setp.lt.u32     %out, %i, {turns};\n    @%out bra       slow;\n"
        );
        assert_eq!(solution(exercise).matches(read).count(), 1);
        let text = solution(exercise).replace(read, &slow);
        let begin = std::time::Instant::now();
        let outcome = Desk::new().check(exercise, "slow", text).unwrap();
        let seconds = begin.elapsed().as_secs_f32();
        let (by, line) = match outcome {
            Ok(_) => ("none".to_owned(), String::new()),
            Err(failure) => (failure.by.to_string(), failure.line),
        };
        assert!(limits.contains(&&*by), "{turns} turns: {by}: {line}");
        assert!(!line.contains('\n'), "{line}");
        // Other tests run meanwhile.
        assert!(seconds < 40., "{turns} turns: {seconds} s");
    }
}

/// The failure after one edit of a solution.
fn failure(name: &str, replace: &str, with: &str) -> Failure {
    let exercise = &named(name);
    assert_eq!(solution(exercise).matches(replace).count(), 1, "{replace}");
    let text = solution(exercise).replace(replace, with);
    let outcome = Desk::new().check(exercise, "changed", text).unwrap();
    outcome.unwrap_err()
}

/// A wrong number is reported with its index and the count of wrong numbers.
#[test]
fn a_wrong_number_has_its_index() {
    let turned = "mad.lo.u32      %at, %tx, 33, %ty;";
    let line = failure("transpose", turned, "mad.lo.u32      %at, %ty, 33, %tx;").line;
    let (_, said) = line.split_once(".ptx: transpose at ").unwrap();
    assert!(
        said.contains(": y[0, 1]: expected ") && said.ends_with(" of 165 are wrong"),
        "{line}"
    );
}

/// Without the second barrier, the store into a_tile races within its warp only, because a row is read by the warp that
/// stores it. The store into b_tile, in a later line, races with other warps.
#[test]
fn a_race_of_two_warps_comes_before_one_within_a_warp() {
    let barrier =
        "    bar.sync        0;                           // no thread reads the tiles any more\n";
    let line = failure("tiled-matmul", barrier, "").line;
    assert!(line.contains("| st.shared.f32 [%at], %w; (at "), "{line}");
    let expected = "no barrier orders them, and they are not both atomic";
    assert!(line.contains(expected), "{line}");
}

/// A mistake that the exercise knows by its result has a name.
#[test]
fn a_known_mistake_is_named() {
    let (low, right) = ("%a1, [%a_low];", "%a2, [%a+16];");
    let loads = "\n    ld.global.b32   ";
    let exercise = named("mma-fragments");
    let text = solution(&exercise);
    let (at, end) = (text.find(low).unwrap(), text.find(right).unwrap());
    let both = &text[at..end + right.len()];
    let line = failure(
        "mma-fragments",
        both,
        &format!("%a2, [%a_low];{loads}%a1, [%a+16];"),
    )
    .line;
    let said = "every value is that of a with %a1 and %a2 exchanged";
    assert!(line.ends_with(said), "{line}");
}

/// An exceeded limit is reported with the costliest line.
#[test]
fn a_cost_has_its_line() {
    let (barrier, twice) = (
        "    bar.sync        0;\n",
        "    bar.sync        0;\n    bar.sync        0;\n",
    );
    let line = failure("transpose", barrier, twice).line;
    let before = solution(&named("transpose"))
        .split(barrier)
        .next()
        .unwrap()
        .to_owned();
    let at = before.lines().count() + 1;
    let place = format!("14-transpose.ptx:{at}: transpose at ");
    let said = format!(
        "found 2, as much of it here as in line {} | bar.sync 0;",
        at + 1
    );
    assert!(line.contains(&place) && line.ends_with(&said), "{line}");
    // The weights are read again for each row, so the necessary load of `x` costs as much.
    let (shared, global) = (
        "    ld.shared.f32   %weight, [%at];\n",
        "    mul.wide.u32    %offset, %column, 4;\n    add.u64         %offset, %w, %offset;\n    \
         ld.global.f32   %weight, [%offset];\n",
    );
    let line = failure("four-warps", shared, global).line;
    assert!(
        line.contains("found 1.78, as much of it here as in line ") && line.ends_with("[%x];"),
        "{line}"
    );
}

/// A missing end of a region is reported at the region's start.
#[test]
fn a_region_without_its_end_is_told_at_its_beginning() {
    let line = failure("guard", "// END", "").line;
    let at = 1 + solution(&named("guard"))
        .lines()
        .position(|l| l.contains("// REGION"))
        .unwrap();
    let said = "expected `// END` after the region that begins here, found the end of the file";
    assert!(
        line.ends_with(&format!("07-guard.ptx:{at}: {said}")),
        "{line}"
    );
}

/// The message distinguishes an unwritten element from NaN.
#[test]
fn nothing_written_is_not_the_same_as_nan() {
    let store = "    st.global.f32   [%y], %value;\n";
    let line = failure("four-warps", store, "").line;
    assert!(
        line.contains(", found nothing: no thread wrote it; "),
        "{line}"
    );
    let nan = format!("    mov.f32         %value, 0f7fc00000;\n{store}");
    let line = failure("four-warps", store, &nan).line;
    assert!(line.contains(", found NaN (not a number); "), "{line}");
}

/// Unchanged first predictions only get the number of right ones; later predictions are judged one by one,
/// and the notes repeat the first ones.
#[test]
fn predictions_are_told_apart_once_they_change() {
    let (desk, exercise) = (Desk::new(), &named("tile-without-reuse"));
    let with = |wavefronts: &str, loads: &str| {
        let text = solution(exercise).replace("// wavefronts = 64", wavefronts);
        text.replace("// loads = same", loads)
    };
    let guess = with("// wavefronts = 60", "// loads = fewer");
    let first = &predictions(exercise, &guess).unwrap();
    let told =
        |name: &str, text: &str| desk.check_after(Some(first), exercise, name, text).unwrap();
    let line = told("first", &guess).unwrap_err().line;
    assert!(
        line.contains("expected all 5 to be right, found 3;"),
        "{line}"
    );
    assert_eq!(
        desk.check(exercise, "none", &guess)
            .unwrap()
            .unwrap_err()
            .by,
        Part::Question
    );
    let line = told("second", &with("// wavefronts = 60", "// loads = same"))
        .unwrap_err()
        .line;
    assert!(
        line.contains(": wavefronts: expected a larger number (`shared_")
            && line.ends_with("as the simulator counts), found `60`"),
        "{line}"
    );
    let notes = told("third", solution(exercise)).unwrap();
    assert!(
        notes.contains(&"wavefronts = 64: counted 64 (you first said 60)".to_owned()),
        "{notes:?}"
    );
    assert!(
        notes[1].starts_with("stores = same: ") && !notes[1].contains("first"),
        "{notes:?}"
    );
    assert_eq!(predictions(exercise, &exercise.starter), None);
    assert_eq!(
        predictions(&named("two-histograms"), solution(&named("two-histograms"))),
        None
    );
}
