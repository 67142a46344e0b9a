//! The operands and results of a call that kernels leave to candle's operations or Rust code.

use candle_core::{DType, Tensor};
use kernels::launch::Repeated;
use models::{Linear, Norm};

use super::super::check::difference;
use super::super::child::Output;
use super::super::oracle::Expected;
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

/// A list or a table that says the same as others, or that a kernel can compute.
fn spare<'c>(name: &'static str, x: &'c Tensor) -> Needed<'c> {
    Needed(name, x, 0)
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

/// The tensors of a call, in the same order for all calls of a method.
pub fn tensors(call: &Call) -> Vec<&Tensor> {
    let all = operands(call).into_iter();
    all.map(|Needed(_, x, _)| x).collect()
}

/// All operands.
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
        Call::Causal(steps, rope, _) => steps
            .iter()
            .flat_map(|[q, k, v]| [whole("q", q), whole("k", k), whole("v", v)])
            .chain([spare("cos", &rope.cos), spare("sin", &rope.sin)])
            .collect(),
        Call::Attention([q, k, v]) => vec![whole("q", q), whole("k", k), whole("v", v)],
        Call::Edges {
            qkv: [q, k, v],
            skip,
            residual,
            edges,
            w,
            graph,
        } => vec![
            part("q", q),
            part("k", k),
            part("v", v),
            whole("skip", skip),
            whole("residual", residual),
            whole("edges", edges),
            whole("w", w.tensor()),
            spare("row_ptr", &graph.row_ptr),
            spare("col_idx", &graph.col_idx),
            spare("row_idx", &graph.row_idx),
        ],
        Call::SegmentMean(x, segments) => vec![
            whole("x", x),
            spare("offsets", &segments.offsets),
            spare("index", &segments.index),
            spare("inverse_count", &segments.inverse_count),
        ],
        Call::NextToken(logits, _) => vec![whole("logits", logits)],
    }
}

/// Work that the kernels of a call leave to other code: the first operand that they do not read, or else result that they
/// do not write or compute. They were repeated on the operands of `call`, which the method has not seen.
pub fn left(call: &Call, expected: &[Expected], repeated: &Repeated) -> Option<String> {
    let unread = |(i, Needed(name, x, needed)): (usize, Needed)| {
        let (read, all) = (repeated.read(i), bytes(x));
        let line = || {
            format!("kernels that read all operands, found {read} of {all} bytes of {name} read")
        };
        (read < needed).then(line)
    };
    let unread = operands(call).into_iter().enumerate().find_map(unread);
    unread.or_else(|| uncomputed(call, expected, repeated, DType::F32))
}

/// The result of a call in `dtype` that the kernels did not compute. A token that is drawn is the host's choice.
pub fn uncomputed(
    call: &Call,
    expected: &[Expected],
    repeated: &Repeated,
    dtype: DType,
) -> Option<String> {
    match call {
        Call::NextToken(_, temperature) if *temperature > 0. => None,
        Call::NextToken(..) => without_token(expected, repeated),
        _ => unwritten(expected, repeated, dtype),
    }
}

/// Maximum bytes of the memory that the token is written to, so that a kernel cannot write all tokens.
const OF_TOKEN: usize = 64;

/// The next token is a number that the host reads from what the last kernel wrote.
fn without_token(expected: &[Expected], repeated: &Repeated) -> Option<String> {
    let token = *expected.first()?.values.first()? as u32;
    let is_token = |word: u32| word == token || word == (token as f32).to_bits();
    let found = repeated.last_words(OF_TOKEN).any(is_token);
    (!found).then(|| {
        format!(
            "kernels that write the token as u32 or f32, the last one to memory of at most {OF_TOKEN} bytes, found none that \
             did for other logits"
        )
    })
}

fn unwritten(expected: &[Expected], repeated: &Repeated, dtype: DType) -> Option<String> {
    let bytes = dtype.size_in_bytes() as u64;
    let mut found = vec![];
    for (i, result) in expected.iter().enumerate() {
        let (written, all) = (repeated.written(i), bytes * result.values.len() as u64);
        let Some((shape, values)) = repeated.result(i).filter(|_| written >= all) else {
            let which = match expected.len() {
                1 => "the result".to_owned(),
                _ => format!("result {i}"),
            };
            return Some(format!(
                "kernels that write all results, found {written} of {all} bytes of {which} written"
            ));
        };
        let bits = values.iter().map(|y| f64::from(*y).to_bits());
        found.push(Output {
            shape: shape.to_vec(),
            dtype: dtype.as_str().into(),
            bits: bits.collect(),
        });
    }
    let fault = repeated.reports.iter().find_map(|r| r.findings.first());
    let fault = fault.map(ToString::to_string);
    let line = difference(expected, &found, dtype).or(fault)?;
    Some(format!(
        "kernels that compute the results, found that they do not on other operands ({line})"
    ))
}

#[cfg(test)]
mod tests {
    use candle_core::{CpuStorage, Device, InplaceOp1, Layout, Result, bail};
    use kernels::launch::Sequence;
    use models::Weight;

    use super::super::super::child::{all, draw, observe, unseen};
    use super::super::super::oracle::expected;
    use super::*;

