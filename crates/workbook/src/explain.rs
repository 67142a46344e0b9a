//! `explain`: the kernels of an op at two neighbouring levels, side by side.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;
use clap::Args;
use cli::files;
use console::{Term, measure_text_width};
use data::BadInput;
use similar::{ChangeTag, TextDiff};

/// Which op, and which levels.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// rms_norm, linear or attention
    op: Option<String>,
    /// Two neighbouring levels: 3,4 or 4,5
    #[arg(long, value_name = "A,B", default_value = "3,4")]
    levels: String,
    /// Columns of the output [default: those of the terminal, or 160]
    #[arg(long, value_name = "N", value_parser = columns_from)]
    width: Option<u16>,
}

fn columns_from(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|n| (60..=400).contains(n));
    number.ok_or_else(|| "expected 60 to 400".into())
}

/// A step from an op's kernel at one level to the next.
struct Step {
    op: &'static str,
    levels: &'static str,
    from: &'static str,
    to: &'static str,
    /// Why this step does not begin at the file where the one before it ended.
    note: Option<&'static str>,
}

/// Level 4 has two kernels of this op, and each step compares the one of its own dtype.
const TWO_TILES: Option<&str> = Some(
    "Level 4 has a kernel for each dtype. The step from level 3 leads to tile_f32, because both compute in f32 with FMA.\n\
     This step begins at tile_mma, because both compute in bf16 on tensor cores.",
);

/// The ops that show the ideas of the levels, with the files that contain them.
const STEPS: [Step; 6] = [
    Step {
        op: "rms_norm",
        levels: "3,4",
        from: "kernels/src/rms_norm/level3.cu",
        to: "kernels/src/rms_norm/level4.cu",
        note: None,
    },
    Step {
        op: "rms_norm",
        levels: "4,5",
        from: "kernels/src/rms_norm/level4.cu",
        to: "kernels/src/rms_norm/level5.cu",
        note: None,
    },
    Step {
        op: "linear",
        levels: "3,4",
        from: "kernels/src/linear/level3/linear.cu",
        to: "kernels/src/common/gemm/tile_f32.cuh",
        note: None,
    },
    Step {
        op: "linear",
        levels: "4,5",
        from: "kernels/src/common/gemm/tile_mma.cuh",
        to: "kernels/src/linear/level5/wgmma_tile.cuh",
        note: TWO_TILES,
    },
    Step {
        op: "attention",
        levels: "3,4",
        from: "kernels/src/attention/level3.cu",
        to: "kernels/src/attention/level4/tile_f32.cu",
        note: None,
    },
    Step {
        op: "attention",
        levels: "4,5",
        from: "kernels/src/attention/level4/tile_mma.cu",
        to: "kernels/src/attention/level5/tile_wgmma.cu",
        note: TWO_TILES,
    },
];

/// Prints the headers of both kernels, and their code side by side.
///
/// # Errors
/// [`BadInput`] for no op, and for an op or levels without a step.
pub fn run(args: &ExplainArgs) -> Result<()> {
    let step = find(args.op.as_deref(), &args.levels)?;
    let width = args
        .width
        .or_else(|| Some(Term::stdout().size_checked()?.1));
    data::print!("{}", explained(step, usize::from(width.unwrap_or(160)))?);
    Ok(())
}

fn find(op: Option<&str>, levels: &str) -> Result<&'static Step, BadInput> {
    let of_op: Vec<&Step> = STEPS.iter().filter(|step| Some(step.op) == op).collect();
    if of_op.is_empty() {
        let expected = "rms_norm, linear or attention";
        let found = op.map_or_else(|| "none".to_owned(), |op| format!("{op:?}"));
        return Err(BadInput::new("explain", expected, found));
    }
    let levels: String = levels.split_whitespace().collect();
    let step = of_op.into_iter().find(|step| step.levels == levels);
    step.ok_or_else(|| BadInput::new("--levels", "3,4 or 4,5", format!("{levels:?}")))
}

