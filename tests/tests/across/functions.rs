//! The narrow functions: one signature and one answer at every level.

use candle_core::{DType, Device, Result, Tensor};
use kernels::output::poisoned;
use levels::{Functions, functions};
use models::{Csr, Linear, Segments, Weight};
use rand_chacha::ChaCha8Rng;
use tests::inputs::{fresh_rng, uniform};
use tests::{devices, difference, watchable};

/// Draws random tensors and layers of one dtype on one device.
struct Draw {
    rng: ChaCha8Rng,
    dtype: DType,
    device: Device,
}

impl Draw {
    fn tensor(&mut self, dims: &[usize]) -> Result<Tensor> {
        let values = uniform(&mut self.rng, 1, dims.iter().product());
        let x = Tensor::from_vec(values, dims, &Device::Cpu)?;
        x.to_dtype(self.dtype)?.to_device(&self.device)
    }

    fn linear(&mut self, n: usize, k: usize, has_bias: bool) -> Result<Linear> {
        let bias = has_bias.then(|| self.tensor(&[n])).transpose()?;
        Ok(Linear::new(self.tensor(&[n, k])?, bias))
    }
}

type Call = Box<dyn Fn(&Functions) -> Result<Tensor>>;

/// Each function by its name, on operands of sizes that no tile divides: without a bias, of three dimensions, with an
/// empty graph.
fn calls(draw: &mut Draw) -> Result<Vec<(&'static str, Call)>> {
    let mut calls: Vec<(&'static str, Call)> = vec![];
    let device = draw.device.clone();

    let ids = Tensor::new(&[[3u32, 0, 10], [7, 7, 2]], &device)?;
    let w = Weight::new(draw.tensor(&[11, 19])?);
    calls.push(("embedding", Box::new(move |f| (f.embedding)(&ids, &w))));

    let (pixels, patch) = (
        draw.tensor(&[2, 3, 12, 8])?,
        Linear::new(draw.tensor(&[21, 3, 4, 4])?, Some(draw.tensor(&[21])?)),
    );
    let (class, positions) = (draw.tensor(&[1, 1, 21])?, draw.tensor(&[1, 7, 21])?);
    calls.push((
        "patch_embed",
        Box::new(move |f| (f.patch_embed)(&pixels, &patch, &class, &positions)),
    ));

    for (rows, k, n) in [(1, 40, 24), (5, 37, 19), (70, 130, 66)] {
        let x = draw.tensor(&[1, rows, k])?;
        for has_bias in [false, true] {
            let (x, w) = (x.clone(), draw.linear(n, k, has_bias)?);
            let residual = draw.tensor(&[1, rows, n])?;
            let (x2, w2) = (x.clone(), w.clone());
            calls.push(("linear", Box::new(move |f| (f.linear)(&x, &w))));
            calls.push((
                "linear_residual",
                Box::new(move |f| (f.linear_residual)(&x2, &w2, &residual)),
            ));
        }
        let (x2, w, gate_up) = (
            x.clone(),
            draw.linear(n, k, true)?,
            draw.linear(2 * n, k, false)?,
        );
        calls.push(("linear_gelu", Box::new(move |f| (f.linear_gelu)(&x, &w))));
        calls.push((
            "linear_swiglu",
            Box::new(move |f| (f.linear_swiglu)(&x2, &gate_up)),
        ));
    }

    for c in [1, 33, 512, 1037] {
        let (x, w, b) = (
            draw.tensor(&[3, 2, c])?,
            draw.tensor(&[c])?,
            draw.tensor(&[c])?,
        );
        let (x2, w2, x3) = (x.clone(), w.clone(), x.clone());
        calls.push(("rms_norm", Box::new(move |f| (f.rms_norm)(&x, &w, 1e-5))));
        calls.push((
            "layer_norm",
            Box::new(move |f| (f.layer_norm)(&x2, &w2, &b, 1e-5)),
        ));
        calls.push(("softmax", Box::new(move |f| (f.softmax)(&x3, 0.7))));
    }

    // Views of one matmul's result, as the models have them.
    let y = draw.tensor(&[2, 13, 3 * 4, 16])?;
    let [q, k, v] = [0, 4, 8].map(|first| y.narrow(2, first, 4));
    let (q, k, v) = (q?, k?, v?);
    calls.push(("attention", Box::new(move |f| (f.attention)(&q, &k, &v))));

    let edges = [
        [0u32, 1],
        [2, 1],
        [3, 1],
        [1, 1],
        [1, 2],
        [0, 2],
        [3, 5],
        [3, 5],
    ];
    let (graph, _) = Csr::new(6, &edges, &device)?;
    let y = draw.tensor(&[6, 4 * 24])?;
    let heads = |i: usize| y.narrow(1, i * 24, 24)?.reshape((6, 3, 8));
    let (q, k, v, skip) = (heads(0)?, heads(1)?, heads(2)?, y.narrow(1, 72, 24)?);
    let (residual, features) = (draw.tensor(&[6, 24])?, draw.tensor(&[edges.len(), 5])?);
    let w = Weight::new(draw.tensor(&[24, 5])?);
    calls.push((
        "edge_attention",
        Box::new(move |f| (f.edge_attention)(&q, &k, &v, &skip, &residual, &features, &w, &graph)),
    ));

    // The graph in the middle has no nodes.
    let segments = Segments::new(3, &[0, 0, 0, 2, 2], &device)?;
    let x = draw.tensor(&[5, 27])?;
    calls.push((
        "segment_mean",
        Box::new(move |f| (f.segment_mean)(&x, &segments)),
    ));
    Ok(calls)
}

/// Every level's answer against level 1's.
fn compare(
    name: &str,
    dtype: DType,
    device: &Device,
    call: impl Fn(&Functions) -> Result<Tensor>,
) -> Result<()> {
    let tolerance = if dtype == DType::F32 { 2e-5 } else { 3e-2 };
    let functions = functions().into_iter();
    let functions: Vec<_> = functions
        .filter(|level| watchable(level.level, dtype, device))
        .collect();
    let expected = call(&functions[0])?;
    for level in &functions[1..] {
        let what = format!("{name}, level {}, {dtype:?}", level.level);
        let found = poisoned(|| call(level))?;
        let shape = (found.dims(), found.dtype());
        assert_eq!(shape, (expected.dims(), dtype), "{what}");
        let apart = difference(&found, &expected)?;
        assert!(apart <= tolerance, "{what}: {apart}");
    }
    Ok(())
}

/// The calls that each op lists in `kernels/src/OP/calls.rs`.
#[test]
fn the_calls_of_an_op_have_one_answer_at_every_level() -> Result<()> {
    for device in devices() {
        for call in kernels::calls().calls {
            compare(&call.name, call.dtype, &device, |level| {
                call.run(level, &device)
            })?;
        }
    }
    Ok(())
}

#[test]
fn a_function_has_one_answer_at_every_level() -> Result<()> {
    for device in devices() {
        for dtype in [DType::F32, DType::BF16] {
            let mut draw = Draw {
                rng: fresh_rng(),
                dtype,
                device: device.clone(),
            };
            for (name, call) in calls(&mut draw)? {
                compare(name, dtype, &device, call)?;
            }
        }
    }
    Ok(())
}
