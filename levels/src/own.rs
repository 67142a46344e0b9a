//! Levels of a learner, by name, and how options name a level.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use data::BadInput;

use crate::{Level, level, numbers, one_of};

/// Makes a level.
pub type Make = fn() -> Level;

static OWN: Mutex<Vec<(String, Make)>> = Mutex::new(vec![]);

/// Adds a level to those that `--level` and `--swap` find by name. A program calls it before it reads its options.
pub fn register(name: &str, make: Make) {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.push((name.to_owned(), make));
}

/// The registered level with this name.
pub fn registered(name: &str) -> Option<Level> {
    let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = own.iter().find(|(known, _)| known == name);
    found.map(|(_, make)| make())
}

/// Names of the registered levels.
pub fn names() -> Vec<String> {
    let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.iter().map(|(name, _)| name.clone()).collect()
}

/// A level as options name it: `4`, `mine`, or the path of a learner's crate, `students/ada/levels/mine`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// One of the workbook's levels.
    Number(u8),
    /// A learner's level: its name, or the path of its crate.
    Own(String),
}

impl Name {
    /// The name that a learner's level is registered by: the last part of a path. `None` for a number.
    pub fn own(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Own(path) => Path::new(path).file_name()?.to_str(),
        }
    }

    /// The level's number: 0 for a learner's.
    pub fn number(&self) -> u8 {
        match self {
            Self::Number(number) => *number,
            Self::Own(_) => 0,
        }
    }

    /// The level in tables and messages: `level 4`, or the name of a learner's level.
    pub fn label(&self) -> String {
        match self {
            Self::Number(number) => format!("level {number}"),
            Self::Own(path) => self.own().unwrap_or(path).to_owned(),
        }
    }

    /// Returns the level.
    ///
    /// # Errors
    /// [`BadInput`] about `option` for a level that does not exist.
    pub fn find(&self, option: &str) -> Result<Level, BadInput> {
        let found = match self {
            Self::Number(number) => level(*number),
            Self::Own(_) => self.own().and_then(registered),
        };
        found.ok_or_else(|| BadInput::new(option, expected(), self))
    }
}

/// `level 1, 2, 3, 4, 5 or the name of your own`
pub(crate) fn expected() -> String {
    let mut names: Vec<String> = numbers().iter().map(u8::to_string).collect();
    names.push("the name of your own".into());
    format!("level {}", one_of(&names, "or"))
}

/// Whether `name` can be a crate's and a level's: a lowercase ASCII letter, then letters, digits and `_`.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain)
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse::<u8>()
            && level(number).is_some()
        {
            return Ok(Self::Number(number));
        }
        let own = Self::Own(text.trim_end_matches('/').to_owned());
        if own.own().is_some_and(is_name) {
            Ok(own)
        } else {
            Err(format!("expected {}", expected()))
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Own(path) => path.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_name_is_a_number_or_a_learners_level() {
        assert_eq!("4".parse(), Ok(Name::Number(4)));
        assert_eq!("mine".parse(), Ok(Name::Own("mine".into())));
        let path: Name = "class/ada/my_level/".parse().unwrap();
        assert_eq!(path.own(), Some("my_level"));
        assert_eq!(path.label(), "my_level");
        assert_eq!(Name::Number(4).label(), "level 4");
        for bad in [
            "", "0", "9", "258", "-1", "2.5", "Mine", "my-level", "_x", "a/..", "a b",
        ] {
            let expected = "expected level 1, 2, 3, 4, 5 or the name of your own";
            assert_eq!(bad.parse::<Name>(), Err(expected.into()), "{bad}");
        }
    }

    #[test]
    fn a_registered_level_is_found_by_its_name() {
        let name: Name = "here/of_this_test".parse().unwrap();
        let error = name.find("--level").err().map(|bad| bad.to_string());
        let expected = "--level: expected level 1, 2, 3, 4, 5 or the name of your own, found here/of_this_test";
        assert_eq!(error.as_deref(), Some(expected));
        register("of_this_test", || Arc::new(level1::Level1));
        assert!(name.find("--level").is_ok());
        assert!(registered("another").is_none());
    }
}
