//! Records which kernels ran: every op opens a [`span`] that names the kernel and its level.
//!
//! Recording is off unless [`record`] runs, and is per thread. When it is off, a span costs one thread-local
//! read, and with the feature `cuda` one atomic load: see [`nvtx`]. An op's needs and GPU launches are recorded the
//! same way: by [`needs`] before it and by [`launched`] inside it.

pub mod clock;
pub mod nvtx;
pub mod profile;
#[cfg(feature = "cuda")]
pub mod queue;
mod stats;
pub mod table;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::time::Duration;

use candle_core::{Device, Result, Tensor, bail};

use clock::{Clock, Mark};
use nvtx::Range;

pub use nvtx::part;
pub use stats::quantile;

/// One op that ran.
#[derive(Debug, Clone)]
pub struct Event {
    /// Name of the op, `norm_qkv`, or of the kernel, `linear_level1`.
    pub kernel: &'static str,
    /// 0 for an op that the model called, 1 for an op inside it, and so on.
    pub depth: usize,
    /// Tensors created inside, including views.
    pub tensors: usize,
    /// Minimum work of the op, if the caller gave it by [`needs`].
    pub needs: Option<Needs>,
    /// Duration by the recording's clock; for an inner op only by the host's clock, otherwise zero.
    pub time: Duration,
    /// Kernels that this op itself launched on a GPU, in order.
    pub launches: Vec<Launched>,
    /// Reason for picking this kernel, if there was a choice.
    pub why: Option<String>,
}

/// Minimum work of an op, independent of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Bytes that must cross the memory bus.
    pub bytes: u64,
    /// Floating-point operations.
    pub flops: u64,
}

/// A launch of one of this project's kernels on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Launched {
    /// Name of the entry, `rms_norm_f32_level4`.
    pub kernel: Cow<'static, str>,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads per block along x, y, z.
    pub block: [u32; 3],
    /// Shared memory per block in bytes, static and dynamic.
    pub smem: u32,
    /// Registers per thread, if the driver tells.
    pub registers: Option<u32>,
}

struct Recorder {
    clock: Clock,
    events: Vec<Event>,
    /// Start and end marks of the events with these indices.
    marks: Vec<(usize, Mark, Mark)>,
    /// Indices of the events in progress, outermost first.
    open: Vec<usize>,
    /// Needs of the next op.
    next: Option<Needs>,
    /// Number of tensors created by spans to count those of the ops.
    probes: usize,
}

impl Recorder {
    /// Returns the id of a probe tensor, which is created and dropped.
    fn probe(&mut self) -> Option<usize> {
        self.probes += 1;
        tensors_made().ok()
    }

    /// Takes a mark if ops of this depth are timed. Two events in a queue take some time themselves, which
    /// must not count for an outer op.
    fn mark(&self, depth: usize) -> Result<Option<Mark>> {
        if self.clock.is_device() && depth > 0 {
            Ok(None)
        } else {
            self.clock.mark().map(Some)
        }
    }

    /// Returns all events with their durations.
    fn timed(mut self) -> Result<Vec<Event>> {
        for (index, start, end) in &self.marks {
            self.events[*index].time = start.until(end)?;
        }
        Ok(self.events)
    }
}

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
    /// Whether a recording is active. This is all that a span reads when recording is off, and needs no
    /// destructor.
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Ends the recording when dropped, also after a panic.
struct Over;

impl Drop for Over {
    fn drop(&mut self) {
        RECORDING.set(false);
    }
}

/// Runs `f` and returns the events of the ops it called on this thread, in the order they began. Times are
/// the host's, which waits for the device before and after each op.
///
/// # Errors
/// The errors of `f`, and if this thread records already.
pub fn record<T>(device: &Device, f: impl FnOnce() -> Result<T>) -> Result<(T, Vec<Event>)> {
    record_by(Clock::Host(device.clone()), f)
}

/// The same with another clock.
///
/// # Errors
/// The errors of `f` and of the device, and if this thread records already.
pub fn record_by<T>(clock: Clock, f: impl FnOnce() -> Result<T>) -> Result<(T, Vec<Event>)> {
    if RECORDING.get() {
        bail!("ops: expected one recording of a thread at a time, found one in another")
    }
    let recorder = Recorder {
        clock,
        events: Vec::new(),
        marks: Vec::new(),
        open: Vec::new(),
        next: None,
        probes: 0,
    };
    RECORDER.set(Some(recorder));
    RECORDING.set(true);
    let over = Over;
    let value = f();
    drop(over);
    let recorder = RECORDER.take();
    let value = value?;
    let events = recorder.map_or_else(|| Ok(vec![]), Recorder::timed)?;
    Ok((value, events))
}

