//! Operands for which there is no decoder pass.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use operands::{Linear, Norm};

use super::super::level5::{MOST_KEYS, SIZES, Size};
use super::case::{CAPACITY, Case, HEAD};
use crate::attention;
use crate::attention::level5::{Cache, Position};
use crate::launch::is_simulated;
use crate::testing::{behind, devices, rng};

fn other(dtype: DType) -> DType {
    if dtype == DType::F32 {
        DType::BF16
    } else {
        DType::F32
    }
}

/// A cache on the CPU without positions.
fn empty(
    size: &Size,
    capacity: usize,
    dtype: DType,
    position: &Option<Arc<Position>>,
) -> Result<Cache> {
    let inner = attention::Cache::new(1, capacity, size.kv_heads, HEAD, dtype, &Device::Cpu)?;
    Ok(Cache::new(inner, position.clone()))
}

/// A change of a case, and what it makes of it.
type Change = (&'static str, fn(&mut Case) -> Result<()>);

const CHANGES: [Change; 14] = [
    ("two tokens", |case| {
        case.id = Tensor::cat(&[&case.id, &case.id], 1)?;
        Ok(())
    }),
    ("ids of another dtype", |case| {
        case.id = case.id.to_dtype(DType::I64)?;
        Ok(())
    }),
    ("an embedding of another dtype", |case| {
        case.table = case.table.to_dtype(other(case.size.dtype))?;
        Ok(())
    }),
    ("a gain of another dtype", |case| {
        if let Norm::Rms { weight, eps } = case.layers[1].norm_before.clone() {
            let weight = weight.to_dtype(other(weight.dtype()))?;
            case.layers[1].norm_before = Norm::Rms { weight, eps };
        }
        Ok(())
    }),
    ("angles of another dtype", |case| {
        case.sin = case.sin.to_dtype(other(case.size.dtype))?;
        Ok(())
    }),
    ("caches of another dtype", |case| {
        let (dtype, shared) = (other(case.size.dtype), Position::new(&Device::Cpu)?);
        for cache in &mut case.caches {
            *cache = empty(case.size, CAPACITY, dtype, &shared)?;
        }
        Ok(())
    }),
    ("an unaligned embedding", |case| {
        case.table = behind(&case.table)?;
        Ok(())
    }),
    ("a bias", |case| {
        let n = case.layers[1].qkv.weight.tensor().dim(0)?;
        case.layers[1].qkv.bias = Some(Tensor::zeros(n, case.size.dtype, &Device::Cpu)?);
        Ok(())
    }),
    ("LayerNorm", |case| {
        if let Norm::Rms { weight, eps } = case.layers[0].norm_after.clone() {
            let bias = weight.clone();
            case.layers[0].norm_after = Norm::Layer { weight, bias, eps };
        }
        Ok(())
    }),
    ("a weight by columns", |case| {
        let w = case.layers[0].out.weight.tensor().t()?;
        case.layers[0].out = Linear::new(w, None);
        Ok(())
    }),
    ("too few angles", |case| {
        case.cos = case.cos.narrow(0, 0, CAPACITY - 1)?;
        Ok(())
    }),
    ("a full cache", |case| {
        case.position = CAPACITY;
        Ok(())
    }),
    ("a layer without a cache", |case| {
        case.caches.pop();
        Ok(())
    }),
    ("positions of their own", |case| {
        let own = Position::new(&Device::Cpu)?;
        case.caches[1] = empty(case.size, CAPACITY, case.size.dtype, &own)?;
        Ok(())
    }),
];

#[test]
fn operands_decide_whether_there_is_a_decoder_pass() -> Result<()> {
    let mut rng = rng();
    for device in devices().filter(|_| is_simulated()) {
        for size in [&SIZES[0], &SIZES[2]] {
            let mut case = || Case::random(&mut rng, size, (2, 0), &device);
            let mut fine = case()?;
            assert!(fine.is_readable());
            let fits = fine.with(|step, caches| step.fits(&caches.iter().collect::<Vec<_>>()));
            assert!(!fits?, "not in the simulator");
            for (what, change) in CHANGES {
                let mut case = case()?;
                change(&mut case)?;
                assert!(!case.is_readable(), "{}: {what}", size.attend);
            }
            let shared: Option<Arc<Position>> = Position::new(&device)?;
            let long = 2 * MOST_KEYS;
            for (position, is_readable) in [(MOST_KEYS - 1, true), (MOST_KEYS, false)] {
                let mut case = case()?;
                case.position = position;
                case.cos = Tensor::zeros((long, HEAD / 2), size.dtype, &device)?;
                case.sin = case.cos.clone();
                for cache in &mut case.caches {
                    *cache = empty(size, long, size.dtype, &shared)?;
                }
                assert_eq!(case.is_readable(), is_readable, "{position}");
            }
        }
    }
    Ok(())
}
