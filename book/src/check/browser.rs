//! Opens the built pages in a headless Chromium, as wide as on a laptop and as on a phone, and lists network requests, and
//! content wider than its page.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use simt::case::files_below;
use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Names of Chromium's program, in the order of the search.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];
/// A page that asks for this is opened with the others: a log without it would prove nothing.
const CANARY: &str = "http://canary.invalid/";
/// Says what is wider than its page, in an element at the end.
const WIDE: &str = include_str!("wide.js");
/// Sizes in pixels: a page with its list of chapters, on a laptop, and a page on a phone.
const SIZES: [&str; 2] = [
    "width=\"1200\" height=\"900\"",
    "width=\"390\" height=\"844\"",
];
/// After which a browser hangs.
const LIMIT: Duration = Duration::from_secs(180);

/// A Chromium on the PATH, or the program that `CANDLEPOWER_CHROMIUM` names.
pub fn chromium() -> Option<PathBuf> {
    if let Some(program) = env::var_os("CANDLEPOWER_CHROMIUM") {
        return Some(program.into());
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let all = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|program| program.is_file())
}

/// Requests to anything but files that the pages in `built` make when they are opened, and tables and figures that are
/// wider than they are; on a phone also pages that scroll sideways, and what is cut off.
///
/// # Errors
/// When the browser does not start, does not end, or does not say what it must.
pub fn findings(chromium: &Path, built: &Path) -> Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("all.html");
    let pages = files_below(&built.canonicalize()?, &["html"])?;
    let log = folder.path().join("log.json");
    let mut found = BTreeSet::new();
    for size in SIZES {
        fs::write(&page, frames(&pages, size))?;
        let dom = open(chromium, folder.path(), &log, &page)?;
        found.extend(requests(&log)?);
        found.extend(wide(&dom, pages.len())?);
    }
    Ok(found.into_iter().collect())
}

fn requests(log: &Path) -> Result<Vec<String>> {
    let mut asked = asked(&serde_json::from_reader(File::open(log)?)?)?;
    ensure!(
        asked.remove(CANARY),
        "chromium: expected a request for {CANARY} in its log, found none"
    );
    let finding = |url| format!("expected nothing from the network, found a request for {url}");
    Ok(asked.into_iter().map(finding).collect())
}

/// Parses the list that [`WIDE`] has written into the page.
fn wide(dom: &str, pages: usize) -> Result<Vec<String>> {
    let text = dom.split_once("<pre id=\"found\">").map(|(_, text)| text);
    let text = text.and_then(|text| Some(text.split_once("</pre>")?.0));
    let mut lines: Vec<String> = text
        .unwrap_or_default()
        .lines()
        .map(str::to_string)
        .collect();
    let last = lines.pop().unwrap_or_default();
    let expected = format!("looked at {pages} pages");
    ensure!(
        last == expected,
        "chromium: expected that it has {expected}, found {last:?}"
    );
    Ok(lines)
}

/// One page with a frame for each page of the book, the canary and the script.
fn frames(pages: &[PathBuf], size: &str) -> String {
    let mut text = format!("<!doctype html><img src=\"{CANARY}\">\n<script>{WIDE}</script>\n");
    for page in pages {
        text += &format!(
            "<iframe {size} src=\"file://{}\"></iframe>\n",
            page.display()
        );
    }
    text
}

