//! `{{worklog OP}}`: the steps of a worklog, and what the simulator counts of each; with `on=h200` how fast each is, too;
//! `{{diff OLD NEW}}`: what changes from one file to another, or from `FILE:FIRST:LAST` to other lines; the whole new file
//! if little of the old one is left in it.

use crate::includes::text_of;
use std::path::Path;

use anyhow::{Context, Result, bail};
use results::{Kind, OpResults, OpRow};
use serde::Deserialize;
use similar::{ChangeTag, TextDiff};

use crate::directives;
use crate::markdown;
use crate::table::machine;

/// Counts of one step, as `cargo run --release -p kernels --example worklog -- matmul --write` wrote them.
#[derive(Deserialize)]
struct Counts {
    step: usize,
    idea: String,
    instructions: f64,
    sectors: f64,
    wavefronts: f64,
    conflicts: f64,
}

/// A worklog's table.
struct Table {
    op: &'static str,
    /// The first and the last step that were timed.
    steps: [usize; 2],
    /// Title of the throughput.
    rate: &'static str,
    /// Title of the share.
    of: &'static str,
    /// The row that a step is compared with.
    reference: fn(usize) -> &'static str,
    notes: [&'static str; 2],
}

const TABLES: [Table; 4] = [
    Table {
        op: "matmul",
        steps: [1, 9],
        rate: "TFLOP/s",
        of: "of cuBLAS",
        reference: |step| if step == 9 { "candle_tf32" } else { "candle" },
        notes: [
            "Instructions of a warp, 32-byte sectors and wavefronts per 32 multiply-adds, counted by the simulator at 128 × 128 × 128",
            "The last step is compared with cuBLAS in TF32, the others with cuBLAS in f32",
        ],
    },
    Table {
        op: "softmax",
        steps: [1, 4],
        rate: "GB/s",
        of: "of a copy",
        reference: |_| "copy",
        notes: [
            "Instructions of a warp, 32-byte sectors and wavefronts per 32 elements, counted by the simulator at 32 × 8192",
            "GB/s count each element once as read and once as written",
        ],
    },
    Table {
        op: "attention",
        steps: [1, 5],
        rate: "TFLOP/s",
        of: "of level 5",
        reference: |_| "level5",
        notes: [
            "Instructions of a warp, 32-byte sectors and wavefronts per 32 multiply-adds, counted by the simulator with 2 heads, 64 queries and 256 keys",
            "Level 5 is the kernel that its table picks for this shape",
        ],
    },
    Table {
        op: "attention_decode",
        steps: [3, 6],
        rate: "GB/s",
        of: "of a copy",
        reference: |_| "copy",
        notes: [
            "The counts are of a prompt, as in the table of the other steps",
            "GB/s count each key and each value as read once; the copy reads the keys and writes them elsewhere, which moves as many bytes",
        ],
    },
];

/// `text` with every `{{worklog …}}` and `{{diff …}}` replaced; `sources` is the repository, `results` the folder of
/// records.
///
/// # Errors
/// A file that cannot be read, a worklog or record that is not there, a step without a time.
pub fn expand(text: &str, sources: &Path, results: &Path) -> Result<String> {
    directives::expand(text, "worklog|diff", |name, arguments| {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        match (name, &words[..]) {
            ("worklog", [op]) => table_of(op)?.text(sources, None),
            ("worklog", [op, on]) if on.starts_with("on=") => {
                let table = table_of(op)?;
                let file = format!("{}.json", &on["on=".len()..]);
                let record = results.join(Kind::Worklogs.folder()).join(file);
                table.text(sources, Some(&OpResults::load(&record)?))
            }
            ("diff", [old, new]) => diff(sources, old, new),
            _ => bail!(
                "expected `worklog OP`, `worklog OP on=NAME` or `diff OLD NEW`, found `{name} {}`",
                words.join(" ")
            ),
        }
    })
}

fn table_of(op: &str) -> Result<&'static Table> {
    let table = TABLES.iter().find(|table| table.op == op);
    table.context("expected the name of a worklog: matmul, softmax, attention or attention_decode")
}

