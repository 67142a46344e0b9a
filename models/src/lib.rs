//! Three models, each written once against [`Ops`], in the shape of its paper.
//!
//! | model | file | norm | attention | MLP |
//! |---|---|---|---|---|
//! | language model | [`lm`] | RMSNorm | causal, grouped queries, rotary positions, KV cache | SwiGLU |
//! | vision transformer | [`vit`] | LayerNorm | every patch sees every patch | GELU |
//! | graph transformer | [`gnn`] | LayerNorm | each node sees its neighbours, edges have features | GELU |
//!
//! A block is five calls: norm and projection to queries, keys and values; attention; projection and residual; norm and the
//! MLP's first layer; its second layer and residual. In the graph transformer it is four, because the attention adds the
//! residual and has no projection after it.
//!
//! The graph transformer, the blocks of the vision transformer, and those of the language model for one token are first
//! asked for as a whole ([`WholePass`]); most levels compute them call by call.
//!
//! **Architecture invariant:** this crate knows no level. [`Ops`] hides how an operation is
//! computed; the caller decides which level computes it.

pub mod cache;
pub mod checkpoint;
pub mod config;
mod error;
pub mod gnn;
mod largest;
mod layers;
pub mod lm;
pub mod ops;
pub mod presets;
pub mod random;
pub mod rope;
pub mod sampling;
pub mod vit;
pub mod whole_pass;

pub use cache::KvCache;
pub use error::{Error, Result, bad_input};
pub use gnn::GraphTransformer;
pub use largest::Scores;
pub use lm::LanguageModel;
pub use operands::{Csr, GraphSizes, Linear, Norm, Segments, Weight};
pub use ops::{CacheShape, Heads, Ops};
pub use rope::Rope;
pub use sampling::Sampling;
pub use trace;
pub use vit::VisionTransformer;
pub use whole_pass::{DecoderPass, EncoderPass, GraphPass, HeadPass, NextStep, WholePass};
