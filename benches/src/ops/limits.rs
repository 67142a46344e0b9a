//! What nothing can be faster than: a copy that is larger than the caches, and starting next to nothing.

use candle_core::{DType, Result, Tensor};
use kernels::launch::{Launch, Module};
use rayon::prelude::*;

use super::{Bench, Work};

/// Bytes read, and as many written: on a CPU, and on a GPU.
const COPIED: [usize; 2] = [128 << 20, 512 << 20];

/// A kernel that returns.
static EMPTY: Module = Module {
    name: "benches_empty",
    ptx: include_str!("empty.ptx"),
};

/// Both of them.
pub fn limits(bench: &mut impl Bench) -> Result<()> {
    let bytes = COPIED[usize::from(!bench.device().is_cpu())];
    bench.copy("copy", &bytes.to_string(), 2 * bytes)?;
    let x = Tensor::zeros(1, DType::F32, bench.device())?;
    if bench.device().is_cpu() {
        return bench.one("launch", "parallel_loop", "empty", Work::Items(1), || {
            (0..rayon::current_num_threads())
                .into_par_iter()
                .for_each(|_| ());
            Ok(x.clone())
        });
    }
    bench.one("launch", "kernel", "empty", Work::Items(1), || {
        launch(&x)?;
        Ok(x.clone())
    })
}

/// One block of 32 threads that do nothing; `x` says on which device.
fn launch(x: &Tensor) -> Result<()> {
    Launch::new(&EMPTY, "benches_empty").read(x).run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;
    use kernels::launch::simulated;

    /// It is run, by the simulator, and nothing is wrong with it.
    #[test]
    fn the_empty_kernel_is_right() -> Result<()> {
        let x = Tensor::zeros(1, DType::F32, &Device::Cpu)?;
        let (launched, report) = simulated(Default::default(), || launch(&x));
        launched?;
        assert_eq!(report.len(), 1);
        assert!(report.iter().all(|launch| launch.is_clean()));
        Ok(())
    }
}
