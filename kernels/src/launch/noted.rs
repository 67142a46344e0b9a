//! A list of launches in order, on any device.

use std::cell::RefCell;
use std::sync::Once;

use trace::Launched;

thread_local! {
    static NOTED: RefCell<Option<Vec<Launched>>> = const { RefCell::new(None) };
}

/// Runs `f` and returns its launches on this thread, in order. A trace instead lists launches by op, those of
/// an op before those of the ops inside it.
pub fn noted<T>(f: impl FnOnce() -> T) -> (T, Vec<Launched>) {
    let before = NOTED.replace(Some(vec![]));
    scopeguard::defer! { NOTED.set(before) }
    let value = f();
    (value, NOTED.take().unwrap_or_default())
}

/// Whether launches of this thread are listed.
pub fn is_noted() -> bool {
    NOTED.with_borrow(Option::is_some)
}

/// The first launch of the process.
static FIRST: Once = Once::new();

/// Records a launch here and in the trace, if either is recording.
///
/// With `CANDLEPOWER_SANITIZE` set, a process prints the kernel of its first launch, so that `run.sh sanitize` knows of tests
/// that launch none.
pub(super) fn launched(launch: impl Fn() -> Launched) {
    FIRST.call_once(|| {
        if std::env::var_os("CANDLEPOWER_SANITIZE").is_some() {
            eprintln!("launched {}", launch().kernel);
        }
    });
    NOTED.with_borrow_mut(|all| all.iter_mut().for_each(|all| all.push(launch())));
    trace::launched(launch);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(kernel: &'static str) -> Launched {
        Launched {
            kernel: kernel.into(),
            grid: [1; 3],
            block: [32, 1, 1],
            smem: 0,
            registers: None,
        }
    }

    #[test]
    fn launches_are_in_order_in_any_span() {
        launched(|| panic!("no list is open"));
        let ((), noted) = noted(|| {
            {
                let _span = trace::span("inside");
                launched(|| launch("first"));
            }
            launched(|| launch("second"));
        });
        let kernels: Vec<&str> = noted.iter().map(|l| &*l.kernel).collect();
        assert_eq!(kernels, ["first", "second"]);
    }
}
