//! Attention over the edges of a graph, with features on the edges, a skip connection and a residual:
//! αᵢⱼ = softmaxⱼ(qᵢ·(kⱼ + Wₑeᵢⱼ)/√D), yᵢ = Σⱼ αᵢⱼ(vⱼ + Wₑeᵢⱼ) + skipᵢ + residualᵢ, over the incoming edges j → i.
//!
//! "Masked label prediction", Shi et al. 2021, equations 3 and 4. q, k, v (N, H, D), skip and residual
//! (N, H·D), e (E, Fe), Wₑ (H·D, Fe), all f32 or all bf16; scores, softmax and sums are in f32, and y is
//! rounded once. A repeated edge counts twice, and a node without edges gets skip + residual.
//!
//! q, k, v and skip may be views, such as the four parts of one product (N, 4·H·D): a node's channels
//! lie together, and how far nodes are apart is a parameter of the kernels. The residual is contiguous.
//!
//! Level 3 projects every edge's features when it comes to the edge. Level 4 never does: by
//! qᵢ·(Wₑe) = (Wₑᵀqᵢ)·e and Σα(Wₑe) = Wₑ(Σαe) there are two products with Wₑ per node.
//!
//! Tolerance: 1e-4 in f32, 2e-2 in bf16, of Σα(|v| + |Wₑ||e|) + |skip| + |residual|.

pub(crate) mod calls;
mod cpu;
#[path = "level3.rs"]
mod level3_launch;
#[path = "level4.rs"]
mod level4_launch;
#[path = "level5.rs"]
mod level5_launch;

use candle_core::{DType, Result, Tensor};
use operands::{Csr, Weight};
use trace::{span, span_because};

use crate::cost::Cost;
use crate::element::{by_element, same_dtype};
use crate::error::{mismatch, unsupported};
use crate::launch::on_cpu;

/// N, H, D, E and Fe.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// N
    pub nodes: usize,
    /// H
    pub heads: usize,
    /// D: channels of a head.
    pub head_dim: usize,
    /// E
    pub edges: usize,
    /// Fe: features of an edge.
    pub features: usize,
}

/// q, k, v, skip, residual and y once, the edges' features and sources, Wₑ and the rows once.
///
/// By the folded form, which takes the fewest operations: two products with Wₑ a node, and an edge has
/// q·k, the product with its features, the softmax, and both weighted sums.
pub fn cost(size: Size, dtype: DType) -> Cost {
    let Size {
        nodes,
        heads,
        head_dim,
        edges,
        features,
    } = size;
    let channels = heads * head_dim;
    let elements = 6 * nodes * channels + edges * features + channels * features;
    let flops =
        nodes * channels * (4 * features + 3) + edges * heads * (4 * head_dim + 4 * features + 4);
    let mut cost = Cost::new(elements, dtype, flops);
    cost.bytes += 4 * (nodes + 1 + edges) as u64;
    cost
}

/// The tensors that the kernels read. On a GPU the kernels trust the graph; on a CPU it is checked.
#[derive(Clone, Copy)]
struct Params<'a> {
    q: &'a Tensor,
    k: &'a Tensor,
    v: &'a Tensor,
    skip: &'a Tensor,
    residual: &'a Tensor,
    edges: &'a Tensor,
    w: &'a Tensor,
    graph: &'a Csr,
}

impl Params<'_> {
    /// Checks that shapes and dtypes agree, and that a row's numbers lie together.
    fn check(&self, kernel: &str) -> Result<Size> {
        let (nodes, heads, head_dim) = self.q.dims3()?;
        let (edges, features) = self.edges.dims2()?;
        let channels = heads * head_dim;
        let expect = |name: &str, x: &Tensor, dims: &[usize]| {
            if x.dims() == dims {
                return Ok(());
            }
            let found = format!("{:?}", x.dims());
            Err(mismatch(kernel, format!("{name} {dims:?}"), found))
        };
        expect("k", self.k, &[nodes, heads, head_dim])?;
        expect("v", self.v, &[nodes, heads, head_dim])?;
        expect("skip", self.skip, &[nodes, channels])?;
        expect("residual", self.residual, &[nodes, channels])?;
        expect("w", self.w, &[channels, features])?;
        expect("row_ptr", &self.graph.row_ptr, &[nodes + 1])?;
        expect("col_idx", &self.graph.col_idx, &[edges])?;
        for x in [&self.graph.row_ptr, &self.graph.col_idx] {
            if x.dtype() != DType::U32 {
                return Err(mismatch(kernel, "a graph in u32", x.dtype().as_str()));
            }
        }
        let views = [self.q, self.k, self.v, self.skip, self.edges, self.w];
        same_dtype(kernel, &[&views[..], &[self.residual]].concat())?;
        for x in views {
            channels_together(kernel, x)?;
        }
        if !self.residual.is_contiguous() {
            let found = format!("strides {:?}", self.residual.stride());
            return Err(unsupported(kernel, "a contiguous residual", found, 2));
        }
        Ok(Size {
            nodes,
            heads,
            head_dim,
            edges,
            features,
        })
    }
}

