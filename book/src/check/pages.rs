//! Findings in the built pages.

use crate::place;
use anyhow::Result;
use regex::Regex;
use simt::case::files_below;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Links to a page or a heading that is not there.
pub fn dead_links(built: &Path) -> Result<Vec<String>> {
    let link = Regex::new(r#"(?:href|src)="([^"]+)""#)?;
    let mut found = BTreeSet::new();
    let mut ids = Ids::default();
    for page in files_below(built, &["html"])? {
        let text = fs::read_to_string(&page)?;
        for target in link
            .captures_iter(&text)
            .map(|captures| captures[1].to_string())
        {
            if !target.contains(':') && !resolves(built, &page, &target, &mut ids)? {
                found.insert(format!(
                    "{}: expected a target, found `{target}`",
                    place::from_root(&page)
                ));
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The ids in each page that a link has led to; the print page has thousands of links to itself.
type Ids = BTreeMap<PathBuf, BTreeSet<String>>;

fn ids(page: &Path) -> Result<BTreeSet<String>> {
    let id = Regex::new(r#"\bid="([^"]+)""#)?;
    let text = fs::read_to_string(page).unwrap_or_default();
    let found = id.captures_iter(&text);
    Ok(found.map(|captures| captures[1].to_string()).collect())
}

fn resolves(built: &Path, page: &Path, target: &str, known: &mut Ids) -> Result<bool> {
    let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
    let folder = page.parent().unwrap_or(built);
    let file = match file {
        "" => page.to_path_buf(),
        absolute if absolute.starts_with('/') => built.join(absolute.trim_start_matches('/')),
        relative => folder.join(relative),
    };
    let file = if file.is_dir() {
        file.join("index.html")
    } else {
        file
    };
    if fragment.is_empty() {
        return Ok(file.is_file());
    }
    if !known.contains_key(&file) {
        known.insert(file.clone(), ids(&file)?);
    }
    Ok(known[&file].contains(fragment))
}

/// Scripts, styles, images and fonts that a page would load from the network.
pub fn loads_from_the_network(built: &Path) -> Result<Vec<String>> {
    let load = Regex::new(concat!(
        r#"<(?:script|link|img|iframe|source|video|audio|embed|object|form)\b[^>]*"#,
        r#"\b(?:src|href|srcset|data|action)="(?:https?:)?//[^"]*""#,
        r#"|(?:url\(|@import\s+)["']?(?:https?:)?//[^)"'\s]*"#,
    ))?;
    // mdBook's own script asks the playground for its crates as soon as a page has a block of this class.
    let script = Regex::new(concat!(
        r#"(?:fetch|import|importScripts|WebSocket|EventSource|Worker)\(\s*["'`](?:https?|wss?)?:?//[^"'`]*"#,
        r#"|<pre class="[^"]*\bplayground\b"#,
    ))?;
    let mut found = Vec::new();
    for file in files_below(built, &["html", "css", "js", "svg"])? {
        let text = fs::read_to_string(&file)?;
        let hits = load.find_iter(&text).chain(script.find_iter(&text));
        found.extend(hits.map(|hit| {
            format!(
                "{}: expected nothing from the network, found {}",
                place::from_root(&file),
                hit.as_str()
            )
        }));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(page: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.html"), page).unwrap();
        fs::write(folder.path().join("b.html"), "<h2 id=\"here\">b</h2>").unwrap();
        folder
    }

    #[test]
    fn links_to_nothing() {
        let folder = built(concat!(
            r##"<p id="top"><a href="b.html#here">1</a><a href="#top">2</a><a href="https://x.y">"##,
            r##"3</a><a href="c.html">4</a><a href="b.html#gone">5</a><a href="#none">6</a>"##,
        ));
        let found = dead_links(folder.path()).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].ends_with("a.html: expected a target, found `#none`"),
            "{found:?}"
        );
    }

    #[test]
    fn nothing_is_loaded_from_the_network() {
        let page = concat!(
            r#"<script src="https://x.y/z.js"></script><link rel="x" href="//x.y/z.css">"#,
            r#"<img src="a.png"><a href="https://x.y">a link may</a><style>url(http://x.y)</style>"#,
        );
        assert_eq!(loads_from_the_network(built(page).path()).unwrap().len(), 3);
        let page =
            r#"<script>fetch("https://x.y"); fetch("a.json")</script><pre class="playground">"#;
        assert_eq!(loads_from_the_network(built(page).path()).unwrap().len(), 2);
    }
}
