//! Ops that move rows and hardly compute: memory is the limit.

use candle_core::{DType, Device, Result, Tensor};
use kernels::segment_mean::Size;
use levels::Level;
use models::{Sampling, Segments, Weight};

use super::{Bench, Case, Timed, Work};

timed! {
    embedding: Rows, None, embedding;
    segment_mean: Graphs, Some("4096x128"), segment_mean;
    next_token: Rows, None, next_token;
}

/// T rows of a table of V rows: `lm.readme`.
fn embedding(bench: &mut impl Bench) -> Result<()> {
    let (v, c) = (10_000, 512);
    let w = bench.tensor("w", &[v, c])?;
    for t in [1, 128] {
        let ids = (0..t).map(|i| (i * 7919 % v) as u32);
        let ids = Tensor::from_iter(ids, bench.device())?.unsqueeze(0)?; // (1, T)
        let case = Case {
            op: "embedding",
            shape: &format!("{t}x{c}"),
            work: Work::Bytes(2 * t * c * bench.dtype().size_in_bytes()),
            cost: kernels::embedding::cost(t, c, bench.dtype()),
        };
        bench.function(case, &[("ids", &ids), ("w", &w)], |level| {
            let (ids, w) = (ids.clone(), Weight::new(w.clone()));
            Ok(move || (level.embedding)(&ids, &w))
        })?;
    }
    Ok(())
}

/// The mean of x over 32 nodes a graph: `gnn.base`.
fn segment_mean(bench: &mut impl Bench) -> Result<()> {
    let (graphs, nodes, channels) = (128usize, 32, 128);
    let n = graphs * nodes;
    let x = bench.tensor("x", &[n, channels])?;
    let batch: Vec<u32> = (0..n).map(|i| (i / nodes) as u32).collect();
    let segments = Segments::new(graphs, &batch, bench.device())?;
    let size = Size {
        nodes: n,
        graphs,
        channels,
    };
    let case = Case {
        op: "segment_mean",
        shape: &format!("{n}x{channels}"),
        work: Work::Bytes((n + graphs) * channels * bench.dtype().size_in_bytes()),
        cost: kernels::segment_mean::cost(size, bench.dtype()),
    };
    let operands = [("x", &x), ("segment", &segments.index)];
    bench.function(case, &operands, |level| {
        let (x, segments) = (x.clone(), segments.clone());
        Ok(move || (level.segment_mean)(&x, &segments))
    })
}

/// A token that the host reads.
struct NextToken {
    level: Level,
    logits: Tensor,
    nothing: Tensor,
}

impl Timed for NextToken {
    fn waits(&self) -> bool {
        true
    }

    fn call(&mut self) -> Result<Tensor> {
        let mut sampling = Sampling::greedy();
        self.level.next_token(&self.logits, &mut sampling)?;
        Ok(self.nothing.clone())
    }

    fn answer(&mut self) -> Result<Tensor> {
        let mut sampling = Sampling::greedy();
        let token = self.level.next_token(&self.logits, &mut sampling)?;
        Tensor::new(token, &Device::Cpu)
    }
}

/// The most probable of V tokens: `lm.readme`.
fn next_token(bench: &mut impl Bench) -> Result<()> {
    let v = 10_000;
    let logits = bench.tensor("logits", &[v])?;
    let nothing = Tensor::zeros(0, DType::U8, &Device::Cpu)?;
    let case = Case {
        op: "next_token",
        shape: &v.to_string(),
        work: Work::Bytes(v * bench.dtype().size_in_bytes()),
        cost: kernels::next_token::cost(v, bench.dtype()),
    };
    bench.method(case, &[("logits", &logits)], |level| {
        Ok(NextToken {
            level,
            logits: logits.clone(),
            nothing: nothing.clone(),
        })
    })
}
