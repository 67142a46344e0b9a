//! Figures typed by hand: what was measured comes from recorded results.

use crate::includes::{chapters, text_of};
use crate::place;
use anyhow::Result;
use regex::Regex;
use std::path::Path;

/// A chapter may hold this on a line whose figures are no measurement: a data sheet, a target, an example.
const FACT: &str = "<!-- fact:";

/// Numbers as digits and as words.
const NUMBER: &str = concat!(
    r"(?i:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|sixteen|twenty|thirty|forty|",
    r"fifty|sixty|seventy|eighty|ninety|hundred|thousand|million))",
);

/// How many without a number, `tens of` among them.
const SOME: &str =
    r"\b(?i:an?|one|some|few|several|many|(?:ten|dozen|hundred|thousand)s?(?:\s+of)?)";

/// Times, rates, ratios and percentages in the text itself, outside `{{…}}`, in digits or in words.
pub fn typed_figures(folder: &Path) -> Result<Vec<String>> {
    let directive = Regex::new(r"\{\{[^}\n]*\}\}")?;
    let figure = figure()?;
    let mut found = Vec::new();
    for chapter in chapters(folder)? {
        let text = text_of(&chapter)?;
        let text = directive.replace_all(&text, "");
        let lines: Vec<&str> = text.lines().collect();
        for hit in figure.find_iter(&text) {
            let first = text[..hit.start()].matches('\n').count();
            let last = first + hit.as_str().trim_end().matches('\n').count();
            if lines[first..=last].iter().any(|line| line.contains(FACT)) {
                continue;
            }
            let typed: Vec<&str> = hit.as_str().split_whitespace().collect();
            found.push(format!(
                "{}: expected {{{{measure …}}}}, found `{}` typed by hand",
                place::at(&chapter, first + 1),
                typed.join(" ")
            ));
        }
    }
    Ok(found)
}

/// A line may end anywhere inside of one.
fn figure() -> Result<Regex> {
    let figures = [
        r"\d\s?(?:ns|µs|us|ms|s|[kMGT]i?B(?:/s)?|[kMGTP]FLOP(?:/s|S)|tokens/s|%)(?:\W|$)"
            .to_string(),
        r"\d\s?×(?:\s?$|\s+[^\d\s]|[^\w\s])".to_string(),
        r"\d(?:x(?:\W|$)|\sx\s[a-z]{2})".to_string(),
        r"\d\.\d+\s+times\b".to_string(),
        r"\d\s+\w+\s+(?:a|per)\s+second\b".to_string(),
        format!(r"(?:{NUMBER}|{SOME})[\s-](?:nano|micro|milli)seconds?\b"),
        format!(r"{NUMBER}[\s-](?:seconds?|minutes?|hours?|per\s?cent)\b"),
        format!(
            r"(?:{NUMBER}\s+times|\b(?i:twice|half))\s+(?:as\s+(?:fast|slow|long)|faster|slower)\b"
        ),
    ];
    Ok(Regex::new(&format!("(?m){}", figures.join("|")))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn found(chapter: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.md"), chapter).unwrap();
        typed_figures(folder.path()).unwrap()
    }

    #[test]
    fn figures_typed_by_hand() {
        for text in [
            "takes 1.3 ms",
            "2× faster",
            "1.5×.",
            "81% of",
            "59 GB/s",
            "(4 µs)",
            "5.0×",
            "1.3 milliseconds",
            "5 microseconds",
            "in three microseconds",
            "Several microseconds",
            "some tens of nanoseconds",
            "about a microsecond",
            "half a millisecond",
            "1.9 times",
            "2.5x",
            "2.5 x faster",
            "three times as fast",
            "Twice as fast",
            "4 times slower",
            "30 percent",
            "thirty per cent",
            "600 TFLOPS",
            "433 TFLOP/s",
            "50 tokens a second",
            "50 tokens per second",
            "ten minutes",
            "three\nmicroseconds",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn numbers_that_are_no_figures() {
        for text in [
            "4×128 tokens",
            "a 4 × 128 matrix",
            "4 x 128, 64 x N",
            "{{measure lm.tiny.decode.f32.level1 on=cpu unit=ms}}",
            "HBM at 4.8 TB/s <!-- fact: data sheet -->",
            "three\nmicroseconds <!-- fact: data sheet -->",
            "3 same things, 5 sums",
            "in milliseconds, the second of two, the 99th percentile",
            "read three times, 197 times, twice",
            "several times as long",
            "119 GFLOP, 2 FLOPs",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_figure_is_named_by_its_line() {
        let found = found("{{measure x on=y}} and\n\n3 ms of four\nmicroseconds\n");
        assert!(found[0].ends_with("a.md:3: expected {{measure …}}, found `3 ms` typed by hand"));
        assert!(found[1].contains("a.md:3: ") && found[1].contains("`four microseconds`"));
    }
}
