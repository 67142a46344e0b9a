//! The kernel that the dispatch picks for a shape.

use candle_core::Result;
use kernels::matmul::level5::REGISTRY;
use level5::tuned::Tuned;
use models::trace;
use tests::inputs::fresh_rng;
use tests::{devices, gpu};

use super::{random, sizes};

#[test]
fn the_kernel_that_runs_is_the_one_that_is_named() -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        for n in sizes(&[1, 3, 16, 64, 200, 512]) {
            let a = random(&mut rng, &[n, n], &device)?;
            let info = a.product_info(&a)?;
            let (name, _) = info.split_once(": ").expect("a name and a reason");
            assert!(REGISTRY.named(name).is_some(), "{info}");
            let (_, events) = trace::record(&device, || a.mm_tuned(&a))?;
            let ran: Vec<&str> = events.iter().map(|event| event.kernel).collect();
            assert_eq!(ran, [name], "{n}×{n} on {device:?}");
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn small_matrices_are_tiles_on_a_gpu() -> Result<()> {
    let device = gpu()?;
    let mut rng = fresh_rng();
    for (m, n, k) in [
        (1, 1, 1),
        (16, 16, 16),
        (17, 33, 9),
        (64, 64, 64),
        (5, 3, 0),
    ] {
        let a = random(&mut rng, &[m, k], &device)?;
        let b = random(&mut rng, &[k, n], &device)?;
        let (_, events) = trace::record(&device, || a.mm_tuned(&b))?;
        let launches = events.iter().flat_map(|event| &event.launches);
        let kernels: Vec<_> = launches.map(|launched| &launched.kernel).collect();
        let [kernel] = &kernels[..] else {
            panic!("{m}×{n}×{k}: expected one launch, found {kernels:?}");
        };
        assert!(kernel.starts_with("matmul_f32_level5_"), "{kernel}");
    }
    Ok(())
}
