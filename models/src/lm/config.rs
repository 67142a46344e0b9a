//! `config.json` of a language model: Llama's and Qwen2's.

use data::{BadInput, short};
use serde_json::Value;

use super::Logits;
use crate::config::ConfigFile;
use crate::largest::{self, MAX_ELEMENTS, Size};
use crate::rope::Llama3Scaling;
use crate::{Heads, Scores};

/// The architecture's numbers, as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// V: tokens in the vocabulary.
    pub vocab_size: usize,
    /// C: channels of a token.
    pub hidden_size: usize,
    /// F: channels inside the MLP.
    pub intermediate_size: usize,
    /// Blocks.
    pub num_hidden_layers: usize,
    /// H, Hkv and D.
    pub heads: Heads,
    /// Whether queries, keys and values have a bias, as in Qwen2.
    pub qkv_bias: bool,
    /// Inside the square root of every RMSNorm.
    pub rms_norm_eps: f64,
    /// Base of the rotary angles.
    pub rope_theta: f64,
    /// How the rotary angles are stretched for a context longer than the one first trained on.
    pub rope_scaling: Option<Llama3Scaling>,
    /// Maximum number of positions.
    pub max_position_embeddings: usize,
    /// Whether the head is the embedding.
    pub tie_word_embeddings: bool,
}

/// The longest context: the rotary angles of every position are computed at load.
const MAX_POSITIONS: usize = 1 << 22;

/// The largest number of positions times head dimension, for which the angles take 800 MB while they are computed.
/// Qwen2.5's context of a million tokens fits.
const MAX_ANGLES: usize = 1 << 27;

/// The class and the `model_type` of each architecture.
const LLAMA: (&str, &str) = ("LlamaForCausalLM", "llama");
const QWEN2: (&str, &str) = ("Qwen2ForCausalLM", "qwen2");

/// Where transformers 5 keeps everything about the rotary angles, and where older versions kept their scaling.
const ROPE: &str = "rope_parameters";
const OLD_ROPE: &str = "rope_scaling";

/// Keys that both sections may have.
const ROPE_KEYS: [&str; 7] = [
    "rope_type",
    "type",
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
    "partial_rotary_factor",
];

impl Config {
    /// The classes that this model implements, as `architectures` in `config.json` has them.
    pub const CLASSES: [&str; 2] = [LLAMA.0, QWEN2.0];

    /// Number of weights: embedding, blocks, final norm and, unless it is the embedding, the head.
    pub fn num_parameters(&self) -> usize {
        let (c, f) = (self.hidden_size, self.intermediate_size);
        let Heads {
            num_heads,
            num_kv_heads,
            head_dim,
        } = self.heads;
        let q = num_heads * head_dim;
        let qkv = q + 2 * num_kv_heads * head_dim;
        let bias = if self.qkv_bias { qkv } else { 0 };
        let block = 2 * c + qkv * c + bias + q * c + 3 * f * c;
        let tables = if self.tie_word_embeddings { 1 } else { 2 };
        tables * self.vocab_size * c + self.num_hidden_layers * block + c
    }

    /// Refuses a pass over `[rows, tokens]`, or one after up to `new` more tokens of each row, if one of its tensors would be
    /// too large.
    ///
    /// # Errors
    /// [`BadInput`] about `input`, with the keys of the largest tensor.
    pub fn check_pass(
        &self,
        input: &str,
        [rows, tokens]: [usize; 2],
        new: usize,
        logits: Logits,
        scores: Scores,
    ) -> Result<(), BadInput> {
        let Heads {
            num_heads,
            num_kv_heads,
            head_dim,
        } = self.heads;
        let all = ("tokens", rows.saturating_mul(tokens));
        let heads = ("`num_attention_heads`", num_heads);
        let dim = ("`head_dim`", head_dim);
        let qkv = (
            "(`num_attention_heads` + 2 `num_key_value_heads`)",
            num_heads + 2 * num_kv_heads,
        );
        let mlp = ("`intermediate_size`", self.intermediate_size);
        let logits = match logits {
            Logits::All => all,
            Logits::Last => ("rows", rows),
        };
        let sizes: [Size; 4] = [
            &[all, ("`hidden_size`", self.hidden_size)],
            &[all, qkv, dim],
            &[all, ("2", 2), mlp],
            &[logits, ("`vocab_size`", self.vocab_size)],
        ];
        largest::check(input, MAX_ELEMENTS, &sizes)?;
        // Level 1 copies shared keys for each head.
        let cached = rows.saturating_mul(tokens.saturating_add(new));
        let keys = [("(tokens + new tokens)", cached), heads, dim];
        let pairs = [all, ("tokens", tokens), heads];
        scores.check(input, self.num_hidden_layers, &[&pairs, &keys])
    }

