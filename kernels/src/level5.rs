//! Level 5's functions: the kernel picked by shape where several compute the same, and the position of a decode step in
//! the device's memory. Each stands in the folder of its op.
//!
//! `argmax`, `embedding`, `gelu`, `patch_embed`, `segment_mean`, `softmax` and `top_k` have no kernel here and are level
//! 4's, and so is the memory that a [`Cache`] is built around.

/// The memory of one layer's keys and values, which level 4 uses as it is.
pub use crate::attention::Cache as Slots;
/// softmax(q·kᵀ/√D)·v of all keys.
pub use crate::attention::level5::attention;
/// Keys and values of one layer, around [`Slots`], and the position that all layers share; and a cache at that position.
pub use crate::attention::level5::{At, Cache, Position};
/// softmax(q·kᵀ/√D)·v over a cache's keys: of a few queries at the device's position, and of a prompt at the host's.
pub use crate::attention::level5::{causal_attention, prompt_attention};
/// Attention over the incoming edges of each node, plus skip and residual.
pub use crate::edge_attention::level5::edge_attention;
/// The most probable token, and the k most probable with their probabilities.
pub use crate::level4::{argmax, top_k};
/// Rows of a table, by number; and the tokens of pictures.
pub use crate::level4::{embedding, patch_embed};
/// gelu(x), element by element; the mean of each segment's rows; softmax(scale·x) of each row.
pub use crate::level4::{gelu, segment_mean, softmax};
/// x·Wᵀ + b, and the same with a residual or an activation.
pub use crate::linear::level5::{linear, linear_gelu, linear_residual, linear_swiglu};
/// RMSNorm and x·Wᵀ + b, or silu(x·Wgᵀ) ⊙ (x·Wuᵀ), in one launch for one row of x.
pub use crate::linear::level5::{norm_linear, norm_swiglu};
/// Rotary position embedding of q and k, and the append of k and v to a cache: at the device's position, and of a prompt
/// at the host's.
pub use crate::rope::level5::{prompt_rope_append, rope_append};
/// x/√(mean(x²) + eps) ⊙ w, and (x − mean(x))/√(var(x) + eps) ⊙ w + b, of each row.
pub use crate::{layer_norm::level5::layer_norm, rms_norm::level5::rms_norm};
