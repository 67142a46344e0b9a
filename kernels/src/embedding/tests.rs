//! Both levels against the rows themselves, on every device.

use candle_core::{DType, Device, Result, Tensor};
use operands::Weight;
use proptest::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::output::poisoned;
use crate::testing::{cases, devices, gpu, host, pairwise, rng, uniform};

type Kernel = fn(&Tensor, &Weight) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 2] = [
    ("level 3", super::level3::embedding),
    ("level 4", super::level4::embedding),
];

fn ids(rng: &mut ChaCha8Rng, rows: usize, vocab: usize) -> Vec<u32> {
    (0..rows)
        .map(|_| rng.random_range(0..vocab as u32))
        .collect()
}

/// w starts `offset` elements after a multiple of 16 bytes. The result is exact.
fn compare(
    rng: &mut ChaCha8Rng,
    [rows, vocab, c, offset]: [usize; 4],
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let (w, w64) = uniform(rng, &[offset + vocab * c], dtype, device)?;
    let w = Weight::new(w.narrow(0, offset, vocab * c)?.reshape((vocab, c))?);
    let ids = ids(rng, rows, vocab);
    let row = |&id: &u32| &w64[offset + id as usize * c..][..c];
    let expected: Vec<f64> = ids.iter().flat_map(row).copied().collect();
    let ids = Tensor::from_vec(ids, (1, rows), device)?;
    for (level, kernel) in KERNELS {
        let y = poisoned(|| kernel(&ids, &w))?;
        assert_eq!(y.dims(), [1, rows, c]);
        let what = format!("{level} {device:?} {dtype:?} {rows} of {vocab}×{c} from {offset}");
        assert!(host(&y)? == expected, "{what}");
    }
    Ok(())
}

#[test]
fn kernels_equal_the_rows() -> Result<()> {
    let mut rng = rng();
    let rows = [1, 2, 31, 33, 197];
    let columns = [1, 7, 64, 65, 257, 513, 1000, 4096];
    for device in devices() {
        for shape in pairwise(&[&rows, &[1, 100], &columns, &[0, 1], &[0, 1]]) {
            let dtype = [DType::F32, DType::BF16][shape[4]];
            let shape = [shape[0], shape[1], shape[2], shape[3]];
            compare(&mut rng, shape, dtype, &device)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_shape(
        rows in 1usize..100,
        vocab in 1usize..300,
        c in 1usize..300,
        offset in 0usize..5,
        dtype in prop::sample::select(vec![DType::F32, DType::BF16]),
    ) {
        for device in devices() {
            compare(&mut rng(), [rows, vocab, c, offset], dtype, &device).expect("a kernel that runs");
        }
    }
}

#[test]
fn no_ids_launch_nothing() -> Result<()> {
    for device in devices() {
        let ids = Tensor::zeros((2, 0), DType::U32, &device)?;
        let w = Weight::new(Tensor::zeros((4, 8), DType::F32, &device)?);
        for (_, kernel) in KERNELS {
            assert_eq!(kernel(&ids, &w)?.dims(), [2, 0, 8]);
        }
    }
    Ok(())
}

#[test]
fn an_invalid_id_is_an_error_that_names_it() -> Result<()> {
    let ids = Tensor::new(&[3u32, 7], &Device::Cpu)?;
    let w = Weight::new(Tensor::zeros((7, 2), DType::F32, &Device::Cpu)?);
    for (_, kernel) in KERNELS {
        let error = kernel(&ids, &w).map(|_| ()).unwrap_err().to_string();
        assert!(
            error.ends_with("expected ids below 7, the rows of w, found 7"),
            "{error}"
        );
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn an_invalid_id_gives_nan_on_a_gpu() -> Result<()> {
    let device = gpu()?;
    let ids = Tensor::new(&[1u32, 7, u32::MAX, 2], &device)?;
    for (c, dtype) in [
        (3, DType::F32),
        (8, DType::F32),
        (3, DType::BF16),
        (8, DType::BF16),
    ] {
        let w = Weight::new(Tensor::ones((7, c), dtype, &device)?);
        for (level, kernel) in KERNELS {
            let y = host(&kernel(&ids, &w)?)?;
            let (known, unknown) = ([&y[..c], &y[3 * c..]].concat(), &y[c..3 * c]);
            assert!(known.iter().all(|&x| x == 1.), "{level}: {y:?}");
            assert!(unknown.iter().all(|x| x.is_nan()), "{level}: {y:?}");
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let ids = Tensor::zeros(2, DType::U32, &Device::Cpu)?;
    let w = Tensor::zeros((7, 2), DType::F32, &Device::Cpu)?;
    for (_, kernel) in KERNELS {
        assert!(kernel(&w, &Weight::new(w.clone())).is_err());
        assert!(kernel(&ids, &Weight::new(w.flatten_all()?)).is_err());
        let error = kernel(&ids, &Weight::new(w.to_dtype(DType::F64)?))
            .map(|_| ())
            .unwrap_err();
        assert!(error.to_string().contains("level 2 can"), "{error}");
    }
    Ok(())
}
