//! The bytes of each tensor that simulated launches read and write.

use std::cell::RefCell;

use candle_core::{Result, Storage, Tensor};
use simt::{Buffer, Options, Report, Touched};

use super::simulated::{bytes, key, simulated};
use super::{Arg, Launch};

/// The sectors of tensors' storages that launches read and wrote.
#[derive(Debug, Default)]
pub struct TouchedBytes(Vec<Kept>);

/// The sectors of one storage that launches touched, and its bytes after the last write.
#[derive(Debug)]
struct Kept {
    key: usize,
    touched: Touched,
    /// All bytes after the last launch that wrote some of them.
    written: Vec<u8>,
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

    /// Bytes of `x` that are no longer what the last launch left there: other code has written them since. All of them if no
    /// launch has written to its storage.
    ///
    /// # Errors
    /// `x` is not in the memory of the host.
    pub fn overwritten(&self, x: &Tensor) -> Result<u64> {
        let (storage, layout) = x.storage_and_layout();
        let Storage::Cpu(host) = &*storage else {
            candle_core::bail!("expected a tensor of the host, found one of a device");
        };
        let now = bytes(host)?;
        let size = x.dtype().size_in_bytes();
        // The elements between those of a view that is not contiguous count, too.
        let range = match layout.contiguous_offsets() {
            Some((from, to)) => from * size..to * size,
            None => 0..now.len(),
        };
        let key = key(&storage);
        let found = self.0.iter().find(|storage| storage.key == key);
        let Some(before) = found.and_then(|storage| storage.written.get(range.clone())) else {
            return Ok(range.len() as u64);
        };
        let both = before.iter().zip(&now[range]);
        Ok(both.filter(|(before, now)| before != now).count() as u64)
    }

    fn of(&self, x: &Tensor) -> Option<&Touched> {
        let key = key(&x.storage_and_layout().0);
        let found = self.0.iter().find(|storage| storage.key == key);
        found.map(|storage| &storage.touched)
    }

    fn add(&mut self, x: &Tensor, key: usize, touched: &Touched, after: &[u8]) {
        let found = self.0.iter().position(|storage| storage.key == key);
        let i = found.unwrap_or_else(|| {
            self.0.push(Kept {
                key,
                touched: Touched::default(),
                written: vec![],
                _tensor: x.clone(),
            });
            self.0.len() - 1
        });
        self.0[i].touched.add(touched);
        if touched.written_bytes() > 0 {
            self.0[i].written = after.to_vec();
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

/// Records what a launch touched, and the bytes after it: `touched` and `after` have the order of `keys`, the storages of its
/// arguments.
pub(super) fn note(launch: &Launch, keys: &[usize], touched: &[Touched], after: &[Buffer]) {
    let tensors = launch.args.iter().filter_map(|arg| match arg {
        Arg::Read(x) | Arg::View(x) | Arg::Constant(x) | Arg::Update(x) | Arg::Write(x) => Some(x),
        Arg::Boxes(..) | Arg::Heads(..) | Arg::Null | Arg::U32(_) | Arg::F32(_) => None,
    });
    TOUCHED.with_borrow_mut(|all| {
        let Some(all) = all else { return };
        for x in tensors {
            let key = key(&x.storage_and_layout().0);
            let mut found = keys.iter().zip(touched).zip(after);
            if let Some(((_, touched), after)) = found.find(|((known, _), _)| **known == key) {
                all.add(x, key, touched, &after.bytes);
            }
        }
    });
}
