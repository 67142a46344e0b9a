//! Both levels against the oracle, on every device.

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

use crate::attention::Cache;
use crate::output::poisoned;
use crate::testing::{
    Expected, KernelFile, assert_close, cases, devices, host, pairwise, rng, tolerance, uniform,
};

type Kernel = fn(
    &Tensor,
    &Tensor,
    &Tensor,
    &Tensor,
    &Tensor,
    cache: &mut Cache,
    position: usize,
) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 2] = [
    ("level 3", super::level3::rope_append),
    ("level 4", super::level4::rope_append),
];

#[derive(Debug, Clone, Copy)]
struct Case {
    batch: usize,
    tokens: usize,
    position: usize,
    heads: usize,
    kv_heads: usize,
    d: usize,
    dtype: DType,
    /// Offset of q, k and v's shared tensor from a multiple of 16 bytes, in elements.
    offset: usize,
}

impl Case {
    /// Returns q, k and v, as views of one tensor.
    fn cut(&self, product: &Tensor) -> Result<[Tensor; 3]> {
        let (h, h_kv) = (self.heads, self.kv_heads);
        let len = product.elem_count() - self.offset;
        let all = product.narrow(0, self.offset, len)?;
        let all = all.reshape((self.batch, self.tokens, h + 2 * h_kv, self.d))?;
        let cut = |start, heads| all.narrow(2, start, heads);
        Ok([cut(0, h)?, cut(h, h_kv)?, cut(h + h_kv, h_kv)?])
    }

    /// Returns q (B, T, H, D), k and v (B, Hkv, T, D), in f64.
    fn oracle(&self, product: &[f64], cos: &[f64], sin: &[f64]) -> [Vec<f64>; 3] {
        let (half, heads) = (self.d / 2, self.heads + 2 * self.kv_heads);
        let [mut q, mut k, mut v] = [vec![], vec![], vec![]];
        let row = |b: usize, t: usize, h: usize| {
            &product[((b * self.tokens + t) * heads + h) * self.d..][..self.d]
        };
        let rotated = |b: usize, t: usize, h: usize| {
            let x = row(b, t, h);
            (0..self.d).map(move |c| {
                let (cos, sin) = (cos[t * half + c % half], sin[t * half + c % half]);
                if c < half {
                    x[c] * cos - x[c + half] * sin
                } else {
                    x[c] * cos + x[c - half] * sin
                }
            })
        };
        for b in 0..self.batch {
            for t in 0..self.tokens {
                (0..self.heads).for_each(|h| q.extend(rotated(b, t, h)));
            }
            for h in self.heads..self.heads + self.kv_heads {
                for t in 0..self.tokens {
                    k.extend(rotated(b, t, h));
                    v.extend_from_slice(row(b, t, h + self.kv_heads));
                }
            }
        }
        [q, k, v]
    }
}