    fn level(number: u8) -> Result<levels::Level> {
        let found = levels::level(number);
        found.map_or_else(|| bail!("expected level {number}, found none"), Ok)
    }

    /// Work that the kernels of `run` leave to other code, in the call that is counted.
    fn of(method: &str, run: impl Fn(&Call) -> Result<Vec<Tensor>>) -> anyhow::Result<String> {
        let call = draw(method, 0, all().len() - 1)?;
        let ran = observe(&call, || run(&call))?;
        assert_eq!(ran.error, None, "{method}");
        let text = serde_json::to_string(&ran.sequence)?;
        let sequence: Sequence = serde_json::from_str(&text)?;
        let other = unseen(method, 0, all().len() - 1)?;
        let repeated = sequence.repeat(&tensors(&other), Default::default())?;
        Ok(left(&other, &expected(&other)?, &repeated).unwrap_or_default())
    }

    /// Level 3 computes these methods with kernels alone, and none of its kernels needs another form of a weight.
    #[test]
    fn kernels_from_end_to_end_leave_nothing() -> anyhow::Result<()> {
        let level3 = level(3)?;
        for method in levels::OPS {
            if *method != "next_token" {
                assert_eq!(of(method, |call| call.run(&*level3))?, "", "{method}");
            }
        }
        Ok(())
    }

    #[test]
    fn candles_reads_and_writes_are_named() -> anyhow::Result<()> {
        let (level1, level3) = (level(1)?, level(3)?);
        let candle = of("linear", |call| call.run(&*level1))?;
        let line = "kernels that read all operands, found 0 of 32768 bytes of x read";
        assert_eq!(candle, line);
        let copied = of("linear", |call| {
            let results = call.run(&*level3)?;
            results.iter().map(|y| y + 0.).collect()
        })?;
        let line = "kernels that write all results, found 0 of 8192 bytes of the result written";
        assert_eq!(copied, line);
        Ok(())
    }

    /// Overwrites a tensor with another, as Rust code can.
    struct Overwrite(Vec<f32>);

    impl InplaceOp1 for Overwrite {
        fn name(&self) -> &'static str {
            "overwrite"
        }

        fn cpu_fwd(&self, storage: &mut CpuStorage, _: &Layout) -> Result<()> {
            let CpuStorage::F32(y) = storage else {
                bail!("expected f32");
            };
            y.copy_from_slice(&self.0);
            Ok(())
        }
    }

    /// Kernels can read all operands and write all results, and yet Rust code computes the results.
    #[test]
    fn results_that_kernels_only_copy_are_not_computed() -> anyhow::Result<()> {
        let (level1, level3) = (level(1)?, level(3)?);
        let line = "kernels that compute the results, found that they do not on other operands (element 0: expected ";
        // The result of the kernel that reads the operands is not used.
        let copied = of("linear", |call| {
            call.run(&*level3)?;
            let right = Weight::new(call.run(&*level1)?[0].squeeze(0)?);
            let ids = Tensor::arange(0u32, right.tensor().dim(0)? as u32, &Device::Cpu)?;
            Ok(vec![level3.embedding(&ids.unsqueeze(0)?, &right)?])
        })?;
        assert!(
            copied.starts_with(line) && copied.contains("found NaN"),
            "{copied}"
        );
        // Another kernel's result is overwritten.
        let overwritten = of("linear", |call| {
            let right = call.run(&*level1)?[0].flatten_all()?.to_vec1()?;
            let Call::Linear(x, w) = call else {
                bail!("expected linear");
            };
            let weight = Tensor::ones(x.dim(2)?, DType::F32, &Device::Cpu)?;
            let y = level3.norm_linear(x, &Norm::Rms { weight, eps: 0. }, w)?;
            y.inplace_op1(&Overwrite(right))?;
            Ok(vec![y])
        })?;
        assert!(overwritten.starts_with(line), "{overwritten}");
        Ok(())
    }

    /// As a method that reads the logits with a kernel, and finds the largest with candle.
    #[test]
    fn a_token_that_no_kernel_wrote_is_named() -> anyhow::Result<()> {
        let (level1, level3) = (level(1)?, level(3)?);
        let found = of("next_token", |call| {
            let Call::NextToken(logits, _) = call else {
                bail!("expected next_token");
            };
            let weight = Tensor::ones(logits.dim(0)?, DType::F32, &Device::Cpu)?;
            let (norm, w) = (
                Norm::Rms { weight, eps: 0. },
                Tensor::ones((1, logits.dim(0)?), DType::F32, &Device::Cpu)?,
            );
            level3.norm_linear(&logits.reshape((1, 1, ()))?, &norm, &Linear::new(w, None))?;
            call.run(&*level1)
        })?;
        let line = "kernels that write the token as u32 or f32, the last one to memory of at most 64 bytes, found none that \
                    did for other logits";
        assert_eq!(found, line);
        Ok(())
    }

    /// Level 4's kernel writes the token alone.
    #[test]
    fn a_token_that_a_kernel_wrote_is_found() -> anyhow::Result<()> {
        let level4 = level(4)?;
        assert_eq!(of("next_token", |call| call.run(&*level4))?, "");
        Ok(())
    }
}
