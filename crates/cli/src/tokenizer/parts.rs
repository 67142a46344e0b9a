//! The parts of a `tokenizer.json` between a text and its tokens, without the vocabulary.

use data::BadInput;
use serde::Deserialize;
use serde_json::Value;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::normalizers::NormalizerWrapper;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::processors::PostProcessorWrapper;
use tokenizers::{NormalizedString, Normalizer};

use super::{growth, limits, run};

/// Maximum bytes of a text after the parts. The crate `tokenizers` keeps about 200 bytes for each of them.
const MAX_TEXT: usize = 1 << 22;

/// Maximum bytes that all parts and the model look at, for which they take up to half a minute.
const MAX_WORK: f64 = (1u64 << 25) as f64;

/// How many times as long a decoder may make the text of a token.
const MAX_DECODED: f64 = 64.;

/// The file. A key that is there twice is an error here, because the crate `tokenizers` would take the last.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(default)]
    added_tokens: Vec<Added>,
    model: Value,
}

#[derive(Deserialize)]
struct Added {
    content: String,
}

/// The parts that may lengthen a text.
pub struct Parts {
    /// Each with the bytes that it makes of one, at most.
    normalizers: Vec<(NormalizerWrapper, f64)>,
    /// Bytes for each byte of the normalised text, and tokens for those.
    pre_tokenized: f64,
    processed: f64,
    /// How often the parts and the model look at each byte.
    looks: f64,
}

impl Parts {
    /// Reads the parts of `text`, and normalises the added tokens, as the crate does when it reads the file.
    ///
    /// # Errors
    /// [`BadInput`] if the parts are malformed, or lengthen an added token or the text of a token too much.
    pub fn read(file: &str, text: &str) -> Result<Self, BadInput> {
        let parsed: File = run(file, || Ok(serde_json::from_str(text)?))?;
        limits::check(
            file,
            &parsed.model,
            parsed.added_tokens.iter().map(|t| &*t.content),
        )?;
        if let Some(found) = growth::bad_charsmap(&parsed.normalizer) {
            let what = format!("{file}: `precompiled_charsmap`");
            return Err(BadInput::new(
                what,
                "base64 of a table and its texts",
                found,
            ));
        }
        let File {
            normalizer,
            pre_tokenizer,
            post_processor,
            decoder,
            added_tokens,
            model,
        } = parsed;
        limits::check_patterns(file, &[&normalizer, &pre_tokenizer, &decoder])?;
        let normalizer: Option<NormalizerWrapper> = typed(file, normalizer)?;
        let pre_tokenizer: Option<PreTokenizerWrapper> = typed(file, pre_tokenizer)?;
        let post_processor: Option<PostProcessorWrapper> = typed(file, post_processor)?;
        let decoder: Option<DecoderWrapper> = typed(file, decoder)?;
        let decoder = canonical(file, &decoder)?;
        limits::count(file, "decoders", &decoder)?;
        let decoder = growth::of_decoder(&decoder);
        if decoder > MAX_DECODED {
            let expected =
                format!("a decoder that makes a token at most {MAX_DECODED} times as long");
            return Err(BadInput::new(file, expected, format!("{decoder:.1e}")));
        }
        let pre_tokenizer = canonical(file, &pre_tokenizer)?;
        let post_processor = canonical(file, &post_processor)?;
        let parts = limits::count(file, "normalizers", &canonical(file, &normalizer)?)?
            + limits::count(file, "pre-tokenizers", &pre_tokenizer)?
            + limits::count(file, "post-processors", &post_processor)?;
        let normalizers = normalizer.map_or_else(Vec::new, flat).into_iter();
        let with_growth = |part| {
            let growth = growth::of_normalizer(&canonical(file, &Some(&part))?);
            Ok((part, growth))
        };
        let parts = Self {
            normalizers: normalizers
                .map(with_growth)
                .collect::<Result<_, BadInput>>()?,
            pre_tokenized: growth::of_pre_tokenizer(&pre_tokenizer),
            processed: growth::of_post_processor(&post_processor),
            looks: (parts + limits::looks(&model)) as f64,
        };
        let mut tokens = added_tokens.iter();
        tokens.try_for_each(|token| parts.check(file, &token.content))?;
        Ok(parts)
    }

    /// Normalises `text`, one normalizer after the other, and checks before each how long the result may be.
    ///
    /// # Errors
    /// [`BadInput`] if it may have more than 4 MiB or take minutes, or a normalizer fails.
    pub fn check(&self, file: &str, text: &str) -> Result<(), BadInput> {
        let mut normalized = NormalizedString::from(text);
        for (part, growth) in &self.normalizers {
            fits(file, normalized.get(), *growth)?;
            self.is_quick(file, normalized.get().len() as f64)?;
            run(file, || part.normalize(&mut normalized))?;
        }
        fits(file, normalized.get(), self.pre_tokenized * self.processed)?;
        self.is_quick(file, normalized.get().len() as f64 * self.pre_tokenized)
    }

    fn is_quick(&self, file: &str, bytes: f64) -> Result<(), BadInput> {
        let work = bytes * self.looks;
        if work <= MAX_WORK {
            return Ok(());
        }
        let expected =
            format!("parts and a model that look at bytes of the text at most {MAX_WORK} times");
        Err(BadInput::new(file, expected, format!("up to {work:.1e}")))
    }
}

fn fits(file: &str, text: &str, growth: f64) -> Result<(), BadInput> {
    let most = text.len() as f64 * growth;
    if most <= MAX_TEXT as f64 {
        return Ok(());
    }
    let expected = format!("a tokenizer that makes at most {MAX_TEXT} bytes of the text");
    Err(BadInput::new(file, expected, format!("up to {most:.1e}")))
}

/// A part as the crate reads it.
fn typed<T: serde::de::DeserializeOwned>(file: &str, part: Value) -> Result<T, BadInput> {
    run(file, || Ok(serde_json::from_value(part)?))
}

/// A part as the crate writes it: with the type that it has read, whatever the file says.
fn canonical<T: serde::Serialize>(file: &str, part: &Option<T>) -> Result<Value, BadInput> {
    run(file, || Ok(serde_json::to_value(part)?))
}

/// The normalizers in their order, without the sequences around them.
fn flat(normalizer: NormalizerWrapper) -> Vec<NormalizerWrapper> {
    match normalizer {
        NormalizerWrapper::Sequence(parts) => parts.into_iter().flat_map(flat).collect(),
        part => vec![part],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_takes_minutes_is_refused() {
        let splits = vec![json!({"type": "WhitespaceSplit"}); 60];
        let splits = json!({"type": "Sequence", "pretokenizers": splits});
        let file = json!({"model": {"type": "WordLevel"}, "pre_tokenizer": splits});
        let parts = Parts::read("x", &file.to_string()).unwrap();
        assert_eq!(parts.check("x", &"a ".repeat(1 << 18)), Ok(()));
        let error = parts.check("x", &"a ".repeat(1 << 19)).unwrap_err();
        assert_eq!(error.found, "up to 6.5e7");
    }
}