/// Opens the page; returns what has become of it.
fn open(chromium: &Path, folder: &Path, log: &Path, page: &Path) -> Result<String> {
    let dom = folder.join("dom.html");
    let mut command = Command::new(chromium);
    // Nothing is resolved, so that nothing is sent; and the pages are our own, which root may open in CI, and the script
    // may look into.
    command
        .args(["--headless", "--disable-gpu", "--no-sandbox", "--dump-dom"])
        .args([
            "--disable-web-security",
            "--allow-file-access-from-files",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--virtual-time-budget=20000",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg(format!("--log-net-log={}", log.display()))
        .arg(format!("file://{}", page.display()))
        .stdout(File::create(&dom)?)
        .stderr(Stdio::null());
    let name = chromium.display();
    let mut child = command
        .spawn()
        .with_context(|| format!("{name}: expected a browser"))?;
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(status) = child.try_wait()? {
            ensure!(
                status.success(),
                "{name}: expected exit code 0, found {status}"
            );
            return Ok(fs::read_to_string(&dom)?);
        }
        sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    bail!("{name}: expected an end within {LIMIT:?}, found none")
}

/// Addresses that pages asked for. What the browser wants for itself has no origin.
fn asked(log: &Value) -> Result<BTreeSet<String>> {
    let start = &log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"];
    ensure!(
        start.is_number(),
        "chromium: expected a net log, found another format"
    );
    let events = log["events"]
        .as_array()
        .context("chromium: expected events, found none")?;
    let asked = events
        .iter()
        .filter(|event| event["type"] == *start)
        .filter_map(|event| {
            let of_a_page = event["params"]["initiator"] != "not an origin";
            event["params"]["url"].as_str().filter(|_| of_a_page)
        });
    Ok(asked.map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skip;

    #[test]
    fn a_page_that_asks_the_network_or_is_too_narrow_is_found() {
        let Some(chromium) = chromium() else {
            let test = "a_page_that_asks_the_network_or_is_too_narrow_is_found";
            return skip(test, "no Chromium on the PATH");
        };
        let built = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(built.path().join(name), text).unwrap();
        write(
            "good.html",
            "<p>Text</p><a href=\"https://a.example/\">a link may</a>",
        );
        assert_eq!(findings(&chromium, built.path()).unwrap(), [""; 0]);
        write(
            "bad.html",
            "<script>fetch('https://b.example/x').catch(() => {})</script>",
        );
        let found = findings(&chromium, built.path()).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].ends_with("a request for https://b.example/x"),
            "{found:?}"
        );
        write(
            "bad.html",
            "<main><table style=\"width: 1300px\"><td>wide</table></main>",
        );
        let found = findings(&chromium, built.path()).unwrap();
        let expected = "bad.html: expected no TABLE wider than its page, found ";
        assert!(found.iter().any(|f| f.starts_with(expected)), "{found:?}");
        assert!(
            found.iter().all(|f| f.starts_with("bad.html: ")),
            "{found:?}"
        );
        write(
            "bad.html",
            "<main><details><summary>a</summary><table style=\"width: 1300px\"><td>wide</table></details></main>",
        );
        let found = findings(&chromium, built.path()).unwrap();
        assert!(found.iter().any(|f| f.starts_with(expected)), "{found:?}");
        // On a laptop, both of these fit.
        let table = "<table style=\"width: 500px\"><td>wide</table>";
        write("bad.html", &format!("<main>{table}</main>"));
        let found = findings(&chromium, built.path()).unwrap();
        let [table_on_a_phone, sideways] = &found[..] else {
            panic!("expected two findings, found {found:?}");
        };
        assert!(
            sideways.starts_with("bad.html: expected no page that scrolls sideways on a phone")
        );
        assert!(table_on_a_phone.contains("no TABLE wider than its page on a phone"));
        write(
            "bad.html",
            &format!("<main><div style=\"overflow-x: auto\">{table}</div></main>"),
        );
        assert_eq!(findings(&chromium, built.path()).unwrap(), [""; 0]);
        let chart = |width, size| {
            format!(
                "<main><figure class=\"chart\" aria-label=\"bars\" style=\"overflow-x: auto; margin: 0\"><svg width=\"{width}\" \
                 viewBox=\"0 0 300 90\"><text y=\"50\" font-size=\"{size}\">a</text></svg></figure></main>"
            )
        };
        for (width, size, expected) in [
            (300, 10, None),
            (
                300,
                8,
                Some("texts of about 9 pixels in a figure on a phone, found 8.0: bars"),
            ),
            (
                150,
                16,
                Some("texts of about 9 pixels in a figure on a phone, found 8.0: bars"),
            ),
            (
                600,
                10,
                Some("no chart that scrolls on a phone, found one: bars"),
            ),
        ] {
            write("bad.html", &chart(width, size));
            let found = findings(&chromium, built.path()).unwrap();
            let expected = expected.map(|expected| format!("bad.html: expected {expected}"));
            assert_eq!(found, Vec::from_iter(expected), "{width} {size}");
        }
    }
}
