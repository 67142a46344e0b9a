//! `book serve`: the built pages over HTTP, rebuilt on a change, the open page reloading itself.

use crate::{render, watch};
use anyhow::{Context, Result, anyhow};
use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Where the open page asks for the number of the last build.
const BUILD_NUMBER: &str = "/build-number";

/// Put into each page as it is served, never into the files: reload once the number changes.
const RELOAD: &str = r#"<script>
(async () => {
  const number = async () => (await fetch("/build-number", { cache: "no-store" })).text();
  let first = await number();
  setInterval(async () => {
    try { if (await number() !== first) location.reload(); } catch { /* the server stopped */ }
  }, 700);
})();
</script>
"#;

/// Builds the book in `root` and serves it on `bind:port` until the process ends.
///
/// axum, as mdBook itself uses it, bounds the header of a request, reads no body, and lets no slow reader keep others
/// waiting.
pub fn serve(root: &Path, bind: &str, port: u16) -> Result<()> {
    let runtime = runtime()?;
    let listener = listen(&runtime, bind, port)?; // before the build, which takes a while
    let pages = render::build_aloud(root)?;
    println!("http://{}/ (stop with Ctrl-C)", listener.local_addr()?);
    let builds = Arc::new(AtomicU64::new(1));
    let router = router(pages, Arc::clone(&builds));
    thread::scope(|scope| {
        scope.spawn(|| rebuild(root, &builds));
        runtime.block_on(async { axum::serve(listener, router).await })
    })
    .context("serving the pages")
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn listen(runtime: &Runtime, bind: &str, port: u16) -> Result<TcpListener> {
    let bound = runtime.block_on(TcpListener::bind((bind, port)));
    bound.map_err(|error| {
        anyhow!("{bind}:{port}: expected a free address, found: {error} (choose another port with --port)")
    })
}

/// Watches for ever; a build that fails is printed, and the old pages stay.
fn rebuild(root: &Path, builds: &AtomicU64) {
    let state = || render::load(root).and_then(|book| watch::snapshot(&book));
    let mut before = state().ok();
    loop {
        thread::sleep(Duration::from_millis(500));
        let now = state().ok();
        if now == before {
            continue;
        }
        before = now;
        match render::build(root) {
            Ok(_) => println!("build {}", builds.fetch_add(1, Ordering::Relaxed) + 1),
            Err(error) => eprintln!("{error:#}"),
        }
    }
}

fn router(pages: PathBuf, builds: Arc<AtomicU64>) -> Router {
    let number = move || async move { builds.load(Ordering::Relaxed).to_string() };
    let answer = move |address: Uri| async move { answer(&pages, address.path()) };
    Router::new()
        .route(BUILD_NUMBER, get(number))
        .fallback(get(answer))
}

fn answer(pages: &Path, address: &str) -> Response {
    if let Some(page) = page(pages, address) {
        return page.into_response();
    }
    let missing = page(pages, "/404.html").map(IntoResponse::into_response);
    let missing = missing.unwrap_or_else(|| Html("<h1>No such page</h1>").into_response());
    (StatusCode::NOT_FOUND, missing).into_response()
}

/// The media type and the bytes behind an address; `None` if there is no such file.
fn page(pages: &Path, address: &str) -> Option<impl IntoResponse> {
    let path = file(pages, address)?;
    let mut body = fs::read(&path).ok()?;
    let kind = media_type(&path);
    if kind.starts_with("text/html") {
        body.extend_from_slice(RELOAD.as_bytes());
    }
    Some(([(header::CONTENT_TYPE, kind)], body))
}

/// The file behind an address, never outside `pages`.
fn file(pages: &Path, address: &str) -> Option<PathBuf> {
    let address = address.trim_start_matches('/');
    let address = if address.is_empty() {
        "index.html"
    } else {
        address
    };
    let inside = |part: Component| matches!(part, Component::Normal(_));
    Path::new(address)
        .components()
        .all(inside)
        .then(|| pages.join(address))
}

fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|e| e.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{SocketAddr, TcpStream};

    use super::*;

    #[test]
    fn a_port_that_is_taken_names_the_option() -> Result<()> {
        let runtime = runtime()?;
        let first = listen(&runtime, "127.0.0.1", 0)?;
        let port = first.local_addr()?.port();
        let error = listen(&runtime, "127.0.0.1", port)
            .err()
            .context("a taken port")?;
        let error = error.to_string();
        assert!(
            error.contains("expected a free address") && error.contains("--port"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn addresses_stay_inside_the_pages() {
        let pages = Path::new("/pages");
        assert_eq!(file(pages, "/"), Some("/pages/index.html".into()));
        assert_eq!(file(pages, "/css/a.css"), Some("/pages/css/a.css".into()));
        for outside in [
            "/../Cargo.toml",
            "/css/../../x",
            "//etc/passwd/../..",
            "/./x/..",
        ] {
            assert_eq!(file(pages, outside), None, "{outside}");
        }
    }

    /// Serves a folder with one page until the process ends.
    fn served() -> Result<SocketAddr> {
        let runtime = runtime()?;
        let listener = listen(&runtime, "127.0.0.1", 0)?;
        let address = listener.local_addr()?;
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("index.html"), "<h1>a page</h1>")?;
        let router = router(folder.path().into(), Arc::new(AtomicU64::new(7)));
        thread::spawn(move || {
            let _folder = folder;
            runtime.block_on(async { axum::serve(listener, router).await })
        });
        Ok(address)
    }

    fn send(address: SocketAddr, request: &[u8]) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.write_all(request)?;
        Ok(stream)
    }

    /// The whole answer to a request.
    fn answer_to(address: SocketAddr, head: &str) -> Result<String> {
        let request = format!("{head}\r\nHost: a\r\nConnection: close\r\n\r\n");
        let mut text = String::new();
        send(address, request.as_bytes())?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn pages_and_the_number_of_the_build_are_served() -> Result<()> {
        let address = served()?;
        let page = answer_to(address, "GET / HTTP/1.1")?;
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(page.contains("text/html; charset=utf-8"), "{page}");
        assert!(page.contains("<h1>a page</h1><script>"), "{page}");
        let number = answer_to(address, "GET /build-number HTTP/1.1")?;
        assert!(number.ends_with("\r\n\r\n7"), "{number}");
        let none = answer_to(address, "GET /none.html HTTP/1.1")?;
        assert!(none.starts_with("HTTP/1.1 404 "), "{none}");
        assert!(none.contains("No such page"), "{none}");
        Ok(())
    }

    #[test]
    fn hostile_clients_do_not_stop_it() -> Result<()> {
        let address = served()?;
        // A request that never ends, and a body of a length that no memory holds.
        let _slow = send(address, b"GET / HTTP/1.1\r\nHost: ")?;
        let huge = "GET / HTTP/1.1\r\nContent-Length: 9223372036854775807";
        let huge = answer_to(address, huge)?;
        assert!(huge.starts_with("HTTP/1.1 200 OK\r\n"), "{huge}");
        // A header of 200 MB is refused early: the connection ends before all of it is sent.
        let mut header = send(address, b"GET / HTTP/1.1\r\nHost: a\r\nX: ")?;
        let part = vec![b'x'; 1 << 20];
        let sent = (0..200).try_for_each(|_| header.write_all(&part));
        let error = sent.err().context("a header without a limit")?;
        let closed = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
        assert!(closed.contains(&error.kind()), "{error}");
        let page = answer_to(address, "GET / HTTP/1.1")?;
        assert!(page.contains("<h1>a page</h1>"), "{page}");
        Ok(())
    }
}
