//! The keys and values of one layer, written in place.

use std::any::Any;
use std::sync::OnceLock;

use candle_core::{DType, Device, Result, Tensor};

use super::cpu::Slots;
use crate::cuda_graph::is_recording;
use crate::element::{Element, no_kernel};
use crate::error::mismatch;
use crate::launch::on_cpu;
use crate::output;

/// Room for the keys and values of `capacity` positions: (B, Hkv, capacity, D) on a GPU, in blocks of keys on a CPU.
///
/// `rope_append` writes them and `causal_attention` of the same level reads them. Positions that were not written
/// never count: a kernel of level 5 may load them early, and leaves them out.
pub struct Cache {
    /// B
    pub batch: usize,
    /// Maximum number of positions.
    pub capacity: usize,
    /// Hkv
    pub kv_heads: usize,
    /// D
    pub head_dim: usize,
    /// Dtype of keys and values.
    pub dtype: DType,
    store: Store,
    tickets: OnceLock<Tensor>,
}

/// Counters for each key head of each sequence: a launch whose blocks join their parts has one for each row of its grid.
pub(super) const TICKETS_PER_HEAD: usize = 64;

enum Store {
    /// On a GPU, where kernels write to the memory of a tensor.
    Tensors { keys: Tensor, values: Tensor },
    /// On a CPU: [`Slots`] of the element type.
    Host(Box<dyn Any + Send + Sync>),
}

fn host<T: Element>(batch: usize, capacity: usize, kv_heads: usize, head_dim: usize) -> Store {
    Store::Host(Box::new(Slots::<T>::new(
        batch, capacity, kv_heads, head_dim,
    )))
}

impl Cache {
    /// An empty cache: its memory is taken now, and written as tokens come.
    ///
    /// # Errors
    /// When the dtype is neither f32 nor bf16, or there is not enough memory.
    pub fn new(
        batch: usize,
        capacity: usize,
        kv_heads: usize,
        head_dim: usize,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let shape = (batch, kv_heads, capacity, head_dim);
        let store = match (on_cpu(device), dtype) {
            (true, DType::F32) => host::<f32>(batch, capacity, kv_heads, head_dim),
            (true, DType::BF16) => host::<half::bf16>(batch, capacity, kv_heads, head_dim),
            (_, DType::F32 | DType::BF16) => Store::Tensors {
                keys: output::tensor(shape, dtype, device)?,
                values: output::tensor(shape, dtype, device)?,
            },
            (_, other) => return Err(no_kernel("cache", other)),
        };
        Ok(Self {
            batch,
            capacity,
            kv_heads,
            head_dim,
            dtype,
            store,
            tickets: OnceLock::new(),
        })
    }

    /// Ticket counters in the memory of a GPU, [`TICKETS_PER_HEAD`] for each key head of each sequence: 0 between launches.
    ///
    /// # Errors
    /// When there is no memory, or on the first call, if launches are being recorded: a replay would set the counters.
    pub(super) fn tickets(&self) -> Result<&Tensor> {
        if let Some(tickets) = self.tickets.get() {
            return Ok(tickets);
        }
        if is_recording() {
            let expected = "a step of this cache before the recording";
            return Err(mismatch("tickets", expected, "none"));
        }
        let (keys, _) = self.tensors()?;
        let count = self.batch * self.kv_heads * TICKETS_PER_HEAD;
        let zeros = Tensor::zeros(count, DType::U32, keys.device())?;
        Ok(self.tickets.get_or_init(|| zeros))
    }

    /// Keys and values on a GPU, both (B, Hkv, capacity, D).
    pub(crate) fn tensors(&self) -> Result<(&Tensor, &Tensor)> {
        match &self.store {
            Store::Tensors { keys, values } => Ok((keys, values)),
            Store::Host(_) => Err(mismatch("cache", "one on a GPU", "one on the CPU")),
        }
    }

    /// Keys and values on a CPU.
    pub(crate) fn slots<T: Element>(&self) -> Result<&Slots<T>> {
        match &self.store {
            Store::Host(slots) => slots.downcast_ref().ok_or_else(|| self.other_dtype::<T>()),
            Store::Tensors { .. } => Err(mismatch("cache", "one on the CPU", "one on a GPU")),
        }
    }

    /// Keys and values on a CPU, to write.
    pub(crate) fn slots_mut<T: Element>(&mut self) -> Result<&mut Slots<T>> {
        let other_dtype = self.other_dtype::<T>();
        match &mut self.store {
            Store::Host(slots) => slots.downcast_mut().ok_or(other_dtype),
            Store::Tensors { .. } => Err(mismatch("cache", "one on the CPU", "one on a GPU")),
        }
    }

    /// Checks that `position..position + tokens` lies within the capacity, and that `x` has the cache's dtype.
    pub(crate) fn check(
        &self,
        kernel: &str,
        x: &Tensor,
        position: usize,
        tokens: usize,
    ) -> Result<()> {
        if position + tokens > self.capacity {
            let found = format!("{position} and {tokens} more");
            let expected = format!("at most {} positions", self.capacity);
            return Err(mismatch(kernel, expected, found));
        }
        if x.dtype() != self.dtype {
            let expected = format!("{}, as the cache", self.dtype.as_str());
            return Err(mismatch(kernel, expected, x.dtype().as_str()));
        }
        Ok(())
    }

    /// Keys and values on the host, both (B, Hkv, capacity, D).
    #[cfg(test)]
    pub(crate) fn host(&self) -> Result<(Tensor, Tensor)> {
        fn copies<T: Element>(cache: &Cache) -> Result<(Tensor, Tensor)> {
            let shape = (cache.batch, cache.kv_heads, cache.capacity, cache.head_dim);
            let (keys, values) = cache.slots::<T>()?.rows(cache.capacity);
            let tensor = |x| Tensor::from_vec(x, shape, &Device::Cpu);
            Ok((tensor(keys)?, tensor(values)?))
        }
        match &self.store {
            Store::Tensors { keys, values } => Ok((keys.clone(), values.clone())),
            Store::Host(_) => crate::element::by_element!("cache", self.dtype, copies(self)),
        }
    }

    fn other_dtype<T: Element>(&self) -> candle_core::Error {
        mismatch("cache", self.dtype.as_str(), T::DTYPE.as_str())
    }
}
