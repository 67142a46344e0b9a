//! `--model hf:ORG/NAME`: a checkpoint of the Hugging Face Hub, from the local cache or downloaded into it.
//!
//! The cache has the location and layout of Python's `huggingface_hub`: `refs/REVISION` contains a commit,
//! and `snapshots/COMMIT` its files.

#[cfg(feature = "hub")]
mod download;
mod name;
#[cfg(test)]
mod tests;

use std::env;
use std::path::{Path, PathBuf};

use data::BadInput;
use models::checkpoint::shards;

use crate::note::note_later;
pub use name::Name;

/// Maximum bytes of a file of one line: a reference, or the access token.
const MAX_LINE: u64 = 1 << 10;

/// The use of a checkpoint by a program.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// The program: `lm` or `vit`.
    pub program: &'static str,
    /// A file that it needs in addition to configuration and weights.
    pub file: Option<&'static str>,
}

/// Returns the folder of the checkpoint that `model` names, after a download if the cache lacks it; `None` if
/// `model` does not start with `hf:`.
pub fn folder(model: &str, of: Use) -> Option<Result<PathBuf, BadInput>> {
    let name = Name::parse(model)?;
    Some(name.and_then(|name| Hub::from_env()?.folder(&name, of)))
}

/// Returns the folder of the checkpoint that `model` names, as far as the cache has it.
pub fn cached(model: &str) -> Option<PathBuf> {
    let name = Name::parse(model)?.ok()?;
    Hub::from_env().ok()?.snapshot(&name).ok()?
}

/// The hub and its cache, configured by the environment variables of `huggingface_hub`.
#[derive(Debug, Clone)]
struct Hub {
    /// Folder of the cache.
    cache: PathBuf,
    /// URL of the hub.
    #[cfg_attr(not(feature = "hub"), expect(dead_code))]
    endpoint: String,
    /// Access token for private and gated models.
    #[cfg_attr(not(feature = "hub"), expect(dead_code))]
    token: Option<String>,
    /// Whether downloads are forbidden.
    is_offline: bool,
}

impl Hub {
    fn from_env() -> Result<Self, BadInput> {
        let home = match folder_in("HF_HOME") {
            Some(home) => home,
            None => caches()?.join("huggingface"),
        };
        let cache = folder_in("HF_HUB_CACHE").or_else(|| folder_in("HUGGINGFACE_HUB_CACHE"));
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".into());
        let offline = set("HF_HUB_OFFLINE").unwrap_or_default().to_uppercase();
        let stored = || data::read_text_file(&home.join("token"), MAX_LINE).ok();
        let token = set("HF_TOKEN").or_else(stored);
        Ok(Self {
            cache: cache.unwrap_or_else(|| home.join("hub")),
            endpoint: endpoint.trim_end_matches('/').into(),
            token: token.map(|token| token.trim().to_string()),
            is_offline: ["1", "ON", "YES", "TRUE"].contains(&offline.as_str()),
        })
    }

    /// Returns the folder of `name`. Without a network, a cached folder may lack the file of `of`.
    fn folder(&self, name: &Name, of: Use) -> Result<PathBuf, BadInput> {
        let cached = self.snapshot(name)?.filter(|folder| has_model(folder));
        let Some(folder) = cached else {
            return self.fetch(name, of);
        };
        match of.file {
            Some(file) if !folder.join(file).exists() => self.fetch(name, of).or_else(|e| {
                note_later(format!("went on without {file}: {e}"));
                Ok(folder)
            }),
            _ => Ok(folder),
        }
    }

    /// Folder of all revisions of `name`.
    fn repo(&self, name: &Name) -> PathBuf {
        let folder = format!("models--{}", name.repo.replace('/', "--"));
        self.cache.join(folder)
    }

    /// Folder of the files of `name` in the cache, complete or not.
    fn snapshot(&self, name: &Name) -> Result<Option<PathBuf>, BadInput> {
        let repo = self.repo(name);
        let reference = repo.join("refs").join(&name.revision);
        let commit = if reference.is_dir() || !data::is_regular(&reference)? {
            name.revision.clone() // a commit has no reference
        } else {
            data::read_text_file(&reference, MAX_LINE)?
                .trim()
                .to_string()
        };
        let folder = repo.join("snapshots").join(&commit);
        Ok((name::is_segment(&commit) && folder.is_dir()).then_some(folder))
    }

    fn fetch(&self, name: &Name, of: Use) -> Result<PathBuf, BadInput> {
        let cache = self.cache.display();
        if self.is_offline {
            let expected = format!("a complete checkpoint in the cache {cache}");
            return Err(BadInput::new(
                name,
                expected,
                "none, and HF_HUB_OFFLINE is set",
            ));
        }
        self.download(name, of)
    }

    #[cfg(not(feature = "hub"))]
    fn download(&self, name: &Name, of: Use) -> Result<PathBuf, BadInput> {
        let (cache, program) = (self.cache.display(), of.program);
        let expected = format!(
            "a complete checkpoint in the cache {cache} (this program was built without downloads; \
             `cargo run --release -p level4 --example {program} -- --model {name}` downloads it)"
        );
        Err(BadInput::new(name, expected, "none"))
    }
}

/// Whether `folder` has a configuration and all weights. The loader reports a malformed index.
fn has_model(folder: &Path) -> bool {
    let index = folder.join("model.safetensors.index.json");
    let has_shards =
        || index.exists() && shards(&index).map_or(true, |paths| paths.iter().all(|p| p.exists()));
    let has_weights = folder.join("model.safetensors").exists() || has_shards();
    folder.join("config.json").exists() && has_weights
}

/// Returns an environment variable that is set and not empty.
fn set(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}

/// Returns the folder of an environment variable that is set and not empty; its name need not be UTF-8.
fn folder_in(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// Returns the user's cache folder, the same as for `huggingface_hub` on every system.
fn caches() -> Result<PathBuf, BadInput> {
    let caches = || Some(env::home_dir()?.join(".cache"));
    folder_in("XDG_CACHE_HOME").or_else(caches).ok_or_else(|| {
        BadInput::new(
            "HF_HOME",
            "a folder for downloaded models",
            "no home folder",
        )
    })
}
