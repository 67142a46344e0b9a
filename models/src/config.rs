//! `config.json`: typed look-ups that name the file, the key, what was expected and what was found.

use std::path::{Path, PathBuf};

use data::{BadInput, short};
use serde_json::Value;

/// The largest size in a configuration: a slip beyond it would take all the memory.
pub const MAX_SIZE: u64 = 1 << 24;

/// A parsed `config.json`.
pub struct ConfigFile {
    path: PathBuf,
    root: Value,
}

impl ConfigFile {
    /// Reads and parses `path`.
    pub fn read(path: &Path) -> Result<Self, BadInput> {
        let text = std::fs::read_to_string(path).map_err(|e| BadInput::unreadable(path, &e))?;
        let root: Value =
            serde_json::from_str(&text).map_err(|e| BadInput::new(path.display(), "JSON", e))?;
        if !root.is_object() {
            return Err(BadInput::new(path.display(), "a JSON object", short(root)));
        }
        Ok(Self {
            path: path.to_path_buf(),
            root,
        })
    }

    /// The value at `key`, where a dot steps into an object; `None` when absent or null.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let value = key.split('.').try_fold(&self.root, |v, k| v.get(k))?;
        (!value.is_null()).then_some(value)
    }

    /// A complaint about `key`.
    pub fn complain(&self, key: &str, expected: impl std::fmt::Display) -> BadInput {
        let found = self.get(key).map_or("nothing".into(), short);
        let what = format!("{}: `{key}`", self.path.display());
        BadInput::new(what, expected, found)
    }

    /// A positive integer, up to [`MAX_SIZE`].
    pub fn size(&self, key: &str) -> Result<usize, BadInput> {
        self.get(key)
            .and_then(Value::as_u64)
            .filter(|n| (1..=MAX_SIZE).contains(n))
            .map(|n| n as usize)
            .ok_or_else(|| self.complain(key, format!("an integer from 1 to {MAX_SIZE}")))
    }

    /// A positive integer, `default` when absent.
    pub fn size_or(&self, key: &str, default: usize) -> Result<usize, BadInput> {
        match self.get(key) {
            None => Ok(default),
            Some(_) => self.size(key),
        }
    }

    /// A positive number, `default` when absent.
    pub fn positive_or(&self, key: &str, default: f64) -> Result<f64, BadInput> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_f64()
                .filter(|x| x.is_finite() && *x > 0.)
                .ok_or_else(|| self.complain(key, "a positive number")),
        }
    }

    /// A truth value, `default` when absent.
    pub fn flag_or(&self, key: &str, default: bool) -> Result<bool, BadInput> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| self.complain(key, "true or false")),
        }
    }

    /// Refuses a value that is not implemented: `key` has to be absent, null, or `only`.
    pub fn only(&self, key: &str, only: impl Into<Value>) -> Result<(), BadInput> {
        let only = only.into();
        match self.get(key) {
            Some(value) if *value != only && !same_number(value, &only) => {
                Err(self.complain(key, format!("{only} (nothing else is implemented)")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a value that is no object; it may be absent or null.
    pub fn is_object(&self, key: &str) -> Result<(), BadInput> {
        match self.get(key) {
            Some(value) if !value.is_object() => Err(self.complain(key, "an object")),
            _ => Ok(()),
        }
    }

    /// Refuses a key that is not implemented: it has to be absent or null.
    pub fn absent(&self, key: &str) -> Result<(), BadInput> {
        match self.get(key) {
            Some(_) => Err(self.complain(key, "null (nothing else is implemented)")),
            None => Ok(()),
        }
    }

    /// Checks `architectures` (or, without it, `model_type`) against the one that is implemented.
    pub fn architecture(&self, class: &str, model_type: &str) -> Result<(), BadInput> {
        match (self.get("architectures"), self.get("model_type")) {
            (Some(list), _) if *list == serde_json::json!([class]) => Ok(()),
            (Some(_), _) => Err(self.complain("architectures", format!("[\"{class}\"]"))),
            (None, Some(kind)) if kind == model_type => Ok(()),
            (None, _) => Err(self.complain("model_type", format!("\"{model_type}\""))),
        }
    }

    /// Checks that `part` divides `whole`.
    pub fn divides(&self, part: &str, whole: &str) -> Result<(), BadInput> {
        let (p, w) = (self.size(part)?, self.size(whole)?);
        if w % p != 0 {
            return Err(self.complain(part, format!("a divisor of `{whole}` ({w})")));
        }
        Ok(())
    }
}
/// 1 and 1.0 are one number.
fn same_number(a: &Value, b: &Value) -> bool {
    a.as_f64().is_some_and(|a| b.as_f64() == Some(a))
}
