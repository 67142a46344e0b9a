//! Merges a new run into a record.

use std::collections::BTreeSet;

use data::BadInput;

use crate::{Figures, Origin, Recorded, failed, notes};

impl<R: Figures> Recorded<R> {
    /// Replaces the rows of the parts in `new` ([`Figures::part`]) in place, and appends new parts. Rows that
    /// stay, and notes on their versions, get their commit if it differs.
    ///
    /// # Errors
    /// [`BadInput`] if `new` is from another machine or other versions, or if rows of a part would be lost,
    /// such as shapes of an op that `new` has not measured. `kept` and `from` name the two files.
    pub fn replaced_by(self, new: Self, [kept, from]: [&str; 2]) -> Result<Self, BadInput> {
        if !self.machine.is_like(&new.machine) {
            let expected = format!("figures of {}", new.machine);
            return Err(BadInput::new(kept, expected, &self.machine));
        }
        self.loses(&new, [kept, from])?;
        let parts: BTreeSet<String> = new.rows.iter().map(R::part).collect();
        let notes = if self.rows.iter().all(|row| parts.contains(&row.part())) {
            vec![] // notes about a part that is measured again
        } else {
            self.notes
        };
        let stale = |note: &str| failed_part(note).is_some_and(|part| parts.contains(&part));
        let stays = |note: &String| !new.notes.contains(note) && !stale(note);
        let (before, now) = (self.machine.origin(), new.machine.origin());
        // The commits of version notes that do not name theirs.
        let is_unsaid = |commit: &String| {
            let said = |note: &String| notes::commit(note) == Some(commit);
            !notes.iter().any(said)
        };
        let commits = (self.rows.iter()).map(|row| row.origin().unwrap_or(&before).commit.clone());
        let commits: BTreeSet<String> = commits.filter(is_unsaid).collect();
        let rows = in_place(self.rows, new.rows, &parts, [&before, &now]);
        let is_left = |commit: &str| {
            let mut origins = rows.iter().filter_map(R::origin);
            origins.any(|origin| origin.commit == commit)
        };
        let kept = notes.into_iter().filter(stays);
        let kept = kept.flat_map(|note| {
            if before == now {
                vec![note]
            } else {
                notes::of(note, &commits)
            }
        });
        let is_of_rows = |note: &String| notes::commit(note).is_none_or(is_left);
        let notes: Vec<String> = kept.filter(is_of_rows).collect();
        Ok(Self {
            rows,
            notes: [notes, new.notes].concat(),
            machine: new.machine,
            ..self
        })
    }

    /// Rejects `new` if it has a part but lacks some of its subjects.
    fn loses(&self, new: &Self, [kept, from]: [&str; 2]) -> Result<(), BadInput> {
        let of = |rows: &[R]| -> BTreeSet<[String; 2]> {
            let of_row = |row: &R| [row.subject(), row.part()];
            rows.iter().map(of_row).collect()
        };
        let found = of(&new.rows);
        let is_lost = |of: &&[String; 2]| {
            let again = found.iter().any(|[_, part]| *part == of[1]);
            again && !found.contains(*of)
        };
        match of(&self.rows).iter().find(is_lost) {
            None => Ok(()),
            Some(lost) => {
                let expected = format!("{}, as {kept} has it", lost.join(" ").trim());
                Err(BadInput::new(from, expected, "none"))
            }
        }
    }
}

/// Returns the part whose failure a note reports: `lm tiny decode f32 pytorch_graph failed: …`, or for ops
/// `linear.1x2x3.f32.pytorch failed: …`.
fn failed_part(note: &str) -> Option<String> {
    if let Some([model, preset, _, dtype, _]) = failed(note) {
        return Some([model, preset, dtype].join(" "));
    }
    let (key, _) = note.split_once(" failed: ")?;
    match key.split('.').collect::<Vec<_>>()[..] {
        [op, _, dtype, _] => Some([op, dtype].join(" ")),
        _ => None,
    }
}

