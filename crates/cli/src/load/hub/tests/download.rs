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
    let Some((_, text)) = file else {
        return request
            .respond(Response::from_string("").with_status_code(404))
            .unwrap();
    };
    let range = format!("bytes 0-{}/{}", text.len() - 1, text.len());
    let response = Response::from_string(*text)
        .with_status_code(206)
        .with_header(header("Content-Range", &range));
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

/// Why nothing is kept of a file after `head` and so many bytes, each after `pause` milliseconds.
fn refused(file: &str, head: &str, bytes: usize, pause: u64) -> String {
    use std::io::{Read, Write};
    use std::time::Duration;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (home, hub) = offline();
    let hub = Hub {
        endpoint: format!("http://{}", listener.local_addr().unwrap()),
        ..hub
    };
    let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let _ = connection.read(&mut [0; 4096]).unwrap();
        connection.write_all(head.as_bytes()).unwrap();
        for _ in 0..bytes {
            std::thread::sleep(Duration::from_millis(pause));
            let _ = connection.write_all(b"x");
        }
    });
    let commit = crate::load::hub::download::Commit {
        files: hub.api().unwrap().model("org/model".into()),
        folder: home.path().join("snapshot"),
        stalled: Duration::from_millis(200),
    };
    let error = commit.get(file).unwrap_err();
    let left = fs::read_dir(&commit.folder).into_iter().flatten();
    assert_eq!(left.count(), 0, "{error}");
    error
}

/// A connection that dies, or drips, in the middle of a file ends the download.
#[test]
fn a_download_that_stalls_is_left() {
    let start = std::time::Instant::now();
    for (bytes, pause) in [(2, 9_000), (1000, 20)] {
        let head = "200 OK\r\nContent-Length: 1000000";
        let error = refused("model.safetensors", head, bytes, pause);
        assert!(start.elapsed().as_secs() < 9, "{error}");
        assert!(error.contains("timeout"), "{error}");
    }
}

#[test]
fn a_part_of_a_file_is_not_kept() {
    for (head, why) in [
        ("200 OK", "no length instead of a whole file"),
        ("200 OK\r\nContent-Length: 3\r\nContent-Encoding: br", "3"),
        ("200 OK\r\nContent-Length: 67108865", "67108864"),
        ("206 OK\r\nContent-Range: bytes 0-2/9", "0-2/9"),
        ("206 OK\r\nContent-Range: bytes 0-8/9", "after 3 bytes"),
    ] {
        let error = refused("config.json", head, 3, 0);
        assert!(error.contains(why), "{head}: {error}");
    }
}

/// A proxy in front of a hub may ask for a password, which must not be in a log.
#[test]
fn an_error_has_no_password() {
    let (_home, hub) = offline();
    let hub = Hub {
        endpoint: "http://me:se%2Fcret@127.0.0.1:1/hub".into(),
        is_offline: false,
        ..hub
    };
    let error = hub
        .folder(&name("hf:org/model"), LM)
        .unwrap_err()
        .to_string();
    assert!(error.contains("http://127.0.0.1:1/hub"), "{error}");
    assert!(!error.contains("cret") && !error.contains("me:"), "{error}");
}
