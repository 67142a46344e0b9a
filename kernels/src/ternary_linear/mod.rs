//! ternary_linear
