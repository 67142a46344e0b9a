//! What is computed: three models, each written once against [`Ops`], in the shape of its paper.
//!
//! | model | file | norm | attention | MLP |
//! |---|---|---|---|---|
//! | language model | [`lm`] | RMSNorm | causal, grouped queries, rotary positions, KV cache | SwiGLU |
//! | vision transformer | [`vit`] | LayerNorm | every patch sees every patch | GELU |
//! | graph transformer | [`gnn`] | LayerNorm | each node sees its neighbours, edges have features | GELU |
//!
//! The block is the same in all three: norm → attention → add → norm → MLP → add.
//!
//! **Architecture invariant:** this crate knows no level. How an operation is computed is behind
//! [`Ops`]; which level that is, the caller decides.

pub mod cache;
pub mod checkpoint;
pub mod config;
mod error;
pub mod gnn;
pub mod graph;
pub mod lm;
pub mod ops;
pub mod presets;
pub mod random;
pub mod rope;
pub mod sampling;
pub mod vit;
pub mod weight;

pub use cache::KvCache;
pub use error::{Error, Result, bad_input};
pub use gnn::GraphTransformer;
pub use graph::{Csr, Segments};
pub use lm::LanguageModel;
pub use ops::{CacheShape, Heads, Ops};
pub use rope::Rope;
pub use sampling::Sampling;
pub use trace;
pub use vit::VisionTransformer;
pub use weight::Weight;
