//! The operands and results of a call that kernels leave to candle's operations or Rust code.

use candle_core::Tensor;
use kernels::launch::TouchedBytes;
use models::{Linear, Norm};

use super::Call;

/// A method needs every element of most operands. Of the rows of a table, and of the nodes of a graph, some are in no
/// result, so that reading a part of them is enough.
const PART: u64 = 4;

/// A named operand, and the bytes of it that a kernel has to read.
struct Needed<'c>(&'static str, &'c Tensor, u64);

fn bytes(x: &Tensor) -> u64 {
    (x.elem_count() * x.dtype().size_in_bytes()) as u64
}

fn whole<'c>(name: &'static str, x: &'c Tensor) -> Needed<'c> {
    Needed(name, x, bytes(x))
}

fn part<'c>(name: &'static str, x: &'c Tensor) -> Needed<'c> {
    Needed(name, x, bytes(x) / PART)
}

fn linear<'c>(name: &'static str, w: &'c Linear) -> impl Iterator<Item = Needed<'c>> {
    let bias = w.bias.as_ref().map(|bias| whole("the bias", bias));
    [whole(name, w.weight.tensor())].into_iter().chain(bias)
}

fn normed<'c>(x: &'c Tensor, norm: &'c Norm) -> impl Iterator<Item = Needed<'c>> {
    let (weight, bias) = match norm {
        Norm::Rms { weight, .. } => (weight, None),
        Norm::Layer { weight, bias, .. } => (weight, Some(whole("the norm's bias", bias))),
    };
    [whole("x", x), whole("the norm's weight", weight)]
        .into_iter()
        .chain(bias)
}

/// The operands that every way to compute a method has to read: not a graph's lists, which say the same in several ways,
/// nor the table of angles, which a kernel can compute.
fn operands(call: &Call) -> Vec<Needed<'_>> {
    match call {
        Call::Embedding(ids, w) => vec![whole("ids", ids), part("w", w.tensor())],
        Call::PatchEmbed(pixels, patch, class, positions) => {
            let others = [
                whole("pixels", pixels),
                whole("class", class),
                whole("positions", positions),
            ];
            others.into_iter().chain(linear("patch", patch)).collect()
        }
        Call::Linear(x, w) => [whole("x", x)].into_iter().chain(linear("w", w)).collect(),
        Call::NormLinear(x, norm, w)
        | Call::NormQkv(x, norm, w, _)
        | Call::NormQkvSkip(x, norm, w, _) => normed(x, norm).chain(linear("w", w)).collect(),
        Call::NormSwiglu(x, norm, w) => normed(x, norm).chain(linear("gate_up", w)).collect(),
        Call::NormGelu(x, norm, w) => normed(x, norm).chain(linear("up", w)).collect(),
        Call::LinearResidual(x, w, residual) => [whole("x", x), whole("residual", residual)]
            .into_iter()
            .chain(linear("w", w))
            .collect(),
        Call::Causal(steps, ..) => steps
            .iter()
            .flat_map(|[q, k, v]| [whole("q", q), whole("k", k), whole("v", v)])
            .collect(),
        Call::Attention([q, k, v]) => vec![whole("q", q), whole("k", k), whole("v", v)],
        Call::Edges {
            qkv: [q, k, v],
            skip,
            residual,
            edges,
            w,
            ..
        } => vec![
            part("q", q),
            part("k", k),
            part("v", v),
            whole("skip", skip),
            whole("residual", residual),
            whole("edges", edges),
            whole("w", w.tensor()),
        ],
        Call::SegmentMean(x, _) => vec![whole("x", x)],
        Call::NextToken(logits, _) => vec![whole("logits", logits)],
    }
}

/// The first operand that kernels do not read, or else result that they do not write, and how much of it they did.
pub fn left(call: &Call, results: &[Tensor], touched: &TouchedBytes) -> Option<String> {
    let unread = operands(call)
        .into_iter()
        .find_map(|Needed(name, x, needed)| {
            let (read, all) = (touched.read(x), bytes(x));
            let line = || {
                format!(
                    "kernels that read all operands, found {read} of {all} bytes of {name} read"
                )
            };
            (read < needed).then(line)
        });
    // The next token is a number on the host.
    let results = match call {
        Call::NextToken(..) => &[],
        _ => results,
    };
    let unwritten = |(i, y): (usize, &Tensor)| {
        let (written, all) = (touched.written(y), bytes(y));
        let which = match results.len() {
            1 => "the result".to_owned(),
            _ => format!("result {i}"),
        };
        let line = || {
            format!(
                "kernels that write all results, found {written} of {all} bytes of {which} written"
            )
        };
        if written < all {
            return Some(line());
        }
        // A result that cannot be compared is not what a launch wrote.
        let changed = touched.overwritten(y).unwrap_or(all);
        (changed > 0).then(|| {
            format!(
                "kernels that write all results, found {changed} of {all} bytes of {which} overwritten by other code"
            )
        })
    };
    unread.or_else(|| results.iter().enumerate().find_map(unwritten))
}

