//! The text after a pass: counters before and after, the idea, the line of a real kernel that uses
//! it, and what to read next.

use crate::check::{Counter, short};
use crate::spec::Debrief;

/// Maximum columns of a line of the idea.
const WIDTH: usize = 100;

impl Debrief {
    /// Returns the number of the line in `text`, the file's; `None` unless it is there exactly once.
    pub fn number(&self, text: &str) -> Option<usize> {
        let is_it = |(_, line): &(usize, &str)| line.trim() == self.line.trim();
        let mut found = (1..).zip(text.lines()).filter(is_it);
        let (number, _) = found.next()?;
        found.next().is_none().then_some(number)
    }

    /// Formats the debrief for a terminal; `text` is the file's, where the repository has it.
    pub fn lines(&self, text: Option<&str>) -> Vec<String> {
        let mut lines = wrapped(&format!("The idea: {}", self.idea.trim()));
        let number = text.and_then(|text| self.number(text));
        let place = number.map_or_else(String::new, |number| format!(":{number}"));
        let (file, line) = (&self.file, self.line.trim());
        lines.push(format!("In a real kernel: {file}{place}  {line}"));
        lines.push(format!("Read next: {}", with_chapters(self.next.trim())));
        lines
    }
}

/// Formats a table of counters, `starter → yours`, where `before` is the first word. The values before are left out
/// where all are unknown or yours.
pub fn table(title: &str, before: &str, counters: &[Counter]) -> Vec<String> {
    let counters: Vec<&Counter> = counters.iter().filter(|c| !c.is_zero()).collect();
    if counters.is_empty() {
        return vec![];
    }
    let both = counters.iter().any(|counter| counter.differs());
    let heading = if both {
        format!("{before} → yours")
    } else {
        "yours".into()
    };
    let values: Vec<String> = counters.iter().map(|c| values(c, both)).collect();
    let title = format!("At {title}:");
    let names: Vec<String> = counters.iter().map(|c| format!("  {}", c.what)).collect();
    let wide = |text: &String| text.chars().count();
    let name = names.iter().chain([&title]).map(wide).max().unwrap_or(0);
    let value = values.iter().map(wide).max().unwrap_or(0);
    let value = value.max(heading.chars().count());
    let row = |left: &str, right: &str| format!("{left:name$}  {right:>value$}");
    let rows = names
        .iter()
        .zip(&values)
        .map(|(left, right)| row(left, right));
    std::iter::once(row(&title, &heading)).chain(rows).collect()
}

/// Says why the counters of a find-the-bug stand without the starter's; `None` where they do not.
pub fn why_alone(counters: &[Counter]) -> Option<&'static str> {
    if counters.is_empty() || counters.iter().any(Counter::differs) {
        return None;
    }
    let is_unknown = counters.iter().all(|counter| counter.before.is_none());
    Some(if is_unknown {
        "The starter's result is wrong here, so its costs are no measure."
    } else {
        "The starter costs the same, because its fault is in the result."
    })
}

/// `0 → 8`, or `8`.
fn values(counter: &Counter, both: bool) -> String {
    let own = short(counter.own);
    match counter.before {
        Some(before) if both => format!("{} → {own}", short(before)),
        _ => own,
    }
}

/// Replaces links to chapters by their text and the name of the chapter.
fn with_chapters(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, name, target, after)) = link(rest) {
        let chapter = target.split('#').next().unwrap_or_default();
        let chapter = chapter.trim_end_matches(".md");
        text += &format!("{before}{name} (chapter {chapter})");
        rest = after;
    }
    text + rest
}

/// The first link `[name](target)` of a text, and what is before and after it.
fn link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, rest) = text.split_once('[')?;
    let (name, rest) = rest.split_once("](")?;
    let (target, after) = rest.split_once(')')?;
    Some((before, name, target, after))
}

/// Breaks a text into lines.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < WIDTH => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn debrief() -> Debrief {
        Debrief {
            idea: "One idea. ".repeat(12),
            file: "kernels/src/a/level3.ptx".into(),
            line: "bar.sync 0;".into(),
            next: "[the tree](level3.md#rmsnorm) and [PTX](ptx.md)".into(),
        }
    }

    #[test]
    fn it_says_where_the_line_is() {
        let last = [
            "In a real kernel: kernels/src/a/level3.ptx:2  bar.sync 0;",
            "Read next: the tree (chapter level3) and PTX (chapter ptx)",
        ];
        let lines = debrief().lines(Some("a\n    bar.sync 0;\n"));
        assert!(lines[0].starts_with("The idea: One idea. One"));
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(lines[lines.len() - 2..], last);
    }

    #[test]
    fn without_the_file_there_is_no_number() {
        let line = "In a real kernel: kernels/src/a/level3.ptx  bar.sync 0;";
        for text in [None, Some("a\n"), Some("bar.sync 0;\nbar.sync 0;\n")] {
            let lines = debrief().lines(text);
            assert_eq!(lines[lines.len() - 2], line, "{text:?}");
        }
    }

    fn counter(what: &str, before: Option<f64>, own: f64) -> Counter {
        Counter {
            what: what.into(),
            before,
            own,
        }
    }

    #[test]
    fn counters_are_aligned() {
        let counters = [
            counter("barriers", Some(0.), 8.),
            counter("atomics", Some(0.), 0.),
            counter("instructions", Some(120.), 1.5),
        ];
        let expected = [
            "At rows = 4:    no tree → yours",
            "  barriers                0 → 8",
            "  instructions        120 → 1.5",
        ];
        assert_eq!(table("rows = 4", "no tree", &counters), expected);
        assert_eq!(why_alone(&counters), None);
    }

    #[test]
    fn a_starter_that_does_not_run_has_no_counters() {
        let expected = ["At rows = 4:  yours", "  barriers        8"];
        for (before, why) in [(None, "wrong here"), (Some(8.), "costs the same")] {
            let counters = [counter("barriers", before, 8.)];
            assert_eq!(table("rows = 4", "starter", &counters), expected);
            assert!(why_alone(&counters).unwrap().contains(why));
        }
        assert!(table("rows = 4", "starter", &[]).is_empty());
    }
}
