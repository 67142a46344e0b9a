//! Number of tensors that a level makes. candle numbers the tensors of all threads together, so this test is alone in
//! its program.

use candle_core::{Device, Tensor};
use levels::Costed;
use models::lm::Logits;
use models::{Result, trace};
use tests::inputs::{language_model, rng, tokens};
use tests::levels;

/// Views count as tensors, too. Level 2 fuses ops of level 1; from level 3 on an op makes its output and little else.
#[test]
fn levels_1_to_3_halve_the_tensors_in_decode_and_later_ones_add_none() -> Result<()> {
    let device = Device::Cpu;
    let model = language_model(1, &device)?;
    let mut made = Vec::new();
    for ops in levels() {
        // Its ops count what is made between their kernels, too.
        let ops = Costed::new(ops);
        let mut caches = model.new_caches(&ops, 1, 9)?;
        let ids = Tensor::new(tokens(&mut rng(1), 1, 8), &device)?;
        model.forward(&ops, &ids, &mut caches, Logits::Last)?;
        let ids = Tensor::new(&[[3u32]], &device)?;
        let decode = || model.forward(&ops, &ids, &mut caches, Logits::Last);
        let (_, events) = trace::record(&device, decode)?;
        made.push(
            events
                .iter()
                .filter(|e| e.depth == 0)
                .map(|e| e.tensors)
                .sum::<usize>(),
        );
    }
    eprintln!("tensors of a decode step, level by level: {made:?}");
    let [one, two, three, four, five] = made[..] else {
        panic!("expected five levels, found {made:?}");
    };
    assert!(one >= 2 * two, "{made:?}");
    assert!(two >= 2 * three, "{made:?}");
    assert!(three >= four && four >= five, "{made:?}");
    Ok(())
}
