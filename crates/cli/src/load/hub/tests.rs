//! Tests of a cache in the layout of `huggingface_hub`.

#[cfg(feature = "hub")]
mod download;

use std::fs;

use tempfile::TempDir;

use super::*;

const COMMIT: &str = "0123456789abcdef";
const LM: Use = Use {
    program: "lm",
    file: Some("tokenizer.json"),
};

/// A hub without downloads and with a new cache.
fn offline() -> (TempDir, Hub) {
    let home = tempfile::tempdir().unwrap();
    let hub = Hub {
        cache: home.path().join("hub"),
        endpoint: "http://127.0.0.1:1".into(),
        token: None,
        is_offline: true,
    };
    (home, hub)
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap().unwrap()
}

/// Writes files of a commit of org/model and returns their folder.
fn lay_out(hub: &Hub, files: &[(&str, &str)]) -> PathBuf {
    let repo = hub.cache.join("models--org--model");
    let folder = repo.join("snapshots").join(COMMIT);
    for (file, text) in files {
        write(&folder.join(file), text);
    }
    folder
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes `refs/{revision}`.
fn refer(hub: &Hub, revision: &str) {
    let refs = hub.cache.join("models--org--model/refs");
    write(&refs.join(revision), COMMIT);
}

const SMALL: [(&str, &str); 2] = [("config.json", "{}"), ("tokenizer.json", "{}")];

#[test]
fn a_cached_checkpoint_is_found_by_branch_tag_and_commit() {
    let (_home, hub) = offline();
    let folder = lay_out(&hub, &SMALL);
    lay_out(&hub, &[("model.safetensors", "")]);
    refer(&hub, "main");
    refer(&hub, "refs/pr/1");
    for model in [
        "hf:org/model",
        "hf:org/model@refs/pr/1",
        "hf:org/model@0123456789abcdef",
    ] {
        assert_eq!(hub.folder(&name(model), LM), Ok(folder.clone()));
    }
    for model in ["hf:org/model@v2", "hf:org/other", "hf:org/model@0123"] {
        let error = hub.folder(&name(model), LM).unwrap_err();
        assert_eq!(error.what, model);
        assert!(error.found.contains("HF_HUB_OFFLINE is set"), "{error}");
        let cache = hub.cache.display().to_string();
        assert!(error.expected.contains(&cache), "{error}");
    }
}

#[test]
fn a_checkpoint_without_all_its_weights_is_not_used() {
    let (_home, hub) = offline();
    let index = r#"{"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}"#;
    let folder = lay_out(&hub, &SMALL);
    refer(&hub, "main");
    let model = name("hf:org/model");
    for file in [
        ("model.safetensors.index.json", index),
        ("1.safetensors", ""),
    ] {
        assert!(hub.folder(&model, LM).is_err());
        lay_out(&hub, &[file]);
    }
    assert!(hub.folder(&model, LM).is_err());
    lay_out(&hub, &[("2.safetensors", "")]);
    assert_eq!(hub.folder(&model, LM), Ok(folder.clone()));
    fs::remove_file(folder.join("config.json")).unwrap();
    assert!(hub.folder(&model, LM).is_err());
}

/// Only a prompt needs the tokenizer, and the program reports that itself.
#[test]
fn a_checkpoint_without_a_tokenizer_is_used_where_there_is_no_other() {
    let (_home, hub) = offline();
    let folder = lay_out(&hub, &[SMALL[0], ("model.safetensors", "")]);
    refer(&hub, "main");
    assert_eq!(hub.folder(&name("hf:org/model"), LM), Ok(folder));
}

/// `/dev/zero` has no end, as a named pipe without a writer has none.
#[cfg(unix)]
#[test]
fn a_reference_is_a_regular_file() {
    let (_home, hub) = offline();
    let refs = hub.cache.join("models--org--model/refs");
    fs::create_dir_all(&refs).unwrap();
    std::os::unix::fs::symlink("/dev/zero", refs.join("main")).unwrap();
    let error = hub.folder(&name("hf:org/model"), LM).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("expected a regular file, found a pipe or a device"),
        "{error}"
    );
}
