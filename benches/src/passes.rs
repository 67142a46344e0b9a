//! Times of a forward pass on the device alone.

use candle_core::{Device, Result};

use crate::Job;

/// Milliseconds of one forward pass between two events on a GPU, a value a sample: the device does as many products
/// beforehand as keep it busy for longer than the host takes to queue the whole pass, which is `host_ms` at most.
///
/// `None` on a CPU, and where the device was there first after all: a pass that waits for the device itself, or has more
/// launches than fit into the queue.
///
/// # Errors
/// Those of `job`.
#[cfg(feature = "cuda")]
pub fn device_ms(
    job: &mut dyn Job,
    device: &Device,
    host_ms: f64,
    samples: usize,
) -> Result<Option<Vec<f64>>> {
    let Device::Cuda(cuda) = device else {
        return Ok(None);
    };
    let ahead = events::Ahead::new(cuda, host_ms)?;
    (0..samples).map(|_| ahead.of(job)).collect()
}

/// None without a GPU.
#[cfg(not(feature = "cuda"))]
pub fn device_ms(_: &mut dyn Job, _: &Device, _: f64, _: usize) -> Result<Option<Vec<f64>>> {
    Ok(None)
}

#[cfg(feature = "cuda")]
mod events {
    use candle_core::cuda::WrapErr;
    use candle_core::{CudaDevice, Device, Result, Tensor};
    use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;

    use crate::Job;

    /// Products at least and at most; one takes some two milliseconds.
    const PRODUCTS: (usize, usize) = (4, 32);

    /// A GPU that is kept busy while the host runs ahead.
    pub struct Ahead<'a> {
        device: &'a CudaDevice,
        x: Tensor, // (4096, 4096)
        products: usize,
    }

    impl<'a> Ahead<'a> {
        /// Of about twice `host_ms`.
        pub fn new(device: &'a CudaDevice, host_ms: f64) -> Result<Self> {
            let on = Device::Cuda(device.clone());
            let (least, most) = PRODUCTS;
            Ok(Self {
                device,
                x: Tensor::rand(-1f32, 1., (4096, 4096), &on)?,
                products: (host_ms.ceil() as usize).clamp(least, most),
            })
        }

        /// One sample, if the host was ahead.
        pub fn of(&self, job: &mut dyn Job) -> Result<Option<f64>> {
            job.prepare_pass()?;
            let stream = self.device.cuda_stream();
            stream.synchronize().w()?;
            for _ in 0..self.products {
                self.x.matmul(&self.x)?;
            }
            let start = stream.record_event(Some(CU_EVENT_DEFAULT)).w()?;
            let logits = job.queue()?;
            let end = stream.record_event(Some(CU_EVENT_DEFAULT)).w()?;
            let late = start.try_is_complete().w()?;
            end.synchronize().w()?;
            drop(logits);
            let ms = f64::from(start.elapsed_ms(&end).w()?);
            Ok((!late).then_some(ms))
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};
    use cli::load::Request;

    use super::*;
    use crate::{Model, job};

    /// Recorded on a GPU, where there is one: it is in the queue before the device begins with it.
    #[test]
    fn a_recorded_pass_has_a_time_of_its_own_on_a_gpu() -> models::Result<()> {
        let device = match cfg!(feature = "cuda") {
            true => kernels::graph::open(0).unwrap_or(Device::Cpu),
            false => Device::Cpu,
        };
        let request = Request {
            model: "tiny".into(),
            dtype: DType::F32,
            device: device.clone(),
            seed: 0,
        };
        let level = levels::level(5).expect("level 5");
        for mut workload in job::load(Model::Lm, &request, &level, device.is_cuda())? {
            let job = workload.job.as_mut();
            job.prepare()?;
            job.run()?;
            match device_ms(job, &device, 1., 3)? {
                Some(times) => assert!(times.iter().all(|&ms| ms > 0. && ms < 10.), "{times:?}"),
                None => assert!(device.is_cpu(), "{}: the host was late", workload.name),
            }
        }
        Ok(())
    }
}