/// Merges rows; `new` has all of `parts`. `before` and `now` are the files' commits.
fn in_place<R: Figures>(
    kept: Vec<R>,
    new: Vec<R>,
    parts: &BTreeSet<String>,
    [before, now]: [&Origin; 2],
) -> Vec<R> {
    let (mut rows, mut left) = (vec![], new);
    for mut row in kept {
        let part = row.part();
        if parts.contains(&part) {
            // All rows of a part go to the place of its first row.
            let (now, later) = left.into_iter().partition(|row| row.part() == part);
            rows.extend::<Vec<R>>(now);
            left = later;
            continue;
        }
        let origin = row.origin().cloned().unwrap_or_else(|| before.clone());
        *row.origin_mut() = (origin != *now).then_some(origin);
        rows.push(row);
    }
    rows.into_iter().chain(left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, Results, Row};

    fn row(preset: &str, dtype: &str, workload: &str, ms: f64) -> Row {
        Row {
            model: "lm".into(),
            preset: preset.into(),
            dtype: dtype.into(),
            workload: workload.into(),
            median_ms: ms,
            ..Row::default()
        }
    }

    fn run(commit: &str, rows: &[Row]) -> Results {
        let mut run = Results::new(Machine {
            name: "A CPU".into(),
            threads: 2,
            commit: commit.into(),
            ..Machine::default()
        });
        run.rows = rows.to_vec();
        run
    }

    fn replaced(kept: &Results, new: &Results) -> Result<Results, BadInput> {
        kept.clone()
            .replaced_by(new.clone(), ["cpu.json", "part.json"])
    }

    #[test]
    fn a_part_replaces_its_own_rows() {
        let a = row("tiny", "f32", "decode", 1.);
        let b = row("tiny", "bf16", "decode", 2.);
        let c = row("readme", "f32", "decode", 3.);
        let kept = run("abc", &[a.clone(), b.clone()]);
        let again = row("tiny", "f32", "decode", 7.);
        let new = run("abc", &[c.clone(), again.clone()]);
        let all = replaced(&kept, &new).unwrap();
        assert_eq!(all.rows, [again, b, c]);
        assert_eq!(replaced(&kept, &kept), Ok(kept));
    }

    #[test]
    fn rows_of_another_commit_name_it_until_measured_again() {
        let (a, b) = (
            row("tiny", "f32", "decode", 1.),
            row("readme", "f32", "decode", 2.),
        );
        let kept = run("abc", &[a.clone(), b.clone()]);
        let all = replaced(&kept, &run("def", std::slice::from_ref(&b))).unwrap();
        let commits: Vec<_> = (all.rows.iter())
            .map(|row| row.origin.as_ref().map(|origin| &*origin.commit))
            .collect();
        assert_eq!(commits, [Some("abc"), None]);
        assert_eq!(all.machine.commit, "def");
        let later = replaced(&all, &run("ghi", &[b])).unwrap();
        assert_eq!(
            later.rows[0].origin, all.rows[0].origin,
            "it stays of the first"
        );
        let again = replaced(&later, &run("ghi", &[a])).unwrap();
        assert!(again.rows.iter().all(|row| row.origin.is_none()));
    }

    #[test]
    fn notes_are_replaced_with_their_rows() {
        let of = |dtype: &str| format!("lm tiny decode {dtype} pytorch_graph failed: no memory");
        let rows = [
            row("tiny", "f32", "decode", 1.),
            row("tiny", "bf16", "decode", 2.),
        ];
        let mut kept = run("abc", &rows);
        kept.notes = vec!["PyTorch 2".into(), of("f32"), of("bf16")];
        let part = run("abc", &rows[1..]);
        let notes = |new: &Results| replaced(&kept, new).unwrap().notes;
        assert_eq!(notes(&part), ["PyTorch 2".into(), of("f32")]);
        let mut all = run("abc", &rows);
        all.notes = vec!["PyTorch 3".into()];
        assert_eq!(notes(&all), ["PyTorch 3"], "all of it was measured again");
    }

    #[test]
    fn a_failure_note_belongs_to_a_part() {
        let part = |of: &str| failed_part(&format!("{of} failed: no memory"));
        assert_eq!(
            part("lm tiny decode f32 pytorch_graph").as_deref(),
            Some("lm tiny f32")
        );
        assert_eq!(
            part("linear.1x2x3.f32.pytorch").as_deref(),
            Some("linear f32")
        );
        assert_eq!(part("the room"), None);
    }

    #[test]
    fn a_version_note_belongs_to_its_rows() {
        let rows = [
            row("tiny", "f32", "decode", 1.),
            row("tiny", "bf16", "decode", 2.),
        ];
        let mut kept = run("abc", &rows);
        kept.notes = vec!["PyTorch 2".into(), "all of it at night".into()];
        let mut part = run("def", &rows[1..]);
        part.notes = vec!["PyTorch 3".into()];
        let one = replaced(&kept, &part).unwrap();
        let expected = ["PyTorch 2 (commit abc)", "all of it at night", "PyTorch 3"];
        assert_eq!(one.notes, expected);
        part.rows = rows[..1].to_vec();
        let both = replaced(&one, &part).unwrap();
        assert_eq!(both.notes, expected[1..], "none of abc's rows is left");
        // Two commits shared a version and a note; the next run has another version.
        part.notes = kept.notes.clone();
        let mut same = replaced(&kept, &part).unwrap();
        assert_eq!(same.notes, kept.notes);
        let mut third = row("base", "f32", "decode", 3.);
        third.model = "gnn".into();
        let mut last = run("ghi", &[third]);
        last.notes = vec!["PyTorch 3".into()];
        same = replaced(&same, &last).unwrap();
        let of_both = ["PyTorch 2 (commit abc)", "PyTorch 2 (commit def)"];
        assert_eq!(same.notes[..2], of_both);
    }

    #[test]
    fn another_machine_is_an_error() {
        let kept = run("abc", &[]);
        let mut new = kept.clone();
        new.machine.threads = 4;
        let error = replaced(&kept, &new).unwrap_err().to_string();
        let end = "expected figures of A CPU, 4 threads, , rustc , candle, \
                   found A CPU, 2 threads, , rustc , candle";
        assert!(
            error.starts_with("cpu.json: ") && error.ends_with(end),
            "{error}"
        );
    }

    #[test]
    fn an_incomplete_part_is_an_error() {
        let rows = [
            row("tiny", "f32", "prefill", 1.),
            row("tiny", "f32", "decode", 2.),
        ];
        let kept = run("abc", &rows);
        let error = replaced(&kept, &run("def", &rows[1..]))
            .unwrap_err()
            .to_string();
        let expected = "part.json: expected prefill lm tiny f32, as cpu.json has it, found none";
        assert_eq!(error, expected);
    }
}
