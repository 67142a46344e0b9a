//! `config.json`: typed look-ups that name the file, the key, what was expected and what was found.

use std::path::{Path, PathBuf};

use data::{BadInput, short};
use serde_json::Value;

/// The largest size in a configuration: a slip beyond it would take all the memory.
pub const MAX_SIZE: u64 = 1 << 24;

/// Maximum bytes of a configuration or an index.
const MAX_FILE: u64 = 1 << 26;

/// A parsed `config.json`.
pub struct ConfigFile {
    path: PathBuf,
    root: Value,
}

impl ConfigFile {
    /// Reads and parses `path`.
    ///
    /// # Errors
    /// [`BadInput`] if the file cannot be read, or is no JSON object.
    pub fn read(path: &Path) -> Result<Self, BadInput> {
        Self::parse(path, &data::read_text_file(path, MAX_FILE)?)
    }

    /// Parses `text`, the content of `path`.
    ///
    /// # Errors
    /// [`BadInput`] if `text` is no JSON object.
    pub fn parse(path: &Path, text: &str) -> Result<Self, BadInput> {
        let root: Value = data::unique_keys(text.as_bytes())
            .and_then(|()| serde_json::from_str(text))
            .map_err(|e| BadInput::new(path.display(), "JSON", e))?;
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
    ///
    /// # Errors
    /// [`BadInput`] if it is absent or another value.
    pub fn size(&self, key: &str) -> Result<usize, BadInput> {
        self.get(key)
            .and_then(Value::as_u64)
            .filter(|n| (1..=MAX_SIZE).contains(n))
            .map(|n| n as usize)
            .ok_or_else(|| self.complain(key, format!("an integer from 1 to {MAX_SIZE}")))
    }

    /// A positive integer, `default` when absent.
    ///
    /// # Errors
    /// [`BadInput`] for another value.
    pub fn size_or(&self, key: &str, default: usize) -> Result<usize, BadInput> {
        match self.get(key) {
            None => Ok(default),
            Some(_) => self.size(key),
        }
    }

    /// A finite number that is `valid`, which `expected` says in words.
    ///
    /// # Errors
    /// [`BadInput`] for another value.
    pub fn number(
        &self,
        key: &str,
        valid: impl Fn(f64) -> bool,
        expected: &str,
    ) -> Result<f64, BadInput> {
        self.get(key)
            .and_then(Value::as_f64)
            .filter(|x| x.is_finite() && valid(*x))
            .ok_or_else(|| self.complain(key, expected))
    }

    /// A positive number.
    ///
    /// # Errors
    /// [`BadInput`] if it is absent or another value.
    pub fn positive(&self, key: &str) -> Result<f64, BadInput> {
        self.number(key, |x| x > 0., "a positive number")
    }

    /// A positive number, `default` when absent.
    ///
    /// # Errors
    /// [`BadInput`] for another value.
    pub fn positive_or(&self, key: &str, default: f64) -> Result<f64, BadInput> {
        match self.get(key) {
            None => Ok(default),
            Some(_) => self.positive(key),
        }
    }

    /// The epsilon inside the square root of a norm, `default` when absent. A large one would make all channels zero.
    ///
    /// # Errors
    /// [`BadInput`] for a value that is not positive or too large.
    pub fn epsilon_or(&self, key: &str, default: f64) -> Result<f64, BadInput> {
        match self.get(key) {
            None => Ok(default),
            Some(_) => self.number(key, |x| x > 0. && x <= 0.1, "a number above 0, up to 0.1"),
        }
    }

    /// A truth value, `default` when absent.
    ///
    /// # Errors
    /// [`BadInput`] for another value.
    pub fn flag_or(&self, key: &str, default: bool) -> Result<bool, BadInput> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| self.complain(key, "true or false")),
        }
    }

    /// Refuses a value that is not implemented: `key` has to be absent, null, or `only`.
    ///
    /// # Errors
    /// [`BadInput`] for another value.
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
    ///
    /// # Errors
    /// [`BadInput`] for another value.
    pub fn is_object(&self, key: &str) -> Result<(), BadInput> {
        match self.get(key) {
            Some(value) if !value.is_object() => Err(self.complain(key, "an object")),
            _ => Ok(()),
        }
    }

    /// Refuses a key that is not implemented: it has to be absent or null.
    ///
    /// # Errors
    /// [`BadInput`] for a value.
    pub fn absent(&self, key: &str) -> Result<(), BadInput> {
        match self.get(key) {
            Some(_) => Err(self.complain(key, "null (nothing else is implemented)")),
            None => Ok(()),
        }
    }

    /// Refuses a list with an element that is not implemented: each has to be `only`. It may be absent or null.
    ///
    /// # Errors
    /// [`BadInput`] for another element.
    pub fn all(&self, key: &str, only: &str) -> Result<(), BadInput> {
        let is_only = |value: &Value| value == only;
        match self.get(key) {
            Some(value) if !value.as_array().is_some_and(|v| v.iter().all(is_only)) => {
                let expected = format!("a list of \"{only}\" (nothing else is implemented)");
                Err(self.complain(key, expected))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what changes a model's answer and is not implemented. Each key may be absent, null or neutral.
    ///
    /// # Errors
    /// [`BadInput`] with the first key of another value.
    pub fn no_variant(&self) -> Result<(), BadInput> {
        for key in [
            "quantization_config",
            "compression_config",
            "attn_logit_softcapping",
            "final_logit_softcapping",
            "query_pre_attn_scalar",
            "attention_multiplier",
            "no_rope_layers",
        ] {
            self.absent(key)?;
        }
        for key in [
            "residual_multiplier",
            "embedding_multiplier",
            "logits_scaling",
        ] {
            self.only(key, 1.0)?;
        }
        let flags = ["use_qk_norm", "qk_norm", "qk_layernorm"];
        flags.iter().try_for_each(|key| self.only(key, false))
    }

    /// Checks `architectures` (or, without it, `model_type`) against the one that is implemented.
    ///
    /// # Errors
    /// [`BadInput`] for another one, or none.
    pub fn architecture(&self, class: &str, model_type: &str) -> Result<(), BadInput> {
        self.one_architecture(&[(class, model_type)]).map(|_| ())
    }

    /// The class among `known`, pairs of a class and its `model_type`, that `architectures` (or, without it,
    /// `model_type`) names.
    ///
    /// # Errors
    /// [`BadInput`] for another one, or none.
    pub fn one_architecture<'a>(&self, known: &[(&'a str, &str)]) -> Result<&'a str, BadInput> {
        let (list, kind) = (self.get("architectures"), self.get("model_type"));
        let is_named = |(class, model_type): &&(&str, &str)| match list {
            Some(list) => *list == serde_json::json!([class]),
            None => kind.is_some_and(|kind| kind == model_type),
        };
        if let Some((class, model_type)) = known.iter().find(is_named) {
            self.only("model_type", *model_type)?;
            return Ok(class);
        }
        let quoted = |(class, model_type): &(&str, &str)| match list {
            Some(_) => format!("[\"{class}\"]"),
            None => format!("\"{model_type}\""),
        };
        let expected = known.iter().map(quoted).collect::<Vec<_>>().join(" or ");
        match list {
            Some(_) => Err(self.complain("architectures", expected)),
            None => Err(self.complain("model_type", expected)),
        }
    }

    /// Checks that `part` divides `whole`.
    ///
    /// # Errors
    /// [`BadInput`] if it does not, or a size is missing.
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
