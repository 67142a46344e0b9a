//! Every kernel against the oracle, on every device.

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

use super::level5::{Call, REGISTRY, Run};
use crate::dispatch::Entry;
use crate::launch::on_cpu;
use crate::output::poisoned;
use crate::testing::{Expected, assert_close, cases, devices, host, pairwise, rng, uniform};

/// Computes the result in f64; errors scale with Σ|a||b|.
fn oracle(a: &Tensor, b: &Tensor, bias: Option<&Tensor>) -> Result<Expected> {
    let ((batch, m, k), n) = (a.dims3()?, b.dim(2)?);
    let elements = |x: &Tensor| match x.elem_count() {
        0 => Ok(vec![]), // candle panics on an empty strided view
        _ => host(&x.contiguous()?),
    };
    let (a, b) = (elements(a)?, elements(b)?);
    let bias = bias.map(host).transpose()?.unwrap_or(vec![0.; n]);
    let (mut values, mut scales) = (vec![], vec![]);
    for i in 0..batch {
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let products = (0..k).map(|j| a[(i * m + row) * k + j] * b[(i * k + j) * n + column]);
            let (sum, size) = products.fold((0., 0.), |(sum, size), p| (sum + p, size + p.abs()));
            values.push(sum + bias[column]);
            scales.push(size + bias[column].abs());
        }
    }
    Ok(Expected { values, scales })
}

/// Layout of a matrix: contiguous, transposed, part of a larger one, every other element, or one element for
/// all.
#[derive(Debug, Clone, Copy)]
enum Lies {
    Rows,
    Columns,
    Narrow,
    Strided,
    Shared,
}

const LIES: [Lies; 5] = [
    Lies::Rows,
    Lies::Columns,
    Lies::Narrow,
    Lies::Strided,
    Lies::Shared,
];

fn matrix(
    rng: &mut ChaCha8Rng,
    (batch, rows, columns): (usize, usize, usize),
    lies: Lies,
    device: &Device,
) -> Result<Tensor> {
    let mut random =
        |dims: &[usize]| Ok::<_, candle_core::Error>(uniform(rng, dims, DType::F32, device)?.0);
    match lies {
        Lies::Rows => random(&[batch, rows, columns]),
        Lies::Columns => random(&[batch, columns, rows])?.t(),
        Lies::Narrow => random(&[batch, rows + 3, columns + 5])?
            .narrow(1, 2, rows)?
            .narrow(2, 1, columns),
        Lies::Strided => random(&[batch, rows, columns, 2])?
            .narrow(3, 1, 1)?
            .squeeze(3),
        Lies::Shared => random(&[rows, columns])?.broadcast_as((batch, rows, columns)),
    }
}

#[derive(Debug, Clone, Copy)]
struct Case {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    a: Lies,
    b: Lies,
    bias: bool,
}

fn compare(rng: &mut ChaCha8Rng, case: Case, device: &Device) -> Result<()> {
    let Case { batch, m, n, k, .. } = case;
    let a = matrix(rng, (batch, m, k), case.a, device)?;
    let b = matrix(rng, (batch, k, n), case.b, device)?;
    let bias = uniform(rng, &[n], DType::F32, device)?.0;
    let bias = case.bias.then_some(&bias);
    let expected = oracle(&a, &b, bias)?;
    let call = Call::new(&a, &b, bias)?;
    for entry in kernels(device) {
        let c = poisoned(|| call.run(entry.run))?;
        assert_eq!(c.dims(), [batch, m, n]);
        let what = format!("{} {device:?} {case:?}", entry.name);
        assert_close(&what, &c, &expected, 1e-4)?;
    }
    Ok(())
}

/// Own kernels that run on `device`, or are simulated.
fn kernels(device: &Device) -> impl Iterator<Item = &'static Entry<Run>> {
    let cpu = on_cpu(device);
    let here = move |entry: &&Entry<Run>| match entry.run {
        Run::Candle => false,
        Run::Gemm(_) | Run::Cpu(_) | Run::Gemv(_) | Run::Scalar => cpu,
        Run::Tile(_) => !cpu,
    };
    REGISTRY.entries.iter().filter(here)
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let sizes = [1, 2, 7, 16, 31, 32, 33, 64, 65, 100];
    for device in devices() {
        of_all(&sizes, &sizes, &[1, 0, 3, 16, 33, 64, 127], &device)?;
    }
    Ok(())
}

/// Columns in as many vectors as a CPU has accumulators, and some more; the same for rows with one column.
#[test]
fn few_rows_and_one_column_equal_the_oracle() -> Result<()> {
    let (few, many) = (
        [1, 0, 2, 3, 4, 5, 9],
        [1, 0, 15, 16, 17, 64, 127, 128, 129, 200, 301],
    );
    let ks = [1, 0, 2, 5, 16, 31, 32, 47, 150];
    of_all(&few, &many, &ks, &Device::Cpu)?;
    of_all(&many, &[1], &ks, &Device::Cpu)
}

fn of_all(ms: &[usize], ns: &[usize], ks: &[usize], device: &Device) -> Result<()> {
    let mut rng = rng();
    let lies = [0, 1, 2, 3, 4];
    for shape in pairwise(&[ms, ns, ks, &lies, &lies, &[1, 0, 3], &[0, 1]]) {
        let case = Case {
            batch: shape[5],
            m: shape[0],
            n: shape[1],
            k: shape[2],
            a: LIES[shape[3]],
            b: LIES[shape[4]],
            bias: shape[6] == 1,
        };
        compare(&mut rng, case, device)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn any_shape(
        (m, n, k) in (0usize..90, 0usize..90, 0usize..90),
        batch in 1usize..4,
        (a, b) in (0usize..5, 0usize..5),
        bias in any::<bool>(),
    ) {
        let case = Case { batch, m, n, k, a: LIES[a], b: LIES[b], bias };
        for device in devices() {
            compare(&mut rng(), case, &device).expect("a kernel that runs");
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let x = |dims: &[usize]| Tensor::zeros(dims, DType::F32, &Device::Cpu);
    for (a, b, bias) in [
        (x(&[2, 3])?, x(&[4, 2])?, None),
        (x(&[2, 2, 3])?, x(&[3, 2])?, None),
        (x(&[3])?, x(&[3, 2])?, None),
        (x(&[2, 3])?, x(&[3, 2])?, Some(x(&[3])?)),
        (x(&[2, 3])?.to_dtype(DType::F64)?, x(&[3, 2])?, None),
    ] {
        let error = Call::new(&a, &b, bias.as_ref()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("expected"), "{error}");
    }
    Ok(())
}
