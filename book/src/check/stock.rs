//! Whether the stock `mdbook`, which runs the preprocessor by its command in `book.toml`, makes the same pages.

use anyhow::Result;
use mdbook_driver::MDBook;
use simt::case::files_below;
use std::fs;
use std::path::Path;

/// Pages of `built` that a stock build of `root` does not have, or has otherwise.
pub fn findings(root: &Path, built: &Path) -> Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let mut book = MDBook::load(root)?;
    book.config.build.build_dir = folder.path().into();
    book.build()?;
    let mut found = vec![];
    for page in files_below(built, &["html"])? {
        let name = page.strip_prefix(built)?;
        let stock = fs::read(folder.path().join(name)).unwrap_or_default();
        if stock != fs::read(&page)? {
            let name = name.display();
            found.push(format!(
                "{name}: expected what the stock mdbook makes, found another page"
            ));
        }
    }
    Ok(found)
}