fn explained(step: &Step, width: usize) -> Result<String> {
    let [from, to] = [step.from, step.to].map(|path| -> Result<(String, String)> {
        let text = without_anchors(&fs::read_to_string(files::find(path)?)?);
        let (header, code) = header_and_code(&text);
        Ok((header, code.to_owned()))
    });
    let ((header_from, from), (header_to, to)) = (from?, to?);
    let (level_from, level_to) = step.levels.split_once(',').unwrap_or_default();
    let mut out = String::new();
    for (level, path, header) in [
        (level_from, step.from, header_from),
        (level_to, step.to, header_to),
    ] {
        writeln!(out, "Level {level}: {path}\n\n{header}")?;
    }
    if let Some(note) = step.note {
        writeln!(out, "{note}\n")?;
    }
    let columns = columns(&from, &to, width);
    out += &rows(
        &format!("level {level_from}: {}", step.from),
        GUTTER,
        &format!("level {level_to}: {}", step.to),
        columns,
    );
    out += &side_by_side(&from, &to, columns);
    Ok(out)
}

/// The widths of both columns: half of `width` each, unless the lines of one side need less.
fn columns(from: &str, to: &str, width: usize) -> [usize; 2] {
    let [left, right] = [from, to].map(|text| {
        let lines = text.lines().map(|line| line.trim_end().chars().count());
        lines.max().unwrap_or(0)
    });
    let all = width - GUTTER.len();
    let left = left.clamp(all / 4, (all / 2).max(all.saturating_sub(right)));
    [left, all - left]
}

/// Between the columns of lines that are equal.
const GUTTER: &str = "   ";

/// Splits a file into its leading comment and the rest.
fn header_and_code(text: &str) -> (String, &str) {
    let is_comment = |line: &&str| line.starts_with("//");
    let header: Vec<&str> = text.lines().take_while(is_comment).collect();
    let length: usize = header.iter().map(|line| line.len() + 1).sum();
    let lines = header.iter().map(|line| {
        let line = line.trim_start_matches('/');
        line.strip_prefix(' ').unwrap_or(line)
    });
    let lines: Vec<&str> = lines.collect();
    let header = lines.join("\n").trim_end().to_owned() + "\n";
    (
        header,
        text[length.min(text.len())..].trim_start_matches('\n'),
    )
}

/// The text without the lines that mark excerpts of the book.
fn without_anchors(text: &str) -> String {
    let is_anchor = |line: &&str| {
        let comment = line.trim_start().trim_start_matches('/').trim_start();
        comment.starts_with("ANCHOR: ") || comment.starts_with("ANCHOR_END: ")
    };
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !is_anchor(line)).collect()
}

/// Two texts in two columns: `|` between lines that differ, `<` and `>` where only one side has a line.
fn side_by_side(from: &str, to: &str, columns: [usize; 2]) -> String {
    let diff = TextDiff::from_lines(from, to);
    let mut out = String::new();
    for op in diff.ops() {
        let (mut left, mut right) = (vec![], vec![]);
        let mut is_equal = false;
        for change in diff.iter_changes(op) {
            let line = change.value().trim_end();
            match change.tag() {
                ChangeTag::Delete => left.push(line),
                ChangeTag::Insert => right.push(line),
                ChangeTag::Equal => {
                    is_equal = true;
                    left.push(line);
                    right.push(line);
                }
            }
        }
        for i in 0..left.len().max(right.len()) {
            let gutter = match (left.get(i), right.get(i)) {
                (Some(_), Some(_)) if is_equal => GUTTER,
                (Some(_), Some(_)) => " | ",
                (Some(_), None) => " < ",
                _ => " > ",
            };
            let [left, right] = [&left, &right].map(|lines| lines.get(i).copied().unwrap_or(""));
            out += &rows(left, gutter, right, columns);
        }
    }
    out
}

