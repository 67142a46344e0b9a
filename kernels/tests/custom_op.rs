//! The op of the example `custom_op`: its result, its gradient and its kernel.

#[cfg(feature = "cuda")]
#[path = "../examples/custom_op/gpu.rs"]
#[allow(dead_code, reason = "the example runs the rest")]
mod gpu;
#[path = "../examples/custom_op/silu_mul.rs"]
mod silu_mul;
#[path = "../examples/custom_op/simulated.rs"]
mod simulated;

use candle_core::{DType, Device, Result, Tensor, Var};
use silu_mul::silu_mul;

fn close(found: &Tensor, expected: &Tensor, most: f32) -> Result<()> {
    let difference = (found - expected)?.abs()?.flatten_all()?.max(0)?;
    let difference = difference.to_scalar::<f32>()?;
    assert!(difference <= most, "{difference}");
    Ok(())
}

fn random(shape: (usize, usize)) -> Result<Var> {
    Var::from_tensor(&Tensor::randn(0f32, 2., shape, &Device::Cpu)?)
}

// ANCHOR: gradient
#[test]
fn the_gradient_is_that_of_candles_own_ops() -> Result<()> {
    let (gate, up) = (random((5, 33))?, random((5, 33))?);
    let scale = Tensor::randn(0f32, 1., (5, 33), &Device::Cpu)?;
    let gradients = |y: Tensor| (y * &scale)?.sum_all()?.backward();

    let ours = gradients(silu_mul(&gate, &up)?)?;
    let candles = gradients((gate.silu()? * up.as_tensor())?)?;
    for x in [&gate, &up] {
        close(ours.get(x).unwrap(), candles.get(x).unwrap(), 1e-5)?;
    }
    Ok(())
}
// ANCHOR_END: gradient

#[test]
fn a_gradient_goes_on_to_the_ops_before() -> Result<()> {
    let (x, up) = (random((2, 3))?, random((2, 3))?);
    let ours = silu_mul(&(x.as_tensor() * 2.)?, &up.sqr()?)?;
    let candles = ((x.as_tensor() * 2.)?.silu()? * up.sqr()?)?;
    let (ours, candles) = (ours.sum_all()?.backward()?, candles.sum_all()?.backward()?);
    for x in [&x, &up] {
        close(ours.get(x).unwrap(), candles.get(x).unwrap(), 1e-4)?;
    }
    Ok(())
}

#[test]
fn the_result_is_candles_for_a_part_of_a_tensor_too() -> Result<()> {
    let (gate, up) = (random((7, 9))?, random((7, 9))?);
    let (gate, up) = (gate.narrow(0, 2, 3)?, up.narrow(0, 1, 3)?);
    close(&silu_mul(&gate, &up)?, &(gate.silu()? * &up)?, 1e-5)
}

// ANCHOR: kernel
#[test]
fn the_kernel_computes_what_the_loop_does() -> Result<()> {
    for n in [1, 31, 256, 257, 1000] {
        let (gate, up) = (random((1, n))?, random((1, n))?);
        let [host_gate, host_up] = [&gate, &up].map(|x| x.flatten_all()?.to_vec1::<f32>());
        let (y, report) = simulated::simulated(&host_gate?, &host_up?).unwrap();
        assert!(report.findings.is_empty(), "{n}: {}", report.findings[0]);
        let y = Tensor::from_vec(y, (1, n), &Device::Cpu)?;
        close(&y, &silu_mul(&gate, &up)?, 1e-5)?;
    }
    Ok(())
}
// ANCHOR_END: kernel

#[test]
fn large_gates_do_not_become_nan() -> Result<()> {
    let gate = [-1e30, -200., -88.5, 88.5, 200., 1e30];
    let (y, _) = simulated::simulated(&gate, &[1.; 6]).unwrap();
    assert_eq!(y[..2], [0., 0.]);
    assert!(y[2].abs() < 1e-30);
    assert_eq!(y[3..], gate[3..]);
    Ok(())
}

#[test]
fn operands_that_it_cannot_take_are_named() -> Result<()> {
    let x = Tensor::ones((2, 3), DType::F32, &Device::Cpu)?;
    for (gate, up, expected) in [
        (
            x.clone(),
            x.t()?,
            "expected two tensors of one shape, found [2, 3] and [3, 2]",
        ),
        (x.t()?, x.t()?, "expected contiguous tensors"),
        (x.to_dtype(DType::F64)?, x.to_dtype(DType::F64)?, "F64"),
    ] {
        let error = silu_mul(&gate, &up).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    Ok(())
}
