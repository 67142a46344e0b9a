//! Level 5, causal: the position of a decode step lies in the device's memory, so that a recorded step can be repeated;
//! prompts go to Hopper's own kernel where there is one.

pub mod pick;
pub mod tile_tf32x3;
pub mod tile_wgmma;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use candle_core::{DType, Device, Result, Tensor};

use super::Params;
use super::level4::{self, decode_entry};
use crate::dispatch::Facts;
use crate::error::{mismatch, unsupported};
use crate::graph::is_recording;
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static DECODE: Module = module!("attention/level5/decode", sm_75);

/// A position that kernels read: a number in the device's memory, and what the host knows of it.
#[derive(Debug)]
pub struct Position {
    value: Tensor, // (1) u32
    known: AtomicUsize,
}

impl Position {
    /// None on a CPU, whose loops are told.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(device: &Device) -> Result<Option<Arc<Self>>> {
        if on_cpu(device) {
            return Ok(None);
        }
        Ok(Some(Arc::new(Self {
            value: Tensor::zeros(1, DType::U32, device)?,
            known: AtomicUsize::new(0),
        })))
    }

    /// Makes it `position`, with a launch if it is another.
    ///
    /// # Errors
    /// When it is another and launches are being recorded: each replay would set it back.
    pub fn set(&self, position: usize) -> Result<()> {
        if self.known.load(Relaxed) == position {
            return Ok(());
        }
        if is_recording() {
            let found = format!("{position}, which no kernel has set");
            return Err(mismatch("position_set_level5", "a known position", found));
        }
        let launch = Launch::new(&DECODE, "position_set_level5").block(1, 1, 1);
        launch.write(&self.value).u32(position).run()?;
        self.known.store(position, Relaxed);
        Ok(())
    }

    /// Launches the kernel that adds `tokens`. Recorded, it adds them at each replay, of which
    /// [`advanced`](Self::advanced) tells the host.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn advance(&self, tokens: usize) -> Result<()> {
        let launch = Launch::new(&DECODE, "position_advance_level5").block(1, 1, 1);
        let launch = launch.read(&self.value).write(&self.value);
        launch.u32(tokens).run()?;
        if !is_recording() {
            self.advanced(tokens);
        }
        Ok(())
    }

    /// A replay has added `tokens`.
    pub fn advanced(&self, tokens: usize) {
        self.known.fetch_add(tokens, Relaxed);
    }

    /// What the device holds.
    ///
    /// # Errors
    /// When the driver does not answer.
    pub fn read(&self) -> Result<usize> {
        Ok(self.value.to_vec1::<u32>()?[0] as usize)
    }
}

/// Keys and values of one layer, and the position that all layers share.
pub struct Cache {
    inner: super::Cache,
    position: Option<Arc<Position>>,
}

/// A cache whose next tokens stand at a position that the device knows.
pub struct At<'a> {
    pub(crate) cache: &'a mut super::Cache,
    /// What the device holds; for checks on the host, not for launches.
    pub(crate) host: usize,
    pub(crate) position: &'a Tensor,
}

impl Cache {
    /// Around level 4's.
    pub fn new(inner: super::Cache, position: Option<Arc<Position>>) -> Self {
        Self { inner, position }
    }

    /// Level 4's.
    pub fn inner(&mut self) -> &mut super::Cache {
        &mut self.inner
    }

    /// The position that the layers share; none on a CPU.
    pub fn position(&self) -> Option<&Arc<Position>> {
        self.position.as_ref()
    }

    /// The number of positions up to which a step that is recorded with `keys` of them may be repeated: the next
    /// power of two, for a doubling of the keys is worth other launches.
    pub fn bucket(&self, keys: usize) -> usize {
        bucket(keys, self.inner.capacity)
    }

