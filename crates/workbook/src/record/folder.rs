//! The folder `benches/results`: records by name, and charts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use charts::Chart;
use cli::files::Output;
use data::BadInput;
use results::{Figures, Kind, Recorded};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Records sorted by name.
pub type Named<R> = Vec<(String, Recorded<R>)>;

/// Maximum length of a record's name. The names of its charts are longer, and file systems allow 255 bytes.
const LONGEST: usize = 64;

/// Returns the name if it is a valid file name, and leaves room for what the names of charts add to it.
pub fn checked(name: &str) -> Result<&str, BadInput> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let expected = "a name of letters, digits, '-', '_' and '.' that does not begin with '.'";
        Err(BadInput::new("NAME", expected, format!("{name:?}")))
    } else if name.len() > LONGEST {
        let expected = format!("a name of at most {LONGEST} characters");
        let found = format!("{} characters", name.len());
        Err(BadInput::new("NAME", expected, found))
    } else {
        Ok(name)
    }
}

/// Writes the results as JSON atomically; creates a missing folder.
pub fn save<R: Serialize>(path: &Path, results: &Recorded<R>) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    make(folder)?;
    Ok(data::save_as(path, results.json()?)?)
}

/// Makes a folder if there is none.
pub fn make(folder: &Path) -> Result<(), BadInput> {
    std::fs::create_dir_all(folder).map_err(|e| BadInput::unwritable(folder, &e))
}

/// Folder of a kind's records.
pub fn of_kind(root: &Path, kind: Kind) -> PathBuf {
    root.join("benches/results").join(kind.folder())
}

/// File of a run's results, recorded or not.
pub fn left_by_a_run(root: &Path, kind: Kind) -> PathBuf {
    root.join("target/workbook").join(kind.left_by_a_run())
}

/// The same, for a run that is about to measure: checks that the file can be written.
///
/// # Errors
/// [`BadInput`] with the system's reason.
pub fn figures(root: &Path, kind: Kind) -> Result<PathBuf, BadInput> {
    let path = left_by_a_run(root, kind);
    is_writable(&path)?;
    Ok(path)
}

/// Checks before a long run that `path` can be written, and makes its folder.
pub fn is_writable(path: &Path) -> Result<(), BadInput> {
    make(path.parent().unwrap_or(path))?;
    Output::new(path).map(drop)
}

/// Reads every record of a kind; none if the folder is missing.
pub fn records<R: DeserializeOwned + Figures>(root: &Path, kind: Kind) -> Result<Named<R>> {
    let folder = of_kind(root, kind);
    if !folder.exists() {
        return Ok(vec![]);
    }
    let mut records = vec![];
    for entry in std::fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            // Charts are named after it.
            checked(&stem).map_err(|bad| BadInput::new(path.display(), bad.expected, bad.found))?;
            records.push((stem.into_owned(), Recorded::load(&path)?));
        }
    }
    records.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(records)
}

/// A drawn chart.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// Name of the record, such as `h200`.
    pub record: String,
    /// Title of the chart.
    pub title: String,
    /// Path of the SVG.
    pub path: PathBuf,
}

/// Draws a chart of a record into `benches/results/charts/RECORD-NAME.svg`.
pub fn draw(root: &Path, record: &str, name: &str, chart: &impl Chart) -> Result<Drawing> {
    Ok(Drawing {
        record: record.into(),
        title: chart.title().into(),
        path: draw_named(root, &format!("{record}-{name}"), chart)?,
    })
}

/// Draws a chart into `benches/results/charts/NAME.svg` and returns the path.
pub fn draw_named(root: &Path, name: &str, chart: &impl Chart) -> Result<PathBuf> {
    let charts = root.join("benches/results/charts");
    make(&charts)?;
    Ok(charts::svg(&charts.join(name), chart)?)
}
