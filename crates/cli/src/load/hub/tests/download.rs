//! Tests of downloads from a local server.

use std::sync::{Arc, Mutex};

use tiny_http::{Header, Request, Response, Server};

use super::*;

const INDEX: &str = r#"{"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}"#;

/// Serves a repository org/model with these files; returns its URL and the requested paths.
fn serve(files: &'static [(&'static str, &'static str)]) -> (String, Arc<Mutex<Vec<String>>>) {
    let server = Server::http("127.0.0.1:0").unwrap();
    let address = format!("http://{}", server.server_addr());
    let asked = Arc::new(Mutex::new(vec![]));
    let log = asked.clone();
    // The thread ends with the test program.
    std::thread::spawn(move || {
        for request in server.incoming_requests() {
            log.lock().unwrap().push(request.url().to_string());
            answer(request, files);
        }
    });
    (address, asked)
}

fn answer(request: Request, files: &[(&str, &str)]) {
    let header = |name: &str, value: &str| Header::from_bytes(name, value).unwrap();
    if request.url() == "/api/models/org/model/revision/main" {
        let siblings = files
            .iter()
            .map(|(file, _)| serde_json::json!({"rfilename": file}));
        let info = serde_json::json!({"sha": COMMIT, "siblings": siblings.collect::<Vec<_>>()});
        return request
            .respond(Response::from_string(info.to_string()))
            .unwrap();
    }
    let prefix = format!("/org/model/resolve/{COMMIT}/");
    let file = files
        .iter()
        .find(|(file, _)| request.url() == format!("{prefix}{file}"));
    let Some((file, text)) = file else {
        return request
            .respond(Response::from_string("").with_status_code(404))
            .unwrap();
    };
    // `bytes=0-0` requests the size, `bytes=0-` the whole file.
    let range = request
        .headers()
        .iter()
        .find(|h| h.field.equiv("Range"))
        .unwrap();
    let part = if range.value == "bytes=0-0" {
        &text[..1]
    } else {
        text
    };
    let size = text.len();
    let response = Response::from_string(part)
        .with_status_code(206)
        .with_header(header(
            "ETag",
            &format!("\"etag of {file}\"").replace(' ', "-"),
        ))
        .with_header(header("x-repo-commit", COMMIT))
        .with_header(header(
            "Content-Range",
            &format!("bytes 0-{}/{size}", part.len() - 1),
        ));
    request.respond(response).unwrap();
}

fn online(
    files: &'static [(&'static str, &'static str)],
) -> (TempDir, Hub, Arc<Mutex<Vec<String>>>) {
    let (home, hub) = offline();
    let (endpoint, asked) = serve(files);
    let hub = Hub {
        endpoint,
        is_offline: false,
        ..hub
    };
    (home, hub, asked)
}

#[test]
fn needed_files_are_downloaded_once() {
    let (_home, hub, asked) = online(&[
        ("config.json", "{\"a\": 1}"),
        ("generation_config.json", "{}"),
        ("tokenizer.json", "{}"),
        ("model.safetensors.index.json", INDEX),
        ("1.safetensors", "one"),
        ("2.safetensors", "two"),
        ("3.safetensors", "not in the index"),
        ("README.md", "text"),
    ]);
    let model = name("hf:org/model");
    let folder = hub.folder(&model, LM).unwrap();
    assert_eq!(folder, lay_out(&hub, &[]));
    let mut found: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    found.sort();
    let expected = [
        "1.safetensors",
        "2.safetensors",
        "config.json",
        "generation_config.json",
        "model.safetensors.index.json",
        "tokenizer.json",
    ];
    assert_eq!(found, expected);
    assert_eq!(
        fs::read_to_string(folder.join("config.json")).unwrap(),
        "{\"a\": 1}"
    );
    assert_eq!(
        fs::read_to_string(folder.join("2.safetensors")).unwrap(),
        "two"
    );
    let before = asked.lock().unwrap().len();
    assert_eq!(hub.folder(&model, LM), Ok(folder.clone()));
    assert_eq!(asked.lock().unwrap().len(), before, "the cache has it all");

    fs::remove_file(folder.join("tokenizer.json")).unwrap();
    assert_eq!(hub.folder(&model, LM), Ok(folder.clone()));
    assert!(folder.join("tokenizer.json").exists());
    let asked = asked.lock().unwrap();
    assert!(
        asked[before..]
            .iter()
            .all(|url| !url.contains("safetensors")),
        "{asked:?}"
    );
}

