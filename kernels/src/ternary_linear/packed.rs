//! Ternary weights, four a byte.

use candle_core::{CpuStorage, DType, Device, Result, Storage, Tensor};

use crate::cpu::Slice;
use crate::error::mismatch;

/// Bytes that a row is padded to a multiple of: the widest vector register of a CPU, and four 16-byte
/// loads of a GPU. Rows so never end inside a load.
pub(super) const ROW_ALIGN: usize = 64;

/// The largest K: sums of K products of codes, up to 2, with 8-bit activations, up to 127, stay below
/// 2³¹.
const MAX_K: usize = 1 << 23;

/// The code of the weight 0 four times: what pads a row.
pub(super) const ZEROS: u8 = 0b01_01_01_01;

/// Weights s_n·t_nk of N rows and K columns, t ∈ {−1, 0, +1}, on one device.
///
/// A weight is the 2-bit code t + 1, four a byte with the first in the lowest bits; code 3 is none.
/// Rows are padded with the code 1, the weight 0. Two bits a weight are a sixteenth of f32.
#[derive(Debug, Clone)]
pub struct Ternary {
    /// (N, K/4 rounded up to a multiple of `ROW_ALIGN`) u8
    codes: Tensor,
    /// (N) f32
    scales: Tensor,
    k: usize,
}

impl Ternary {
    /// The nearest ternary weights to w (N, K), f32 or bf16, on its device.
    ///
    /// s_n = mean_k |w_nk|, t_nk = round(w_nk/s_n) between −1 and 1, ties to even; a row of zeros has
    /// s_n = 0. BitNet b1.58, section 2, with a mean for each row in place of one for the matrix.
    ///
    /// # Errors
    /// When w is no matrix of f32 or bf16, when K is 0 or beyond 2²³, or when a weight is not finite: the
    /// error names its row and column.
    pub fn quantize(w: &Tensor) -> Result<Self> {
        let (n, k) = w.dims2()?;
        if !matches!(w.dtype(), DType::F32 | DType::BF16) {
            let found = w.dtype().as_str();
            return Err(mismatch("Ternary::quantize", "f32 or bf16", found));
        }
        let values = w.to_device(&Device::Cpu)?.to_dtype(DType::F32)?;
        let values = values.flatten_all()?.to_vec1::<f32>()?;
        if let Some(i) = values.iter().position(|w| !w.is_finite()) {
            let found = format!("{} in row {}, column {}", values[i], i / k, i % k);
            return Err(mismatch("Ternary::quantize", "finite weights", found));
        }
        let mut codes = vec![ZEROS; n * stride(k)];
        let mut scales = vec![0.; n];
        for (i, scale) in scales.iter_mut().enumerate() {
            let bytes = &mut codes[i * stride(k)..][..stride(k)];
            *scale = quantize_row(&values[i * k..][..k], bytes);
        }
        Self::new(codes, Tensor::new(scales, &Device::Cpu)?, k, w.device())
    }

    /// Weights packed elsewhere: codes (N, K/4 rounded up) u8 and scales (N) f32.
    ///
    /// Bits of a row's last byte beyond K are ignored.
    ///
    /// # Errors
    /// When shapes, dtypes or devices are others, when K is 0 or beyond 2²³, or at a code 3: the error
    /// names its row and column.
    pub fn from_packed(codes: &Tensor, scales: &Tensor, k: usize) -> Result<Self> {
        let (n, bytes) = codes.dims2()?;
        let expected = format!("codes (N, {}) u8 and scales (N) f32", k.div_ceil(4));
        let fits = bytes == k.div_ceil(4) && scales.dims() == [n];
        if !fits || (codes.dtype(), scales.dtype()) != (DType::U8, DType::F32) {
            let found = format!("{codes:?} and {scales:?}");
            return Err(mismatch("Ternary::from_packed", expected, found));
        }
        let packed = codes.flatten_all()?.to_vec1::<u8>()?;
        let mut padded = vec![ZEROS; n * stride(k)];
        for row in 0..n {
            let padded = &mut padded[row * stride(k)..][..bytes];
            padded.copy_from_slice(&packed[row * bytes..][..bytes]);
            if let (Some(last), true) = (padded.last_mut(), !k.is_multiple_of(4)) {
                let real = (1 << (2 * (k % 4))) - 1;
                *last = (*last & real) | (ZEROS & !real);
            }
            if let Some(column) = (0..k).find(|&column| code(padded, column) == 3) {
                let found = format!("code 3 in row {row}, column {column}");
                return Err(mismatch("Ternary::from_packed", "codes 0, 1 and 2", found));
            }
        }
        Self::new(padded, scales.to_device(&Device::Cpu)?, k, codes.device())
    }

