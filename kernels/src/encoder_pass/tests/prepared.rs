//! The weights that are made for the pass.

use candle_core::{DType, Device, Result, Tensor, Var};
use operands::{EncoderPass, Linear, Norm};

use super::*;

/// A change of the weights, and what it makes of them.
type Change = (&'static str, fn(&mut Layers) -> Result<()>);

const CHANGES: [Change; 8] = [
    ("another eps", |layers| {
        if let Norm::Layer { eps, .. } = &mut layers.norm_after {
            *eps *= 2.;
        }
        Ok(())
    }),
    ("RMSNorm", |layers| {
        let weight = Tensor::ones(C, DType::BF16, &Device::Cpu)?;
        layers.norm_before = Norm::Rms { weight, eps: EPS };
        Ok(())
    }),
    ("a norm in f32", |layers| {
        if let Norm::Layer { bias, .. } = &mut layers.norm_after {
            *bias = bias.to_dtype(DType::F32)?;
        }
        Ok(())
    }),
    ("a wider MLP", |layers| {
        layers.up = random_linear(&mut rng(), F + 8, C, &Device::Cpu)?;
        Ok(())
    }),
    ("a weight in f32", |layers| {
        let w = layers.down.weight.tensor().to_dtype(DType::F32)?;
        layers.down = Linear::new(w, layers.down.bias.clone());
        Ok(())
    }),
    ("a weight by columns", |layers| {
        let w = layers.out.weight.tensor().t()?;
        layers.out = Linear::new(w, layers.out.bias.clone());
        Ok(())
    }),
    ("an unaligned weight", |layers| {
        let w = behind(layers.qkv.weight.tensor())?;
        layers.qkv = Linear::new(w, layers.qkv.bias.clone());
        Ok(())
    }),
    ("a weight that is trained", |layers| {
        let w = Var::from_tensor(layers.qkv.weight.tensor())?;
        layers.qkv = Linear::new(w.as_tensor().clone(), layers.qkv.bias.clone());
        Ok(())
    }),
];

#[test]
fn weights_decide_whether_the_kernels_can() -> Result<()> {
    let mut layers = model(&mut rng(), BLOCKS, &Device::Cpu)?;
    let x = Tensor::zeros((1, TOKENS, C), DType::BF16, &Device::Cpu)?;
    let prepared = Prepared::new();
    let can = |layers: &[Layers]| {
        Ok::<_, candle_core::Error>(prepare(&pass(&x, layers, &prepared))?.is_some())
    };
    assert!(can(&layers)?);
    assert!(!can(&[])?, "no blocks");
    assert!(!can(&layers[1..])?, "k and v rotate over three buffers");
    let other_heads = EncoderPass {
        num_heads: 2 * HEADS,
        ..pass(&x, &layers, &prepared)
    };
    assert!(prepare(&other_heads)?.is_none());
    for (what, change) in CHANGES {
        let mut changed = layers[0].clone();
        change(&mut changed)?;
        let changed = [layers[0].clone(), changed, layers[2].clone()];
        assert!(!can(&changed)?, "{what}");
    }
    layers[0].qkv.bias = None;
    layers[0].down.bias = None;
    assert!(can(&layers)?, "a bias may be missing");
    Ok(())
}

/// Where the kernel reads element (row, column) of a matrix of a layer: qkv, out, up or down.
fn place(matrix: usize, row: usize, column: usize) -> usize {
    let panel = column / 64;
    let (tile, r) = match matrix {
        0 => (row / 64 * 6 + panel, row % 64),
        2 => (144 + row / 64 * 6 + panel, row % 64),
        _ => {
            // A lane sums 4 neighbouring channels: rows r and r + 8 of tile m, then of tile m + 3.
            let (group, quarter, lane) = (row / 128, row / 32 % 4, row / 4 % 8);
            let (second, half) = (row / 2 % 2, row % 2);
            let first = if matrix == 1 { 108 } else { 288 };
            (
                first + panel * 6 + group + 3 * second,
                16 * quarter + 8 * half + lane,
            )
        }
    };
    tile * 4096 + r * 64 + ((column % 64 / 8) ^ (r % 8)) * 8 + column % 8
}

#[test]
fn the_tiles_have_every_weight_where_the_kernel_reads_it() -> Result<()> {
    let layers = model(&mut rng(), BLOCKS, &Device::Cpu)?;
    let x = Tensor::zeros((1, TOKENS, C), DType::BF16, &Device::Cpu)?;
    let Weights { tiles, kv, .. } =
        prepare(&pass(&x, &layers, &Prepared::new()))?.expect("weights");
    assert_eq!(tiles.dims(), [BLOCKS, LAYER_TILES, 64, 64]);
    for (l, layer) in layers.iter().enumerate() {
        let tiles = host(&tiles.get(l)?)?;
        let mut read = vec![false; tiles.len()];
        let matrices = [&layer.qkv, &layer.out, &layer.up, &layer.down];
        for (m, linear) in matrices.into_iter().enumerate() {
            let w = linear.weight.tensor();
            let columns = w.dim(1)?;
            for (i, w) in host(w)?.into_iter().enumerate() {
                let at = place(m, i / columns, i % columns);
                assert!(tiles[at] == w && !read[at], "layer {l}, {m}: {i}");
                read[at] = true;
            }
        }
        assert!(read.iter().all(|read| *read), "all of the tiles");
    }
    // 7 clusters of 32 tokens, k and v of all channels, three layers.
    assert_eq!(kv.dims(), [3 * 7 * 32 * 2 * C / 2]);
    assert!(kv.to_vec1::<u32>()?.iter().all(|x| *x == u32::MAX));
    Ok(())
}

#[test]
fn the_vectors_are_those_of_the_layers() -> Result<()> {
    let mut layers = model(&mut rng(), BLOCKS, &Device::Cpu)?;
    layers[1].up.bias = None;
    let x = Tensor::zeros((1, TOKENS, C), DType::BF16, &Device::Cpu)?;
    let Weights { vectors, .. } = prepare(&pass(&x, &layers, &Prepared::new()))?.expect("weights");
    for (l, layer) in layers.iter().enumerate() {
        let bias = |of: &Linear, n| of.bias.as_ref().map_or(Ok(vec![0.; n]), host);
        let norm = |of: &Norm| match of {
            Norm::Layer { weight, bias, .. } => Ok([host(weight)?, host(bias)?].concat()),
            Norm::Rms { .. } => candle_core::bail!("expected LayerNorm"),
        };
        let expected = [
            bias(&layer.qkv, 3 * C)?,
            bias(&layer.out, C)?,
            norm(&layer.norm_after)?,
            bias(&layer.up, F)?,
            bias(&layer.down, C)?,
            norm(&layer.norm_before)?,
        ];
        assert_eq!(host(&vectors.get(l)?)?, expected.concat(), "layer {l}");
    }
    Ok(())
}
