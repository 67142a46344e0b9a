//! Markdown for a terminal.

/// Formats Markdown for a terminal: replaces links by their text, removes comments and code fences.
pub fn plain(markdown: &str) -> String {
    let is_shown = |line: &&str| !line.starts_with("```") && !line.starts_with("<!--");
    let lines = markdown.split_inclusive('\n').filter(is_shown);
    let shown: String = lines.map(without_comments).collect();
    without_links(&shown)
}

/// Removes the comments that begin and end in a line, and the blanks before them.
fn without_comments(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, comment)) = rest.split_once("<!--") {
        let Some((_, after)) = comment.split_once("-->") else {
            break;
        };
        text += before.trim_end();
        rest = after;
    }
    text + rest
}

/// Replaces links by their text, which may go on in the next line.
pub fn without_links(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    let last = markdown.rfind(')').unwrap_or(0);
    while let Some((before, link)) = rest.split_once('[') {
        text += before;
        // Nothing is searched twice, so that brackets by the thousand take no time.
        let name = &link[..link.find('[').unwrap_or(link.len())];
        let is_name = |name: &&str| !name.contains("\n\n") && markdown.len() - link.len() < last;
        let name = name.split_once("](").map(|(name, _)| name).filter(is_name);
        match name.and_then(|name| Some((name, link[name.len()..].split_once(')')?.1))) {
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
    fn comments_in_a_line_are_left_out() {
        let markdown = "1 MiB, <!-- a --> or 2, <!-- b -->\nand <!-- open";
        assert_eq!(plain(markdown), "1 MiB, or 2,\nand <!-- open");
    }

    #[test]
    fn brackets_by_the_thousand_take_no_time() {
        for brackets in ["[", "[](", "[\n\n]("] {
            let text = brackets.repeat(300_000);
            assert_eq!(without_links(&text), text);
            assert!(without_links(&(text + ")")).len() <= 1_500_001);
        }
    }

    #[test]
    fn code_loses_its_fences() {
        let markdown = "Run\n\n<!-- not run: an example -->\n```sh\nls `pwd`\n```\n\nand `look`.\n";
        assert_eq!(plain(markdown), "Run\n\nls `pwd`\n\nand `look`.\n");
    }
}
