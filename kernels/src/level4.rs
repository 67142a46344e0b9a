//! Level 4's functions: hand-written CUDA with warp shuffles, and explicit SIMD lanes on a CPU. Each stands in the folder
//! of its op.
//!
//! All functions of level 3 have kernels of their own here. `Cache` alone is level 3's.

/// softmax(q·kᵀ/√D)·v, of all keys and of a cache's.
pub use crate::attention::level4::{attention, causal_attention};
/// Attention over the incoming edges of each node, plus skip and residual.
pub use crate::edge_attention::level4::edge_attention;
/// Rows of a table, by number.
pub use crate::embedding::level4::embedding;
/// gelu(x), element by element.
pub use crate::gelu::level4::gelu;
/// Keys and values of one layer: what `rope_append` writes and `causal_attention` reads.
pub use crate::level3::Cache;
/// x·Wᵀ + b, and the same with a residual or an activation.
pub use crate::linear::level4::{linear, linear_gelu, linear_residual, linear_swiglu};
/// The most probable token, and the k most probable with their probabilities.
pub use crate::next_token::level4::{argmax, top_k};
/// The tokens of pictures: projected patches, the class token and positions.
pub use crate::patch_embed::level4::patch_embed;
/// Rotary position embedding of q and k, and the append of k and v to a cache.
pub use crate::rope::level4::rope_append;
/// The mean of each segment's rows.
pub use crate::segment_mean::level4::segment_mean;
/// softmax(scale·x) of each row.
pub use crate::softmax::level4::softmax;
/// x/√(mean(x²) + eps) ⊙ w, and (x − mean(x))/√(var(x) + eps) ⊙ w + b, of each row.
pub use crate::{layer_norm::level4::layer_norm, rms_norm::level4::rms_norm};
