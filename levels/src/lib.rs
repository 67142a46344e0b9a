//! All levels: by number, composed op by op, and as the programs ask for them.
//!
//! A new level is added to [`all`]; the tests, the benches, the comparison and every program run over it
//! from then on.

mod costed;
pub mod costs;
mod functions;
mod gpu;
mod own;
mod selection;
mod swap;

use std::sync::Arc;

use level1::Level1;
use level2::Level2;
use level3::Level3;
use level4::Level4;
use level5::Level5;
use models::Ops;

pub use costed::{Costed, whole};
pub use functions::{Functions, functions};
pub use gpu::{able, check, minimum};
pub use own::{Make, Name, is_name, names, register, registered};
pub use selection::Selection;
pub use swap::{OPS, Swap};

/// A level, shared by those that run it.
pub type Level = Arc<dyn Ops>;

/// All of them, in order; the first is the one that the others are compared with.
pub fn all() -> Vec<Level> {
    vec![
        Arc::new(Level1),
        Arc::new(Level2::default()),
        Arc::new(Level3),
        Arc::new(Level4),
        Arc::new(Level5),
    ]
}

/// The level with this number.
pub fn level(number: u8) -> Option<Level> {
    all().into_iter().find(|ops| ops.level() == number)
}

/// The number of the last level.
pub fn highest() -> u8 {
    numbers().into_iter().max().unwrap_or_default()
}

/// The numbers of all levels, in order.
pub fn numbers() -> Vec<u8> {
    all().iter().map(|ops| ops.level()).collect()
}

/// `1, 2 or 3`
fn one_of<T: ToString>(choices: &[T], or: &str) -> String {
    let words: Vec<String> = choices.iter().map(T::to_string).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {or} {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_in_order() {
        let expected: Vec<u8> = (1..=highest()).collect();
        assert_eq!(numbers(), expected);
        for number in expected {
            assert_eq!(level(number).map(|ops| ops.level()), Some(number));
        }
        assert!(level(0).is_none() && level(9).is_none());
    }

    #[test]
    fn choices_are_a_sentence() {
        assert_eq!(one_of(&[1], "or"), "1");
        assert_eq!(one_of(&[1, 2], "or"), "1 or 2");
        assert_eq!(one_of(&[1, 2, 3], "and"), "1, 2 and 3");
    }
}
