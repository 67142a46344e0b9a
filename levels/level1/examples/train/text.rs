//! Text into the language model and out of it: the corpus, bits per byte, samples.

use std::path::Path;

use candle_core::{Device, Tensor};
use candle_nn::ops::log_softmax;
use cli::tokenizer::TextTokenizer;
use data::BadInput;
use data::corpus::{self, Page};
use indicatif::ProgressBar;
use level1::Level1;
use models::lm::Logits;
use models::{LanguageModel, Ops, Sampling, Scores};

use crate::lm::END_OF_TEXT;

/// Prompt of samples.
const PROMPT: &str = "Ownership is";
/// Tokens of a sample.
const SAMPLE: usize = 120;
/// A text file is cut into pages of about this many bytes.
const PAGE: usize = 4000;

/// Pages to train on and pages held out: of `file`, or of the Rust book.
pub fn pages(file: Option<&Path>) -> Result<(Vec<Page>, Vec<Page>), BadInput> {
    let Some(file) = file else {
        return Ok(corpus::split(
            corpus::rust_book(&corpus::find_rust_book()?)?,
        ));
    };
    let text = data::read_text(file)?;
    let (train, held_out) = corpus::split(cut(&text));
    if train.is_empty() || held_out.is_empty() {
        let expected = format!("at least about 20 pages of {PAGE} bytes in whole lines");
        let found = format!("{} in {} bytes", train.len() + held_out.len(), text.len());
        Err(BadInput::new(file.display(), expected, found))
    } else {
        Ok((train, held_out))
    }
}

/// Whole lines, until a page is full.
fn cut(text: &str) -> Vec<Page> {
    let mut pages: Vec<Page> = vec![];
    for line in text.split_inclusive('\n') {
        match pages.last_mut() {
            Some(page) if page.text.len() < PAGE => page.text.push_str(line),
            _ => pages.push(Page {
                name: format!("page {}", pages.len()),
                text: line.to_string(),
            }),
        }
    }
    pages
}

/// −Σ log₂ p(token | those before it in the page, at least half a context) / bytes.
pub fn bits_per_byte(
    model: &LanguageModel,
    tokenizer: &TextTokenizer,
    pages: &[Page],
    name: &str,
) -> anyhow::Result<f64> {
    let tokens = |page: &Page| encode(model, tokenizer, &page.text);
    let tokens: Vec<Vec<u32>> = pages.iter().map(tokens).collect::<Result<_, _>>()?;
    let config = model.config();
    let longest = tokens.iter().map(Vec::len).max().unwrap_or(0);
    let size = [1, longest.min(config.max_position_embeddings)];
    config.check_pass(name, size, 0, Logits::All, Scores::Held)?;
    let bar = ProgressBar::new(pages.len() as u64);
    bar.set_style(crate::run::style(
        "lm eval {wide_bar} {pos}/{len} pages ETA {eta}",
    ));
    let mut nats = 0.;
    for tokens in &tokens {
        nats += nats_of(model, tokens)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let bytes: usize = pages.iter().map(|page| page.text.len()).sum();
    Ok(nats / std::f64::consts::LN_2 / bytes as f64)
}

/// −Σ ln p(tokens[i] | tokens before i) for i ≥ 1, in windows of a whole context that overlap by half.
fn nats_of(model: &LanguageModel, tokens: &[u32]) -> candle_core::Result<f64> {
    let context = model.config().max_position_embeddings;
    let (mut nats, mut known) = (0., 1);
    while known < tokens.len() {
        let start = match known {
            1 => 0,
            _ => known - context.div_ceil(2),
        };
        let end = tokens.len().min(start + context + 1);
        let ids = Tensor::new(&tokens[start..end - 1], &Device::Cpu)?.unsqueeze(0)?; // (1, T)
        let mut caches = model.new_caches(&Level1, 1, context)?;
        let logits = model
            .forward(&Level1, &ids, &mut caches, Logits::All)?
            .squeeze(0)?; // (T, V)
        let logits = logits.narrow(0, known - start - 1, end - known)?;
        let next = Tensor::new(&tokens[known..end], &Device::Cpu)?.unsqueeze(1)?;
        let log_p = log_softmax(&logits, 1)?.gather(&next, 1)?;
        nats -= f64::from(log_p.sum_all()?.to_scalar::<f32>()?);
        known = end;
    }
    Ok(nats)
}

/// Text that the model writes after [`PROMPT`], and how it was drawn.
pub fn samples(
    model: &LanguageModel,
    tokenizer: &TextTokenizer,
    name: &str,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let draws = [
        ("greedy", Sampling::greedy()),
        (
            "temperature 0.8, top-k 40",
            Sampling::new(0.8, Some(40), None, 1),
        ),
    ];
    let write = |(how, mut sampling)| Ok((how, sample(model, tokenizer, name, &mut sampling)?));
    draws.into_iter().map(write).collect()
}

fn sample(
    model: &LanguageModel,
    tokenizer: &TextTokenizer,
    name: &str,
    sampling: &mut Sampling,
) -> anyhow::Result<String> {
    let end = tokenizer.token(END_OF_TEXT);
    let mut tokens = encode(model, tokenizer, PROMPT)?;
    let size = [1, tokens.len()];
    (model.config()).check_pass(name, size, SAMPLE, Logits::Last, Scores::Held)?;
    let mut caches = model.new_caches(&Level1, 1, tokens.len() + SAMPLE)?;
    let mut new = tokens.clone();
    for _ in 0..SAMPLE {
        let ids = Tensor::new(new.as_slice(), &Device::Cpu)?.unsqueeze(0)?; // (1, T)
        let logits = model.forward(&Level1, &ids, &mut caches, Logits::Last)?;
        let next = Level1.next_token(&logits.flatten_all()?, sampling)?;
        if Some(next) == end {
            break;
        }
        tokens.push(next);
        new = vec![next];
    }
    Ok(tokenizer.decode(&tokens)?)
}

/// The end-of-text token, then those of `text`.
fn encode(
    model: &LanguageModel,
    tokenizer: &TextTokenizer,
    text: &str,
) -> Result<Vec<u32>, BadInput> {
    let first = tokenizer.token(END_OF_TEXT);
    let rest = tokenizer.encode(text, false, model.config().vocab_size)?;
    Ok(first.into_iter().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole_lines_and_lose_nothing() {
        let text: String = (0..3000).map(|i| format!("line {i}\n")).collect();
        let pages = cut(&text);
        assert!(pages.len() > 3);
        assert!(pages.iter().all(|page| page.text.ends_with('\n')));
        let joined: String = pages.iter().map(|page| page.text.as_str()).collect();
        assert_eq!(joined, text);
    }

    #[test]
    fn a_short_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "too short\n").unwrap();
        let error = pages(Some(file.path())).unwrap_err().to_string();
        assert!(error.ends_with("found 1 in 10 bytes"), "{error}");
    }
}
