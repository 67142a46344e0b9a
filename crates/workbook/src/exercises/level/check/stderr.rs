//! The stderr of a learner's program: the lines that are shown, and why the program ended.

use classroom::printable;

/// A submission's text, fit for a line of a terminal.
pub fn one_line(text: &str) -> String {
    let short: String = text.chars().take(WIDTH).collect();
    printable(&short)
}

/// Maximum characters of a line from a submission.
const WIDTH: usize = 1000;

/// `norm.ptx: line 7: …` → `norm.ptx:7: METHOD: …`
pub fn with_line(text: &str, method: &str) -> String {
    let text = text.replacen(": line ", ":", 1);
    match text.split_once(": ") {
        Some((place, what)) => format!("{place}: {method}: {what}"),
        None => text,
    }
}

/// Lines of stderr that are shown, at most.
const SHOWN: usize = 10;

/// The last lines that are a learner's own: no panic and no error, which the verdict has, and no note.
pub fn last_lines(stderr: &str) -> Vec<String> {
    let mut own = vec![];
    let mut is_why = false;
    for line in stderr.lines() {
        let is_place = line.starts_with("thread '") && line.contains("panicked at ");
        let is_known = line.starts_with("note: ") || line.starts_with("error: ");
        if !is_why && !is_place && !is_known && !line.trim().is_empty() {
            own.push(line);
        }
        is_why = is_place;
    }
    let last = &own[own.len().saturating_sub(SHOWN)..];
    let short = |line: &&str| one_line(&line.chars().take(SHORT).collect::<String>());
    last.iter().map(short).collect()
}

/// Maximum characters of a line of stderr that is shown.
const SHORT: usize = 200;

/// The resource that an aborted process ran out of: memory or stack.
pub fn exhausted(stderr: &str) -> Option<String> {
    let begins = |line: &&str| line.starts_with("memory allocation of ");
    if stderr.contains("has overflowed its stack") {
        return Some("stack overflow".into());
    }
    let line = stderr.lines().find(begins)?;
    let bytes = line.split(' ').nth(3)?.parse::<u64>().ok()?;
    Some(format!("out of memory (an allocation of {bytes} bytes)"))
}

/// Place and reason of a panic: `… panicked at FILE:LINE:COLUMN:`, and the next line.
pub fn panic(stderr: &str) -> Option<(String, String)> {
    let (_, panic) = stderr.split_once("panicked at ")?;
    let (place, why) = panic.split_once(":\n")?;
    let why = why.lines().next().unwrap_or_default();
    Some((one_line(place), one_line(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stderr_has_its_last_lines_and_a_reason() {
        let said =
            "note: x\n\nthread 'main' (7) panicked at /a/src/ops.rs:9:5:\nindex\nhere\nerror: no";
        assert_eq!(last_lines(said), ["here"]);
        let many: String = (0..30).map(|i| format!("{i}\n")).collect();
        let last: Vec<String> = (20..30).map(|i| i.to_string()).collect();
        assert_eq!(last_lines(&many), last);
        let expected = Some("out of memory (an allocation of 99 bytes)".into());
        assert_eq!(
            exhausted("x\nmemory allocation of 99 bytes failed"),
            expected
        );
        let overflow = "\nthread 'main' (7) has overflowed its stack\nfatal runtime error";
        assert_eq!(exhausted(overflow), Some("stack overflow".into()));
        assert_eq!(exhausted("x"), None);
    }

    #[test]
    fn the_line_about_a_kernels_file_names_the_method() {
        let line = |text| with_line(text, "linear");
        assert_eq!(line("a.ptx: line 7: no"), "a.ptx:7: linear: no");
        assert_eq!(line("a.ptx: no: why"), "a.ptx: linear: no: why");
        assert_eq!(line("a.cu:7: no"), "a.cu:7: linear: no");
    }

    #[test]
    fn a_panic_has_its_place() {
        let said = "note: x\n\nthread 'main' (7) panicked at /a/src/ops.rs:9:5:\nindex out of bounds\nnote: run";
        let expected = (
            "/a/src/ops.rs:9:5".to_owned(),
            "index out of bounds".to_owned(),
        );
        assert_eq!(panic(said), Some(expected));
        assert_eq!(panic("error: no"), None);
    }
}
