//! CUDA files that were changed after their PTX was made: programs run the PTX.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use simt::case::files_below;

use crate::files;
use crate::note::note_later;

/// A checkout writes files in any order; it takes less than this.
const CHECKOUT: Duration = Duration::from_secs(60);

/// Notes for the end of the program which CUDA files of the kernels are newer than their PTX. Nothing outside of a repository.
pub(crate) fn note_newer_sources() {
    if let Ok(kernels) = files::find("kernels/src")
        && let Some(text) = kernels.parent().and_then(|folder| text(&newer(folder)))
    {
        note_later(text);
    }
}

fn text(newer: &[PathBuf]) -> Option<String> {
    let (first, others) = newer.split_first()?;
    let first = first.display();
    let are_newer = match others.len() {
        0 => "is newer than its PTX".to_owned(),
        n => format!("and {n} more are newer than their PTX"),
    };
    Some(format!(
        "{first} {are_newer}, which ran; if the code has changed, `scripts/ptx.sh {first}` makes the PTX again"
    ))
}

/// The CUDA files below `src` in `kernels` that are newer than their PTX in `generated`: a header than all PTX of its folder, or
/// than all PTX where its folder has none, such as `common`. The one that was changed last comes first.
fn newer(kernels: &Path) -> Vec<PathBuf> {
    let (sources, generated) = (kernels.join("src"), kernels.join("generated"));
    let below = |folder, extensions| files_below(folder, extensions).unwrap_or_default();
    let all = below(&generated, &["ptx"]);
    let mut newer = below(&sources, &["cu", "cuh"]);
    newer.retain(|source| {
        let at = source
            .strip_prefix(&sources)
            .map(|path| generated.join(path));
        let made = at.ok().and_then(|at| newest(&made_from(&at, &all)));
        let made = made.or_else(|| newest(&all));
        made.zip(changed(source))
            .is_some_and(|(made, changed)| changed > made + CHECKOUT)
    });
    newer.sort_by_key(|source| Reverse(changed(source)));
    newer
}

/// The PTX made from `gelu/level4.cu`, which is `gelu/level4.sm_75.ptx` and others; from a header, all that of its folder.
fn made_from(source: &Path, all: &[PathBuf]) -> Vec<PathBuf> {
    let is_header = source.extension().is_some_and(|name| name == "cuh");
    let stem = source
        .file_stem()
        .map(|name| format!("{}.", name.display()));
    let is_of = |ptx: &&PathBuf| {
        let name = ptx.file_name().map(|name| name.display().to_string());
        let is_named = name
            .zip(stem.as_ref())
            .is_some_and(|(name, stem)| name.starts_with(stem));
        ptx.parent() == source.parent() && (is_header || is_named)
    };
    all.iter().filter(is_of).cloned().collect()
}

fn newest(paths: &[PathBuf]) -> Option<SystemTime> {
    paths.iter().filter_map(|path| changed(path)).max()
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|file| file.modified()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    /// Writes an empty file that was changed `minutes` after a time.
    fn write(kernels: &Path, name: &str, minutes: u64) {
        let path = kernels.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(60 * minutes);
        File::create(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn sources_that_are_newer_than_their_ptx_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let kernels = folder.path();
        write(kernels, "generated/gelu/level4.sm_75.ptx", 10);
        write(kernels, "generated/gelu/level5.sm_75.ptx", 20);
        write(kernels, "generated/linear/level4/mma.sm_80.ptx", 20);
        write(kernels, "src/gelu/level4.cu", 11);
        write(kernels, "src/linear/level4/mma.cu", 19);
        write(kernels, "src/common/vector.cuh", 15);
        write(kernels, "src/gelu/level3.ptx", 90);
        assert_eq!(text(&newer(kernels)), None);

        write(kernels, "src/gelu/level4.cu", 12);
        write(kernels, "src/linear/level4/tile.cuh", 30);
        write(kernels, "src/common/vector.cuh", 31);
        let expected = [
            "src/common/vector.cuh",
            "src/linear/level4/tile.cuh",
            "src/gelu/level4.cu",
        ];
        assert_eq!(newer(kernels), expected.map(|name| kernels.join(name)));
    }

    #[test]
    fn the_note_says_what_to_run() {
        let note = text(&["a.cu".into(), "b.cu".into()]).unwrap();
        assert!(
            note.starts_with("a.cu and 1 more are newer than their PTX, which ran"),
            "{note}"
        );
        assert!(note.contains("`scripts/ptx.sh a.cu`"), "{note}");
    }
}
