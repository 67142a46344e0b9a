//! Messages of rustc, as `--error-format json` prints it.

use data::RustcError;

/// Lines up to which other errors are shown below the first: more than two errors in an exercise have.
const SHOWN: usize = 40;

/// The first error in one line, `FILE:LINE:COLUMN: error[E0425]: …`, and all lines that a terminal shows below: the code
/// with its labels, notes and help. Then the other errors, as many as fit. The sandbox limits how much rustc prints.
pub fn first_error(stderr: &str) -> (String, Vec<String>) {
    let errors = RustcError::all(stderr);
    let Some(error) = errors.first() else {
        // It is not rustc that speaks.
        let line = stderr.lines().find(|line| line.contains("error"));
        return (line.unwrap_or("an error").to_owned(), vec![]);
    };
    let mut notes = below(error);
    // An error without a place only counts or explains others.
    let others = errors[1..].iter().filter(|error| !error.spans.is_empty());
    let mut left = 0;
    for other in others {
        let whole = [vec![format!("  {}", in_one_line(other))], below(other)].concat();
        if left == 0 && notes.len() + whole.len() <= SHOWN {
            notes.extend(whole);
        } else {
            left += 1;
        }
    }
    match left {
        0 => {}
        1 => notes.push("    (and 1 more error)".into()),
        n => notes.push(format!("    (and {n} more errors)")),
    }
    (in_one_line(error), notes)
}

/// Whether rustc or its linker found no room on a disk. An error with a place is about the text, whatever it says.
pub fn is_about_the_disk(stderr: &str) -> bool {
    !is_about_the_text(stderr) && stderr.contains("No space left on device")
}

/// Whether an error has a place.
pub fn is_about_the_text(stderr: &str) -> bool {
    RustcError::all(stderr)
        .iter()
        .any(|error| error.span().is_some())
}

/// `FILE:LINE:COLUMN: error[E0425]: …`
fn in_one_line(error: &RustcError) -> String {
    let Some(span) = error.span() else {
        return error.title();
    };
    error.at(span.place())
}

/// The lines that a terminal shows below the first line of an error.
fn below(error: &RustcError) -> Vec<String> {
    let lines = error.rendered().trim_end().lines().skip(1);
    lines.map(|line| format!("    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// An error in line 9 of `a.rs`.
    fn error(message: &str, label: &str, rendered: &str) -> Value {
        let span = json!({"file_name": "a.rs", "line_start": 9, "column_start": 5, "is_primary": true, "label": label});
        json!({"level": "error", "message": message, "code": {"code": "E0425"}, "spans": [span], "rendered": rendered})
    }

    #[test]
    fn an_error_is_shown_whole() {
        let rendered = "error[E0425]: cannot find value `down`\n --> a.rs:9:5\n  |\n9 | down\n  | ^^^^ not found\n\n";
        let first = error("cannot find value `down`", "not found", rendered);
        let (line, notes) = first_error(&format!("not JSON\n{first}\n"));
        let expected = "a.rs:9:5: error[E0425]: cannot find value `down`: not found";
        assert_eq!(line, expected);
        let shown = [
            "     --> a.rs:9:5",
            "      |",
            "    9 | down",
            "      | ^^^^ not found",
        ];
        assert_eq!(notes, shown);
        let end = json!({"level": "error", "message": "aborting", "code": null, "spans": [], "rendered": "e\n"});
        let (same, more) = first_error(&format!("{first}\n{first}\n{end}\n"));
        let second = [format!("  {expected}")];
        let both = [
            &shown.map(String::from)[..],
            &second,
            &shown.map(String::from),
        ]
        .concat();
        assert_eq!((same, more), (line, both));
        let long = error(
            "a",
            "b",
            &format!("first\n{}\n", "x".repeat(500)).repeat(50),
        );
        let (_, notes) = first_error(&long.to_string());
        assert_eq!(notes.len(), 99);
        assert!(notes[0].ends_with(&"x".repeat(500)));
        let (_, more) = first_error(&format!("{long}\n{first}\n"));
        assert_eq!(more[..99], notes);
        assert_eq!(more[99..], ["    (and 1 more error)"]);
    }

    #[test]
    fn a_sentence_stands_there_once() {
        let message = "expected one of `.` or `;`, found `D`";
        let error = error(message, "expected one of 8 possible tokens", "");
        let (line, _) = first_error(&error.to_string());
        assert_eq!(line, format!("a.rs:9:5: error[E0425]: {message}"));
    }

    #[test]
    fn a_missing_name_is_missing_once() {
        let message = "cannot find function `exq` in this scope";
        let told = |label| first_error(&error(message, label, "").to_string()).0;
        let line = format!("a.rs:9:5: error[E0425]: {message}");
        assert_eq!(told("not found in this scope"), line);
        let help = "help: a function with a similar name exists: `exp`";
        assert_eq!(told(help), format!("{line}: {help}"));
    }

    #[test]
    fn a_full_disk_is_no_error_of_the_text() {
        let full = "linking with `cc` failed: final link failed: No space left on device";
        let linker =
            json!({"level": "error", "message": full, "code": null, "spans": [], "rendered": full});
        assert!(is_about_the_disk(&linker.to_string()));
        assert!(is_about_the_disk(
            "error: No space left on device (os error 28)"
        ));
        // As by `compile_error!`.
        assert!(!is_about_the_disk(&error(full, "", full).to_string()));
        assert!(!is_about_the_disk("error: linking with `cc` failed"));
    }

    #[test]
    fn a_message_of_rustup_is_shown() {
        let line = "error: toolchain 'none' is not installed";
        assert_eq!(first_error(line), (line.to_owned(), vec![]));
    }
}
