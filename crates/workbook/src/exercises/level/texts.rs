//! The texts of a level's crate: which methods a change may concern.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The text of each method in `src/ops.rs`, and everything else.
#[derive(Debug, PartialEq, Eq)]
pub struct Texts {
    methods: BTreeMap<&'static str, String>,
    /// Lines of `src/ops.rs` outside of methods that give names their meaning.
    names: String,
    /// Its other lines: the learner's functions.
    functions: String,
    /// Other files by their path in the crate.
    others: BTreeMap<PathBuf, Vec<u8>>,
}

/// Whether a file's name is one that editors give to their own files: `.ops.rs.swp`, `#ops.rs#`, `ops.rs~`, and `4913`,
/// with which Vim tries whether it can write.
fn is_an_editors(name: &str) -> bool {
    let extension = Path::new(name).extension().unwrap_or_default();
    name.starts_with(['.', '#'])
        || name.ends_with('~')
        || name.contains("___jb_")
        || name.chars().all(|c| c.is_ascii_digit())
        || ["swp", "swo", "swx", "bak", "tmp"]
            .iter()
            .any(|of_editor| extension == *of_editor)
}

impl Texts {
    /// Reads the files in `src` and `kernels` of the crate in `folder`.
    pub fn read(folder: &Path) -> Result<Self> {
        let ops = folder.join("src/ops.rs");
        let text = fs::read_to_string(&ops).unwrap_or_default();
        let mut texts = Self::of(&text);
        for sub in ["src", "kernels"] {
            texts.add(folder, Path::new(sub), &ops)?;
        }
        Ok(texts)
    }

