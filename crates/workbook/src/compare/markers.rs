//! Blocks between two markers of a page, which a command writes.

use std::path::Path;

use data::BadInput;

/// Returns `text` with `new` as the block of this name.
///
/// # Errors
/// If a marker of the block is missing or there twice, the markers are in the wrong order, or `new` has a comment: with a
/// marker in it, the next call would keep a part of the old block.
pub fn replaced(path: &Path, text: &str, block: &str, new: &str) -> Result<String, BadInput> {
    if new.contains("<!--") {
        let what = format!("{}: the block {block}", path.display());
        return Err(BadInput::new(what, "text without `<!--`", "it"));
    }
    let [begin, end] = ["begin", "end"].map(|which| format!("<!-- {block}:{which} -->"));
    between(text, &begin, &end, new).ok_or_else(|| {
        let expected = format!("the line {begin} once, and after it the line {end} once");
        BadInput::new(path.display(), expected, "no such lines")
    })
}

fn between(text: &str, begin: &str, end: &str, new: &str) -> Option<String> {
    let (before, rest) = text.split_once(begin)?;
    let (old, after) = rest.split_once(end)?;
    let is_once = !before.contains(end)
        && ![old, after].iter().any(|part| part.contains(begin))
        && !after.contains(end);
    is_once.then(|| format!("{before}{begin}\n{new}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_changes() {
        let [begin, end] = ["<!-- levels:begin -->", "<!-- levels:end -->"];
        let text = format!("before\n{begin}\nold\n{end}\nafter\n");
        let replaced = |text: &str| replaced("a.md".as_ref(), text, "levels", "new\n");
        let new = replaced(&text).unwrap();
        assert_eq!(new, format!("before\n{begin}\nnew\n{end}\nafter\n"));
        assert_eq!(replaced(&new).as_ref(), Ok(&new), "twice is once");
        let bad = [String::new(), begin.into(), format!("{end}\n{begin}")];
        let twice = [
            format!("{text}{begin}"),
            format!("{text}{end}"),
            format!("{end}{text}"),
        ];
        for bad in bad.into_iter().chain(twice) {
            let error = replaced(&bad).unwrap_err().to_string();
            let expected = format!(
                "a.md: expected the line {begin} once, and after it the line {end} once, found no such lines"
            );
            assert_eq!(error, expected);
        }
        let marked = super::replaced("a.md".as_ref(), &text, "levels", end);
        assert_eq!(marked.unwrap_err().what, "a.md: the block levels");
    }
}
