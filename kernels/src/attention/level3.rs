//! Level 3: one block per query, its scores in shared memory. The same kernel in CUDA C++: `level3.cu`.

use candle_core::{Result, Tensor};

use super::Params;
use crate::element::by_dtype;
use crate::error::unsupported;
use crate::launch::{Launch, Module, module};
use crate::output;

static F32: Module = module!("attention/level3");
static BF16: Module = module!("attention/level3_bf16");

/// Bytes of shared memory that a block can have on every GPU since Turing.
const SHARED: usize = 64 << 10;

/// Threads of a block, and keys of a tile.
const THREADS: usize = 128;

/// Floats of shared memory for a query and a tile of keys; the scores follow them.
fn query_and_tile(head_dim: usize) -> usize {
    head_dim.next_multiple_of(32) + THREADS * 33
}

/// Keys whose scores fit in shared memory.
pub(super) fn most_keys(head_dim: usize) -> usize {
    (SHARED / size_of::<f32>()).saturating_sub(query_and_tile(head_dim))
}

pub(super) fn launch(params: &Params) -> Result<Tensor> {
    let bytes = size_of::<f32>() * (query_and_tile(params.head_dim) + params.keys);
    if bytes > SHARED {
        let keys = most_keys(params.head_dim);
        let expected = format!("at most {keys} keys, whose scores fit in shared memory");
        let level = if params.head_dim <= 128 { 4 } else { 2 };
        return Err(unsupported(
            "attention_level3",
            expected,
            params.keys,
            level,
        ));
    }
    let shape = (params.batch, params.queries, params.heads * params.head_dim);
    let y = output::tensor(shape, params.q.dtype(), params.q.device())?;
    let (module, entry) = by_dtype(
        "attention_level3",
        params.q.dtype(),
        (&F32, "attention_f32_level3"),
        (&BF16, "attention_bf16_level3"),
    )?;
    let launch = Launch::new(module, entry)
        .grid(params.queries, params.heads, params.batch)
        .block(THREADS, 1, 1)
        .smem(bytes);
    params.arguments(launch).write(&y).launch()?;
    Ok(y)
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};
    use simt::Options;

    use super::*;
    use crate::launch::simulated;
    use crate::testing::{bits, rng, uniform};

    /// `level3.cu`, which no level launches.
    static READING_VERSION: Module = module!("attention/level3", sm_75);

    #[test]
    fn the_reading_version_equals_the_ptx_bit_by_bit() -> Result<()> {
        let mut rng = rng();
        for (batch, t, heads, kv_heads, d) in [
            (1, 1, 1, 1, 1),
            (2, 3, 4, 2, 8),
            (1, 5, 2, 1, 33),
            (1, 2, 1, 1, 64),
            (1, 131, 1, 1, 5),
        ] {
            let device = Device::Cpu;
            let (q, _) = uniform(&mut rng, &[batch, t, heads, d], DType::F32, &device)?;
            let (k, _) = uniform(&mut rng, &[batch, t, kv_heads, d], DType::F32, &device)?;
            let (v, _) = uniform(&mut rng, &[batch, t, kv_heads, d], DType::F32, &device)?;
            let cuda = Tensor::zeros((batch, t, heads * d), DType::F32, &device)?;
            let (ptx, reports) = simulated(Options::default(), || {
                let params = Params::full("attention_level3", &q, &k, &v)?;
                let reading = Launch::new(&READING_VERSION, "attention_f32_level3")
                    .grid(t, heads, batch)
                    .block(THREADS, 1, 1)
                    .smem(size_of::<f32>() * (query_and_tile(d) + t));
                params.arguments(reading).write(&cuda).launch()?;
                launch(&params)
            });
            assert_eq!(
                bits(&cuda)?,
                bits(&ptx?)?,
                "{:?} of {:?}",
                q.dims(),
                k.dims()
            );
            assert!(reports.len() == 2 && reports.iter().all(|r| r.is_clean()));
        }
        Ok(())
    }
}