    fn new(codes: Vec<u8>, scales: Tensor, k: usize, device: &Device) -> Result<Self> {
        if !(1..=MAX_K).contains(&k) {
            return Err(mismatch("Ternary", "K of 1 to 2²³", k));
        }
        let shape = (scales.elem_count(), stride(k));
        Ok(Self {
            codes: Tensor::from_vec(codes, shape, device)?,
            scales: scales.contiguous()?.to_device(device)?,
            k,
        })
    }

    /// s_n·t_nk, (N, K) f32.
    ///
    /// # Errors
    /// When the device fails.
    pub fn dequantize(&self) -> Result<Tensor> {
        let (n, k) = self.shape();
        let here = self.to_device(&Device::Cpu)?;
        let scales = Slice::<f32>::new(&here.scales)?;
        let weights = here.with_codes(|codes| {
            let row = |n: usize| &codes[n * stride(k)..][..stride(k)];
            let weight = |n, k| scales[n] * (f32::from(code(row(n), k)) - 1.);
            let rows = (0..n).flat_map(|n| (0..k).map(move |k| weight(n, k)));
            rows.collect::<Vec<f32>>()
        })?;
        Tensor::from_vec(weights, (n, k), self.codes.device())
    }

    /// The same weights on another device.
    ///
    /// # Errors
    /// When a device fails.
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        Ok(Self {
            codes: self.codes.to_device(device)?,
            scales: self.scales.to_device(device)?,
            k: self.k,
        })
    }

    /// (N, K)
    pub fn shape(&self) -> (usize, usize) {
        (self.scales.elem_count(), self.k)
    }

    /// The codes without the padding bytes, as [`Ternary::from_packed`] takes them: (N, K/4 rounded up)
    /// u8, a view.
    ///
    /// # Errors
    /// None in practice.
    pub fn packed(&self) -> Result<Tensor> {
        self.codes.narrow(1, 0, self.k.div_ceil(4))
    }

    /// (N) f32
    pub fn scales(&self) -> &Tensor {
        &self.scales
    }

    /// The codes with their padding, (N, `stride()`) u8, contiguous from the start of its storage.
    pub(super) fn codes(&self) -> &Tensor {
        &self.codes
    }

    /// Bytes from one row to the next.
    pub(super) fn stride(&self) -> usize {
        stride(self.k)
    }

    /// `f` of the bytes of all rows, on the CPU.
    pub(super) fn with_codes<T>(&self, f: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let (storage, _) = self.codes.storage_and_layout();
        match &*storage {
            Storage::Cpu(CpuStorage::U8(codes)) => Ok(f(codes)),
            _ => Err(mismatch("Ternary", "weights on the CPU", "another device")),
        }
    }
}

/// Bytes of a padded row.
fn stride(k: usize) -> usize {
    k.div_ceil(4).next_multiple_of(ROW_ALIGN)
}

/// The code at a column of a row.
fn code(row: &[u8], column: usize) -> u8 {
    row[column / 4] >> (2 * (column % 4)) & 3
}

/// Packs a row of weights over the padding, and returns its scale.
fn quantize_row(w: &[f32], codes: &mut [u8]) -> f32 {
    let sum: f64 = w.iter().map(|w| f64::from(w.abs())).sum();
    let scale = (sum / w.len() as f64) as f32;
    if scale > 0. {
        for (byte, w) in codes.iter_mut().zip(w.chunks(4)) {
            for (i, w) in w.iter().enumerate() {
                let t = (w / scale).round_ties_even().clamp(-1., 1.);
                *byte = (*byte & !(3 << (2 * i))) | ((t + 1.) as u8) << (2 * i);
            }
        }
    }
    scale
}
