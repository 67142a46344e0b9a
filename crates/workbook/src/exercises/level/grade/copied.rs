//! Copies a crate that a student handed in, within bounds and without following links.

use std::fs;
use std::io;
use std::path::Path;

use classroom::class::Entries;

use super::class::Assembled;

/// Maximum size of a file.
pub const LARGEST: u64 = 1 << 20;
/// Maximum size of all files together.
const TOTAL: u64 = 16 << 20;
/// Maximum number of files and folders.
const MOST: usize = 200;
/// Maximum depth of folders below `src` and `kernels`.
const DEEPEST: usize = 8;

/// Copies the files of a crate.
pub fn copy_crate(from: &Path, to: &Path) -> anyhow::Result<Assembled> {
    let mut copied = Copied { count: 0, bytes: 0 };
    for folder in ["src", "kernels"] {
        if let Err(line) = copied.below(&from.join(folder), &to.join(folder), DEEPEST)? {
            return Ok(Err(line));
        }
    }
    Ok(Ok(()))
}

/// Files and bytes copied so far.
struct Copied {
    count: usize,
    bytes: u64,
}

impl Copied {
    fn below(&mut self, from: &Path, to: &Path, deepest: usize) -> anyhow::Result<Assembled> {
        if from.is_symlink() {
            return Ok(Err(linked(from)));
        }
        let found = match Entries::of(from) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ok(())),
            Err(error) => return Ok(Err(format!("{}: cannot be read: {error}", from.display()))),
        };
        if let Some(link) = found.links.first() {
            return Ok(Err(linked(link)));
        }
        self.count += found.files.len() + found.folders.len();
        let is_deep = deepest == 0 && !found.folders.is_empty();
        let expected = match () {
            () if self.count > MOST => format!("at most {MOST} files and folders"),
            () if is_deep => format!("folders at most {DEEPEST} deep"),
            () => return self.entries(&found, to, deepest),
        };
        Ok(Err(format!(
            "{}: expected {expected}, found more",
            from.display()
        )))
    }

    fn entries(&mut self, found: &Entries, to: &Path, deepest: usize) -> anyhow::Result<Assembled> {
        fs::create_dir_all(to)?;
        for file in &found.files {
            self.bytes += fs::symlink_metadata(file).map_or(0, |found| found.len());
            if self.bytes > TOTAL {
                let expected = format!("expected at most {TOTAL} bytes in all files, found more");
                return Ok(Err(format!("{}: {expected}", file.display())));
            }
            let name = file.file_name().unwrap_or_default();
            if let Err(line) = copy(file, &to.join(name))? {
                return Ok(Err(line));
            }
        }
        for folder in &found.folders {
            let name = folder.file_name().unwrap_or_default();
            if let Err(line) = self.below(folder, &to.join(name), deepest - 1)? {
                return Ok(Err(line));
            }
        }
        Ok(Ok(()))
    }
}

fn linked(path: &Path) -> String {
    format!(
        "{}: it is a link, and links are not followed",
        path.display()
    )
}

/// Copies a file of bounded size.
pub fn copy(from: &Path, to: &Path) -> anyhow::Result<Assembled> {
    let kind = fs::symlink_metadata(from)?;
    if !kind.is_file() || kind.len() > LARGEST {
        return Ok(Err(format!(
            "{}: expected a file of at most {LARGEST} bytes",
            from.display()
        )));
    }
    match fs::read(from) {
        Ok(bytes) => fs::write(to, bytes)?,
        Err(error) => return Ok(Err(format!("{}: cannot be read: {error}", from.display()))),
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(make: impl Fn(&Path)) -> String {
        let root = tempfile::tempdir().unwrap();
        let from = root.path().join("from");
        fs::create_dir_all(from.join("kernels")).unwrap();
        make(&from);
        copy_crate(&from, &root.path().join("to"))
            .unwrap()
            .unwrap_err()
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused_at_any_depth() {
        use std::os::unix::fs::symlink;
        for place in ["src", "kernels/link", "kernels/a/b/link"] {
            let line = refused(|from| {
                fs::create_dir_all(from.join("kernels/a/b")).unwrap();
                symlink("/etc", from.join(place)).unwrap();
            });
            let expected = format!("{place}: it is a link, and links are not followed");
            assert!(line.ends_with(&expected), "{line}");
        }
    }

    #[test]
    fn a_crate_has_bounds() {
        let deep =
            refused(|from| fs::create_dir_all(from.join("src").join("d/".repeat(1500))).unwrap());
        assert!(
            deep.ends_with("expected folders at most 8 deep, found more"),
            "{deep}"
        );
        let many = refused(|from| {
            (0..201).for_each(|i| fs::create_dir(from.join(format!("kernels/{i}"))).unwrap());
        });
        assert!(
            many.ends_with("at most 200 files and folders, found more"),
            "{many}"
        );
        let large = refused(|from| {
            let whole = vec![b' '; LARGEST as usize];
            (0..17).for_each(|i| fs::write(from.join(format!("kernels/{i}")), &whole).unwrap());
        });
        assert!(large.ends_with("bytes in all files, found more"), "{large}");
    }
}
