//! JSON whose objects have each key once. Of two equal keys, `serde_json` would keep the last and drop the other.

use std::collections::HashSet;
use std::fmt::{self, Formatter};

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

use crate::short;

/// Checks that `text` is JSON and that no object in it has a key twice.
///
/// # Errors
/// The parser's error with line and column.
pub fn unique_keys(text: &[u8]) -> Result<(), serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    Unique.deserialize(&mut parser)?;
    parser.end()
}

/// Reads any value and keeps none.
#[derive(Clone, Copy)]
struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = ();

    fn expecting(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(self)?;
            if let Some(twice) = seen.replace(key) {
                return Err(A::Error::custom(format!("`{}` twice", short(twice))));
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        for text in [r#"{"a": [1, -2, 0.5, null, true], "b": {"a": "c"}}"#, "[]"] {
            assert!(unique_keys(text.as_bytes()).is_ok(), "{text}");
        }
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"b": [{"a": 1, "c": 2, "\u0061": 3}]}"#,
        ] {
            let error = unique_keys(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("`a` twice at line 1"), "{error}");
        }
        assert!(unique_keys(b"{} {}").is_err());
    }
}
