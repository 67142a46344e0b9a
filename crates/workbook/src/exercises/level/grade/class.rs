//! Submissions of a class: crates, or single files that complete a starter.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use classroom::class::{Entries, NotGraded, distinct, listed};
use classroom::printable;
use cli::own;
use data::BadInput;

use super::super::milestones::{Milestone, Milestones};
use super::super::{child, new};
use super::copied::{LARGEST, copy, copy_crate};

/// Name of the crate of every submission while it is graded.
pub const NAME: &str = "mine";

/// Maximum depth of a crate in a student's folder: `my-exercises/levels/mine`, and one more.
const DEEPEST: usize = 4;

/// A student's file or folder.
#[derive(Debug)]
pub struct Submission {
    pub student: String,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The folder of a crate.
    Crate(PathBuf),
    /// Files of one.
    Files(Vec<PathBuf>),
}

/// Submissions in the order of the students' names, and what is none.
#[derive(Debug, Default)]
pub struct Class {
    pub submissions: Vec<Submission>,
    pub not_graded: Vec<NotGraded>,
}

/// Why a submission cannot be compiled; or what this machine fails at.
pub type Assembled = Result<(), String>;

impl Class {
    /// Reads `folder`: a folder per student, or a file per student. A crate alone is one student's.
    ///
    /// # Errors
    /// The folder cannot be read, or has no submission.
    pub fn read(folder: &Path) -> Result<Self, BadInput> {
        let expected = "a folder of students' crates, or of `.rs`, `.ptx` and `.cu` files";
        let found = Entries::of(folder).map_err(|e| BadInput::no_folder(folder, expected, &e))?;
        let mut class = Self::default();
        let mut add = |student: &Path, what| {
            class.submissions.push(Submission {
                student: name_of(student),
                what,
            });
        };
        let mut aside = vec![];
        if is_crate(folder) {
            add(
                &folder.canonicalize().unwrap_or(folder.into()),
                What::Crate(folder.into()),
            );
        } else {
            for student in &found.folders {
                let mut crates = vec![];
                crates_in(student, DEEPEST, &mut crates);
                let loose = Entries::of(student).unwrap_or_default();
                let is_other = |file: &&PathBuf| !is_source(file);
                match crates.split_first() {
                    Some((first, more)) => {
                        let why = format!("{} is graded in its place", first.display());
                        let note = |path: &PathBuf| NotGraded::new(path, &why);
                        aside.extend(listed(student, more.iter(), note));
                        add(student, What::Crate(first.clone()));
                    }
                    None => {
                        let why = "it is no `.rs`, `.ptx` or `.cu` file";
                        let others = loose.files.iter().filter(is_other);
                        aside.extend(listed(student, others, |path| NotGraded::new(path, why)));
                        let files = loose.files.iter().filter(|file| is_source(file));
                        add(student, What::Files(files.cloned().collect()));
                    }
                }
            }
            let why = "it is no folder, and no `.rs`, `.ptx` or `.cu` file";
            let mut others = vec![];
            for file in &found.files {
                if is_source(file) {
                    add(&file.with_extension(""), What::Files(vec![file.clone()]));
                } else {
                    others.push((file, why));
                }
            }
            let why = "it is a link, and links are not followed";
            others.extend(found.links.iter().map(|path| (path, why)));
            let note = |(path, why): (&PathBuf, &str)| NotGraded::new(path, why);
            aside.extend(listed(folder, others.into_iter(), note));
        }
        if class.submissions.is_empty() {
            return Err(BadInput::new(folder.display(), expected, "none"));
        }
        class.submissions.sort_by(|a, b| a.student.cmp(&b.student));
        distinct(class.submissions.iter_mut().map(|one| &mut one.student));
        class.not_graded = aside;
        Ok(class)
    }
}

impl Submission {
    /// Writes a crate of the submission's files below `src` and `kernels` into the new folder `to`; what it lacks comes from
    /// `starter`. The inner error is about the submission.
    pub fn assemble(&self, starter: Option<&Path>, to: &Path) -> anyhow::Result<Assembled> {
        new::write_files(NAME, to, "/nowhere", true)?;
        if let Some(starter) = starter
            && let Err(line) = copy_crate(starter, to)?
        {
            return Err(BadInput::new(starter.display(), "a starter", line).into());
        }
        match &self.what {
            What::Crate(folder) => copy_crate(folder, to),
            What::Files(files) if files.is_empty() => {
                Ok(Err("expected a submission, found none".into()))
            }
            What::Files(files) => {
                for file in files {
                    if let Err(line) = place(file, to)? {
                        return Ok(Err(line));
                    }
                }
                Ok(Ok(()))
            }
        }
    }

    /// Number of hints that the student asked for, if the crate has the file.
    pub fn hints_used(&self, milestones: &Milestones) -> Option<usize> {
        let What::Crate(folder) = &self.what else {
            return None;
        };
        let file = folder.join(own::HINTS);
        let is_small = fs::symlink_metadata(&file).is_ok_and(|m| m.is_file() && m.len() < LARGEST);
        let shown: BTreeMap<String, usize> = is_small.then(|| child::read(&file).ok())??;
        let used = |m: Milestone| shown.get(&m.key()).map_or(0, |n| *n.min(&m.hints.len()));
        Some(milestones.all().map(used).sum())
    }
}

