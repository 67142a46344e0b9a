//! Tokenisation of text and back.

use data::BadInput;
use models::LanguageModel;

use crate::load::Loaded;
use crate::tokenizer::TextTokenizer;

/// The tokenisation of a model.
pub enum Text {
    /// The `tokenizer.json` of the model's folder.
    Tokenizer(Box<TextTokenizer>),
    /// A preset has no tokenizer: its prompt is read as bytes, and its tokens are printed as numbers.
    Bytes,
}

/// Tokens of the prompt that decide about a space after it.
const CONTEXT: usize = 16;

/// Maximum number of tokens that are held: all are decoded again for each new one.
const MAX_HELD: usize = 64;

/// Turns each new token into the text it completes.
type Step<'a> = Box<dyn FnMut(u32) -> Result<Option<String>, BadInput> + 'a>;

/// A stream of new text; before the end, it has only complete characters.
pub struct Stream<'a> {
    text: &'a Text,
    step: Step<'a>,
    /// Tokens whose bytes do not form complete characters yet.
    held: Vec<u32>,
}

impl Stream<'_> {
    /// Returns the text that `token` completes, which is often empty.
    pub fn push(&mut self, token: u32) -> Result<String, BadInput> {
        if let Some(text) = (self.step)(token)? {
            self.held.clear();
            return Ok(text);
        }
        self.held.push(token);
        match self.text {
            Text::Tokenizer(tokenizer) if self.held.len() >= MAX_HELD => {
                self.step = Box::new(tokenizer.steps());
                tokenizer.decode(&std::mem::take(&mut self.held))
            }
            _ => Ok(String::new()),
        }
    }

    /// Returns the remaining text, with U+FFFD for bytes that form no complete character.
    pub fn end(self) -> Result<String, BadInput> {
        match self.text {
            Text::Bytes => Ok(String::new()),
            Text::Tokenizer(tokenizer) => tokenizer.decode(&self.held),
        }
    }
}

impl Text {
    /// The tokenisation of a loaded model.
    pub fn open(loaded: &Loaded<LanguageModel>) -> Result<Self, BadInput> {
        match &loaded.folder {
            Some(folder) => TextTokenizer::open(&folder.join("tokenizer.json"))
                .map(|tokenizer| Self::Tokenizer(Box::new(tokenizer))),
            None => Ok(Self::Bytes),
        }
    }

    /// Returns the tokens of `prompt`, all below `vocab_size`.
    pub fn encode(&self, prompt: &str, vocab_size: usize) -> Result<Vec<u32>, BadInput> {
        let ids: Vec<u32> = match self {
            Self::Bytes => prompt.bytes().map(u32::from).collect(),
            Self::Tokenizer(tokenizer) => tokenizer.encode(prompt, true, vocab_size)?,
        };
        let unknown = ids.iter().find(|id| **id as usize >= vocab_size);
        match unknown {
            _ if ids.is_empty() => Err(BadInput::new("--prompt", "at least one token", "none")),
            Some(id) => {
                let expected = format!("tokens below {vocab_size}, the model's vocab_size");
                Err(BadInput::new("--prompt", expected, id))
            }
            None => Ok(ids),
        }
    }

    /// Starts a stream of text that continues `prompt`, with the same handling of spaces.
    pub fn stream(&self, prompt: &[u32]) -> Result<Stream<'_>, BadInput> {
        let step: Step = match self {
            Self::Bytes => Box::new(|token| Ok(Some(format!(" {token}")))),
            Self::Tokenizer(tokenizer) => {
                let mut step = tokenizer.steps();
                let last = &prompt[prompt.len().saturating_sub(CONTEXT)..];
                last.iter().try_for_each(|&token| step(token).map(drop))?;
                Box::new(step)
            }
        };
        Ok(Stream {
            text: self,
            step,
            held: vec![],
        })
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::files;
    use crate::load::{self, Request};

    fn golden(name: &str) -> anyhow::Result<Loaded<LanguageModel>> {
        let folder = files::find(&format!("tests/goldens/{name}"))?;
        Ok(load::lm(&Request {
            model: folder.display().to_string(),
            dtype: DType::F32,
            device: Device::Cpu,
            seed: 0,
        })?)
    }

    /// The snowman has three bytes. After two of them, the incomplete character appears only at the end.
    #[test]
    fn bytes_of_no_complete_character_are_shown_at_the_end() -> anyhow::Result<()> {
        let loaded = golden("lm-tied-gqa")?;
        let text = Text::open(&loaded)?;
        let vocab_size = loaded.model.config().vocab_size;
        let snowman = text.encode("☃", vocab_size)?;
        assert_eq!(snowman.len(), 3, "one token per byte: {snowman:?}");
        let prompt = text.encode("a", vocab_size)?;
        for (tokens, shown, at_end) in [(&snowman[..], "☃", ""), (&snowman[..2], "", "\u{fffd}")]
        {
            let mut stream = text.stream(&prompt)?;
            let pieces: Result<String, BadInput> = tokens.iter().map(|&t| stream.push(t)).collect();
            assert_eq!(pieces?, shown);
            assert_eq!(stream.end()?, at_end);
        }
        Ok(())
    }

    #[test]
    fn tokens_without_text_are_not_held_for_ever() -> anyhow::Result<()> {
        let loaded = golden("lm-tied-gqa")?;
        let text = Text::open(&loaded)?;
        let first = text.encode("☃", loaded.model.config().vocab_size)?[0];
        let mut stream = text.stream(&vec![first; 100_000])?;
        let shown: Result<String, BadInput> = (0..=MAX_HELD).map(|_| stream.push(first)).collect();
        assert_eq!(shown?, "\u{fffd}".repeat(MAX_HELD));
        assert_eq!(stream.end()?, "\u{fffd}");
        Ok(())
    }

    /// Byte-level BPE as in GPT-2, Llama 3 and Qwen2, checked against the Python package `tokenizers`.
    #[test]
    fn text_becomes_the_tokens_of_transformers() -> anyhow::Result<()> {
        for golden in ["lm-tied-gqa", "lm-llama3", "lm-qwen2"] {
            let folder = files::find(&format!("tests/goldens/{golden}"))?;
            let loaded = self::golden(golden)?;
            let text = Text::open(&loaded)?;
            let pairs = std::fs::read_to_string(folder.join("text.json"))?;
            let pairs: Vec<serde_json::Value> = serde_json::from_str(&pairs)?;
            assert!(!pairs.is_empty());
            for pair in pairs {
                let vocab_size = loaded.model.config().vocab_size;
                let ids = text.encode(pair["text"].as_str().unwrap(), vocab_size)?;
                assert_eq!(serde_json::json!(ids), pair["ids"], "{golden}: {pair}");
            }
        }
        Ok(())
    }
}
