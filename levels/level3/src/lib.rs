//! Level 3.