#[test]
fn a_repository_without_safetensors_is_an_error() {
    let (_home, hub, _) = online(&[("config.json", "{}"), ("pytorch_model.bin", "x")]);
    let error = hub
        .folder(&name("hf:org/model"), LM)
        .unwrap_err()
        .to_string();
    let expected = "hf:org/model: expected model.safetensors or model.safetensors.index.json on the hub, \
                    found pytorch_model.bin";
    assert_eq!(error, expected);
}

#[test]
fn an_unknown_name_is_an_error() {
    let (_home, hub, _) = online(&[("config.json", "{}")]);
    let error = hub
        .folder(&name("hf:org/other"), LM)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("hf:org/other: expected it in the cache "),
        "{error}"
    );
    assert!(
        error.contains("check the name") && error.ends_with("http status: 404"),
        "{error}"
    );
}

/// A hub whose answers name paths outside the cache: none of them is written.
#[test]
fn headers_of_a_hub_name_no_path() {
    let (home, hub) = offline();
    let victim = home.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    for (sha, header) in [(COMMIT, "../../../victim"), ("../../../evil", COMMIT)] {
        let server = Server::http("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", server.server_addr());
        std::thread::spawn(move || {
            for request in server.incoming_requests() {
                let text = if request.url().starts_with("/api/") {
                    let files = r#"[{"rfilename": "model.safetensors"}]"#;
                    format!(r#"{{"sha": "{sha}", "siblings": {files}}}"#)
                } else {
                    "x".into()
                };
                let mut response = Response::from_string(text);
                for name in ["ETag", "x-linked-etag", "x-repo-commit"] {
                    response.add_header(Header::from_bytes(name, header).unwrap());
                }
                request.respond(response).unwrap();
            }
        });
        let hub = Hub {
            endpoint,
            is_offline: false,
            ..hub.clone()
        };
        let folder = hub.folder(&name("hf:org/model"), LM);
        match sha {
            COMMIT => assert_eq!(folder, Ok(lay_out(&hub, &[]))),
            _ => {
                fs::remove_dir_all(&hub.cache).unwrap();
                let error = hub
                    .folder(&name("hf:org/model"), LM)
                    .unwrap_err()
                    .to_string();
                let expected = "hf:org/model: expected a commit of hexadecimal digits from the hub, \
                                found ../../../evil";
                assert_eq!(error, expected);
            }
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        let names = fs::read_dir(home.path()).unwrap();
        assert!(names.count() <= 2, "the cache and the file");
    }
}

/// An interrupted download leaves the reference of the previous commit, or none.
#[test]
fn a_reference_is_written_last() {
    let (_home, hub, _) = online(&[
        ("config.json", "{}"),
        (
            "model.safetensors.index.json",
            r#"{"weight_map": {"a": "missing.safetensors"}}"#,
        ),
    ]);
    let model = name("hf:org/model");
    let error = hub.folder(&model, LM).unwrap_err().to_string();
    assert!(error.contains("(missing.safetensors)"), "{error}");
    assert!(!hub.repo(&model).join("refs/main").exists());
}

#[test]
fn a_missing_network_is_reported_at_once() {
    let (_home, hub) = offline();
    let hub = Hub {
        is_offline: false,
        ..hub
    };
    let start = std::time::Instant::now();
    let error = hub
        .folder(&name("hf:org/model"), LM)
        .unwrap_err()
        .to_string();
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    assert!(
        error.contains("without a network, pass the folder"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
}
/// A silent hub must not hang the program.
#[test]
fn a_hub_that_is_silent_is_left() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (_home, hub) = offline();
    let hub = Hub {
        endpoint: format!("http://{}", listener.local_addr().unwrap()),
        ..hub
    };
    let repo = hub.api().unwrap().model("org/model".into());
    let patience = std::time::Duration::from_millis(200);
    let error = crate::load::hub::download::info(repo, patience).unwrap_err();
    assert_eq!(error, "no answer within 0.2 s");
}

/// A connection that dies in the middle of a file ends the download, and leaves no part of it.
#[test]
fn a_download_that_stalls_is_left() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (home, hub) = offline();
    let hub = Hub {
        endpoint: format!("http://{}", listener.local_addr().unwrap()),
        ..hub
    };
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let _ = connection.read(&mut [0; 4096]).unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx";
        connection.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(60));
    });
    let commit = crate::load::hub::download::Commit {
        files: hub.api().unwrap().model("org/model".into()),
        folder: home.path().join("snapshot"),
        stalled: std::time::Duration::from_millis(200),
    };
    let start = std::time::Instant::now();
    let error = commit.get("model.safetensors").unwrap_err();
    assert!(start.elapsed().as_secs() < 20, "{error}");
    assert!(error.contains("timeout"), "{error}");
    let left = fs::read_dir(&commit.folder).unwrap().count();
    assert_eq!(left, 0);
}
