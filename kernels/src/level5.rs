//! Level 5's functions: the kernel is picked by shape where several compute the same, and the position of a decode step is
//! in the device's memory. Each function is defined in the folder of its op.
//!
//! Functions without a level-5 kernel are level 4's: [`for_each_function!`](crate::for_each_function) names them, and `argmax`,
//! `top_k` and `gelu` are re-exported below. A [`Cache`] is built around the one of levels 3 and 4.

#[doc(inline)]
pub use crate::attention::Cache as Level4Cache;
#[doc(inline)]
pub use crate::attention::level5::attention_step;
#[doc(inline)]
pub use crate::attention::level5::causal_attention;
#[doc(inline)]
pub use crate::attention::level5::{Cache, Position, PositionedCache};
#[doc(inline)]
pub use crate::decoder_pass::level5::DecoderStep;
#[doc(inline)]
pub use crate::encoder_pass::level5::encoder_pass;
#[doc(inline)]
pub use crate::graph_pass::level5::graph_pass;
#[doc(inline)]
pub use crate::level4::{argmax, gelu, top_k};
#[doc(inline)]
pub use crate::linear::level5::{head_pass, norm_linear, norm_swiglu};
#[doc(inline)]
pub use crate::rope::level5::rope_append;

macro_rules! export {
    ($($(#[$doc:meta])* $folder:ident: $name:ident($($argument:tt)*) in $level3:ident $level4:ident $level:ident;)*) => {
        $(#[doc(inline)] pub use crate::$folder::$level::$name;)*
    };
}
crate::for_each_function!(export);
