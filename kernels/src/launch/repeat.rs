//! Simulated launches as data, from which another process repeats them on operands that this one has not seen.

use std::cell::RefCell;

use candle_core::{DType, Result, Storage, Tensor, bail};
use serde::{Deserialize, Serialize};
use simt::{Buffer, Dim, Options, Report, Touched};

use super::simulated::{bytes, key, no_tma, of_simulator, simulated};
use super::{Arg, Launch, Module};
use crate::error::mismatch;

/// Maximum launches of a sequence.
const MOST_LAUNCHES: usize = 100;
/// Maximum bytes of the memory that a sequence uses apart from its operands.
const MOST_BYTES: usize = 1 << 28;
/// Maximum elements and dimensions of a result.
const MOST_ELEMENTS: usize = 1 << 22;
const MOST_DIMENSIONS: usize = 8;

/// The launches of a run, one after the other. Memory is numbered: that of the operands comes first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sequence {
    /// PTX of the kernels.
    texts: Vec<String>,
    others: Vec<Other>,
    launches: Vec<Step>,
    /// Places of the results; `None` for one that no launch used.
    results: Vec<Option<View>>,
}

/// Memory that is no operand's.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Other {
    bytes: usize,
    /// Whether it is full of zeros before the first launch. Nothing else that the host wrote is kept.
    zeros: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Step {
    /// Index of the PTX.
    text: usize,
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    smem: u32,
    args: Vec<Value>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Value {
    Null,
    U32(u32),
    /// Bits of an f32, because JSON has no NaN.
    F32(u32),
    /// Number of the memory, and an offset in bytes.
    Address(usize, u64),
}

/// A view of a tensor in f32 or bf16: elements from the first one on.
#[derive(Debug, Serialize, Deserialize)]
struct View {
    memory: usize,
    is_bf16: bool,
    start: usize,
    shape: Vec<usize>,
    strides: Vec<usize>,
}

/// The launches of [`repeatable`] so far.
#[derive(Debug, Default)]
pub struct Recording {
    sequence: Sequence,
    modules: Vec<&'static Module>,
    /// The tensors that own the memory: operands, then others. They stay alive, so that no later one has the same key.
    tensors: Vec<Tensor>,
}

thread_local! {
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// Runs `f`, a call with these operands, as [`simulated`] does. Also returns its launches.
pub fn repeatable<T>(
    operands: &[&Tensor],
    options: Options,
    f: impl FnOnce() -> T,
) -> (T, Vec<Report>, Recording) {
    let recording = Recording {
        tensors: operands.iter().copied().cloned().collect(),
        ..Recording::default()
    };
    let before = RECORDING.replace(Some(recording));
    scopeguard::defer! { RECORDING.set(before) }
    let (value, reports) = simulated(options, f);
    (value, reports, RECORDING.take().unwrap_or_default())
}

/// Records a launch inside of [`repeatable`] before it runs.
pub(super) fn note(launch: &Launch) -> Result<()> {
    RECORDING.with_borrow_mut(|recording| match recording {
        Some(recording) => recording.add(launch),
        None => Ok(()),
    })
}

impl Recording {
    fn find(&self, x: &Tensor) -> Option<usize> {
        let wanted = key(&x.storage_and_layout().0);
        let mut all = self.tensors.iter();
        all.position(|known| key(&known.storage_and_layout().0) == wanted)
    }

    fn add(&mut self, launch: &Launch) -> Result<()> {
        let mut modules = self.modules.iter();
        let known = modules.position(|&known| std::ptr::eq(known, launch.module));
        let text = known.unwrap_or_else(|| {
            self.modules.push(launch.module);
            let text = launch.module.simulated_text().to_owned();
            self.sequence.texts.push(text);
            self.modules.len() - 1
        });
        let args = launch.args.iter().map(|arg| {
            Ok(match arg {
                Arg::Boxes(..) | Arg::Heads(..) => return Err(no_tma(launch)),
                Arg::Null => Value::Null,
                Arg::U32(x) => Value::U32(*x),
                Arg::F32(x) => Value::F32(x.to_bits()),
                Arg::Read(x) | Arg::View(x) | Arg::Constant(x) | Arg::Update(x) | Arg::Write(x) => {
                    self.address(x)?
                }
            })
        });
        let args = args.collect::<Result<_>>()?;
        self.sequence.launches.push(Step {
            text,
            entry: launch.entry.to_string(),
            grid: launch.grid,
            block: launch.block,
            smem: launch.smem,
            args,
        });
        Ok(())
    }

    fn address(&mut self, x: &Tensor) -> Result<Value> {
        let offset = x.layout().start_offset() * x.dtype().size_in_bytes();
        let found = self.find(x);
        let memory = match found {
            Some(memory) => memory,
            None => {
                let bytes = of_host(x)?;
                self.sequence.others.push(Other {
                    bytes: bytes.len(),
                    zeros: bytes.iter().all(|byte| *byte == 0),
                });
                self.tensors.push(x.clone());
                self.tensors.len() - 1
            }
        };
        Ok(Value::Address(memory, offset as u64))
    }

    /// The launches, and where they left `results`.
    pub fn ending_in(mut self, results: &[Tensor]) -> Sequence {
        let view = |y: &Tensor| {
            let is_bf16 = y.dtype() == DType::BF16;
            let memory = self
                .find(y)
                .filter(|_| is_bf16 || y.dtype() == DType::F32)?;
            Some(View {
                memory,
                is_bf16,
                start: y.layout().start_offset(),
                shape: y.dims().to_vec(),
                strides: y.stride().to_vec(),
            })
        };
        self.sequence.results = results.iter().map(view).collect();
        self.sequence
    }
}

/// Outcome of the launches of a [`Sequence`] on other operands.
#[derive(Debug)]
pub struct Repeated<'s> {
    /// The report of each launch.
    pub reports: Vec<Report>,
    memory: Vec<Memory>,
    operands: usize,
    /// Numbers of the memory that the last launch wrote.
    last: Vec<usize>,
    results: &'s [Option<View>],
}

#[derive(Debug, Default)]
struct Memory {
    bytes: Vec<u8>,
    touched: Touched,
    /// Whether the host or a launch has written some of the bytes.
    initialised: bool,
}

impl Sequence {
    /// Whether it has no launch.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// Runs the launches on `operands`, which have the places and the sizes of those of the recording. Apart from them, a
    /// launch finds zeros, what launches before it wrote, or nothing. The sequence may come from a stranger, so that a process
    /// with limits runs this.
    ///
    /// # Errors
    /// The sequence is too large, its PTX is wrong, or a launch is refused.
    pub fn repeat(&self, operands: &[&Tensor], options: Options) -> Result<Repeated<'_>> {
        let sizes = self.others.iter().map(|other| other.bytes);
        let bytes = sizes.fold(0usize, usize::saturating_add);
        if self.launches.len() > MOST_LAUNCHES || bytes > MOST_BYTES {
            let launches = self.launches.len();
            bail!(
                "expected at most {MOST_LAUNCHES} launches and {MOST_BYTES} bytes of their own, found {launches} and {bytes}"
            );
        }
        let mut memory = vec![];
        for x in operands {
            memory.push(Memory {
                bytes: of_host(x)?,
                initialised: true,
                ..Memory::default()
            });
        }
        memory.extend(self.others.iter().map(|other| Memory {
            bytes: vec![if other.zeros { 0 } else { 0xff }; other.bytes],
            initialised: other.zeros,
            ..Memory::default()
        }));
        let parsed = self.texts.iter().map(|text| simt::Module::parse(text));
        let modules = parsed.collect::<simt::Result<Vec<_>>>();
        let modules = modules.map_err(of_simulator)?;
        let options = Options {
            touched: true,
            ..options
        };
        let mut repeated = Repeated {
            reports: vec![],
            memory,
            operands: operands.len(),
            last: vec![],
            results: &self.results,
        };
        let mut warps = 0u64;
        for step in &self.launches {
            let Some(module) = modules.get(step.text) else {
                bail!("{}: expected its PTX, found none", step.entry);
            };
            repeated.launch(step, module, &options)?;
            let last = repeated.reports.last();
            warps += last.map_or(0, |report| report.total.warps);
            if warps > options.launch_fuel {
                let most = options.launch_fuel;
                bail!("expected at most {most} instructions of warps in all launches, found more");
            }
        }
        Ok(repeated)
    }
}