/// A pair of lines, each broken where it is longer than its column.
fn rows(left: &str, gutter: &str, right: &str, columns: [usize; 2]) -> String {
    let (left, right) = (fitted(left, columns[0]), fitted(right, columns[1]));
    let mut out = String::new();
    for i in 0..left.len().max(right.len()).max(1) {
        let [left, right] = [&left, &right].map(|parts| parts.get(i).map_or("", String::as_str));
        out += row(left, gutter, right, columns[0]).trim_end();
        out.push('\n');
    }
    out
}

fn row(left: &str, gutter: &str, right: &str, column: usize) -> String {
    let missing = column.saturating_sub(measure_text_width(left));
    format!("{left}{}{gutter}{right}", " ".repeat(missing))
}

/// In front of what continues a line.
const CONTINUED: &str = "  ↳ ";

/// `line` in parts of at most `column` characters, broken at spaces; the parts after the first keep its indentation and
/// have a mark.
fn fitted(line: &str, column: usize) -> Vec<String> {
    let indent = line.len() - line.trim_start().len();
    let mut parts = vec![];
    let mut rest: Vec<char> = line.chars().collect();
    while rest.len() > column {
        let is_break = |i: &usize| rest[*i] == ' ' && *i > indent + 4;
        let at = (0..=column).rev().find(is_break).unwrap_or(column);
        parts.push(rest[..at].iter().collect());
        let after: String = rest[at..].iter().collect();
        let indented = " ".repeat(indent) + CONTINUED + after.trim_start();
        rest = indented.chars().collect();
    }
    parts.push(rest.into_iter().collect());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_explained() {
        for step in &STEPS {
            let text = explained(step, 120).unwrap();
            for path in [step.from, step.to] {
                assert!(text.contains(path), "{path}");
            }
            assert!(!text.contains("ANCHOR"), "{}", step.to);
            assert_eq!(
                text.contains("a kernel for each dtype"),
                step.note.is_some()
            );
            let code = text.rsplit_once("level").unwrap().1;
            let longest = code.lines().map(|line| line.chars().count()).max();
            assert!(longest.unwrap() <= 120, "{}", step.to);
        }
    }

    #[test]
    fn lines_stand_next_to_each_other() {
        let table = side_by_side("a\nb\nc\n", "a\nB\nc\nd\n", [4, 4]);
        assert_eq!(table, "a      a\nb    | B\nc      c\n     > d\n");
        assert_eq!(
            fitted("  int x = 1;", 8),
            ["  int x", "    ↳ =", "    ↳ 1;"]
        );
        // The room that one side does not need is the other's.
        assert_eq!(columns(&"a".repeat(40), &"b".repeat(90), 120), [40, 77]);
        assert_eq!(columns(&"a".repeat(90), &"b".repeat(40), 120), [77, 40]);
        assert_eq!(columns(&"a".repeat(90), &"b".repeat(90), 121), [59, 59]);
        let (header, code) = header_and_code("// One.\n//\n// Two.\n#include \"a\"\n");
        assert_eq!(
            (header.as_str(), code),
            ("One.\n\nTwo.\n", "#include \"a\"\n")
        );
    }

    #[test]
    fn lines_that_mark_excerpts_are_left_out() {
        let text = "a\n  // ANCHOR: turns\nb\n// ANCHOR_END: turns\nint ANCHOR;";
        assert_eq!(without_anchors(text), "a\nb\nint ANCHOR;");
    }

    #[test]
    fn missing_steps_are_errors() {
        let refusal = |op, levels| find(Some(op), levels).err().map(|bad| bad.to_string());
        assert!(find(Some("linear"), "4, 5").is_ok());
        let expected = "explain: expected rms_norm, linear or attention, found \"gelu\"";
        assert_eq!(refusal("gelu", "3,4").as_deref(), Some(expected));
        let expected = "--levels: expected 3,4 or 4,5, found \"2,3\"";
        assert_eq!(refusal("linear", "2,3").as_deref(), Some(expected));
    }
}
