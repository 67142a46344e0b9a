//! An empty crate: its manifest turns on features of third-party crates, so that all commands share one build of each.
