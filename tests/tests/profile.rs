//! The profiler by each device's own clock. The clock is the whole device's, and the host's part is what it is when no other
//! test runs, so this test is alone in its program.

use candle_core::{Result, Tensor};
use models::trace::profile::Profiler;
use models::trace::span;
use tests::devices;

/// Of work that is long beside a launch, both clocks of a GPU say the same; and the ops lie within the whole.
#[test]
fn the_clocks_of_a_gpu_agree_where_launches_do_not_count() -> Result<()> {
    for device in devices() {
        let n = if device.is_cpu() { 64 } else { 4096 };
        let x = Tensor::rand(-1f32, 1., (n, n), &device)?;
        let profile = Profiler::new(&device).repeats(5).run(|| {
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
        let Some(on_device) = profile.device else {
            assert!(device.is_cpu(), "no time of the device's own");
            continue;
        };
        assert_eq!(on_device.late, 0, "{profile:?}");
        let (op, whole) = (op.ms.median, on_device.whole.median);
        assert!(on_device.empty.median < op && op <= whole, "{profile:?}");
        let ratio = whole / profile.whole.median;
        assert!((0.8..1.1).contains(&ratio), "{profile:?}");
    }
    Ok(())
}
