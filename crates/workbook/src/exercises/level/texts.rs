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
        let calls_other = |method: &&&str| {
            !changed.methods.contains(**method) && self.reached(method) != before.reached(method)
        };
        changed.callers = levels::OPS.iter().filter(calls_other).copied().collect();
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

    /// The text of a method, and of the functions and methods of `src/ops.rs` that it calls, directly or not.
    fn reached(&self, method: &str) -> String {
        let mut text = self.methods.get(method).cloned().unwrap_or_default();
        let mut left = functions(&self.functions);
        let others = self.methods.iter().filter(|(name, _)| **name != method);
        left.extend(others.map(|(name, text)| (format!("self.{name}("), text.clone())));
        while let Some(at) = left.iter().position(|(call, _)| calls(&text, call)) {
            text += &left.remove(at).1;
        }
        text
    }

    /// Whether a method launches a kernel, as far as texts tell: one in another file than `src/ops.rs` may be any method's.
    pub fn launches(&self, method: &str) -> bool {
        let launch = ".launch(";
        let is_there = |text: &Vec<u8>| String::from_utf8_lossy(text).contains(launch);
        let mut rust = self.others.iter().filter(|(file, _)| !is_kernel(file));
        self.reached(method).contains(launch) || rust.any(|(_, text)| is_there(text))
    }

    /// A number that differs for other texts.
    pub fn hash(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.methods, &self.names, &self.functions, &self.others).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// The functions at the left margin of a text: how a call of each begins, and its text.
fn functions(text: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = vec![];
    let mut is_inside = false;
    for line in text.lines() {
        let line_of_name = line.trim_start_matches("pub ").strip_prefix("fn ");
        if let Some(rest) = line_of_name {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            all.push((format!("{name}("), String::new()));
            is_inside = true;
        }
        if let Some((_, text)) = all.last_mut().filter(|_| is_inside) {
            *text += &format!("{line}\n");
        }
        is_inside &= line != "}" && !(line_of_name.is_some() && line.ends_with('}'));
    }
    all
}

/// Whether a text has a call that begins like this, and not as the end of a longer name or a method of something else.
fn calls(text: &str, call: &str) -> bool {
    let is_apart = |c: char| !(c.is_alphanumeric() || c == '_' || c == '.');
    let mut found = text.match_indices(call);
    found.any(|(at, _)| text[..at].chars().next_back().is_none_or(is_apart))
}

/// Differences between two texts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Methods in `src/ops.rs`.
    pub methods: BTreeSet<&'static str>,
    /// Whether functions outside of methods changed, which the replaced methods may call.
    pub functions: bool,
    /// Methods of the same text that call a function or a method whose text differs.
    pub callers: BTreeSet<&'static str>,
    /// Files of kernels, relative to the crate.
    pub kernels: BTreeSet<PathBuf>,
    /// Whether something else changed, which may concern all methods.
    pub all: bool,
}

impl Changed {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
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
        assert_eq!(before.changed(None), all);
        let with_helper = |body: &str| {
            let text = text.replacen("Level1.linear(x, w)", "twice(x, w)", 1);
            let more = "fn once(x: u8) -> u8 {\n    BODY\n}\n\nfn twice(x: u8) {\n    once(x)\n}\n";
            Texts::of(&(text + "\n" + &more.replace("BODY", body)))
        };
        let (one, other) = (with_helper("x"), with_helper("K.launch(x)"));
        assert_eq!(other.changed(Some(&one)).callers, ["linear"].into());
        assert!(other.launches("linear") && !other.launches("norm_linear"));
        assert!(!one.launches("linear"));
        let mut with = Texts::of(text);
        let file = |name: &str| PathBuf::from(name);
        with.others.insert(file("kernels/a.ptx"), vec![1]);
        let kernels: BTreeSet<PathBuf> = [file("kernels/a.ptx")].into();
        assert_eq!(with.changed(Some(&before)).kernels, kernels);
        assert_eq!(before.changed(Some(&with)).kernels, kernels, "it is gone");
        assert_ne!(before.hash(), with.hash());
        with.others.insert(file("kernels/sum.cuh"), vec![1]);
        assert!(with.changed(Some(&before)).all);
    }
}
