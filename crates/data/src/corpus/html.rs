//! Extracts plain prose from a page by mdBook.

/// Returns the prose in `<main>`; `None` if there is no `<main>` or no prose in it.
pub(super) fn prose(page: &str) -> Option<String> {
    let start = page.find("<main>")? + "<main>".len();
    let end = start + page[start..].find("</main>")?;
    let mut out = Blocks::default();
    let mut rest = &page[start..end];
    while let Some(open) = rest.find('<') {
        out.text(&rest[..open]);
        let (tag, after) = split_tag(&rest[open..]);
        rest = after;
        let name = name(tag);
        match name {
            "pre" | "script" | "style" | "svg" => rest = skip(rest, name),
            "td" | "th" => out.text(" "),
            "li" => {
                out.end_block();
                out.block = "- ".to_owned();
            }
            _ if BLOCKS.contains(&name.trim_start_matches('/')) => out.end_block(),
            _ => {}
        }
    }
    out.text(rest);
    out.end_block();
    (!out.done.is_empty()).then_some(out.done)
}

/// Elements that begin and end a paragraph; all others are inline.
const BLOCKS: [&str; 20] = [
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "li",
    "ul",
    "ol",
    "tr",
    "table",
    "div",
    "section",
    "figure",
    "figcaption",
    "blockquote",
    "br",
    "hr",
    "dt",
];

/// Finished paragraphs, and the current one.
#[derive(Default)]
struct Blocks {
    done: String,
    block: String,
}

impl Blocks {
    fn text(&mut self, html: &str) {
        self.block.push_str(&decode(html));
    }

    /// Ends a paragraph: white space becomes one space, and a blank paragraph or a bare bullet is dropped.
    fn end_block(&mut self) {
        let words: Vec<&str> = self.block.split_whitespace().collect();
        if words.iter().any(|word| *word != "-") {
            self.done.push_str(&words.join(" "));
            self.done.push_str("\n\n");
        } else if words == ["-"] {
            return; // the bullet of an item whose text is in a <p>
        }
        self.block.clear();
    }
}

/// Splits off the tag or comment that `html` begins with. A `>` in quotes does not end it.
fn split_tag(html: &str) -> (&str, &str) {
    if html.starts_with("<!--") {
        let end = html.find("-->").map_or(html.len(), |i| i + 3);
        return html.split_at(end);
    }
    let mut quote = None;
    for (i, c) in html.char_indices() {
        match (quote, c) {
            (None, '>') => return html.split_at(i + 1),
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            _ => {}
        }
    }
    (html, "")
}

/// Returns the name of a tag: `p` for `<p class="x">`, `/p` for `</p>`.
fn name(tag: &str) -> &str {
    let inner = tag.trim_start_matches('<');
    let end = inner
        .find(|c: char| c.is_whitespace() || c == '>' || (c == '/' && !inner.starts_with('/')));
    &inner[..end.unwrap_or(inner.len())]
}

/// Skips to the end of the element `name`.
fn skip<'a>(html: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}>");
    html.find(&end).map_or("", |i| &html[i + end.len()..])
}

/// Decodes HTML's basic and numeric character references; leaves others.
fn decode(html: &str) -> String {
    let mut parts = html.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let known = part
            .split_once(';')
            .and_then(|(name, rest)| Some((character(name)?, rest)));
        match known {
            Some((c, rest)) => {
                out.push(c);
                out.push_str(rest);
            }
            None => {
                out.push('&');
                out.push_str(part);
            }
        }
    }
    out
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_kept_and_code_is_dropped() {
        let page = r#"<nav>next</nav><main><h1 id="a"><a href="x > y">A  title</a></h1>
            <p>One &amp; <em>two</em>&#39;s <code>Vec&lt;T&gt;</code><!-- no > -->.</p>
            <pre><code>fn main() {}</code></pre><ul><li>first</li><li><p>second</p></li></ul>
            <table><tr><td>a</td><td>b</td></tr></table></main><script>no</script>"#;
        let expected = "A title\n\nOne & two's Vec<T>.\n\n- first\n\n- second\n\na b\n\n";
        assert_eq!(prose(page).as_deref(), Some(expected));
    }

    #[test]
    fn a_page_without_prose_is_none() {
        assert_eq!(prose("<body><p>Redirecting</p></body>"), None);
        assert_eq!(prose("<main> <br/> </main>"), None);
        assert_eq!(prose("<main>cut off <p"), None);
    }

    #[test]
    fn unknown_references_stay() {
        assert_eq!(decode("a & b &unknown; &#x41;&#66;"), "a & b &unknown; AB");
    }
}
