//! The micro-kernel: the sums of a few rows and one or two vectors of columns stay in registers while K goes
//! by. See `linear/cpu/tile.rs`, whose operands were put in order beforehand.

use pulp::{Simd, WithSimd};

/// Rows of the tallest tile of any CPU.
pub const MAX_ROWS: usize = 14;

/// Rows of the tallest tile of this CPU: its sums, two vectors of B and one of A fill its registers.
pub const fn max_rows<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { MAX_ROWS } else { 6 }
}

/// Columns of B: up to two vectors of them, all of K.
#[derive(Clone, Copy)]
pub struct Panel<'a> {
    /// From the first of them in the first row of B on.
    pub b: &'a [f32],
    /// From a row of B to the next.
    pub stride: usize,
    /// Rows of B.
    pub k: usize,
    /// How many columns.
    pub width: usize,
}

/// Rows of C, V vectors wide: a·b + bias, written to the columns from `from` on.
#[inline(always)]
pub fn tile<S: Simd, const V: usize>(
    simd: S,
    a: &[f32],
    stride: usize,
    b: Panel,
    bias: Option<&[f32]>,
    c: &mut [f32],
    (n, from): (usize, usize),
) {
    let run = Tile::<S, V> {
        simd,
        a,
        stride,
        b,
        bias,
        c,
        n,
        from,
    };
    match run.c.len() / n {
        1 => simd.vectorize(Rows::<S, V, 1>(run)),
        2 => simd.vectorize(Rows::<S, V, 2>(run)),
        3 | 4 => simd.vectorize(Rows::<S, V, 4>(run)),
        5 | 6 => simd.vectorize(Rows::<S, V, 6>(run)),
        7 | 8 => simd.vectorize(Rows::<S, V, 8>(run)),
        9..=11 => simd.vectorize(Rows::<S, V, 11>(run)),
        _ => simd.vectorize(Rows::<S, V, MAX_ROWS>(run)),
    }
}

struct Tile<'a, S: Simd, const V: usize> {
    simd: S,
    a: &'a [f32],
    stride: usize,
    b: Panel<'a>,
    bias: Option<&'a [f32]>,
    c: &'a mut [f32],
    n: usize,
    from: usize,
}

/// With as many rows as MR, or fewer.
struct Rows<'a, S: Simd, const V: usize, const MR: usize>(Tile<'a, S, V>);

impl<S: Simd, const V: usize, const MR: usize> WithSimd for Rows<'_, S, V, MR> {
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let Tile {
            simd,
            a,
            stride,
            b,
            bias,
            c,
            n,
            from,
        } = self.0;
        let rows = c.len() / n;
        // The last row stands in for those that are missing.
        let a: [&[f32]; MR] = std::array::from_fn(|m| match b.k {
            0 => &[][..],
            k => &a[m.min(rows - 1) * stride..][..k],
        });
        let mut sums = [[simd.splat_f32s(0.); V]; MR];
        if let Some(bias) = bias {
            sums = [load::<S, V>(simd, bias); MR];
        }
        if b.width == V * S::F32_LANES {
            for k in 0..b.k {
                let row = &b.b[k * b.stride..][..V * S::F32_LANES];
                let vectors = S::as_simd_f32s(row).0;
                step::<S, V, MR>(simd, &a, k, std::array::from_fn(|v| vectors[v]), &mut sums);
            }
        } else {
            for k in 0..b.k {
                let row = &b.b[k * b.stride..][..b.width];
                step::<S, V, MR>(simd, &a, k, load::<S, V>(simd, row), &mut sums);
            }
        }
        for (c, sums) in c.chunks_mut(n).zip(&sums) {
            let c = &mut c[from..from + b.width];
            for (c, &sum) in c.chunks_mut(S::F32_LANES).zip(sums) {
                simd.partial_store_f32s(c, sum);
            }
        }
    }
}

/// V vectors of as many elements or fewer; zeros where there are none.
#[inline(always)]
fn load<S: Simd, const V: usize>(simd: S, x: &[f32]) -> [S::f32s; V] {
    std::array::from_fn(|v| {
        let x = x.get(v * S::F32_LANES..).unwrap_or_default();
        simd.partial_load_f32s(&x[..x.len().min(S::F32_LANES)])
    })
}

/// sums\[m\] += a\[m\]\[k\]·b
#[inline(always)]
fn step<S: Simd, const V: usize, const MR: usize>(
    simd: S,
    a: &[&[f32]; MR],
    k: usize,
    b: [S::f32s; V],
    sums: &mut [[S::f32s; V]; MR],
) {
    for m in 0..MR {
        let a = simd.splat_f32s(a[m][k]);
        for v in 0..V {
            sums[m][v] = simd.mul_add_e_f32s(a, b[v], sums[m][v]);
        }
    }
}
