//! Writes the files of cases of the kernels, `kernels/generated/OP/X.cases`: for each entry of each `.ptx` the smallest
//! launches that together execute all that any launch here does.
//!
//! ```text
//! cargo run --release -p kernels --example cases
//! cargo run --release -p kernels --example cases -- softmax rope/level4      those whose paths hold one of these
//! ```
//!
//! The launches are noted while the calls of `calls`, on sizes with tails, run in the simulator. A kernel that those never
//! launch has the calls of its op, `kernels/src/OP/calls.rs`. `workbook sim` runs the files, and mutants are judged by
//! them. What is below a line that begins with `# By hand` stays.

mod calls;
mod choose;
mod tiles;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use candle_core::Device;
use kernels::launch::{Recorded, recorded};
use kernels::output::poisoned;
use rayon::prelude::*;
use simt::Options;
use simt::case::{file_of, files_below, is_reading_version};

fn main() -> Result<()> {
    let options = Options {
        races: false,
        ..Options::default()
    };
    let (called, launches) = recorded(options.clone(), || poisoned(calls::all));
    called?;
    eprintln!("simulating the calls that the ops list");
    let (called, of_ops) = recorded(options, || poisoned(of_ops));
    called?;
    let mut launches = tiles::smaller(launches);
    let known: BTreeSet<Option<String>> = entries(&launches).collect();
    launches.extend(
        of_ops
            .into_iter()
            .filter(|l| !known.contains(&l.case.entry)),
    );
    println!("{} launches", launches.len());
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let mut texts = texts()?;
    texts.retain(|path| {
        let path = path.to_string_lossy();
        parts.is_empty() || parts.iter().any(|part| path.contains(part))
    });
    ensure!(!texts.is_empty(), "no text's path holds {parts:?}");
    texts.par_iter().try_for_each(|path| write(path, &launches))
}

/// The calls that the folders of the ops list.
fn of_ops() -> candle_core::Result<()> {
    let cases = kernels::calls().cases;
    cases.iter().try_for_each(|case| case.run(&Device::Cpu))
}

fn entries(launches: &[Recorded]) -> impl Iterator<Item = Option<String>> {
    launches.iter().map(|launch| launch.case.entry.clone())
}

/// The file of cases of a text.
fn write(path: &Path, launches: &[Recorded]) -> Result<()> {
    let shown = || path.display().to_string();
    let ptx = fs::read_to_string(path).with_context(shown)?;
    let of = |launch: &&Recorded| launch.module.texts().contains(&ptx.as_str());
    let launches: Vec<&Recorded> = launches.iter().filter(of).collect();
    let cases = choose::cases(&ptx, &launches).with_context(shown)?;
    let by = "written by `cargo run --release -p kernels --example cases`";
    let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let file = file_of(path);
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let before = fs::read_to_string(&file).unwrap_or_default();
    let by_hand = before.find("# By hand").map_or("", |at| &before[at..]);
    let text = format!("# Launches of {name}, {by}.\n{lines}{by_hand}");
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(shown)?;
    }
    fs::write(&file, text).with_context(shown)?;
    println!(
        "{}: {} of {} launches",
        file.display(),
        cases.len(),
        launches.len()
    );
    Ok(())
}

/// All `.ptx` of the kernels that can be simulated and are launched; where a kernel file has several, the one with the
/// highest target. Those of the examples launch themselves.
fn texts() -> Result<Vec<PathBuf>> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = crate_folder.join("examples");
    let mut files = files_below(crate_folder, &["ptx"])?;
    files.retain(|path| !path.starts_with(&examples));
    files.retain(|path| !path.to_string_lossy().ends_with(".sm_90a.ptx"));
    files.retain(|path| !is_reading_version(path));
    files.reverse();
    files.dedup_by_key(|path| file_of(path));
    Ok(files)
}
