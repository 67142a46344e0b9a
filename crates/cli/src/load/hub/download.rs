//! Downloads into the cache.
//!
//! The crate `hf-hub` asks the hub, and this module writes the files: the crate would take their paths from headers of
//! the answer, where a hostile hub can write `../`. Each file is in its snapshot, as `huggingface_hub` does it on a
//! system without links.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

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

/// Bytes in that time at least.
const LEAST: u64 = 20 << 10;

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
        let cache = self.cache.display();
        // `user:password@`, which the error of a connection may have, too.
        let host = self.endpoint.split("://").last().unwrap_or_default();
        let host = host.split('/').next().unwrap_or_default();
        let secret = &host[..host.rfind('@').map_or(0, |at| at + 1)];
        let shown = |text: &str| match secret {
            "" => text.to_owned(),
            secret => text.replace(secret, ""),
        };
        let (endpoint, found) = (shown(&self.endpoint), shown(&found));
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
        let header = |name| head.headers.get(name)?.to_str().ok();
        let (length, range) = (header("content-length"), header("content-range"));
        // As many as are read of it, and 64 GiB of weights.
        let is_large = file.ends_with(".safetensors");
        let most = if is_large { 1 << 36 } else { 1 << 26 };
        let is_fine = |size: &u64| *size <= most && header("content-encoding").is_none();
        let size = size(length, range).filter(is_fine).ok_or_else(|| {
            let found = range.or(length).unwrap_or("no length");
            format!("{found} instead of a whole file of at most {most} bytes")
        })?;
        let bar = bar(file, size);
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            data::write_with(&path, |out| {
                let mut body = bar.wrap_read(body.into_reader()).take(size + 1);
                let (mut part, mut written) = (vec![0; 1 << 16], 0);
                let (mut since, mut before) = (Instant::now(), 0);
                loop {
                    let read = body.read(&mut part)?;
                    out.write_all(&part[..read])?;
                    written += read as u64;
                    let why = match read {
                        0 if written == size => return Ok(()),
                        0 => "an end",
                        _ if since.elapsed() < self.stalled => continue,
                        _ if written - before < LEAST => "a timeout",
                        _ => {
                            (since, before) = (Instant::now(), written);
                            continue;
                        }
                    };
                    return Err(io::Error::other(format!("{why} after {written} bytes")));
                }
            })
        };
        let written = write();
        bar.finish_and_clear();
        written.map_err(|e| e.to_string())
    }
}

/// Bytes of the whole file, if an answer has all of them and says how many.
fn size(length: Option<&str>, range: Option<&str>) -> Option<u64> {
    let Some(range) = range else {
        return length?.parse().ok();
    };
    let (last, total) = range.strip_prefix("bytes 0-")?.split_once('/')?;
    let total: u64 = total.parse().ok()?;
    (last.parse::<u64>().ok()?.checked_add(1)? == total).then_some(total)
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
