//! All levels.
