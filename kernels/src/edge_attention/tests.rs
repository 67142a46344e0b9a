//! All levels against the oracle, on every device.

mod case;
mod errors;

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;

use super::{level4_launch, level5, level5_launch};
use crate::launch::on_cpu;
use crate::testing::{
    KernelFile, assert_close, cases, devices, first_if_sanitized, gpu, hardware, host,
    is_sanitized, pairwise, rng, uniform,
};
use case::{Case, DTYPES, KERNELS, PARTS, Shape, incoming};

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let nodes = [1, 2, 31, 33, 197];
    let heads = [1, 3, 4];
    let head_dims = [1, 7, 16, 32, 64, 80, 128, 257];
    let features = [1, 7, 16, 64];
    for device in devices() {
        for case in pairwise(&[&nodes, &heads, &head_dims, &features, &[0, 1], &[0, 1]]) {
            let shape = Shape {
                heads: case[1],
                head_dim: case[2],
                features: case[3],
                dtype: DTYPES[case[4]],
            };
            // At most 2²⁰ multiply-adds with w.
            let most = (1 << 20) / (shape.channels() * shape.features * case[0]);
            let degrees: Vec<usize> = (0..case[0])
                .map(|i| [4, 0, 1, 3, 9][i % 5].min(most))
                .collect();
            let incoming = incoming(&mut rng, &degrees);
            let views = Case::random(&mut rng, shape, incoming, &device)?;
            match case[5] {
                0 => views.check()?,
                _ => views.contiguous()?.check()?,
            }
        }
    }
    Ok(())
}

/// q, k, v, skip and edges are aligned to 16 bytes, the residual is not.
#[test]
fn a_misaligned_residual_equals_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for (head_dim, degree) in [(32, 3), (136, 3), (32, 1100)] {
            for dtype in DTYPES {
                let shape = Shape {
                    heads: 2,
                    head_dim,
                    features: 16,
                    dtype,
                };
                let incoming = incoming(&mut rng, &[degree, 0, 1]);
                let case = Case::random(&mut rng, shape, incoming, &device)?;
                case.shifted_residual()?.check()?;
            }
        }
    }
    Ok(())
}

/// A hub among nodes with few edges: 1000 edges exceed a block's chunk at any level.
#[test]
fn hubs_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        let shapes = [(4, 32, 16), (1, 7, 1), (1, 257, 7), (3, 16, 64)];
        for &(heads, head_dim, features) in first_if_sanitized(&shapes) {
            for dtype in DTYPES {
                let shape = Shape {
                    heads,
                    head_dim,
                    features,
                    dtype,
                };
                let degrees = [3, 0, 1000, 1, 3, 64, 65, 127, 0, 1, 3, 129, 256, 3];
                let incoming = incoming(&mut rng, &degrees);
                Case::random(&mut rng, shape, incoming, &device)?.check()?;
            }
        }
    }
    Ok(())
}

/// Nodes with more edges than a level-5 block takes: they start and end at, before and after the bounds of
/// its chunks of 1024, and some span several chunks.
#[test]
fn nodes_of_many_chunks_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        let shapes = [(4, 32, 16), (3, 7, 1), (1, 128, 64), (5, 20, 3)];
        for &(heads, head_dim, features) in first_if_sanitized(&shapes) {
            let shape = Shape {
                heads,
                head_dim,
                features,
                dtype: DTYPES[heads % 2],
            };
            for degrees in [
                &[1025][..],
                &[3, 1024, 1025, 0, 1500, 70, 2, 1100],
                &[0, 3072, 5, 1024, 2048, 1030],
                &[1000, 24, 2049, 1023, 0, 0, 1026, 1],
            ] {
                let incoming = incoming(&mut rng, degrees);
                Case::random(&mut rng, shape, incoming, &device)?.check()?;
            }
        }
    }
    Ok(())
}

/// A hub of 100000 edges among nodes of three; fewer under a sanitizer.
#[test]
fn a_hub_of_100_000_edges() -> Result<()> {
    let mut rng = rng();
    for device in hardware() {
        let shape = Shape {
            heads: 4,
            head_dim: 32,
            features: 16,
            dtype: DType::F32,
        };
        let mut degrees = vec![3; 500];
        degrees[77] = if is_sanitized() { 5_000 } else { 100_000 };
        let incoming = incoming(&mut rng, &degrees);
        Case::random(&mut rng, shape, incoming, &device)?.check()?;
    }
    Ok(())
}

