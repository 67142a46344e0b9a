//! What rustc says, as `--error-format json` prints it.

use serde::Deserialize;

/// Lines of help that are shown with an error.
const SHOWN: usize = 6;

#[derive(Deserialize)]
struct Message {
    level: String,
    message: String,
    code: Option<Code>,
    spans: Vec<Span>,
    children: Vec<Message>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: usize,
    column_start: usize,
    is_primary: bool,
    label: Option<String>,
    suggested_replacement: Option<String>,
}

/// The first error in one line, `FILE:LINE:COLUMN: error[E0425]: …`, and the lines of its notes and help.
pub fn first_error(stderr: &str) -> (String, Vec<String>) {
    let messages = stderr.lines().map(serde_json::from_str::<Message>);
    let is_error = |message: &Message| message.level.starts_with("error");
    let Some(error) = messages.flatten().find(is_error) else {
        // It is not rustc that speaks.
        let line = stderr.lines().find(|line| line.contains("error"));
        return (line.unwrap_or("an error").to_owned(), vec![]);
    };
    let code = error
        .code
        .as_ref()
        .map_or(String::new(), |code| format!("[{}]", code.code));
    let mut line = format!("{}{code}: {}", error.level, error.message);
    if let Some(span) = error.spans.iter().find(|span| span.is_primary) {
        let Span {
            file_name,
            line_start,
            column_start,
            ..
        } = span;
        line = format!("{file_name}:{line_start}:{column_start}: {line}");
        let label = span
            .label
            .iter()
            .filter(|label| !repeats(&error.message, label));
        label.for_each(|label| line += &format!(": {label}"));
    }
    let file = error.spans.iter().find(|span| span.is_primary);
    let notes = error
        .children
        .iter()
        .flat_map(|child| note(child, file.map_or("", |span| &span.file_name)));
    (line, notes.take(SHOWN).collect())
}

/// Whether a label begins as the message does, of which it then says no more.
fn repeats(message: &str, label: &str) -> bool {
    let start = |text: &str| {
        text.split_whitespace()
            .take(3)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    start(message) == start(label)
}

/// `    help: a similar name exists: `up``, or the line of `file` that a note is about; nothing of other files.
fn note(child: &Message, file: &str) -> Vec<String> {
    let span = child.spans.first();
    if span.is_some_and(|span| span.file_name != file) {
        return vec![];
    }
    let quoted = |text: &str| format!("`{}`", text.trim());
    let replacement = span.and_then(|span| span.suggested_replacement.as_deref());
    let more = match (replacement.map(quoted), span) {
        (Some(text), _) if child.message.contains(&text) || text.contains('\n') || text == "``" => {
            String::new()
        }
        (Some(text), _) => format!(": {text}"),
        (None, Some(span)) => format!(" (line {})", span.line_start),
        (None, None) => String::new(),
    };
    let text = format!("{}: {}{more}", child.level, child.message);
    text.lines().map(|line| format!("    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(message: &str, label: &str, children: &[serde_json::Value]) -> (String, Vec<String>) {
        let span = json!({"file_name": "a.rs", "line_start": 9, "column_start": 5, "is_primary": true,
            "label": label, "suggested_replacement": null});
        let error = json!({"level": "error", "message": message, "code": {"code": "E0425"},
            "spans": [span], "children": children});
        first_error(&format!("not JSON\n{error}\n"))
    }

    #[test]
    fn an_error_has_its_help() {
        let span = json!({"file_name": "a.rs", "line_start": 7, "column_start": 9, "is_primary": true,
            "label": null, "suggested_replacement": "up"});
        let child = |level: &str, message: &str, spans: &[&serde_json::Value]| json!({"level": level, "message": message, "code": null, "spans": spans, "children": []});
        let children = [
            child("help", "a similar name exists", &[&span]),
            child("note", "two\nlines", &[]),
        ];
        let (line, notes) = said("cannot find value `down`", "not found", &children);
        assert_eq!(
            line,
            "a.rs:9:5: error[E0425]: cannot find value `down`: not found"
        );
        assert_eq!(
            notes,
            [
                "    help: a similar name exists: `up`",
                "    note: two",
                "    lines"
            ]
        );
        let missing = json!({"file_name": "a.rs", "line_start": 7, "column_start": 9, "is_primary": true,
            "label": null, "suggested_replacement": ", "});
        let elsewhere = json!({"file_name": "b.rs", "line_start": 7, "column_start": 9, "is_primary": true,
            "label": null, "suggested_replacement": null});
        let children = [
            child("help", "missing `,`", &[&missing]),
            child("note", "function defined here", &[&elsewhere]),
        ];
        assert_eq!(said("a", "b", &children).1, ["    help: missing `,`"]);
        let many = vec![child("note", "more", &[]); 9];
        assert_eq!(said("a", "b", &many).1.len(), SHOWN);
    }

    #[test]
    fn a_sentence_stands_there_once() {
        let message = "expected one of `.` or `;`, found `D`";
        let (line, _) = said(message, "expected one of 8 possible tokens", &[]);
        assert_eq!(line, format!("a.rs:9:5: error[E0425]: {message}"));
    }

    #[test]
    fn what_rustup_says_is_shown() {
        let line = "error: toolchain 'none' is not installed";
        assert_eq!(first_error(line), (line.to_owned(), vec![]));
    }
}
