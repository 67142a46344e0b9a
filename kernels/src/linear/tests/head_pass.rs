//! The head of a decode step: logits against the oracle, the token against a search on the host, the next position, and
//! memory that is as before the step.

use std::path::Path;

use candle_core::{DType, Device, Result, Tensor};
use operands::{HeadPass, Linear, NextStep, Norm};
use simt::{Module, Options, Report};

use super::oracle::{expected, sums};
use crate::launch::{on_cpu, recorded};
use crate::linear::level5::{NORM_GEMV, head_pass, norm_linear};
use crate::output::poisoned;
use crate::testing::{assert_close, devices, host, rng, tolerance, uniform};

/// V, K: blocks and warps that are full or not, rows of one chunk and of all chunks of each kernel.
const SHAPES: [(usize, usize); 8] = [
    (1, 8),
    (61, 48),
    (65, 512),
    (33, 576),
    (129, 768),
    (67, 264),
    (50, 1000),
    (34, 2048),
];

/// Memory that a step writes; the position is 41 before it.
fn next(chooses: bool, device: &Device) -> Result<NextStep> {
    let token = Tensor::new(&[[u32::MAX]], device)?;
    Ok(NextStep {
        position: Tensor::new(&[41u32], device)?,
        token: chooses.then_some(token),
        scratch: Tensor::zeros(4, DType::U32, device)?,
    })
}

/// A norm without gains, and a head.
struct Head {
    norm: Norm,
    head: Linear,
}

impl Head {
    fn new(w: Tensor, b: Option<Tensor>) -> Result<Self> {
        let weight = Tensor::ones(w.dim(1)?, w.dtype(), w.device())?;
        let norm = Norm::Rms { weight, eps: 1e-5 };
        let head = Linear::new(w, b);
        Ok(Self { norm, head })
    }

    /// The logits of a step. Nothing may be left in the scratch memory, for the step after it.
    fn step(&self, x: &Tensor, next: &NextStep) -> Result<Option<Tensor>> {
        let (norm, head) = (&self.norm, &self.head);
        let pass = HeadPass {
            x,
            norm,
            head,
            next,
        };
        let logits = poisoned(|| head_pass(&pass))?;
        assert_eq!(next.scratch.to_vec1::<u32>()?, [0; 4]);
        Ok(logits)
    }
}

/// The lowest index of the maximum, or V where one is NaN.
fn choice(logits: &[f64]) -> u32 {
    if logits.iter().any(|x| x.is_nan()) {
        return logits.len() as u32;
    }
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let first = logits.iter().position(|&x| x == max);
    first.expect("the maximum") as u32
}

fn chosen(next: &NextStep) -> Result<u32> {
    let token = next.token.as_ref().expect("a step that chooses");
    Ok(token.flatten_all()?.to_vec1::<u32>()?[0])
}

#[test]
fn two_steps_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for (dtype, (n, k)) in [DType::F32, DType::BF16]
            .into_iter()
            .flat_map(|dtype| SHAPES.map(|shape| (dtype, shape)))
        {
            let what = format!("{n}×{k} {dtype:?} {device:?}");
            let (w, w64) = uniform(&mut rng, &[n, k], dtype, &device)?;
            let (b, b64) = uniform(&mut rng, &[n], dtype, &device)?;
            let head = Head::new(w, Some(b))?;
            let (next, advances) = (next(true, &device)?, next(false, &device)?);
            for position in [42, 43] {
                let (x, x64) = uniform(&mut rng, &[1, 1, k], dtype, &device)?;
                let logits = head.step(&x, &next)?;
                let is_there = !on_cpu(&device) && (k <= 768 || dtype == DType::BF16);
                assert_eq!(logits.is_some(), is_there, "{what}");
                let Some(logits) = logits else { continue };
                let mean = x64.iter().map(|x| x * x).sum::<f64>() / k as f64;
                let scale = 1. / (mean + 1e-5).sqrt();
                let h: Vec<f64> = x64.iter().map(|x| x * scale).collect();
                let sums = sums(&h, &w64, (1, n, k)).into_iter().zip(&b64);
                let all = expected(sums.map(|(sum, &b)| sum.plus(b)));
                assert_close(&what, &logits, &all, tolerance(dtype, 1e-4))?;
                assert_eq!(chosen(&next)?, choice(&host(&logits)?), "{what}");
                assert_eq!(next.position.to_vec1::<u32>()?, [position], "{what}");

                let same = head.step(&x, &advances)?.expect("the same kernel");
                assert_eq!(host(&same)?, host(&logits)?, "{what}");
                assert_eq!(advances.position.to_vec1::<u32>()?, [position], "{what}");
                let plain = norm_linear(&x, &head.norm, &head.head)?.expect("a kernel");
                assert_eq!(host(&plain)?, host(&logits)?, "{what}");
            }
        }
    }
    Ok(())
}

/// The value of a row of w.
type Row<'a> = dyn Fn(usize) -> f32 + 'a;

