//! Included methods come with the indentation of their `impl`; on a page it only costs width.

/// Takes the indentation that all lines of a fenced code block share away from them.
pub fn dedent_code(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut block: Option<Vec<&str>> = None;
    for line in markdown.split_inclusive('\n') {
        let fence = line.starts_with("```");
        match (&mut block, fence) {
            (Some(lines), false) => lines.push(line),
            (Some(lines), true) => {
                push_dedented(&mut text, lines);
                text.push_str(line);
                block = None;
            }
            (None, _) => {
                text.push_str(line);
                block = fence.then(Vec::new);
            }
        }
    }
    block.iter().flatten().for_each(|line| text.push_str(line));
    text
}

/// `code` without the indentation that its lines share.
pub fn dedent(code: &str) -> String {
    let mut text = String::with_capacity(code.len());
    push_dedented(&mut text, &code.split_inclusive('\n').collect::<Vec<_>>());
    text
}

fn push_dedented(text: &mut String, lines: &[&str]) {
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let shared = filled.map(indent).min().unwrap_or(0);
    for line in lines {
        text.push_str(line.get(shared..).unwrap_or("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::dedent_code;

    #[test]
    fn only_what_the_lines_of_a_block_share() {
        let markdown = "a\n\n```rust\n    fn f() {\n\n        1\n    }\n```\n    b\n```\n c\n";
        let expected = "a\n\n```rust\nfn f() {\n\n    1\n}\n```\n    b\n```\n c\n";
        assert_eq!(dedent_code(markdown), expected);
    }
}
