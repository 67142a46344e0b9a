//! Launches without a GPU: the simulator runs the same PTX on tensors in the host's memory.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, LazyLock, Mutex};

use candle_core::{CpuStorage, InplaceOp1, Layout, Result, Storage, Tensor};
use half::bf16;
use simt::{Buffer, Dim, Kernel, Options, Report};
use trace::Launched;

use super::noted::launched;
use super::{Arg, Launch, Module, overlap, recorded, repeat};
use crate::error::mismatch;

/// The state of this thread while [`simulated`] runs.
struct Simulation {
    options: Options,
    reports: Vec<Report>,
}

thread_local! {
    static SIMULATION: RefCell<Option<Simulation>> = const { RefCell::new(None) };
}

/// Runs `f` with every kernel of this thread simulated: tensors are the host's, kernels are the PTX. Also
/// returns the report of each launch.
pub fn simulated<T>(options: Options, f: impl FnOnce() -> T) -> (T, Vec<Report>) {
    let before = begin(options);
    let value = f();
    let reports = end(before);
    (value, reports)
}

/// The previous simulation; dropping it restores that one.
pub(crate) struct Before(Option<Simulation>);

impl Drop for Before {
    fn drop(&mut self) {
        SIMULATION.set(self.0.take());
    }
}

/// Simulates this thread's kernels until the returned value is dropped.
pub(crate) fn begin(options: Options) -> Before {
    let reports = vec![];
    Before(SIMULATION.replace(Some(Simulation { options, reports })))
}

/// Ends a simulation and returns its reports.
pub(crate) fn end(before: Before) -> Vec<Report> {
    let ended = SIMULATION.take();
    drop(before);
    ended.map(|s| s.reports).unwrap_or_default()
}

/// Whether kernels of this thread are simulated.
pub(crate) fn is_on() -> bool {
    SIMULATION.with_borrow(Option::is_some)
}

fn options() -> Option<Options> {
    SIMULATION.with_borrow(|s| s.as_ref().map(|s| s.options.clone()))
}

/// Simulates a launch over tensors of the host.
pub(super) fn execute(launch: &Launch) -> Result<()> {
    let Some(options) = options() else {
        return Err(mismatch(&launch.entry, "a simulation", "none"));
    };
    if launch.is_struct {
        let expected = "a GPU: structs of arguments are not simulated";
        return Err(mismatch(&launch.entry, expected, "the simulator"));
    }
    let kernel = prepare(launch.module, &launch.entry)?;
    recorded::note(launch)?;
    repeat::note(launch)?;
    let names: Vec<String> = kernel.params().map(|(name, _)| name.to_owned()).collect();
    let mut buffers: Vec<(usize, Buffer)> = vec![];
    let mut args = vec![];
    for (i, arg) in launch.args.iter().enumerate() {
        let name = names.get(i).map_or("", String::as_str);
        args.push(match arg {
            Arg::Read(x) | Arg::View(x) | Arg::Constant(x) | Arg::Update(x) => {
                address(x, name, true, &mut buffers)?
            }
            Arg::Write(x) => address(x, name, false, &mut buffers)?,
            Arg::Boxes(..) | Arg::Heads(..) => return Err(no_tma(launch)),
            Arg::Null => simt::Arg::Null,
            Arg::U32(x) => simt::Arg::U32(*x),
            Arg::F32(x) => simt::Arg::F32(*x),
        });
    }
    let dim = Dim {
        grid: launch.grid,
        block: launch.block,
        smem: launch.smem,
    };
    let keys: Vec<usize> = buffers.iter().map(|(key, _)| *key).collect();
    let mut buffers: Vec<Buffer> = buffers.into_iter().map(|(_, buffer)| buffer).collect();
    let report = if launch.programmatic && options.races {
        let others = others(launch, &keys);
        overlap::launch(&kernel, (dim, &args), &others, &mut buffers, &options)
    } else {
        kernel.launch(dim, &mut buffers, &args, &options)
    };
    let report = report.map_err(of_simulator)?;
    for arg in &launch.args {
        if let Arg::Write(x) | Arg::Update(x) = arg {
            let key = key(&x.storage_and_layout().0);
            if let Some(i) = keys.iter().position(|k| *k == key) {
                x.inplace_op1(&Take(&buffers[i].bytes))?;
            }
        }
    }
    launched(|| Launched {
        kernel: launch.entry.clone(),
        grid: launch.grid,
        block: launch.block,
        smem: launch.smem + kernel.shared_bytes(),
        registers: None,
    });
    SIMULATION.with_borrow_mut(|s| s.iter_mut().for_each(|s| s.reports.push(report.clone())));
    Ok(())
}

