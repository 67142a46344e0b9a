//! All levels against the oracle, on every device.

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use simt::Options;

use super::level5::{ENTRIES, REGISTRY};
use crate::dispatch::{Facts, Op, Problem};
use crate::launch::{Launch, Module, NARROW_ROW_VARIANTS, module, simulated};
use crate::output::poisoned;
use crate::testing::{
    Expected, assert_close, bits, cases, devices, pairwise, rng, tolerance, uniform,
};

type Kernel = fn(&Tensor, &Tensor, f64) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 3] = [
    ("level 3", super::level3::rms_norm),
    ("level 4", super::level4::rms_norm),
    ("level 5", super::level5::rms_norm),
];

const EPS: f64 = 1e-6;

/// Returns y in f64.
fn oracle(x: &[f64], w: &[f64]) -> Vec<f64> {
    let rows = x.chunks(w.len()).flat_map(|row| {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
        let scale = 1. / (mean + EPS).sqrt();
        row.iter().zip(w).map(move |(x, w)| x * scale * w)
    });
    rows.collect()
}

#[derive(Debug, Clone, Copy)]
struct Case {
    rows: usize,
    c: usize,
    dtype: DType,
    /// Offset of x from a multiple of 16 bytes, in elements.
    offset: usize,
}

fn compare(rng: &mut ChaCha8Rng, case: Case, device: &Device) -> Result<()> {
    let Case { rows, c, dtype, .. } = case;
    let (x, x64) = uniform(rng, &[case.offset + rows * c], dtype, device)?;
    let x = x.narrow(0, case.offset, rows * c)?.reshape((rows, c))?;
    let (w, w64) = uniform(rng, &[c], dtype, device)?;
    let expected = Expected::of_order_one(oracle(&x64[case.offset..], &w64));
    let problem = Problem::of_rows(Op::RmsNorm, &x)?;
    let able = REGISTRY.able(&problem, Facts::of(device)?);
    let entries = able.map(|entry| (entry.name, entry.run));
    for (kernel_name, kernel) in KERNELS.into_iter().chain(entries) {
        let what = format!("{kernel_name} {device:?} {case:?}");
        let y = poisoned(|| kernel(&x, &w, EPS))?;
        assert_close(&what, &y, &expected, tolerance(dtype, 1e-5))?;
    }
    Ok(())
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let rows = [1, 2, 31, 33, 197];
    let columns = [
        1, 7, 64, 65, 128, 248, 257, 512, 513, 1000, 2000, 4096, 10000,
    ];
    for device in devices() {
        for shape in pairwise(&[&rows, &columns, &[0, 1], &[0, 1]]) {
            let case = Case {
                rows: shape[0],
                c: shape[1],
                dtype: [DType::F32, DType::BF16][shape[2]],
                offset: shape[3],
            };
            compare(&mut rng, case, &device)?;
        }
    }
    Ok(())
}

/// Level 4 uses the fallback if a row is not a multiple of 16 bytes, is too long for the registers, or
/// belongs to a tensor that does not start at a multiple of 16 bytes.
#[test]
fn rows_that_do_not_fit_in_registers_have_a_fallback() -> Result<()> {
    let mut rng = rng();
    for (dtype, name) in [(DType::F32, "f32"), (DType::BF16, "bf16")] {
        for (c, offset, suffix) in [
            (512, 0, ""),
            (2000, 8, ""),
            (16384, 0, ""),
            (513, 0, "_fallback"),
            (16392, 0, "_fallback"),
            (512, 1, "_fallback"),
        ] {
            let case = Case {
                rows: 2,
                c,
                dtype,
                offset,
            };
            let (ran, reports) =
                simulated(Options::default(), || compare(&mut rng, case, &Device::Cpu));
            ran?;
            let level4: Vec<&str> = (reports.iter().map(|r| &*r.entry))
                .filter(|entry| entry.contains("level4"))
                .collect();
            let expected = format!("rms_norm_{name}_level4{suffix}");
            assert!(level4.iter().all(|entry| *entry == expected), "{level4:?}");
            assert!(!level4.is_empty() && reports.iter().all(|r| r.is_clean()));
        }
    }
    Ok(())
}

