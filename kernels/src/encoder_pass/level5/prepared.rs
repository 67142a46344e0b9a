//! The weights as the kernels read them, made once per model, on its device.

use candle_core::{DType, Result, Tensor};
use operands::{EncoderPass, Linear, Norm};

use super::{C, F, HEADS};
use crate::cuda_graph::is_recording;
use crate::launch::is_aligned;

/// A layer that reads norm(x) = (x − mean)/σ ⊙ gain + bias. Its kernel computes (x·w'ᵀ − mean·Σw')/σ + b' for it.
#[derive(Debug)]
pub struct Normed {
    /// w' = w ⊙ gain (N, C), in bf16.
    pub w: Tensor,
    /// Σw' and b' = Σ w ⊙ bias + b of each row: (N, 2), in f32.
    pub constants: Tensor,
    /// Inside σ.
    pub eps: f64,
}

/// A layer as it was loaded.
#[derive(Debug)]
pub struct Plain {
    /// (N, K), in bf16.
    pub w: Tensor,
    /// (N), in f32: zeros if there is none.
    pub b: Tensor,
}

/// A block's layers, in order.
#[derive(Debug)]
pub struct Block {
    pub qkv: Normed,
    pub out: Plain,
    pub up: Normed,
    pub down: Plain,
}

/// Kept by a model: its blocks, or `None` if the kernels cannot read its weights.
struct Prepared(Option<Vec<Block>>);

/// The blocks of the model, made at first use, not while launches are being recorded: a replay would make them again.
pub fn of<'a>(pass: &EncoderPass<'a>) -> Result<Option<&'a [Block]>> {
    let prepared = match pass.prepared.get() {
        Some(prepared) => prepared,
        None if is_recording() => return Ok(None),
        None => {
            let made = Prepared(prepare(pass)?);
            pass.prepared.get_or_init(|| Box::new(made))
        }
    };
    let prepared = prepared.downcast_ref::<Prepared>();
    Ok(prepared.and_then(|Prepared(blocks)| blocks.as_deref()))
}

/// The blocks, or `None` if there are none or a weight is not as the kernels expect it.
pub fn prepare(pass: &EncoderPass) -> Result<Option<Vec<Block>>> {
    let fits = pass.blocks.iter().all(|block| {
        is_layer(block.qkv, 3 * C, C)
            && is_layer(block.out, C, C)
            && is_layer(block.up, F, C)
            && is_layer(block.down, C, F)
            && is_layer_norm(block.norm_before)
            && is_layer_norm(block.norm_after)
    });
    if !fits || pass.blocks.is_empty() || pass.num_heads != HEADS {
        return Ok(None);
    }
    let blocks = pass.blocks.iter().map(|block| {
        Ok(Block {
            qkv: Normed::new(block.norm_before, block.qkv)?,
            out: Plain::new(block.out)?,
            up: Normed::new(block.norm_after, block.up)?,
            down: Plain::new(block.down)?,
        })
    });
    blocks.collect::<Result<_>>().map(Some)
}

/// A weight that stays as it is, in bf16.
fn is_fixed(x: &Tensor) -> bool {
    x.dtype() == DType::BF16 && x.is_contiguous() && !x.is_variable()
}

fn is_layer(Linear { weight, bias }: &Linear, n: usize, k: usize) -> bool {
    let w = weight.tensor();
    let fits = w.dims() == [n, k] && is_fixed(w) && is_aligned(&[w]);
    fits && bias.as_ref().is_none_or(|b| b.dims() == [n] && is_fixed(b))
}

fn is_layer_norm(norm: &Norm) -> bool {
    match norm {
        Norm::Layer { weight, bias, .. } => [weight, bias]
            .iter()
            .all(|x| x.dims() == [C] && is_fixed(x)),
        Norm::Rms { .. } => false,
    }
}

fn f32(x: &Tensor) -> Result<Tensor> {
    x.to_dtype(DType::F32)
}

impl Normed {
    /// The norm is RMSNorm without a bias, or LayerNorm.
    pub fn new(norm: &Norm, layer: &Linear) -> Result<Self> {
        let (gain, bias, eps) = match norm {
            Norm::Layer { weight, bias, eps } => (weight, bias, *eps),
            Norm::Rms { .. } => candle_core::bail!("encoder_pass_level5: expected LayerNorm"),
        };
        let loaded = f32(layer.weight.tensor())?;
        let w = loaded.broadcast_mul(&f32(gain)?)?.to_dtype(DType::BF16)?;
        let mut constant = loaded.broadcast_mul(&f32(bias)?)?.sum(1)?;
        if let Some(b) = &layer.bias {
            constant = (constant + f32(b)?)?;
        }
        let constants = Tensor::stack(&[f32(&w)?.sum(1)?, constant], 1)?;
        Ok(Self { w, constants, eps })
    }
}

impl Plain {
    pub fn new(Linear { weight, bias }: &Linear) -> Result<Self> {
        let w = weight.tensor().clone();
        let b = match bias {
            Some(b) => f32(b)?,
            None => Tensor::zeros(w.dim(0)?, DType::F32, w.device())?,
        };
        Ok(Self { w, b })
    }
}