impl Table {
    /// A row per step: what the simulator counts of it and, with a record, how fast it is.
    fn text(&self, sources: &Path, recorded: Option<&OpResults>) -> Result<String> {
        let folder = self.op.trim_end_matches("_decode");
        let file = format!("kernels/generated/worklogs/{folder}/counts.json");
        let counts: Vec<Counts> = serde_json::from_str(&read(sources, &file)?).context(file)?;
        let mut titles = vec![
            "instructions",
            "sectors",
            "wavefronts",
            "of these, conflicts",
        ];
        if recorded.is_some() {
            titles.extend([self.rate, self.of]);
        }
        let titles: Vec<String> = titles.into_iter().map(String::from).collect();
        let mut text = markdown::header("step", &titles);
        for step in &counts {
            if recorded.is_some() && !(self.steps[0]..=self.steps[1]).contains(&step.step) {
                continue; // not timed at this shape
            }
            let counted = [
                step.instructions,
                step.sectors,
                step.wavefronts,
                step.conflicts,
            ];
            let mut cells: Vec<String> = counted.map(|n| format!("{n:.2}")).into();
            if let Some(recorded) = recorded {
                cells.extend(self.times(recorded, step.step)?);
            }
            let name = format!("{}. {}", step.step, step.idea);
            text += &markdown::line(&name, cells.into_iter().map(Some));
        }
        let [counted, compared] = self.notes;
        let place = recorded.map(|recorded| machine(&recorded.machine));
        let notes: Vec<&str> = match &place {
            Some(place) => vec![counted, compared, place],
            None => vec![counted],
        };
        Ok(markdown::figures(&text, &notes, &[]))
    }

    /// The throughput of a step, and its share of what it is compared with.
    fn times(&self, recorded: &OpResults, step: usize) -> Result<[String; 2]> {
        let own = self.row(recorded, &format!("step{step}"))?;
        let reference = self.row(recorded, (self.reference)(step))?;
        let rate = match (own.flops, own.bytes) {
            (Some(flops), _) => format!("{:.1}", flops as f64 / own.us() / 1e6),
            (None, bytes) => format!("{:.0}", bytes.unwrap_or_default() as f64 / own.us() / 1e3),
        };
        let share = format!("{:.0}%", 100. * reference.us() / own.us());
        Ok([rate, share])
    }

    fn row<'r>(&self, recorded: &'r OpResults, level: &str) -> Result<&'r OpRow> {
        let mut rows = recorded.rows.iter();
        rows.find(|row| row.op == self.op && row.level == level)
            .with_context(|| {
                format!(
                    "expected a recorded row of `{} {level}`, found none",
                    self.op
                )
            })
    }
}

/// Percentage of new lines above which a reader needs the new file, not what changed.
const MOST_NEW: usize = 70;

/// The changed lines of two files below their header, with two lines around them; or the new file, if more than
/// [`MOST_NEW`] percent of its lines are new. Excerpts are compared in any case.
fn diff(sources: &Path, old: &str, new: &str) -> Result<String> {
    let [before, after] = [part(sources, old)?, part(sources, new)?];
    let diff = TextDiff::from_lines(&before, &after);
    let changes = diff.iter_all_changes();
    let inserted = changes.filter(|change| change.tag() == ChangeTag::Insert);
    if !new.contains(':') && inserted.count() * 100 > after.lines().count() * MOST_NEW {
        return Ok(format!("```cpp\n{after}```\n"));
    }
    let mut hunks = vec![];
    for hunk in diff.unified_diff().context_radius(2).iter_hunks() {
        let lines: String = hunk
            .to_string()
            .lines()
            .skip(1)
            .map(|l| format!("{l}\n"))
            .collect();
        hunks.push(lines);
    }
    if hunks.is_empty() {
        bail!("expected two files that differ, found {old} and {new}");
    }
    Ok(format!("```diff\n{}```\n", hunks.join(" …\n")))
}

