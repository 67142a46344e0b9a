//! gelu