fn compare(rng: &mut ChaCha8Rng, case: Case, device: &Device) -> Result<()> {
    let (d, dtype, half) = (case.d, case.dtype, case.d / 2);
    let elements = case.batch * case.tokens * (case.heads + 2 * case.kv_heads) * d;
    let (product, product64) = uniform(rng, &[case.offset + elements], dtype, device)?;
    let (cos, cos64) = uniform(rng, &[case.tokens + 1, half], dtype, device)?;
    let (sin, sin64) = uniform(rng, &[case.tokens + 1, half], dtype, device)?;
    let (cos, sin) = (
        cos.narrow(0, 1, case.tokens)?,
        sin.narrow(0, 1, case.tokens)?,
    );
    let expected = case.oracle(&product64[case.offset..], &cos64[half..], &sin64[half..]);
    let [q, k, v] = case.cut(&product)?;
    for (level, kernel) in KERNELS {
        let capacity = case.position + case.tokens + 2;
        let (y, cache) = poisoned(|| {
            let mut cache = Cache::new(case.batch, capacity, case.kv_heads, d, dtype, device)?;
            let y = kernel(&q, &k, &v, &cos, &sin, &mut cache, case.position)?;
            Ok::<_, candle_core::Error>((y, cache))
        })?;
        let (keys, values) = cache.host()?; // (B, Hkv, capacity, D)
        for ((name, found), expected) in [("q", &y), ("k", &keys), ("v", &values)]
            .into_iter()
            .zip(&expected)
        {
            let what = format!("{level} {device:?} {case:?} {name}");
            let written = match name {
                "q" => found.clone(),
                _ => found.narrow(2, case.position, case.tokens)?,
            };
            let expected = Expected::of_order_one(expected.clone());
            assert_close(&what, &written, &expected, tolerance(dtype, 1e-5))?;
            let numbers = host(found)?.iter().filter(|x| !x.is_nan()).count();
            assert_eq!(
                numbers,
                expected.values.len(),
                "{what}: nothing else is written"
            );
        }
    }
    Ok(())
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let heads = [(1, 1), (3, 1), (6, 2), (8, 8), (9, 3)];
    let axes: [&[usize]; 7] = [
        &[1, 2, 3],
        &[1, 2, 31, 64, 65],
        &[0, 1, 255],
        &[0, 1, 2, 3, 4],
        &[2, 16, 32, 64, 80, 128, 300],
        &[0, 1],
        &[0, 1, 8],
    ];
    for device in devices() {
        for shape in pairwise(&axes) {
            let (heads, kv_heads) = heads[shape[3]];
            let case = Case {
                batch: shape[0],
                tokens: shape[1],
                position: shape[2],
                heads,
                kv_heads,
                d: shape[4],
                dtype: [DType::F32, DType::BF16][shape[5]],
                offset: shape[6],
            };
            compare(&mut rng, case, &device)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_shape(
        (batch, tokens, position) in (1usize..4, 1usize..20, 0usize..20),
        (heads, kv_heads, half) in (1usize..10, 1usize..10, 1usize..70),
        dtype in prop::sample::select(vec![DType::F32, DType::BF16]),
        offset in 0usize..9,
    ) {
        let case = Case { batch, tokens, position, heads, kv_heads, d: 2 * half, dtype, offset };
        for device in devices() {
            compare(&mut rng(), case, &device).expect("a kernel that runs");
        }
    }
}

#[test]
fn no_tokens_launch_nothing() -> Result<()> {
    for device in devices() {
        let x = Tensor::zeros((1, 0, 2, 8), DType::F32, &device)?;
        let angles = Tensor::zeros((0, 4), DType::F32, &device)?;
        let mut cache = Cache::new(1, 4, 2, 8, DType::F32, &device)?;
        for (_, kernel) in KERNELS {
            let y = kernel(&x, &x, &x, &angles, &angles, &mut cache, 4)?;
            assert_eq!(y.dims(), [1, 0, 2, 8]);
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let device = Device::Cpu;
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &device);
    let (x, angles) = (zeros(&[1, 3, 2, 8])?, zeros(&[3, 4])?);
    let (one, odd) = (zeros(&[1, 3, 1, 8])?, zeros(&[1, 3, 2, 7])?);
    let spread = zeros(&[1, 2, 3, 8])?.transpose(1, 2)?;
    let half = x.to_dtype(DType::BF16)?;
    let mut cache = Cache::new(1, 4, 2, 8, DType::F32, &device)?;
    for (_, kernel) in KERNELS {
        assert!(kernel(&x, &x, &x, &angles, &angles, &mut cache, 1).is_ok());
        let full = kernel(&x, &x, &x, &angles, &angles, &mut cache, 2).map(|_| ());
        assert!(
            full.unwrap_err()
                .to_string()
                .contains("at most 4 positions")
        );
        for [q, k, v, cos, sin] in [
            [&x, &one, &x, &angles, &angles],
            [&x, &x, &one, &angles, &angles],
            [&odd, &odd, &odd, &angles, &angles],
            [&x, &x, &x, &one, &angles],
            [&spread, &x, &x, &angles, &angles],
            [&x, &x, &spread, &angles, &angles],
            [&half, &x, &x, &angles, &angles],
        ] {
            assert!(kernel(q, k, v, cos, sin, &mut cache, 0).is_err());
        }
    }
    Ok(())
}

/// Constants that launches share with the kernels.
#[test]
fn launches_have_the_threads_of_the_kernels() {
    for (file, entries) in [
        (
            "rope/level4",
            ["rope_append_f32_level4", "rope_append_bf16_level4"],
        ),
        (
            "rope/level5",
            ["rope_append_f32_level5", "rope_append_bf16_level5"],
        ),
    ] {
        let file = KernelFile::read(file, "sm_75");
        for entry in entries {
            assert_eq!(
                file.max_threads(entry),
                super::level4_launch::THREADS,
                "{entry}"
            );
        }
    }
}
