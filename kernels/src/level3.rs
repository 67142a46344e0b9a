//! Level 3's functions: hand-written PTX on a GPU, and plain loops on a CPU. Each is defined in the folder of its op.
//!
//! `argmax` and `top_k` have no kernel here: they begin at [`level4`](crate::level4).

/// Keys and values of one layer: `rope_append` writes them and `causal_attention` reads them.
pub use crate::attention::Cache;
/// softmax(q·kᵀ/√D)·v over a cache's keys.
pub use crate::attention::level3::causal_attention;
/// gelu(x), element by element.
pub use crate::gelu::level3::gelu;
/// Rotary position embedding of q and k, and the append of k and v to a cache.
pub use crate::rope::level3::rope_append;

macro_rules! export {
    ($($(#[$doc:meta])* $folder:ident: $name:ident($($argument:tt)*) in $level:ident $level4:ident $level5:ident;)*) => {
        $($(#[$doc])* pub use crate::$folder::$level::$name;)*
    };
}
crate::for_each_function!(export);