/// Only the first dimension's stride is free.
fn channels_together(kernel: &str, x: &Tensor) -> Result<()> {
    let mut expected = 1;
    for (&dim, &stride) in x.dims().iter().zip(x.stride()).skip(1).rev() {
        if dim > 1 && stride != expected {
            let found = format!("{:?} with strides {:?}", x.dims(), x.stride());
            return Err(unsupported(
                kernel,
                "a node's channels side by side",
                found,
                2,
            ));
        }
        expected *= dim;
    }
    Ok(())
}

/// Level 3: hand-written PTX on a GPU, and plain loops on a CPU.
pub mod level3 {
    use super::*;

    /// y (N, H·D); see [the formula](super). D up to 1024 on a GPU.
    ///
    /// # Errors
    /// When shapes, dtypes or devices do not agree, a node's channels do not lie side by side, or the residual is not
    /// contiguous.
    #[allow(clippy::too_many_arguments)]
    pub fn edge_attention(
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        skip: &Tensor,
        residual: &Tensor,
        edges: &Tensor,
        w: &Weight,
        graph: &Csr,
    ) -> Result<Tensor> {
        let _span = span("edge_attention_level3");
        let params = Params {
            q,
            k,
            v,
            skip,
            residual,
            edges,
            w: w.tensor(),
            graph,
        };
        let size = params.check("edge_attention_level3")?;
        if on_cpu(q.device()) {
            return by_element!(
                "edge_attention_level3",
                q.dtype(),
                cpu::level3::edge_attention(&params, size)
            );
        }
        level3_launch::launch(&params, size)
    }
}

/// Level 4: CUDA C++ on a GPU, and SIMD lanes on a CPU.
pub mod level4 {
    use super::*;

    /// y (N, H·D); see [the formula](super). D up to 512 and Fe up to 128 on a GPU.
    ///
    /// # Errors
    /// When shapes, dtypes or devices do not agree, a node's channels do not lie side by side, or the residual is not
    /// contiguous.
    #[allow(clippy::too_many_arguments)]
    pub fn edge_attention(
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        skip: &Tensor,
        residual: &Tensor,
        edges: &Tensor,
        w: &Weight,
        graph: &Csr,
    ) -> Result<Tensor> {
        let _span = span("edge_attention_level4");
        let params = Params {
            q,
            k,
            v,
            skip,
            residual,
            edges,
            w: w.tensor(),
            graph,
        };
        run(&params, params.check("edge_attention_level4")?)
    }

    /// The same, of parameters that have been checked.
    pub(super) fn run(params: &Params, size: Size) -> Result<Tensor> {
        if on_cpu(params.q.device()) {
            return by_element!(
                "edge_attention_level4",
                params.q.dtype(),
                cpu::level4::edge_attention(params, size)
            );
        }
        level4_launch::launch(params, size)
    }
}

/// Level 5: a chain of launches for a node of very many edges; level 4 for all others.
pub mod level5 {
    use super::*;

    /// y (N, H·D); see [the formula](super). Level 4's, but on a GPU where a node has more than 1024 edges and a head up
    /// to 128 channels.
    ///
    /// # Errors
    /// Those of level 4.
    #[allow(clippy::too_many_arguments)]
    pub fn edge_attention(
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        skip: &Tensor,
        residual: &Tensor,
        edges: &Tensor,
        w: &Weight,
        graph: &Csr,
    ) -> Result<Tensor> {
        let params = Params {
            q,
            k,
            v,
            skip,
            residual,
            edges,
            w: w.tensor(),
            graph,
        };
        let size = params.check("edge_attention_level5")?;
        let why = || format!("at most {} edges per node", graph.max_degree);
        if on_cpu(q.device())
            || graph.max_degree <= level5_launch::CHUNK
            || level4_launch::is_wide(size.head_dim)
        {
            let _span = span_because("edge_attention_level4", why);
            return level4::run(&params, size);
        }
        let _span = span_because("edge_attention_level5", why);
        level5_launch::launch(&params, size)
    }
}

#[cfg(test)]
mod tests;
