//! Times of a forward pass on the device alone.

use candle_core::{Device, Result};
use models::trace::clock::Clock;

use crate::Job;

/// Milliseconds of one forward pass between two events on a GPU, a value a sample: the device does as many products
/// beforehand as keep it busy for longer than the host takes to queue the whole pass, which is `host_ms` at most.
///
/// `None` on a CPU, and where the device was there first after all: a pass that waits for the device itself, or has more
/// launches than fit into the queue.
///
/// # Errors
/// Those of `job`.
pub fn device_ms(
    job: &mut dyn Job,
    device: &Device,
    host_ms: f64,
    samples: usize,
) -> Result<Option<Vec<f64>>> {
    let clock = Clock::of(device)?;
    if !clock.is_device() {
        return Ok(None);
    }
    let sample = |_| {
        job.prepare_pass()?;
        device.synchronize()?;
        let pass = clock.time(host_ms, || job.queue())?;
        Ok((!pass.late).then_some(pass.ms))
    };
    (0..samples).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};
    use cli::device::Choice;
    use cli::load::Request;

    use super::*;
    use crate::{Model, job};

    /// Times of the tiny language model's workloads at level 5, by name: as graphs on a GPU.
    fn times(device: &Device) -> models::Result<Vec<(String, Option<Vec<f64>>)>> {
        let request = Request {
            model: "tiny".into(),
            dtype: DType::F32,
            device: device.clone(),
            seed: 0,
        };
        let level = levels::level(5).expect("level 5");
        let mut times = vec![];
        for mut workload in job::load(Model::Lm, &request, &level, device.is_cuda())? {
            let job = workload.job.as_mut();
            job.prepare()?;
            job.run()?;
            times.push((workload.name.clone(), device_ms(job, device, 1., 3)?));
        }
        assert!(!times.is_empty());
        Ok(times)
    }

    #[test]
    fn a_cpu_has_no_time_of_its_own() -> models::Result<()> {
        for (name, times) in times(&Device::Cpu)? {
            assert_eq!(times, None, "{name}");
        }
        Ok(())
    }

    /// A recorded pass is in the queue before the device starts on it.
    #[test]
    #[cfg_attr(
        not(feature = "cuda"),
        ignore = "needs a GPU: build with --features cuda"
    )]
    fn a_recorded_pass_has_a_time_of_its_own_on_a_gpu() -> models::Result<()> {
        let gpu = Choice::Cuda(0).open().map_err(candle_core::Error::wrap)?;
        for (name, times) in times(&gpu)? {
            let times = times.unwrap_or_else(|| panic!("{name}: the host was late"));
            assert!(times.iter().all(|&ms| ms > 0. && ms < 10.), "{times:?}");
        }
        Ok(())
    }
}
