//! The worklog of softmax: four steps, and a copy of as many bytes.

use candle_core::{D, Device, Result, Tensor};
use candle_nn::ops::softmax;
use kernels::worklogs::softmax::STEPS;
use results::OpRow;

use super::Worklog;

const COLUMNS: usize = 8192;

const COPY: &str = "copy";
const CANDLE: &str = "candle";

pub static WORKLOG: Worklog = Worklog {
    op: "softmax",
    sizes: &[16384],
    shape: |rows| format!("{rows}x{COLUMNS}"),
    title: "Softmax of 16384 rows of 8192 elements in four steps",
    operands: |device: &Device, rows| Ok(vec![Tensor::rand(-8f32, 8., (rows, COLUMNS), device)?]),
    steps: || STEPS.iter().map(|step| (step.number, step.idea)).collect(),
    step: |number, x| STEPS[number - 1].softmax(&x[0]),
    references: &[
        (COPY, |x| x[0].copy()),
        (CANDLE, |x| candle_nn::ops::softmax_last_dim(&x[0])),
    ],
    reference_of: |_| (COPY, "a copy"),
    difference,
    cost: |rows| OpRow {
        bytes: Some(8 * (rows * COLUMNS) as u64),
        ..OpRow::default()
    },
};

/// The largest difference from candle's, relative to 1e-4 of each element: step 1 adds up 8192 terms one after the
/// other.
fn difference(number: usize, x: &[Tensor]) -> Result<f32> {
    let expected = softmax(&x[0], D::Minus1)?;
    let difference = (STEPS[number - 1].softmax(&x[0])? - &expected)?.abs()?;
    let ratio = (difference / (expected * 1e-4)?)?;
    ratio.flatten_all()?.max(0)?.to_scalar()
}