    /// Reads a Hugging Face `config.json`, of either generation (`rope_theta` and `rope_scaling`, or
    /// `rope_parameters`).
    ///
    /// # Errors
    /// [`BadInput`] names the key whose value is malformed or not implemented.
    pub fn from_file(file: &ConfigFile) -> Result<Self, BadInput> {
        let qkv_bias = file.one_architecture(&[LLAMA, QWEN2])? == QWEN2.0;
        only_what_is_implemented(file, qkv_bias)?;
        let hidden_size = file.size("hidden_size")?;
        let rope_theta = theta_or(file, "rope_theta", 10000.)?;
        let heads = heads(file, hidden_size)?;
        Ok(Self {
            vocab_size: file.size("vocab_size")?,
            hidden_size,
            intermediate_size: file.size("intermediate_size")?,
            num_hidden_layers: file.size("num_hidden_layers")?,
            heads,
            qkv_bias,
            rms_norm_eps: file.epsilon_or("rms_norm_eps", 1e-6)?,
            rope_theta: theta_or(file, "rope_parameters.rope_theta", rope_theta)?,
            rope_scaling: rope_scaling(file)?,
            max_position_embeddings: positions(file, heads.head_dim)?,
            tie_word_embeddings: file.flag_or("tie_word_embeddings", false)?,
        })
    }
}

fn only_what_is_implemented(file: &ConfigFile, is_qwen2: bool) -> Result<(), BadInput> {
    file.only("hidden_act", "silu")?;
    file.no_variant()?;
    if is_qwen2 {
        // Qwen2 gives a `sliding_window` that it uses with this flag alone.
        file.only("use_sliding_window", false)?;
    } else {
        file.only("attention_bias", false)?;
        file.only("mlp_bias", false)?;
        file.absent("sliding_window")?;
    }
    file.all("layer_types", "full_attention")
}

/// The base of the angles, `default` when absent. One near 0 would make their frequencies infinite.
fn theta_or(file: &ConfigFile, key: &str, default: f64) -> Result<f64, BadInput> {
    match file.get(key) {
        None => Ok(default),
        Some(_) => file.number(key, |x| x >= 1., "a number from 1"),
    }
}

fn heads(file: &ConfigFile, hidden_size: usize) -> Result<Heads, BadInput> {
    if file.get("num_key_value_heads").is_some() {
        file.divides("num_key_value_heads", "num_attention_heads")?;
    }
    if file.get("head_dim").is_none() {
        file.divides("num_attention_heads", "hidden_size")?;
    }
    let num_heads = file.size("num_attention_heads")?;
    let head_dim = file.size_or("head_dim", hidden_size / num_heads)?;
    if head_dim % 2 != 0 {
        return Err(file.complain("head_dim", "an even number (halves are rotated)"));
    }
    Ok(Heads {
        num_heads,
        num_kv_heads: file.size_or("num_key_value_heads", num_heads)?,
        head_dim,
    })
}

fn positions(file: &ConfigFile, head_dim: usize) -> Result<usize, BadInput> {
    const KEY: &str = "max_position_embeddings";
    let positions = file.size_or(KEY, 2048)?;
    let most = MAX_POSITIONS.min(MAX_ANGLES / head_dim);
    if positions <= most {
        Ok(positions)
    } else {
        let expected = format!("at most {most} at a head dimension of {head_dim}");
        Err(file.complain(KEY, expected))
    }
}

