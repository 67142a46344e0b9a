//! `--roofline`: a chart of a run's kernels below a GPU's roofline.

use std::ops::RangeInclusive;

use candle_core::DType;
use charts::{Format, Intensity, Roof, RooflineChart, roofline_chart};
use data::BadInput;

use super::cost::Cost;
use crate::args::{ModelArgs, RunArgs};
use crate::device::Choice;
use crate::files::Output;

/// Roof of an H200: the bandwidth in TB/s of the largest copy in `benches/results/ops/h200.json`, and the data sheet's
/// f32 without tensor cores in TFLOP/s, which no kernel of f32 FMAs exceeds. A kernel with `mma` may.
const H200: (f64, f64) = (4.257, 67.);

/// Bandwidths and peaks that a chart can show.
const DRAWN: RangeInclusive<f64> = 1e-3..=1e6;

/// The roof of an H200 in f32, under which a simulated kernel's ceiling is drawn.
pub fn h200() -> Roof {
    Roof {
        name: "an H200 (f32 without tensor cores)".into(),
        bandwidth: H200.0,
        peak: H200.1,
    }
}

/// The note below the chart.
const NOTE: &str = "The simulator measures no time: a dot marks the maximum at a kernel's intensity, \
                    in FLOPs per byte of the sectors it touches.";

/// A chart to write.
pub struct Roofline {
    output: Output,
    format: Format,
    roof: Roof,
}

impl Roofline {
    /// Reads the options; the output path is checked before any work.
    pub fn new(model: &ModelArgs, run: &RunArgs) -> Result<Option<Self>, BadInput> {
        let Some(path) = &run.roofline else {
            return Ok(None);
        };
        if model.device != Choice::Sim {
            let found = "another device";
            return Err(BadInput::new("--roofline", "--device sim", found));
        }
        let format = Format::of(path).ok_or_else(|| {
            BadInput::new(
                "--roofline",
                "a file that ends in .svg or .png",
                path.display(),
            )
        })?;
        Ok(Some(Self {
            output: Output::new(path)?,
            format,
            roof: roof(DType::from(model.dtype), run)?,
        }))
    }

    /// Path of the chart.
    pub fn path(&self) -> &std::path::Path {
        self.output.path()
    }

    /// Draws the kernels that have an intensity.
    pub fn write(&self, costs: &[Cost]) -> anyhow::Result<()> {
        let kernel = |cost: &Cost| Intensity {
            name: cost.kernel.clone(),
            value: cost.intensity(),
        };
        let Roof {
            name,
            bandwidth,
            peak,
        } = &self.roof;
        let chart = RooflineChart {
            title: format!("Roofline of {name}: {bandwidth} TB/s, {peak} TFLOP/s"),
            roof: self.roof.clone(),
            kernels: costs.iter().map(kernel).collect(),
            note: NOTE.into(),
        };
        Ok(self.output.write(&roofline_chart(&chart, self.format)?)?)
    }
}

/// The roof of the options, or of the H200.
fn roof(dtype: DType, run: &RunArgs) -> Result<Roof, BadInput> {
    let drawn = |option: &str, value: Option<f64>| match value {
        Some(x) if !DRAWN.contains(&x) => {
            let expected = format!("a number from {} to {}", DRAWN.start(), DRAWN.end());
            Err(BadInput::new(option, expected, x))
        }
        value => Ok(value),
    };
    let bandwidth = drawn("--bandwidth", run.bandwidth)?;
    let peak = drawn("--peak", run.peak)?;
    if peak.is_none() && dtype != DType::F32 {
        let expected = format!("the peak of a GPU in {}, in TFLOP/s", dtype.as_str());
        return Err(BadInput::new(
            "--peak",
            expected,
            format!("none (the default, {}, is an H200's in f32)", H200.1),
        ));
    }
    if let (None, None) = (bandwidth, peak) {
        return Ok(h200());
    }
    Ok(Roof {
        name: "a GPU".into(),
        bandwidth: bandwidth.unwrap_or(H200.0),
        peak: peak.unwrap_or(H200.1),
    })
}

#[cfg(test)]
mod tests {
    use results::bound::{LIMITS, MEMORY};
    use results::{OpResults, OpRow};

    use super::*;

    #[test]
    fn the_bandwidth_is_the_recorded_one() {
        let record = "../../benches/results/ops/h200.json";
        let rows = OpResults::load(record.as_ref()).expect("a record").rows;
        let copy = |row: &&OpRow| row.op == LIMITS && row.shape == MEMORY;
        let bytes = rows.iter().find(copy).and_then(|row| row.bytes);
        let rounded = bytes.map(|bytes| (bytes as f64 / 1e9).round() / 1e3);
        assert_eq!(rounded, Some(H200.0));
    }
}