#[test]
fn without_edges_the_result_is_skip_plus_residual() -> Result<()> {
    let mut rng = rng();
    let shape = Shape {
        heads: 2,
        head_dim: 5,
        features: 3,
        dtype: DType::F32,
    };
    for device in devices() {
        for nodes in [0, 5] {
            let case = Case::random(&mut rng, shape, vec![vec![]; nodes], &device)?;
            case.check()?;
            for (_, kernel) in KERNELS.into_iter().filter(|_| nodes > 0) {
                let expected = (&case.qkvs[3] + &case.residual)?;
                assert_eq!(host(&case.run(kernel)?)?, host(&expected)?);
            }
        }
    }
    Ok(())
}

/// Node 0 and its one edge, edge 0, are NaN or ∞; nodes that do not read them must not change. Degrees are
/// odd, so that a kernel that takes edges in pairs has an incomplete last pair.
#[test]
fn nan_and_infinity_stay_within_their_node() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for (head_dim, dtype) in [(32, DType::F32), (32, DType::BF16), (7, DType::F32)] {
            let shape = Shape {
                heads: 4,
                head_dim,
                features: 16,
                dtype,
            };
            let incoming = vec![vec![0], vec![2], vec![], vec![1, 2, 4], vec![1; 65]];
            let edges: usize = incoming.iter().map(Vec::len).sum();
            let width = PARTS * shape.channels();
            let (x, x64) = uniform(&mut rng, &[incoming.len(), width], dtype, &device)?;
            let e = uniform(&mut rng, &[edges, shape.features], dtype, &device)?;
            let w = uniform(
                &mut rng,
                &[shape.channels(), shape.features],
                dtype,
                &device,
            )?;
            let with = |bad: f64| {
                let spoilt = |x: &Tensor| {
                    let first = (x.narrow(0, 0, 1)?.zeros_like()? + bad)?;
                    Tensor::cat(&[&first, &x.narrow(0, 1, x.dim(0)? - 1)?], 0)
                };
                let (x, e) = ((spoilt(&x)?, x64.clone()), (spoilt(&e.0)?, e.1.clone()));
                Case::new(shape, incoming.clone(), x, e, w.clone())
            };
            let others =
                |case: &Case, kernel| host(&case.run(kernel)?.narrow(0, 1, incoming.len() - 1)?);
            for (level, kernel) in KERNELS {
                let wanted = others(&with(0.)?, kernel)?;
                for bad in [f64::INFINITY, f64::NAN] {
                    let found = others(&with(bad)?, kernel)?;
                    assert!(found == wanted, "{level}, {dtype:?}, {head_dim}, {bad}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_repeated_edge_counts_twice() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for dtype in DTYPES {
            let shape = Shape {
                heads: 2,
                head_dim: 16,
                features: 4,
                dtype,
            };
            let incoming = vec![vec![1, 1, 2], vec![0, 0, 0, 0, 0, 2], vec![2, 2]];
            Case::random(&mut rng, shape, incoming, &device)?.check()?;
        }
    }
    Ok(())
}

/// Scores of a node differ by ±200, where e²⁰⁰ overflows f32, so the maximum must be subtracted.
#[test]
fn scores_may_be_large() -> Result<()> {
    let mut rng = rng();
    let shape = Shape {
        heads: 2,
        head_dim: 16,
        features: 7,
        dtype: DType::F32,
    };
    for device in devices() {
        let incoming = incoming(&mut rng, &[4, 150, 3, 9]);
        let (n, c) = (incoming.len(), shape.channels());
        let (_, mut x) = uniform(&mut rng, &[n, PARTS * c], DType::F32, &Device::Cpu)?;
        // 200 = 800/√16 for each head of nodes 0 and 1, −200 for the others.
        for (node, x) in x.chunks_exact_mut(PARTS * c).enumerate() {
            for head in 0..shape.heads {
                x[head * shape.head_dim] = if node < 2 { 800. } else { -800. };
                x[c + head * shape.head_dim] = 1.;
            }
        }
        let tensor = Tensor::from_slice(&x, (n, PARTS * c), &device)?.to_dtype(DType::F32)?;
        let edges = incoming.iter().map(Vec::len).sum();
        let edges = uniform(&mut rng, &[edges, 7], DType::F32, &device)?;
        let w = uniform(&mut rng, &[c, 7], DType::F32, &device)?;
        let case = Case::new(shape, incoming, (tensor, x), edges, w)?;
        for (level, kernel) in KERNELS {
            // A score of 200 has an error of at least 200·2⁻²⁴, which is the weights' error.
            assert_close(level, &case.run(kernel)?, &case.oracle(), 1e-3)?;
        }
    }
    Ok(())
}

/// If node i becomes node order[i], its row of y moves there. Its edges keep their order, so y has equal
/// bits.
#[test]
fn the_order_of_nodes_does_not_matter() -> Result<()> {
    let mut rng = rng();
    let shape = Shape {
        heads: 4,
        head_dim: 32,
        features: 16,
        dtype: DType::F32,
    };
    for device in devices() {
        let incoming = incoming(&mut rng, &[3, 0, 70, 1, 9, 4, 4, 130, 2, 0, 6]);
        let n = incoming.len();
        let case = Case::random(&mut rng, shape, incoming, &device)?;
        let (order, inverse) = ((0..n).map(|i| i * 7 % n), (0..n).map(|i| i * 8 % n));
        let inverse: Vec<usize> = inverse.collect(); // 7·8 = 56 = 1 modulo 11
        let order: Vec<usize> = order.collect();
        let permuted = permuted(&case, &order, &inverse)?;
        for (level, kernel) in KERNELS {
            let (y, other) = (host(&case.run(kernel)?)?, host(&permuted.run(kernel)?)?);
            let c = shape.channels();
            for (i, row) in y.chunks_exact(c).enumerate() {
                assert_eq!(
                    row,
                    &other[order[i] * c..][..c],
                    "{level} {device:?} node {i}"
                );
            }
        }
    }
    Ok(())
}

fn permuted(case: &Case, order: &[usize], inverse: &[usize]) -> Result<Case> {
    let device = case.w.device();
    let rows = |x: &[f64], len: usize, rows: &[usize]| -> Result<(Tensor, Vec<f64>)> {
        let x: Vec<f64> = rows
            .iter()
            .flat_map(|&i| x[i * len..][..len].to_vec())
            .collect();
        let tensor = Tensor::from_slice(&x, (rows.len(), len), device)?;
        Ok((tensor.to_dtype(case.shape.dtype)?, x))
    };
    let ends = case.incoming.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    });
    let ends: Vec<usize> = ends.collect();
    let edges = |i: usize| ends[i] - case.incoming[i].len()..ends[i];
    let edges: Vec<usize> = inverse.iter().flat_map(|&i| edges(i)).collect();
    let sources = |&i: &usize| case.incoming[i].iter().map(|&j| order[j]).collect();
    Case::new(
        case.shape,
        inverse.iter().map(sources).collect(),
        rows(&case.rows64, PARTS * case.shape.channels(), inverse)?,
        rows(&case.edges64, case.shape.features, &edges)?,
        (case.w.clone(), case.w64.clone()),
    )
}

