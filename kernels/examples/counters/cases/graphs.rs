//! Ops over the edges and the nodes of graphs.

use candle_core::{Result, Tensor};
use kernels::{edge_attention, segment_mean};
use operands::{Csr, Segments, Weight};

use super::{Inputs, List};

/// N, H, D, Fe: heads that fill their lanes and heads that do not.
const EDGES: [[usize; 4]; 4] = [
    [19, 4, 16, 7],
    [40, 2, 33, 5],
    [8, 1, 64, 32],
    [5, 1, 200, 3],
];

/// Incoming edges of a node, at the most.
const DEGREE: usize = 9;

/// Nodes of each graph, and channels.
const SEGMENTS: [(&[u32], usize); 3] = [(&[5, 1, 30], 64), (&[12, 0, 7], 33), (&[1500, 40], 48)];

type EdgeAttention =
    fn(&Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &Weight, &Csr) -> Result<Tensor>;

pub fn add(list: &mut List) {
    for shape @ [n, h, d, features] in EDGES {
        for (level, op) in [
            (3, edge_attention::level3::edge_attention as EdgeAttention),
            (4, edge_attention::level4::edge_attention),
        ] {
            let what = format!("edge_attention, level {level}");
            let size = format!("{n} nodes, {h} heads of {d}, {features} features");
            list.add(&what, &size, move |i| edges(i, shape, op));
        }
    }
    for (lengths, c) in SEGMENTS {
        for (level, op) in [
            (3, segment_mean::level3::segment_mean as fn(&_, &_) -> _),
            (4, segment_mean::level4::segment_mean),
        ] {
            let what = format!("segment_mean, level {level}");
            list.add(&what, &format!("{lengths:?} nodes of {c}"), move |i| {
                let nodes = lengths.iter().sum::<u32>() as usize;
                let x = i.tensor(&[nodes, c])?;
                let of_nodes = |(g, &nodes): (usize, &u32)| (0..nodes).map(move |_| g as u32);
                let index: Vec<u32> = lengths.iter().enumerate().flat_map(of_nodes).collect();
                op(&x, &Segments::new(lengths.len(), &index, x.device())?)
            });
        }
    }
}

/// q, k, v and skip are views of one product, as in the model. The residual is drawn last: the other operands, and the
/// addresses that they are read at, do not depend on it.
fn edges(i: &mut Inputs, [n, h, d, features]: [usize; 4], op: EdgeAttention) -> Result<Tensor> {
    let degrees = i.indices(n, DEGREE + 1);
    let e = degrees.iter().sum::<u32>() as usize;
    let col_idx = i.indices(e, n);
    let product = i.tensor(&[n, 4 * h, d])?;
    let part = |p: usize| product.narrow(1, p * h, h);
    let skip = product
        .reshape((n, 4 * h * d))?
        .narrow(1, 3 * h * d, h * d)?;
    let (features, w) = (i.tensor(&[e, features])?, i.tensor(&[h * d, features])?);
    let residual = i.tensor(&[n, h * d])?;
    let into = (0..)
        .zip(&degrees)
        .flat_map(|(node, &n)| vec![node; n as usize]);
    let pairs: Vec<[u32; 2]> = col_idx.into_iter().zip(into).map(Into::into).collect();
    let (graph, _) = Csr::new(n, &pairs, &i.device)?; // in this order already
    let (q, k, v) = (part(0)?, part(1)?, part(2)?);
    op(
        &q,
        &k,
        &v,
        &skip,
        &residual,
        &features,
        &Weight::new(w),
        &graph,
    )
}