/// Returns the number of tensors created by this process: candle numbers them, including views.
///
/// The number is parsed from the `Debug` output of a [`TensorId`](candle_core::TensorId) because candle has no public
/// accessor for it.
pub fn tensors_made() -> Result<usize> {
    let probe = Tensor::new(0u8, &Device::Cpu)?;
    let digits: String = format!("{:?}", probe.id())
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().map_err(candle_core::Error::wrap)
}

/// Returns the number of tensors that `f` creates, including views. Other threads must create none meanwhile.
pub fn count_tensors<T>(f: impl FnOnce() -> Result<T>) -> Result<(T, usize)> {
    let before = tensors_made()?;
    let value = f()?;
    Ok((value, tensors_made()? - before - 1))
}

/// Marks the op that runs until the span is dropped.
///
/// A span directly inside one of the same name is merged with it. So a function that picks a kernel with a
/// reason, and the kernel's own function, record one event.
#[inline]
pub fn span(kernel: &'static str) -> Span {
    let open = if RECORDING.get() {
        Open::begin(kernel)
    } else {
        None
    };
    Span {
        open,
        _range: part(|| kernel),
    }
}

/// The same for a kernel that was picked with a reason; `why` is called only while recording.
pub fn span_because(kernel: &'static str, why: impl FnOnce() -> String) -> Span {
    let span = span(kernel);
    if let Some(open) = &span.open {
        RECORDER.with_borrow_mut(|recorder| {
            if let Some(event) = recorder.as_mut().and_then(|r| r.events.get_mut(open.index)) {
                event.why = Some(why());
            }
        });
    }
    span
}

/// Gives the minimum work of the next op; its span takes it.
pub fn needs(needs: Needs) {
    RECORDER.with_borrow_mut(|recorder| {
        if let Some(recorder) = recorder {
            recorder.next = Some(needs);
        }
    })
}

/// Records a launch in the current op; `launch` is called only while recording.
pub fn launched(launch: impl FnOnce() -> Launched) {
    RECORDER.with_borrow_mut(|recorder| {
        let Some(recorder) = recorder.as_mut() else {
            return;
        };
        if let Some(&index) = recorder.open.last() {
            recorder.events[index].launches.push(launch());
        }
    })
}

/// Drops the events recorded so far, after a warm-up, and returns them, without their times. Not for use inside an op,
/// where it does nothing.
pub fn forget() -> Vec<Event> {
    RECORDER.with_borrow_mut(|recorder| {
        let recorder = recorder.as_mut().filter(|r| r.open.is_empty());
        recorder.map_or_else(Vec::new, |recorder| {
            recorder.marks.clear();
            std::mem::take(&mut recorder.events)
        })
    })
}

/// An op in progress.
#[must_use = "the op lasts as long as its span"]
pub struct Span {
    open: Option<Open>,
    _range: Range,
}

struct Open {
    index: usize,
    start: Option<Mark>,
    /// Id of the last tensor, and the number of probes so far.
    tensors: usize,
    probes: usize,
}

impl Open {
    fn begin(kernel: &'static str) -> Option<Self> {
        RECORDER.with_borrow_mut(|recorder| {
            let recorder = recorder.as_mut()?;
            let innermost = recorder
                .open
                .last()
                .map(|&open| recorder.events[open].kernel);
            if innermost == Some(kernel) {
                return None;
            }
            let (tensors, index) = (recorder.probe()?, recorder.events.len());
            let depth = recorder.open.len();
            recorder.events.push(Event {
                kernel,
                depth,
                tensors: 0,
                needs: recorder.next.take(),
                time: Duration::ZERO,
                launches: Vec::new(),
                why: None,
            });
            recorder.open.push(index);
            Some(Self {
                index,
                tensors,
                probes: recorder.probes,
                // If the device fails here, the model's next op reports an error, too.
                start: recorder.mark(depth).ok().flatten(),
            })
        })
    }

    fn end(&mut self) {
        RECORDER.with_borrow_mut(|recorder| {
            let Some(recorder) = recorder.as_mut() else {
                return;
            };
            recorder.open.pop();
            let end = recorder.mark(recorder.open.len()).ok().flatten();
            if let (Some(start), Some(end)) = (self.start.take(), end) {
                recorder.marks.push((self.index, start, end));
            }
            let made = recorder.probe().map_or(0, |now| now - self.tensors);
            let event = &mut recorder.events[self.index];
            event.tensors = made.saturating_sub(recorder.probes - self.probes);
        })
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = &mut self.open {
            open.end();
        }
    }
}

#[cfg(test)]
mod tests;
