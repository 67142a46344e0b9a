//! Both levels against the oracle, on every device that is here.

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

use crate::output::poisoned;
use crate::testing::{
    Expected, assert_close, cases, devices, host, pairwise, rng, tolerance, uniform,
};

type Kernel = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 2] = [
    ("level 3", super::level3::segment_mean),
    ("level 4", super::level4::segment_mean),
];

const DTYPES: [DType; 2] = [DType::F32, DType::BF16];

/// The mean of x + residual, and of |x| + |residual|, over each graph's nodes.
fn oracle(x: &[f64], residual: &[f64], graphs: &[usize], c: usize) -> Expected {
    let mut all = Expected {
        values: vec![0.; graphs.len() * c],
        scales: vec![0.; graphs.len() * c],
    };
    let mut first = 0;
    for (g, &nodes) in graphs.iter().enumerate() {
        for i in first * c..(first + nodes) * c {
            let (x, residual, nodes) = (x[i], residual[i], nodes as f64);
            all.values[g * c + i % c] += (x + residual) / nodes;
            all.scales[g * c + i % c] += (x.abs() + residual.abs()) / nodes;
        }
        first += nodes;
    }
    all
}

/// (G + 1) u32
fn offsets(graphs: &[usize], device: &Device) -> Result<Tensor> {
    let mut offsets = vec![0u32];
    offsets.extend(graphs.iter().scan(0, |end, &nodes| {
        *end += nodes as u32;
        Some(*end)
    }));
    Tensor::new(offsets, device)
}

/// `graphs` has the number of nodes of each.
fn compare(
    rng: &mut ChaCha8Rng,
    graphs: &[usize],
    c: usize,
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let nodes: usize = graphs.iter().sum();
    let (x, x64) = uniform(rng, &[nodes, c], dtype, device)?;
    let (r, r64) = uniform(rng, &[nodes, c], dtype, device)?;
    let offsets = offsets(graphs, device)?;
    let expected = oracle(&x64, &r64, graphs, c);
    for (level, kernel) in KERNELS {
        let what = format!("{level} {device:?} {dtype:?} C {c} nodes {graphs:?}");
        let y = poisoned(|| kernel(&x, &r, &offsets))?;
        assert_eq!(y.dims(), [graphs.len(), c]);
        assert_close(&what, &y, &expected, tolerance(dtype, 1e-5))?;
    }
    Ok(())
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let graphs = [1, 2, 31, 33, 197];
    let nodes = [0, 1, 3, 32, 197];
    let channels = [1, 7, 16, 64, 65, 128, 257, 513];
    for device in devices() {
        for case in pairwise(&[&graphs, &nodes, &channels, &[0, 1]]) {
            // Every third graph has one node fewer or more than the others.
            let graphs: Vec<usize> = (0..case[0])
                .map(|g| (case[1] + g % 3).saturating_sub(1))
                .collect();
            compare(&mut rng, &graphs, case[2], DTYPES[case[3]], &device)?;
        }
    }
    Ok(())
}

/// Long enough that level 4 splits it over blocks, with other graphs beside it and without.
#[test]
fn a_long_graph_equals_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for (graphs, c) in [(&[5000][..], 128), (&[3001, 0, 1], 9), (&[1, 20_000], 20)] {
            for dtype in DTYPES {
                compare(&mut rng, graphs, c, dtype, &device)?;
            }
        }
    }
    Ok(())
}

#[test]
fn no_nodes_are_zeros() -> Result<()> {
    for device in devices() {
        for graphs in [0, 1, 3] {
            let x = Tensor::zeros((0, 8), DType::F32, &device)?;
            let offsets = Tensor::zeros(graphs + 1, DType::U32, &device)?;
            for (_, kernel) in KERNELS {
                let y = poisoned(|| kernel(&x, &x, &offsets))?;
                assert_eq!(y.dims(), [graphs, 8]);
                assert_eq!(host(&y)?, vec![0.; graphs * 8]);
            }
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let x = Tensor::zeros((3, 8), DType::F32, &Device::Cpu)?;
    let good = offsets(&[1, 2], &Device::Cpu)?;
    for (_, kernel) in KERNELS {
        assert!(kernel(&x, &x, &good).is_ok());
        assert!(kernel(&x, &x.narrow(0, 0, 2)?, &good).is_err());
        assert!(kernel(&x, &x.to_dtype(DType::BF16)?, &good).is_err());
        assert!(kernel(&x, &x, &good.to_dtype(DType::F32)?).is_err());
        assert!(kernel(&x, &x, &offsets(&[1, 1], &Device::Cpu)?).is_err());
        let f64 = x.to_dtype(DType::F64)?;
        assert!(kernel(&f64, &f64, &good).is_err());
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_shape_equals_the_oracle(
        graphs in prop::collection::vec(0..90usize, 1..20),
        c in 1..300usize,
        bf16: bool,
    ) {
        let mut rng = rng();
        for device in devices() {
            compare(&mut rng, &graphs, c, DTYPES[usize::from(bf16)], &device)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
        }
    }
}
