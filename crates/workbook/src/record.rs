//! Records of measurements: JSON in `benches/results`, and the charts and tables made from it.

pub mod folder;
mod page;
mod run;
mod slower;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use benches::job::every_preset;
use candle_core::DType;
use clap::Args;
use data::{BadInput, Lock, say};
use results::criterion::Case;
use results::{Figures, Kind, Machine, OpRow, Recorded, Row, SweepRow};

use crate::compare::{self, root};
use crate::worklog;
use folder::{Drawing, Named, checked, left_by_a_run, records, save};
pub use run::Run;

/// Add measurements, from here or another machine, to the records of a device; write charts and tables again
#[derive(Debug, Clone, Args)]
pub struct RecordArgs {
    /// Name of the device: benches/results/NAME.json, and NAME.json in the folders there; new names are fine
    name: String,
    /// JSON files of compare, ops, small, sweep, ablation, worklog and cargo bench; each replaces earlier measurements of the same workload
    /// [default: all that they left in target/workbook]
    #[arg(value_name = "JSON")]
    files: Vec<PathBuf>,
}

/// Adds the files in order, and writes the records with their charts and tables.
pub fn run(args: &RecordArgs) -> Result<()> {
    let root = root()?;
    let mut records = Records::open(&root, &args.name)?; // before anything is written
    let files = if args.files.is_empty() {
        left_by_runs(&root)?
    } else {
        args.files.clone()
    };
    let mut runs = vec![];
    for file in files {
        let (run, from) = (Run::load(&file)?, file.display().to_string());
        records.put(run.clone(), &from)?;
        say(format_args!("figures  {from}"))?;
        runs.push((run, from));
    }
    add(&root, &args.name, runs)
}

/// Adds runs, each with its name, to the records as they are now: another program may have changed them since the runs
/// were checked.
fn add(root: &Path, name: &str, runs: Vec<(Run, String)>) -> Result<()> {
    let _lock = lock(root)?;
    let mut records = Records::open(root, name)?;
    for (run, from) in runs {
        records.put(run, &from)?;
    }
    records.write()
}

/// The lock on all records; its file is where git ignores it. The program that has it may draw all
/// charts, which takes many seconds on a busy machine.
fn lock(root: &Path) -> Result<Lock, BadInput> {
    Lock::within_aloud(&root.join("target/workbook/records"), PATIENCE)
}

/// Maximum time to wait for other programs that write records and draw charts.
const PATIENCE: Duration = Duration::from_secs(60);

/// Adds a run to the record that its command names, if any.
pub fn written(records: Option<Records>, run: Run) -> Result<()> {
    let Some(Records { root, name, .. }) = records else {
        return Ok(());
    };
    add(&root, &name, vec![(run, "--record".into())])
}

/// Writes all charts and tables again and prints the paths. Reads every record first: if one is wrong, no file changes.
pub fn redraw() -> Result<()> {
    let root = root()?;
    All::read(&root)?; // before anything is written
    let _lock = lock(&root)?;
    let drawn = All::read(&root)?.draw(&root)?;
    Ok(drawn.iter().try_for_each(|path| say(path.display()))?)
}

/// Lists the files of local runs.
fn left_by_runs(root: &Path) -> Result<Vec<PathBuf>, BadInput> {
    let files = Kind::ALL.map(|kind| left_by_a_run(root, kind));
    let found: Vec<PathBuf> = files.into_iter().filter(|path| path.exists()).collect();
    if found.is_empty() {
        Err(BadInput::new("target/workbook", "figures of a run", "none"))
    } else {
        Ok(found)
    }
}

/// All records by name.
#[derive(Clone)]
struct All {
    models: Named<Row>,
    ops: Named<OpRow>,
    small: Named<OpRow>,
    sweep: Named<SweepRow>,
    ablations: Named<Row>,
    worklogs: Named<OpRow>,
    benches: Named<Case>,
}

