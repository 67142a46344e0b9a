//! Changes of an input, without knowledge of its format.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Words at which readers of texts and of binary files tend to go wrong.
const WORDS: [&[u8]; 24] = [
    b"0",
    b"-1",
    b"4294967296",
    b"18446744073709551615",
    b"9223372036854775807",
    b"1e999",
    b"NaN",
    b"-inf",
    b"null",
    b"{}",
    b"[]",
    b"[[[[[[[[[[[[[[[[",
    b"\"",
    b"\\",
    b"\n",
    b",",
    b"\xef\xbb\xbf",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    "ﬁ".as_bytes(),
    b"\x1b[2J",
    b"true",
    b"../../../etc/passwd",
];

/// Returns one of `seeds` with a few changes.
pub fn mutated(seeds: &[Vec<u8>], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let below = |rng: &mut ChaCha8Rng, n: usize| rng.random_range(0..n.max(1));
    let mut bytes = seeds[below(rng, seeds.len())].clone();
    for _ in 0..1 + below(rng, 6) {
        let at = below(rng, bytes.len());
        let len = below(rng, 40).min(bytes.len() - at);
        match below(rng, 8) {
            0 => drop(bytes.drain(at..at + len)),
            1 => {
                let piece = bytes[at..at + len].to_vec();
                let times = 1 + below(rng, 4);
                bytes.splice(at..at, piece.repeat(times));
            }
            2 if !bytes.is_empty() => bytes[at] ^= 1 << below(rng, 8),
            3 if !bytes.is_empty() => bytes[at] = rng.random(),
            4 => {
                // A number in a text, or part of one.
                let digits = bytes[at..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                bytes.splice(at..at + digits, WORDS[below(rng, 8)].iter().copied());
            }
            5 => {
                let other = &seeds[below(rng, seeds.len())];
                let from = below(rng, other.len());
                let piece = other[from..].iter().take(1 + below(rng, 200)).copied();
                bytes.splice(at..at + len, piece);
            }
            6 => bytes.truncate(at),
            _ => {
                let word = WORDS[below(rng, WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }
    bytes
}
