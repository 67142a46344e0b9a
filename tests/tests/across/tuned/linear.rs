//! The linear layer: x·wᵀ + b and its gradients, on every device.

use candle_core::{DType, Device, Module, Result, Tensor, Var};
use kernels::linear::level5::REGISTRY;
use kernels::output::poisoned;
use level5::tuned::Linear;
use tests::inputs::fresh_rng;
use tests::{devices, is_sanitized, skip};

use super::{exact, random, worst};

/// Checks a layer on `x` against x·wᵀ + b in f64, whose rounding errors scale with Σ|x||w| + |b|.
fn compare(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<()> {
    let what = format!("{x:?} strides {:?}, w {w:?}, b {b:?}", x.stride());
    let layer = Linear::new(w.clone(), b.cloned());
    let y = poisoned(|| layer.forward(x))?;
    let (x64, w64) = (exact(x)?, exact(w)?.t()?.contiguous()?);
    let mut expected = x64.broadcast_matmul(&w64)?;
    let mut scale = x64.abs()?.broadcast_matmul(&w64.abs()?)?;
    if let Some(b) = b {
        let b = exact(b)?;
        expected = expected.broadcast_add(&b)?;
        scale = scale.broadcast_add(&b.abs()?)?;
    }
    assert_eq!(
        (y.dims(), y.dtype()),
        (expected.dims(), x.dtype()),
        "{what}"
    );
    let tolerance = if x.dtype() == DType::BF16 { 2e-2 } else { 1e-5 };
    let worst = worst(&y, &expected, &scale)?;
    assert!(worst < tolerance, "{what}: {worst:.1e}");

    let (same, info) = poisoned(|| layer.forward_with_info(x))?;
    let elements = |x: &Tensor| exact(x)?.flatten_all()?.to_vec1::<f64>();
    assert_eq!(elements(&same)?, elements(&y)?, "{what}");
    let (name, _) = info.split_once(": ").expect("a name and a reason");
    assert!(REGISTRY.named(name).is_some(), "{info}");
    Ok(())
}

#[test]
fn a_linear_layer_is_what_it_says() -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        for dtype in [DType::F32, DType::BF16] {
            if dtype == DType::BF16 && !device.is_cpu() && is_sanitized() {
                let why = "sanitizers report false errors in cuBLAS's kernels";
                skip("a linear layer in bf16 on a GPU", why);
                continue;
            }
            let mut random = |dims: &[usize]| random(&mut rng, dims, &device)?.to_dtype(dtype);
            for (n, k) in [(10, 16), (1, 1), (65, 33), (128, 256)] {
                let (w, b) = (random(&[n, k])?, random(&[n])?);
                for x in [
                    random(&[1, k])?,
                    random(&[3, k])?,
                    random(&[2, 3, k])?,
                    random(&[k, 40])?.t()?,
                ] {
                    compare(&x, &w, Some(&b))?;
                    compare(&x, &w, None)?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        let mut random = |dims: &[usize]| random(&mut rng, dims, &device);
        for b in [Some(random(&[10])?), None] {
            let layer = Linear::new(random(&[10, 16])?, b);
            let wide = random(&[3, 16])?.to_dtype(DType::F64)?;
            assert!(layer.forward(&wide).is_err(), "x in f64, w in f32");
            assert!(layer.forward(&random(&[3, 15])?).is_err(), "K = 15, not 16");
        }
    }
    Ok(())
}

/// Gradients of Σ y² against candle's own in f64.
#[test]
fn a_layer_learns() -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        let mut random = |dims: &[usize]| random(&mut rng, dims, &device);
        let (w, b, x) = (random(&[4, 6])?, random(&[4])?, random(&[2, 5, 6])?);
        let [w64, b64] = [
            Var::from_tensor(&exact(&w)?)?,
            Var::from_tensor(&exact(&b)?)?,
        ];
        let plain = exact(&x)?
            .broadcast_matmul(&w64.t()?)?
            .broadcast_add(&b64)?;
        let expected = plain.sqr()?.sum_all()?.backward()?;

        let [w, b] = [Var::from_tensor(&w)?, Var::from_tensor(&b)?];
        let layer = Linear::new(w.as_tensor().clone(), Some(b.as_tensor().clone()));
        let grads = poisoned(|| layer.forward(&x)?.sqr()?.sum_all()?.backward())?;
        for (v, v64) in [(&w, &w64), (&b, &b64)] {
            let found = grads.get(v).expect("a gradient");
            let expected = expected.get(v64).expect("a gradient in f64");
            let worst = worst(found, expected, &expected.abs()?.affine(1., 1.)?)?;
            assert!(worst < 1e-5, "{:?} on {device:?}: {worst:.1e}", v.dims());
        }
        // An optimizer's step changes the variable, so the layer may not keep a packed copy.
        let before = exact(&layer.forward(&x)?)?;
        w.set(&w.zeros_like()?)?;
        let changed = (before - exact(&layer.forward(&x)?)?)?.abs()?.sum_all()?;
        assert!(changed.to_scalar::<f64>()? > 0.);
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn an_input_on_another_device_is_an_error() -> Result<()> {
    let (gpu, mut rng) = (tests::gpu()?, fresh_rng());
    let layer = Linear::new(random(&mut rng, &[4, 6], &gpu)?, None);
    let x = random(&mut rng, &[2, 6], &Device::Cpu)?;
    let error = layer.forward(&x).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("device mismatch"), "{error}");
    Ok(())
}
