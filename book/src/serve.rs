//! `book serve`: the built pages over HTTP, rebuilt on a change, the open page reloading itself.

use crate::{render, watch};
use anyhow::{Result, anyhow};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tiny_http::{Header, Request, Response, Server};

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
pub fn serve(root: &Path, bind: &str, port: u16) -> Result<()> {
    let server = listen(bind, port)?; // before the build, which takes a while
    let pages = render::build_aloud(root)?;
    println!("http://{}/ (stop with Ctrl-C)", server.server_addr());
    let builds = AtomicU64::new(1);
    thread::scope(|scope| {
        scope.spawn(|| rebuild(root, &builds));
        for request in server.incoming_requests() {
            // A browser that went away is no reason to stop.
            let _ = answer(request, &pages, builds.load(Ordering::Relaxed));
        }
    });
    Ok(())
}

fn listen(bind: &str, port: u16) -> Result<Server> {
    Server::http((bind, port)).map_err(|error| {
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

fn answer(request: Request, pages: &Path, build: u64) -> std::io::Result<()> {
    if request.url() == BUILD_NUMBER {
        return request.respond(Response::from_string(build.to_string()));
    }
    let found = page(pages, request.url());
    let status = if found.is_some() { 200 } else { 404 };
    let missing = || {
        (
            b"<h1>No such page</h1>".to_vec(),
            "text/html; charset=utf-8",
        )
    };
    let (body, kind) = found
        .or_else(|| page(pages, "/404.html"))
        .unwrap_or_else(missing);
    let response = Response::from_data(body).with_status_code(status);
    match Header::from_bytes("Content-Type", kind) {
        Ok(header) => request.respond(response.with_header(header)),
        Err(()) => request.respond(response),
    }
}

/// The bytes and the media type behind an address; `None` if there is no such file.
fn page(pages: &Path, url: &str) -> Option<(Vec<u8>, &'static str)> {
    let path = file(pages, url)?;
    let mut body = fs::read(&path).ok()?;
    let kind = media_type(&path);
    if kind.starts_with("text/html") {
        body.extend_from_slice(RELOAD.as_bytes());
    }
    Some((body, kind))
}

/// The file behind an address, never outside `pages`.
fn file(pages: &Path, url: &str) -> Option<PathBuf> {
    let address = url.split(['?', '#']).next()?.trim_start_matches('/');
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
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_port_that_is_taken_names_the_option() -> Result<()> {
        let first = listen("127.0.0.1", 0)?;
        let port = first.server_addr().to_ip().context("an address")?.port();
        let error = listen("127.0.0.1", port).err().context("a taken port")?;
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
        assert_eq!(
            file(pages, "/css/a.css?x=1"),
            Some("/pages/css/a.css".into())
        );
        for outside in [
            "/../Cargo.toml",
            "/css/../../x",
            "//etc/passwd/../..",
            "/./x/..",
        ] {
            assert_eq!(file(pages, outside), None, "{outside}");
        }
    }
}
