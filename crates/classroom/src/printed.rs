//! Sanitises text of a submission for consoles and XML.

use crate::check::Notes;

/// Maximum lines of output to show, and maximum characters per line.
const SHOWN: usize = 20;
const WIDTH: usize = 200;

/// Replaces characters that a console would interpret or XML forbids by U+FFFD: control characters except
/// tabs, line and paragraph separators, marks that turn the direction of a text, and two noncharacters (XML 1.0,
/// section 2.2).
pub fn printable(text: &str) -> String {
    let is_unfit =
        |c: char| data::is_invisible(c) && c != '\t' || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(is_unfit, "\u{fffd}")
}

/// A finding in the words of CUDA, without lines of the PTX.
pub fn in_cuda(what: &str) -> String {
    let mut parts = what.split(" (PTX line ");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| {
        text + part.split_once(')').map_or(part, |(_, rest)| rest)
    });
    text.replace("`bar.warp.sync`", "`__syncwarp()`")
        .replace("`bar.sync`", "`__syncthreads()`")
}

/// Returns the last lines of a submission's output, under a heading.
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
    use super::{in_cuda, printable};

    #[test]
    fn a_finding_of_cuda_names_no_ptx() {
        let ptx = "read in a.cu:7 (PTX line 112): neither `bar.sync` nor `bar.warp.sync` stands, a.cu:9 (PTX line 3)";
        let cuda = "read in a.cu:7: neither `__syncthreads()` nor `__syncwarp()` stands, a.cu:9";
        assert_eq!(in_cuda(ptx), cuda);
        assert_eq!(in_cuda("read in line 7"), "read in line 7");
    }

    #[test]
    fn unprintable_characters_are_replaced() {
        let text = "a\tb\u{1b}[2Jc\u{fffe}d\u{ffff}e\u{85}f\u{0}g\n";
        assert_eq!(printable(text), "a\tb�[2Jc�d�e�f�g�");
        assert_eq!(printable("−∞ 𝛼 日"), "−∞ 𝛼 日");
        assert_eq!(printable("a\u{202e}b\u{2028}c\u{2066}d"), "a�b�c�d");
    }
}
