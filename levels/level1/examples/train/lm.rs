//! The small language model: the prose of a book, in tokens of its own.

use anyhow::anyhow;
use candle_core::{Device, Tensor};
use candle_nn::{VarBuilder, loss};
use data::BadInput;
use data::corpus::Page;
use level1::Level1;
use models::Heads;
use models::lm::{Config, LanguageModel, Logits};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, Tokenizer};

use crate::optim::Hyper;
use crate::task::Task;

/// Begins every page.
pub const END_OF_TEXT: &str = "<|endoftext|>";
const VOCAB_SIZE: usize = 1024;
/// Sequences of a part of a batch.
const SHARD: usize = 1;
/// Tokens of a sequence.
const LENGTH: usize = 256;

/// The text as tokens, and the model that learns to continue it.
pub struct Lm {
    config: Config,
    tokenizer: Tokenizer,
    tokens: Vec<u32>,
}

impl Lm {
    /// Learns the tokens from the pages and cuts the pages into them.
    pub fn new(pages: &[Page]) -> anyhow::Result<Self> {
        let tokenizer = learn_tokens(pages)?;
        let mut tokens = vec![];
        for page in pages {
            tokens.extend(encode(&tokenizer, &page.text)?);
        }
        if tokens.len() <= LENGTH {
            let expected = format!("more than {LENGTH} tokens to learn from");
            return Err(BadInput::new("text", expected, tokens.len()).into());
        }
        let config = Config {
            vocab_size: tokenizer.get_vocab_size(true),
            hidden_size: 128,
            intermediate_size: 384,
            num_hidden_layers: 4,
            heads: Heads {
                num_heads: 4,
                num_kv_heads: 2,
                head_dim: 32,
            },
            rms_norm_eps: 1e-5,
            qkv_bias: false,
            rope_theta: 10000.,
            rope_scaling: None,
            max_position_embeddings: LENGTH,
            tie_word_embeddings: true,
        };
        Ok(Self {
            config,
            tokenizer,
            tokens,
        })
    }
}

/// Byte-pair encoding on bytes (Sennrich et al. 2016; Radford et al. 2019, section 2.2).
fn learn_tokens(pages: &[Page]) -> anyhow::Result<Tokenizer> {
    let mut tokenizer = Tokenizer::new(BPE::default());
    let bytes = ByteLevel::default().add_prefix_space(false);
    tokenizer.with_pre_tokenizer(Some(bytes));
    tokenizer.with_decoder(Some(bytes));
    let trainer = BpeTrainer::builder()
        .vocab_size(VOCAB_SIZE)
        .special_tokens(vec![AddedToken::from(END_OF_TEXT, true)])
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .show_progress(false)
        .build();
    let texts = pages.iter().map(|page| page.text.as_str());
    tokenizer
        .train(&mut TrainerWrapper::from(trainer), texts)
        .map_err(|e| anyhow!("tokenizer: {e}"))?;
    Ok(tokenizer)
}

/// The end-of-text token, then those of `text`.
fn encode(tokenizer: &Tokenizer, text: &str) -> anyhow::Result<Vec<u32>> {
    let first = tokenizer.token_to_id(END_OF_TEXT);
    let encoding = tokenizer
        .encode(text, false)
        .map_err(|e| anyhow!("tokenizer: {e}"))?;
    Ok(first
        .into_iter()
        .chain(encoding.get_ids().iter().copied())
        .collect())
}

impl Task for Lm {
    /// Tokens (B, T) and the token after each (B·T).
    type Shard = (Tensor, Tensor);

    const SHARDS: usize = 4;
    const STEPS: usize = 2600;

    fn name(&self) -> &'static str {
        "lm"
    }

    fn hyper(&self) -> Hyper {
        Hyper {
            learning_rate: 4e-3,
            weight_decay: 0.1,
        }
    }

    fn num_layers(&self) -> usize {
        self.config.num_hidden_layers
    }

    fn config(&self) -> Value {
        let c = &self.config;
        let end_of_text = self.tokenizer.token_to_id(END_OF_TEXT);
        json!({
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": c.vocab_size,
            "hidden_size": c.hidden_size,
            "intermediate_size": c.intermediate_size,
            "num_hidden_layers": c.num_hidden_layers,
            "num_attention_heads": c.heads.num_heads,
            "num_key_value_heads": c.heads.num_kv_heads,
            "head_dim": c.heads.head_dim,
            "hidden_act": "silu",
            "attention_bias": false,
            "mlp_bias": false,
            "rms_norm_eps": c.rms_norm_eps,
            "rope_theta": c.rope_theta,
            "max_position_embeddings": c.max_position_embeddings,
            "tie_word_embeddings": c.tie_word_embeddings,
            "bos_token_id": end_of_text,
            "eos_token_id": end_of_text,
            "torch_dtype": "bfloat16",
        })
    }

    fn inputs(&self) -> Value {
        json!({ "tokens": self.tokens.len() })
    }

    fn files(&self) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
        let tokenizer = self
            .tokenizer
            .to_string(false)
            .map_err(|e| anyhow!("tokenizer: {e}"))?;
        Ok(vec![("tokenizer.json", tokenizer.into_bytes())])
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> anyhow::Result<Self::Shard> {
        let starts = [(); SHARD].map(|_| rng.random_range(0..self.tokens.len() - LENGTH));
        let cut = |shift: usize| -> Vec<u32> {
            let window = |&start: &usize| &self.tokens[start + shift..][..LENGTH];
            starts.iter().flat_map(window).copied().collect()
        };
        Ok((
            Tensor::from_vec(cut(0), (SHARD, LENGTH), &Device::Cpu)?,
            Tensor::new(cut(1), &Device::Cpu)?,
        ))
    }

    fn loss(&self, weights: VarBuilder, (ids, next): &Self::Shard) -> candle_core::Result<Tensor> {
        let model = LanguageModel::load(weights, &self.config)?;
        let (b, t) = ids.dims2()?;
        let mut caches = model.new_caches(&Level1, b, t)?;
        let logits = model.forward(&Level1, ids, &mut caches, Logits::All)?; // (B, T, V)
        loss::cross_entropy(&logits.flatten_to(1)?, next)
    }
}
