//! The levels that exist. A new one is added here, and compared and benched from then on.

use std::sync::Arc;

use level1::Level1;
use level2::Level2;
use models::Ops;

/// A level, shared by the jobs that run it.
pub type Level = Arc<dyn Ops>;

/// All of them, in order; the first is the one that the others are compared with.
pub fn all() -> Vec<Level> {
    vec![Arc::new(Level1), Arc::new(Level2::default())]
}

#[cfg(test)]
mod tests {
    #[test]
    fn levels_are_in_order() {
        let numbers: Vec<u8> = super::all().iter().map(|ops| ops.level()).collect();
        assert!(numbers.is_sorted() && numbers[0] == 1, "{numbers:?}");
    }
}
