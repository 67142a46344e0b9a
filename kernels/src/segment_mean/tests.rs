//! Both levels against the oracle, on every device.

use candle_core::{DType, Device, Result, Tensor};
use operands::Segments;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use simt::Options;

use crate::launch::simulated;
use crate::output::poisoned;
use crate::testing::{
    Expected, KernelFile, assert_close, cases, devices, host, pairwise, rng, tolerance, uniform,
};

type Kernel = fn(&Tensor, &Segments) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 2] = [
    ("level 3", super::level3::segment_mean),
    ("level 4", super::level4::segment_mean),
];

const DTYPES: [DType; 2] = [DType::F32, DType::BF16];

/// Returns the mean of x, and of |x|, over each graph's nodes.
fn oracle(x: &[f64], graphs: &[usize], c: usize) -> Expected {
    let mut all = Expected {
        values: vec![0.; graphs.len() * c],
        scales: vec![0.; graphs.len() * c],
    };
    let mut first = 0;
    for (g, &nodes) in graphs.iter().enumerate() {
        let of_graph = &x[first * c..(first + nodes) * c];
        for (i, x) in of_graph.iter().enumerate() {
            all.values[g * c + i % c] += x / nodes as f64;
            all.scales[g * c + i % c] += x.abs() / nodes as f64;
        }
        first += nodes;
    }
    all
}

/// Segments of graphs with these numbers of nodes.
fn segments(graphs: &[usize], device: &Device) -> Result<Segments> {
    let of_nodes = |(g, &nodes): (usize, &usize)| std::iter::repeat_n(g as u32, nodes);
    let index: Vec<u32> = graphs.iter().enumerate().flat_map(of_nodes).collect();
    Ok(Segments::new(graphs.len(), &index, device)?)
}

/// Compares; `graphs` has each graph's number of nodes. x has C channels and starts `offset` elements after a multiple of
/// 16 bytes.
fn compare(
    rng: &mut ChaCha8Rng,
    graphs: &[usize],
    [c, offset]: [usize; 2],
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let nodes: usize = graphs.iter().sum();
    let (x, x64) = uniform(rng, &[offset + nodes * c], dtype, device)?;
    let x = x.narrow(0, offset, nodes * c)?.reshape((nodes, c))?;
    let segments = segments(graphs, device)?;
    let expected = oracle(&x64[offset..], graphs, c);
    for (level, kernel) in KERNELS {
        let what = format!("{level} {device:?} {dtype:?} C {c} from {offset}, nodes {graphs:?}");
        let y = poisoned(|| kernel(&x, &segments))?;
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
            compare(&mut rng, &graphs, [case[2], 0], DTYPES[case[3]], &device)?;
        }
    }
    Ok(())
}

/// Long enough that level 4 splits it over blocks, with and without other graphs.
#[test]
fn a_long_graph_equals_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for (graphs, c) in [(&[5000][..], 128), (&[3001, 0, 1], 9), (&[1, 20_000], 20)] {
            for dtype in DTYPES {
                compare(&mut rng, graphs, [c, 0], dtype, &device)?;
            }
        }
    }
    Ok(())
}

/// Level 4 uses the fallback if C is no multiple of 4, or x does not start at a multiple of 16 bytes.
#[test]
fn rows_that_are_not_aligned_have_a_fallback() -> Result<()> {
    let mut rng = rng();
    for (dtype, name) in [(DType::F32, "f32"), (DType::BF16, "bf16")] {
        for (shape, suffix) in [
            ([64, 0], ""),
            ([12, 8], ""),
            ([63, 0], "_fallback"),
            ([64, 1], "_fallback"),
        ] {
            let (ran, reports) = simulated(Options::default(), || {
                compare(&mut rng, &[5, 0, 40], shape, dtype, &Device::Cpu)
            });
            ran?;
            let level4: Vec<&str> = (reports.iter().map(|r| &*r.entry))
                .filter(|entry| entry.contains("level4"))
                .collect();
            let expected = format!("segment_mean_{name}_level4{suffix}");
            assert_eq!(level4, [expected], "{shape:?}");
            assert!(reports.iter().all(|r| r.is_clean()));
        }
    }
    Ok(())
}

#[test]
fn without_nodes_the_mean_is_zero() -> Result<()> {
    for device in devices() {
        for graphs in [0, 1, 3] {
            let x = Tensor::zeros((0, 8), DType::F32, &device)?;
            let segments = segments(&vec![0; graphs], &device)?;
            for (_, kernel) in KERNELS {
                let y = poisoned(|| kernel(&x, &segments))?;
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
    let good = segments(&[1, 2], &Device::Cpu)?;
    let with = |offsets: Tensor| Segments {
        offsets,
        ..good.clone()
    };
    for (_, kernel) in KERNELS {
        assert!(kernel(&x, &good).is_ok());
        assert!(kernel(&x.narrow(0, 0, 2)?, &good).is_err());
        assert!(kernel(&x, &with(good.offsets.to_dtype(DType::F32)?)).is_err());
        assert!(kernel(&x, &with(good.offsets.narrow(0, 0, 2)?)).is_err());
        assert!(kernel(&x, &with(Tensor::new(&[0u32, 2, 1], &Device::Cpu)?)).is_err());
        assert!(kernel(&x.to_dtype(DType::F64)?, &good).is_err());
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
            compare(&mut rng, &graphs, [c, 0], DTYPES[usize::from(bf16)], &device)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
        }
    }
}

#[test]
fn launches_have_the_constants_of_the_kernels() {
    use super::level4_launch::{CHANNELS_PER_LOAD, THREADS, WARP};
    let file = KernelFile::read("segment_mean/level4", "sm_75");
    assert_eq!(file.constant("WARP"), WARP);
    assert_eq!(file.constant("WARPS") * WARP, THREADS);
    assert_eq!(file.constant("CHANNELS_PER_LOAD"), CHANNELS_PER_LOAD);
    let fallback = KernelFile::read("segment_mean/fallback", "sm_75");
    for dtype in ["f32", "bf16"] {
        for kernel in ["segment_mean", "segment_mean_split", "segment_mean_join"] {
            let entry = format!("{kernel}_{dtype}_level4");
            assert_eq!(file.max_threads(&entry), THREADS, "{entry}");
        }
        let entry = format!("segment_mean_{dtype}_level4_fallback");
        assert_eq!(fallback.max_threads(&entry), THREADS, "{entry}");
    }
}