impl All {
    /// Reads every file.
    fn read(root: &Path) -> Result<Self> {
        if root.join("README.md").exists() {
            compare::has_places(root)?;
        }
        let worklogs = records(root, Kind::Worklogs)?;
        for (name, recorded) in &worklogs {
            let path = folder::of_kind(root, Kind::Worklogs).join(format!("{name}.json"));
            worklog::check(recorded, &path.display().to_string())?;
        }
        Ok(Self {
            worklogs,
            models: records(root, Kind::Models)?,
            ops: records(root, Kind::Ops)?,
            small: records(root, Kind::Small)?,
            sweep: records(root, Kind::Sweep)?,
            ablations: records(root, Kind::Ablations)?,
            benches: records(root, Kind::Benches)?,
        })
    }

    /// Draws all charts, and writes benches/results/README.md, the README's blocks and the kernels' headers;
    /// returns the paths. A bundle for another machine has no README and no kernels. `bench-charts` draws
    /// Criterion's times.
    fn draw(&self, root: &Path) -> Result<Vec<PathBuf>> {
        let charts: Charts = vec![
            (Kind::Models, compare::redraw(root, &self.models)?),
            (Kind::Ops, crate::ops::redraw(root, &self.ops)?),
            (Kind::Small, crate::small::redraw(root, &self.small)?),
            (Kind::Sweep, crate::sweep::redraw(root, &self.sweep)?),
            (
                Kind::Ablations,
                crate::ablation::redraw(root, &self.ablations)?,
            ),
            (Kind::Worklogs, worklog::redraw(root, &self.worklogs)?),
        ];
        let drawn = charts.iter().flat_map(|(_, drawn)| drawn);
        let mut paths: Vec<PathBuf> = drawn.map(|drawing| drawing.path.clone()).collect();
        paths.extend(compare::overview(root, &self.models)?);
        paths.push(page::write(root, self, &charts)?);
        if root.join("README.md").exists() {
            paths.push(compare::rewrite(root, &self.models)?);
        }
        paths.extend(crate::ops::write_measured(root, &self.ops)?);
        Ok(paths)
    }

    /// Names of records, sorted.
    fn names(&self) -> BTreeSet<&str> {
        let names = |kind| self.machines(kind).into_iter().map(|(name, _)| name);
        Kind::ALL.into_iter().flat_map(names).collect()
    }

    /// Machines of a kind's records, by name.
    fn machines(&self, kind: Kind) -> Vec<(&str, &Machine)> {
        fn of<R>(records: &Named<R>) -> Vec<(&str, &Machine)> {
            let records = records.iter();
            records
                .map(|(name, recorded)| (name.as_str(), &recorded.machine))
                .collect()
        }
        match kind {
            Kind::Models => of(&self.models),
            Kind::Ops => of(&self.ops),
            Kind::Small => of(&self.small),
            Kind::Sweep => of(&self.sweep),
            Kind::Ablations => of(&self.ablations),
            Kind::Worklogs => of(&self.worklogs),
            Kind::Benches => of(&self.benches),
        }
    }
}

/// Charts of each kind.
type Charts = Vec<(Kind, Vec<Drawing>)>;

/// The records of one name, among the others.
#[derive(Clone)]
pub struct Records {
    root: PathBuf,
    name: String,
    all: All,
    changed: BTreeSet<Kind>,
}

impl Records {
    /// Reads all records. Checks before any measurement that `name` is a valid file name and that the README
    /// has the markers of its tables.
    pub fn open(root: &Path, name: &str) -> Result<Self> {
        Ok(Self {
            root: root.into(),
            name: checked(name)?.into(),
            all: All::read(root)?,
            changed: BTreeSet::new(),
        })
    }