#[cfg(test)]
mod tests {
    use candle_core::{CpuStorage, DType, Device, InplaceOp1, Layout, Result, Tensor};
    use kernels::launch::touched;
    use simt::Options;

    use super::super::{Draw, ODD};
    use super::*;

    /// Level 3 computes these methods with kernels alone, and none of its kernels needs another form of a weight.
    #[test]
    fn kernels_from_end_to_end_leave_nothing() -> Result<()> {
        let Some(level3) = levels::level(3) else {
            candle_core::bail!("expected level 3, found none");
        };
        let all = [
            "embedding",
            "patch_embed",
            "linear",
            "norm_linear",
            "norm_qkv",
            "norm_qkv_skip",
            "causal_attention",
            "attention",
            "edge_attention",
            "linear_residual",
            "norm_swiglu",
            "norm_gelu",
            "segment_mean",
        ];
        for method in all {
            let call = Draw::new(1, DType::F32, &Device::Cpu).call(method, ODD[2], 0)?;
            let (results, _, touched) = touched(Options::default(), || call.run(&*level3));
            assert_eq!(left(&call, &results?, &touched), None, "{method}");
        }
        Ok(())
    }

    #[test]
    fn what_candle_reads_or_writes_is_named() -> Result<()> {
        let (Some(level1), Some(level3)) = (levels::level(1), levels::level(3)) else {
            candle_core::bail!("expected levels 1 and 3, found none");
        };
        let call = Draw::new(1, DType::F32, &Device::Cpu).call("linear", ODD[3], 0)?;
        let of = |run: &dyn Fn() -> Result<Vec<Tensor>>| -> Result<_> {
            let (results, _, touched) = touched(Options::default(), run);
            Ok(left(&call, &results?, &touched))
        };
        let candle = of(&|| call.run(&*level1))?;
        let expected = "kernels that read all operands, found 0 of 4096 bytes of x read";
        assert_eq!(candle.as_deref(), Some(expected));
        let copied = of(&|| {
            let results = call.run(&*level3)?;
            results.iter().map(|y| y + 0.).collect()
        })?;
        let expected =
            "kernels that write all results, found 0 of 4096 bytes of the result written";
        assert_eq!(copied.as_deref(), Some(expected));
        Ok(())
    }

    /// Overwrites a number of a tensor, as Rust code can.
    struct Overwrite(f32);

    impl InplaceOp1 for Overwrite {
        fn name(&self) -> &'static str {
            "overwrite"
        }

        fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
            let CpuStorage::F32(y) = storage else {
                candle_core::bail!("expected f32");
            };
            y[layout.start_offset()] = self.0;
            Ok(())
        }
    }

    /// A kernel that computes nothing could read and write everything before Rust code puts the results there.
    #[test]
    fn what_rust_overwrites_after_a_launch_is_named() -> Result<()> {
        let Some(level3) = levels::level(3) else {
            candle_core::bail!("expected level 3, found none");
        };
        let call = Draw::new(1, DType::F32, &Device::Cpu).call("linear", ODD[3], 0)?;
        let of = |write: Option<f32>| -> Result<_> {
            let (results, _, touched) = touched(Options::default(), || {
                let results = call.run(&*level3)?;
                if let Some(x) = write {
                    results[0].inplace_op1(&Overwrite(x))?;
                }
                Ok::<_, candle_core::Error>(results)
            });
            Ok(left(&call, &results?, &touched))
        };
        assert_eq!(of(None)?, None);
        let found = of(Some(f32::from_bits(u32::MAX)))?.unwrap_or_default();
        let line = " of 4096 bytes of the result overwritten by other code";
        assert!(
            found.starts_with("kernels that write all results, found ") && found.ends_with(line),
            "{found}"
        );
        Ok(())
    }
}
