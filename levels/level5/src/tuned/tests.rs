//! Against candle's own products, and against f64.

use candle_core::{DType, Device, Module, Result, Tensor, Var};
use proptest::prelude::*;

use super::{Linear, Tuned};

fn random(dims: &[usize]) -> Result<Tensor> {
    Tensor::rand(-1f32, 1., dims, &Device::Cpu)
}

/// The product in f64, and the sums of the sizes of its terms, which errors scale with.
fn exact(a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let wide = |x: &Tensor| x.contiguous()?.to_dtype(DType::F64);
    let (a, b) = (wide(a)?, wide(b)?);
    Ok((a.matmul(&b)?, a.abs()?.matmul(&b.abs()?)?))
}

fn assert_close(what: &str, c: &Tensor, a: &Tensor, b: &Tensor) -> Result<()> {
    let dims = [&a.dims()[..a.rank() - 1], &b.dims()[b.rank() - 1..]].concat();
    assert_eq!(c.dims(), dims, "{what}");
    if c.elem_count() == 0 {
        return Ok(());
    }
    if a.elem_count() == 0 {
        let sum = c.abs()?.sum_all()?.to_scalar::<f32>()?;
        assert_eq!(sum, 0., "{what}: K = 0 makes zeros");
        return Ok(());
    }
    let (exact, size) = exact(a, b)?;
    let error = (c.to_dtype(DType::F64)? - exact)?.abs()?;
    let worst = (error / (size + 1e-30)?)?
        .flatten_all()?
        .max(0)?
        .to_scalar::<f64>()?;
    assert!(worst < 1e-5, "{what}: {worst:.1e}");
    Ok(())
}

fn compare(a: &Tensor, b: &Tensor) -> Result<()> {
    let what = format!(
        "{:?}·{:?}, {:?} {:?}",
        a.shape(),
        b.shape(),
        a.stride(),
        b.stride()
    );
    let c = match a.rank() {
        2 => a.mm_tuned(b)?,
        _ => a.bmm_tuned(b)?,
    };
    assert_close(&what, &c, a, b)?;
    if a.elem_count() * b.elem_count() > 0 {
        assert_close(&format!("candle {what}"), &a.matmul(b)?, a, b)?;
    }
    Ok(())
}

fn square(m: usize, n: usize, k: usize) -> Result<()> {
    compare(&random(&[m, k])?, &random(&[k, n])?)
}

#[test]
fn rectangles_squares_and_one_by_one() -> Result<()> {
    square(64, 64, 128)?;
    square(32, 128, 64)?;
    for n in [1, 16, 32, 64, 128, 192, 256] {
        square(n, n, n)?;
    }
    Ok(())
}

#[test]
fn a_batch() -> Result<()> {
    compare(&random(&[4, 32, 64])?, &random(&[4, 64, 32])?)
}

#[test]
fn around_the_largest_that_is_small() -> Result<()> {
    for m in [255, 256, 257] {
        for (n, k) in [(255, 257), (256, 256), (257, 255)] {
            square(m, n, k)?;
        }
    }
    Ok(())
}

#[test]
fn what_is_large_is_candles() -> Result<()> {
    let (a, b) = (random(&[600, 600])?, random(&[600, 600])?);
    assert!(
        a.product_info(&b)?.starts_with("candle: "),
        "{}",
        a.product_info(&b)?
    );
    compare(&a, &b)
}

#[test]
fn of_nothing() -> Result<()> {
    for (m, n, k) in [(3, 4, 0), (0, 4, 3), (3, 0, 4), (0, 0, 0)] {
        square(m, n, k)?;
    }
    Ok(())
}

#[test]
fn f64_is_candles() -> Result<()> {
    let wide = |dims: &[usize]| random(dims)?.to_dtype(DType::F64);
    let (a, b) = (wide(&[8, 9])?, wide(&[9, 7])?);
    let c = a.mm_tuned(&b)?;
    assert_eq!(c.dtype(), DType::F64);
    assert_eq!(c.to_vec2::<f64>()?, a.matmul(&b)?.to_vec2::<f64>()?);
    assert_eq!(a.product_info(&b)?, "candle: not eligible");
    Ok(())
}

#[test]
fn other_shapes_and_operands_that_do_not_fit_are_candles() -> Result<()> {
    let (a, b) = (random(&[2, 3, 4, 5])?, random(&[2, 3, 5, 6])?);
    assert_eq!(a.mm_tuned(&b)?.dims(), [2, 3, 4, 6]);
    let (a, b) = (random(&[4, 5])?, random(&[6, 7])?);
    let errors = [a.mm_tuned(&b), a.bmm_tuned(&b)].map(|e| e.unwrap_err().to_string());
    assert!(
        errors
            .iter()
            .all(|e| e.contains("shape mismatch in matmul")),
        "{errors:?}"
    );
    Ok(())
}

