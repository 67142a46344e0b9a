//! Level 4's functions: hand-written CUDA with warp shuffles on a GPU, and explicit SIMD lanes on a CPU. Each is defined in
//! the folder of its op.
//!
//! Every function of level 3 has a kernel of its own here. Levels 3 and 4 share `Cache`.

/// softmax(q·kᵀ/√D)·v over a cache's keys.
pub use crate::attention::level4::causal_attention;
/// gelu(x), element by element.
pub use crate::gelu::level4::gelu;
/// Keys and values of one layer: `rope_append` writes them and `causal_attention` reads them.
pub use crate::level3::Cache;
/// The most probable token, and the k most probable with their probabilities.
pub use crate::next_token::level4::{argmax, top_k};
/// Rotary position embedding of q and k, and the append of k and v to a cache.
pub use crate::rope::level4::rope_append;

macro_rules! export {
    ($($(#[$doc:meta])* $folder:ident: $name:ident($($argument:tt)*) in $level3:ident $level:ident $level5:ident;)*) => {
        $($(#[$doc])* pub use crate::$folder::$level::$name;)*
    };
}
crate::for_each_function!(export);
