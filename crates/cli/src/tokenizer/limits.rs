//! Sizes of a tokenizer's parts, beyond which the crate `tokenizers` takes hours or all the memory, or overflows the stack.

use data::BadInput;
use serde_json::Value;

/// Maximum number of parts of a kind: each goes over the whole text.
const MAX_PARTS: usize = 64;

/// Maximum bytes of a token: the crate descends once per byte of a Unigram token.
const MAX_TOKEN: usize = 1024;

/// Maximum bytes of a Unigram vocabulary: the crate takes up to 300 bytes of memory for each.
const MAX_UNIGRAM: usize = 1 << 22;

/// Maximum number of patterns, and of their bytes: each may take 10 MB and half a second.
const MAX_PATTERNS: usize = 16;
const MAX_PATTERN_BYTES: usize = 1 << 14;

/// Maximum number of added tokens, and of their bytes: the crate makes an automaton of them.
const MAX_ADDED: usize = 1 << 16;
const MAX_ADDED_BYTES: usize = 1 << 20;

/// Maximum characters of a word: the work of WordPiece grows with their square. BERT has 100.
const MAX_WORD: u64 = 200;

/// Checks the model of a `tokenizer.json` and its added tokens.
///
/// # Errors
/// [`BadInput`] that names the part.
pub fn check<'a>(
    file: &str,
    model: &Value,
    added: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), BadInput> {
    let at_most = |what: &str, most, found| at_most(file, what, most, found);
    at_most("number of `added_tokens`", MAX_ADDED, added.clone().count())?;
    let bytes = added.clone().map(str::len).sum();
    at_most("bytes of all `added_tokens`", MAX_ADDED_BYTES, bytes)?;
    let lengths = || tokens(model).map(str::len);
    let longest = lengths().max().unwrap_or(0);
    at_most("bytes of a token of `vocab`", MAX_TOKEN, longest)?;
    if model["vocab"].is_array() {
        let what = "bytes of all tokens of a Unigram `vocab`";
        at_most(what, MAX_UNIGRAM, lengths().sum())?;
    }
    match model["max_input_chars_per_word"].as_u64() {
        Some(found) if found > MAX_WORD => {
            let what = format!("{file}: `max_input_chars_per_word`");
            Err(BadInput::new(what, format!("at most {MAX_WORD}"), found))
        }
        _ => Ok(()),
    }
}

/// How often the model looks at each byte of a text, at most. A BPE merges bytes in a queue.
pub fn looks(model: &Value) -> usize {
    let longest = tokens(model).map(str::len).max().unwrap_or(0);
    match model["type"].as_str() {
        Some("BPE" | "WordLevel") => 1,
        Some("Unigram") => longest,
        _ => longest.max(MAX_WORD as usize),
    }
}

/// Returns the number of parts in `part`, sequences too.
///
/// # Errors
/// If there are too many.
pub fn count(file: &str, what: &str, part: &Value) -> Result<usize, BadInput> {
    let found = typed(part);
    at_most(file, &format!("number of {what}"), MAX_PARTS, found).map(|()| found)
}

fn typed(part: &Value) -> usize {
    match part {
        Value::Object(object) => {
            let own = object.get("type").is_some_and(Value::is_string);
            usize::from(own) + object.values().map(typed).sum::<usize>()
        }
        Value::Array(parts) => parts.iter().map(typed).sum(),
        _ => 0,
    }
}

/// Checks the patterns in parts of a `tokenizer.json`, before the crate compiles them. A string is compiled, too.
///
/// # Errors
/// [`BadInput`] if there are too many, or they are too long.
pub fn check_patterns(file: &str, parts: &[&Value]) -> Result<(), BadInput> {
    let mut lengths = vec![];
    parts.iter().for_each(|part| patterns(part, &mut lengths));
    at_most(file, "number of patterns", MAX_PATTERNS, lengths.len())?;
    let bytes = lengths.iter().sum();
    at_most(file, "bytes of all patterns", MAX_PATTERN_BYTES, bytes)
}

/// The bytes of each pattern in `part`.
fn patterns(part: &Value, lengths: &mut Vec<usize>) {
    match part {
        Value::Object(object) => {
            let own = ["Regex", "String"].map(|kind| object.get(kind).and_then(Value::as_str));
            lengths.extend(own.into_iter().flatten().map(str::len));
            object.values().for_each(|part| patterns(part, lengths));
        }
        Value::Array(parts) => parts.iter().for_each(|part| patterns(part, lengths)),
        _ => {}
    }
}

fn at_most(file: &str, what: &str, most: usize, found: usize) -> Result<(), BadInput> {
    if found <= most {
        return Ok(());
    }
    let what = format!("{file}: {what}");
    Err(BadInput::new(what, format!("at most {most}"), found))
}

/// The tokens of a vocabulary: keys of an object or, for Unigram, the first of each pair.
fn tokens(model: &Value) -> impl Iterator<Item = &str> {
    let vocab = &model["vocab"];
    let keys = vocab.as_object().into_iter().flatten();
    let pairs = vocab.as_array().into_iter().flatten();
    keys.map(|(token, _)| &**token)
        .chain(pairs.filter_map(|pair| pair[0].as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_that_the_crate_cannot_take_are_refused() {
        let refused = |model: Value, added: &[&str]| {
            let checked = check("t.json", &model, added.iter().copied());
            checked.map_or_else(|e| e.to_string(), |()| String::new())
        };
        let (long, fine) = ("a".repeat(10_000), "a".repeat(MAX_TOKEN));
        assert_eq!(refused(json!({"vocab": [[fine, -1.0]]}), &[&fine]), "");
        let expected = "t.json: bytes of a token of `vocab`: expected at most 1024, found 10000";
        assert_eq!(refused(json!({"vocab": [[long, -1.0]]}), &[]), expected);
        assert_eq!(refused(json!({"vocab": {long: 3}}), &[]), expected);
        let much = json!({"vocab": vec![json!([fine, -1.0]); 1 + MAX_UNIGRAM / MAX_TOKEN]});
        let expected = "t.json: bytes of all tokens of a Unigram `vocab`: expected at most 4194304, found 4195328";
        assert_eq!(refused(much, &[]), expected);
        let word = json!({"vocab": {}, "max_input_chars_per_word": 1_000_000});
        let expected = "t.json: `max_input_chars_per_word`: expected at most 200, found 1000000";
        assert_eq!(refused(word, &[]), expected);
        let many = vec!["ab"; MAX_ADDED + 1];
        assert!(refused(json!({}), &many).contains("`added_tokens`: expected at most 65536"));
        let much = [&*"a".repeat(MAX_ADDED_BYTES), "b"];
        assert!(refused(json!({}), &much).contains("bytes of all"));
    }

    #[test]
    fn parts_and_patterns_are_counted() {
        let split = json!({"type": "Split", "pattern": {"String": "b"}});
        let chain = |n| json!({"type": "Sequence", "parts": vec![&split; n]});
        assert_eq!(count("x", "parts", &chain(63)), Ok(64));
        assert!(count("x", "parts", &chain(64)).is_err());
        let patterns = |n| check_patterns("x", &[&chain(8), &chain(n)]);
        assert!(patterns(8).is_ok() && patterns(9).is_err());
    }
}
