//! Markdown for a terminal.

/// Formats Markdown for a terminal: replaces links by their text, removes comments and code fences.
pub fn plain(markdown: &str) -> String {
    let is_shown = |line: &&str| !line.starts_with("```") && !line.starts_with("<!--");
    let shown: String = markdown.split_inclusive('\n').filter(is_shown).collect();
    without_links(&shown)
}

/// Replaces links by their text, which may go on in the next line.
pub fn without_links(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        text += before;
        let parts = link
            .split_once("](")
            .and_then(|(name, to)| Some((name, to.split_once(')')?.1)));
        let is_name = |name: &str| !name.contains('[') && !name.contains("\n\n");
        match parts.filter(|(name, _)| is_name(name)) {
            Some((name, after)) => {
                text += name;
                rest = after;
            }
            None => {
                text.push('[');
                rest = link;
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_their_text() {
        assert_eq!(
            plain("see [a b](c.md), `x[1]` and [y]"),
            "see a b, `x[1]` and [y]"
        );
        assert_eq!(plain("see [level\n5](../a.md)."), "see level\n5.");
        assert_eq!(plain("a [b\n\nc](d)"), "a [b\n\nc](d)");
    }

    #[test]
    fn code_loses_its_fences() {
        let markdown = "Run\n\n<!-- not run: an example -->\n```sh\nls `pwd`\n```\n\nand `look`.\n";
        assert_eq!(plain(markdown), "Run\n\nls `pwd`\n\nand `look`.\n");
    }
}
