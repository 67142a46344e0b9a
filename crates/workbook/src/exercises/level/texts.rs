//! The texts of a level's crate: which methods a change may concern.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The text of each method in `src/ops.rs`, and everything else.
#[derive(Debug, PartialEq, Eq)]
pub struct Texts {
    methods: BTreeMap<&'static str, String>,
    others: Vec<(String, Vec<u8>)>,
}

impl Texts {
    /// Reads the files in `src` and `kernels` of the crate in `folder`.
    pub fn read(folder: &Path) -> Result<Self> {
        let ops = folder.join("src/ops.rs");
        let text = fs::read_to_string(&ops).unwrap_or_default();
        let mut texts = Self::of(&text);
        for sub in ["src", "kernels"] {
            let Ok(entries) = fs::read_dir(folder.join(sub)) else {
                continue;
            };
            for entry in entries {
                let path = entry.with_context(|| folder.display().to_string())?.path();
                if path != ops && path.is_file() {
                    // A file that is being replaced may be missing for a moment.
                    let bytes = fs::read(&path).unwrap_or_default();
                    texts.others.push((path.display().to_string(), bytes));
                }
            }
        }
        texts.others.sort();
        Ok(texts)
    }

    /// Cuts `src/ops.rs` into methods and the rest; a method ends at a line `    }`.
    fn of(ops: &str) -> Self {
        let mut methods: BTreeMap<&str, String> = BTreeMap::new();
        let (mut rest, mut inside) = (String::new(), None);
        for line in ops.lines() {
            let begins = |method: &&&str| line.starts_with(&format!("    fn {method}("));
            inside = inside.or_else(|| levels::OPS.iter().find(begins));
            match inside {
                Some(method) => *methods.entry(method).or_default() += &format!("{line}\n"),
                None => rest += &format!("{line}\n"),
            }
            if line == "    }" {
                inside = None;
            }
        }
        Self {
            methods,
            others: vec![("rest".into(), rest.into_bytes())],
        }
    }

    /// The methods that differ from `before`: those whose text has changed, or all after any other change.
    pub fn changed(&self, before: Option<&Self>) -> Vec<&'static str> {
        match before {
            Some(before) if before.others == self.others => {
                let differs =
                    |method: &&&str| before.methods.get(**method) != self.methods.get(**method);
                levels::OPS.iter().filter(differs).copied().collect()
            }
            _ => levels::OPS.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_concerns_one_method_or_all() {
        let text = include_str!("template/ops.rs");
        let before = Texts::of(text);
        assert_eq!(before.methods.len(), levels::OPS.len());
        assert!(before.changed(Some(&before)).is_empty());
        let after = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Texts::of(&text.replacen(from, to, 1)).changed(Some(&before))
        };
        assert_eq!(
            after("Level1.linear(x, w)", "Level1.linear(w, x)"),
            ["linear"]
        );
        assert_eq!(after("pub struct Own;", "pub struct Other;"), levels::OPS);
        assert_eq!(before.changed(None), levels::OPS);
    }
}
