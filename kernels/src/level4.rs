//! Level 4's functions: hand-written CUDA with warp shuffles on a GPU, and explicit SIMD lanes on a CPU. Each is defined in
//! the folder of its op.
//!
//! Every function of level 3 has a kernel of its own here. Levels 3 and 4 share `Cache`.

#[doc(inline)]
pub use crate::attention::level4::causal_attention;
#[doc(inline)]
pub use crate::gelu::level4::gelu;
#[doc(inline)]
pub use crate::level3::Cache;
#[doc(inline)]
pub use crate::next_token::level4::{argmax, top_k};
#[doc(inline)]
pub use crate::rope::level4::rope_append;

macro_rules! export {
    ($($(#[$doc:meta])* $folder:ident: $name:ident($($argument:tt)*) in $level3:ident $level:ident $level5:ident;)*) => {
        $(#[doc(inline)] pub use crate::$folder::$level::$name;)*
    };
}
crate::for_each_function!(export);
