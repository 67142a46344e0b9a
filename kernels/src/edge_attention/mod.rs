//! edge_attention