/// Constants that launches share with the kernels.
#[test]
fn launches_have_the_constants_of_the_kernels() {
    let file4 = KernelFile::read("edge_attention/level4", "sm_75");
    let file5 = KernelFile::read("edge_attention/level5", "sm_75");
    let entries = [
        (&file4, "edge_attention_f32_level4"),
        (&file4, "edge_attention_bf16_level4"),
        (&file4, "edge_attention_wide_f32_level4"),
        (&file4, "edge_attention_wide_bf16_level4"),
        (&file5, "edge_attention_f32_level5"),
        (&file5, "edge_attention_bf16_level5"),
        (&file5, "edge_attention_part_f32_level5"),
        (&file5, "edge_attention_part_bf16_level5"),
        (&file5, "edge_attention_join_f32_level5"),
        (&file5, "edge_attention_join_bf16_level5"),
    ];
    for (file, entry) in entries {
        let threads = level4_launch::WARP * level4_launch::WARPS;
        assert_eq!(file.max_threads(entry), threads, "{entry}");
    }
    assert_eq!(file4.constant("WARP"), level4_launch::WARP);
    assert_eq!(file4.constant("PER_LOAD"), level4_launch::PER_LOAD);
    assert_eq!(file5.constant("CHUNK"), level5_launch::CHUNK);
    // The entries of level 5 have V = 1.
    assert_eq!(file5.expression("RECORD"), "2 + V");
    assert_eq!(level5_launch::RECORD, (2 + 1) * 4);
}
