//! Records simulated launches as text for files of cases: entry, grid and arguments.

use std::cell::RefCell;

use candle_core::{CpuStorage, Result, Storage, Tensor};
use simt::case::{Argument, Case, Contents, Element, Fill};
use simt::{Dim, Options};

use super::simulated::{key, no_tma, simulated};
use super::{Arg, Launch, Module};
use crate::error::mismatch;

/// A simulated launch.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Module of the kernel.
    pub module: &'static Module,
    /// The launch. Floats are random numbers of the same range; integers, which are indices, are kept.
    pub case: Case,
}

thread_local! {
    static RECORDED: RefCell<Option<Vec<Recorded>>> = const { RefCell::new(None) };
}

/// Runs `f` with every kernel of this thread simulated, and returns the launches.
pub fn recorded<T>(options: Options, f: impl FnOnce() -> T) -> (T, Vec<Recorded>) {
    let before = RECORDED.replace(Some(vec![]));
    scopeguard::defer! { RECORDED.set(before) }
    let (value, _) = simulated(options, f);
    (value, RECORDED.take().unwrap_or_default())
}

/// Records a launch inside of [`recorded`] before it runs.
pub(super) fn note(launch: &Launch) -> Result<()> {
    if RECORDED.with_borrow(Option::is_none) {
        return Ok(());
    }
    let noted = Recorded {
        module: launch.module,
        case: case(launch)?,
    };
    RECORDED.with_borrow_mut(|all| all.iter_mut().for_each(|all| all.push(noted.clone())));
    Ok(())
}

fn case(launch: &Launch) -> Result<Case> {
    let mut storages = vec![];
    let args = launch.args.iter().enumerate();
    let args: Result<_> = args
        .map(|(i, arg)| argument(launch, i, arg, &mut storages))
        .collect();
    Ok(Case {
        entry: Some(launch.entry.to_string()),
        dim: Dim {
            grid: launch.grid,
            block: launch.block,
            smem: launch.smem,
        },
        args: args?,
    })
}

/// Converts an argument; `storages` are those of earlier arguments, each with its argument's index.
fn argument(
    launch: &Launch,
    number: usize,
    arg: &Arg,
    storages: &mut Vec<(usize, usize)>,
) -> Result<Argument> {
    let x = match arg {
        Arg::Boxes(..) | Arg::Heads(..) => return Err(no_tma(launch)),
        Arg::Null => return Ok(Argument::Null),
        Arg::U32(x) => return Ok(Argument::Scalar(Element::U32, (*x).into())),
        Arg::F32(x) => return Ok(Argument::Scalar(Element::F32, x.to_bits().into())),
        Arg::Read(x) | Arg::View(x) | Arg::Write(x) | Arg::Constant(x) | Arg::Update(x) => x,
    };
    let (storage, layout) = x.storage_and_layout();
    let (key, offset) = (key(&storage), layout.start_offset() as u64);
    if let Some((_, argument)) = storages.iter().find(|(k, _)| *k == key) {
        let argument = *argument;
        return Ok(Argument::Same { argument, offset });
    }
    storages.push((key, number));
    let Storage::Cpu(host) = &*storage else {
        return Err(mismatch(
            &launch.entry,
            "a tensor of the host",
            "one of a device",
        ));
    };
    Ok(Argument::Buffer {
        contents: contents(x, host, is_read(launch, key))?,
        offset,
    })
}

/// Whether an argument reads this storage; storages that are only written are poisoned.
fn is_read(launch: &Launch, storage: usize) -> bool {
    launch.args.iter().any(|arg| match arg {
        Arg::Read(x) | Arg::View(x) | Arg::Constant(x) | Arg::Update(x) => {
            key(&x.storage_and_layout().0) == storage
        }
        _ => false,
    })
}

fn contents(x: &Tensor, host: &CpuStorage, read: bool) -> Result<Contents> {
    let (element, len, fill) = match host {
        CpuStorage::F32(x) => (
            Element::F32,
            x.len(),
            floats(Element::F32, x.iter().copied()),
        ),
        CpuStorage::BF16(x) => (
            Element::Bf16,
            x.len(),
            floats(Element::Bf16, x.iter().map(|x| x.to_f32())),
        ),
        CpuStorage::F64(x) => {
            let bits = x.iter().map(|x| x.to_bits()).collect();
            (Element::F64, x.len(), Fill::List(bits))
        }
        CpuStorage::U32(x) => (Element::U32, x.len(), integers(x)),
        CpuStorage::U8(x) => (Element::U8, x.len(), integers(x)),
        _ => {
            return Err(mismatch(
                "a case",
                "f32, f64, bf16, u32 or u8",
                x.dtype().as_str(),
            ));
        }
    };
    Ok(Contents {
        element,
        shape: Some(vec![len as u64]),
        fill: if read { fill } else { Fill::Poison },
    })
}

/// Maximum number of floats listed in a case because many are equal.
const LISTED: usize = 2048;

/// Maximum number of floats listed in a case because one is not finite.
const FEW: usize = 64;

/// Returns random numbers of the same range. Returns the numbers themselves if many are equal, as in ties and
/// masks, or if there are few and one is NaN. NaN among many numbers is memory that no kernel reads.
fn floats(element: Element, x: impl ExactSizeIterator<Item = f32> + Clone) -> Fill {
    let len = x.len();
    let mut distinct: Vec<u32> = x.clone().map(f32::to_bits).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let repeated = len > 8 && len <= LISTED && distinct.len() <= len / 4;
    let special = len <= FEW && x.clone().any(|x| !x.is_finite());
    if repeated || special {
        return Fill::List(x.map(|x| element.from_f64(x.into())).collect());
    }
    let finite = x.filter(|x| x.is_finite());
    let most = finite.fold(0f32, |most, x| most.max(x.abs())).ceil();
    Fill::Random((most > 1.).then_some(most.into()))
}

/// Maximum number of integers listed in a case: indices and packed weights. Tensors of 8-bit activations have
/// more, and random ones are as good.
const INTEGERS: usize = 8192;

fn integers<T: Copy + Into<u64>>(x: &[T]) -> Fill {
    if x.len() <= INTEGERS {
        Fill::List(x.iter().map(|&x| x.into()).collect())
    } else {
        Fill::Random(None)
    }
}