/// The lines that `FILE:FIRST:LAST` names, or a whole file below its header; without the lines that name an excerpt.
fn part(sources: &Path, named: &str) -> Result<String> {
    let parts: Vec<&str> = named.split(':').collect();
    let text = match parts[..] {
        [file] => below_header(&read(sources, file)?).to_owned(),
        [file, first, last] => {
            let text = read(sources, file)?;
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let [first, last] = [first.parse::<usize>()?, last.parse::<usize>()?];
            let excerpt = lines.get(first.wrapping_sub(1)..last);
            let found = lines.len();
            let excerpt = excerpt
                .with_context(|| format!("expected lines of {file}, found {found} lines"))?;
            excerpt.concat()
        }
        _ => bail!("expected `FILE` or `FILE:FIRST:LAST`, found `{named}`"),
    };
    let is_code = |line: &&str| !line.contains("ANCHOR:") && !line.contains("ANCHOR_END:");
    Ok(text.split_inclusive('\n').filter(is_code).collect())
}

/// A kernel file without the comment at its start, which the chapter says in its own words.
fn below_header(text: &str) -> &str {
    let header: usize = (text.split_inclusive('\n'))
        .take_while(|line| line.starts_with("//") || line.trim().is_empty())
        .map(str::len)
        .sum();
    &text[header..]
}

fn read(sources: &Path, file: &str) -> Result<String> {
    let text = text_of(&sources.join(file));
    let text = text.with_context(|| format!("expected the file {file}, found none"))?;
    Ok(text.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_diff_leaves_the_header_out() -> Result<()> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("a.cu"), "// old\n\nint x;\nint y;\n")?;
        fs::write(folder.path().join("b.cu"), "// new\n\nint x;\nint z;\n")?;
        let text = expand("{{diff a.cu b.cu}}", folder.path(), folder.path())?;
        assert_eq!(text, "```diff\n int x;\n-int y;\n+int z;\n```\n");
        let lines = expand("{{diff a.cu:3:3 b.cu:3:4}}", folder.path(), folder.path())?;
        assert_eq!(lines, "```diff\n int x;\n+int z;\n```\n");
        let beyond = expand("{{diff a.cu:3:9 b.cu}}", folder.path(), folder.path());
        assert!(format!("{:#}", beyond.unwrap_err()).contains("expected lines of a.cu, found 4"));
        let same = expand("{{diff a.cu a.cu}}", folder.path(), folder.path());
        assert!(format!("{:#}", same.unwrap_err()).contains("two files that differ"));
        let missing = expand("{{diff a.cu c.cu}}", folder.path(), folder.path());
        assert!(format!("{:#}", missing.unwrap_err()).contains("expected the file c.cu"));
        Ok(())
    }

    #[test]
    fn a_file_with_few_old_lines_is_shown_whole() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let lines =
            |new: usize| (0..10).map(move |n| format!("{}{n};\n", if n < new { "b" } else { "a" }));
        fs::write(folder.path().join("a.cu"), lines(0).collect::<String>())?;
        let shown = |new: usize, named: &str| -> Result<String> {
            let text: String = lines(new).collect();
            let text = text.replace("a9;", "// ANCHOR: last\na9;\n// ANCHOR_END: last");
            fs::write(folder.path().join("b.cu"), text)?;
            let text = format!("{{{{diff a.cu {named}}}}}");
            expand(&text, folder.path(), folder.path())
        };
        let seven = shown(7, "b.cu")?;
        assert!(seven.starts_with("```diff\n-a0;\n"), "{seven}");
        assert!(!seven.contains("ANCHOR"), "{seven}");
        let eight = shown(8, "b.cu")?;
        let whole: String = lines(8).collect();
        assert_eq!(eight, format!("```cpp\n{whole}```\n"));
        let excerpt = shown(8, "b.cu:1:9")?;
        assert!(excerpt.starts_with("```diff\n"), "{excerpt}");
        Ok(())
    }
}
