//! The figures as JSON, of this run and of those that are kept.

mod folder;

use std::path::{Path, PathBuf};

use anyhow::Result;
use benches::job::all_presets;
use candle_core::DType;
use data::BadInput;
use results::failed;
pub use results::{Clock, Machine, Results, Row};

use super::{chart, readme};
pub use folder::{beside, chart_path, checked, records, save};
use folder::{charts_of, others};

/// Results that are going to be kept in the repository.
#[derive(Debug)]
pub struct Record {
    folder: PathBuf,
    name: String,
    readme: PathBuf,
}

impl Record {
    /// Checks, before anything is measured, that `name` can be a file's, and that the README has a place for the table
    /// beside the others, which can be read.
    pub fn new(root: &Path, name: &str) -> Result<Self> {
        let name = checked(name)?;
        let (folder, readme) = (root.join("benches/results"), root.join("README.md"));
        if readme.exists() {
            readme::check(&readme)?;
            others::<Row>(&folder, name)?;
        }
        Ok(Self {
            folder,
            name: name.into(),
            readme,
        })
    }

    /// `new` behind what is kept already of other models, sizes and number formats; of what another commit was measured,
    /// each row says so.
    ///
    /// # Errors
    /// [`BadInput`] when that is of another machine, or of other versions than the repository's.
    pub fn added(&self, new: Results) -> Result<Results> {
        self.behind(self.kept()?, new)
    }

    /// What is kept already.
    pub fn kept(&self) -> Result<Option<Results>> {
        let path = self.json();
        Ok(path.exists().then(|| Results::load(&path)).transpose()?)
    }

    /// [`added`](Self::added) to what was read.
    pub fn behind(&self, kept: Option<Results>, new: Results) -> Result<Results> {
        let Some(mut all) = kept else {
            return Ok(new);
        };
        if !all.machine.is_like(&new.machine) {
            let expected = format!("figures of {}", new.machine);
            return Err(BadInput::new(self.json().display(), expected, &all.machine).into());
        }
        let [before, now] = [&all, &new].map(|results| results.machine.origin());
        for row in &mut all.rows {
            let origin = row.origin.take().unwrap_or(before.clone());
            row.origin = (origin != now).then_some(origin);
        }
        let again = |part: [&str; 3]| new.rows.iter().any(|row| of_row(row) == part);
        let stale = |note: &str| of_failure(note).is_some_and(again);
        all.rows.retain(|row| !again(of_row(row)));
        all.notes
            .retain(|note| !new.notes.contains(note) && !stale(note));
        all.rows.extend(new.rows);
        // In the order that one run has them.
        let presets = all_presets();
        let preset = |row: &Row| presets.iter().position(|name| *name == row.preset);
        (all.rows).sort_by_key(|row| (row.dtype != DType::F32.as_str(), preset(row)));
        all.notes.extend(new.notes);
        all.machine = new.machine;
        Ok(all)
    }

    fn json(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.name))
    }

    /// Writes the JSON, its chart, and the README's table; returns their paths. The README has the other records too: they
    /// are read before anything is written.
    pub fn write(&self, results: &Results) -> Result<Vec<PathBuf>> {
        let json = self.json();
        let mut all = match self.readme.exists() {
            true => others(&self.folder, &self.name)?,
            false => vec![],
        };
        save(&json, results)?;
        let mut paths = vec![json];
        paths.extend(draw(&self.folder, &self.name, results)?);
        if self.readme.exists() {
            let at = all.partition_point(|(name, _)| *name < self.name);
            all.insert(at, (self.name.clone(), results.clone()));
            readme::rewrite(&self.readme, &all)?;
            paths.push(self.readme.clone());
        }
        Ok(paths)
    }
}

/// Model, preset and number format, which are measured together.
fn of_row(row: &Row) -> [&str; 3] {
    [&row.model, &row.preset, &row.dtype]
}

/// The same of what failed.
fn of_failure(note: &str) -> Option<[&str; 3]> {
    failed(note).map(|[model, preset, _, dtype, _]| [model, preset, dtype])
}