/// The scaling under either of its keys.
fn rope_scaling(file: &ConfigFile) -> Result<Option<Llama3Scaling>, BadInput> {
    file.only("partial_rotary_factor", 1.0)?;
    let scaling = scaling(file, ROPE)?;
    let old = scaling_by_type(file)?;
    match (file.get(ROPE), file.get(OLD_ROPE)) {
        (Some(_), Some(_)) if scaling != old => {
            Err(file.complain(OLD_ROPE, "the same scaling as in `rope_parameters`"))
        }
        (Some(_), _) => Ok(scaling),
        (None, _) => Ok(old),
    }
}

/// The scaling in `rope_scaling`, which has to name its type.
fn scaling_by_type(file: &ConfigFile) -> Result<Option<Llama3Scaling>, BadInput> {
    file.is_object(OLD_ROPE)?;
    if file.get(OLD_ROPE).is_some() && rope_type(file, OLD_ROPE).is_none() {
        Err(file.complain(OLD_ROPE, "an object with `rope_type`"))
    } else {
        scaling(file, OLD_ROPE)
    }
}

/// The scaling in the object at `section`; `None` for none and for the type "default".
fn scaling(file: &ConfigFile, section: &str) -> Result<Option<Llama3Scaling>, BadInput> {
    only_known_keys(file, section)?;
    let key = |name: &str| format!("{section}.{name}");
    file.only(&key("partial_rotary_factor"), 1.0)?;
    let Some(at) = rope_type(file, section) else {
        return file.absent(&key("factor")).map(|()| None);
    };
    match file.get(&at).and_then(|name| name.as_str()) {
        Some("default") => file.absent(&key("factor")).map(|()| None),
        Some("llama3") => llama3(file, key).map(Some),
        _ => {
            let expected = "\"default\" or \"llama3\" (nothing else is implemented)";
            Err(file.complain(&at, expected))
        }
    }
}

/// Refuses keys of the object at `section` that would change the angles unread: those of other types of scaling, objects
/// for single types of layers, and `rope_theta` in `rope_scaling`, which transformers 5 reads and older versions do not.
fn only_known_keys(file: &ConfigFile, section: &str) -> Result<(), BadInput> {
    file.is_object(section)?;
    let keys = file.get(section).and_then(|value| value.as_object());
    let unknown = |(key, value): &(&String, &Value)| {
        let known = ROPE_KEYS.contains(&key.as_str()) || (section == ROPE && *key == "rope_theta");
        !known && !value.is_null()
    };
    match keys.into_iter().flatten().find(unknown) {
        None => Ok(()),
        Some((key, value)) => {
            let what = file.complain(&format!("{section}.{key}"), "").what;
            let expected = "null (nothing else is implemented)";
            Err(BadInput::new(what, expected, short(value)))
        }
    }
}

/// The key of the type: `type` before transformers 4.43, `rope_type` since.
fn rope_type(file: &ConfigFile, section: &str) -> Option<String> {
    let keys = ["rope_type", "type"].map(|name| format!("{section}.{name}"));
    keys.into_iter().find(|key| file.get(key).is_some())
}

fn llama3(file: &ConfigFile, key: impl Fn(&str) -> String) -> Result<Llama3Scaling, BadInput> {
    let low = file.positive(&key("low_freq_factor"))?;
    Ok(Llama3Scaling {
        factor: file.number(&key("factor"), |x| x >= 1., "a number from 1")?,
        low_freq_factor: low,
        high_freq_factor: file.number(
            &key("high_freq_factor"),
            |x| x > low,
            &format!("a number above `low_freq_factor` = {low}"),
        )?,
        original_max_position_embeddings: file.size(&key("original_max_position_embeddings"))?,
    })
}

#[cfg(test)]
mod tests;
