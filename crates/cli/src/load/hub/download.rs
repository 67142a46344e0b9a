//! From the hub into the cache, by the `hf-hub` crate.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use data::BadInput;
use hf_hub::api::RepoInfo;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};
use indicatif::{ProgressBar, ProgressStyle};
use models::checkpoint::shards;

use super::{Hub, Name, Use};

/// How long the hub may take for its first answer, where a network swallows what is sent.
const PATIENCE: Duration = Duration::from_secs(8);

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

impl Hub {
    /// Downloads what is missing of the newest commit of `name`'s revision, and returns its folder.
    ///
    /// The reference to that commit is written last: one in the cache is either complete or the one before.
    pub(super) fn download(&self, name: &Name, of: Use) -> Result<PathBuf, BadInput> {
        let fail = |found: String| self.complain(name, found);
        let api = self.api().map_err(|e| fail(e.to_string()))?;
        let info = info(api.repo(repo(name, &name.revision)), PATIENCE).map_err(fail)?;
        let commit = Commit {
            files: api.repo(repo(name, &info.sha)),
            folder: self.repo(name).join("snapshots").join(&info.sha),
        };
        let get = |file: &str| commit.get(file).map_err(|e| fail(format!("{e} ({file})")));
        let has = |file: &str| info.siblings.iter().any(|s| s.rfilename == file);

        let small = ["config.json", "generation_config.json"];
        let small = small.into_iter().chain(of.file);
        small.filter(|file| has(file)).try_for_each(get)?;
        if has(SINGLE) {
            get(SINGLE)?;
        } else if has(INDEX) {
            get(INDEX)?;
            let shards = shards(&commit.folder.join(INDEX))?;
            shards
                .iter()
                .filter_map(|p| p.file_name()?.to_str())
                .try_for_each(get)?;
        } else {
            return Err(self.no_weights(name, &info));
        }
        let reference = Cache::new(self.cache.clone()).repo(repo(name, &name.revision));
        let written = reference.create_ref(&info.sha);
        written
            .map_err(|e| BadInput::new(self.cache.display(), "a cache that can be written", e))?;
        Ok(commit.folder)
    }

    pub(super) fn api(&self) -> Result<Api, ApiError> {
        ApiBuilder::from_cache(Cache::new(self.cache.clone()))
            .with_endpoint(self.endpoint.clone())
            .with_token(self.token.clone())
            .build()
    }

    /// A download that failed, and what to do about it.
    fn complain(&self, name: &Name, found: String) -> BadInput {
        let (cache, endpoint) = (self.cache.display(), &self.endpoint);
        // What the hub refuses is told by a status, anything else is the way there.
        let advice = if found.contains("http status") {
            "check the name; a private or gated model needs access and HF_TOKEN"
        } else {
            "without a network, pass the folder of a checkpoint instead"
        };
        let expected = format!("it in the cache {cache} or a download from {endpoint} ({advice})");
        BadInput::new(name, expected, found)
    }

    fn no_weights(&self, name: &Name, info: &RepoInfo) -> BadInput {
        let is_weights = |file: &&str| {
            [".bin", ".gguf", ".pt", ".pth", ".safetensors"]
                .iter()
                .any(|end| file.ends_with(end))
        };
        let files = info.siblings.iter().map(|s| s.rfilename.as_str());
        let found = match files.filter(is_weights).collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "no weights".into(),
            files => data::short(files),
        };
        BadInput::new(name, format!("{SINGLE} or {INDEX} on the hub"), found)
    }
}

/// The files of one commit.
struct Commit {
    files: ApiRepo,
    folder: PathBuf,
}

impl Commit {
    /// Downloads `file` unless the cache has it.
    fn get(&self, file: &str) -> Result<(), ApiError> {
        if self.folder.join(file).exists() {
            Ok(())
        } else {
            self.files
                .download_with_progress(file, Bar::new())
                .map(|_| ())
        }
    }
}

fn repo(name: &Name, revision: &str) -> Repo {
    Repo::with_revision(name.repo.clone(), RepoType::Model, revision.into())
}

/// The commit of a revision and the names of its files, or why there is no answer within `patience`.
pub(super) fn info(repo: ApiRepo, patience: Duration) -> Result<RepoInfo, String> {
    let (answer, wait) = mpsc::channel();
    // Left alone after a timeout: it ends with the program.
    std::thread::spawn(move || answer.send(repo.info()));
    match wait.recv_timeout(patience) {
        Ok(info) => info.map_err(|e| e.to_string()),
        Err(_) => Err(format!("no answer within {} s", patience.as_secs_f64())),
    }
}

/// A bar on stderr for one file, when that is a terminal; it disappears at the end.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new(0);
        let template = "{msg} {bar:30} {bytes}/{total_bytes}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl hf_hub::api::Progress for Bar {
    fn init(&mut self, size: usize, file: &str) {
        self.0.set_length(size as u64);
        self.0.set_position(0);
        self.0.set_message(format!("downloading {file}"));
    }

    fn update(&mut self, size: usize) {
        self.0.inc(size as u64);
    }

    fn finish(&mut self) {
        self.0.finish_and_clear();
    }
}
