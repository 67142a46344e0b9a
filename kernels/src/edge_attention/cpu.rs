//! Both levels on a CPU: tensors as slices, and nodes divided into tasks of equal work.

pub(super) mod level3;
pub(super) mod level4;

use std::mem::MaybeUninit;
use std::ops::Range;

use candle_core::{Device, Result, Tensor};

use super::{Params, Size};
use crate::cpu::{Slice, parallel};
use crate::element::Element;
use crate::error::mismatch;
use crate::output;

/// Rows of a matrix, or of a view with any stride between rows.
#[derive(Clone, Copy)]
struct StridedRows<'a, T> {
    elements: &'a [T],
    stride: usize,
    len: usize,
}

impl<'a, T> StridedRows<'a, T> {
    fn new(elements: &'a [T], x: &Tensor) -> Self {
        Self {
            elements,
            stride: x.stride()[0],
            len: x.dims()[1..].iter().product(),
        }
    }

    #[inline(always)]
    fn row(&self, i: usize) -> &'a [T] {
        &self.elements[i * self.stride..][..self.len]
    }
}

/// Operands of the loops.
#[derive(Clone, Copy)]
struct Inputs<'a, T> {
    size: Size,
    q: StridedRows<'a, T>,        // (N, H·D), as are the next four
    k: StridedRows<'a, T>,        //
    v: StridedRows<'a, T>,        //
    skip: StridedRows<'a, T>,     //
    residual: StridedRows<'a, T>, //
    edges: StridedRows<'a, T>,    // (E, Fe)
    w: StridedRows<'a, T>,        // (H·D, Fe)
    row_ptr: &'a [u32],           // (N + 1)
    col_idx: &'a [u32],           // (E)
}

impl<T> Inputs<'_, T> {
    /// 1/√D
    fn scale(&self) -> f32 {
        1. / (self.size.head_dim as f32).sqrt()
    }

    /// Returns the incoming edges of a node.
    #[inline(always)]
    fn incoming(&self, node: usize) -> Range<usize> {
        self.row_ptr[node] as usize..self.row_ptr[node + 1] as usize
    }

    /// Returns the channels of a head.
    #[inline(always)]
    fn channels(&self, head: usize) -> Range<usize> {
        head * self.size.head_dim..(head + 1) * self.size.head_dim
    }
}

impl<T: Element> Inputs<'_, T> {
    /// Returns Wₑᵀ, (Fe, H·D) in f32, so that the weights of one feature for neighbouring channels are
    /// adjacent.
    fn transposed_w(&self) -> Vec<f32> {
        let channels = self.size.heads * self.size.head_dim;
        let mut transposed = vec![0.; self.size.features * channels];
        for c in 0..channels {
            for (f, w) in self.w.row(c).iter().enumerate() {
                transposed[f * channels + c] = w.widen();
            }
        }
        transposed
    }
}

/// Nodes, and their rows of y.
type Task<'a, T> = (Range<usize>, &'a mut [MaybeUninit<T>]);

/// Calls `prepare` once, and the returned function for every task.
fn run<T: Element, F>(
    params: &Params,
    size: Size,
    prepare: impl FnOnce(Inputs<T>) -> F,
) -> Result<Tensor>
where
    F: Fn(Inputs<T>, Task<T>) + Send + Sync,
{
    let views = [
        params.q,
        params.k,
        params.v,
        params.skip,
        params.residual,
        params.edges,
        params.w,
    ];
    let slices: Vec<Slice<T>> = views
        .iter()
        .map(|x| Slice::strided(x))
        .collect::<Result<_>>()?;
    let rows = |i: usize| StridedRows::new(&slices[i], views[i]);
    let row_ptr = Slice::<u32>::new(&params.graph.row_ptr)?;
    let col_idx = Slice::<u32>::new(&params.graph.col_idx)?;
    check_graph(&row_ptr, &col_idx)?;
    let inputs = Inputs {
        size,
        q: rows(0),
        k: rows(1),
        v: rows(2),
        skip: rows(3),
        residual: rows(4),
        edges: rows(5),
        w: rows(6),
        row_ptr: &row_ptr,
        col_idx: &col_idx,
    };
    let channels = size.heads * size.head_dim;
    let mut y = output::uninit::<T>(size.nodes * channels);
    if !y.is_empty() {
        let kernel = prepare(inputs);
        let tasks = tasks(&row_ptr, &mut y, channels);
        parallel::for_each(tasks.into_iter(), |task| kernel(inputs, task));
    }
    // SAFETY: the tasks cover all nodes, and the kernel writes the row of each.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, (size.nodes, channels), &Device::Cpu)
}

/// Splits the nodes into ranges with about equal numbers of nodes and edges.
fn tasks<'a, T>(
    row_ptr: &[u32],
    mut y: &'a mut [MaybeUninit<T>],
    channels: usize,
) -> Vec<Task<'a, T>> {
    let nodes = row_ptr.len() - 1;
    let work = |node: usize| node + row_ptr[node] as usize;
    let share = parallel::rows_per_task(work(nodes), channels);
    let mut tasks = Vec::new();
    let mut first = 0;
    while first < nodes {
        let goal = work(first) + share;
        let end = (first + 1..nodes)
            .find(|&i| work(i) >= goal)
            .unwrap_or(nodes);
        let (rows, rest) = y.split_at_mut((end - first) * channels);
        tasks.push((first..end, rows));
        (first, y) = (end, rest);
    }
    tasks
}

/// Checks that row pointers ascend to E, and that every source is a node.
fn check_graph(row_ptr: &[u32], col_idx: &[u32]) -> Result<()> {
    const KERNEL: &str = "edge_attention";
    let ends = (row_ptr[0] as usize, row_ptr[row_ptr.len() - 1] as usize);
    if ends != (0, col_idx.len()) || !row_ptr.is_sorted() {
        let expected = format!("row_ptr rising from 0 to {}", col_idx.len());
        return Err(mismatch(KERNEL, expected, format!("{ends:?}")));
    }
    match col_idx.iter().max() {
        Some(&source) if source as usize >= row_ptr.len() - 1 => {
            let expected = format!("sources below {}", row_ptr.len() - 1);
            Err(mismatch(KERNEL, expected, source))
        }
        _ => Ok(()),
    }
}