/// Puts a single file into the crate: a kernel by its name, or in place of the only kernel of its language; Rust as
/// `src/ops.rs`, unless the crate has a file of its name.
fn place(file: &Path, to: &Path) -> anyhow::Result<Assembled> {
    let name = file.file_name().unwrap_or_default();
    let extension = file.extension().unwrap_or_default();
    let place = if extension == "rs" {
        let named = to.join("src").join(name);
        if named.is_file() {
            named
        } else {
            to.join("src/ops.rs")
        }
    } else {
        let kernels = Entries::of(&to.join("kernels"))?.files;
        let same = |path: &&PathBuf| path.extension() == Some(extension);
        let alike: Vec<&PathBuf> = kernels.iter().filter(same).collect();
        match alike[..] {
            [only] if only.file_name() != Some(name) => only.clone(),
            _ => to.join("kernels").join(name),
        }
    };
    copy(file, &place)
}

/// Collects the crates in a folder, from the top.
fn crates_in(folder: &Path, deepest: usize, crates: &mut Vec<PathBuf>) {
    if is_crate(folder) {
        crates.push(folder.into());
    } else if deepest > 0 {
        let found = Entries::of(folder).unwrap_or_default();
        found
            .folders
            .iter()
            .for_each(|folder| crates_in(folder, deepest - 1, crates));
    }
}

fn is_crate(folder: &Path) -> bool {
    ["src/ops.rs", "src/lib.rs"]
        .iter()
        .any(|file| folder.join(file).is_file())
}

fn is_source(file: &Path) -> bool {
    let extension = file.extension().unwrap_or_default();
    ["rs", "ptx", "cu"].iter().any(|known| extension == *known)
}

fn name_of(path: &Path) -> String {
    printable(&path.file_name().unwrap_or_default().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
    }

    #[test]
    fn crates_and_single_files_are_found() {
        let root = tempfile::tempdir().unwrap();
        files(
            root.path(),
            &[
                "ada/my-exercises/levels/mine/src/ops.rs",
                "bob/src/lib.rs",
                "cyd/ops.rs",
                "cyd/a.ptx",
                "cyd/notes.txt",
                "dan.cu",
                "eve/readme.md",
                "class.zip",
            ],
        );
        let class = Class::read(root.path()).unwrap();
        let names: Vec<&str> = class.submissions.iter().map(|s| &*s.student).collect();
        assert_eq!(names, ["ada", "bob", "cyd", "dan", "eve"]);
        let not: Vec<String> = class.not_graded.iter().map(|n| n.file.clone()).collect();
        let ends = ["notes.txt", "readme.md", "class.zip"];
        assert!(
            not.iter().zip(ends).all(|(file, end)| file.ends_with(end)),
            "{not:?}"
        );
        let to = root.path().join("to");
        let texts = |i: usize, file: &str| {
            let _ = fs::remove_dir_all(&to);
            class.submissions[i].assemble(None, &to).unwrap().unwrap();
            fs::read_to_string(to.join(file)).unwrap()
        };
        assert_eq!(
            texts(0, "src/ops.rs"),
            "ada/my-exercises/levels/mine/src/ops.rs"
        );
        assert!(texts(0, "src/lib.rs").contains("pub fn ops()"));
        assert_eq!(texts(2, "kernels/a.ptx"), "cyd/a.ptx");
        assert_eq!(texts(2, "src/ops.rs"), "cyd/ops.rs");
        // A kernel alone takes the place of the starter's.
        let starter = root.path().join("starter");
        files(&starter, &["kernels/norm.cu", "src/ops.rs"]);
        let _ = fs::remove_dir_all(&to);
        let dan = &class.submissions[3];
        dan.assemble(Some(&starter), &to).unwrap().unwrap();
        assert_eq!(
            fs::read_to_string(to.join("kernels/norm.cu")).unwrap(),
            "dan.cu"
        );
        let eve = class.submissions[4].assemble(None, &root.path().join("e"));
        assert_eq!(
            eve.unwrap(),
            Err("expected a submission, found none".into())
        );
    }

    #[test]
    fn files_by_the_thousand_take_few_lines() {
        let root = tempfile::tempdir().unwrap();
        for i in 0..50 {
            files(root.path(), &[&format!("{i}.zip"), &format!("ada/{i}.zip")]);
        }
        let class = Class::read(root.path()).unwrap();
        assert_eq!(class.not_graded.len(), 2 * 21);
        assert_eq!(class.not_graded[20].why, "30 more files");
    }

    #[test]
    fn a_folder_without_submissions_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let error = Class::read(root.path()).unwrap_err().to_string();
        assert!(error.ends_with("found none"), "{error}");
        assert!(Class::read(&root.path().join("nowhere")).is_err());
    }
}
