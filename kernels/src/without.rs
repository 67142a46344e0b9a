//! Level 5 without some of its ideas: what an idea brings is the time that a model takes without it.
//!
//! Each thread has a setting of its own. A CUDA graph keeps the kernels of its recording.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

/// An idea of level 5 that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idea {
    /// The measured tables. Without them, the first kernel of the registry that can run.
    Dispatch,
    /// A forward pass as one CUDA graph. The program that runs the model decides about it.
    CudaGraph,
    /// f32 on tensor cores, as three products of TF32 or FP16. Without it, FMA in f32.
    Tf32x3,
    /// Hopper's tensor cores, fed by TMA. Without them, `mma.sync`.
    Wgmma,
    /// NVIDIA's cuBLAS and cuBLASLt. Without them, this project's kernels alone.
    Libraries,
    /// A kernel for each width of a narrow row of a norm. Without it, level 4's for all widths.
    NarrowNorms,
    /// A GEMV that has a whole row of weights in flight. Without it, another GEMV.
    LoadsInFlight,
    /// RMSNorm in the prologue of the GEMV of one row. Without it, a launch of its own.
    FusedNorm,
    /// Rotation, append and attention of a decode step in one launch, of clusters or not. Without it, two or three launches.
    OneLaunchAttention,
    /// All of a graph transformer in one launch. Without it, one launch or a few per op.
    GraphPass,
    /// The blocks of the vision transformer `s16` in kernels of their own. Without it, those of each op.
    EncoderPass,
    /// The blocks of the language models `readme` and `smollm-135m` in two launches each for one token. Without it, five.
    DecoderPass,
    /// The choice of the token and the next position in the kernel of a decode step's head. Without it, two launches more.
    HeadChoice,
    /// Programmatic dependent launch. Without it, a kernel starts when the one before has ended.
    Overlap,
}

thread_local! {
    /// The ideas that this thread leaves out, a bit each.
    static LEFT_OUT: Cell<u16> = const { Cell::new(0) };
}

impl Idea {
    /// All ideas, in the order of their variants.
    pub const ALL: [Self; 14] = [
        Self::Dispatch,
        Self::CudaGraph,
        Self::Tf32x3,
        Self::Wgmma,
        Self::Libraries,
        Self::NarrowNorms,
        Self::LoadsInFlight,
        Self::FusedNorm,
        Self::OneLaunchAttention,
        Self::GraphPass,
        Self::EncoderPass,
        Self::DecoderPass,
        Self::HeadChoice,
        Self::Overlap,
    ];

    /// `loads-in-flight`
    pub fn name(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::CudaGraph => "cuda-graph",
            Self::Tf32x3 => "tf32x3",
            Self::Wgmma => "wgmma",
            Self::Libraries => "libraries",
            Self::NarrowNorms => "narrow-norms",
            Self::LoadsInFlight => "loads-in-flight",
            Self::FusedNorm => "fused-norm",
            Self::OneLaunchAttention => "one-launch-attention",
            Self::GraphPass => "graph-pass",
            Self::EncoderPass => "encoder-pass",
            Self::DecoderPass => "decoder-pass",
            Self::HeadChoice => "head-choice",
            Self::Overlap => "overlap",
        }
    }

    /// Whether this thread leaves it out.
    #[inline]
    pub fn is_left_out(self) -> bool {
        left_out() & self.bit() != 0
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }

    /// The idea that a kernel of a registry is there for, by the kernel's name.
    fn of_kernel(name: &str) -> Option<Self> {
        match name {
            "candle" | "cublaslt" => Some(Self::Libraries),
            "rms_norm_level5" | "layer_norm_level5" => Some(Self::NarrowNorms),
            "linear_level5_row_gemv" => Some(Self::LoadsInFlight),
            "attention_step_cluster" | "attention_step_split" => Some(Self::OneLaunchAttention),
            "attention_level5" | "linear_bf16_level5_128x192" | "linear_bf16_level5_128x128" => {
                Some(Self::Wgmma)
            }
            _ => name.contains("_tf32x3_").then_some(Self::Tf32x3),
        }
    }
}

impl fmt::Display for Idea {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Idea {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|idea| idea.name() == text);
        found.ok_or_else(|| format!("expected one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Leaves out these ideas and no others, from this thread's next launch on.
pub fn set(ideas: &[Idea]) {
    let bits = ideas.iter().fold(0, |bits, idea| bits | idea.bit());
    LEFT_OUT.set(bits);
}

/// The ideas that are left out, a bit each: equal numbers mean equal choices of kernels.
#[inline]
pub(crate) fn left_out() -> u16 {
    LEFT_OUT.get()
}

/// Whether a kernel of a registry may run.
pub(crate) fn allows(kernel: &str) -> bool {
    Idea::of_kernel(kernel).is_none_or(|idea| !idea.is_left_out())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attention, layer_norm, linear, matmul, rms_norm};

    #[test]
    fn names_can_be_read() {
        for idea in Idea::ALL {
            assert_eq!(idea.name().parse(), Ok(idea));
        }
        let error = "Graph".parse::<Idea>().expect_err("no such name");
        assert!(
            error.starts_with("expected one of dispatch, cuda-graph, "),
            "{error}"
        );
    }

    #[test]
    fn a_thread_leaves_out_nothing_of_another() {
        set(&[Idea::Tf32x3]);
        let elsewhere = std::thread::spawn(|| Idea::Tf32x3.is_left_out());
        assert!(!elsewhere.join().expect("no panic"));
        assert!(Idea::Tf32x3.is_left_out());
        set(&[]);
    }

    /// The ideas that are kernels have kernels, and the kernels of level 4 belong to none.
    #[test]
    fn kernels_belong_to_ideas() {
        let mut names: Vec<&str> = vec![];
        names.extend(linear::level5::REGISTRY.entries.iter().map(|e| e.name));
        names.extend(matmul::level5::REGISTRY.entries.iter().map(|e| e.name));
        names.extend(rms_norm::level5::REGISTRY.entries.iter().map(|e| e.name));
        names.extend(layer_norm::level5::REGISTRY.entries.iter().map(|e| e.name));
        names.extend(attention::level5::REGISTRY.entries.iter().map(|e| e.name));
        names.extend(
            attention::level5::STEP_REGISTRY
                .entries
                .iter()
                .map(|e| e.name),
        );
        let of = |idea: Idea| {
            let of_it = |name: &&&str| Idea::of_kernel(name) == Some(idea);
            names.iter().filter(of_it).count()
        };
        assert_eq!(
            Idea::ALL.map(of),
            [0, 0, 5, 3, 3, 2, 1, 0, 2, 0, 0, 0, 0, 0],
            "{names:?}"
        );
        let mut of_level_4 = names.iter().filter(|name| name.contains("level4"));
        assert!(of_level_4.all(|name| Idea::of_kernel(name).is_none()));
    }
}
