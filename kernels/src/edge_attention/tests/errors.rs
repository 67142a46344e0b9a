//! Operands that the kernels reject.

use operands::{Csr, Weight};

use super::*;

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let mut rng = rng();
    let shape = Shape {
        heads: 2,
        head_dim: 4,
        features: 3,
        dtype: DType::F32,
    };
    let case = Case::random(&mut rng, shape, vec![vec![1, 1], vec![0]], &Device::Cpu)?;
    let [q, k, v, skip] = &case.qkvs;
    let (residual, edges) = (&case.residual, &case.edges);
    let good = &case.graph;
    let weight = |w: &Tensor| Weight::new(w.clone());
    let w = &weight(&case.w);
    let swapped = Csr {
        row_ptr: good.col_idx.clone(),
        col_idx: good.row_ptr.clone(),
        ..good.clone()
    };
    let other = Csr {
        col_idx: good.col_idx.affine(1., 1.)?, // a source 2 of 2 nodes
        ..good.clone()
    };
    let spread = q.transpose(1, 2)?.contiguous()?.transpose(1, 2)?;
    let turned = |x: &Tensor| x.t()?.contiguous()?.t();
    let narrow = residual.narrow(1, 0, 4)?.contiguous()?;
    let bf16 = |x: &Tensor| x.to_dtype(DType::BF16);
    for (_, kernel) in KERNELS {
        assert!(kernel(q, k, v, skip, residual, edges, w, good).is_ok());
        assert!(kernel(q, k, v, q, residual, edges, w, good).is_err());
        assert!(kernel(q, k, v, skip, &narrow, edges, w, good).is_err());
        assert!(kernel(q, k, v, skip, &bf16(residual)?, edges, w, good).is_err());
        assert!(kernel(q, k, v, skip, residual, &case.w, w, good).is_err());
        assert!(kernel(q, k, v, skip, residual, &turned(edges)?, w, good).is_err());
        for w in [turned(&case.w)?, bf16(&case.w)?] {
            assert!(kernel(q, k, v, skip, residual, edges, &weight(&w), good).is_err());
        }
        assert!(kernel(q, k, v, skip, residual, edges, w, &swapped).is_err());
        assert!(kernel(q, k, v, skip, residual, edges, w, &other).is_err());
        let error = kernel(&spread, k, v, skip, residual, edges, w, good).unwrap_err();
        assert!(error.to_string().contains("level 2 can"), "{error}");
        // A residual with skip's strides, which skip may have.
        let error = kernel(q, k, v, skip, skip, edges, w, good).unwrap_err();
        assert!(
            error.to_string().contains("expected a contiguous residual"),
            "{error}"
        );
    }
    Ok(())
}

/// Also for nodes with many chunks of edges.
#[test]
fn features_beyond_a_warp_are_an_error() -> Result<()> {
    let mut rng = rng();
    let shape = Shape {
        heads: 1,
        head_dim: 8,
        features: 129,
        dtype: DType::F32,
    };
    for device in devices() {
        if on_cpu(&device) {
            continue; // a CPU's loops have no such limit
        }
        for degree in [2, 1100] {
            let incoming = incoming(&mut rng, &[degree]);
            let case = Case::random(&mut rng, shape, incoming, &device)?;
            let error = case.run(level5::edge_attention).unwrap_err().to_string();
            assert!(error.contains("at most 128 features"), "{degree}: {error}");
        }
    }
    Ok(())
}

/// Sizes beyond a GPU's registers or threads are errors that name the level that supports them.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn sizes_beyond_a_kernel_are_errors() -> Result<()> {
    let device = gpu()?;
    let mut rng = rng();
    for (head_dim, features, levels) in
        [(513, 1, [0, 3, 3]), (1025, 1, [2; 3]), (8, 129, [0, 3, 3])]
    {
        let shape = Shape {
            heads: 1,
            head_dim,
            features,
            dtype: DType::F32,
        };
        let case = Case::random(&mut rng, shape, vec![vec![0, 1], vec![]], &device)?;
        for ((level, kernel), can) in KERNELS.into_iter().zip(levels) {
            match case.run(kernel) {
                Ok(_) => assert_eq!(can, 0, "{level} {shape:?}"),
                Err(e) => {
                    let expected = format!("level {can} can");
                    assert!(e.to_string().contains(&expected), "{level} {shape:?}: {e}");
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_shape_equals_the_oracle(
        degrees in prop::collection::vec(0..70usize, 1..12),
        heads in 1..6usize,
        head_dim in 1..150usize,
        features in 1..40usize,
        bf16: bool,
    ) {
        let mut rng = rng();
        let shape = Shape { heads, head_dim, features, dtype: DTYPES[usize::from(bf16)] };
        for device in devices() {
            let incoming = incoming(&mut rng, &degrees);
            Case::random(&mut rng, shape, incoming, &device).and_then(|case| case.check())
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
        }
    }
}
