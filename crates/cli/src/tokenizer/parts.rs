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

/// How many times as long a decoder may make the text of a token.
const MAX_DECODED: f64 = 1024.;

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
    normalizers: Vec<NormalizerWrapper>,
    /// Bytes and tokens for each byte of the normalised text, at most.
    rest: f64,
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
            ..
        } = parsed;
        limits::check_patterns(file, &[&normalizer, &pre_tokenizer, &decoder])?;
        let normalizer: Option<NormalizerWrapper> = typed(file, normalizer)?;
        let pre_tokenizer: Option<PreTokenizerWrapper> = typed(file, pre_tokenizer)?;
        let post_processor: Option<PostProcessorWrapper> = typed(file, post_processor)?;
        let decoder: Option<DecoderWrapper> = typed(file, decoder)?;
        let decoder = growth::of_decoder(&canonical(file, &decoder)?);
        if decoder > MAX_DECODED {
            let expected =
                format!("a decoder that makes a token at most {MAX_DECODED} times as long");
            return Err(BadInput::new(file, expected, format!("{decoder:.1e}")));
        }
        let normalizers = normalizer.map_or_else(Vec::new, flat);
        if normalizers.len() > limits::MAX_NORMALIZERS {
            let expected = format!("at most {} normalizers", limits::MAX_NORMALIZERS);
            return Err(BadInput::new(file, expected, normalizers.len()));
        }
        let parts = Self {
            normalizers,
            rest: growth::of_pre_tokenizer(&canonical(file, &pre_tokenizer)?)
                * growth::of_post_processor(&canonical(file, &post_processor)?),
        };
        let mut tokens = added_tokens.iter();
        tokens.try_for_each(|token| parts.check(file, &token.content))?;
        Ok(parts)
    }

    /// Normalises `text`, one normalizer after the other, and checks before each how long the result may be.
    ///
    /// # Errors
    /// [`BadInput`] if it may have more than 4 MiB, or a normalizer fails.
    pub fn check(&self, file: &str, text: &str) -> Result<(), BadInput> {
        let mut normalized = NormalizedString::from(text);
        for part in &self.normalizers {
            let most = growth::of_normalizer(&canonical(file, &Some(part))?);
            fits(file, normalized.get(), most)?;
            run(file, || part.normalize(&mut normalized))?;
        }
        fits(file, normalized.get(), self.rest)
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
