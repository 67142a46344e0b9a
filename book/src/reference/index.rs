//! The index of the reference: `{{reference}}`.

use super::contract::formula;
use super::{FOLDER, Reference, findings};
use crate::includes::{chapters, text_of};
use crate::markdown;
use anyhow::Result;

/// A row per page, in the order of their files: the folder of the op, the page, the formula.
pub fn index(reference: &Reference) -> Result<String> {
    let mut text = String::from("| op | page | formula |\n|---|---|---|\n");
    for file in chapters(&reference.pages)? {
        let page = text_of(&file)?;
        let Some(subject) = findings::directive(&page)? else {
            continue;
        };
        let title = page.lines().find_map(|line| line.strip_prefix("# "));
        let formula = formula(&reference.folder(&subject))?.replace('|', r"\|");
        let name = &subject.folder;
        let link = format!("[{}]({FOLDER}/{name}.md)", title.unwrap_or(name));
        let cells = [link, formula].map(Some);
        text += &markdown::line(&format!("`{name}`"), cells.into_iter());
    }
    Ok(text)
}
