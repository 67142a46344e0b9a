//! Downloads into the cache.
//!
//! The crate `hf-hub` asks the hub, and this module writes the files: the crate would take their paths from headers of
//! the answer, where a hostile hub can write `../`. Each file is in its snapshot, as `huggingface_hub` does it on a
//! system without links.

use std::io;
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

/// Time limit for the next bytes of a download, because a connection can die silently.
const STALLED: Duration = Duration::from_secs(20);

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
        // The name of a folder.
        if !is_commit(&info.sha) {
            let found = data::short(&info.sha);
            return Err(BadInput::new(
                name,
                "a commit of hexadecimal digits from the hub",
                found,
            ));
        }
        let commit = Commit {
            stalled: STALLED,
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
pub(super) struct Commit {
    pub files: ApiRepo,
    pub folder: PathBuf,
    /// Time limit for the next bytes.
    pub stalled: Duration,
}

impl Commit {
    /// Downloads `file`, a plain name, unless it is in the cache.
    pub fn get(&self, file: &str) -> Result<(), String> {
        let path = self.folder.join(file);
        if path.exists() {
            return Ok(());
        }
        let request = self.files.info_request().uri(self.files.url(file));
        // A range asks for the bytes of the file itself, not for compressed ones.
        let request = request.header("Range", "bytes=0-").config();
        let request = request.timeout_per_read(Some(self.stalled)).build();
        let answer = request.call().map_err(|e| e.to_string())?;
        let (head, body) = answer.into_parts();
        let length = head.headers.get("content-length");
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        let bar = bar(file, length.unwrap_or(0));
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            data::write_with(&path, |out| {
                io::copy(&mut bar.wrap_read(body.into_reader()), out).map(|_| ())
            })
        };
        let written = write();
        bar.finish_and_clear();
        written.map_err(|e| e.to_string())
    }
}

/// Whether a commit's name is one of git's, which cannot leave its folder.
fn is_commit(name: &str) -> bool {
    (7..=64).contains(&name.len()) && name.bytes().all(|c| c.is_ascii_hexdigit())
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

/// A progress bar for one file on stderr, if that is a terminal.
fn bar(file: &str, size: u64) -> ProgressBar {
    let bar = ProgressBar::new(size);
    let template = "{msg} {bar:30} {bytes}/{total_bytes}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(format!("downloading {}", data::plain_line(file)))
}
