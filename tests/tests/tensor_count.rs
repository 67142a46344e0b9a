//! How many tensors a level makes. candle numbers the tensors of all threads together, so this test
//! is alone in its program.

use candle_core::{Device, Tensor};
use models::lm::Logits;
use models::{Result, trace};
use tests::inputs::{language_model, rng, tokens};
use tests::levels;

#[test]
fn level_2_makes_less_than_half_the_tensors_in_decode() -> Result<()> {
    let device = Device::Cpu;
    let model = language_model(1, &device)?;
    let mut made = Vec::new();
    for ops in levels() {
        let mut caches = model.new_caches(ops.as_ref(), 1, 9)?;
        let ids = Tensor::new(tokens(&mut rng(1), 1, 8), &device)?;
        model.forward(ops.as_ref(), &ids, &mut caches, Logits::Last)?;
        let ids = Tensor::new(&[[3u32]], &device)?;
        let decode = || model.forward(ops.as_ref(), &ids, &mut caches, Logits::Last);
        // A trace counts on this thread's ops alone: other tests make tensors meanwhile.
        let (_, events) = trace::record(&device, decode)?;
        made.push(
            events
                .iter()
                .filter(|e| e.depth == 0)
                .map(|e| e.tensors)
                .sum::<usize>(),
        );
    }
    eprintln!(
        "tensors of a decode step: level 1 {}, level 2 {}",
        made[0], made[1]
    );
    assert!(made[0] >= 2 * made[1], "{made:?}");
    Ok(())
}