/// Rows of w of one value each, so that the logits are 512 times as much.
#[test]
fn ties_zeros_and_nan() -> Result<()> {
    let k = 512;
    let tie = |i: usize| if [17, 40, 60].contains(&i) { 1. } else { -1. };
    // So small that its products are −0, and so are their sums.
    let zero = |i: usize| {
        if i < 9 {
            -1.
        } else {
            f32::from(i == 30) * 1e-30 - 1e-30
        }
    };
    let cases: [(&str, &Row, u32); 6] = [
        ("equal", &|_| -1., 0),
        ("three", &tie, 17),
        ("zeros", &zero, 9),
        ("∞", &|i| if i == 3 { f32::INFINITY } else { 1. }, 3),
        ("−∞", &|_| f32::NEG_INFINITY, 0),
        ("NaN", &|i| if i == 64 { f32::NAN } else { tie(i) }, 65),
    ];
    for device in devices().filter(|device| !on_cpu(device)) {
        for dtype in [DType::F32, DType::BF16] {
            for (what, of, expected) in &cases {
                let w: Vec<f32> = (0..65).map(of).collect();
                let w = Tensor::from_vec(w, (65, 1), &Device::Cpu)?.repeat((1, k))?;
                let head = Head::new(w.to_dtype(dtype)?.to_device(&device)?, None)?;
                let x = if *what == "zeros" { 1e-20 } else { 1. };
                let x = Tensor::full(x as f32, (1, 1, k), &Device::Cpu)?;
                let x = x.to_dtype(dtype)?.to_device(&device)?;
                let next = next(true, &device)?;
                let logits = host(&head.step(&x, &next)?.expect("a kernel"))?;
                assert_eq!(chosen(&next)?, *expected, "{what} {dtype:?} {device:?}");
                if *what == "zeros" {
                    let minus = |i: usize| logits[i] == 0. && logits[i].is_sign_negative();
                    assert!(minus(9) && !minus(30), "{dtype:?} {device:?}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn memory_of_another_size_is_an_error() -> Result<()> {
    for device in devices().filter(|device| !on_cpu(device)) {
        let head = Head::new(Tensor::ones((4, 8), DType::F32, &device)?, None)?;
        let x = Tensor::ones((1, 1, 8), DType::F32, &device)?;
        let next = || next(true, &device);
        let two = Tensor::zeros(2, DType::U32, &device)?;
        let (position, token, scratch) = (two.clone(), Some(two.clone()), two);
        for (wrong, expected) in [
            (
                NextStep {
                    position,
                    ..next()?
                },
                "expected 1 × u32",
            ),
            (NextStep { token, ..next()? }, "expected 1 × u32"),
            (NextStep { scratch, ..next()? }, "expected 4 × u32"),
        ] {
            let (norm, head) = (&head.norm, &head.head);
            let (x, next) = (&x, &wrong);
            let pass = HeadPass {
                x,
                norm,
                head,
                next,
            };
            let error = head_pass(&pass).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
    Ok(())
}

/// A step of 65 logits in the simulator, after an edit of its PTX: what it reports, and the scratch memory after it.
fn simulated_after(edit: impl Fn(&str) -> String) -> Result<(Report, Vec<u8>)> {
    let (called, mut launches) = recorded(Options::default(), || {
        let w = uniform(&mut rng(), &[65, 512], DType::F32, &Device::Cpu)?.0;
        let x = Tensor::ones((1, 1, 512), DType::F32, &Device::Cpu)?;
        Head::new(w, None)?.step(&x, &next(true, &Device::Cpu)?)
    });
    called?;
    let case = launches.pop().expect("a launch").case;
    let failed = |e: simt::Error| candle_core::Error::msg(e.to_string());
    let module = Module::parse(&edit(NORM_GEMV.simulated_text())).map_err(failed)?;
    let mut operands = case.operands(1, Path::new("")).map_err(failed)?;
    let (dim, args) = (operands.dim, operands.args.clone());
    let kernel = case.kernel(&module).map_err(failed)?;
    let report = kernel.launch(dim, &mut operands.buffers, &args, &Options::default());
    let scratch = operands.buffers.iter().find(|b| b.bytes.len() == 16);
    let scratch = scratch.expect("the scratch memory").bytes.clone();
    Ok((report.map_err(failed)?, scratch))
}

/// Without its barrier a block may miss a warp's key. Without its reset, or with a ticket that only grows, the next step
/// starts from this one's. The simulator does not see that the fences are needed: of a word it keeps the last write, which is
/// the last block's own maximum.
#[test]
fn the_barrier_and_the_reset_are_needed() -> Result<()> {
    let race = |f: &simt::Finding| f.class == simt::Class::Race;
    let (right, scratch) = simulated_after(str::to_owned)?;
    assert!(right.findings.is_empty(), "{:?}", right.findings);
    assert_eq!(scratch, [0; 16]);
    let (without, _) = simulated_after(|ptx| ptx.replace("bar.sync", "// bar.sync"))?;
    assert!(without.findings.iter().any(race), "without the barrier");
    let (_, scratch) = simulated_after(|ptx| ptx.replace("atom.global.inc", "atom.global.add"))?;
    assert_ne!(scratch, [0; 16], "a ticket that grows");
    let (_, scratch) = simulated_after(|ptx| {
        let reset = ptx
            .lines()
            .filter(|line| !line.starts_with("st.global.u64"));
        reset.collect::<Vec<_>>().join("\n")
    })?;
    assert_ne!(scratch, [0; 16], "without the reset");
    Ok(())
}
