//! How many bytes a part of a tokenizer makes of one, at most.

use serde_json::Value;

/// Bytes of a normalised text for each byte before. [Unicode's FAQ](https://www.unicode.org/faq/normalization) gives
/// 3 for NFC and NFD and 11 for NFKC and NFKD, in UTF-8.
pub fn of_normalizer(part: &Value) -> f64 {
    match kind(part) {
        "" | "Nmt" | "Strip" | "StripAccents" => 1.,
        "Lowercase" | "ByteLevel" => 2.,
        "NFC" | "NFD" => 3.,
        // Accents are decomposed, and a Chinese character gets a space on both sides.
        "BertNormalizer" => 5.,
        "NFKC" | "NFKD" => 11.,
        "Prepend" => 1. + length(&part["prepend"]),
        "Replace" => of_replace(part),
        "Precompiled" => longest_of_charsmap(&part["precompiled_charsmap"]),
        _ => f64::INFINITY,
    }
}

/// The same of the parts that split a text.
pub fn of_pre_tokenizer(part: &Value) -> f64 {
    match kind(part) {
        "Sequence" => product(&part["pretokenizers"], of_pre_tokenizer),
        // A space before each word, and two bytes for most of those that are not ASCII.
        "ByteLevel" => 4.,
        // A character of up to four bytes before each word, and in place of a space.
        "Metaspace" => 8.,
        "" | "BertPreTokenizer" | "CharDelimiterSplit" | "Digits" | "FixedLength"
        | "Punctuation" | "Split" | "UnicodeScripts" | "Whitespace" | "WhitespaceSplit" => 1.,
        _ => f64::INFINITY,
    }
}

/// Tokens for each token.
pub fn of_post_processor(part: &Value) -> f64 {
    match kind(part) {
        "Sequence" => product(&part["processors"], of_post_processor),
        "TemplateProcessing" => of_template(part).max(1.),
        // A token on each side.
        "BertProcessing" | "RobertaProcessing" => 3.,
        "" | "ByteLevel" => 1.,
        _ => f64::INFINITY,
    }
}

/// Bytes of a text for each byte of its tokens.
pub fn of_decoder(part: &Value) -> f64 {
    match kind(part) {
        "Sequence" => product(&part["decoders"], of_decoder),
        "Replace" => of_replace(part),
        // A space for a prefix, a suffix, or a character.
        "WordPiece" | "CTC" => 2.,
        "" | "BPEDecoder" | "ByteLevel" | "Metaspace" | "Fuse" | "Strip" | "ByteFallback" => 1.,
        _ => f64::INFINITY,
    }
}

/// Describes what is wrong with a `precompiled_charsmap` anywhere in `normalizer`: the crate reserves memory for as
/// many numbers as the first one says.
pub fn bad_charsmap(normalizer: &Value) -> Option<String> {
    match normalizer {
        Value::Object(object) => {
            let own = object.get("precompiled_charsmap");
            let own = own.and_then(|map| texts_of_charsmap(map).err());
            own.or_else(|| object.values().find_map(bad_charsmap))
        }
        Value::Array(parts) => parts.iter().find_map(bad_charsmap),
        _ => None,
    }
}

/// The texts of a charsmap, which follow the size of its table in bytes and the table.
fn texts_of_charsmap(map: &Value) -> Result<Vec<u8>, String> {
    let text = map.as_str().ok_or_else(|| data::short(map))?;
    let bytes = base64::decode(text).map_err(|e| e.to_string())?;
    let (size, rest) = bytes
        .split_first_chunk()
        .ok_or_else(|| format!("{} bytes", bytes.len()))?;
    let size = u32::from_le_bytes(*size) as usize;
    match rest.get(size..) {
        Some(texts) => Ok(texts.to_vec()),
        None => Err(format!("a table of {size} bytes in {}", rest.len())),
    }
}

fn longest_of_charsmap(map: &Value) -> f64 {
    texts_of_charsmap(map).map_or(f64::INFINITY, |texts| {
        let lengths = texts.split(|byte| *byte == 0).map(<[u8]>::len);
        lengths.max().unwrap_or(0).max(1) as f64
    })
}

/// A match may be empty for a regular expression, and has at least one byte for a string.
fn of_replace(part: &Value) -> f64 {
    let content = length(&part["content"]);
    match length(&part["pattern"]["String"]) {
        0. => 1. + content,
        pattern => (content / pattern).max(1.),
    }
}

fn of_template(part: &Value) -> f64 {
    let pieces = part["single"].as_array().map_or(&[][..], Vec::as_slice);
    let tokens = |piece: &Value| match piece["SpecialToken"]["id"].as_str() {
        Some(id) => part["special_tokens"][id]["ids"]
            .as_array()
            .map_or(0., |ids| ids.len() as f64),
        None => 1.,
    };
    pieces.iter().map(tokens).sum()
}

fn product(parts: &Value, of: impl Fn(&Value) -> f64) -> f64 {
    parts.as_array().into_iter().flatten().map(of).product()
}

/// The type of a part, and nothing for none.
fn kind(part: &Value) -> &str {
    part["type"].as_str().unwrap_or_default()
}

fn length(text: &Value) -> f64 {
    text.as_str().map_or(0., |text| text.len() as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn replace(pattern: Value, content: &str) -> Value {
        json!({"type": "Replace", "pattern": pattern, "content": content})
    }

    #[test]
    fn tokenizers_of_models_hardly_lengthen_a_text() {
        // Llama 2, Gemma and Qwen2.
        assert_eq!(of_normalizer(&replace(json!({"String": " "}), "▁")), 3.);
        assert_eq!(of_decoder(&replace(json!({"String": "▁"}), " ")), 1.);
        let split = json!({"type": "Sequence", "pretokenizers": [{"type": "Split"}, {"type": "ByteLevel"}]});
        assert_eq!(of_pre_tokenizer(&split), 4.);
        assert_eq!(of_normalizer(&Value::Null), 1.);
        let template = json!({
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
            "special_tokens": {"<s>": {"ids": [1]}},
        });
        assert_eq!(of_post_processor(&template), 2.);
    }

    #[test]
    fn a_chain_multiplies() {
        let twenty = replace(json!({"Regex": "."}), &"a".repeat(20));
        let chain = json!({"type": "Sequence", "decoders": vec![twenty; 3]});
        assert_eq!(of_decoder(&chain), 21f64.powi(3));
        let bytes =
            json!({"type": "Sequence", "pretokenizers": vec![json!({"type": "ByteLevel"}); 30]});
        assert_eq!(of_pre_tokenizer(&bytes), 4f64.powi(30));
        assert_eq!(of_normalizer(&json!({"type": "New"})), f64::INFINITY);
    }

    #[test]
    fn a_charsmap_has_the_table_that_it_announces() {
        let map = |bytes: &[u8]| json!({"precompiled_charsmap": base64::encode(bytes)});
        let whole = map(b"\x04\0\0\0tabla\0bcd\0");
        assert_eq!(bad_charsmap(&json!([whole])), None);
        assert_eq!(longest_of_charsmap(&whole["precompiled_charsmap"]), 3.);
        for bytes in [&b""[..], b"\0\0\0", b"\xff\xff\xff\xff", b"\x05\0\0\0tabl"] {
            assert!(bad_charsmap(&json!({"normalizers": [map(bytes)]})).is_some());
        }
        assert!(bad_charsmap(&json!({"precompiled_charsmap": 3})).is_some());
    }
}
