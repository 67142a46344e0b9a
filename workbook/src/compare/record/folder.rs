//! What lies in `benches/results`: records by their names, and charts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use data::BadInput;
use results::{Figures, Recorded};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The name itself, when it can be a file's.
pub fn checked(name: &str) -> Result<&str, BadInput> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        true => {
            let expected = "a name of letters, digits, '-', '_' and '.'";
            Err(BadInput::new("--record", expected, format!("{name:?}")))
        }
        false => Ok(name),
    }
}

/// The name itself, when it can be a file's, and the other records of its kind, which are drawn with it, can be read.
pub fn beside<'a, R: DeserializeOwned + Figures>(
    root: &Path,
    kind: &str,
    name: &'a str,
) -> Result<&'a str> {
    let name = checked(name)?;
    others::<R>(&root.join("benches/results").join(kind), name)?;
    Ok(name)
}

/// The records in `folder` of other names.
pub fn others<R: DeserializeOwned + Figures>(
    folder: &Path,
    name: &str,
) -> Result<Vec<(String, Recorded<R>)>> {
    if !folder.exists() {
        return Ok(vec![]);
    }
    let mut paths = files(folder)?;
    paths.retain(|path| stem(path) != name);
    paths.into_iter().map(named).collect()
}

/// Writes the results as JSON, whole or not at all; the folder is made where it is not there.
pub fn save<R: Serialize>(path: &Path, results: &Recorded<R>) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    let json = results.json()?;
    charts::write_atomically(path, json.as_bytes()).with_context(|| format!("{}", path.display()))
}

/// `h200` of `…/h200.json`.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Every record in the folder `kind` of `benches/results`, with its name; without a kind, those of the models.
pub fn records<R: DeserializeOwned + Figures>(
    root: &Path,
    kind: &str,
) -> Result<Vec<(String, Recorded<R>)>> {
    let files = files(&root.join("benches/results").join(kind))?;
    files.into_iter().map(named).collect()
}

/// A record, with its name.
fn named<R: DeserializeOwned + Figures>(json: PathBuf) -> Result<(String, Recorded<R>)> {
    Ok((stem(&json), Recorded::load(&json)?))
}

/// Where the chart of this name goes: below `benches/results`.
pub fn chart_path(root: &Path, name: &str) -> Result<PathBuf> {
    Ok(charts_of(&root.join("benches/results"))?.join(name))
}

/// The JSON files in `folder`, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    Ok(paths)
}

/// The folder of the charts of recorded results; made where it is not there.
pub fn charts_of(folder: &Path) -> Result<PathBuf> {
    let charts = folder.join("charts");
    std::fs::create_dir_all(&charts).with_context(|| format!("{}", charts.display()))?;
    Ok(charts)
}