    /// For a few queries on a GPU, of heads that level 4's decode can read: the position is in the device's
    /// memory from here on. Otherwise none: the launches have to be told.
    ///
    /// # Errors
    /// When there is none and launches are being recorded: a replay would write over the same position.
    pub fn on_device(&mut self, q: &Tensor, position: usize) -> Result<Option<At<'_>>> {
        let (_, tokens, _, d) = q.dims4()?;
        let vector = 16 / self.inner.dtype.size_in_bytes();
        let able = tokens <= level4::FEW && d <= 128 && d.is_multiple_of(vector);
        match &self.position {
            Some(shared) if able => {
                shared.set(position)?;
                Ok(Some(At {
                    cache: &mut self.inner,
                    host: position,
                    position: &shared.value,
                }))
            }
            Some(_) if is_recording() && position > 0 => {
                let expected = format!("up to {} tokens of D = {vector}·n ≤ 128", level4::FEW);
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

/// Of fewer keys than this there is one split, and a step is the same for all.
const LEAST: usize = 256;

fn bucket(keys: usize, capacity: usize) -> usize {
    keys.next_power_of_two().max(LEAST).min(capacity)
}

/// softmax(q·kᵀ/√D)·v over the keys up to each query's own: q (B, T, H, D), T up to 4, → (B, T, H·D)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn causal_attention(q: &Tensor, at: &At) -> Result<Tensor> {
    const KERNEL: &str = "causal_attention_level5";
    let _span = trace::span(KERNEL);
    let params = |q| Params::causal(KERNEL, q, at.cache, at.host);
    let copy;
    let mut x = params(q)?;
    if !x.is_whole() {
        copy = q.force_contiguous()?; // which begins on 16 bytes, as the cache does
        x = params(&copy)?;
    }
    let y = output::tensor(
        (x.batch, x.queries, x.heads * x.head_dim),
        q.dtype(),
        q.device(),
    )?;
    let keys = bucket(x.keys, at.cache.capacity);
    level4::splits(&x, &y, keys, |split| {
        let entry = decode_entry(x.head_dim, split.rows, y.dtype(), "level5")?;
        let launch = Launch::new(&DECODE, entry).grid(split.count, split.blocks, x.batch);
        let launch = x.arguments(launch.block(level4::THREADS, 1, 1));
        let launch = launch.write(&y).u32(split.keys);
        launch.write_or_null(split.partial).read(at.position).run()
    })?;
    Ok(y)
}

/// A kernel of this level for tiles of many queries.
struct Own {
    name: &'static str,
    can: fn(&Facts, DType, usize) -> bool,
    run: fn(&Params) -> Result<Tensor>,
}

const OWN: [Own; 2] = [
    Own {
        name: tile_wgmma::KERNEL,
        can: tile_wgmma::can,
        run: tile_wgmma::run,
    },
    Own {
        name: tile_tf32x3::KERNEL,
        can: tile_tf32x3::can,
        run: tile_tf32x3::run,
    },
];

/// softmax(q·kᵀ/√D)·v of a prompt, over the keys `0..=position + t` of the cache: q (B, T, H, D) → (B, T, H·D). By
/// this level's own kernels, of bf16 on a Hopper and of f32 on tensor cores, where they can, else by level 4's; a
/// span says which.
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn prompt_attention(q: &Tensor, cache: &super::Cache, position: usize) -> Result<Tensor> {
    let (_, tokens, _, d) = q.dims4()?;
    let (facts, dtype) = (Facts::of(q.device())?, q.dtype());
    let why = || format!("{tokens} tokens in {} of D = {d}", dtype.as_str());
    let can = |own: &&Own| tokens > level4::FEW && (own.can)(facts, dtype, d);
    if let Some(own) = OWN.iter().find(can) {
        let x = Params::causal(own.name, q, cache, position)?;
        if x.is_whole() {
            let _span = trace::span_because(own.name, why);
            return (own.run)(&x);
        }
    }
    let _span = trace::span_because("causal_attention_level4", why);
    level4::causal_attention(q, cache, position)
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
