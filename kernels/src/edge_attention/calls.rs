//! Calls of `edge_attention`.

use candle_core::{Result, Tensor};
use operands::{Csr, Weight};

use crate::calls::{Inputs, List};
use crate::functions::Functions;

/// N, H, D, Fe: heads that fill their lanes and heads that do not.
const SHAPES: [[usize; 4]; 4] = [
    [19, 4, 16, 7],
    [40, 2, 33, 5],
    [8, 1, 64, 32],
    [5, 1, 200, 3],
];

/// Maximum number of incoming edges of a node.
const DEGREE: usize = 9;

pub fn add(list: &mut List) {
    for shape @ [n, h, d, features] in SHAPES {
        let size = format!("{n} nodes, {h} heads of {d}, {features} features");
        list.function("edge_attention", &size, move |f, i| call(i, shape, f));
    }
}

/// q, k, v and skip are views of one matmul's result, as in the model. The residual is drawn last: the other operands, and the
/// addresses that they are read at, do not depend on it.
fn call(i: &mut Inputs, [n, h, d, features]: [usize; 4], f: &Functions) -> Result<Tensor> {
    let degrees = i.indices(n, DEGREE + 1);
    let e = degrees.iter().sum::<u32>() as usize;
    let col_idx = i.indices(e, n);
    let y = i.tensor(&[n, 4 * h, d])?;
    let part = |p: usize| y.narrow(1, p * h, h);
    let skip = y.reshape((n, 4 * h * d))?.narrow(1, 3 * h * d, h * d)?;
    let (features, w) = (i.tensor(&[e, features])?, i.tensor(&[h * d, features])?);
    let residual = i.tensor(&[n, h * d])?;
    let into = (0..)
        .zip(&degrees)
        .flat_map(|(node, &n)| vec![node; n as usize]);
    let pairs: Vec<[u32; 2]> = col_idx.into_iter().zip(into).map(Into::into).collect();
    let (graph, _) = Csr::new(n, &pairs, &i.device)?; // in this order already
    let (q, k, v) = (part(0)?, part(1)?, part(2)?);
    let w = Weight::new(w);
    (f.edge_attention)(&q, &k, &v, &skip, &residual, &features, &w, &graph)
}
