// A lower limit for the time of a kernel, from the roofline and its third limit.

/// Limits of a GPU, in the units of a data sheet. T is 10^12, and µ is 10^-6.
#[derive(Debug, Clone, Copy)]
pub struct Gpu {
    /// TFLOP/s
    pub teraflops: f64,
    /// TB/s
    pub terabytes: f64,
    /// Time of an empty launch in µs.
    pub launch: f64,
}

/// The minimum work of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Additions and multiplications, each counted as one.
    pub flops: f64,
    /// Bytes, if each input is read once and each output is written once.
    pub bytes: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dtype {
    F32,
    Bf16,
}

/// The limit that dominates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    Arithmetic,
    Memory,
    Launch,
}

/// y = x·wᵀ with x (m, k), w (n, k), y (m, n); there is no bias.
pub fn matmul(m: usize, n: usize, k: usize, dtype: Dtype) -> Cost {
    // REGION: matmul
    //|     // Each element of y is a sum of k products.
    //|     let flops = 0;
    //|     let bytes = 0;
    //|     Cost { flops: flops as f64, bytes: bytes as f64 }
    let flops = 2 * m * n * k;
    let size = if dtype == Dtype::F32 { 4 } else { 2 };
    let bytes = size * (m * k + n * k + m * n);
    Cost { flops: flops as f64, bytes: bytes as f64 }
    // END
}

/// RMSNorm y = x / √(mean(x²) + eps) ⊙ g with x and y (rows, columns), g (columns). Four FLOPs for
/// each element of x: a square, an addition to the sum, and two multiplications.
pub fn rms_norm(rows: usize, columns: usize, dtype: Dtype) -> Cost {
    // REGION: norm
    //|     let flops = 0;
    //|     let bytes = 0;
    //|     Cost { flops: flops as f64, bytes: bytes as f64 }
    let flops = 4 * rows * columns;
    let size = if dtype == Dtype::F32 { 4 } else { 2 };
    let bytes = size * (2 * rows * columns + columns);
    Cost { flops: flops as f64, bytes: bytes as f64 }
    // END
}

/// Minimum time in µs of an operation that takes `launches` launches, and the limit that dominates.
pub fn time(cost: Cost, launches: usize, gpu: Gpu) -> (f64, Limit) {
    // REGION: time
    //|     // Arithmetic, memory and launches go on at the same time. Which of them ends last?
    //|     (gpu.launch, Limit::Launch)
    let candidates = [
        (cost.flops / (gpu.teraflops * 1e12) * 1e6, Limit::Arithmetic),
        (cost.bytes / (gpu.terabytes * 1e12) * 1e6, Limit::Memory),
        (launches as f64 * gpu.launch, Limit::Launch),
    ];
    let longer = |a: (f64, Limit), b: (f64, Limit)| if b.0 > a.0 { b } else { a };
    candidates.into_iter().fold((0., Limit::Launch), longer)
    // END
}