/// `level3.cu`, which no level launches.
static READING_VERSION: Module = module!("rms_norm/level3", sm_75);

#[test]
fn level_3_in_cuda_equals_level_3_in_ptx_bit_by_bit() -> Result<()> {
    let mut rng = rng();
    for (rows, c) in [
        (1, 1),
        (2, 7),
        (3, 65),
        (2, 255),
        (5, 256),
        (3, 257),
        (2, 1000),
        (1, 4099),
    ] {
        let (x, _) = uniform(&mut rng, &[rows, c], DType::F32, &Device::Cpu)?;
        let (w, _) = uniform(&mut rng, &[c], DType::F32, &Device::Cpu)?;
        let cuda = Tensor::zeros((rows, c), DType::F32, &Device::Cpu)?;
        let (ptx, reports) = simulated(Options::default(), || {
            Launch::new(&READING_VERSION, "rms_norm_f32_level3")
                .grid(rows, 1, 1)
                .block(256, 1, 1)
                .read(&x)
                .read(&w)
                .write(&cuda)
                .u32(c)
                .f32(EPS)
                .launch()?;
            super::level3::rms_norm(&x, &w, EPS)
        });
        assert_eq!(bits(&cuda)?, bits(&ptx?)?, "{rows} × {c}");
        assert!(reports.len() == 2 && reports.iter().all(|r| r.is_clean()));
    }
    Ok(())
}

#[test]
fn entries_are_named_by_lanes_and_chunks() {
    for ((f32, bf16), (lanes, chunks)) in ENTRIES.into_iter().zip(NARROW_ROW_VARIANTS) {
        assert_eq!(f32, format!("rms_norm_f32_level5_{lanes}x{chunks}"));
        assert_eq!(bf16, format!("rms_norm_bf16_level5_{lanes}x{chunks}"));
    }
}

/// A block has four rows of two warps each, and the last block one row: rows wait at separate barriers, and
/// missing rows return before them.
#[test]
fn rows_of_several_warps_share_a_block() -> Result<()> {
    let mut rng = rng();
    for (dtype, in_registers) in [(DType::F32, 516), (DType::BF16, 1032)] {
        for c in [in_registers, 37] {
            let case = Case {
                rows: 385,
                c,
                dtype,
                offset: 0,
            };
            let (ran, reports) =
                simulated(Options::default(), || compare(&mut rng, case, &Device::Cpu));
            ran?;
            let is_clean = reports.iter().all(|r| r.is_clean());
            assert!(
                is_clean && reports.iter().any(|r| r.block == [64, 4, 1]),
                "{case:?}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_shape(
        rows in 1usize..40,
        c in 1usize..1500,
        dtype in prop::sample::select(vec![DType::F32, DType::BF16]),
        offset in 0usize..5,
    ) {
        let case = Case { rows, c, dtype, offset };
        for device in devices() {
            compare(&mut rng(), case, &device).expect("a kernel that runs");
        }
    }
}

#[test]
fn an_empty_tensor_launches_nothing() -> Result<()> {
    for device in devices() {
        let x = Tensor::zeros((0, 8), DType::F32, &device)?;
        let w = Tensor::zeros(8, DType::F32, &device)?;
        for (_, kernel) in KERNELS {
            assert_eq!(kernel(&x, &w, EPS)?.dims(), [0, 8]);
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let x = Tensor::zeros((2, 8), DType::F32, &Device::Cpu)?;
    let w = Tensor::zeros(8, DType::F32, &Device::Cpu)?;
    let as_dtype = |t: &Tensor, dtype| t.to_dtype(dtype);
    for (_, kernel) in KERNELS {
        assert!(kernel(&x, &x, EPS).is_err());
        assert!(kernel(&x, &as_dtype(&w, DType::BF16)?, EPS).is_err());
        let (x, w) = (as_dtype(&x, DType::F64)?, as_dtype(&w, DType::F64)?);
        let error = kernel(&x, &w, EPS).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("level 2 can"), "{error}");
    }
    Ok(())
}
