//! The profiler by each device's own clock. Other work on the device or the host would change the times, so these
//! tests are alone in their program and take turns.

use std::sync::Mutex;

use candle_core::{Device, Result, Tensor};
use models::trace::profile::Profile;
use models::trace::profile::Profiler;
use models::trace::span;

static TURN: Mutex<()> = Mutex::new(());

/// Two products of n×n matrices.
fn profile(n: usize, device: &Device) -> Result<Profile> {
    let x = Tensor::rand(-1f32, 1., (n, n), device)?;
    let profile = Profiler::new(device).repeats(5).run(|| {
        for _ in 0..2 {
            let _outer = span("product");
            let _inner = span("inside");
            x.matmul(&x)?;
        }
        Ok(())
    })?;
    let [op] = &profile.ops[..] else {
        panic!("expected one op, found {:?}", profile.ops);
    };
    assert_eq!((op.name, op.calls), ("product", 2.));
    Ok(profile)
}

#[test]
fn a_cpu_has_the_clock_of_the_host_alone() -> Result<()> {
    let _turn = TURN.lock();
    assert_eq!(profile(64, &Device::Cpu)?.device, None);
    Ok(())
}

/// For work that takes much longer than a launch, both clocks of a GPU agree, and the ops lie within the whole.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn the_clocks_of_a_gpu_agree_where_launches_do_not_count() -> Result<()> {
    if tests::is_sanitized() {
        tests::skip("the clocks of a GPU", "a sanitizer slows one of them");
        return Ok(());
    }
    let _turn = TURN.lock();
    let profile = profile(4096, &tests::gpu()?)?;
    let on_device = profile.device.as_ref().expect("times of the GPU's clock");
    assert_eq!(on_device.late, 0, "{profile:?}");
    let (op, whole) = (profile.ops[0].ms.median, on_device.whole.median);
    assert!(on_device.empty.median < op && op <= whole, "{profile:?}");
    let ratio = whole / profile.whole.median;
    assert!((0.8..1.1).contains(&ratio), "{profile:?}");
    Ok(())
}
