//! Lower bounds on time: a copy that is larger than the caches, and the launch of a kernel that does almost nothing.

use candle_core::{DType, Result, Tensor};
use kernels::launch::{Launch, Module};
use rayon::prelude::*;

use super::{Bench, Contenders, Work, copy};

/// Bytes read, and as many written: on a CPU, and on a GPU.
const COPIED: [usize; 2] = [128 << 20, 512 << 20];

/// A kernel that returns.
static EMPTY: Module = Module::new("benches_empty", &[include_str!("empty.ptx")]);

/// Both of them.
pub fn limits(bench: &mut impl Bench) -> Result<()> {
    let bytes = COPIED[usize::from(!bench.device().is_cpu())];
    let copied = vec![("copy", copy(bench.device(), 2 * bytes)?)];
    bench.times("copy", &bytes.to_string(), Work::Bytes(2 * bytes), copied)?;
    let x = Tensor::zeros(1, DType::F32, bench.device())?;
    let parallel_loop = || {
        (0..rayon::current_num_threads())
            .into_par_iter()
            .for_each(|_| ());
        Ok(x.clone())
    };
    let kernel = || {
        launch(&x)?;
        Ok(x.clone())
    };
    let started: Contenders = if bench.device().is_cpu() {
        vec![("parallel_loop", Box::new(parallel_loop))]
    } else {
        vec![("kernel", Box::new(kernel))]
    };
    bench.times("launch", "empty", Work::Items(1), started)
}

/// One block of 32 threads that do nothing; `x` says on which device.
fn launch(x: &Tensor) -> Result<()> {
    let launch = Launch::new(&EMPTY, "benches_empty").read(x);
    // SAFETY: the kernel has one parameter, an address, and does nothing with it.
    unsafe { launch.run() }
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
