//! Level 3's functions: hand-written PTX, and loops over rows on a CPU. Each stands in the folder of its op.
//!
//! `argmax` and `top_k` have no kernel here: they begin at [`level4`](crate::level4).

/// Keys and values of one layer: what `rope_append` writes and `causal_attention` reads.
pub use crate::attention::Cache;
/// softmax(q·kᵀ/√D)·v, of all keys and of a cache's.
pub use crate::attention::level3::{attention, causal_attention};
/// Attention over the incoming edges of each node, plus skip and residual.
pub use crate::edge_attention::level3::edge_attention;
/// Rows of a table, by number.
pub use crate::embedding::level3::embedding;
/// gelu(x), element by element.
pub use crate::gelu::level3::gelu;
/// x·Wᵀ + b, and the same with a residual or an activation.
pub use crate::linear::level3::{linear, linear_gelu, linear_residual, linear_swiglu};
/// The tokens of pictures: projected patches, the class token and positions.
pub use crate::patch_embed::level3::patch_embed;
/// Rotary position embedding of q and k, and the append of k and v to a cache.
pub use crate::rope::level3::rope_append;
/// The mean of each segment's rows.
pub use crate::segment_mean::level3::segment_mean;
/// softmax(scale·x) of each row.
pub use crate::softmax::level3::softmax;
/// x/√(mean(x²) + eps) ⊙ w, and (x − mean(x))/√(var(x) + eps) ⊙ w + b, of each row.
pub use crate::{layer_norm::level3::layer_norm, rms_norm::level3::rms_norm};