/// The bytes of a tensor's storage.
fn of_host(x: &Tensor) -> Result<Vec<u8>> {
    match &*x.storage_and_layout().0 {
        Storage::Cpu(host) => bytes(host),
        _ => Err(mismatch(
            "launch",
            "a tensor of the host",
            "one of a device",
        )),
    }
}

impl Repeated<'_> {
    fn launch(&mut self, step: &Step, module: &simt::Module, options: &Options) -> Result<()> {
        let kernel = module.kernel(&step.entry).map_err(of_simulator)?;
        let names: Vec<&str> = kernel.params().map(|(name, _)| name).collect();
        // The memory that it uses, by number.
        let mut used: Vec<usize> = vec![];
        let mut buffers: Vec<Buffer> = vec![];
        let mut args = vec![];
        for (i, value) in step.args.iter().enumerate() {
            args.push(match *value {
                Value::Null => simt::Arg::Null,
                Value::U32(x) => simt::Arg::U32(x),
                Value::F32(bits) => simt::Arg::F32(f32::from_bits(bits)),
                Value::Address(number, offset) => {
                    let known = used.iter().position(|used| *used == number);
                    let at = known.unwrap_or(used.len());
                    if known.is_none() {
                        let Some(memory) = self.memory.get_mut(number) else {
                            bail!(
                                "{}: expected memory of the launches, found none",
                                step.entry
                            );
                        };
                        used.push(number);
                        buffers.push(Buffer {
                            name: names.get(i).copied().unwrap_or_default().to_owned(),
                            bytes: std::mem::take(&mut memory.bytes),
                            initialised: memory.initialised,
                        });
                    }
                    simt::Arg::Inside(at, offset)
                }
            });
        }
        let dim = Dim {
            grid: step.grid,
            block: step.block,
            smem: step.smem,
        };
        let report = kernel.launch(dim, &mut buffers, &args, options);
        let report = report.map_err(of_simulator)?;
        self.last.clear();
        let touched = report.touched.iter();
        for ((number, buffer), touched) in used.iter().zip(buffers).zip(touched) {
            let memory = &mut self.memory[*number];
            memory.bytes = buffer.bytes;
            memory.touched.add(touched);
            if touched.written_bytes() > 0 {
                memory.initialised = true;
                self.last.push(*number);
            }
        }
        self.reports.push(report);
        Ok(())
    }

    /// Bytes of operand number `i` that kernels read, each counted once, in whole sectors.
    pub fn read(&self, i: usize) -> u64 {
        let memory = self.memory[..self.operands].get(i);
        memory.map_or(0, |memory| memory.touched.read_bytes())
    }

    /// Bytes of the memory of result number `i` that kernels wrote, each counted once, in whole sectors.
    pub fn written(&self, i: usize) -> u64 {
        let view = self.results.get(i).and_then(Option::as_ref);
        let memory = view.and_then(|view| self.memory.get(view.memory));
        memory.map_or(0, |memory| memory.touched.written_bytes())
    }

    /// Shape and elements of result number `i`; `None` if no launch used its memory.
    pub fn result(&self, i: usize) -> Option<(&[usize], Vec<f32>)> {
        let view = self.results.get(i)?.as_ref()?;
        let bytes = &self.memory.get(view.memory)?.bytes;
        let dimensions = view.shape.len();
        if dimensions > MOST_DIMENSIONS || dimensions != view.strides.len() {
            return None;
        }
        let sizes = view.shape.iter().map(|n| (*n).max(1));
        if sizes.fold(1, usize::saturating_mul) > MOST_ELEMENTS {
            return None;
        }
        let mut offsets = vec![view.start];
        for (n, stride) in view.shape.iter().zip(&view.strides) {
            let along = |from: &usize| -> Vec<usize> {
                let offset = |i: usize| from.wrapping_add(i.wrapping_mul(*stride));
                (0..*n).map(offset).collect()
            };
            offsets = offsets.iter().flat_map(along).collect();
        }
        let width = if view.is_bf16 { 2 } else { 4 };
        let element = |offset: &usize| {
            let at = offset.checked_mul(width)?;
            // The bits of a bf16 are the upper half of an f32's.
            let mut bits = [0; 4];
            bits[4 - width..].copy_from_slice(bytes.get(at..at.checked_add(width)?)?);
            Some(f32::from_le_bytes(bits))
        };
        let values = offsets.iter().map(element).collect::<Option<_>>()?;
        Some((&view.shape, values))
    }

    /// Words of 32 bits of the memory that the last launch wrote and that is no operand's; none if it has more than `most`
    /// bytes.
    pub fn last_words(&self, most: usize) -> impl Iterator<Item = u32> {
        let others = self.last.iter().filter(|number| **number >= self.operands);
        let bytes: Vec<&Vec<u8>> = others.map(|number| &self.memory[*number].bytes).collect();
        let is_small = bytes.iter().map(|bytes| bytes.len()).sum::<usize>() <= most;
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let bytes = bytes.into_iter().filter(move |_| is_small);
        bytes.flat_map(move |bytes| bytes.chunks_exact(4).map(word))
    }
}

#[test]
fn a_result_of_a_stranger_has_few_dimensions() {
    let mut shape = vec![1; 300_000];
    shape[0] = MOST_ELEMENTS;
    let view = View {
        memory: 0,
        is_bf16: false,
        start: 0,
        strides: vec![0; shape.len()],
        shape,
    };
    let repeated = Repeated {
        reports: vec![],
        memory: vec![Memory {
            bytes: vec![0; 4],
            ..Memory::default()
        }],
        operands: 0,
        last: vec![],
        results: &[Some(view)],
    };
    assert!(repeated.result(0).is_none());
}
