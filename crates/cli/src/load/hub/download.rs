//! Downloads into the cache with the crate `hf-hub`.

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

/// Time limit for the hub's first answer, because some networks drop requests silently.
const PATIENCE: Duration = Duration::from_secs(8);

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

impl Hub {
    /// Downloads the missing files of the newest commit of `name`'s revision and returns its folder.
    ///
    /// The reference to the commit is written last, so a reference in the cache always names a complete
    /// commit.
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

    /// The error of a failed download, with advice.
    fn complain(&self, name: &Name, found: String) -> BadInput {
        let (cache, endpoint) = (self.cache.display(), &self.endpoint);
        // An HTTP status means that the hub refused; any other error is about the connection.
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

/// Files of one commit.
struct Commit {
    files: ApiRepo,
    folder: PathBuf,
}

impl Commit {
    /// Downloads `file` unless it is in the cache.
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

/// Returns the commit of a revision and its file names, or why there is no answer within `patience`.
pub(super) fn info(repo: ApiRepo, patience: Duration) -> Result<RepoInfo, String> {
    let (answer, wait) = mpsc::channel();
    // After a timeout, the thread is abandoned and ends with the program.
    std::thread::spawn(move || answer.send(repo.info()));
    match wait.recv_timeout(patience) {
        Ok(info) => info.map_err(|e| e.to_string()),
        Err(_) => Err(format!("no answer within {} s", patience.as_secs_f64())),
    }
}

/// A progress bar for one file on stderr, if that is a terminal; it disappears at the end.
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
