//! Blocks between two markers of a page, which a command writes.

use std::path::Path;

use data::BadInput;

/// Returns `text` with `new` as the block of this name.
///
/// # Errors
/// If a marker of the block is missing, or the markers are in the wrong order.
pub fn replaced(path: &Path, text: &str, block: &str, new: &str) -> Result<String, BadInput> {
    let [begin, end] = ["begin", "end"].map(|which| format!("<!-- {block}:{which} -->"));
    between(text, &begin, &end, new).ok_or_else(|| {
        let expected = format!("the line {begin}, and after it the line {end}");
        BadInput::new(path.display(), expected, "no such lines")
    })
}

fn between(text: &str, begin: &str, end: &str, new: &str) -> Option<String> {
    let from = text.find(begin)? + begin.len();
    let to = from + text[from..].find(end)?;
    Some(format!("{}\n{new}{}", &text[..from], &text[to..]))
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
        for bad in [String::new(), begin.into(), format!("{end}\n{begin}")] {
            let error = replaced(&bad).unwrap_err().to_string();
            let expected = format!(
                "a.md: expected the line {begin}, and after it the line {end}, found no such lines"
            );
            assert_eq!(error, expected);
        }
    }
}
