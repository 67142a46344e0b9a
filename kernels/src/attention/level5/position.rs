//! The position of a decode step in the device's memory, and the cache whose next tokens stand there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use candle_core::{DType, Device, Result, Tensor};

use crate::attention;
use crate::attention::level4::MAX_DECODE_QUERIES;
use crate::attention::level4::decode::TARGET_KEYS_PER_SPLIT;
use crate::cuda_graph::is_recording;
use crate::error::{mismatch, unsupported};
use crate::launch::{Launch, Module, module, on_cpu};

static MODULE: Module = module!("attention/level5/position", sm_75, sm_90);

/// A position that kernels read: a number in the device's memory, and what the host knows of it.
#[derive(Debug)]
pub struct Position {
    value: Tensor, // (1) u32
    on_host: AtomicUsize,
}

impl Position {
    /// Position 0. None on a CPU, whose loops take the position as an argument.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(device: &Device) -> Result<Option<Arc<Self>>> {
        if on_cpu(device) {
            return Ok(None);
        }
        Ok(Some(Arc::new(Self {
            value: Tensor::zeros(1, DType::U32, device)?,
            on_host: AtomicUsize::new(0),
        })))
    }

    /// Makes it `position`. Launches a kernel only if it is another.
    ///
    /// # Errors
    /// When it is another and launches are being recorded: each replay would set it back.
    pub fn set(&self, position: usize) -> Result<()> {
        if self.on_host.load(Relaxed) == position {
            return Ok(());
        }
        if is_recording() {
            let found = format!("{position}, which no kernel has set");
            return Err(mismatch("position_set_level5", "a known position", found));
        }
        let set = Launch::new(&MODULE, "position_set_level5").block(1, 1, 1);
        set.write(&self.value).u32(position).launch()?;
        self.on_host.store(position, Relaxed);
        Ok(())
    }

    /// Launches the kernel that adds `tokens`. A recorded launch adds them at each replay, and the caller then calls
    /// [`note_advanced`](Self::note_advanced).
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn advance(&self, tokens: usize) -> Result<()> {
        let advance = Launch::new(&MODULE, "position_advance_level5").block(1, 1, 1);
        let advance = advance.programmatic().read(&self.value).write(&self.value);
        advance.u32(tokens).launch()?;
        self.note_launched(tokens);
        Ok(())
    }

    /// The position as launches read it: (1) u32. After a launch that adds to it, the caller calls
    /// [`note_launched`](Self::note_launched).
    pub fn value(&self) -> &Tensor {
        &self.value
    }

    /// Notes on the host that a launch adds `tokens`. A recorded launch adds them at each replay, not now.
    pub fn note_launched(&self, tokens: usize) {
        if !is_recording() {
            self.note_advanced(tokens);
        }
    }

    /// Notes on the host that a replay has added `tokens`.
    pub fn note_advanced(&self, tokens: usize) {
        self.on_host.fetch_add(tokens, Relaxed);
    }

    /// Reads the position back from the device.
    ///
    /// # Errors
    /// When the driver does not answer.
    pub fn read(&self) -> Result<usize> {
        Ok(self.value.to_vec1::<u32>()?[0] as usize)
    }
}

/// Keys and values of one layer, and the position that all layers share.
pub struct Cache {
    inner: attention::Cache,
    position: Option<Arc<Position>>,
}

/// A cache, and the position of its next tokens in the device's memory.
pub struct PositionedCache<'a> {
    pub(crate) inner: &'a mut attention::Cache,
    /// The position as launches read it: (1) u32.
    pub(crate) position: &'a Tensor,
    /// The same position, for checks on the host.
    pub(crate) host_position: usize,
}

impl PositionedCache<'_> {
    /// Positions up to which launches for `keys` keys are the same.
    pub(super) fn bucket(&self, keys: usize) -> usize {
        bucket(keys, self.inner.capacity)
    }
}

impl Cache {
    /// A cache around level 4's, at a position that other layers may share.
    pub fn new(inner: attention::Cache, position: Option<Arc<Position>>) -> Self {
        Self { inner, position }
    }

    /// Returns level 4's cache.
    pub fn inner(&mut self) -> &mut attention::Cache {
        &mut self.inner
    }

    /// Level 4's cache, to read.
    pub(crate) fn inner_ref(&self) -> &attention::Cache {
        &self.inner
    }

    /// The position that the layers share; none on a CPU.
    pub fn position(&self) -> Option<&Arc<Position>> {
        self.position.as_ref()
    }

    /// Number of positions up to which a step that is recorded with `keys` keys may be repeated: the next power of two,
    /// because twice as many keys are worth another recording with more splits.
    pub fn bucket(&self, keys: usize) -> usize {
        bucket(keys, self.inner.capacity)
    }

    /// Sets the position on the device and returns the cache at it; `None` on a CPU.
    ///
    /// # Errors
    /// As [`Position::set`].
    pub(crate) fn at(&mut self, position: usize) -> Result<Option<PositionedCache<'_>>> {
        let Some(shared) = &self.position else {
            return Ok(None);
        };
        shared.set(position)?;
        Ok(Some(PositionedCache {
            inner: &mut self.inner,
            position: &shared.value,
            host_position: position,
        }))
    }

    /// For a few queries on a GPU, with heads that the decode kernels can read: sets the position on the device and
    /// returns the cache at it. Otherwise returns `None`, and the position has to be an argument of the launches.
    ///
    /// # Errors
    /// When there is none and launches are being recorded: a replay would write over the same position.
    pub fn on_device(
        &mut self,
        q: &Tensor,
        position: usize,
    ) -> Result<Option<PositionedCache<'_>>> {
        let (_, tokens, _, d) = q.dims4()?;
        let per_16_bytes = 16 / self.inner.dtype.size_in_bytes();
        let can_decode = tokens <= MAX_DECODE_QUERIES && d <= 128 && d.is_multiple_of(per_16_bytes);
        match &self.position {
            Some(_) if can_decode => self.at(position),
            Some(_) if is_recording() && position > 0 => {
                let expected =
                    format!("up to {MAX_DECODE_QUERIES} tokens of D = {per_16_bytes}·n ≤ 128");
                let found = format!("{tokens} of {d}");
                Err(unsupported(
                    "a recorded causal_attention_level5",
                    expected,
                    found,
                    4,
                ))
            }
            _ => Ok(None),
        }
    }
}

/// The first bucket has the keys of one split.
fn bucket(keys: usize, capacity: usize) -> usize {
    let power = keys.next_power_of_two();
    power.max(TARGET_KEYS_PER_SPLIT).min(capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_at_a_power_of_two_or_with_the_cache() {
        let buckets = [1, 256, 257, 512, 513, 999, 1000].map(|keys| bucket(keys, 1000));
        assert_eq!(buckets, [256, 256, 512, 512, 1000, 1000, 1000]);
        assert_eq!(bucket(1, 7), 7);
    }
}
