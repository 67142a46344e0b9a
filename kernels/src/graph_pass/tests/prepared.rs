//! The weights of the kernel for f32: their layout, their exactness, and which are refused.

use candle_core::{DType, Device, Result, Tensor, Var};
use half::f16;
use operands::{Linear, Norm, Weight};

use super::case::Case;
use super::{can, launched, on_cpu, regular};
use crate::testing::host;
use launched::{CHANNELS, GROUPS, HIDDEN, LAYER_TILES, Weights, prepare};

/// Each element of a layer's matrix (n, k), scaled, from where the kernel reads it.
fn read_back(tiles: &[u32], layer: usize, matrix: usize, [n, k]: [usize; 2]) -> Vec<f64> {
    let part = |row: usize, column: usize, low: usize| {
        let (tile, group) = match matrix {
            0 => (row % 128 / 64 * 4 + column / 64 * 2, row / 128),
            1 => (8 + column / 64 * 2, row / 64),
            _ => (12 + column % 128 / 64 * 2, row / 64 + column / 128 * 2),
        };
        let tile = (layer * LAYER_TILES + tile + low) * GROUPS + group;
        let (row, column) = (row % 64, column % 64);
        let byte = tile * 8192 + row * 128 + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2;
        let bits = tiles[byte / 4] >> (byte % 4 * 8);
        f64::from(f16::from_bits(bits as u16))
    };
    let element = |i| part(i / k, i % k, 0) + part(i / k, i % k, 1) / 2048.;
    (0..n * k).map(element).collect()
}

#[test]
fn the_parts_of_weights_give_the_weights() -> Result<()> {
    let case = on_cpu(DType::F32, regular(3, 1), 3)?;
    let Weights { tiles, vectors, .. } = prepare(&case.pass())?.expect("weights");
    let tiles = tiles.flatten_all()?.to_vec1::<u32>()?;
    for (l, block) in case.blocks.iter().enumerate() {
        let vectors = host(&vectors.get(l)?)?;
        let weights = [&block.qkv_skip, &block.up, &block.down];
        // The scale of k, v and skip, and the others' (`Vectors` in `f32.cuh`).
        for (m, (layer, scale)) in weights.into_iter().zip([1025, 1412, 1413]).enumerate() {
            let w = layer.operand.weight.tensor();
            let (n, k) = w.dims2()?;
            let w = host(w)?;
            let most = w.iter().fold(0f64, |most, w| most.max(w.abs()));
            let found = read_back(&tiles, l, m, [n, k]);
            let largest = found.iter().fold(0f64, |most, w| most.max(w.abs()));
            assert!((1. ..2.).contains(&largest), "{largest}");
            for (found, w) in found.iter().zip(&w) {
                let off = (found * vectors[scale] - w).abs();
                assert!(off <= most * 2f64.powi(-22), "layer {l}, {m}: {w} ± {off}");
            }
        }
        let factor = std::f64::consts::LOG2_E / 32f64.sqrt();
        assert!((vectors[1024] / vectors[1025] - factor).abs() < 1e-7 * factor);
    }
    Ok(())
}

/// Element i of tensor t of a layer, without rounding.
fn pattern(t: usize, dims: &[usize], factor: f32) -> Result<Tensor> {
    let element = |i| ((i * 48271 + t * 104_729) % 16_777_213) as f32 / 8_388_608. - 1.;
    let values: Vec<f32> = (0..dims.iter().product())
        .map(|i| element(i) * factor)
        .collect();
    Tensor::from_vec(values, dims, &Device::Cpu)
}

