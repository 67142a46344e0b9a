//! Level 4.
