//! Wraps the README's prose.

/// Maximum line width of the README's prose.
const WIDTH: usize = 130;

/// Wraps a paragraph at 130 columns; a longer word gets its own line.
pub fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.into()),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_at_most_130_columns() {
        let long = "x".repeat(150);
        let text = format!("{} {long} end", "×× ".repeat(50));
        let wrapped = wrapped(&text);
        let lines: Vec<&str> = wrapped.lines().collect();
        let widths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [128, 20, 150, 3], "{wrapped}");
        let words = |text: &str| {
            text.split_whitespace()
                .map(String::from)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&wrapped), words(&text));
    }
}
