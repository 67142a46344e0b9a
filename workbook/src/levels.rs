//! The levels, for every command: the list is the one that the benches have.

pub use benches::levels::{Level, all};
