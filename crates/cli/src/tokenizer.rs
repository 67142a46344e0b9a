//! `tokenizer.json` of a stranger: for some files the crate `tokenizers` panics, for others it takes all the memory.
//!
//! A panic becomes one line, and a text that the file's parts may lengthen too much is refused before they run:
//! see `Parts`.

mod growth;
mod limits;
mod parts;

use std::fmt::Display;
use std::path::Path;

use data::BadInput;
use tokenizers::Tokenizer;

use crate::exit::caught;
use parts::Parts;

/// Maximum bytes of a file. The largest vocabularies, of 256,000 tokens with their merges, take 35 MB.
const MAX_FILE: u64 = 1 << 26;

/// A tokenizer, and where it is from.
pub struct TextTokenizer {
    tokenizer: Tokenizer,
    parts: Parts,
    file: String,
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`. Its padding and truncation were for training rows, and are left out.
    ///
    /// # Errors
    /// [`BadInput`] if the file is missing or malformed, if the crate `tokenizers` panics for it, or if its parts
    /// lengthen a text without measure.
    pub fn open(path: &Path) -> Result<Self, BadInput> {
        let file = path.display().to_string();
        if !data::is_there(path) {
            let found = "no such file (a text prompt needs it)";
            return Err(BadInput::new(file, "a Hugging Face tokenizer", found));
        }
        let text = data::read_text_file(path, MAX_FILE)?;
        let json = |e| BadInput::new(&file, "a Hugging Face tokenizer", e);
        data::unique_keys(text.as_bytes()).map_err(json)?;
        // Before the crate reads the file, because it normalises the added tokens then.
        let parts = Parts::read(&file, &text)?;
        let tokenizer = run(&file, || {
            let mut tokenizer = Tokenizer::from_bytes(text.as_bytes())?;
            tokenizer.with_padding(None).with_truncation(None)?;
            Ok(tokenizer)
        })?;
        Ok(Self {
            tokenizer,
            parts,
            file,
        })
    }

    /// Returns the tokens of `text`, all below `vocab_size`, with those that the file puts around a text if `whole`.
    ///
    /// # Errors
    /// [`BadInput`] for another token, or if the file has none for the text, or would lengthen it too much.
    pub fn encode(&self, text: &str, whole: bool, vocab_size: usize) -> Result<Vec<u32>, BadInput> {
        self.parts.check(&self.file, text)?;
        let encoding = run(&self.file, || self.tokenizer.encode(text, whole))?;
        let ids = encoding.get_ids();
        match ids.iter().find(|id| **id as usize >= vocab_size) {
            None if ids.is_empty() && !text.is_empty() => {
                let found = format!("none for a text of {} bytes", text.len());
                Err(BadInput::new(&self.file, "at least one token", found))
            }
            None => Ok(ids.to_vec()),
            Some(id) => {
                let expected = format!("tokens below {vocab_size}, the model's vocab_size");
                Err(BadInput::new(&self.file, expected, id))
            }
        }
    }

    /// Returns the text of `tokens`, without special tokens, and with U+FFFD for bytes of no complete character.
    ///
    /// # Errors
    /// [`BadInput`] if the file's decoder fails.
    pub fn decode(&self, tokens: &[u32]) -> Result<String, BadInput> {
        run(&self.file, || self.tokenizer.decode(tokens, true))
    }

    /// Returns what turns each token into the text that it completes, `None` within a character.
    ///
    /// # Errors
    /// The function's: see [`Self::decode`].
    pub fn steps(&self) -> impl FnMut(u32) -> Result<Option<String>, BadInput> {
        let mut decoder = self.tokenizer.decode_stream(true);
        move |token| run(&self.file, || decoder.step(token))
    }

    /// Returns the number of a token.
    pub fn token(&self, text: &str) -> Option<u32> {
        self.tokenizer.token_to_id(text)
    }
}

/// Runs a function of the crate; its error or panic is about `file`.
fn run<T>(file: &str, f: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, BadInput> {
    let bad = |found: &dyn Display| BadInput::new(file, "a Hugging Face tokenizer", found);
    match caught(f) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(bad(&data::short(error))),
        Err(panic) => Err(bad(&format!(
            "one that the crate `tokenizers` cannot run ({})",
            data::short(panic)
        ))),
    }
}
