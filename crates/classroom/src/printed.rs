//! Text that comes from a submission, fit for a console and for XML.

use crate::check::Notes;

/// Lines of an output that are shown, and characters of a line.
const SHOWN: usize = 20;
const WIDTH: usize = 200;

/// `text` with U+FFFD in place of what a console would obey and of what no XML may have: control characters but tabs, and
/// the two code points that are no characters (XML 1.0, section 2.2).
pub fn printable(text: &str) -> String {
    let is_unfit = |c: char| c.is_control() && c != '\t' || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(is_unfit, "\u{fffd}")
}

/// The last lines of `text`, which a submission printed, under a heading.
pub fn last(what: &str, text: &str) -> Notes {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let first = lines.len().saturating_sub(SHOWN);
    let more = match first {
        0 => String::new(),
        n => format!(", after {n} more lines"),
    };
    let heading = (!lines.is_empty()).then(|| format!("it {what}{more}:"));
    let shown = lines[first..].iter().map(|line| {
        let shown: String = line.chars().take(WIDTH).collect();
        format!("    {}", printable(&shown))
    });
    heading.into_iter().chain(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_is_no_text_is_replaced() {
        let text = "a\tb\u{1b}[2Jc\u{fffe}d\u{ffff}e\u{85}f\u{0}g\n";
        assert_eq!(printable(text), "a\tb�[2Jc�d�e�f�g�");
        assert_eq!(printable("−∞ 𝛼 日"), "−∞ 𝛼 日");
    }
}
