//! Which problems are measured: small products of every shape, and what the presets compute.

use candle_core::DType;
use kernels::dispatch::tune::{Axis, Grid};
use kernels::dispatch::{Layout, Op, Problem};
use models::{Heads, presets};

/// Small products of every shape, and the products of the presets.
pub fn grids() -> Vec<Grid> {
    let mut grids = small();
    for dtype in [DType::F32, DType::BF16] {
        for (large, rows) in [(false, &ROWS[..]), (true, &ROWS_OF_LARGE)] {
            let weights = weights(large).into_iter();
            grids.extend(weights.map(|w| of_weight(w, dtype, rows)));
        }
        grids.extend(any_weight(dtype));
        grids.extend(attention_and_norms(dtype));
        grids.push(steps(dtype));
    }
    grids
}

/// Matmuls of a single matrix, and of batches.
fn small() -> Vec<Grid> {
    let grid = |batches: &[usize], sizes: &[usize]| Grid {
        op: Op::Matmul,
        dtype: DType::F32,
        batch: Axis::up_to(batches),
        m: Axis::up_to(sizes),
        n: Axis::up_to(sizes),
        k: Axis::up_to(sizes),
    };
    vec![
        grid(&[1], &[1, 4, 8, 16, 32, 64, 128, 256, 384, 512]),
        grid(&[8, 64, 512], &[16, 32, 64, 128, 256]),
    ]
}

/// Shapes on which small matmuls are compared with a library: squares, tall and flat ones, rows, batches, and those of
/// the presets as plain matrices.
pub fn shapes() -> Vec<Problem> {
    let squares =
        [1, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024].map(|n| [1, n, n, n]);
    let others = [
        [1, 1, 512, 512],
        [1, 4, 256, 256],
        [1, 512, 16, 64],
        [1, 16, 512, 64],
        [1, 32, 32, 512],
        [8, 64, 64, 64],
        [64, 16, 16, 16],
        [64, 32, 32, 32],
        [64, 64, 64, 64],
        [64, 128, 128, 128],
        [512, 16, 16, 16],
        [512, 32, 32, 32],
        [512, 64, 64, 64],
    ];
    let few = |&(_, n, k): &Weight| n * k < 1 << 18;
    let presets = weights(false).into_iter().filter(few);
    let presets = presets.flat_map(|(_, n, k)| [1, 4, 128, 197].map(|m| [1, m, n, k]));
    let mut shapes: Vec<_> = squares.into_iter().chain(others).chain(presets).collect();
    shapes.dedup();
    let problem = |[batch, m, n, k]: [usize; 4]| Problem {
        op: Op::Matmul,
        batch,
        m,
        n,
        k,
        dtype: DType::F32,
        layout: [Layout::Rows; 2],
    };
    shapes.into_iter().map(problem).collect()
}

/// Rows of x that are measured with a weight: decoded tokens, graphs' nodes, an image, prompts, a batch of images.
const ROWS: [usize; 9] = [1, 4, 8, 32, 128, 197, 512, 4096, 8192];

/// With a weight of a large preset, which takes long: a decoded token, and a prompt.
const ROWS_OF_LARGE: [usize; 2] = [1, 512];

type Weight = (Op, usize, usize);

fn of_weight((op, n, k): Weight, dtype: DType, rows: &[usize]) -> Grid {
    Grid {
        op,
        dtype,
        batch: Axis::up_to(&[1]),
        m: Axis::up_to(rows).and_above(),
        n: Axis::only(n),
        k: Axis::only(k),
    }
}

/// For weights that no preset has.
fn any_weight(dtype: DType) -> [Grid; 4] {
    let sizes = [128, 512, 2048];
    let ops = [
        Op::Linear,
        Op::LinearResidual,
        Op::LinearGelu,
        Op::LinearSwiglu,
    ];
    ops.map(|op| Grid {
        op,
        dtype,
        batch: Axis::up_to(&[1]),
        m: Axis::up_to(&[1, 4, 8, 64, 512, 4096]).and_above(),
        n: Axis::up_to(&sizes).and_above(),
        k: Axis::up_to(&sizes).and_above(),
    })
}

