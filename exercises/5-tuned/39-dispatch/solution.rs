// Which kernel multiplies? The first entry of a table whose condition holds.

/// A GPU by its compute capability: (9, 0) is 9.0.
pub type Capability = (u32, u32);

/// The family that a compute capability belongs to.
pub fn architecture(capability: Capability) -> &'static str {
    // REGION: architecture
    match capability {
        (7, 0..=4) => "Volta",
        (7, 5..) => "Turing",
        (8, 9) => "Ada",
        (8, _) => "Ampere",
        (9, _) => "Hopper",
        (10..=12, _) => "Blackwell",
        _ => "unknown",
    }
    // END
}

/// Sizes, dtype and GPU of a matmul.
pub struct Product {
    pub m: usize,
    pub k: usize,
    /// Whether operands are bf16, not f32.
    pub bf16: bool,
    pub capability: Capability,
}

/// Returns the name of the kernel that runs a matmul.
pub fn kernel(product: &Product) -> &'static str {
    // REGION: table
    let Product { m, k, bf16, capability } = *product;
    // Tensor cores take bf16 from 8.0 on, and rows of a multiple of 8.
    let has_tensor_cores = bf16 && capability >= (8, 0) && k % 8 == 0;
    match m {
        _ if k == 0 => "fill",
        1 => "gemv",
        _ if has_tensor_cores => "mma",
        _ => "tile",
    }
    // END
}
