//! Messages of rustc, as `--error-format json` prints them.

use serde::Deserialize;

/// An error of rustc.
#[derive(Debug, Deserialize)]
pub struct RustcError {
    level: String,
    /// Its text, without its code and its place.
    pub message: String,
    code: Option<Code>,
    /// The places that it is about.
    #[serde(default)]
    pub spans: Vec<Span>,
    rendered: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Code {
    code: String,
}

/// A place in a text.
#[derive(Debug, Deserialize)]
pub struct Span {
    file_name: String,
    line_start: usize,
    column_start: usize,
    is_primary: bool,
    /// The error's text about this place.
    pub label: Option<String>,
    expansion: Option<Box<Expansion>>,
}

/// The call of a macro whose text a place is in.
#[derive(Debug, Deserialize)]
struct Expansion {
    span: Span,
}

impl RustcError {
    /// The errors in what rustc wrote to stderr, without the one that only counts the others.
    pub fn all(stderr: &str) -> Vec<Self> {
        let messages = stderr.lines().flat_map(serde_json::from_str::<Self>);
        let is_error = |message: &Self| {
            let is_count = message.message.starts_with("aborting due to");
            message.level.starts_with("error") && !is_count
        };
        messages.filter(is_error).collect()
    }

    /// `error[E0425]: cannot find value …`
    pub fn title(&self) -> String {
        let code = self.code.as_ref();
        let code = code.map_or(String::new(), |code| format!("[{}]", code.code));
        format!("{}{code}: {}", self.level, self.message)
    }

    /// The place of the error itself.
    pub fn span(&self) -> Option<&Span> {
        self.spans.iter().find(|span| span.is_primary)
    }

    /// The text about the place of the error itself, unless it only repeats the message: it begins alike, or says `not found
    /// in this scope` of what the message cannot find.
    fn label(&self) -> Option<&str> {
        let label = self.span()?.label.as_deref()?;
        let start = |text| str::split_whitespace(text).take(3).collect::<Vec<_>>();
        let repeats = start(label) == start(&self.message)
            || self.message.starts_with("cannot find ") && label.starts_with("not found in ");
        (!repeats).then_some(label)
    }

    /// In one line: `PLACE: TITLE: LABEL`.
    pub fn at(&self, place: impl std::fmt::Display) -> String {
        let label = self.label().map(|label| format!(": {label}"));
        format!("{place}: {}{}", self.title(), label.unwrap_or_default())
    }

    /// All of it as a terminal shows it.
    pub fn rendered(&self) -> &str {
        self.rendered.as_deref().unwrap_or_default()
    }
}

impl Span {
    /// `FILE:LINE:COLUMN`
    pub fn place(&self) -> String {
        let Self {
            file_name,
            line_start,
            column_start,
            ..
        } = self;
        format!("{file_name}:{line_start}:{column_start}")
    }

    /// For a place in the text of a macro, the outermost call of it.
    pub fn call(&self) -> &Self {
        let mut span = self;
        while let Some(expansion) = &span.expansion {
            span = &expansion.span;
        }
        span
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_have_a_title_and_a_place() {
        let call =
            json!({"file_name": "a.rs", "line_start": 5, "column_start": 6, "is_primary": false});
        let span = json!({"file_name": "m.rs", "line_start": 3, "column_start": 4, "is_primary": true, "label": "no",
            "expansion": {"span": call}});
        let lines = [
            json!("not an object"),
            json!({"level": "warning", "message": "unused", "code": null, "spans": []}),
            json!({"level": "error", "message": "no `y`", "code": {"code": "E0425"}, "spans": [call, span],
                "rendered": "all"}),
            json!({"level": "error", "message": "aborting due to 1 previous error", "spans": []}),
            json!({"level": "error: internal compiler error", "message": "oh"}),
        ];
        let stderr: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let all = RustcError::all(&format!("error: not JSON\n{stderr}"));
        let titles: Vec<String> = all.iter().map(RustcError::title).collect();
        let expected = ["error[E0425]: no `y`", "error: internal compiler error: oh"];
        assert_eq!(titles, expected);
        assert_eq!((all[0].rendered(), all[1].rendered()), ("all", ""));
        let span = all[0].span().unwrap();
        let places = (span.place(), span.call().place());
        assert_eq!(places, ("m.rs:3:4".into(), "a.rs:5:6".into()));
        assert_eq!(span.label.as_deref(), Some("no"));
        assert!(all[1].span().is_none());
    }
}