#[test]
fn transposes_and_strides() -> Result<()> {
    let lies = |rows: usize, columns: usize| -> Result<Vec<Tensor>> {
        Ok(vec![
            random(&[rows, columns])?,
            random(&[columns, rows])?.t()?,
            random(&[rows + 2, columns + 3])?
                .narrow(0, 1, rows)?
                .narrow(1, 2, columns)?,
            random(&[columns + 1, rows + 2])?
                .narrow(0, 1, columns)?
                .narrow(1, 1, rows)?
                .t()?,
            random(&[1, columns])?.broadcast_as((rows, columns))?,
        ])
    };
    for (m, n, k) in [(17, 33, 9), (64, 48, 100), (1, 20, 30)] {
        for a in lies(m, k)? {
            for b in lies(k, n)? {
                compare(&a, &b)?;
            }
        }
    }
    let shared = random(&[40, 24])?.broadcast_as((3, 40, 24))?;
    compare(&random(&[3, 20, 40])?, &shared)?;
    compare(
        &random(&[3, 40, 20])?.transpose(1, 2)?,
        &random(&[40, 3, 24])?.transpose(0, 1)?,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_shape((m, n, k) in (0usize..=512, 0usize..=512, 0usize..=512), turn in 0usize..4) {
        let matrix = |rows, columns, turned| match turned {
            true => random(&[columns, rows])?.t(),
            false => random(&[rows, columns]),
        };
        let run = || compare(&matrix(m, k, turn & 1 == 1)?, &matrix(k, n, turn & 2 == 2)?);
        run().expect("a product");
    }
}

#[test]
fn gradients_are_candles() -> Result<()> {
    for (a, b) in [
        (random(&[5, 7])?, random(&[7, 3])?),
        (random(&[4, 5, 7])?, random(&[4, 7, 3])?),
    ] {
        let (a, b) = (Var::from_tensor(&a)?, Var::from_tensor(&b)?);
        let weights = random(a.matmul(&b)?.dims())?;
        let grads = |c: Tensor| -> Result<[Tensor; 2]> {
            let grads = (c * &weights)?.sum_all()?.backward()?;
            let of = |v: &Var| grads.get(v).cloned().expect("a gradient");
            Ok([of(&a), of(&b)])
        };
        let tuned = grads(if a.rank() == 2 {
            a.mm_tuned(&b)?
        } else {
            a.bmm_tuned(&b)?
        })?;
        for (ours, candles) in tuned.iter().zip(&grads(a.matmul(&b)?)?) {
            let worst = (ours - candles)?
                .abs()?
                .flatten_all()?
                .max(0)?
                .to_scalar::<f32>()?;
            assert!(worst < 1e-5, "{worst:.1e}");
        }
    }
    Ok(())
}

#[test]
fn a_linear_layer_is_what_it_says() -> Result<()> {
    for bias in [true, false] {
        let (w, b) = (random(&[10, 16])?, random(&[10])?);
        let b = bias.then_some(b);
        let layer = Linear::new(w.clone(), b.clone());
        for x in [
            random(&[3, 16])?,
            random(&[2, 3, 16])?,
            random(&[16, 3])?.t()?,
        ] {
            let y = layer.forward(&x)?;
            let mut expected = x.broadcast_matmul(&w.t()?)?;
            if let Some(b) = &b {
                expected = expected.broadcast_add(b)?;
            }
            assert_eq!(y.dims(), expected.dims());
            let worst = (&y - &expected)?
                .abs()?
                .flatten_all()?
                .max(0)?
                .to_scalar::<f32>()?;
            assert!(worst < 1e-5, "{worst:.1e}");
            let (same, info) = layer.forward_with_info(&x)?;
            assert_eq!(
                same.flatten_all()?.to_vec1::<f32>()?,
                y.flatten_all()?.to_vec1::<f32>()?
            );
            assert!(info.starts_with("linear_level"), "{info}");
        }
        let x = random(&[3, 16])?.to_dtype(DType::F64)?;
        assert!(layer.forward(&x).is_err(), "x in f64, w in f32");
        assert!(layer.forward(&random(&[3, 15])?).is_err());
    }
    Ok(())
}

#[test]
fn a_linear_layer_learns() -> Result<()> {
    let (w, b) = (
        Var::from_tensor(&random(&[4, 6])?)?,
        Var::from_tensor(&random(&[4])?)?,
    );
    let layer = Linear::new(w.as_tensor().clone(), Some(b.as_tensor().clone()));
    let x = random(&[2, 5, 6])?;
    let grads = layer.forward(&x)?.sqr()?.sum_all()?.backward()?;
    let plain = x.broadcast_matmul(&w.t()?)?.broadcast_add(&b)?;
    let expected = plain.sqr()?.sum_all()?.backward()?;
    for v in [&w, &b] {
        let (ours, candles) = (
            grads.get(v).expect("ours"),
            expected.get(v).expect("candle's"),
        );
        let worst = (ours - candles)?
            .abs()?
            .flatten_all()?
            .max(0)?
            .to_scalar::<f32>()?;
        assert!(worst < 1e-4, "{worst:.1e}");
    }
    // A step of the optimizer changes the variable: the layer has packed nothing.
    let before = layer.forward(&x)?;
    w.set(&w.zeros_like()?)?;
    let after = layer.forward(&x)?;
    assert!((before - after)?.abs()?.sum_all()?.to_scalar::<f32>()? > 0.);
    Ok(())
}
