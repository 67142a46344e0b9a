//! Choice of the device.

use std::str::FromStr;

use candle_core::Device;
use data::BadInput;
use kernels::launch::is_simulated;

#[cfg(feature = "cuda")]
mod pool;

/// The value of `--device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// CUDA if it is built in and a GPU responds, otherwise the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU with this index.
    Cuda(usize),
    /// The CPU; the simulator runs the PTX of every kernel.
    Sim,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            "sim" => Ok(Self::Sim),
            _ => match text.strip_prefix("cuda:").map(usize::from_str) {
                Some(Ok(ordinal)) => Ok(Self::Cuda(ordinal)),
                _ => Err("expected auto, cpu, cuda, cuda:N or sim".into()),
            },
        }
    }
}

impl Choice {
    /// Opens a device with real times.
    ///
    /// # Errors
    /// [`BadInput`] if the requested GPU does not respond, and for the simulator, which measures no times:
    /// the programs start it themselves.
    pub fn open(self) -> Result<Device, BadInput> {
        match self {
            Self::Auto => Ok(cuda(0).unwrap_or(Device::Cpu)),
            Self::Cpu => Ok(Device::Cpu),
            Self::Cuda(ordinal) => cuda(ordinal),
            Self::Sim => {
                let expected = "auto, cpu, cuda or cuda:N (the simulator measures no time)";
                Err(BadInput::new("--device", expected, "sim"))
            }
        }
    }
}

/// Opens a GPU with a new stream, without event tracking, which would use two events per tensor, and with a
/// memory pool that keeps freed memory.
#[cfg(feature = "cuda")]
fn cuda(ordinal: usize) -> Result<Device, BadInput> {
    let open = || {
        let device = kernels::cuda_graph::open(ordinal)?;
        // SAFETY: the events keep streams apart that share a tensor. A program computes on the one
        // stream of the device that it opened: its tensors are made, used and freed there, in order,
        // and a device that is opened besides has a context, a stream and tensors of its own.
        unsafe { device.as_cuda_device()?.disable_event_tracking() };
        pool::keep(ordinal)?;
        Ok(device)
    };
    open().map_err(|e: candle_core::Error| {
        let what = option(ordinal);
        // candle appends a backtrace to its message.
        let message = e.to_string();
        let found = message.lines().next().unwrap_or_default();
        BadInput::new(what, "a working GPU", found)
    })
}

#[cfg(not(feature = "cuda"))]
fn cuda(ordinal: usize) -> Result<Device, BadInput> {
    let expected = "a build with CUDA (add `--features cuda` to `cargo run --release`)";
    Err(BadInput::new(option(ordinal), expected, "one without"))
}

/// `--device cuda` for the first GPU, `--device cuda:1` for the next.
fn option(ordinal: usize) -> String {
    match ordinal {
        0 => "--device cuda".into(),
        n => format!("--device cuda:{n}"),
    }
}

/// Resets the peak of [`peak_bytes`].
pub fn reset_peak(device: &Device) -> candle_core::Result<()> {
    match device.location() {
        #[cfg(feature = "cuda")]
        candle_core::DeviceLocation::Cuda { gpu_id } => pool::reset_peak(gpu_id),
        _ => Ok(()),
    }
}

/// Returns the maximum bytes of tensors on a GPU since [`reset_peak`]; `None` on a CPU.
pub fn peak_bytes(device: &Device) -> candle_core::Result<Option<u64>> {
    match device.location() {
        #[cfg(feature = "cuda")]
        candle_core::DeviceLocation::Cuda { gpu_id } => pool::peak_bytes(gpu_id).map(Some),
        _ => Ok(None),
    }
}

/// `cpu`, `cuda:0`, `sim`
pub fn name(device: &Device) -> String {
    match device.location() {
        _ if is_simulated() => "sim".into(),
        candle_core::DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        candle_core::DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
        candle_core::DeviceLocation::Cpu => "cpu".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names_are_parsed() {
        assert_eq!("auto".parse(), Ok(Choice::Auto));
        assert_eq!("cuda".parse(), Ok(Choice::Cuda(0)));
        assert_eq!("cuda:3".parse(), Ok(Choice::Cuda(3)));
        assert_eq!("sim".parse(), Ok(Choice::Sim));
        for bad in ["", "gpu", "cuda:", "cuda:-1", "CPU"] {
            assert!(bad.parse::<Choice>().is_err(), "{bad}");
        }
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_build_without_cuda_says_what_to_type() {
        let said = |text: &str| {
            text.parse()
                .map(|choice: Choice| choice.open().unwrap_err().to_string())
        };
        let expected = ": expected a build with CUDA (add `--features cuda` to `cargo run --release`), found one without";
        for device in ["cuda", "cuda:1"] {
            assert_eq!(said(device), Ok(format!("--device {device}{expected}")));
        }
    }

    #[test]
    fn a_cpu_has_no_peak_of_gpu_memory() -> candle_core::Result<()> {
        reset_peak(&Device::Cpu)?;
        assert_eq!(peak_bytes(&Device::Cpu)?, None);
        assert_eq!(name(&Device::Cpu), "cpu");
        Ok(())
    }
}