/// A chart a model and number format, `charts/h200-lm-f32`; returns their paths.
fn draw(folder: &Path, name: &str, results: &Results) -> Result<Vec<PathBuf>> {
    let charts = charts_of(folder)?;
    let mut paths = vec![];
    for (model, chart) in chart::speed_by_model(results) {
        if chart.groups.is_empty() {
            continue; // of a part in graphs alone
        }
        paths.extend(charts::bar_grid(
            &charts.join(format!("{name}-{model}")),
            &chart,
        )?);
    }
    Ok(paths)
}

/// All that is recorded of the models, by name; the README has to have a place for it.
pub fn read(root: &Path) -> Result<Vec<(String, Results)>> {
    readme::check(&root.join("README.md"))?;
    records(root, "")
}

/// The charts of what [`read`] returned, and the README's table, once more; returns their paths.
///
/// For results that another machine has recorded: its JSON is copied here, and this draws the rest.
pub fn redraw(root: &Path, all: &[(String, Results)]) -> Result<Vec<PathBuf>> {
    let (folder, readme) = (root.join("benches/results"), root.join("README.md"));
    let mut paths = vec![];
    for (name, results) in all {
        paths.extend(draw(&folder, name, results)?);
    }
    readme::rewrite(&readme, all)?;
    paths.push(readme);
    Ok(paths)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A workload at two levels.
    pub fn example() -> Results {
        let row = |level: u8, median_ms: f64, tensors| Row {
            model: "lm".into(),
            preset: "tiny".into(),
            workload: "decode".into(),
            level,
            system: None,
            graph: false,
            dtype: "f32".into(),
            median_ms,
            low_ms: 0.95 * median_ms,
            high_ms: 1.1 * median_ms,
            device_ms: None,
            speedup: 1.23 / median_ms,
            tensors,
            launches: None,
            peak_bytes: 3 << 19,
            max_difference: if level == 1 { 0. } else { 1.25e-7 },
            samples: 20,
            origin: None,
        };
        let mut results = Results::new(Machine {
            device: "cpu".into(),
            name: "A CPU".into(),
            threads: 2,
            os: "linux x86_64".into(),
            rustc: "1.95.0".into(),
            candle: "0.11.1".into(),
            commit: "abc".into(),
            date: "2026-11-21".into(),
            driver: None,
            toolkit: None,
        });
        results.rows = vec![row(1, 1.23, 321), row(2, 0.98, 150)];
        results
    }

    #[test]
    fn a_record_is_json_chart_and_table() -> Result<()> {
        let root = tempfile::tempdir()?;
        let readme = root.path().join("README.md");
        std::fs::write(
            &readme,
            "# Title\n<!-- results:begin -->\n<!-- results:end -->\n",
        )?;
        let record = Record::new(root.path(), "cpu")?;
        let paths = record.write(&example())?;
        let names: Vec<_> = paths
            .iter()
            .filter_map(|p| p.file_name()?.to_str())
            .collect();
        assert_eq!(
            names,
            ["cpu.json", "cpu-lm-f32.svg", "cpu-lm-f32.png", "README.md"]
        );
        assert!(std::fs::read_to_string(&readme)?.contains("| lm tiny decode | 1.23 ms |"));
        Ok(())
    }

    #[test]
    fn a_part_is_added_to_the_others() -> Result<()> {
        let root = tempfile::tempdir()?;
        let record = Record::new(root.path(), "cpu")?;
        assert_eq!(record.added(example())?, example(), "nothing is there yet");
        record.write(&example())?;
        let mut part = example();
        part.rows.truncate(1);
        part.rows[0].dtype = "bf16".into();
        let all = record.added(part.clone())?;
        assert_eq!(all.rows, [example().rows, part.rows.clone()].concat());
        record.write(&all)?;
        part.rows[0].median_ms = 7.;
        let all = record.added(part.clone())?;
        assert_eq!(all.rows, [example().rows, part.rows.clone()].concat());
        let mut larger = example();
        larger
            .rows
            .iter_mut()
            .for_each(|row| row.preset = "readme".into());
        let before_bf16 = [example().rows, larger.rows.clone(), all.rows[2..].to_vec()].concat();
        record.write(&all)?;
        assert_eq!(record.added(larger)?.rows, before_bf16);
        let of = |dtype: &str| format!("lm tiny decode {dtype} pytorch_graph failed: no memory");
        let mut noted = all;
        noted.notes = vec!["PyTorch 2".into(), of("f32"), of("bf16")];
        record.write(&noted)?;
        let notes = record.added(part.clone())?.notes;
        assert_eq!(
            notes,
            ["PyTorch 2".into(), of("f32")],
            "the other was run again"
        );
        Ok(())
    }

    #[test]
    fn what_another_commit_was_measured_says_so_until_it_is_measured_again() -> Result<()> {
        let root = tempfile::tempdir()?;
        let record = Record::new(root.path(), "cpu")?;
        record.write(&example())?;
        let mut part = example();
        part.machine.commit = "def".into();
        part.rows[0].dtype = "bf16".into();
        part.rows.truncate(1);
        let all = record.added(part)?;
        let commits: Vec<_> = (all.rows.iter())
            .map(|row| row.origin.as_ref().map(|origin| &*origin.commit))
            .collect();
        assert_eq!(commits, [Some("abc"), Some("abc"), None]);
        assert_eq!(all.machine.commit, "def");
        record.write(&all)?;
        let mut again = example();
        again.machine.commit = "def".into();
        assert!(
            record
                .added(again)?
                .rows
                .iter()
                .all(|row| row.origin.is_none())
        );
        Ok(())
    }

    #[test]
    fn another_machine_is_not_added() -> Result<()> {
        let root = tempfile::tempdir()?;
        let record = Record::new(root.path(), "cpu")?;
        record.write(&example())?;
        let mut part = example();
        part.machine.threads = 4;
        let error = record.added(part).unwrap_err().to_string();
        let end = "expected figures of A CPU, 4 threads, linux x86_64, rustc 1.95.0, candle 0.11.1, \
                   found A CPU, 2 threads, linux x86_64, rustc 1.95.0, candle 0.11.1";
        assert!(error.ends_with(end), "{error}");
        Ok(())
    }

    #[test]
    fn what_is_recorded_is_drawn_again() -> Result<()> {
        let root = tempfile::tempdir()?;
        let readme = root.path().join("README.md");
        std::fs::write(&readme, "<!-- results:begin -->\n<!-- results:end -->\n")?;
        Record::new(root.path(), "cpu")?.write(&example())?;
        let table = std::fs::read_to_string(&readme)?;
        let svg = root.path().join("benches/results/charts/cpu-lm-f32.svg");
        let chart = std::fs::read(&svg)?;
        std::fs::write(&readme, "<!-- results:begin -->\n<!-- results:end -->\n")?;
        std::fs::remove_file(&svg)?;
        assert_eq!(redraw(root.path(), &read(root.path())?)?.len(), 3);
        assert_eq!(std::fs::read_to_string(&readme)?, table);
        assert_eq!(std::fs::read(&svg)?, chart);
        Ok(())
    }

    #[test]
    fn a_record_without_a_place_is_refused_before_the_measurement() -> Result<()> {
        let root = tempfile::tempdir()?;
        for bad in ["", "../cpu", ".cpu", "a b"] {
            assert!(Record::new(root.path(), bad).is_err(), "{bad:?}");
        }
        std::fs::write(root.path().join("README.md"), "# Title\n")?;
        let error = Record::new(root.path(), "cpu").unwrap_err().to_string();
        assert!(error.contains("README.md: expected"), "{error}");
        Ok(())
    }

    #[test]
    fn every_level_can_be_recorded() {
        assert_eq!(results::HIGHEST, levels::highest());
    }

    #[test]
    fn rows_of_one_workload_stay_together() {
        let mut results = example();
        let other = Row {
            workload: "prefill".into(),
            ..results.rows[0].clone()
        };
        results.rows.push(other);
        let sizes: Vec<usize> = results.workloads().map(<[Row]>::len).collect();
        assert_eq!(sizes, [2, 1]);
    }
}