    /// Opens the record of a command's `--record`, and checks that it is, or will be, of this machine.
    pub fn named(root: &Path, name: Option<&str>, run: &Run) -> Result<Option<Self>> {
        let Some(name) = name else { return Ok(None) };
        let what = "--record".to_string();
        checked(name).map_err(|error| BadInput { what, ..error })?;
        let records = Self::open(root, name)?;
        records.clone().put(run.clone(), "--record")?;
        folder::is_writable(&records.path(run.kind()))?;
        folder::is_writable(&root.join("benches/results/charts").join(name))?;
        Ok(Some(records))
    }

    /// Replaces what a run has measured again; `from` names the run.
    ///
    /// # Errors
    /// [`BadInput`] if the record is of another machine, or has rows that the run lacks.
    pub fn put(&mut self, run: Run, from: &str) -> Result<(), BadInput> {
        let kind = run.kind();
        let path = self.path(kind).display().to_string();
        let Self { name, all, .. } = self;
        let names = [path.as_str(), from];
        match run {
            Run::Models(run) if kind == Kind::Ablations => {
                replace(&mut all.ablations, name, run, names)?
            }
            Run::Models(run) => {
                replace(&mut all.models, name, run, names)?;
                all.models.iter_mut().for_each(|(_, models)| sort(models));
            }
            Run::Ops(run) if kind == Kind::Small => replace(&mut all.small, name, run, names)?,
            Run::Ops(run) if kind == Kind::Worklogs => {
                worklog::check(&run, from)?;
                replace(&mut all.worklogs, name, run, names)?
            }
            Run::Ops(run) => replace(&mut all.ops, name, run, names)?,
            Run::Sweep(run) => replace(&mut all.sweep, name, run, names)?,
            Run::Benches(run) => replace(&mut all.benches, name, run, names)?,
        }
        self.changed.insert(kind);
        Ok(())
    }

    /// Writes the changed records and their charts, and prints the paths.
    pub fn write(&self) -> Result<()> {
        for kind in &self.changed {
            let path = self.path(*kind);
            match kind {
                Kind::Models => self.save(&path, &self.all.models)?,
                Kind::Ops => self.save(&path, &self.all.ops)?,
                Kind::Small => self.save(&path, &self.all.small)?,
                Kind::Sweep => self.save(&path, &self.all.sweep)?,
                Kind::Ablations => self.save(&path, &self.all.ablations)?,
                Kind::Worklogs => self.save(&path, &self.all.worklogs)?,
                Kind::Benches => self.save(&path, &self.all.benches)?,
            }
            say(format_args!("recorded {}", path.display()))?;
        }
        let drawn = self.all.draw(&self.root)?;
        let line = |path: &PathBuf| say(format_args!("drawn    {}", path.display()));
        Ok(drawn.iter().try_for_each(line)?)
    }

    fn save<R: Figures + serde::Serialize>(&self, path: &Path, all: &Named<R>) -> Result<()> {
        let mut own = all.iter().filter(|(name, _)| *name == self.name);
        own.try_for_each(|(_, recorded)| save(path, recorded))
    }

    fn path(&self, kind: Kind) -> PathBuf {
        folder::of_kind(&self.root, kind).join(format!("{}.json", self.name))
    }
}

/// Puts `new` into the record `name` of `all`, which stays sorted by name.
fn replace<R: Figures + Clone>(
    all: &mut Named<R>,
    name: &str,
    new: Recorded<R>,
    names: [&str; 2],
) -> Result<(), BadInput> {
    match all.binary_search_by(|(other, _)| other.as_str().cmp(name)) {
        Ok(at) => all[at].1 = all[at].1.clone().replaced_by(new, names)?,
        Err(at) => all.insert(at, (name.into(), new)),
    }
    Ok(())
}

/// Sorts rows as a single run does.
fn sort(models: &mut Recorded<Row>) {
    let presets = every_preset();
    let preset = |row: &Row| presets.iter().position(|name| *name == row.preset);
    (models.rows).sort_by_key(|row| (row.dtype != DType::F32.as_str(), preset(row)));
}

#[cfg(test)]
mod tests;
