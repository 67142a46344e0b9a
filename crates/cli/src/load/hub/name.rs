//! `hf:ORG/NAME` and `hf:ORG/NAME@REVISION`.

use std::fmt;

use data::{BadInput, short};

/// Maximum length of ORG/NAME on the hub.
const LONGEST: usize = 96;

/// A model on the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// `ORG/NAME`
    pub repo: String,
    /// A branch, a tag or a commit.
    pub revision: String,
}

impl Name {
    /// Parses the value of `--model`; `None` if it does not start with `hf:`.
    pub fn parse(model: &str) -> Option<Result<Self, BadInput>> {
        let rest = model.strip_prefix("hf:")?;
        let (repo, revision) = rest.split_once('@').unwrap_or((rest, "main"));
        let parts: Vec<&str> = repo.split('/').collect();
        let is_repo = parts.len() == 2 && repo.len() <= LONGEST && parts.into_iter().all(is_part);
        Some(if is_repo && revision.split('/').all(is_segment) {
            Ok(Self {
                repo: repo.into(),
                revision: revision.into(),
            })
        } else {
            let expected =
                "hf:ORG/NAME or hf:ORG/NAME@REVISION of letters, digits, `-`, `_` and `.`";
            Err(BadInput::new(
                "--model",
                expected,
                short(format!("{model:?}")),
            ))
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.revision.as_str() {
            "main" => write!(f, "hf:{}", self.repo),
            revision => write!(f, "hf:{}@{revision}", self.repo),
        }
    }
}

/// The hub's rules for ORG and NAME: no `--` or `..`, and no `-` or `.` at either end.
fn is_part(part: &str) -> bool {
    let ends = |c| part.starts_with(c) || part.ends_with(c);
    is_segment(part) && !part.contains("--") && !ends('-') && !ends('.')
}

/// Whether a name is a plain file name, which cannot leave its folder.
pub fn is_segment(segment: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !segment.is_empty()
        && segment.chars().all(is_plain)
        && !segment.contains("..")
        && segment != "."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(model: &str) -> Option<(String, String)> {
        let name = Name::parse(model)?.ok()?;
        assert_eq!(Name::parse(&name.to_string()), Some(Ok(name.clone())));
        Some((name.repo, name.revision))
    }

    #[test]
    fn names_and_revisions() {
        let pair = |repo: &str, revision: &str| Some((repo.to_string(), revision.to_string()));
        let repo = "meta-llama/Llama-3.2_1B";
        assert_eq!(parsed("hf:meta-llama/Llama-3.2_1B"), pair(repo, "main"));
        assert_eq!(
            parsed("hf:meta-llama/Llama-3.2_1B@main"),
            pair(repo, "main")
        );
        assert_eq!(
            parsed("hf:meta-llama/Llama-3.2_1B@v1.0"),
            pair(repo, "v1.0")
        );
        assert_eq!(
            parsed("hf:meta-llama/Llama-3.2_1B@refs/pr/1"),
            pair(repo, "refs/pr/1")
        );
    }

    #[test]
    fn models_without_hf_are_no_hub_names() {
        for model in ["tiny", "./hf:a/b", "HF:a/b", ""] {
            assert_eq!(Name::parse(model), None);
        }
    }

    #[test]
    fn malformed_names_are_errors() {
        for model in [
            "hf:",
            "hf:a",
            "hf:a/b/c",
            "hf:/",
            "hf:a/",
            "hf:/b",
            "hf:..",
            "hf:../b",
            "hf:a/..",
            "hf:a/b..c",
            "hf:a/.b",
            "hf:-a/b",
            "hf:a--b/c",
            "hf:a/b@",
            "hf:a/b@../c",
            "hf:a/b@/c",
            "hf:a/b@c/",
            "hf:a/b@.",
            "hf:a/b@c@d",
            "hf:a\\b/c",
            "hf:a/b c",
            "hf:a/é",
            "hf:a/b\n",
        ] {
            let error = Name::parse(model).unwrap().unwrap_err().to_string();
            assert!(
                error.starts_with("--model: expected hf:ORG/NAME or "),
                "{error}"
            );
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let long = format!("hf:a/{}", "b".repeat(LONGEST));
        assert!(Name::parse(&long).unwrap().is_err());
    }
}
