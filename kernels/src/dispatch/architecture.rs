//! Compute capabilities by name, and the features that kernels need.
//!
//! "CUDA C++ Programming Guide", appendix on compute capabilities.

use std::fmt;

use serde::Serialize;

/// A family of GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Architecture {
    /// 7.0, 7.2
    Volta,
    /// 7.5
    Turing,
    /// 8.0, 8.6, 8.7
    Ampere,
    /// 8.9
    Ada,
    /// 9.0
    Hopper,
    /// 10.0, 10.3, 11.0, 12.0, 12.1
    Blackwell,
}

/// A hardware feature of newer GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Feature {
    /// `mma.sync` on f16.
    TensorCores,
    /// `ldmatrix`, and integer matmuls on tensor cores.
    MatrixLoads,
    /// `mma.sync` on bf16 and TF32.
    Bf16,
    /// `cp.async`: copies from global to shared memory that bypass the registers.
    AsyncCopies,
    /// Matmuls of E4M3 and E5M2.
    Fp8,
    /// Thread-block clusters, and bulk copies by TMA, the Tensor Memory Accelerator.
    Clusters,
    /// `wgmma`: a matmul by four warps with operands in shared memory; Hopper only.
    Wgmma,
    /// Matmuls of 4-bit floats with block scales.
    Fp4,
}

use Architecture::*;
use Feature::*;

impl Architecture {
    /// Returns the architecture of a compute capability; `None` if it is older than Volta or unknown.
    pub fn of(capability: (u32, u32)) -> Option<Self> {
        Some(match capability {
            (7, 0 | 2) => Volta,
            (7, 5) => Turing,
            (8, 0 | 6 | 7) => Ampere,
            (8, 9) => Ada,
            (9, _) => Hopper,
            (10..=12, _) => Blackwell,
            _ => return None,
        })
    }

    /// Features in chronological order.
    pub fn features(self) -> &'static [Feature] {
        match self {
            Volta => &[TensorCores],
            Turing => &[TensorCores, MatrixLoads],
            Ampere => &[TensorCores, MatrixLoads, Bf16, AsyncCopies],
            Ada => &[TensorCores, MatrixLoads, Bf16, AsyncCopies, Fp8],
            Hopper => &[
                TensorCores,
                MatrixLoads,
                Bf16,
                AsyncCopies,
                Fp8,
                Clusters,
                Wgmma,
            ],
            Blackwell => &[
                TensorCores,
                MatrixLoads,
                Bf16,
                AsyncCopies,
                Fp8,
                Clusters,
                Fp4,
            ],
        }
    }

    /// Whether it has `feature`.
    pub fn has(self, feature: Feature) -> bool {
        self.features().contains(&feature)
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_have_names_and_features() {
        for (capability, name, has, lacks) in [
            ((7, 0), "Volta", TensorCores, MatrixLoads),
            ((7, 5), "Turing", MatrixLoads, Bf16),
            ((8, 0), "Ampere", AsyncCopies, Fp8),
            ((8, 6), "Ampere", Bf16, Fp8),
            ((8, 9), "Ada", Fp8, Clusters),
            ((9, 0), "Hopper", Wgmma, Fp4),
            ((10, 0), "Blackwell", Fp4, Wgmma),
            ((12, 0), "Blackwell", Clusters, Wgmma),
        ] {
            let found = Architecture::of(capability).expect("a known GPU");
            assert_eq!(found.to_string(), name);
            assert!(found.has(has) && !found.has(lacks), "{capability:?}");
        }
        assert_eq!(Architecture::of((6, 1)), None);
        assert_eq!(Architecture::of((13, 0)), None);
    }
}
