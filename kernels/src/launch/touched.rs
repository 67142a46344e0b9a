//! The bytes of each tensor that simulated launches read and write.

use std::cell::RefCell;

use candle_core::Tensor;
use simt::{Options, Report, Touched};

use super::simulated::{key, simulated};
use super::{Arg, Launch};

/// The sectors of tensors' storages that launches read and wrote.
#[derive(Debug, Default)]
pub struct TouchedBytes(Vec<Storage>);

#[derive(Debug)]
struct Storage {
    key: usize,
    touched: Touched,
    /// Keeps the storage alive, so that no later one has the same key.
    _tensor: Tensor,
}

impl TouchedBytes {
    /// Bytes of the storage of `x` that kernels read, each counted once, in whole sectors.
    pub fn read(&self, x: &Tensor) -> u64 {
        self.of(x).map_or(0, Touched::read_bytes)
    }

    /// Bytes of the storage of `x` that kernels wrote, each counted once, in whole sectors.
    pub fn written(&self, x: &Tensor) -> u64 {
        self.of(x).map_or(0, Touched::written_bytes)
    }

    fn of(&self, x: &Tensor) -> Option<&Touched> {
        let key = key(&x.storage_and_layout().0);
        let found = self.0.iter().find(|storage| storage.key == key);
        found.map(|storage| &storage.touched)
    }

    fn add(&mut self, x: &Tensor, key: usize, touched: &Touched) {
        match self.0.iter_mut().find(|storage| storage.key == key) {
            Some(known) => known.touched.add(touched),
            None => self.0.push(Storage {
                key,
                touched: touched.clone(),
                _tensor: x.clone(),
            }),
        }
    }
}

thread_local! {
    static TOUCHED: RefCell<Option<TouchedBytes>> = const { RefCell::new(None) };
}

/// Runs `f` as [`simulated`] does. Also returns what its launches read and wrote of each tensor.
pub fn touched<T>(options: Options, f: impl FnOnce() -> T) -> (T, Vec<Report>, TouchedBytes) {
    let before = TOUCHED.replace(Some(TouchedBytes::default()));
    scopeguard::defer! { TOUCHED.set(before) }
    let options = Options {
        touched: true,
        ..options
    };
    let (value, reports) = simulated(options, f);
    (value, reports, TOUCHED.take().unwrap_or_default())
}

/// Records what a launch touched: `touched` has the order of `keys`, the storages of its arguments.
pub(super) fn note(launch: &Launch, keys: &[usize], touched: &[Touched]) {
    let tensors = launch.args.iter().filter_map(|arg| match arg {
        Arg::Read(x) | Arg::View(x) | Arg::Constant(x) | Arg::Update(x) | Arg::Write(x) => Some(x),
        Arg::Boxes(..) | Arg::Heads(..) | Arg::Null | Arg::U32(_) | Arg::F32(_) => None,
    });
    TOUCHED.with_borrow_mut(|all| {
        let Some(all) = all else { return };
        for x in tensors {
            let key = key(&x.storage_and_layout().0);
            let found = keys.iter().zip(touched).find(|(known, _)| **known == key);
            if let Some((_, touched)) = found {
                all.add(x, key, touched);
            }
        }
    });
}
