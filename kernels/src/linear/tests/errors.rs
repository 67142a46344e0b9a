//! Invalid operands are errors that name them.

use super::*;

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let x = Tensor::zeros((2, 8), DType::F32, &Device::Cpu)?;
    let w = Tensor::zeros((5, 8), DType::F32, &Device::Cpu)?;
    let b = Tensor::zeros(5, DType::F32, &Device::Cpu)?;
    let r = Tensor::zeros((2, 5), DType::F32, &Device::Cpu)?;
    let layer = |w: &Tensor, b: Option<&Tensor>| Linear::new(w.clone(), b.cloned());
    for Level {
        linear,
        residual,
        gelu,
        swiglu,
        ..
    } in &LEVELS
    {
        assert!(linear(&x, &layer(&w.t()?.contiguous()?, None)).is_err());
        assert!(linear(&x, &layer(&w, Some(&b.narrow(0, 0, 4)?))).is_err());
        assert!(linear(&x, &layer(&w.to_dtype(DType::BF16)?, None)).is_err());
        assert!(linear(&x.t()?, &layer(&w.t()?, None)).is_err());
        let f64 = |x: &Tensor| x.to_dtype(DType::F64);
        assert!(linear(&f64(&x)?, &layer(&f64(&w)?, None)).is_err());
        assert!(residual(&x, &layer(&w, None), &r.to_dtype(DType::BF16)?).is_err());
        let transposed = Tensor::zeros((5, 2), DType::F32, &Device::Cpu)?.t()?;
        assert!(residual(&x, &layer(&w, None), &transposed).is_err());
        assert!(gelu(&x, &layer(&w, Some(&b.to_dtype(DType::BF16)?))).is_err());
        assert!(
            swiglu(&x, &layer(&w, None)).is_err(),
            "an odd number of rows"
        );
    }
    Ok(())
}

#[test]
fn an_error_names_the_operand() -> Result<()> {
    let zeros = |dims: &[usize]| Tensor::zeros(dims, DType::F32, &Device::Cpu);
    let x = zeros(&[2, 3, 8])?;
    let plain = Linear::new(zeros(&[4, 8])?, None);
    let biased = Linear::new(zeros(&[4, 8])?, Some(zeros(&[4])?));
    for (level, i) in LEVELS.iter().zip(3..) {
        let residual = (level.residual)(&x, &plain, &zeros(&[6, 4])?);
        let expected = "expected a residual [2, 3, 4], found [6, 4]";
        for (found, op, says) in [
            (residual, "linear_residual", expected),
            (
                (level.gelu)(&x, &plain),
                "linear_gelu",
                "expected a layer with a bias, found none",
            ),
            (
                (level.swiglu)(&x, &biased),
                "linear_swiglu",
                "expected a layer without a bias, found a bias [4]",
            ),
        ] {
            let error = found.expect_err(says).to_string();
            assert_eq!(error, format!("{op}_level{i}: {says}"));
        }
    }
    Ok(())
}
