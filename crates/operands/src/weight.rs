use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use candle_core::{Result, Tensor, bail};

type Form = Arc<dyn Any + Send + Sync>;

/// A weight as it is stored, (N, K) with one row an output, beside the forms that levels pack it into.
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

    /// A level's own form of this weight, made by `pack` at first use and kept.
    ///
    /// There is one form of a type: each level packs into types of its own, and always in the same way.
    ///
    /// # Errors
    /// When `pack` fails.
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
    /// The tensor; not its forms.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Weight").field(&self.tensor).finish()
    }
}
