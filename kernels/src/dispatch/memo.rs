//! Cache of earlier picks. Reading a table, or hashing for a hash map, takes longer than a 16×16 matmul.

use std::cell::Cell;
use std::ptr;

use super::{Facts, Problem, Why};
use crate::without;

/// The reason for an entry, and its index in the registry; `None` if no entry can run.
type Known = Option<(Why<'static>, usize)>;

/// The problem's `op` identifies the registry. Facts are unique per device and never move. The number is that of the ideas
/// [left out](without).
type Key = (Problem, &'static Facts, u16);

/// Number of slots per thread; each remembers the latest problem.
const SLOTS: usize = 512;

thread_local! {
    /// A const-initialised thread local without a destructor, so that accesses need no set-up check.
    static KNOWN: [Cell<Option<(Key, Known)>>; SLOTS] = const { [const { Cell::new(None) }; SLOTS] };
}

/// Returns the result of `find` for `problem`, cached.
#[inline]
pub fn recall(problem: &Problem, facts: &'static Facts, find: impl FnOnce() -> Known) -> Known {
    let (slot, left_out) = (slot(problem), without::left_out());
    let met =
        |(of, on, without): &Key| of == problem && ptr::eq(*on, facts) && *without == left_out;
    match KNOWN.with(|known| known[slot].get()) {
        Some((key, known)) if met(&key) => known,
        _ => remember(slot, (*problem, facts, left_out), find()),
    }
}

/// A separate function, so that the common path is short.
#[cold]
fn remember(slot: usize, key: Key, found: Known) -> Known {
    KNOWN.with(|known| known[slot].set(Some((key, found))));
    found
}

/// Hashes the sizes; neighbours and permuted sizes get different slots.
fn slot(p: &Problem) -> usize {
    let sizes = p.m as u64
        ^ (p.n as u64).rotate_left(16)
        ^ (p.k as u64).rotate_left(32)
        ^ (p.batch as u64).rotate_left(48)
        ^ ((p.op as u64) << 60)
        ^ ((p.dtype.size_in_bytes() as u64) << 12);
    // Fibonacci hashing: the upper bits of a product with 2⁶⁴ over the golden ratio.
    (sizes.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use candle_core::DType;

    use super::*;
    use crate::dispatch::{Layout, Op};

    #[test]
    fn a_problem_is_looked_up_once_per_device() {
        let leak = |facts| &*Box::leak(Box::new(facts));
        let (one, two) = (leak(Facts::cpu("a", 1)), leak(Facts::cpu("a", 1)));
        let problem = |m| Problem {
            op: Op::Matmul,
            batch: 1,
            m,
            n: 2,
            k: 3,
            dtype: DType::F32,
            layout: [Layout::Rows; 2],
        };
        let first = Some((Why::First, 7));
        assert_eq!(recall(&problem(1), one, || first), first);
        assert_eq!(recall(&problem(1), one, || unreachable!()), first);
        assert_eq!(recall(&problem(1), two, || None), None);
        // More problems than slots: a forgotten one is found again.
        for m in 0..4 * SLOTS {
            let found = Some((Why::First, m));
            assert_eq!(recall(&problem(m + 2), two, || found), found);
        }
        let again = Some((Why::First, 9));
        let kept = recall(&problem(2), two, || again);
        assert!(kept == again || kept == Some((Why::First, 0)));
    }
}
