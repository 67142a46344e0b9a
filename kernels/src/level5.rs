//! Level 5's functions: the kernel is picked by shape where several compute the same, and the position of a decode step is
//! in the device's memory. Each function is defined in the folder of its op.
//!
//! Functions without a level-5 kernel are level 4's: [`for_each_function!`](crate::for_each_function) names them, and `argmax`,
//! `top_k` and `gelu` are re-exported below. A [`Cache`] is built around the one of levels 3 and 4.

/// The cache of levels 3 and 4: the memory of one layer's keys and values.
pub use crate::attention::Cache as Level4Cache;
/// The rotation, the append and attention of a few queries at the device's position, in one launch or several.
pub use crate::attention::level5::attention_step;
/// softmax(q·kᵀ/√D)·v over a cache's keys.
pub use crate::attention::level5::causal_attention;
/// A [`Level4Cache`] with the position that all layers share, and what a launch at this position gets of it.
pub use crate::attention::level5::{Cache, Position, PositionedCache};
/// All blocks of the vision transformer `s16` in one call.
pub use crate::encoder_pass::level5::encoder_pass;
/// All of a graph transformer in one launch, for small graphs.
pub use crate::graph_pass::level5::graph_pass;
/// The most probable token, the k most probable with their probabilities, and gelu(x), element by element.
pub use crate::level4::{argmax, gelu, top_k};
/// RMSNorm and x·Wᵀ + b, or silu(x·Wgᵀ) ⊙ (x·Wuᵀ), in one launch for one row of x.
pub use crate::linear::level5::{norm_linear, norm_swiglu};
/// Rotary position embedding of q and k, and the append of k and v to a cache.
pub use crate::rope::level5::rope_append;

macro_rules! export {
    ($($(#[$doc:meta])* $folder:ident: $name:ident($($argument:tt)*) in $level3:ident $level4:ident $level:ident;)*) => {
        $($(#[$doc])* pub use crate::$folder::$level::$name;)*
    };
}
crate::for_each_function!(export);
