//! Ops on graphs: edge attention and the means of segments.

use candle_core::{DType, Device, Result};
use kernels::{edge_attention, segment_mean};
use operands::{Csr, Segments, Weight};

use super::Draw;

/// Heads, channels of a head, features of an edge.
const SHAPES: [(usize, usize, usize); 18] = [
    (1, 3, 1),
    (2, 8, 4),
    (3, 20, 7),
    (4, 32, 16),
    (1, 100, 20),
    (2, 64, 100),
    (1, 136, 9),
    (1, 136, 8),
    (2, 256, 64),
    (1, 400, 33),
    (1, 400, 36),
    // Heads that are filled up to whole vectors, with w in shared memory and too large for it.
    (12, 3, 5),
    (3, 50, 70),
    (2, 137, 9),
    (1, 399, 35),
    (2, 1, 3),
    // Weights that the threads of a block copy in turns of four, and a rest.
    (1, 131, 9),
    (1, 132, 8),
];

/// Edges into each node: none, one, more than a warp, and so many that they are the work of a block.
const DEGREES: [u32; 11] = [2, 0, 1, 5, 70, 0, 40, 3, 64, 135, 1];

/// And so many that they are the work of several, at the bounds of level 5's chunks of 1024 edges and next to them.
const LONG: [&[u32]; 2] = [&[3, 1024, 1025, 0, 1100, 2], &[0, 2048, 1023, 1026, 1]];

pub fn all(draw: &mut Draw, dtype: DType) -> Result<()> {
    for shape in SHAPES {
        for most in [1., 40.] {
            edges(draw, dtype, shape, most, &DEGREES)?;
        }
    }
    // Small ones; of one channel all that the first thread of a row does is done by the only one.
    for shape in [(2, 8, 4), (2, 7, 4), (2, 1, 3), (1, 136, 8), (1, 135, 8)] {
        edges(draw, dtype, shape, 1., &[1])?;
    }
    for shape in [(4, 32, 16), (3, 7, 1), (5, 20, 3)] {
        for degrees in LONG {
            edges(draw, dtype, shape, 1., degrees)?;
        }
    }
    for (nodes, channels, starts) in [
        (9, 7, &[0, 2, 2, 9][..]),
        (40, 64, &[0, 33, 40]),
        (300, 20, &[0, 299, 300]),
        (70, 130, &[0, 70]),
        (1200, 8, &[0, 1200]),
        (1100, 37, &[0, 1100]),
        (2100, 132, &[0, 1000, 2100]),
        (33, 32, &[0, 32, 33]),
        (50, 124, &[0, 17, 17, 50]),
        (1030, 3, &[0, 1030]),
        (1540, 16, &[0, 1540]),
    ] {
        let x = draw.floats(&[nodes, channels], dtype)?;
        let segments = segments(starts)?;
        segment_mean::level3::segment_mean(&x, &segments)?;
        segment_mean::level4::segment_mean(&x, &segments)?;
    }
    Ok(())
}

/// Graph g has the nodes `starts[g]..starts[g + 1]`; the first begins at node 0.
pub fn segments(starts: &[u32]) -> Result<Segments> {
    let graphs = starts.windows(2).enumerate();
    let index: Vec<u32> = graphs
        .flat_map(|(g, ends)| (ends[0]..ends[1]).map(move |_| g as u32))
        .collect();
    Ok(Segments::new(starts.len() - 1, &index, &Device::Cpu)?)
}

fn edges(
    draw: &mut Draw,
    dtype: DType,
    (heads, d, features): (usize, usize, usize),
    most: f32,
    degrees: &[u32],
) -> Result<()> {
    let (nodes, channels) = (degrees.len(), heads * d);
    let product = draw.wide(&[nodes, 4 * channels], dtype, most)?;
    let parts = product.reshape((nodes, 4 * heads, d))?;
    let part = |i: usize| parts.narrow(1, i * heads, heads);
    let skip = product.narrow(1, 3 * channels, channels)?;
    let residual = draw.wide(&[nodes, channels], dtype, most)?;
    let count = degrees.iter().sum::<u32>() as usize;
    let edges = draw.floats(&[count, features], dtype)?;
    let w = Weight::new(draw.floats(&[channels, features], dtype)?);
    let sources = draw.indices(count, nodes as u32)?.to_vec1::<u32>()?;
    let into = (0..)
        .zip(degrees)
        .flat_map(|(node, &n)| vec![node; n as usize]);
    let pairs: Vec<[u32; 2]> = sources.into_iter().zip(into).map(Into::into).collect();
    let (graph, _) = Csr::new(nodes, &pairs, &Device::Cpu)?; // in this order already
    let (q, k, v) = (part(0)?, part(1)?, part(2)?);
    let kernels = [
        edge_attention::level3::edge_attention,
        edge_attention::level4::edge_attention,
        edge_attention::level5::edge_attention,
    ];
    let (low_degree, high_degree) = kernels.split_at(2);
    let is_low = graph.max_degree <= 1024;
    for kernel in if is_low { low_degree } else { high_degree } {
        kernel(&q, &k, &v, &skip, &residual, &edges, &w, &graph)?;
    }
    Ok(())
}
