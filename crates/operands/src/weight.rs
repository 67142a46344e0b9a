use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use candle_core::{Result, Tensor, bail};

type Form = Arc<dyn Any + Send + Sync>;

/// A weight as stored, (N, K) with one row per output, together with the packed forms of the levels.
///
/// Clones share both.
#[derive(Clone)]
pub struct Weight {
    tensor: Tensor,
    forms: Arc<Mutex<HashMap<TypeId, Form>>>,
}

impl Weight {
    /// Wraps a tensor as it was loaded.
    pub fn new(tensor: Tensor) -> Self {
        Self {
            tensor,
            forms: Arc::default(),
        }
    }

    /// The weight as it was loaded.
    pub fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// Returns a level's packed form of this weight, created by `pack` at first use and kept.
    ///
    /// There is one form per type: each level packs into its own types, always in the same way.
    ///
    /// # Errors
    /// If `pack` fails.
    pub fn packed<T: Any + Send + Sync>(
        &self,
        pack: impl FnOnce(&Tensor) -> Result<T>,
    ) -> Result<Arc<T>> {
        let Ok(mut forms) = self.forms.lock() else {
            bail!("a thread panicked while it packed this weight")
        };
        let packed = forms.get(&TypeId::of::<T>()).cloned();
        if let Some(Ok(form)) = packed.map(Arc::downcast) {
            return Ok(form);
        }
        let form = Arc::new(pack(&self.tensor)?);
        forms.insert(TypeId::of::<T>(), form.clone());
        Ok(form)
    }
}

impl fmt::Debug for Weight {
    /// Formats the tensor without its forms.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Weight").field(&self.tensor).finish()
    }
}
