//! Texts that resemble kernels.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Numbers at the edges of ranges.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "31",
    "32",
    "33",
    "255",
    "4096",
    "2147483647",
    "4294967295",
    "-9223372036854775808",
    "18446744073709551615",
];

/// Returns a text of the corpus with random changes; lines and words may come from other texts.
pub fn mutated(corpus: &[String], rng: &mut ChaCha8Rng) -> String {
    let any = |rng: &mut ChaCha8Rng| &corpus[rng.random_range(0..corpus.len())];
    let mut lines: Vec<String> = any(rng).lines().map(str::to_owned).collect();
    let other: Vec<&str> = any(rng).lines().collect();
    for _ in 0..rng.random_range(1..6) {
        let at = rng.random_range(0..lines.len());
        match rng.random_range(0..8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[rng.random_range(0..lines.len())].clone()),
            2 => {
                let to = rng.random_range(0..lines.len());
                lines.swap(at, to);
            }
            3 => lines.insert(at, other[rng.random_range(0..other.len())].to_owned()),
            4 | 5 => lines[at] = with_number(&lines[at], rng),
            6 => lines[at] = with_word(&lines[at], other[rng.random_range(0..other.len())], rng),
            _ => lines[at] = with_byte(&lines[at], rng),
        }
        if lines.is_empty() {
            return String::new();
        }
    }
    lines.join("\n")
}

/// Replaces a number of the line.
fn with_number(line: &str, rng: &mut ChaCha8Rng) -> String {
    let digits: Vec<(usize, &str)> = line.match_indices(|c: char| c.is_ascii_digit()).collect();
    if digits.is_empty() {
        return line.to_owned();
    }
    let start = digits[rng.random_range(0..digits.len())].0;
    let length = line[start..].bytes().take_while(u8::is_ascii_digit).count();
    let number = NUMBERS[rng.random_range(0..NUMBERS.len())];
    format!("{}{number}{}", &line[..start], &line[start + length..])
}

/// Replaces a part of the line, up to a dot, comma or space, by a part of another line.
fn with_word(line: &str, other: &str, rng: &mut ChaCha8Rng) -> String {
    let is_mark = |c: char| " .,\t[]{}".contains(c);
    let words: Vec<&str> = line.split(is_mark).filter(|w| !w.is_empty()).collect();
    let others: Vec<&str> = other.split(is_mark).filter(|w| !w.is_empty()).collect();
    if words.is_empty() || others.is_empty() {
        return line.to_owned();
    }
    let word = words[rng.random_range(0..words.len())];
    line.replacen(word, others[rng.random_range(0..others.len())], 1)
}

/// Replaces a byte.
fn with_byte(line: &str, rng: &mut ChaCha8Rng) -> String {
    let mut bytes = line.as_bytes().to_vec();
    if !bytes.is_empty() {
        let at = rng.random_range(0..bytes.len());
        bytes[at] = rng.random();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
