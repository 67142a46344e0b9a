//! Level 3's functions: hand-written PTX on a GPU, and plain loops on a CPU. Each is defined in the folder of its op.
//!
//! `argmax` and `top_k` have no kernel here: they begin at [`level4`](crate::level4).

#[doc(inline)]
pub use crate::attention::Cache;
#[doc(inline)]
pub use crate::attention::level3::causal_attention;
#[doc(inline)]
pub use crate::gelu::level3::gelu;
#[doc(inline)]
pub use crate::rope::level3::rope_append;

macro_rules! export {
    ($($(#[$doc:meta])* $folder:ident: $name:ident($($argument:tt)*) in $level:ident $level4:ident $level5:ident;)*) => {
        $(#[doc(inline)] pub use crate::$folder::$level::$name;)*
    };
}
crate::for_each_function!(export);