/// FNV-1a of 32-bit words, byte by byte.
fn hash(words: impl IntoIterator<Item = u32>) -> u64 {
    let bytes = words.into_iter().flat_map(u32::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// The program of its own, in C++, with which the kernel was first checked against an oracle on an H200 prepared the same
/// weights; these are the hashes of its bytes.
#[test]
fn the_layout_is_that_of_the_first_program() -> Result<()> {
    let mut case = on_cpu(DType::F32, regular(3, 1), 2)?;
    for (l, block) in case.blocks.iter_mut().enumerate() {
        let norm = |t, norm: &mut Norm| -> Result<()> {
            let Norm::Layer { weight, bias, .. } = norm else {
                panic!("a LayerNorm")
            };
            (*weight, *bias) = (
                pattern(11 * l + t, &[CHANNELS], 1.)?,
                pattern(11 * l + t + 1, &[CHANNELS], 1.)?,
            );
            Ok(())
        };
        norm(0, &mut block.norm1.operand)?;
        norm(2, &mut block.norm2.operand)?;
        let linear = |(w, factor), b, n: usize, k| -> Result<Linear> {
            let bias = pattern(11 * l + b, &[n], 1.)?;
            Ok(Linear::new(
                pattern(11 * l + w, &[n, k], factor)?,
                Some(bias),
            ))
        };
        block.qkv_skip.operand = linear((8, 1.), 4, 4 * CHANNELS, CHANNELS)?;
        block.up.operand = linear((9, 0.37), 5, HIDDEN, CHANNELS)?;
        block.down.operand = linear((10, 40.), 6, CHANNELS, HIDDEN)?;
        block.edge = Weight::new(pattern(11 * l + 7, &[CHANNELS, launched::FEATURES], 1.)?);
    }
    let weights = prepare(&case.pass())?.expect("weights");
    assert_eq!(weights.tiles.dims(), [2, LAYER_TILES, GROUPS, 2048]);
    assert_eq!(weights.vectors.dims(), [2, 3464]);
    let words = |x: &Tensor| -> Result<Vec<u32>> {
        let x = x.flatten_all()?.to_vec1::<f32>()?;
        Ok(x.into_iter().map(f32::to_bits).collect())
    };
    let tiles = weights.tiles.flatten_all()?.to_vec1::<u32>()?;
    assert_eq!(hash(tiles), 0x17bb_328a_21df_9db8);
    assert_eq!(hash(words(&weights.vectors)?), 0x9e1e_ce45_d5aa_b91b);
    let fragments = words(&weights.edge_fragments)?;
    assert_eq!(hash(fragments), 0x5a8a_d93e_7cc4_1add);
    Ok(())
}

/// The same norm whose gain is `gain` at one channel.
pub fn with_gain(norm: &Norm, gain: f32) -> Result<Norm> {
    let Norm::Layer { weight, bias, eps } = norm else {
        panic!("a LayerNorm")
    };
    Ok(Norm::Layer {
        weight: with(weight, gain)?,
        bias: bias.clone(),
        eps: *eps,
    })
}

/// The same tensor with another element in place of the second.
fn with(x: &Tensor, element: f32) -> Result<Tensor> {
    let mut values = x.flatten_all()?.to_vec1::<f32>()?;
    values[1] = element;
    Tensor::from_vec(values, x.shape(), x.device())
}

/// A change of a case, and whether the kernel can compute with it.
type Change = (&'static str, bool, fn(&mut Case) -> Result<()>);

fn bias(layer: &mut Linear, element: f32) -> Result<()> {
    let b = layer.bias.as_ref().expect("a bias");
    *layer = Linear::new(layer.weight.tensor().clone(), Some(with(b, element)?));
    Ok(())
}

fn weight(layer: &mut Linear, change: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<()> {
    *layer = Linear::new(change(layer.weight.tensor())?, layer.bias.clone());
    Ok(())
}

const CHANGES: [Change; 15] = [
    // √128 times these gains is 64488 and 65619.
    ("a large gain", true, |case| {
        let norm = &mut case.blocks[1].norm1.operand;
        *norm = with_gain(norm, -5700.)?;
        Ok(())
    }),
    ("too large a gain", false, |case| {
        let norm = &mut case.blocks[1].norm1.operand;
        *norm = with_gain(norm, -5800.)?;
        Ok(())
    }),
    (
        "too large a gain, with small weights after it",
        false,
        |case| {
            let block = &mut case.blocks[0];
            block.norm2.operand = with_gain(&block.norm2.operand, 5800.)?;
            weight(&mut block.up.operand, Tensor::zeros_like)
        },
    ),
    ("too large a bias of a norm", false, |case| {
        let Norm::Layer { bias, .. } = &mut case.blocks[0].norm2.operand else {
            panic!("a LayerNorm")
        };
        *bias = with(bias, 65504.)?;
        Ok(())
    }),
    ("a large bias", true, |case| {
        bias(&mut case.blocks[0].up.operand, 65000.)
    }),
    ("too large a bias", false, |case| {
        bias(&mut case.blocks[0].up.operand, -65504.)
    }),
    ("large weights before GELU", true, |case| {
        weight(&mut case.blocks[1].up.operand, |w| with(w, 3000.))
    }),
    ("too large weights before GELU", false, |case| {
        weight(&mut case.blocks[1].up.operand, |w| with(w, 9000.))
    }),
    ("large weights after GELU", true, |case| {
        weight(&mut case.blocks[1].down.operand, |w| with(w, 3e38))
    }),
    ("tiny weights", true, |case| {
        weight(&mut case.blocks[1].qkv_skip.operand, |w| w * 1e-39)
    }),
    ("no weights", true, |case| {
        weight(&mut case.blocks[0].down.operand, Tensor::zeros_like)
    }),
    ("an infinite weight", false, |case| {
        weight(&mut case.blocks[1].down.operand, |w| with(w, f32::INFINITY))
    }),
    ("a bias that is NaN", false, |case| {
        bias(&mut case.blocks[1].qkv_skip.operand, f32::NAN)
    }),
    ("an edge's weight that is NaN", false, |case| {
        let edge = &mut case.blocks[0].edge;
        *edge = Weight::new(with(edge.tensor(), f32::NAN)?);
        Ok(())
    }),
    ("a weight that is trained", false, |case| {
        weight(&mut case.blocks[1].up.operand, |w| {
            Ok(Var::from_tensor(w)?.as_tensor().clone())
        })
    }),
];

#[test]
fn weights_decide_whether_the_kernel_can() -> Result<()> {
    for (what, expected, change) in CHANGES {
        let mut case = on_cpu(DType::F32, regular(3, 1), 2)?;
        assert!(prepare(&case.pass())?.is_some());
        change(&mut case)?;
        assert!(can(&case.pass()), "{what}: its operands are as before");
        let weights = prepare(&case.pass())?;
        assert_eq!(weights.is_some(), expected, "{what}");
        if let Some(Weights { tiles, vectors, .. }) = weights {
            let tiles = tiles.flatten_all()?.to_vec1::<u32>()?;
            let finite = |bits: u32| f16::from_bits(bits as u16).is_finite();
            assert!(
                tiles.iter().all(|&x| finite(x) && finite(x >> 16)),
                "{what}"
            );
            assert!(host(&vectors)?.iter().all(|x| x.is_finite()), "{what}");
        }
    }
    let bf16 = on_cpu(DType::BF16, regular(3, 1), 2)?;
    assert!(prepare(&bf16.pass())?.is_none(), "bf16 needs none");
    Ok(())
}