    /// Adds the files of a folder and of the folders in it.
    fn add(&mut self, root: &Path, below: &Path, ops: &Path) -> Result<()> {
        let Ok(entries) = fs::read_dir(root.join(below)) else {
            return Ok(());
        };
        for entry in entries {
            let entry = entry.with_context(|| root.display().to_string())?;
            let (path, name) = (entry.path(), below.join(entry.file_name()));
            if is_an_editors(&entry.file_name().to_string_lossy()) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.add(root, &name, ops)?;
            } else if kind.is_file() && path != ops {
                // A file that is being replaced may be missing for a moment.
                self.others
                    .insert(name, fs::read(&path).unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Cuts `src/ops.rs` into methods and the rest; a method ends at a line `    }`.
    pub fn of(ops: &str) -> Self {
        let mut methods: BTreeMap<&str, String> = BTreeMap::new();
        let (mut names, mut functions, mut inside) = (String::new(), String::new(), None);
        let is_name = |line: &str| NAMES.iter().any(|begin| line.starts_with(begin));
        for line in ops.lines() {
            let begins = |method: &&&str| line.starts_with(&format!("    fn {method}("));
            inside = inside.or_else(|| levels::OPS.iter().find(begins));
            match inside {
                Some(method) => *methods.entry(method).or_default() += &format!("{line}\n"),
                None if is_name(line) => names += &format!("{line}\n"),
                None => functions += &format!("{line}\n"),
            }
            if line == "    }" {
                inside = None;
            }
        }
        Self {
            methods,
            names,
            functions,
            others: BTreeMap::new(),
        }
    }

    /// Differences from `before`; everything where there is nothing before.
    pub fn changed(&self, before: Option<&Self>) -> Changed {
        let Some(before) = before else {
            return Changed {
                all: true,
                ..Changed::default()
            };
        };
        let mut changed = Changed {
            methods: self.differing(before),
            functions: self.functions != before.functions,
            all: self.names != before.names,
            ..Changed::default()
        };
        let files = |texts: &Self| -> BTreeSet<PathBuf> {
            let all = texts.others.iter();
            all.map(|(file, _)| file.clone()).collect()
        };
        for file in files(self).union(&files(before)) {
            if self.others.get(file) == before.others.get(file) {
                continue;
            }
            if is_kernel(file) {
                changed.kernels.insert(file.clone());
            } else {
                changed.all = true;
            }
        }
        changed
    }

    /// The methods whose texts differ.
    pub fn differing(&self, other: &Self) -> BTreeSet<&'static str> {
        let differs = |method: &&&str| other.methods.get(**method) != self.methods.get(**method);
        levels::OPS.iter().filter(differs).copied().collect()
    }

    /// A number that differs for other texts.
    pub fn hash(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.methods, &self.names, &self.functions, &self.others).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// Differences between two texts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Methods in `src/ops.rs`.
    pub methods: BTreeSet<&'static str>,
    /// Whether functions outside of methods changed, which the replaced methods may call.
    pub functions: bool,
    /// Files of kernels, relative to the crate.
    pub kernels: BTreeSet<PathBuf>,
    /// Whether something else changed, which may concern all methods.
    pub all: bool,
}

impl Changed {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the crate has to be compiled; kernels are not.
    pub fn needs_rustc(&self) -> bool {
        self.all || self.functions || !self.methods.is_empty()
    }
}

/// Beginnings of lines after whose change any method may do something else, those that call level 1, too.
const NAMES: [&str; 6] = [
    "use ",
    "mod ",
    "impl",
    "struct ",
    "pub struct ",
    "macro_rules",
];

/// Whether a file holds kernels and nothing that other files include.
fn is_kernel(file: &Path) -> bool {
    let extension = file.extension();
    extension.is_some_and(|extension| extension == "ptx" || extension == "cu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_an_editor_are_no_change() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let write = |name: &str| fs::write(folder.path().join(name), "x");
        fs::create_dir_all(folder.path().join("src"))?;
        write("src/ops.rs")?;
        let before = Texts::read(folder.path())?;
        for name in [
            "src/.ops.rs.swp",
            "src/.#ops.rs",
            "src/#ops.rs#",
            "src/ops.rs~",
            "src/ops.rs___jb_tmp___",
            "src/ops.rs.bak",
            "src/4913",
        ] {
            write(name)?;
        }
        assert_eq!(Texts::read(folder.path())?, before);
        write("src/more.rs")?;
        assert_ne!(Texts::read(folder.path())?, before);
        Ok(())
    }

    #[test]
    fn a_change_concerns_one_method_a_kernel_or_all() {
        let text = super::super::new::OPS;
        let before = Texts::of(text);
        assert_eq!(before.methods.len(), levels::OPS.len());
        assert!(before.changed(Some(&before)).is_empty());
        let after = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Texts::of(&text.replacen(from, to, 1)).changed(Some(&before))
        };
        let one = Changed {
            methods: ["linear"].into(),
            ..Changed::default()
        };
        assert_eq!(after("Level1.linear(x, w)", "Level1.linear(w, x)"), one);
        let all = Changed {
            all: true,
            ..Changed::default()
        };
        assert_eq!(after("pub struct Own;", "pub struct Other;"), all);
        assert_eq!(
            after("use level1::Level1;", "use level2::Level2 as Level1;"),
            all
        );
        let functions = Changed {
            functions: true,
            ..Changed::default()
        };
        assert_eq!(
            after("impl Ops", "fn two() -> u8 { 2 }\nimpl Ops"),
            functions
        );
        assert!(one.needs_rustc() && all.needs_rustc() && functions.needs_rustc());
        assert_eq!(before.changed(None), all);
        let mut with = Texts::of(text);
        let file = |name: &str| PathBuf::from(name);
        with.others.insert(file("kernels/a.ptx"), vec![1]);
        let kernels: BTreeSet<PathBuf> = [file("kernels/a.ptx")].into();
        assert_eq!(with.changed(Some(&before)).kernels, kernels);
        assert!(!with.changed(Some(&before)).needs_rustc());
        assert_eq!(before.changed(Some(&with)).kernels, kernels, "it is gone");
        assert_ne!(before.hash(), with.hash());
        with.others.insert(file("kernels/sum.cuh"), vec![1]);
        assert!(with.changed(Some(&before)).all);
    }
}