/// The buffers that another kernel of a chain may write or read: those of all arguments but constants and updates.
fn others(launch: &Launch, keys: &[usize]) -> Vec<usize> {
    let of = |arg: &Arg| match arg {
        Arg::Read(x) | Arg::View(x) | Arg::Write(x) => {
            let key = key(&x.storage_and_layout().0);
            keys.iter().position(|k| *k == key)
        }
        _ => None,
    };
    let mut others: Vec<usize> = launch.args.iter().filter_map(of).collect();
    others.sort_unstable();
    others.dedup();
    others
}

/// The error for a kernel that uses TMA. Such kernels also use wgmma, which is not simulated either.
pub(super) fn no_tma(launch: &Launch) -> candle_core::Error {
    mismatch(
        &launch.entry,
        "a GPU: TMA is not simulated",
        "the simulator",
    )
}

pub(super) fn of_simulator(error: simt::Error) -> candle_core::Error {
    candle_core::Error::Msg(error.to_string())
}

/// Parses and prepares an entry once. A module's address identifies it, because modules are static.
fn prepare(module: &'static Module, entry: &str) -> Result<Arc<Kernel>> {
    struct Prepared {
        module: simt::Module,
        kernels: HashMap<String, Arc<Kernel>>,
    }
    static PREPARED: LazyLock<Mutex<HashMap<usize, Prepared>>> = LazyLock::new(Mutex::default);
    let poisoned = |_| mismatch(entry, "a simulator", "one that has panicked");
    let refused = |error| candle_core::Error::Msg(format!("{}: {error}", module.name()));
    let mut all = PREPARED.lock().map_err(poisoned)?;
    let prepared = match all.entry(std::ptr::from_ref(module).addr()) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(Prepared {
            module: simt::Module::parse(module.simulated_text()).map_err(refused)?,
            kernels: HashMap::new(),
        }),
    };
    if let Some(kernel) = prepared.kernels.get(entry) {
        return Ok(kernel.clone());
    }
    let kernel = Arc::new(prepared.module.kernel(entry).map_err(refused)?);
    prepared.kernels.insert(entry.to_owned(), kernel.clone());
    Ok(kernel)
}

/// Returns the identity of a storage, equal for two views of one tensor.
pub(super) fn key(storage: &Storage) -> usize {
    std::ptr::from_ref(storage).addr()
}

/// Returns the address of a tensor's first element. Its storage becomes a buffer on first use.
fn address(
    x: &Tensor,
    name: &str,
    read: bool,
    buffers: &mut Vec<(usize, Buffer)>,
) -> Result<simt::Arg> {
    let (storage, layout) = x.storage_and_layout();
    let key = key(&storage);
    let offset = (layout.start_offset() * x.dtype().size_in_bytes()) as u64;
    let i = match buffers.iter().position(|(k, _)| *k == key) {
        Some(i) => i,
        None => {
            let Storage::Cpu(host) = &*storage else {
                return Err(mismatch(name, "a tensor of the host", "one of a device"));
            };
            buffers.push((
                key,
                Buffer {
                    name: name.into(),
                    bytes: bytes(host)?,
                    initialised: false,
                },
            ));
            buffers.len() - 1
        }
    };
    // A tensor that is only written starts uninitialised, so the simulator reports reads before the first
    // write.
    buffers[i].1.initialised |= read;
    Ok(simt::Arg::Inside(i, offset))
}

/// Returns the bytes of a storage.
pub(super) fn bytes(storage: &CpuStorage) -> Result<Vec<u8>> {
    Ok(match storage {
        CpuStorage::U8(x) => x.clone(),
        CpuStorage::U32(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
        CpuStorage::F32(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
        CpuStorage::F64(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
        CpuStorage::BF16(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
        _ => {
            let expected = "f32, f64, bf16, u32 or u8";
            return Err(mismatch("launch", expected, "another dtype"));
        }
    })
}

/// Copies bytes into a tensor.
struct Take<'a>(&'a [u8]);

impl InplaceOp1 for Take<'_> {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, _: &Layout) -> Result<()> {
        let words = || self.0.chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]]);
        match storage {
            CpuStorage::U8(x) => x.copy_from_slice(self.0),
            CpuStorage::U32(x) => x
                .iter_mut()
                .zip(words())
                .for_each(|(x, b)| *x = u32::from_le_bytes(b)),
            CpuStorage::F32(x) => x
                .iter_mut()
                .zip(words())
                .for_each(|(x, b)| *x = f32::from_le_bytes(b)),
            CpuStorage::BF16(x) => {
                let halves = self
                    .0
                    .chunks_exact(2)
                    .map(|b| bf16::from_le_bytes([b[0], b[1]]));
                x.iter_mut().zip(halves).for_each(|(x, b)| *x = b);
            }
            _ => return Err(mismatch("launch", "f32, bf16, u32 or u8", "another dtype")),
        }
        Ok(())
    }
}