/// Attention of an image's heads, and norms of rows of any length.
fn attention_and_norms(dtype: DType) -> [Grid; 3] {
    let norm = |op| Grid {
        op,
        dtype,
        batch: Axis::up_to(&[1]),
        m: Axis::up_to(&[1, 32, 512, 4096]).and_above(),
        n: Axis::up_to(&[128, 512, 1024]).and_above(),
        k: Axis::up_to(&[1]),
    };
    let attention = Grid {
        op: Op::Attention,
        dtype,
        batch: Axis::up_to(&[6, 12, 192]).and_above(),
        m: Axis::up_to(&[64, 197]).and_above(),
        n: Axis::up_to(&[1]).and_above(), // as many keys as queries
        k: Axis::up_to(&[32, 64, 128]),
    };
    [norm(Op::RmsNorm), norm(Op::LayerNorm), attention]
}

/// Attention of decode steps: key heads, queries that share one, the keys of a bucket, and channels.
fn steps(dtype: DType) -> Grid {
    Grid {
        op: Op::AttentionStep,
        dtype,
        batch: Axis::up_to(&[3, 8, 32]).and_above(),
        m: Axis::up_to(&[1, 4]).and_above(),
        n: Axis::up_to(&[256, 512, 1024, 2048, 4096]).and_above(),
        k: Axis::up_to(&[64, 128]),
    }
}

/// The (N, K) of the large presets, or of all others, each once.
fn weights(large: bool) -> Vec<Weight> {
    let names = |i: usize| {
        let names = presets::NAMES[i].1.iter();
        names.filter(move |name| presets::LARGE.contains(name) == large)
    };
    let lms = names(0).filter_map(|name| presets::lm(name)).flat_map(|c| {
        let attention = attention(c.hidden_size, c.heads);
        let mlp = [
            (Op::LinearSwiglu, c.intermediate_size, c.hidden_size),
            (Op::LinearResidual, c.hidden_size, c.intermediate_size),
        ];
        let head = (Op::Linear, c.vocab_size, c.hidden_size);
        [&attention[..], &mlp, &[head]].concat()
    });
    let vits = names(1)
        .filter_map(|name| presets::vit(name))
        .flat_map(|c| {
            let heads = Heads::full(c.num_attention_heads, c.hidden_size / c.num_attention_heads);
            let head = (Op::Linear, c.labels.len(), c.hidden_size);
            let mlp = mlp(c.hidden_size, c.intermediate_size);
            [&attention(c.hidden_size, heads)[..], &mlp, &[head]].concat()
        });
    let gnns = names(2)
        .filter_map(|name| presets::gnn(name))
        .flat_map(|c| {
            let ends = [
                (Op::Linear, c.hidden_size, c.node_features),
                (Op::Linear, 4 * c.hidden_size, c.hidden_size), // q, k, v and skip
                (Op::Linear, c.num_classes, c.hidden_size),
            ];
            [&mlp(c.hidden_size, c.intermediate_size)[..], &ends].concat()
        });
    let mut weights = vec![];
    for weight in lms.chain(vits).chain(gnns) {
        if !weights.contains(&weight) {
            weights.push(weight);
        }
    }
    weights
}

/// q, k and v in one, and what follows them.
fn attention(hidden: usize, heads: Heads) -> [Weight; 2] {
    let q = heads.num_heads * heads.head_dim;
    let kv = heads.num_kv_heads * heads.head_dim;
    [
        (Op::Linear, q + 2 * kv, hidden),
        (Op::LinearResidual, hidden, q),
    ]
}

fn mlp(hidden: usize, intermediate: usize) -> [Weight; 2] {
    [
        (Op::LinearGelu, intermediate, hidden),
        (Op::LinearResidual, hidden, intermediate),
    ]
}

#[cfg(test)]
mod tests {
    use kernels::dispatch::Facts;

    use super::*;

    #[test]
    fn every_product_of_the_presets_is_measured() {
        let weights = weights(false);
        for weight in [
            (Op::Linear, 1536, 512),        // qkv of readme
            (Op::LinearSwiglu, 1536, 576),  // smollm
            (Op::Linear, 49152, 576),       // its head
            (Op::Linear, 960, 576),         // three of nine heads have keys
            (Op::LinearGelu, 3072, 768),    // b16
            (Op::Linear, 512, 128),         // q, k, v and skip of base
            (Op::LinearResidual, 512, 512), // o of readme
        ] {
            assert!(weights.contains(&weight), "{weight:?}");
        }
        let large = super::weights(true);
        assert!(large.contains(&(Op::LinearSwiglu, 8192, 2048)), "llama-1b");
        let all = [weights, large].concat();
        for (i, weight) in all.iter().enumerate() {
            assert!(!all[..i].contains(weight), "{weight:?} is measured twice");
        }
        let facts = Facts::any_gpu((9, 0), 132);
        for grid in grids() {
            assert!(grid.problems(&facts).count() > 0, "{grid:?}");
        }
    }
}
