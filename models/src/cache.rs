//! The keys and values of the tokens seen so far, in the level's own layout.

use std::any::Any;

use candle_core::{Result, bail};

/// The cache of one layer, made by [`crate::Ops::new_caches`].
///
/// The model sees how many positions it holds; what is inside belongs to the level that made it.
pub struct KvCache {
    len: usize,
    capacity: usize,
    state: Box<dyn Any + Send>,
}

impl KvCache {
    /// An empty cache for at most `capacity` positions around the level's own `state`.
    pub fn new(capacity: usize, state: impl Any + Send) -> Self {
        Self {
            len: 0,
            capacity,
            state: Box::new(state),
        }
    }

    /// Positions held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Positions that fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether no position is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The level's state, if it is of this type.
    pub fn state<T: Any>(&self) -> Option<&T> {
        self.state.downcast_ref()
    }

    /// Forgets all but the first `len` positions: the next token stands after them.
    pub fn rewind(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Makes room for `tokens` more positions and hands out the level's state.
    ///
    /// # Errors
    /// When the capacity is exceeded, or when another level made this cache; it holds what it held.
    pub fn advance<T: Any>(&mut self, tokens: usize) -> Result<&mut T> {
        if self.len + tokens > self.capacity {
            bail!(
                "KV cache: expected at most {} positions, found {} and {tokens} more",
                self.capacity,
                self.len
            )
        }
        let Some(state) = self.state.downcast_mut() else {
            bail!("KV cache: it was made by another level")
        };
        self.len += tokens;
        Ok(state)
    }
}
