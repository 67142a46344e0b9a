//! `book serve`: the built pages over HTTP, rebuilt on a change, the open page reloading itself.

mod host;
mod limits;

use crate::{out, render, watch};
use anyhow::{Context, Result, anyhow};
use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use classroom::page::Solutions;
use host::Bound;
use limits::{Limited, PATIENCE};
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
/// axum, as mdBook itself uses it, bounds the header of a request and reads no body. [`Limited`] closes slow connections
/// and those above a number.
pub fn serve(root: &Path, bind: &str, port: u16) -> Result<()> {
    let runtime = runtime()?;
    let listener = listen(&runtime, bind, port)?; // before the build, which takes a while
    let pages = render::build_aloud(root, Solutions::Shown)?;
    let address = listener.local_addr()?;
    out::say(format_args!("http://{address}/ (stop with Ctrl-C)"));
    let builds = Arc::new(AtomicU64::new(1));
    let (name, ip) = (bind.to_string(), address.ip());
    let router = router(pages, Arc::clone(&builds), Bound { name, ip });
    let listener = Limited::new(listener, PATIENCE);
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
        anyhow!("{bind}:{port}: expected a free address, found: {error}; `--port N` chooses another port")
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
            Ok(_) => {
                let number = builds.fetch_add(1, Ordering::Relaxed) + 1;
                out::say(format_args!("build {number}"));
            }
            Err(error) => out::error(format_args!("{error:#}")),
        }
    }
}

fn router(pages: PathBuf, builds: Arc<AtomicU64>, bound: Bound) -> Router {
    let check = move |request: Request, next: Next| bound.clone().check(request, next);
    let number = move || async move { builds.load(Ordering::Relaxed).to_string() };
    let answer = move |address: Uri| async move { answer(&pages, address.path()) };
    Router::new()
        .route(BUILD_NUMBER, get(number))
        .fallback(get(answer))
        .layer(from_fn(check))
}

fn answer(pages: &Path, address: &str) -> Response {
    if let Some(page) = page(pages, address) {
        return page.into_response();
    }
    let missing = page(pages, "/404.html").map(IntoResponse::into_response);
    let missing = missing.unwrap_or_else(|| Html("<h1>No such page</h1>").into_response());
    (StatusCode::NOT_FOUND, missing).into_response()
}

/// The media type and the bytes at an address; `None` if there is no such regular file. A link may lead to one, but
/// not out of the pages.
fn page(pages: &Path, address: &str) -> Option<impl IntoResponse> {
    let path = file(pages, address)?.canonicalize().ok()?;
    if !path.is_file() || !path.starts_with(pages.canonicalize().ok()?) {
        return None;
    }
    let mut body = fs::read(&path).ok()?;
    let kind = media_type(&path);
    if kind.starts_with("text/html") {
        body.reserve_exact(RELOAD.len());
        body.extend_from_slice(RELOAD.as_bytes());
    }
    Some(([(header::CONTENT_TYPE, kind)], body))
}

/// The file at an address, never outside `pages`.
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
mod tests;
